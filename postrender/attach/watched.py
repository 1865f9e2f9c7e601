"""The live objects of some kinds. attach lists each kind once, and updates the list by a watch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial

from postrender.attach.client import Client
from postrender.attach.live import Consumer, read_consumer, text_at
from postrender.attach.resources import Resource


class Watched:
    """The objects of one namespace, by kind. Each method can raise ApiError."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._objects: dict[Resource, dict[str, Consumer]] = {}
        self._versions: dict[Resource, str] = {}

    def objects(self, resource: Resource) -> Iterable[Consumer]:
        """Return the objects of a kind. The first call for a kind sends the list request."""
        if resource not in self._objects:
            consumers, version = self._client.list_all(resource, partial(read_consumer, resource))
            self._objects[resource] = {consumer.uid: consumer for consumer in consumers}
            self._versions[resource] = version
        return self._objects[resource].values()

    def find(self, resource: Resource, name: str) -> Consumer | None:
        """Return the object of a kind with a name, None if the object does not exist."""
        return next((item for item in self.objects(resource) if item.name == name), None)

    def follow(self, resource: Resource, seconds: float, is_enough: Callable[[], bool]) -> bool:
        """Return whether `is_enough` returns True before the watch of a kind ends.

        seconds: the maximum duration, rounded to whole seconds, at least 1.
        """
        self.objects(resource)
        version = self._versions[resource]
        ends = time.monotonic() + seconds
        if not version:  # the cluster does not have the kind yet
            return False
        for event_type, data in self._client.watch(resource, version, seconds):
            consumer = read_consumer(resource, data)
            if event_type == "DELETED":
                self._objects[resource].pop(consumer.uid, None)
            elif event_type in ("ADDED", "MODIFIED"):
                self._objects[resource][consumer.uid] = consumer
            self._versions[resource] = text_at(data, "metadata", "resourceVersion") or version
            if is_enough():
                return True
            if time.monotonic() > ends:
                break
        return False
