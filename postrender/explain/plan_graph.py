"""The reference graph for `postrender explain`.

The node of a ConfigMap or Secret has the base name, and a note with the decision. The note of a
revision contains the revision name, unless the hash in this name could reveal a Secret. If a
ConfigMap references a Secret, the hash of the ConfigMap covers the Secret's revision name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from postrender.config.settings import IGNORE
from postrender.diff.base_names import base_name_of
from postrender.diff.labels import AUTO_MOUNT, WORKLOAD_REF, label_of
from postrender.diff.model import UNCHANGED, Edge, Graph, GraphNode
from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.kinds import CONFIG_MAP, SECRET, WORKLOAD_KINDS
from postrender.plan.model import PlanContext
from postrender.plan.strategy import is_known_revision
from postrender.records import NamedTuple


class _KeyEdge(NamedTuple):
    """An edge between two objects of the inventory.

    keeps_base_name: whether the reference keeps the base name although postrender renames the
    target.
    """

    source: ItemKey
    target: ItemKey
    label: str
    keeps_base_name: bool = False


def plan_graph(context: PlanContext, secret_names: Collection[str]) -> Graph:
    """Return the graph of a plan: ConfigMaps, Secrets, and the objects that reference them.

    The graph also has the Rollouts that use the pod template of one of these objects.
    secret_names: the revision names that the graph must not contain.
    """
    edges = list(_edges_of_references(context))
    edges += _workload_refs(context, {edge.source for edge in edges})
    keys = {*context.decisions, *(edge.source for edge in edges)}
    items = [item for item in context.inventory.items if item.key in keys]
    indexes = {item.key: index for index, item in enumerate(items)}
    return Graph(
        tuple(_node(context, item, secret_names) for item in items),
        tuple(
            Edge(
                source=indexes[edge.source],
                target=indexes[edge.target],
                label=edge.label,
                keeps_base_name=edge.keeps_base_name,
            )
            for edge in dict.fromkeys(edges)
        ),
    )


def _edges_of_references(context: PlanContext) -> Iterator[_KeyEdge]:
    """Return an edge for each reference to a ConfigMap or Secret, and for each auto-mount."""
    for source, links in context.links.items():
        for link in links:
            target = link.target.key
            if target in context.decisions:
                yield _KeyEdge(
                    source=source,
                    target=target,
                    label=label_of(link.reference.path),
                    keeps_base_name=link.keeps_base_name and target in context.names,
                )
    for workload, mounts in context.mounts.items():
        for mount in mounts:
            yield _KeyEdge(source=workload, target=mount.item.key, label=AUTO_MOUNT)


def _workload_refs(context: PlanContext, sources: Collection[ItemKey]) -> Iterator[_KeyEdge]:
    """Return an edge from each Rollout of `context.rollouts` to its workload.

    The function leaves out workloads that are not in `sources`.
    sources: the objects that reference a ConfigMap or Secret.
    """
    for workload, rollouts in context.rollouts.items():
        for rollout in rollouts if workload in sources else ():
            yield _KeyEdge(source=rollout.key, target=workload, label=WORKLOAD_REF)


def _node(context: PlanContext, item: Item, secret_names: Collection[str]) -> GraphNode:
    identity, kind = item.identity, item.identity.group_kind
    if kind in (CONFIG_MAP, SECRET):
        name = base_name_of(item, is_revision=is_known_revision(item))
        return GraphNode(
            identity=identity._replace(name=name),
            role="config",
            change=UNCHANGED,
            note=_note(context, item, secret_names),
        )
    role = "workload" if kind in WORKLOAD_KINDS else "other"
    return GraphNode(identity=identity, role=role, change=UNCHANGED)


def _note(context: PlanContext, item: Item, secret_names: Collection[str]) -> str:
    """Return the decision for a ConfigMap or Secret as a phrase, "" if there is none."""
    decision = context.decisions.get(item.key)
    if decision is None:
        return ""
    revision = context.revision_of(item)
    shown = "a revision" if not revision or revision in secret_names else revision
    if decision.is_revision:
        return f"is already {shown}"
    if item.key in context.names:
        return f"becomes {shown}" + (", original kept" if decision.keep_reason else "")
    strategy = "not renamed" if decision.strategy == IGNORE else decision.strategy
    return f"{strategy}: {decision.reason}"
