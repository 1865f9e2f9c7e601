"""Notes about the input: other releases, idle annotations and rules, a wrong input."""

from __future__ import annotations

import re
from collections.abc import Iterator

from postrender.config.settings import CHECKSUM, RENAME, Settings
from postrender.errors import Finding, Location, UserError
from postrender.inventory.build import Inventory, may_escape_names, take_full_inventory
from postrender.inventory.model import Item
from postrender.kubernetes.annotations import (
    PREFIX,
    REWRITE_ANNOTATION,
    STRATEGY_ANNOTATION,
    USER_ANNOTATIONS,
    is_unknown,
)
from postrender.kubernetes.hashing import HASH_SUFFIX, without_hash
from postrender.kubernetes.kinds import (
    ANNOTATIONS,
    CONFIG_MAP,
    CONTENT_KINDS,
    CRD,
    SECRET,
    group_kind_of,
    roots_of,
)
from postrender.text import similar_words
from postrender.yaml.document import parse_document
from postrender.yaml.paths import (
    Json,
    Path,
    format_path,
    mapping_at,
    nested_mappings,
    value_at,
)
from postrender.yaml.stream import Stream, has_content

_REVISION = rf"[a-z0-9]{HASH_SUFFIX}\b"


def find_other_owners(inventory: Inventory, settings: Settings) -> Iterator[Finding]:
    """The notes about ownerReferences, and about references to other releases."""
    yield from _copied_owners(inventory)
    # To save time, read only the documents with text that looks like the name of a revision.
    indexes = [
        index
        for index, text in enumerate(inventory.stream.texts)
        if f"kind: {CRD}" not in text and re.search(_REVISION, text)
    ]
    names = {item.identity.name for item in inventory.items if item.has_content}
    try:
        # `inventory` can lack documents whose only references are to other releases.
        full_inventory = take_full_inventory(inventory.stream, indexes, settings)
    except UserError:
        return  # explain must not fail because of an object that render ignores
    yield from _foreign_references(full_inventory, names)


def _foreign_references(inventory: Inventory, names: set[str]) -> Iterator[Finding]:
    """A note for each reference to a ConfigMap that is probably from another release.

    The reference fails after the other release deletes the revision. Its name ends in a hash, and
    the input contains neither a ConfigMap with this name nor one with the base name. References of
    one object to one name share a note.
    names: of the revisable objects in the input, and of the objects of attachers.
    """
    seen = set()
    for item in inventory.items:
        for reference in item.references:
            name, base_name = reference.name, without_hash(reference.name)
            is_foreign = base_name and not {name, base_name} & names
            if is_foreign and reference.rule.target == CONFIG_MAP and (item.key, name) not in seen:
                seen.add((item.key, name))
                yield Finding(
                    code="other-release",
                    problem=f"{item.identity} references ConfigMap/{name}, which looks like a "
                    "revision but is not in the input. If another release owns the ConfigMap, that "
                    "release can delete the ConfigMap",
                    fix="Render both releases together, or add the ConfigMap to the chart of this "
                    "release",
                    location=inventory.location_of_reference(item, reference),
                )


def _copied_owners(inventory: Inventory) -> Iterator[Finding]:
    # A manifest that a user copied from a cluster can have owners that do not exist elsewhere.
    for item in inventory.items:
        metadata = mapping_at(item.content, ("metadata",))
        if metadata.get("ownerReferences"):
            yield Finding(
                code="copied-owners",
                problem=f"{item.identity} has owner references, and Kubernetes deletes the "
                f"{item.identity.kind} if the owners do not exist",
                fix="Remove metadata.ownerReferences",
                location=inventory.location_of(item, (*item.path, "metadata", "ownerReferences")),
            )


def find_idle_annotations(inventory: Inventory, settings: Settings) -> Iterator[Finding]:
    """A finding for each annotation with the prefix `postrender/` that has no effect.

    Such an annotation is unknown, perhaps misspelled, or is in the wrong place.
    """
    for index, items in inventory.items_by_document():
        if PREFIX in inventory.stream.texts[index]:
            data = inventory.document(index).data
            for item in items:
                yield from _idle_annotations(inventory, item, value_at(data, item.path))

    if not settings.with_secrets:
        yield from _idle_strategies(inventory)


def _idle_strategies(inventory: Inventory) -> Iterator[Finding]:
    """A finding for each Secret with a strategy, of which the inventory has none."""
    for index, text in enumerate(inventory.stream.texts):
        if STRATEGY_ANNOTATION not in text or SECRET[1] not in text:
            continue
        try:
            parsed = inventory.document(index)
        except UserError:
            continue  # the program that applies the manifests reports this error
        for start, root in roots_of(parsed.data):
            is_secret = isinstance(root, dict) and group_kind_of(root) == SECRET
            path = (*ANNOTATIONS, STRATEGY_ANNOTATION)
            if is_secret and value_at(root, path) in (RENAME, CHECKSUM):
                yield Finding(
                    code="misplaced-annotation",
                    problem=f"{STRATEGY_ANNOTATION} has no effect on a Secret, because the setting "
                    "secrets is false",
                    fix="Set secrets: true or pass --secrets, or remove the annotation",
                    location=parsed.location_of((*start, *path)),
                    strict=True,
                )


def _idle_annotations(inventory: Inventory, item: Item, data: Json) -> Iterator[Finding]:
    for path, values in _annotations_and_labels(data):
        for key in filter(_is_own, values):
            if key in USER_ANNOTATIONS:
                place = _wrong_place(item, key, path)
                if place:
                    yield _misplaced(inventory, item, key, (*item.path, *path), place)
            elif is_unknown(key) and path[-1] == "annotations":
                yield _unknown(inventory, item, key, (*item.path, *path))


def _annotations_and_labels(data: Json) -> Iterator[tuple[Path, dict[str, Json]]]:
    """The annotations and labels of an object, and of all templates in it."""
    for path, values in nested_mappings(data):
        if path[-2:-1] == ("metadata",) and path[-1] in ("annotations", "labels"):
            yield path, values


def _wrong_place(item: Item, key: str, path: Path) -> str:
    """Why an annotation has no effect at a path of an object, "" if it has an effect."""
    kind = item.identity.kind
    if path[-1] == "labels":
        return "as a label"
    if path != ANNOTATIONS:
        return f"on {format_path(path[:-2])}"
    return f"on a {kind}" if (key == REWRITE_ANNOTATION) == (kind in CONTENT_KINDS) else ""


def _is_own(key: object) -> bool:
    return isinstance(key, str) and key.startswith(PREFIX)


def _unknown(inventory: Inventory, item: Item, key: str, path: Path) -> Finding:
    names = [annotation.removeprefix(PREFIX) for annotation in USER_ANNOTATIONS]
    similar = similar_words(key.removeprefix(PREFIX), names)
    return Finding(
        code="unknown-annotation",
        problem=f"postrender does not know the annotation {key}, so the annotation has no effect",
        fix=f"Rename the annotation to {PREFIX}{similar[0]}"
        if similar
        else f"Remove the annotation, or use one of {', '.join(USER_ANNOTATIONS)}",
        location=inventory.location_of(item, path),
        strict=True,
    )


def _misplaced(inventory: Inventory, item: Item, key: str, path: Path, place: str) -> Finding:
    if key == REWRITE_ANNOTATION:
        owner = "the object that contains the references, such as a Deployment"
    else:
        owner = "the ConfigMap or Secret"
    return Finding(
        code="misplaced-annotation",
        problem=f"{key} has no effect {place}",
        fix=f"Write the annotation into metadata.annotations of {owner}",
        location=inventory.location_of(item, path),
        strict=True,
    )


def find_idle_rules(inventory: Inventory, settings: Settings) -> Iterator[Finding]:
    """A note for each rule that matches no object, perhaps because of a misspelt name."""
    for number, rule in enumerate(settings.rules):
        candidates = (
            item
            for item in inventory.items
            if rule.rewrites_references is not None or item.has_content
        )
        if rule.kind == SECRET[1] and not settings.with_secrets:
            continue  # postrender does not look at Secrets
        rule = rule._replace(is_referenced=None)
        if not any(
            rule.matches(item.identity, item.labels, item.annotations) for item in candidates
        ):
            yield Finding(
                code="idle-rule",
                problem=f"rules[{number}] does not match any object of the input",
                fix="Correct the conditions in match. If the rule is for other inputs, ignore this "
                "note",
                location=Location(settings.configuration or inventory.stream.source),
            )


def find_no_objects(stream: Stream) -> Finding | None:
    """A finding if the input has content, but lacks Kubernetes objects."""
    texts = [text for text in stream.texts if has_content(text)]
    if not texts or any(map(_may_be_object, stream.texts, stream.kinds)):
        return None
    return Finding(
        code="no-objects",
        problem="the input does not contain Kubernetes objects",
        fix="Pass rendered manifests. If the input is the values file of a chart, pass the output "
        "of: helm template NAME CHART --values FILE",
        location=Location(stream.source),
    )


def _may_be_object(text: str, kind: str) -> bool:
    """Whether a document can contain a Kubernetes object, or is not YAML."""
    if not may_escape_names(text) and not ("apiVersion" in text and "kind" in text):
        return False
    if kind:
        return True
    try:
        data = parse_document(text, Location("")).data
    except UserError:
        return True
    roots = [data, *(root for _, root in roots_of(data))]
    return any(group_kind_of(root) is not None for root in roots)
