"""An object moves to another namespace: the tool creates a new object and deletes the old one.

The old pods stop, whether or not new pods are ready. New volumes are empty. Clients of the old
address of a Service fail.

Source: the identity of an object, which includes its namespace.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.config.settings import NOTHING
from postrender.diff.kinds import template_path
from postrender.diff.model import Risk
from postrender.diff.normalise import BaseNames, changed_fields
from postrender.diff.risks import Facts, Object
from postrender.kubernetes.annotations import keeper_of
from postrender.text import conjoined
from postrender.yaml.paths import value_at

_MOST = 3  # paths
_EMPTY = "The data of the old volumes does not move, and the new volumes are empty"
_PODS = "The old pods are deleted, whether or not the new pods are ready"
_ADDRESS = "Clients that use the old address fail"


def find(facts: Facts) -> Iterator[Risk]:
    for old, new in facts.moved():
        if not keeper_of(old.data) and (consequence := _consequence(old)):
            before, after = (
                facts.both.resolver.namespace_of(one.identity.namespace) for one in (old, new)
            )
            names = BaseNames(facts.both.names.of_all, NOTHING)
            paths = [field.path for field in changed_fields(old.data, new.data, names)]
            verb = "changes" if len(paths) == 1 else "change"
            others = f", and {conjoined(paths, most=_MOST)} {verb}" if paths else ""
            moves = "moves" if paths else "moves unchanged"
            fact = f"the object {moves} from the namespace {before} to {after}{others}"
            yield Risk(new.identity, fact, consequence)


def _consequence(old: Object) -> str:
    if old.identity.kind == "PersistentVolumeClaim":
        return _EMPTY
    if old.identity.kind == "Service":
        return _ADDRESS
    has_claims = value_at(old.data, ("spec", "volumeClaimTemplates"))
    return (f"{_PODS}. {_EMPTY}" if has_claims else _PODS) if _has_pods(old) else ""


def _has_pods(item: Object) -> bool:
    kind = item.identity.group_kind
    return template_path(kind) is not None and kind[1] not in ("PodTemplate", "AnalysisTemplate")
