"""The change sets a field that cannot change, so the API server rejects the object.

`kubectl apply` and Argo CD apply the other objects, so a workload can roll towards a missing
ConfigMap; Helm stops in the middle. Delete and re-create the object, or give it
another name.

The rule knows selectors of workloads, the fixed fields of StatefulSets, Jobs, Pods, volumes,
claims, Services and classes, `roleRef`, the type of a Secret, and ConfigMaps and Secrets with
`immutable: true`. Helm and Argo CD re-create hooks.

Source: the functions `Validate…Update` in `pkg/apis/*/validation` of Kubernetes, and trials with an
API server of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import REFUSED, Risk
from postrender.diff.risks.data_loss import LOSSES
from postrender.diff.risks.facts import Facts, rejection
from postrender.diff.texts import content_of
from postrender.kubernetes.kinds import SECRET
from postrender.kubernetes.validation.updates import find_rejected_changes
from postrender.yaml.paths import format_path

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
        if before.is_immutable and before.is_content:
            sides = (before.data, after.data)
            old, new = (content_of(data, is_secret=group_kind == SECRET) for data in sides)
            if old != new or not after.is_immutable:
                fact = "the object is immutable, and the change does not give it another name"
                yield rejection(facts, pair.identity, fact, fix=_FIX)


_FIX = "Delete or rename the object before the apply"
_KEEP = "Undo the change, because to delete the object deletes data"
