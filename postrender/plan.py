"""What is renamed, what is rewritten, what is left alone and why: a pure function of an inventory.

The steps stand in `make_plan`, in their order: what names what; a decision for each ConfigMap;
names, dependencies first; the edits of every object; the attacher's objects; what is left over.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from postrender.attacher_job import (
    HOOK,
    AttachSet,
    attacher_objects,
    decide_mode,
    default_image,
    with_file,
)
from postrender.auto_mount import Mount, check_mounts, find_mounts
from postrender.editing.edits import Edit, SetScalar
from postrender.errors import Finding, Place, UserError
from postrender.history import NO_HISTORY, History
from postrender.inventory import Inventory
from postrender.items import BASE_NAME_ANNOTATION, MANAGED_LABEL, Item, ItemKey
from postrender.leftovers import Renamed, find_leftovers
from postrender.objects import GroupKind
from postrender.orchestrators import is_orchestrators, with_current_names
from postrender.paths import Data, value_at
from postrender.planning.attach_sets import Sets, find_sets
from postrender.planning.carry import find_carried, find_hidden
from postrender.planning.choices import LAST_TIME, Choices, find_named
from postrender.planning.decide import decide
from postrender.planning.duplicates import find_duplicates
from postrender.planning.lineage import find_lineages
from postrender.planning.links import Link, by_source, by_target, find_links
from postrender.planning.naming import name_revisions
from postrender.planning.resolve import CLUSTER_SCOPED, new_resolver
from postrender.planning.revised import carried_object, revision_edits
from postrender.planning.workloads import source_edits
from postrender.revision import HELM_FILENAME_ANNOTATION
from postrender.settings import NOTHING, RENAME, Settings

# Helm's --wait-for-jobs fails where a Job is gone before it looks; so long it may take.
_SHORT_TTL = 300


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
    if not history.pasts and not any(item.content is not None for item in inventory.items):
        return Plan(inventory)
    repeated, inventory = find_duplicates(with_current_names(inventory), settings)
    choices, findings = _choose(inventory, settings, history)
    edits, render_ids = source_edits(choices)
    sets = find_sets(choices, render_ids)
    _add_revision_edits(choices, sets, edits)
    copies, replaced = _originals(choices)
    for key in copies & replaced:
        del edits[key]  # the original stays, and its revision is in the stream already
    mode = decide_mode(inventory, settings.attacher)
    attachers, stale = _attachers(choices, sets, mode[0])
    return Plan(
        inventory,
        choices,
        {key: value for key, value in edits.items() if value},
        copies - replaced,
        repeated | (replaced - copies) | stale,
        (*_carried_objects(choices, sets), *attachers),
        mode,
        sets.sets,
        (*findings, *_attacher_findings(choices, sets, mode[0]), *_leftovers(choices, edits)),
    )


def _choose(
    inventory: Inventory, settings: Settings, history: History
) -> tuple[Choices, list[Finding]]:
    resolver = new_resolver(inventory, settings)
    links, findings = find_links(inventory, resolver)
    resolver = resolver._replace(is_one_place=any(_joins(link) for link in links))
    mounts: dict[ItemKey, list[Mount]] = defaultdict(list)
    mounted: dict[ItemKey, list[Item]] = defaultdict(list)
    for mount in find_mounts(inventory, resolver):
        mounts[mount.workload.key].append(mount)
        mounted[mount.item.key].append(mount.workload)
    check_mounts(inventory, mounts)
    hidden = find_hidden(inventory.items, history, resolver)
    decisions, more = decide(inventory, by_target(links), mounted, settings, hidden)
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
    return choices, [*findings, *more]


def _joins(link: Link) -> bool:
    """Tell whether a link shows that an absent namespace and an explicit one are the same."""
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


def _carried_objects(choices: Choices, sets: Sets) -> Iterator[dict[str, Data]]:
    """Yield the objects that are carried along from earlier outputs."""
    for carried, set_name in zip(choices.carried, sets.carried_names, strict=True):
        if carried.is_emitted:
            yield carried_object(
                carried.past,
                set_name,
                is_attached=choices.settings.attacher.is_enabled,
                is_last_time=carried.what == LAST_TIME,
            )


def _attachers(
    choices: Choices, sets: Sets, mode: str
) -> tuple[tuple[dict[str, Data], ...], frozenset[ItemKey]]:
    """Return the attachers' objects that are not there yet, and old ones that they replace."""
    settings = choices.settings
    if not settings.attacher.is_enabled:
        return (), frozenset()
    names = {(attach_set.namespace, attach_set.name) for attach_set in sets.sets}
    there = [
        item
        for item in choices.inventory.items
        if item.is_attacher and (item.identity.namespace, item.labels[MANAGED_LABEL]) in names
    ]
    by_name: dict[tuple[str, str | None, str], list[Item]] = defaultdict(list)
    for item in there:
        by_name[item.identity[1:]].append(item)
    is_of_helm_4 = any(
        HELM_FILENAME_ANNOTATION in item.annotations for item in choices.inventory.items
    )
    appended, kept = [], set()
    for attach_set in sets.sets:
        for data in attacher_objects(attach_set, mode, settings.attacher, settings.revisable):
            name = str(value_at(data, ("metadata", "name")))
            bearers = by_name.get((str(data["kind"]), attach_set.namespace, name), [])
            same = [item for item in bearers if _plain(item) == data]
            kept |= {item.key for item in same[:1]}
            if not same:
                appended.append(with_file(data) if is_of_helm_4 else data)
    return tuple(appended), frozenset(item.key for item in there if item.key not in kept)


def _plain(item: Item) -> dict[str, Data]:
    """Return an attacher object of the stream without the annotations that tools add."""
    data = dict(item.content or {})
    metadata = data.get("metadata")
    annotations = {
        name: value
        for name, value in item.annotations.items()
        if name != HELM_FILENAME_ANNOTATION and not is_orchestrators(name)
    }
    if isinstance(metadata, dict) and annotations != item.annotations:
        metadata = {key: value for key, value in metadata.items() if key != "annotations"}
        data["metadata"] = {**metadata, "annotations": annotations} if annotations else metadata
    return data


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
