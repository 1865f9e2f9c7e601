"""A preview tells each change that a real `kubectl apply` makes.

Each object has one field that changes between a value, another value, an empty value, a null and
nothing. Between two applies, another program such as an autoscaler sets the field. kubectl and the
API server then decide what the second apply changes (a three-way merge).
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Any, NamedTuple

from postrender.config.settings import Settings
from postrender.diff.build import compare
from postrender.yaml.stream import read_stream
from tests.e2e.api import Api, Json
from tests.e2e.releases import Release
from tests.manifests import dump

Path = tuple[str | int, ...]
ABSENT = "absent"

POD = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {"containers": [{"name": "app", "image": "a"}]},
}
WORKLOAD = {"replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": POD}
OBJECTS = {
    "Deployment": {"apiVersion": "apps/v1", "spec": WORKLOAD},
    "Rollout": {"apiVersion": "argoproj.io/v1alpha1", "spec": WORKLOAD},
    "Service": {"apiVersion": "v1", "spec": {"selector": {"app": "x"}, "ports": [{"port": 80}]}},
    "ConfigMap": {"apiVersion": "v1", "data": {"a": "b"}},
}


class Field(NamedTuple):
    """A field: its kind and path, two values and an empty value, and what another program sets."""

    kind: str
    path: Path
    values: tuple[Any, Any]
    empty: Any
    foreign: Any


POD_SPEC = ("spec", "template", "spec")
APP = (*POD_SPEC, "containers", 0)
FIELDS = [
    Field("Deployment", ("spec", "replicas"), (1, 2), 0, 5),
    Field("Deployment", ("spec", "paused"), (True, False), False, True),
    Field("Deployment", ("metadata", "labels"), ({"a": "b"}, {"c": "d"}), {}, {"e": "f"}),
    Field("Deployment", (*POD_SPEC, "nodeSelector"), ({"a": "b"}, {"c": "d"}), {}, {"e": "f"}),
    Field("Deployment", (*APP, "args"), (["a"], ["b"]), [], ["c"]),
    Field(
        "Deployment",
        (*APP, "env"),
        ([{"name": "A", "value": "b"}], [{"name": "B", "value": "b"}]),
        [],
        [{"name": "C", "value": "b"}],
    ),
    Field("Rollout", ("spec", "replicas"), (1, 2), 0, 5),
    Field("Rollout", (*APP, "args"), (["a"], ["b"]), [], ["c"]),
    Field("Service", ("spec", "sessionAffinity"), ("ClientIP", "None"), "None", "ClientIP"),
    Field("Service", ("spec", "selector", "b"), ("c", "d"), "", "e"),
    Field("ConfigMap", ("data",), ({"a": "b"}, {"c": "d"}), {}, {"e": "f"}),
    Field("ConfigMap", ("data", "b"), ("c", "d"), "", "e"),
    Field("ConfigMap", ("metadata", "annotations", "b"), ("c", "d"), "", "e"),
]


class Change(NamedTuple):
    """An object before and after, and what another program sets in between (a merge patch)."""

    title: str
    old: Json
    new: Json
    patch: Json


def changes() -> Iterator[Change]:
    for field in FIELDS:
        states = {"a": field.values[0], "b": field.values[1], "empty": field.empty}
        states |= {"null": None, "absent": ABSENT}
        for before, after in permutations(states, 2):
            if {before, after} == {"a", "b"} or states[before] == states[after]:
                continue
            parts = (field.kind, *field.path[-2:], before, after)
            name = "-".join(map(str, parts)).lower()
            old, new = (with_value(field, states[state], name) for state in (before, after))
            yield Change(name, old, new, patch_of(field.path, field.foreign, old))


def with_value(field: Field, value: Any, name: str) -> Json:
    data = copy.deepcopy({**OBJECTS[field.kind], "kind": field.kind, "metadata": {"name": name}})
    parent: Any = data
    for part in field.path[:-1]:
        parent = parent[part] if isinstance(part, int) else parent.setdefault(part, {})
    parent.pop(field.path[-1], None)
    if value != ABSENT:
        parent[field.path[-1]] = copy.deepcopy(value)
    return data


def patch_of(path: Path, value: Any, data: Any) -> Any:
    """Return a JSON merge patch that sets a value; a list on the path is replaced as a whole."""
    if not path:
        return value
    part, inner = path[0], data.get(path[0]) if isinstance(data, dict) else data[path[0]]
    if isinstance(part, int):
        items = copy.deepcopy(data)
        items[part] = items[part] | patch_of(path[1:], value, inner)
        return items
    return {part: patch_of(path[1:], value, inner if inner is not None else {})}


def test_a_preview_tells_what_an_apply_changes(api: Api, manifests: Release) -> None:
    found = list(changes())
    manifests.apply_text(dump([change.old for change in found]))
    for change in found:
        kind, name = change.old["kind"], change.title
        api.patch(kind, name, change.patch)
    before = live(api, found)
    manifests.apply_text(dump([change.new for change in found]))
    after = live(api, found)
    changed = [change for change in found if before[change.title] != after[change.title]]
    assert len(changed) > len(found) / 2
    assert not [change.title for change in changed if not is_told(change)]
    print(len(changed), "of", len(found), "changes")


def live(api: Api, found: list[Change]) -> Mapping[str, str]:
    """Return each live object without what the API server and controllers write."""
    kinds = {change.old["kind"] for change in found}
    return {
        data["metadata"]["name"]: json.dumps(stored(data), sort_keys=True)
        for kind in kinds
        for data in api.list(kind)
    }


def stored(data: Json) -> Json:
    metadata = {key: data["metadata"].get(key) for key in ("labels", "annotations")}
    annotations = dict(metadata["annotations"] or {})
    annotations.pop("kubectl.kubernetes.io/last-applied-configuration", None)
    annotations.pop("deployment.kubernetes.io/revision", None)
    metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": data.get("spec"), "data": data.get("data")}


def is_told(change: Change) -> bool:
    old, new = (read_stream(dump([data]).encode(), "stream") for data in (change.old, change.new))
    return compare(old, new, Settings()).has_changes
