"""What kustomize and kpt write into objects before a function, and take out again after it.

The function specification reserves annotations for them. They are no part of an object, so they
count in no hash; but kustomize's also tell what a reference means. It runs transformers after
`namePrefix` and `nameSuffix` have changed the names of objects and before it follows with the
references (kustomize 5.8.1, api/internal/target/kusttarget.go: makeCustomizedResMap), by the names
that objects had before, and only then adds the hashes of generated ConfigMaps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, Reference
from postrender.kubernetes.annotations import HELM_FILENAME_ANNOTATION
from postrender.kubernetes.kinds import GroupKind

_INTERNAL = "internal.config.kubernetes.io/"
_FORMER_NAMES = _INTERNAL + "previousNames"
_AFFIXES = (_INTERNAL + "prefixes", _INTERNAL + "suffixes")
_HASH_IS_DUE = _INTERNAL + "needsHashSuffix"
# By these kustomize would go on renaming an object, and make references follow.
_NAMING = frozenset(
    {
        _FORMER_NAMES,
        _HASH_IS_DUE,
        *_AFFIXES,
        *(
            _INTERNAL + name
            for name in ("previousKinds", "previousNamespaces", "generatorBehavior", "refBy")
        ),
    }
)
# The function specification and its forerunners, for the file of an object and its place there.
PATH_ANNOTATIONS = (_INTERNAL + "path", "config.kubernetes.io/path")
INDEX_ANNOTATIONS = (_INTERNAL + "index", "config.kubernetes.io/index")
_OTHERS = frozenset(
    {
        *PATH_ANNOTATIONS,
        *INDEX_ANNOTATIONS,
        "config.k8s.io/id",
        "config.kubernetes.io/origin",
        "kustomize.config.k8s.io/id",
    }
)


def is_orchestrators(annotation: str) -> bool:
    """Tell whether an annotation is there for a function's run only."""
    return annotation.startswith(_INTERNAL) or annotation in _OTHERS


def own_annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    """Return annotations without what orchestrators, and Helm 4, note for a run."""
    return {
        name: value
        for name, value in annotations.items()
        if name != HELM_FILENAME_ANNOTATION and not is_orchestrators(name)
    }


def outdated_annotations(item: Item, *, is_copy: bool) -> Iterator[str]:
    """Yield what of an object's annotations is wrong on a revision of it.

    A revision has its last name, so that nothing may rename it again; is_copy: whether the
    original stays, which keeps its file and its number.
    """
    for name in item.annotations:
        if name in _NAMING or (is_copy and is_orchestrators(name)):
            yield name


def outdated_on_original(item: Item) -> Iterator[str]:
    """Yield what of an object's annotations is wrong on it when it stays beside a revision of it.

    kustomize's hash would give it the name of the revision.
    """
    if _HASH_IS_DUE in item.annotations:
        yield _HASH_IS_DUE


def with_current_names(inventory: Inventory) -> Inventory:
    """Return an inventory in which references name objects as they are called now.

    Those that still hold a name from before kustomize's prefixes and suffixes are meant; the paths
    at which they stand remain.
    """
    former: dict[tuple[GroupKind, str], list[Item]] = defaultdict(list)
    for item in inventory.items:
        if item.content is not None and _FORMER_NAMES in item.annotations:
            for name in set(item.annotations[_FORMER_NAMES].split(",")):
                former[item.identity.group_kind, name].append(item)
    if not former:
        return inventory
    items = [
        item._replace(references=tuple(_current(item, each, former) for each in item.references))
        for item in inventory.items
    ]
    return inventory._replace(items=tuple(items))


def _current(
    item: Item, reference: Reference, former: Mapping[tuple[GroupKind, str], Sequence[Item]]
) -> Reference:
    """Return a reference with the name that its object has now, as kustomize finds that."""
    found = former.get((reference.rule.target, reference.name), ())
    namespace = reference.namespace or item.identity.namespace
    if item.identity.kind != "ClusterRole":
        found = [other for other in found if other.identity.namespace == namespace]
    if len(found) > 1:
        found = [other for other in found if _has_same_affixes(item, other)]
    return reference._replace(name=found[0].identity.name) if len(found) == 1 else reference


def _has_same_affixes(one: Item, other: Item) -> bool:
    """Tell whether two objects got the same prefixes and suffixes, as far as both got any."""
    return all(
        _end_alike(one.annotations.get(name, ""), other.annotations.get(name, ""))
        for name in _AFFIXES
    )


def _end_alike(one: str, other: str) -> bool:
    parts, others = one.split(","), other.split(",")
    length = min(len(parts), len(others))
    return parts[-length:] == others[-length:]
