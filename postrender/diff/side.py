"""One side of a comparison: the objects with their base names, and facts from the plan.

`read_side` applies the plan's edits of references and pod templates. An output of postrender
usually does not need edits; Side.written has its objects without them, because an edit could hide a
difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from postrender.config.settings import IGNORE, NOTHING, RENAME, Settings
from postrender.diff.attachers import expected_attachers
from postrender.diff.pairs import (
    CURRENT,
    EARLIER,
    ORIGINAL,
    ComparedObject,
    Side,
    base_name_of,
)
from postrender.diff.redact import secret_names_of_side
from postrender.errors import Location
from postrender.inventory.build import Inventory, take_full_inventory
from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.annotations import (
    GROUP_LABEL,
    PAIRING_ANNOTATION,
    RENDER_ID_ANNOTATION,
)
from postrender.kubernetes.kinds import (
    ATTACHER_KINDS,
    CONFIG_MAP,
    CONTENT_KINDS,
    SECRET,
    ObjectKey,
    group_kind_of,
    roots_of,
)
from postrender.plan.build import build_context
from postrender.plan.edits import source_edits
from postrender.plan.history import NO_HISTORY, History
from postrender.plan.model import PlanContext
from postrender.plan.namespaces import new_resolver
from postrender.yaml.edits import Edit, apply_edits
from postrender.yaml.paths import Json, value_at
from postrender.yaml.stream import Stream


def read_side(
    stream: Stream,
    indexes: Iterable[int],
    settings: Settings,
    history: History = NO_HISTORY,
    *,
    is_output: bool,
    is_plain: bool = False,
) -> Side:
    """A side of a comparison, with the objects of the selected documents of a stream.

    history: the earlier outputs of postrender, if the settings need a history.
    is_output: whether the stream is an output of postrender, which is compared as it is.
    is_plain: whether the user applied the stream without postrender, so that objects keep their
    names.
    """
    side_settings = preview_settings(settings)
    fixed_kinds = {CONFIG_MAP, SECRET} if is_plain else set() if settings.with_secrets else {SECRET}
    inventory = take_full_inventory(stream, indexes, side_settings)
    inventory = inventory._replace(fixed_kinds=frozenset(fixed_kinds), is_output=is_output)
    data = {index: document.data for index, document in inventory.parsed.items()}
    context = build_context(inventory, side_settings, history)
    inventory = context.inventory if context else inventory
    # Only an output has render IDs.
    has_ids = is_output or any(RENDER_ID_ANNOTATION in item.annotations for item in inventory.items)
    edits, render_ids = (
        source_edits(context, with_render_ids=has_ids) if context else (NOTHING, NOTHING)
    )
    roots = {
        item.key: root
        for item in inventory.items
        if isinstance(root := value_at(data[item.document], item.path), dict)
    }
    # The user applies an output without these edits.
    written = roots if is_output else {}
    originals = _originals(roots, context) if context else {}
    by_item = _objects_by_item(inventory, roots, context, edits)
    objects = (*by_item.values(), *originals.values(), *_retained_revisions(context))
    revisions = [compared for compared in objects if compared.is_revised]
    base_names = {revision.name: revision.identity.name for revision in revisions}
    secret_names = secret_names_of_side(revisions, inventory, data)
    attacher_objects, attacher_arguments = expected_attachers(
        context if is_output else None, render_ids, settings
    )
    non_objects = tuple(_non_objects(stream, data, context, inventory))
    # Only messages need positions from here on, and can read a document again.
    inventory = inventory._replace(parsed={})
    context = context._replace(inventory=inventory) if context else None
    return Side(
        inventory=inventory,
        objects=objects,
        revisions=revisions,
        by_item=by_item,
        originals=originals,
        context=context,
        resolver=context.resolver if context else new_resolver(inventory, side_settings),
        base_names={**secret_names, **base_names},
        secret_names=secret_names,
        written=written,
        attacher_objects=attacher_objects,
        attacher_arguments=attacher_arguments,
        render_ids=render_ids,
        non_objects=non_objects,
        findings=context.findings if context else (),
    )


def preview_settings(settings: Settings) -> Settings:
    """The settings for reading a side, which include Secrets and disable the attacher.

    Inventory.fixed_kinds says which of the ConfigMaps and Secrets keep their names.
    """
    attacher = settings.attacher._replace(is_enabled=False)
    return settings._replace(with_secrets=True, attacher=attacher)


def is_rendered(stream: Stream) -> bool:
    """Whether a stream has an object with GROUP_LABEL, the sign of an output of postrender."""
    return any(
        GROUP_LABEL in text and _may_be_labelled(kind)
        for text, kind in zip(stream.texts, stream.kinds, strict=True)
    )


def _may_be_labelled(kind: str) -> bool:
    """Whether render writes the label to objects of a kind; "" is an unknown kind.

    Other objects can contain the label too, such as a NetworkPolicy of the user.
    """
    return kind in ("", *CONTENT_KINDS, *ATTACHER_KINDS) or kind.endswith("List")


def _originals(
    roots: Mapping[ItemKey, dict[str, Json]], context: PlanContext
) -> dict[ItemKey, ComparedObject]:
    """The originals that stay next to their revisions, by item."""
    return {
        key: ComparedObject(
            identity=decision.item.identity,
            name=decision.item.identity.name,
            data=roots[key],
            item=decision.item,
            role=ORIGINAL,
            strategy=IGNORE,
            is_immutable=roots[key].get("immutable") is True,
        )
        for key, decision in context.decisions.items()
        if decision.keep_reason and key in context.names
    }


def _objects_by_item(
    inventory: Inventory,
    roots: Mapping[ItemKey, dict[str, Json]],
    context: PlanContext | None,
    edits: Mapping[ItemKey, Sequence[Edit]],
) -> dict[ItemKey, ComparedObject]:
    """The objects by item, after the edits."""
    objects = {
        item.key: _compared_object(item, roots[item.key], context, edits.get(item.key, ()))
        for item in inventory.items
        if item.key in roots
    }
    return _with_one_current(objects)


def _compared_object(
    item: Item, data: dict[str, Json], context: PlanContext | None, edits: Iterable[Edit]
) -> ComparedObject:
    is_immutable = data.get("immutable") is True
    data = apply_edits(data, edits, item.path)
    compared = ComparedObject(identity=item.identity, name=item.identity.name, data=data, item=item)
    decision = context.decisions.get(item.key) if context else None
    if context is None or decision is None:
        return compared
    if item.key in context.names:
        return compared._replace(
            name=context.names[item.key], strategy=RENAME, is_immutable=decision.is_immutable
        )
    # The object keeps its name, which can be the name of a revision.
    base_name = base_name_of(item, is_revision=decision.is_revision)
    is_retained = item.is_revision and PAIRING_ANNOTATION not in item.annotations
    return compared._replace(
        identity=item.identity._replace(name=base_name),
        role=EARLIER if is_retained else CURRENT,
        strategy=RENAME if decision.is_revision else decision.strategy,
        reason=decision.reason,
        is_immutable=is_immutable,
    )


def _with_one_current(objects: dict[ItemKey, ComparedObject]) -> dict[ItemKey, ComparedObject]:
    """The objects; only the newest ConfigMap or Secret of each base name stays CURRENT.

    Hooks and objects with generated names keep their roles.
    """
    groups: dict[ObjectKey, list[ItemKey]] = {}
    orders: dict[ItemKey, tuple[bool, int]] = {}
    for key, compared in objects.items():
        item, identity = compared.item, compared.identity
        is_alone = item is None or item.is_hook or item.has_generated_name
        if item and compared.is_content and compared.role == CURRENT and not is_alone:
            groups.setdefault(identity.key_in(identity.namespace), []).append(key)
            orders[key] = compared.is_revised, item.order
    result = dict(objects)
    for keys in groups.values():
        newest = max(keys, key=orders.__getitem__)
        for key in keys:
            if key != newest:
                role = EARLIER if objects[key].is_revised else ORIGINAL
                result[key] = objects[key]._replace(role=role)
    return result


def _retained_revisions(context: PlanContext | None) -> Iterator[ComparedObject]:
    for retained in context.retained if context else ():
        if retained.is_emitted:
            revision = retained.revision
            yield ComparedObject(
                identity=revision.identity._replace(name=revision.base_name),
                name=revision.identity.name,
                data=dict(revision.content),
                item=None,
                role=EARLIER,
                strategy=RENAME,
            )


def _non_objects(
    stream: Stream, data: Mapping[int, Json], context: PlanContext | None, inventory: Inventory
) -> Iterator[tuple[Json, Location]]:
    repeated = context.repeated if context else frozenset()
    known = {item.key for item in inventory.items} | repeated
    for index, root in data.items():
        for path, value in roots_of(root):
            if (index, path) not in known and value is not None and group_kind_of(value) is None:
                yield value, stream.location_of(index)
