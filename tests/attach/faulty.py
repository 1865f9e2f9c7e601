"""A random cluster whose API server gives wrong answers, and what a run must not do in it.

Whatever the API server answers, a run must not delete a revision that an object uses, must not take
the owner away that uses it, and must end in time. Afterwards, a run with right answers must delete
what is unused. The truth is in the cluster, so the check does not depend on what the run has read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import httpx2

from postrender.attach.command import RUN_SECONDS
from postrender.attach.request import BY_KIND, CONSUMER_KINDS, read_request
from postrender.attach.run import attach
from postrender.errors import UserError
from tests.attach.cluster import (
    GROUP,
    KINDS,
    Cluster,
    Json,
    job,
    logged,
    marked,
    name_of,
    obj,
    real_session,
    revision,
    template,
    workload,
)

TIMEOUT, LATENCY = 20, 0.05
# The longest run: the wait, the rest of the run, and the request that the deadline interrupts.
MOST_SECONDS = TIMEOUT + RUN_SECONDS + 60
DEPTHS = (50, 500, 3000, 20_000)


class LostError(Exception):
    """The run deleted a revision in use, or removed an owner that uses the revision."""


# Faults: each changes the right answer to a request. A fault that does not apply returns None.

Fault = Callable[["FaultyCluster", Json, Random], object]


def respond(body: Any, code: int = 200) -> Any:
    content = json.dumps(body) if isinstance(body, (dict, list)) else body
    return httpx2.Response(code, content=content)


def fixed(body: Any, code: int = 200) -> Fault:
    return lambda _cluster, _body, _random: respond(body, code)


def changed(change: Callable[[Json, Random], object]) -> Fault:
    """Return a fault that changes the body of an answer in place."""

    def fault(_cluster: FaultyCluster, body: Json, random: Random) -> object:
        change(body, random)
        return respond(body)

    return fault


def in_item(change: Callable[[Json, Random], object]) -> Fault:
    """Return a fault that changes one item of a list, or the object."""

    def fault(_cluster: FaultyCluster, body: Json, random: Random) -> object:
        items = body.get("items", [body]) or []
        if not items or not isinstance(items[0], dict):
            return None
        change(random.choice(items), random)
        return respond(body)

    return fault


def cut(_cluster: FaultyCluster, body: Json, random: Random) -> object:
    text = json.dumps(body)
    return respond(text[: random.randrange(len(text))])


def slow(cluster: FaultyCluster, body: Json, _random: Random) -> object:
    def drip() -> Iterator[bytes]:
        for number in json.dumps(body).encode():
            cluster.sleep(1)
            yield bytes([number])

    return respond(drip())


def broken(_cluster: FaultyCluster, body: Json, random: Random) -> object:
    def part() -> Iterator[bytes]:
        yield json.dumps(body).encode()[:20]
        raise httpx2.RemoteProtocolError("the peer closed the connection")

    if random.randrange(2):
        raise httpx2.ConnectError("refused")
    return respond(part())


def deep(body: Json, random: Random) -> object:
    """Nest a value in a field that nobody reads."""
    depth = random.choice(DEPTHS)
    # json.dumps could not write it.
    text = '{"a":' * depth + "[" * depth + "]" * depth + "}" * depth
    target = random.choice([body, *[item for item in body.get("items") or [] if item]])
    target[MARKER] = 0
    return text


MARKER = "deep-marker"


def nested(_cluster: FaultyCluster, body: Json, random: Random) -> object:
    text = str(deep(body, random))
    return respond(json.dumps(body).replace(f'"{MARKER}": 0', f'"{MARKER}": {text}'))


def endless(cluster: FaultyCluster, body: Json, random: Random) -> object:
    """Return page after page, with new objects, with the same objects, or with none."""
    if not isinstance(body.get("items"), list):
        return None
    way = random.randrange(3)
    body["metadata"]["continue"] = str(cluster.version) if way else str(random.random())
    body["items"] = {0: [], 1: body["items"], 2: body["items"][:1]}[way]
    for item in body["items"] if random.randrange(2) else []:
        item["metadata"] |= {"name": f"n{random.random()}", "uid": f"u{random.random()}"}
    return respond(body)


def other(cluster: FaultyCluster, _body: Json, random: Random) -> object:
    """Return the right answer to another request."""
    return respond(random.choice(cluster.bodies)) if cluster.bodies else None


def numbers(_cluster: FaultyCluster, body: Json, _random: Random) -> object:
    """Return a ConfigMap with wrong content. Other wrong content of an object is a lie."""
    return (
        respond({**body, "data": {"a": 5, "b": [{}]}}) if body.get("kind") == "ConfigMap" else None
    )


def without_some(*path: str) -> Callable[[Json, Random], object]:
    def change(data: Json, _random: Random) -> None:
        *parents, last = path
        for key in parents:
            data = data.get(key) or {}
        data.pop(last, None)

    return change


def setting(value: Any, *path: str) -> Callable[[Json, Random], object]:
    def change(data: Json, _random: Random) -> None:
        *parents, last = path
        for key in parents:
            data = data.setdefault(key, {})
        data[last] = value

    return change


def repeat(body: Json, random: Random) -> None:
    items = body.get("items") or []
    if items:
        items.insert(random.randrange(len(items) + 1), random.choice(items))


def share_uid(body: Json, _random: Random) -> None:
    """Let the last object of a list have the uid of the first one."""
    items = body.get("items") or []
    if len(items) > 1:
        items[-1]["metadata"]["uid"] = items[0]["metadata"]["uid"]


STATUS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 500}
FAULTS: dict[str, Fault] = {
    "an empty object": fixed({}),
    "an empty body": fixed(b""),
    "a Status with 200": fixed(STATUS),
    "a success": fixed({**STATUS, "status": "Success"}),
    "HTML": fixed(b"<html><body>Log in</body></html>"),
    "HTML with 404": fixed(b"<html><body>Not found</body></html>", 404),
    "a list": fixed([]),
    "null": fixed(b"null"),
    "NaN": fixed(b"NaN"),
    "not UTF-8": fixed(b'{"kind": "\xff"}'),
    "UTF-16": fixed(json.dumps(STATUS).encode("utf-16")),
    **{
        f"status {code}": fixed({**STATUS, "message": "no"}, code)
        for code in (201, 204, 302, 400, 401, 403, 404, 405, 409, 410, 422, 429, 500, 503, 504)
    },
    "the kind is absent": fixed(b"404 page not found\n", 404),
    "the object is absent": fixed({**STATUS, "reason": "NotFound", "message": "no"}, 404),
    "deep error": fixed(b'{"message":' + b"[" * 20_000, 500),
    "a truncated body": cut,
    "one byte a second": slow,
    "a broken connection": broken,
    "deep nesting": nested,
    "an endless list": endless,
    "another answer": other,
    "another kind": changed(setting("SecretList", "kind")),
    "another version": changed(setting("v2", "apiVersion")),
    "no kind": changed(without_some("kind")),
    "no version": changed(without_some("apiVersion")),
    "no items": changed(without_some("items")),
    "items null": changed(setting(None, "items")),
    "items a mapping": changed(setting({}, "items")),
    "items of null": changed(setting([None], "items")),
    "no metadata": changed(without_some("metadata")),
    "no resourceVersion": changed(without_some("metadata", "resourceVersion")),
    "a number as resourceVersion": changed(setting(5, "metadata", "resourceVersion")),
    "a number as token": changed(setting(5, "metadata", "continue")),
    "a repeated item": changed(repeat),
    "two items with one uid": changed(share_uid),
    "an item of another kind": in_item(setting("Widget", "kind")),
    "an item without metadata": in_item(without_some("metadata")),
    "an item without a name": in_item(without_some("metadata", "name")),
    "an item without a uid": in_item(without_some("metadata", "uid")),
    "an item of another namespace": in_item(setting("other", "metadata", "namespace")),
    "an item without a spec": in_item(without_some("spec")),
    "an item with a spec of null": in_item(setting(None, "spec")),
    "metadata a text": in_item(setting("x", "metadata")),
    "labels a list": in_item(setting([1], "metadata", "labels")),
    "owners a mapping": in_item(setting({"a": [1]}, "metadata", "ownerReferences")),
    "fields a text": in_item(setting(["x", {"fieldsV1": "x"}], "metadata", "managedFields")),
    "data of numbers": numbers,
}


# With these answers, the API server says that it does not have a custom kind.
ABSENCE = {"the kind is absent", "the object is absent"}


class FaultyCluster(Cluster):
    """A cluster that answers some requests wrongly, and raises LostError for a wrong write.

    plan: returns the name of the fault for the number and the text of a request, "" for none.
    """

    def __init__(self, random: Random, plan: Callable[[int, str], str], *objects: Json) -> None:
        super().__init__(*objects)
        self.random, self.plan = random, plan
        self.latency = LATENCY
        self.number = 0
        self.bodies: list[bytes] = []
        self.faults: list[str] = []

    def _session(self) -> object:
        return real_session(self._answer)

    def _answer(self, request: Any) -> Any:
        self.number += 1
        response = super()._answer(request)
        fault = self.plan(self.number, request.url.path)
        if fault in ABSENCE and "argoproj.io" in request.url.path:
            fault = ""
        if not fault and "watch" in request.url.params:
            return response
        content = response.read()
        self.bodies = [*self.bodies[-20:], content]
        if not fault:
            return response
        try:
            body = json.loads(content)
        except ValueError:
            body = {}
        return self._wrong(fault, body) or response

    def _wrong(self, fault: str, body: Json) -> Any:
        answer = FAULTS[fault](self, body, self.random)
        if answer is not None:
            self.faults.append(fault)
        return answer

    def _delete(self, resource: Any, name: str, request: Any) -> Any:
        users = self.users(name)
        answer = super()._delete(resource, name, request)
        if resource.kind == "ConfigMap" and users and answer.status_code == 200:
            raise LostError(f"ConfigMap/{name} is used by {users}")
        return answer

    def _patch(self, resource: Any, name: str, request: Any) -> Any:
        references = json.loads(request.content)["metadata"].get("ownerReferences", [])
        removed = {owner["uid"] for owner in references if "$patch" in owner}
        users = {self.objects[key]["metadata"]["uid"]: key for key in self.users(name)}
        if removed & users.keys():
            raise LostError(f"an owner of {name} is removed: {removed}")
        return super()._patch(resource, name, request)

    def users(self, name: str) -> list[str]:
        """The objects that contain the name of a revision in their specification."""
        return [
            key
            for key, data in self.objects.items()
            if data["kind"] in BY_KIND
            and f'"{name}"' in json.dumps([data.get(k) for k in ("spec", "data", "template")])
        ]


def random_objects(random: Random) -> tuple[list[Json], str, bool]:
    """Return a namespace, the workload argument of a run, and whether the apply has arrived."""
    new = revision(f"new-{random.random()}", base="app")
    kind = random.choice(("Deployment", "StatefulSet", "DaemonSet", "Rollout", "CronJob"))
    objects = [new, obj("ServiceAccount", GROUP)]
    objects.append(workload(f"{kind}/app", "bb", name_of(new)))
    if kind in ("Deployment", "Rollout"):
        objects.append(workload("ReplicaSet/app-2", "bb", name_of(new), owner=f"{kind}/app"))
    elif kind != "CronJob":
        objects.append(history("app-2", f"{kind}/app", name_of(new)))
    has_arrived = random.randrange(8) > 0
    if not has_arrived:
        objects.pop()
    for number in range(random.randrange(1, 6)):
        owners = random.choice(((), (f"{kind}/app",), (f"ServiceAccount/{GROUP}",)))
        marks = marked(random.choice((9, 30, 30, 30))) if random.randrange(6) else {}
        old = revision(f"old-{number}-{random.random()}", annotations=marks, owners=owners)
        objects.append(old)
        if random.randrange(3):
            objects.append(user(random.choice(CONSUMER_KINDS).kind, f"u{number}", name_of(old)))
    objects += [job("earlier", 60, "attach", "own")] * random.randrange(2)
    return objects, f"{kind}/app@bb=configmap/{name_of(new)}", has_arrived


def history(name: str, owner: str, *names: str) -> Json:
    data = {"spec": {"template": template(*names)}}
    return obj("ControllerRevision", name, owner=owner, data=data)


def user(kind: str, name: str, *names: str) -> Json:
    """Return an object of any kind that uses revisions."""
    pod = template(*names)
    if kind == "ControllerRevision":
        return history(name, "", *names)
    if kind == "Pod":
        return obj(kind, name, spec=pod["spec"])
    if kind == "PodTemplate":
        return obj(kind, name, template=pod)
    if kind in ("AnalysisTemplate", "AnalysisRun"):
        metric = {"provider": {"job": {"spec": {"template": pod}}}}
        return obj(kind, name, spec={"metrics": [metric]})
    if kind == "Experiment":
        return obj(kind, name, spec={"templates": [{"template": pod}]})
    return workload(f"{kind}/{name}", "", *names)


def random_plan(random: Random, objects: Sequence[Json]) -> Callable[[int, str], str]:
    """Return a plan: mostly one fault for a kind, from a request on; else one or many faults."""
    fault = random.choice(sorted(FAULTS))
    start = random.choice((0, 0, 0, random.randrange(60)))
    way = random.randrange(8)
    if way == 0:
        return lambda number, _: fault if number == start else ""
    if way == 1:
        rate = random.choice((0.02, 0.1, 0.5))
        return lambda *_: random.choice(sorted(FAULTS)) if random.random() < rate else ""
    plural = KINDS[random.choice(objects)["kind"]].plural
    return lambda number, text: fault if number >= start and plural in text else ""


def run(cluster: Cluster, wanted: str) -> str:
    """Run attach, and return its error, "" for none."""
    request = read_request(
        GROUP,
        [wanted],
        [],
        "",
        "",
        f"{TIMEOUT}s",
        release_owner=f"ServiceAccount/{GROUP}",
        prunes=True,
        deletes_finished_jobs=True,
    )
    with cluster.clock(), logged():
        client = cluster.client(TIMEOUT + RUN_SECONDS)
        try:
            attach(client, request, ["attach", "own"])
        except UserError as error:
            return str(error)
    return ""


def check_faults(random: Random) -> tuple[str, ...]:
    """Run attach with random faults, then without, and return the faults that it met."""
    objects, wanted, has_arrived = random_objects(random)
    cluster = FaultyCluster(random, random_plan(random, objects), *objects)
    error = run(cluster, wanted)
    assert cluster.seconds <= MOST_SECONDS, (cluster.seconds, error)
    assert cluster.number <= MOST_SECONDS / LATENCY
    cluster.plan = lambda *_: ""
    cluster.sleep(3600)
    for _ in range(2):
        assert not run(cluster, wanted)
        cluster.sleep(3600)
    unused = [name for name in cluster.names("ConfigMap") if not cluster.users(name)]
    if has_arrived:
        assert unused == [], cluster.faults
    return tuple(cluster.faults)
