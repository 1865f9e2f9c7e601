"""The live objects of some kinds, listed once and then kept current by watches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial

from postrender.attach.client import Client
from postrender.attach.live import Consumer, read_holder
from postrender.attach.resources import Resource


class Watched:
    """Objects by kind, in one namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._objects: dict[Resource, dict[str, Consumer]] = {}
        self._versions: dict[Resource, str] = {}

    def objects(self, resource: Resource) -> Iterable[Consumer]:
        """Return the objects of a kind, which is listed when it is first asked for."""
        if resource not in self._objects:
            found, version = self._client.list_all(resource, partial(read_holder, resource))
            self._objects[resource] = {consumer.uid: consumer for consumer in found}
            self._versions[resource] = version
        return self._objects[resource].values()

    def find(self, resource: Resource, name: str) -> Consumer | None:
        """Return an object by its name."""
        return next((item for item in self.objects(resource) if item.name == name), None)

    def follow(self, resource: Resource, seconds: float, is_enough: Callable[[], bool]) -> bool:
        """Watch a kind until its objects are as one wants them, for some seconds at most.

        Return whether they are.
        """
        self.objects(resource)
        version = self._versions[resource]
        ends = time.monotonic() + seconds
        if not version:  # the cluster has no such kind, yet
            return False
        for kind, data in self._client.watch(resource, version, seconds):
            consumer = read_holder(resource, data)
            if kind == "DELETED":
                self._objects[resource].pop(consumer.uid, None)
            elif kind in ("ADDED", "MODIFIED"):
                self._objects[resource][consumer.uid] = consumer
            metadata = data.get("metadata")
            if isinstance(metadata, dict):
                self._versions[resource] = str(metadata.get("resourceVersion", version))
            if is_enough():
                return True
            if time.monotonic() > ends:
                break
        return False
