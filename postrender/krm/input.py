"""The input of a KRM function: a ResourceList, and annotations that kustomize and kpt add.

The ResourceList is the YAML document that a function reads on stdin and writes on stdout:

    kind: ResourceList
    items: []             # the objects of the manifests
    functionConfig: {}    # settings
    results: []           # findings and errors

kustomize and kpt remove these annotations after the function. With the setting
`buildMetadata: [originAnnotations]`, kustomize keeps the annotation `config.kubernetes.io/origin`.

kustomize changes names in four steps (kustomize 5.8.1, makeCustomizedResMap in
api/internal/target/kusttarget.go):

1. kustomize adds `namePrefix` and `nameSuffix` to the names of objects, and writes the former names
   into an annotation.
2. kustomize runs the transformers, such as a function.
3. kustomize replaces the former names in references.
4. kustomize adds a hash to the names of generated ConfigMaps and Secrets.

In the input of a function, references can therefore still have the former names of objects.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from postrender.errors import UserError
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, Reference
from postrender.kubernetes.annotations import HELM_FILENAME_ANNOTATION
from postrender.kubernetes.kinds import GroupKind
from postrender.yaml.document import ParsedDocument, parse_in
from postrender.yaml.paths import value_at
from postrender.yaml.stream import Stream, has_content

_INTERNAL = "internal.config.kubernetes.io/"
FORMER_NAMES = _INTERNAL + "previousNames"
_AFFIXES = (_INTERNAL + "prefixes", _INTERNAL + "suffixes")
_HASH_IS_DUE = _INTERNAL + "needsHashSuffix"
# kustomize sets needsHashSuffix and generatorBehavior on generated objects, and refBy on referenced
# objects. After the function, kustomize adds a hash to the name of an object with needsHashSuffix.
_GENERATOR_ANNOTATIONS = frozenset(
    {_HASH_IS_DUE, _INTERNAL + "generatorBehavior", _INTERNAL + "refBy"}
)
# The annotations with the path of an object's file, and with the index of the object in the file.
# The first annotation of each pair is the newer form.
PATH_ANNOTATIONS = (_INTERNAL + "path", "config.kubernetes.io/path")
INDEX_ANNOTATIONS = (_INTERNAL + "index", "config.kubernetes.io/index")
_TOOL_ANNOTATIONS = frozenset(
    {
        *PATH_ANNOTATIONS,
        *INDEX_ANNOTATIONS,
        "config.k8s.io/id",
        "config.kubernetes.io/origin",
        "kustomize.config.k8s.io/id",
    }
)


def is_tool_annotation(annotation: str) -> bool:
    """Whether kustomize or kpt adds the annotation to the input of a function."""
    return annotation.startswith(_INTERNAL) or annotation in _TOOL_ANNOTATIONS


def own_annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    """The annotations that Helm, kustomize and kpt do not add to the input."""
    return {
        name: value
        for name, value in annotations.items()
        if name != HELM_FILENAME_ANNOTATION and not is_tool_annotation(name)
    }


def outdated_annotations(item: Item, *, is_copy: bool) -> Iterator[str]:
    """The names of the annotations that the revision of an item must not have.

    kustomize must not add a hash to the name of a revision. A revision next to its original does
    not keep any annotation of kustomize or kpt. Otherwise it keeps all but _GENERATOR_ANNOTATIONS:
    kustomize needs the former names to update the references that postrender left unchanged.

    is_copy: whether the output also has the original.
    """
    for name in item.annotations:
        if name in _GENERATOR_ANNOTATIONS or (is_copy and is_tool_annotation(name)):
            yield name


def outdated_on_original(item: Item) -> Iterator[str]:
    """The annotation with which kustomize would rename an original next to its revision."""
    if _HASH_IS_DUE in item.annotations:
        yield _HASH_IS_DUE


def with_current_names(inventory: Inventory) -> Inventory:
    """The inventory, in which references have the current names of objects."""
    former: dict[tuple[GroupKind, str], list[Item]] = defaultdict(list)
    for item in inventory.items:
        if item.has_content and FORMER_NAMES in item.annotations:
            for name in set(item.annotations[FORMER_NAMES].split(",")):
                former[item.identity.group_kind, name].append(item)
    if not former:
        return inventory
    items = [
        item._replace(
            references=tuple(_renamed(item, reference, former) for reference in item.references)
        )
        for item in inventory.items
    ]
    return inventory._replace(items=tuple(items))


def _renamed(
    item: Item, reference: Reference, former: Mapping[tuple[GroupKind, str], Sequence[Item]]
) -> Reference:
    """A reference of an item, with the current name of its target.

    As in kustomize, the target is the object with this kind, former name and namespace. The
    namespace of a reference in a ClusterRole does not count. If several objects match, the prefixes
    and suffixes decide. Unless all that match have one name, the reference stays unchanged.

    former: the possible targets, by kind and former name.
    """
    targets = former.get((reference.rule.target, reference.name), ())
    namespace = reference.namespace or item.identity.namespace
    if item.identity.kind != "ClusterRole":
        targets = [target for target in targets if target.identity.namespace == namespace]
    if len(targets) > 1:
        targets = [target for target in targets if _has_same_affixes(item, target)]
    names = {target.identity.name for target in targets}
    return reference._replace(name=names.pop()) if len(names) == 1 else reference


def _has_same_affixes(item: Item, target: Item) -> bool:
    return all(
        _has_same_end(item.annotations.get(name, ""), target.annotations.get(name, ""))
        for name in _AFFIXES
    )


def _has_same_end(first: str, second: str) -> bool:
    """Whether the shorter of two comma-separated lists is the end of the longer list."""
    first_parts, second_parts = first.split(","), second.split(",")
    length = min(len(first_parts), len(second_parts))
    return first_parts[-length:] == second_parts[-length:]


def parsed_list(stream: Stream) -> ParsedDocument | None:
    """The ResourceList, if it is valid and the only document with content, else None."""
    index = stream.sole_document
    if index is None:
        return None
    try:
        parsed = parse_in(stream, index)
    except UserError:
        return None
    return parsed if value_at(parsed.data, ("kind",)) == "ResourceList" else None


def sole_index(stream: Stream) -> int:
    """The index of the document that parsed_list() has parsed."""
    return next(index for index, text in enumerate(stream.texts) if has_content(text))
