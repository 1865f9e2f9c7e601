"""What is renamed, what is rewritten, what is left alone and why: a pure function of an inventory.

The steps stand in `make_plan`, in their order: what names what; a decision for each ConfigMap;
names, dependencies first; the edits of every object; the attacher's objects; what is left over.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from postrender.config.settings import NOTHING, RENAME, Settings
from postrender.errors import Finding, Place, UserError
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey
from postrender.krm.tool_annotations import with_current_names
from postrender.kubernetes.annotations import BASE_NAME_ANNOTATION
from postrender.kubernetes.kinds import GroupKind
from postrender.plan.appended import carried_objects, new_attachers
from postrender.plan.attach_groups import Sets, find_sets
from postrender.plan.attacher_job import HOOK, AttachSet, decide_mode, default_image
from postrender.plan.auto_mount import Mount, check_mounts, find_mounts
from postrender.plan.configmap_edits import revision_edits
from postrender.plan.duplicates import find_duplicates
from postrender.plan.history import NO_HISTORY, History
from postrender.plan.leftovers import Renamed, find_leftovers
from postrender.plan.links import Link, by_source, by_target, find_links
from postrender.plan.model import Choices, find_named
from postrender.plan.names import name_revisions
from postrender.plan.namespaces import CLUSTER_SCOPED, new_resolver
from postrender.plan.numbering import find_lineages
from postrender.plan.strategy import decide
from postrender.plan.workload_edits import source_edits
from postrender.references.rule import RBAC
from postrender.startup.records import NamedTuple
from postrender.yaml.edits import Edit, SetScalar
from postrender.yaml.paths import Data

# Helm's --wait-for-jobs fails where a Job is gone before it looks; so long it may take.
_SHORT_TTL = 300


class Chosen(NamedTuple):
    """What is decided before anything is edited.

    choices: None where the stream has nothing to revise; repeated: objects that repeat an earlier
    one.
    """

    choices: Choices | None = None
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
    choices: Choices | None = None
    edits: Mapping[ItemKey, Sequence[Edit]] = NOTHING
    copies: frozenset[ItemKey] = frozenset()
    removed: frozenset[ItemKey] = frozenset()
    appended: tuple[dict[str, Data], ...] = ()
    mode: tuple[str, str] = ("", "")
    sets: tuple[AttachSet, ...] = ()
    findings: tuple[Finding, ...] = ()


def make_plan(inventory: Inventory, settings: Settings, history: History = NO_HISTORY) -> Plan:
    """Return what is to be done with a stream; history: what was applied before.

    Raises UserError where the stream contradicts itself; see the modules of the steps.
    """
    chosen = choose(inventory, settings, history)
    choices, findings = chosen.choices, chosen.findings
    if choices is None:
        return Plan(inventory)
    edits, render_ids = source_edits(choices)
    sets = find_sets(choices, render_ids)
    _add_revision_edits(choices, sets, edits)
    copies, replaced = _originals(choices)
    for key in copies & replaced:
        del edits[key]  # the original stays, and its revision is in the stream already
    mode = decide_mode(choices.inventory, settings.attacher)
    attachers, stale = new_attachers(choices, sets, mode[0])
    return Plan(
        choices.inventory,
        choices,
        {key: value for key, value in edits.items() if value},
        copies - replaced,
        chosen.repeated | (replaced - copies) | stale,
        (*carried_objects(choices, sets), *attachers),
        mode,
        sets.sets,
        (*findings, *_attacher_findings(choices, sets, mode[0]), *_leftovers(choices, edits)),
    )


def choose(inventory: Inventory, settings: Settings, history: History = NO_HISTORY) -> Chosen:
    """Return the decisions, names and links of a stream.

    Raises UserError as make_plan does.
    """
    if not history.pasts and not any(item.content is not None for item in inventory.items):
        return Chosen()
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
    hidden = {}
    if history.is_known:
        from postrender.plan.retained import find_carried, find_hidden

        hidden = find_hidden(inventory.items, history, resolver)
    decisions, more = decide(inventory, by_target(every), mounted, settings, hidden)
    renamed = [decision for decision in decisions if decision.strategy == RENAME]
    sources = by_source(links)
    lineages = find_lineages(history, resolver, settings.naming)
    names = name_revisions(inventory, renamed, sources, lineages)
    by_item = {decision.item.key: decision for decision in decisions}
    named = find_named(sources, mounts)
    choices = Choices(inventory, settings, resolver, by_item, names, sources, mounts, named)
    if history.is_known:
        orders = {key: lineages.order(by_item[key].item, name) for key, name in names.items()}
        carried = find_carried(choices, lineages, history)
        choices = choices._replace(orders=orders, carried=carried)
    return Chosen(choices, repeated, (*findings, *more))


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


def _add_revision_edits(choices: Choices, sets: Sets, edits: dict[ItemKey, list[Edit]]) -> None:
    """Add the edits of the objects that are renamed to those that they have as sources."""
    out_of_sight = {
        link.target.key
        for links in choices.links.values()
        for link in links
        if link.is_out_of_sight
    }
    for key, name in choices.names.items():
        own = revision_edits(
            choices.decisions[key],
            name,
            sets.set_names[key],
            is_attached=choices.settings.attacher.is_enabled,
            is_swept=key not in out_of_sight,
            order=choices.orders.get(key),
        )
        taken = {edit.path for edit in edits.get(key, ())}
        edits[key] = [*edits.get(key, ()), *(edit for edit in own if edit.path not in taken)]


def _originals(choices: Choices) -> tuple[frozenset[ItemKey], frozenset[ItemKey]]:
    """Return the objects that stay beside a copy, and those whose revision is there already."""
    others = [
        decision.item for key, decision in choices.decisions.items() if key not in choices.names
    ]
    there = {
        _identity(choices, item, name) for item in others if (name := choices.revision_of(item))
    }
    taken = {_identity(choices, item, item.identity.name): item for item in others}
    copies, replaced = set(), set()
    for key, name in choices.names.items():
        item = choices.decisions[key].item
        identity = _identity(choices, item, name)
        if choices.decisions[key].keep_reason:
            copies.add(key)
        if identity in there:
            replaced.add(key)
        elif identity in taken:
            other = choices.inventory.place(taken[identity])
            raise UserError(
                f"it is to become {name}, a name that another {item.identity.kind} bears: {other}",
                "take one of the two out, or give one the annotation postrender/strategy: ignore",
                choices.inventory.place(item),
            )
    return frozenset(copies), frozenset(replaced)


def _identity(choices: Choices, item: Item, name: str) -> tuple[GroupKind, str | None, str]:
    """Return what an object is known by if it bears a name."""
    namespace = choices.resolver.group_of(item.identity.namespace)
    return item.identity.group_kind, namespace, name


def _attacher_findings(choices: Choices, sets: Sets, mode: str) -> list[Finding]:
    settings = choices.settings.attacher
    if not settings.is_enabled or not sets.sets:
        return []
    place = Place(choices.inventory.stream.source)
    findings = []
    if not settings.image:
        findings.append(
            Finding(
                "attacher-image",
                f"the attacher Job runs the image {default_image()}, which no public registry has",
                "build it and load it into the cluster, or push it and set attacher.image",
                place,
            )
        )
    if mode == HOOK and settings.ttl < _SHORT_TTL:
        findings.append(
            Finding(
                "short-ttl",
                f"attacher.ttlSecondsAfterFinished is {settings.ttl}: the Job may be gone before "
                "Helm's --wait-for-jobs has seen it end",
                f"set {_SHORT_TTL} or more",
                place,
            )
        )
    return findings


def _leftovers(choices: Choices, edits: Mapping[ItemKey, Sequence[Edit]]) -> list[Finding]:
    kept = {
        _identity(choices, decision.item, decision.item.identity.name)
        for key, decision in choices.decisions.items()
        if key not in choices.names or decision.keep_reason
    }
    renamed = [
        Renamed(item, base_name)
        for decision in choices.decisions.values()
        if (item := decision.item) and (base_name := _base_name(choices, item))
        if _identity(choices, item, base_name) not in kept
    ]
    linked = {(key, link.reference.path) for key, links in choices.links.items() for link in links}
    accounted = Counter(
        key[0]
        for key, own in edits.items()
        for edit in own
        if isinstance(edit, SetScalar)
        and ((key, edit.path) in linked or edit.path == (*key[1], "metadata", "name"))
    )
    settings = choices.settings
    return find_leftovers(
        choices.inventory,
        choices.resolver,
        renamed,
        accounted,
        settings.ignored_leftovers,
        linked,
    )


def _base_name(choices: Choices, item: Item) -> str:
    """Return the base name of an object that is a revision in the output."""
    if item.key in choices.names:
        return item.identity.name
    return item.annotations.get(BASE_NAME_ANNOTATION, "") if choices.revision_of(item) else ""
