"""An object becomes a Helm hook, or a hook becomes an object.

- Helm deletes a new `pre-upgrade` hook, because the previous release has the object.
- Helm does not import what a former hook left, and the upgrade fails.

Source: `performUpgrade` and `existingResourceConflict` of Helm; tried with Helm 3.22 and 4.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import Risk
from postrender.diff.risks import Facts
from postrender.kubernetes.annotations import (
    HELM_HOOK_ANNOTATION,
    HELM_HOOK_DELETE_ANNOTATION,
    keeper_of,
)
from postrender.kubernetes.kinds import strings_at
from postrender.yaml.paths import Json

_LEAVING = {"pre-install", "post-install", "pre-upgrade", "post-upgrade"}
_RUNS_ONCE = ("Job", "Pod")
_DELETED = "After the hook, Helm deletes the object, because the previous release has the object"
_EXISTS = "The upgrade fails, because the hook finds the object of the previous release"
_FAILS = (
    "If the object of the hook is still there, the upgrade fails (invalid ownership metadata). "
    "Delete the object before the upgrade"
)


def find(facts: Facts) -> Iterator[Risk]:
    for pair in facts.changes:
        if not pair.both or pair.both[0].name != pair.both[1].name:
            continue
        old, new = (_values(one.data, HELM_HOOK_ANNOTATION) for one in pair.both)
        policy = _values(pair.both[bool(new)].data, HELM_HOOK_DELETE_ANNOTATION)
        if old & _LEAVING and not new and "hook-succeeded" not in policy:
            yield Risk(pair.identity, "the hook becomes an object of the release", _FAILS)
        elif "pre-upgrade" in new and not old and not pair.both[0].is_hook:
            is_replaced = not policy or "before-hook-creation" in policy
            is_lost = not keeper_of(pair.both[1].data) and pair.identity.kind not in _RUNS_ONCE
            if is_lost or not is_replaced:
                consequence = _DELETED if is_replaced else _EXISTS
                yield Risk(pair.identity, "the object becomes a pre-upgrade hook", consequence)


def _values(data: dict[str, Json], annotation: str) -> set[str]:
    text = strings_at(data, "annotations").get(annotation, "")
    return {value.strip() for value in text.split(",") if value.strip()}
