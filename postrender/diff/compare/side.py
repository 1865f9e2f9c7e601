"""One side of a comparison: its objects as they will be applied, known by their base names.

A side that is not rendered yet is planned, and the plan's edits are made in its data, so that both
sides are compared as they reach the cluster. On one that is rendered a plan finds nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from postrender.config.settings import IGNORE, NOTHING, RENAME, Settings, StrategyRule
from postrender.diff.base_names import add_dependents, base_name_of
from postrender.diff.model import Undecided
from postrender.inventory.build import Inventory, take_whole
from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.annotations import (
    CONTAINERS_ANNOTATION,
    ENV_FROM_ANNOTATION,
    GROUP_LABEL,
    KEEP_ORIGINAL_ANNOTATION,
    MOUNT_IN_ANNOTATION,
    MOUNT_PATH_ANNOTATION,
    PAIRING_ANNOTATION,
    STRATEGY_ANNOTATION,
)
from postrender.kubernetes.hashing import without_hash
from postrender.kubernetes.kinds import SECRET, GroupKind, Identity, group_kind_of, roots_of
from postrender.plan.build import PlanBasis, build_basis
from postrender.plan.history import NO_HISTORY, History
from postrender.plan.model import PlanContext
from postrender.plan.namespaces import Resolver, new_resolver
from postrender.plan.strategy import StrategyDecision
from postrender.plan.workload_edits import source_edits
from postrender.startup.records import NamedTuple
from postrender.yaml.edits import Edit, apply_edits
from postrender.yaml.paths import Json, Path, value_at
from postrender.yaml.stream import Stream

# A ConfigMap or Secret as the workloads have it; an earlier revision of it; the original that stays
# beside the revision.
MAIN, RETAINED, ORIGINAL = "main", "carried", "original"

_ASKED = (
    STRATEGY_ANNOTATION,
    KEEP_ORIGINAL_ANNOTATION,
    MOUNT_PATH_ANNOTATION,
    ENV_FROM_ANNOTATION,
    MOUNT_IN_ANNOTATION,
    CONTAINERS_ANNOTATION,
)


class ComparedObject(NamedTuple):
    """One object as it will be applied.

    identity: by its base name; name: that in the cluster; data: all of it, edits made; item: what
    was examined of it, None where only a history has it; role: MAIN, CARRIED, ORIGINAL;
    strategy: of a ConfigMap or Secret; is_immutable: as it will be.
    """

    identity: Identity
    name: str
    data: dict[str, Json]
    item: Item | None
    role: str = MAIN
    strategy: str = ""
    is_immutable: bool = False

    @property
    def is_content(self) -> bool:
        """Whether it is a ConfigMap or Secret that can be revised."""
        return bool(self.strategy)

    @property
    def is_revised(self) -> bool:
        """Whether its name in the cluster is that of a revision."""
        return self.name != self.identity.name


class Side(NamedTuple):
    """The objects of one side that were read.

    main: the object that each item stands for, the revision where the original stays too;
    originals: those that stay; choices: None where there is nothing to revise; resolver: finds what
    names mean; is_rendered: whether postrender has been over it; base_names: what each revision
    name stands for; secret_names: those of Secrets among them; undecided: what is no object.
    """

    inventory: Inventory
    objects: tuple[ComparedObject, ...]
    main: Mapping[ItemKey, ComparedObject]
    originals: Mapping[ItemKey, ComparedObject]
    context: PlanContext | None
    resolver: Resolver
    is_rendered: bool
    base_names: Mapping[str, str]
    secret_names: Mapping[str, str]
    undecided: tuple[Undecided, ...]


def read_side(
    stream: Stream, indexes: Iterable[int], settings: Settings, history: History = NO_HISTORY
) -> Side:
    """Return what these documents of a stream hold.

    history: what was applied before, where names or carried revisions come from it.
    Raises UserError for what render refuses.
    """
    own = preview_settings(settings)
    inventory, data = take_whole(stream, indexes, own)
    inventory = inventory if settings.with_secrets else _without_wishes(inventory)
    basis = build_basis(inventory, own, history)
    context = basis.context
    inventory = context.inventory if context else inventory
    edits = source_edits(context)[0] if context else NOTHING
    objects, originals = {}, {}
    for item in inventory.items:
        whole = value_at(data[item.document], item.path)
        if isinstance(whole, dict):
            objects[item.key], original = _objects(item, whole, context, edits.get(item.key, ()))
            if original:
                originals[item.key] = original
    mains = _older_ones_carried(objects)
    everything = (*mains.values(), *originals.values(), *_carried(context))
    secret_names = _secret_names(everything, inventory, data)
    return Side(
        inventory,
        everything,
        mains,
        originals,
        context,
        context.resolver if context else new_resolver(inventory, own),
        is_rendered(stream),
        {**secret_names, **_base_names(everything)},
        secret_names,
        tuple(_no_objects(stream, data, basis, inventory)),
    )


def preview_settings(settings: Settings) -> Settings:
    """Return the settings for reading a side: Secrets are always known, and no Job is made."""
    rules = settings.rules
    if not settings.with_secrets:
        rules = (StrategyRule(IGNORE, kind="Secret"), *rules)
    attacher = settings.attacher._replace(is_enabled=False)
    return settings._replace(with_secrets=True, rules=rules, attacher=attacher)


def is_rendered(stream: Stream) -> bool:
    """Tell whether postrender has been over a stream."""
    return any(GROUP_LABEL in document.text for document in stream.documents)


def _without_wishes(inventory: Inventory) -> Inventory:
    """Return an inventory whose Secrets ask for nothing, as where they are not revised."""
    items = (
        item._replace(
            annotations={
                key: item.annotations[key] for key in item.annotations if key not in _ASKED
            }
        )
        if item.identity.group_kind == SECRET
        else item
        for item in inventory.items
    )
    return inventory._replace(items=tuple(items))


def _objects(
    item: Item, data: dict[str, Json], context: PlanContext | None, edits: Iterable[Edit]
) -> tuple[ComparedObject, ComparedObject | None]:
    """Return an object as it will be applied, and the original that stays beside it."""
    decision = context.decisions.get(item.key) if context else None
    if context is None or decision is None:
        return ComparedObject(
            item.identity, item.identity.name, _edited(data, edits, item.path), item
        ), None
    name = context.names.get(item.key)
    if name is None:
        return _unnamed(item, data, decision, edits), None
    original = None
    if decision.keep_reason:
        from copy import deepcopy

        original = ComparedObject(
            item.identity, item.identity.name, deepcopy(data), item, ORIGINAL, IGNORE
        )
    changed = _edited(data, edits, item.path)
    own = ComparedObject(item.identity, name, changed, item, MAIN, RENAME, decision.is_immutable)
    return own, original


def _unnamed(
    item: Item, data: dict[str, Json], decision: StrategyDecision, edits: Iterable[Edit]
) -> ComparedObject:
    """Return a ConfigMap or Secret that keeps its name: a base name, or that of a revision."""
    is_immutable = data.get("immutable") is True
    base_name = base_name_of(item, is_revision=decision.is_revision)
    identity = item.identity._replace(name=base_name)
    is_retained = item.is_revision and PAIRING_ANNOTATION not in item.annotations
    return ComparedObject(
        identity,
        item.identity.name,
        _edited(data, edits, item.path),
        item,
        RETAINED if is_retained else MAIN,
        RENAME if decision.is_revision else decision.strategy,
        is_immutable,
    )


def _edited(data: dict[str, Json], edits: Iterable[Edit], path: Path) -> dict[str, Json]:
    changed = apply_edits(data, edits, path)
    return changed if isinstance(changed, dict) else data


def _older_ones_carried(objects: dict[ItemKey, ComparedObject]) -> dict[ItemKey, ComparedObject]:
    """Return objects with one MAIN a base name: the newest revision, before what is plain."""
    groups: dict[tuple[GroupKind, str | None, str], list[ItemKey]] = {}
    for key, each in objects.items():
        if each.is_content and each.role == MAIN and each.item and not _is_apart(each.item):
            identity = each.identity
            key_of_group = (identity.group_kind, identity.namespace, identity.name)
            groups.setdefault(key_of_group, []).append(key)
    changed = dict(objects)
    for keys in groups.values():
        newest = max(keys, key=lambda key: _age(objects[key]))
        for key in keys:
            if key != newest:
                role = RETAINED if objects[key].is_revised else ORIGINAL
                changed[key] = objects[key]._replace(role=role)
    return changed


def _is_apart(item: Item) -> bool:
    """Tell whether an object has to do with no other of its name: a hook, or one without a name."""
    return item.is_hook or item.has_generated_name


def _age(each: ComparedObject) -> tuple[bool, int]:
    return each.is_revised, each.item.order if each.item else 0


def _carried(context: PlanContext | None) -> Iterator[ComparedObject]:
    """Yield the revisions of a history that will be in the output beside the new ones."""
    for each in context.retained if context else ():
        if each.is_emitted:
            past = each.past
            identity = past.identity._replace(name=past.base_name)
            data = dict(past.content)
            yield ComparedObject(identity, past.identity.name, data, None, RETAINED, RENAME)


def _base_names(objects: Iterable[ComparedObject]) -> dict[str, str]:
    """Return the base name of every revision name."""
    return {
        each.name: each.identity.name for each in objects if each.is_content and each.is_revised
    }


def _secret_names(
    objects: Sequence[ComparedObject], inventory: Inventory, data: Mapping[int, Json]
) -> dict[str, str]:
    """Return the base names of what must not be shown with the name of its revision.

    That is every Secret, what its reference looks like, and a ConfigMap whose data holds such
    a name: its own ends in a hash of that.
    """
    names = _base_names(each for each in objects if each.identity.group_kind == SECRET)
    references = (
        reference.name
        for item in inventory.items
        for reference in item.references
        if reference.rule.target == SECRET
    )
    # What no rule finds: a kind of its own that names a Secret.
    documents = inventory.stream.documents
    unknown = (
        name
        for index, whole in data.items()
        if "ecret" in documents[index].text
        for name in _said_to_be_secrets(whole)
    )
    for name in (*references, *unknown):
        if base_name := without_hash(name):
            names.setdefault(name, base_name)
    revised = [
        (each.name, each.identity.name, each.data.get("data"))
        for each in objects
        if each.is_content and each.is_revised
    ]
    add_dependents(names, revised)
    return names


def _said_to_be_secrets(data: Json, key: str = "") -> Iterator[str]:
    """Yield texts below a key that speaks of Secrets: `secretName`, `secretKeyRef: {name: …}`."""
    if isinstance(data, str):
        if "secret" in key.lower():
            yield data
    elif isinstance(data, list):
        for value in data:
            yield from _said_to_be_secrets(value, key)
    elif isinstance(data, dict):
        for name, value in data.items():
            yield from _said_to_be_secrets(value, key if name == "name" else name)


def _no_objects(
    stream: Stream, data: Mapping[int, Json], basis: PlanBasis, inventory: Inventory
) -> Iterator[Undecided]:
    """Yield what stands in the documents and is no Kubernetes object."""
    known = {item.key for item in inventory.items} | basis.repeated
    for index, whole in data.items():
        for path, value in roots_of(whole):
            if (index, path) not in known and value is not None and group_kind_of(value) is None:
                location = stream.location_of(stream.documents[index])
                yield Undecided(
                    str(location),
                    "it is no Kubernetes object, and is not compared",
                    "take it out if it is not meant to be here",
                )
