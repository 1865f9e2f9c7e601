"""A ConfigMap that opts out of revisions changes under pods that run.

With the strategy `ignore`, the ConfigMap keeps its name, so the workload does not roll. Running
pods read mounted files again within about two minutes: every pod at once, without a canary or a way
back. A sidecar that reloads is no risk.

Source: the documentation of mounted ConfigMaps in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.config.settings import IGNORE
from postrender.diff.model import CHANGED, Risk
from postrender.diff.risks import Facts
from postrender.plan.reloads import find_reloads

# The pods of these kinds end by themselves.
_FINITE = ("Job", "CronJob")
_CONSEQUENCE = (
    "Running pods read the new content now, in mounted files, and otherwise when they restart"
)


def find(facts: Facts) -> Iterator[Risk]:
    read = [
        (workload.identity, identity)
        for workload in facts.workloads
        if workload.identity.kind not in _FINITE
        for identity in workload.in_place
    ]
    context = facts.both.new.context if read else None
    reloads = find_reloads(context, context.decisions) if context else {}
    in_place = {target for user, target in read if target not in reloads.get(user, ())}
    for content in facts.contents.values():
        is_fixed = content.identity.group_kind in facts.both.new.inventory.fixed_kinds
        is_changed = content.change == CHANGED and content.identity in in_place
        if is_changed and content.strategy == IGNORE and not is_fixed:
            fact = "the content changes, but the name stays (strategy ignore)"
            yield Risk(content.identity, fact, _CONSEQUENCE)
