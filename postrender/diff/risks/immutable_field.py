"""The change sets a field that cannot change, so the API server rejects the object.

`kubectl apply` and Argo CD still apply the other objects; Helm stops in the middle. Delete and
re-create the object, or give it another name.

Such are selectors, `roleRef`, the type of a Secret, all of an immutable ConfigMap, fields of
StatefulSets, Jobs, claims and Services, and the size of a claim without `allowVolumeExpansion`.

Source: the functions `Validate…Update` in `pkg/apis/*/validation` of Kubernetes, and trials with an
API server of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import REFUSED, Risk
from postrender.diff.risks import Facts, rejection
from postrender.diff.risks.data_loss import LOSSES
from postrender.kubernetes.kinds import Identity
from postrender.kubernetes.validation.checks import quantity
from postrender.kubernetes.validation.updates import find_rejected_changes
from postrender.yaml.paths import Json, format_path, value_at

REJECTS = True


def find(facts: Facts) -> Iterator[Risk]:
    for workload in facts.workloads:
        if workload.effect == REFUSED:
            fact = "the pod template cannot change"
            yield rejection(facts, workload.identity, fact, fix=_FIX)
    for pair in facts.changes:
        before, after = pair.old, pair.new
        # A changed name makes a new object.
        if not (before and after) or before.name != after.name or after.is_hook:
            continue
        group_kind = pair.identity.group_kind
        for path, fact in find_rejected_changes(group_kind, before.data, after.data, pair.parts):
            fix = _KEEP if group_kind in LOSSES else _FIX
            yield rejection(facts, pair.identity, fact, format_path(path), fix=fix)
        # In an output, revisions are immutable. The records know that of a rendered input too.
        is_fixed = before.is_immutable and before.is_content
        if is_fixed and (before.content != after.content or not after.is_immutable):
            fact = "the object is immutable, and the change does not give it another name"
            yield rejection(facts, pair.identity, fact, fix=_FIX)

    yield from _expansions(facts)


def _expansions(facts: Facts) -> Iterator[Risk]:
    """The claims that grow in a class of the stream that does not let them."""
    grown: dict[Json, list[Identity]] = {}
    for identity, old, new in facts.changed(*_SIZE):
        before, after = (quantity(value_at(data, _SIZE)) for data in (old, new))
        if identity.group_kind == _CLAIM and before and after and before < after:
            grown.setdefault(value_at(new, ("spec", "storageClassName")), []).append(identity)
    names = [str(name) for name in grown]
    for item in facts.objects(("StorageClass",), is_new=True, words=names) if grown else ():
        if item.data.get("allowVolumeExpansion") is not True:
            for identity in grown.get(item.identity.name, ()):
                fact = f"the claim grows, but {item.identity} does not set allowVolumeExpansion"
                yield rejection(facts, identity, fact, format_path(_SIZE), fix=_EXPAND)


_CLAIM, _SIZE = ("", "PersistentVolumeClaim"), ("spec", "resources", "requests", "storage")
_EXPAND = "Set allowVolumeExpansion first, if the driver can expand volumes"
_FIX = "Delete or rename the object before the apply"
_KEEP = "Undo the change, because to delete the object deletes data"
