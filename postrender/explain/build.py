"""The report of `postrender explain` as data, with its reference graph, built from a plan.

The node of a ConfigMap or Secret has the base name, and a note with the decision. The note contains
the revision name, unless its hash could reveal a Secret. The hash of a ConfigMap that references a
Secret covers the Secret's revision name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from postrender.config.settings import IGNORE, RENAME
from postrender.diff.model import UNCHANGED, Edge, Graph, GraphNode
from postrender.diff.pairs import base_name_of
from postrender.diff.redact import redact, secret_names_of_plan
from postrender.diff.usages import AUTO_MOUNT, WORKLOAD_REF, label_of
from postrender.errors import Finding
from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.kinds import CONFIG_MAP, SECRET, WORKLOAD_KINDS, Identity
from postrender.plan.build import Plan
from postrender.plan.links import Link
from postrender.plan.model import PlanContext
from postrender.plan.mounts import Mount
from postrender.plan.readers import find_reloads
from postrender.plan.strategy import StrategyDecision, is_known_revision
from postrender.records import NamedTuple, grouped

# The source of a reference: a field, or the auto-mount annotations of the ConfigMap or Secret.
FROM_FIELD, FROM_AUTO_MOUNT = "reference", "auto-mount"


class ObjectReference(NamedTuple):
    """A reference to a ConfigMap or Secret.

    identity: the object that has the reference.
    line: the line of the field in the input, from 1; 0 for an auto-mount.
    path: the path of the field in the object, "" for an auto-mount.
    source: FROM_FIELD or FROM_AUTO_MOUNT.
    is_rewritten: whether the output references the revision. A Role also keeps the base name.
    """

    identity: Identity
    line: int
    path: str
    source: str
    is_rewritten: bool


class ObjectEntry(NamedTuple):
    """The decision for one ConfigMap or Secret.

    strategy: RENAME, CHECKSUM or IGNORE (module `config.settings`).
    reason: the reason for the strategy.
    revision: the revision name, "" if there is none or if the name could reveal a Secret.
    keep_reason: the reason why the output also has the original, "" if the original does not stay.
    attach_group: the attach group of the revision, "" if there is none.
    references: the references to the object. References that can cause a rename are first.
    reloaders: the workloads that reload the mounted object themselves.
    """

    identity: Identity
    strategy: str
    reason: str
    revision: str
    keep_reason: str
    attach_group: str
    references: tuple[ObjectReference, ...]
    reloaders: tuple[str, ...] = ()


class EarlierEntry(NamedTuple):
    """The decision for one object of earlier outputs.

    number: the value of the annotation postrender/revision-number, 0 for an original.
    decision: RETAIN, LAST_TIME, DROP or REPLACED (module `plan.model`).
    reason: the reason for the decision.
    """

    identity: Identity
    base_name: str
    number: int
    decision: str
    reason: str


class Explanation(NamedTuple):
    """The report for one input.

    objects: the ConfigMaps of the input and, if --secrets is set, the Secrets.
    earlier: the objects of earlier outputs, which --previous provides.
    attach_groups: the names of the attach groups, () if the attacher is off.
    mode: the form of the attachers' Jobs, "job" or "hook", or "external" for inventories. "" if
        attach_groups is empty.
    mode_reason: the reason for the mode, "" if attach_groups is empty.
    graph: the reference graph, for the format mermaid.
    configuration: the configuration file, "" for none; None does not appear in the text.
    """

    objects: tuple[ObjectEntry, ...] = ()
    earlier: tuple[EarlierEntry, ...] = ()
    attach_groups: tuple[str, ...] = ()
    mode: str = ""
    mode_reason: str = ""
    findings: tuple[Finding, ...] = ()
    graph: Graph = Graph()
    configuration: str | None = None


def explain(plan: Plan) -> Explanation:
    """The report for a plan, without revision names that could reveal a Secret.

    If `plan.context` is None, it has only findings.
    """
    context = plan.context
    if context is None:
        return Explanation(findings=plan.findings)
    secret_names = secret_names_of_plan(context)
    is_attached = context.settings.attacher.is_enabled and bool(plan.groups)
    mode, mode_reason = plan.mode if is_attached else ("", "")
    explanation = Explanation(
        objects=_objects(plan, context, secret_names),
        earlier=_earlier(context),
        attach_groups=tuple(group.name for group in plan.groups) if is_attached else (),
        mode=mode,
        mode_reason=mode_reason,
        findings=plan.findings,
        graph=plan_graph(context, secret_names),
    )
    return redact(explanation, secret_names)


def _objects(
    plan: Plan, context: PlanContext, secret_names: Mapping[str, str]
) -> tuple[ObjectEntry, ...]:
    links = grouped(
        (link for links in context.links.values() for link in links), lambda link: link.target.key
    )
    mounts = grouped(
        (mount for several in context.mounts.values() for mount in several),
        lambda mount: mount.item.key,
    )
    group_names = {
        (context.resolver.effective_namespace(group.namespace), revision): group.name
        for group in plan.groups
        for revision in group.emitted
    }
    reloads: dict[Identity, list[str]] = {}
    for user, targets in find_reloads(context, context.names).items():
        for target in targets:
            reloads.setdefault(target, []).append(str(user))
    entries = []
    for key, decision in context.decisions.items():
        identity = decision.item.identity
        revision = context.revision_of(decision.item)
        namespace = context.resolver.effective_namespace(identity.namespace)
        entries.append(
            ObjectEntry(
                identity=identity,
                strategy=decision.strategy,
                reason=decision.reason,
                revision="" if revision in secret_names else revision,
                keep_reason=decision.keep_reason,
                attach_group=group_names.get((namespace, (identity.kind.lower(), revision)), ""),
                references=_references(context, decision, links.get(key, ()), mounts.get(key, ())),
                reloaders=tuple(reloads.get(identity, ())),
            )
        )
    return tuple(entries)


def _references(
    context: PlanContext,
    decision: StrategyDecision,
    links: Sequence[Link],
    mounts: Iterable[Mount],
) -> tuple[ObjectReference, ...]:
    """The references to an object. References that can cause a rename are first."""
    is_renamed = decision.strategy == RENAME
    causes: list[ObjectReference] = []
    others: list[ObjectReference] = []
    for link in links:
        reference = link.reference
        location = context.inventory.location_of_reference(link.source, reference)
        (causes if link.triggers_rename else others).append(
            ObjectReference(
                identity=link.source.identity,
                line=location.line,
                path=location.path,
                source=FROM_FIELD,
                is_rewritten=is_renamed and link.is_rewritten,
            )
        )
    causes += [
        ObjectReference(
            identity=mount.workload.identity,
            line=0,
            path="",
            source=FROM_AUTO_MOUNT,
            is_rewritten=is_renamed,
        )
        for mount in mounts
    ]
    return (*causes, *others)


def _earlier(context: PlanContext) -> tuple[EarlierEntry, ...]:
    return tuple(
        EarlierEntry(
            identity=retained.revision.identity,
            base_name=retained.revision.base_name,
            number=retained.revision.order,
            decision=retained.decision,
            reason=retained.reason,
        )
        for retained in context.retained
    )


# An edge between two objects of the inventory: their keys, the label of the reference, and whether
# the reference keeps the base name although postrender renames the target.
_KeyEdge = tuple[ItemKey, ItemKey, str, bool]


def plan_graph(context: PlanContext, secret_names: Collection[str]) -> Graph:
    """The ConfigMaps and Secrets of a plan, and the objects that reference them.

    The graph also has the Rollouts that use the pod template of one of these objects.
    secret_names: the revision names that the graph must not contain.
    """
    edges = list(_edges_of_references(context))
    edges += _workload_refs(context, {source for source, *_ in edges})
    keys = {*context.decisions, *(source for source, *_ in edges)}
    items = [item for item in context.inventory.items if item.key in keys]
    indexes = {item.key: index for index, item in enumerate(items)}
    return Graph(
        tuple(_node(context, item, secret_names) for item in items),
        tuple(
            Edge(indexes[source], indexes[target], label, keeps_base_name=keeps_base_name)
            for source, target, label, keeps_base_name in dict.fromkeys(edges)
        ),
    )


def _edges_of_references(context: PlanContext) -> Iterator[_KeyEdge]:
    for source, links in context.links.items():
        for link in links:
            target = link.target.key
            if target in context.decisions:
                keeps_base_name = link.keeps_base_name and target in context.names
                yield source, target, label_of(link.reference.path), keeps_base_name
    for workload, mounts in context.mounts.items():
        for mount in mounts:
            yield workload, mount.item.key, AUTO_MOUNT, False


def _workload_refs(context: PlanContext, sources: Collection[ItemKey]) -> Iterator[_KeyEdge]:
    """An edge from each Rollout to its workload, if the workload is in `sources`.

    sources: the objects that reference a ConfigMap or Secret.
    """
    for workload, rollouts in context.rollouts.items():
        for rollout in rollouts if workload in sources else ():
            yield rollout.key, workload, WORKLOAD_REF, False


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
    """The decision for a ConfigMap or Secret as a phrase, "" if there is none."""
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
