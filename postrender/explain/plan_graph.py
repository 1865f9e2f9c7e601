"""Who names what in a stream that is to be rendered: the graph of `explain`.

Nothing in it ends in a hash of what a Secret holds: a Secret has its base name only, and so has a
ConfigMap that names one, because the hash of such a ConfigMap covers the Secret's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from postrender.config.settings import IGNORE
from postrender.diff.base_names import base_name_of
from postrender.diff.labels import AUTO_MOUNT, WORKLOAD_REF, label_of
from postrender.diff.model import UNCHANGED, Edge, Graph, GraphNode
from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.kinds import CONFIG_MAP, SECRET, WORKLOAD_KINDS
from postrender.plan.build import Plan
from postrender.plan.model import PlanContext
from postrender.plan.strategy import is_known_revision

Named = tuple[ItemKey, ItemKey, str, bool]


def plan_graph(plan: Plan, redacted: Collection[str]) -> Graph:
    """Return every ConfigMap (and Secret) that a plan decides about, with whatever names it.

    hidden: the names of revisions that must not be shown.
    """
    context = plan.context
    if context is None:
        return Graph()
    named = list(_named(context))
    naming = {source for source, *_ in named}
    named += _rollouts(context, naming)
    drawn = {*context.decisions, *(source for source, *_ in named)}
    nodes = [item for item in context.inventory.items if item.key in drawn]
    numbers = {item.key: number for number, item in enumerate(nodes)}
    return Graph(
        tuple(_node(context, item, redacted) for item in nodes),
        tuple(
            Edge(numbers[source], numbers[target], label, keeps_base_name=keeps_base_name)
            for source, target, label, keeps_base_name in dict.fromkeys(named)
        ),
    )


def _named(context: PlanContext) -> Iterator[Named]:
    for source, links in context.links.items():
        for link in links:
            target = link.target.key
            if target in context.decisions:
                label = label_of(link.reference.path)
                yield source, target, label, link.keeps_base_name and target in context.names
    for workload, mounts in context.mounts.items():
        for mount in mounts:
            yield workload, mount.item.key, AUTO_MOUNT, False


def _rollouts(context: PlanContext, naming: Collection[ItemKey]) -> Iterator[Named]:
    for workload, rollouts in context.rollouts.items():
        for rollout in rollouts if workload in naming else ():
            yield rollout.key, workload, WORKLOAD_REF, False


def _node(context: PlanContext, item: Item, redacted: Collection[str]) -> GraphNode:
    kind = item.identity.group_kind
    identity = item.identity
    if kind in (CONFIG_MAP, SECRET):
        name = base_name_of(item, is_revision=is_known_revision(item))
        identity = identity._replace(name=name)
        return GraphNode(identity, "config", UNCHANGED, note=_note(context, item, redacted))
    return GraphNode(identity, "workload" if kind in WORKLOAD_KINDS else "other", UNCHANGED)


def _note(context: PlanContext, item: Item, redacted: Collection[str]) -> str:
    """Return what becomes of a ConfigMap or Secret, in words."""
    decision = context.decisions.get(item.key)
    if decision is None:
        return ""
    name = context.revision_of(item)
    if name in redacted:
        name = ""
    if decision.is_revision:
        return f"is {name or 'a revision'} already"
    if item.key in context.names:
        original = ", and the original stays" if decision.keep_reason else ""
        return f"becomes {name or 'a revision'}{original}"
    named = "keeps its name" if decision.strategy == IGNORE else decision.strategy
    return f"{named}: {decision.reason}"
