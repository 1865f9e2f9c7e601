"""What is renamed, what is rewritten, what is left alone and why: a pure function of an inventory.

The steps stand in `make_plan`, in their order: what names what; a decision for each ConfigMap;
names, dependencies first; the edits of every object; the attacher's objects; what is left over.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from postrender.config.settings import NOTHING, RENAME, Settings
from postrender.errors import Finding, Location, UserError
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey
from postrender.krm.tool_annotations import with_current_names
from postrender.kubernetes.annotations import BASE_NAME_ANNOTATION
from postrender.kubernetes.kinds import GroupKind
from postrender.plan.appended import new_attachers, retained_objects
from postrender.plan.attach_groups import AttachGroups, find_groups
from postrender.plan.attacher_job import HOOK, AttachGroup, decide_mode, default_image
from postrender.plan.auto_mount import Mount, check_mounts, find_mounts
from postrender.plan.configmap_edits import revision_edits
from postrender.plan.duplicates import find_duplicates
from postrender.plan.history import NO_HISTORY, History
from postrender.plan.leftovers import Renamed, find_leftovers
from postrender.plan.links import Link, by_source, by_target, find_links
from postrender.plan.model import PlanContext, targets_by_workload
from postrender.plan.names import name_revisions
from postrender.plan.namespaces import CLUSTER_SCOPED, new_resolver
from postrender.plan.numbering import number_revisions
from postrender.plan.strategy import decide_strategies
from postrender.plan.workload_edits import source_edits
from postrender.references.rule import RBAC
from postrender.startup.records import NamedTuple
from postrender.yaml.edits import Edit, SetScalar
from postrender.yaml.paths import Json

# Helm's --wait-for-jobs fails where a Job is gone before it looks; so long it may take.
_SHORT_TTL = 300


class PlanBasis(NamedTuple):
    """What is decided before anything is edited.

    choices: None where the stream has nothing to revise; repeated: objects that repeat an earlier
    one.
    """

    context: PlanContext | None = None
    repeated: frozenset[ItemKey] = frozenset()
    findings: tuple[Finding, ...] = ()


class Plan(NamedTuple):
    """What a render does.

    choices: the decisions, names and links (None where the stream has nothing to revise);
    edits: by object; copies: objects whose original stays, their edits being made in a copy that
    follows it; removed: objects that are left out; appended: whole new objects, at the end;
    mode: the form of the Job and why; sets: what the attachers look after.
    """

    inventory: Inventory
    context: PlanContext | None = None
    edits: Mapping[ItemKey, Sequence[Edit]] = NOTHING
    copies: frozenset[ItemKey] = frozenset()
    removed: frozenset[ItemKey] = frozenset()
    appended: tuple[dict[str, Json], ...] = ()
    mode: tuple[str, str] = ("", "")
    sets: tuple[AttachGroup, ...] = ()
    findings: tuple[Finding, ...] = ()


def make_plan(inventory: Inventory, settings: Settings, history: History = NO_HISTORY) -> Plan:
    """Return what is to be done with a stream; history: what was applied before.

    Raises UserError where the stream contradicts itself; see the modules of the steps.
    """
    basis = build_basis(inventory, settings, history)
    context, findings = basis.context, basis.findings
    if context is None:
        return Plan(inventory)
    edits, render_ids = source_edits(context)
    sets = find_groups(context, render_ids)
    _add_revision_edits(context, sets, edits)
    copies, replaced = _originals(context)
    for key in copies & replaced:
        del edits[key]  # the original stays, and its revision is in the stream already
    mode = decide_mode(context.inventory, settings.attacher)
    attachers, stale = new_attachers(context, sets, mode[0])
    return Plan(
        context.inventory,
        context,
        {key: value for key, value in edits.items() if value},
        copies - replaced,
        basis.repeated | (replaced - copies) | stale,
        (*retained_objects(context, sets), *attachers),
        mode,
        sets.sets,
        (*findings, *_attacher_findings(context, sets, mode[0]), *_leftovers(context, edits)),
    )


def build_basis(
    inventory: Inventory, settings: Settings, history: History = NO_HISTORY
) -> PlanBasis:
    """Return the decisions, names and links of a stream.

    Raises UserError as make_plan does.
    """
    if not history.earlier and not any(item.content is not None for item in inventory.items):
        return PlanBasis()
    repeated, inventory = find_duplicates(with_current_names(inventory), settings)
    resolver = new_resolver(inventory, settings)
    every, findings = find_links(inventory, resolver)
    links = [link for link in every if not link.is_pinned]
    resolver = resolver._replace(is_one_place=any(_joins(link) for link in links))
    mounts: dict[ItemKey, list[Mount]] = defaultdict(list)
    mounted: dict[ItemKey, list[Item]] = defaultdict(list)
    for mount in find_mounts(inventory, resolver):
        mounts[mount.workload.key].append(mount)
        mounted[mount.item.key].append(mount.workload)
    check_mounts(inventory, mounts)
    hook_users = {}
    if history.is_known:
        from postrender.plan.retained import find_hook_users, find_retained

        hook_users = find_hook_users(inventory.items, history, resolver)
    decisions, more = decide_strategies(inventory, by_target(every), mounted, settings, hook_users)
    renamed = [decision for decision in decisions if decision.strategy == RENAME]
    sources = by_source(links)
    numbers = number_revisions(history, resolver, settings.naming)
    names = name_revisions(inventory, renamed, sources, numbers)
    by_item = {decision.item.key: decision for decision in decisions}
    named = targets_by_workload(sources, mounts)
    context = PlanContext(inventory, settings, resolver, by_item, names, sources, mounts, named)
    if history.is_known:
        orders = {key: numbers.order(by_item[key].item, name) for key, name in names.items()}
        retained = find_retained(context, numbers, history)
        context = context._replace(orders=orders, retained=retained)
    return PlanBasis(context, repeated, (*findings, *more))


def _joins(link: Link) -> bool:
    """Tell whether a link shows that an absent namespace and an explicit one are the same.

    Not one of RBAC, in which the base name stays: once the object that it meant has the name of
    a revision, it may mean one of that name elsewhere.
    """
    if link.reference.rule.family == RBAC:
        return False
    source, target = link.source.identity, link.target.identity
    written = link.reference.namespace or source.namespace
    return source.kind not in CLUSTER_SCOPED and (written is None) != (target.namespace is None)


def _add_revision_edits(
    context: PlanContext, sets: AttachGroups, edits: dict[ItemKey, list[Edit]]
) -> None:
    """Add the edits of the objects that are renamed to those that they have as sources."""
    out_of_sight = {
        link.target.key
        for links in context.links.values()
        for link in links
        if link.is_outside_attach
    }
    for key, name in context.names.items():
        own = revision_edits(
            context.decisions[key],
            name,
            sets.group_names[key],
            is_attached=context.settings.attacher.is_enabled,
            is_swept=key not in out_of_sight,
            order=context.orders.get(key),
        )
        taken = {edit.path for edit in edits.get(key, ())}
        edits[key] = [*edits.get(key, ()), *(edit for edit in own if edit.path not in taken)]


def _originals(context: PlanContext) -> tuple[frozenset[ItemKey], frozenset[ItemKey]]:
    """Return the objects that stay beside a copy, and those whose revision is there already."""
    others = [
        decision.item for key, decision in context.decisions.items() if key not in context.names
    ]
    there = {
        _identity(context, item, name) for item in others if (name := context.revision_of(item))
    }
    taken = {_identity(context, item, item.identity.name): item for item in others}
    copies, replaced = set(), set()
    for key, name in context.names.items():
        item = context.decisions[key].item
        identity = _identity(context, item, name)
        if context.decisions[key].keep_reason:
            copies.add(key)
        if identity in there:
            replaced.add(key)
        elif identity in taken:
            other = context.inventory.location_of(taken[identity])
            raise UserError(
                f"it is to become {name}, a name that another {item.identity.kind} bears: {other}",
                "take one of the two out, or give one the annotation postrender/strategy: ignore",
                context.inventory.location_of(item),
            )
    return frozenset(copies), frozenset(replaced)


def _identity(context: PlanContext, item: Item, name: str) -> tuple[GroupKind, str | None, str]:
    """Return what an object is known by if it bears a name."""
    namespace = context.resolver.group_namespace(item.identity.namespace)
    return item.identity.group_kind, namespace, name


def _attacher_findings(context: PlanContext, sets: AttachGroups, mode: str) -> list[Finding]:
    settings = context.settings.attacher
    if not settings.is_enabled or not sets.sets:
        return []
    location = Location(context.inventory.stream.source)
    findings = []
    if not settings.image:
        findings.append(
            Finding(
                "attacher-image",
                f"the attacher Job runs the image {default_image()}, which no public registry has",
                "build it and load it into the cluster, or push it and set attacher.image",
                location,
            )
        )
    if mode == HOOK and settings.ttl < _SHORT_TTL:
        findings.append(
            Finding(
                "short-ttl",
                f"attacher.ttlSecondsAfterFinished is {settings.ttl}: the Job may be gone before "
                "Helm's --wait-for-jobs has seen it end",
                f"set {_SHORT_TTL} or more",
                location,
            )
        )
    return findings


def _leftovers(context: PlanContext, edits: Mapping[ItemKey, Sequence[Edit]]) -> list[Finding]:
    kept = {
        _identity(context, decision.item, decision.item.identity.name)
        for key, decision in context.decisions.items()
        if key not in context.names or decision.keep_reason
    }
    renamed = [
        Renamed(item, base_name)
        for decision in context.decisions.values()
        if (item := decision.item) and (base_name := _base_name(context, item))
        if _identity(context, item, base_name) not in kept
    ]
    linked = {(key, link.reference.path) for key, links in context.links.items() for link in links}
    accounted = Counter(
        key[0]
        for key, own in edits.items()
        for edit in own
        if isinstance(edit, SetScalar)
        and ((key, edit.path) in linked or edit.path == (*key[1], "metadata", "name"))
    )
    settings = context.settings
    return find_leftovers(
        context.inventory,
        context.resolver,
        renamed,
        accounted,
        settings.ignored_leftovers,
        linked,
    )


def _base_name(context: PlanContext, item: Item) -> str:
    """Return the base name of an object that is a revision in the output."""
    if item.key in context.names:
        return item.identity.name
    return item.annotations.get(BASE_NAME_ANNOTATION, "") if context.revision_of(item) else ""
