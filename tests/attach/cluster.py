"""A namespace of a cluster in memory, to which the real client talks in the place of HTTP.

The cluster answers requests as the API server does. The cluster has its own clock, so a watch or a
sleep ends at once, and only moves this clock. `later` changes the cluster at a time of the clock,
as controllers and people do.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from functools import partial
from math import inf
from types import SimpleNamespace
from typing import Any
from unittest import mock

import httpx2

from postrender.attach.client import Client
from postrender.attach.connect import Account
from postrender.attach.request import (
    BY_KIND,
    CONFIG_MAPS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    Resource,
    read_request,
)
from postrender.attach.run import attach
from postrender.kubernetes.hashing import hashed_content, revision_name
from postrender.kubernetes.kinds import CONFIG_MAP

Json = dict[str, Any]

START = datetime(2026, 11, 21, 12, 0, tzinfo=timezone.utc)
GROUP = "app-attach"
NAMESPACE = "prod"
KINDS = {
    **BY_KIND,
    **{item.kind: item for item in (CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS, ROLES)},
}


def time_ago(minutes: float) -> str:
    return (START - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


# Objects


def obj(kind: str, name: str, *, owner: str = "", deleting: bool = False, **fields: Any) -> Json:
    """Return an object with the uid `Kind/name`. owner: the controller, as `Kind/name`."""
    metadata: Json = {"name": name, "uid": f"{kind}/{name}", **fields.pop("metadata", {})}
    if owner:
        metadata["ownerReferences"] = [owner_of(owner, controller=True)]
    if deleting:
        metadata["deletionTimestamp"] = time_ago(1)
    return {"kind": kind, "metadata": metadata, **fields}


def _with_defaults(data: Json) -> Json:
    """Return an object with the fields that the API server adds."""
    kind = str(data["kind"])
    if kind in KINDS:
        data = {"apiVersion": KINDS[kind].api_version, **data}
    return {**data, "metadata": {"namespace": NAMESPACE, **data["metadata"]}}


def owner_of(text: str, *, controller: bool = False) -> Json:
    kind, _, name = text.partition("/")
    api_version = KINDS[kind].api_version if kind in KINDS else "example.com/v1"
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": text,
        "controller": controller,
        "blockOwnerDeletion": False,
    }


def template(*names: str) -> Json:
    """Return a pod template that references ConfigMaps, and `secret/NAME`s."""
    sources = [
        {"secretRef": {"name": name.removeprefix("secret/")}}
        if name.startswith("secret/")
        else {"configMapRef": {"name": name}}
        for name in names
    ]
    return {"spec": {"containers": [{"name": "main", "envFrom": sources}]}}


def workload(text: str, render_id: str, *names: str, **fields: Any) -> Json:
    """Return the workload `Kind/name`. spec: more fields of the specification."""
    kind, _, name = text.partition("/")
    spec: Json = {"template": template(*names)}
    if kind == "CronJob":
        spec = {"jobTemplate": {"spec": spec}}
    spec |= fields.pop("spec", {})
    if render_id:
        annotations = {"postrender/render-id": render_id}
        fields["metadata"] = {"annotations": annotations, **fields.get("metadata", {})}
    return obj(kind, name, spec=spec, **fields)


def revision(content: str, base: str = "app", group: str = GROUP, **fields: Any) -> Json:
    """Return a revision whose name has the right hash of its content."""
    data = {"value": content}
    annotations = {"postrender/base-name": base, **fields.pop("annotations", {})}
    labels = {"postrender/attach-group": group} if group else {}
    metadata = {"annotations": annotations, "labels": labels, **fields.pop("metadata", {})}
    name = revision_name(base, hashed_content(CONFIG_MAP, {"data": data}, True))
    owners = [owner_of(owner) for owner in fields.pop("owners", ())]
    if owners:
        metadata["ownerReferences"] = owners
    fields = {"data": data, "immutable": True, **fields}
    return obj("ConfigMap", name, metadata=metadata, **fields)


def name_of(data: Json) -> str:
    return str(data["metadata"]["name"])


def marked(minutes: float) -> Json:
    return {"postrender/unused-since": time_ago(minutes)}


def job(name: str, minutes: float, *arguments: str, finished: bool = True, wave: str = "") -> Json:
    """Return a Job of the attach group that was created some minutes ago."""
    return obj(
        "Job",
        name,
        metadata={
            "creationTimestamp": time_ago(minutes),
            "labels": {"postrender/attach-group": GROUP},
            "annotations": {"argocd.argoproj.io/sync-wave": wave} if wave else {},
        },
        spec={
            "template": {
                "spec": {"containers": [{"args": list(arguments)}, {"name": "proxy", "args": []}]}
            }
        },
        status={"conditions": [{"type": "Complete", "status": "True"}] if finished else []},
    )


# The cluster


class Session:
    """Answers as httpx2.Client, but does not build its requests, which take most of the time.

    FaultyCluster, StrangeCluster and the tests of the client use httpx2.Client itself.
    """

    base_url = httpx2.URL("https://cluster.example.com")

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self._answer = answer

    @contextmanager
    def stream(self, method: str, url: str, **arguments: Any) -> Iterator[Any]:
        target = SimpleNamespace(path=url, params=arguments.pop("params", {}))
        yield self._answer(SimpleNamespace(method=method, url=target, **arguments))


def real_session(answer: Callable[[Any], Any]) -> httpx2.Client:
    return httpx2.Client(base_url=Session.base_url, transport=httpx2.MockTransport(answer))


class Cluster:
    """The objects of one namespace, and what a run has sent.

    objects: the objects by `Kind/name`.
    requests: each request, such as `patch ConfigMap/app` or `list Job`, without Events.
    times: the time of the first request of each kind.
    selectors: the label selector of each list of ConfigMaps.
    events: the Events that were created.
    absent: the kinds that the cluster does not have.
    refused: the HTTP status for a verb and a kind, such as ("list", "Job").
    latency: the seconds that each request takes.
    has_endless_watches: whether a watch goes on after the time that the client requested.
    """

    def __init__(self, *objects: Json) -> None:
        self.seconds = 0.0
        self.version = 1
        self.objects: dict[str, Json] = {}
        self.requests: list[str] = []
        self.times: dict[str, float] = {}
        self.selectors: list[str] = []
        self.events: list[Json] = []
        self.absent: set[str] = set()
        self.refused: dict[tuple[str, str], int] = {}
        self.latency = 0.0
        self.has_endless_watches = False
        self._later: list[tuple[float, Callable[[], None]]] = []
        self._changes: list[tuple[int, str, Json]] = []
        self._before: dict[str, Callable[[], None]] = {}
        self._after: dict[str, Callable[[], None]] = {}
        self.add(*objects)

    def add(self, *objects: Json) -> None:
        """Create or replace objects."""
        for data in objects:
            key = f"{data['kind']}/{name_of(data)}"
            change = "MODIFIED" if key in self.objects else "ADDED"
            self._store(key, _with_defaults(deepcopy(data)), change)

    def remove(self, key: str) -> None:
        """Delete an object."""
        self._store(key, self.objects.pop(key), "DELETED")

    def later(self, seconds: float, *objects: Json, remove: Iterable[str] = ()) -> None:
        """Change the cluster at a time."""
        self._later.append((seconds, partial(self._change, objects, remove)))
        self._later.sort(key=lambda item: item[0])

    def before(self, request: str, *objects: Json, remove: Iterable[str] = ()) -> None:
        """Change the cluster right before the first request such as `list Job`."""
        self._before[request] = partial(self._change, objects, remove)

    def after(self, request: str, *objects: Json, remove: Iterable[str] = ()) -> None:
        """Change the cluster right after the first request such as `delete ConfigMap/app`."""
        self._after[request] = partial(self._change, objects, remove)

    def _change(self, objects: Iterable[Json], remove: Iterable[str]) -> None:
        for key in remove:
            self.remove(key)
        self.add(*objects)

    @property
    def writes(self) -> list[str]:
        """Each request that changes an object."""
        return [text for text in self.requests if text.startswith(("patch", "delete"))]

    def names(self, kind: str) -> list[str]:
        """Return the names of the objects of a kind."""
        return sorted(key.partition("/")[2] for key in self.objects if key.startswith(f"{kind}/"))

    def owners(self, key: str) -> list[str]:
        """Return the owners of an object."""
        return sorted(owner["uid"] for owner in self._references(key))

    def mark(self, key: str) -> str | None:
        """Return the time since which an object is marked as unused."""
        annotations: dict[str, str] = self.objects[key]["metadata"].get("annotations", {})
        return annotations.get("postrender/unused-since")

    def _references(self, key: str) -> list[Json]:
        return list(self.objects[key]["metadata"].get("ownerReferences", []))

    def _store(self, key: str, data: Json, change: str) -> None:
        self.version += 1
        data["metadata"]["resourceVersion"] = str(self.version)
        if change != "DELETED":
            self.objects[key] = data
        self._changes.append((self.version, change, deepcopy(data)))

    # Time

    def sleep(self, seconds: float) -> None:
        """Move the clock, and make the changes that are due."""
        until = self.seconds + seconds
        while self._later and self._later[0][0] <= until:
            self.seconds = max(self.seconds, self._later[0][0])
            self._later.pop(0)[1]()
        self.seconds = until

    def monotonic(self) -> float:
        """Return the time of the clock, which does not begin at 0."""
        return 1000 + self.seconds

    @contextmanager
    def clock(self) -> Iterator[None]:
        """Run on the clock of the cluster."""
        with (
            mock.patch("time.sleep", self.sleep),
            mock.patch("time.monotonic", self.monotonic),
        ):
            yield

    # The API

    def client(
        self, seconds: float = inf, namespace: str | None = None, *, is_patient: bool = True
    ) -> Client:
        """Return a client of this namespace (or of all, ""), which stops after some seconds."""
        namespace = NAMESPACE if namespace is None else namespace
        deadline = self.monotonic() + seconds
        session: Any = self._session()
        return Client(session, namespace, "postrender-attach", deadline, is_patient=is_patient)

    def _session(self) -> object:
        return Session(self._answer)

    def _answer(self, request: Any) -> Any:
        self.sleep(self.latency)
        resource, name = _target(request.url.path)
        if resource is None:
            body = json.loads(request.content)
            self.events.append(body)
            status = self.refused.get(("create", "Event"), 201)
            if status >= 300 or not status:
                return self._respond(status, {"message": "no"})
            body["metadata"] |= {"namespace": NAMESPACE, "uid": "event"}
            return self._respond(status, _only_metadata(body))
        kind = resource.kind
        verb = {"GET": "get" if name else "list", "PATCH": "patch", "DELETE": "delete"}[
            request.method
        ]
        if "watch" in request.url.params:
            verb = "watch"
        title = f"{verb} {kind}/{name}" if name else f"{verb} {kind}"
        self.requests.append(title)
        self.times.setdefault(title, self.seconds)
        self._before.pop(title, _nothing)()
        if (verb, kind) in self.refused:
            status = self.refused[verb, kind]
            return self._respond(status, {"message": f"{resource.plural} is forbidden"})
        if kind in self.absent:
            return self._respond(404, "404 page not found\n")
        answer = getattr(self, f"_{verb}")(resource, name, request)
        self._after.pop(title, _nothing)()
        return answer

    def _respond(self, status: int, body: Any) -> Any:
        date = format_datetime(START + timedelta(seconds=self.seconds), usegmt=True)
        if status >= 300 and isinstance(body, dict):
            reason = {404: "NotFound"}.get(status, "")
            body = {"kind": "Status", "apiVersion": "v1", "reason": reason, **body}
        content = json.dumps(body) if isinstance(body, dict) else body
        return httpx2.Response(status, content=content, headers={"Date": date})

    def _list(self, resource: Resource, _name: str, request: Any) -> Any:
        query = request.url.params
        items = [data for key, data in self.objects.items() if key.startswith(resource.kind + "/")]
        selector = query.get("labelSelector", "")
        if resource == CONFIG_MAPS:
            self.selectors.append(selector)
        label, _, value = selector.partition("=")
        if label:
            labels = [data["metadata"].get("labels", {}) for data in items]
            items = [
                data
                for data, found in zip(items, labels, strict=True)
                if label in found and value in ("", found[label])
            ]
        name = query.get("fieldSelector", "").removeprefix("metadata.name=")
        items = [data for data in items if name in ("", name_of(data))]
        kind, version = resource.kind, resource.api_version
        if "PartialObjectMetadata" in request.headers["Accept"]:
            kind, version = "PartialObjectMetadata", "meta.k8s.io/v1"
            items = [_only_metadata(data) for data in items]
        elif resource.api_version != "argoproj.io/v1alpha1":
            items = [without(data, "kind", "apiVersion") for data in items]
        # Without an object, the API server writes null for metadata, and else an empty list.
        has_null = not items and kind != resource.kind
        return self._respond(
            200,
            {
                "kind": f"{kind}List",
                "apiVersion": version,
                "metadata": {"resourceVersion": str(self.version)},
                "items": None if has_null else items,
            },
        )

    def _watch(self, resource: Resource, _name: str, request: Any) -> Any:
        version = int(request.url.params["resourceVersion"])
        seconds = float(request.url.params["timeoutSeconds"])
        ends = self.seconds + (float("inf") if self.has_endless_watches else seconds)
        return self._respond(200, self._stream(resource, version, ends))

    def _stream(self, resource: Resource, version: int, ends: float) -> Iterator[bytes]:
        """Return the changes of a kind, each at its time, until the watch ends."""
        while True:
            for number, change, data in self._changes:
                if number > version and data["kind"] == resource.kind:
                    version = number
                    yield json.dumps({"type": change, "object": data}).encode() + b"\n"
            if self.seconds >= ends:
                return
            due = self._later[0][0] if self._later else ends
            self.sleep(max(0.0, min(due, ends) - self.seconds))

    def _get(self, resource: Resource, name: str, request: Any) -> Any:  # noqa: ARG002
        data = self.objects.get(f"{resource.kind}/{name}")
        return self._respond(*((200, data) if data else (404, {"message": "not found"})))

    def _patch(self, resource: Resource, name: str, request: Any) -> Any:
        key = f"{resource.kind}/{name}"
        if key not in self.objects:
            return self._respond(404, {"message": "not found"})
        assert request.headers["Content-Type"] == "application/strategic-merge-patch+json"
        data = deepcopy(self.objects[key])
        metadata = data["metadata"]
        references = json.loads(request.content)["metadata"].get("ownerReferences", [])
        added = [owner["uid"] for owner in references if "$patch" not in owner]
        if added:
            uids: Json = {f'k:{{"uid":"{uid}"}}': {} for uid in added}
            fields = {"f:metadata": {"f:ownerReferences": uids}}
            entry = {"manager": request.url.params["fieldManager"], "fieldsV1": fields}
            metadata["managedFields"] = [*metadata.get("managedFields", []), entry]
        for field, value in json.loads(request.content)["metadata"].items():
            if field == "uid":
                if value != metadata["uid"]:
                    return self._respond(422, {"message": "metadata.uid is immutable"})
            elif field == "resourceVersion":
                if value != metadata[field]:
                    return self._respond(409, {"message": "the object has been modified"})
            elif field == "ownerReferences":
                merged = {owner["uid"]: owner for owner in metadata.get(field, [])}
                for owner in value:
                    if owner.get("$patch") == "delete":
                        merged.pop(owner["uid"], None)
                    else:
                        merged[owner["uid"]] = owner
                metadata[field] = list(merged.values())
            else:
                merged = {**metadata.get(field, {}), **value}
                metadata[field] = {key: item for key, item in merged.items() if item is not None}
        self._store(key, data, "MODIFIED")
        return self._respond(200, _only_metadata(data))

    def _delete(self, resource: Resource, name: str, request: Any) -> Any:
        key = f"{resource.kind}/{name}"
        data = self.objects.get(key)
        if data is None:
            return self._respond(404, {"message": "not found"})
        for field, value in json.loads(request.content)["preconditions"].items():
            if data["metadata"][field] != value:
                return self._respond(409, {"message": f"the {field} differs"})
        self.remove(key)
        return self._respond(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})


def _nothing() -> None:
    """Change nothing."""


def _target(path: str) -> tuple[Resource | None, str]:
    """Return the kind and the name in the path of a request, None for Events."""
    start, _, rest = path.partition(f"/namespaces/{NAMESPACE}/")
    plural, _, name = rest.partition("/")
    if not rest:  # a list of all namespaces
        start, _, plural = path.rpartition("/")
    if plural == "events":
        assert start == "/api/v1"
        return None, name
    [resource] = [item for item in KINDS.values() if (item.path, item.plural) == (start, plural)]
    return resource, name


def _only_metadata(data: Json) -> Json:
    """Return an object as the API server does if the client requests only metadata."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": data["metadata"],
    }


def without(data: Json, *keys: str) -> Json:
    return {key: value for key, value in data.items() if key not in keys}


# A run


class Run:
    """One run of attach, for the options of the command line, and what it has reported."""

    def __init__(
        self,
        cluster: Cluster,
        *workloads: str,
        group: str = GROUP,
        emitted: Iterable[str] = (),
        retired: Iterable[str] = (),
        timeout: str = "90s",
        prunes: bool = True,
        deletes_finished_jobs: bool = False,
        release_owner: str = "",
        account: Account | None = None,
        arguments: Iterable[str] = ("attach", "own"),
    ) -> None:
        self.request = read_request(
            group,
            workloads,
            list(emitted),
            "",
            "",
            timeout,
            release_owner=release_owner,
            retired=list(retired),
            prunes=prunes,
            deletes_finished_jobs=deletes_finished_jobs,
        )
        self.client = cluster.client()
        with cluster.clock(), logged() as log:
            self.failures = attach(self.client, self.request, list(arguments), account)
        self.log = log

    @property
    def problems(self) -> list[str]:
        """The text of each failure."""
        return [str(failure) for failure in self.failures]


@contextmanager
def logged() -> Iterator[list[str]]:
    """Collect the log lines, such as `warning: text`."""
    lines: list[str] = []
    logger = logging.getLogger("postrender.attach")
    before = logger.level, logger.handlers
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(  # type: ignore[method-assign]
        f"{record.levelname.lower()}: {record.getMessage()}"
    )
    logger.handlers = [handler]
    logger.setLevel("INFO")
    try:
        yield lines
    finally:
        logger.setLevel(before[0])
        logger.handlers = before[1]
