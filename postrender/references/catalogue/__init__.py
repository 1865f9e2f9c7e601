"""The catalogue of custom kinds: the fields in which objects reference ConfigMaps and Secrets.

To add a kind, write `kinds(…)` in the module for its field of work (`infrastructure` or `workloads`
if no other fits), and one example object with the fields of its CRD in
tests/references/kinds.yaml. In the example, each reference has the expected result as its name:
`rewritten`, `kept`, `written` or `unknown`. `make docs` then adds the kind to
docs/reference/kinds.md. The catalogue also has a few kinds of Kubernetes itself, in which
postrender never rewrites references.

A `Use` in an entry describes the references at one path. postrender either rewrites them, or keeps
the originals for the reason in the `Use`. It also keeps the originals for strings in other fields
that look like references (`custom.embedded_references`).

By default, a reference from the catalogue does not cause a rename. The attacher does not read these
kinds, so it does not know whether a custom object still uses a revision, and would keep the
revision while the release exists. If a workload causes a rename, postrender also rewrites the
references in custom objects. With the strategy `rename`, a reference in a custom object also causes
a rename, unless a program writes to the object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise

from postrender.kubernetes.kinds import GroupKind
from postrender.references.catalogue import (
    data_stores,
    delivery,
    infrastructure,
    monitoring,
    selectors,
    workloads,
    writers,
)
from postrender.references.catalogue.model import (
    EVERY_KIND,
    EVERYTHING,
    OBJECT_REFERENCE,
    Entry,
    Use,
)
from postrender.references.custom import EmbeddedReference, embedded_references
from postrender.references.rule import OUTSIDE, SELECTOR, Rule
from postrender.text import letters_of
from postrender.yaml.paths import Json, Path, PatternTree, mapping_at, nested_mappings, value_at

ENTRIES: tuple[Entry, ...] = (
    *data_stores.ENTRIES,
    *delivery.ENTRIES,
    *infrastructure.ENTRIES,
    *monitoring.ENTRIES,
    *selectors.ENTRIES,
    *workloads.ENTRIES,
    *writers.ENTRIES,
)
_BY_KIND = {(entry.group, entry.kind): entry for entry in ENTRIES}
# In the names of kinds and of fields that are not in the catalogue.
_SELECTOR_WORDS = (
    "selector",
    "propagation",
    "placement",
    "override",
    "distribut",
    "subscription",
    "federat",
    "multicluster",
    "resourcesync",
)
# The beginnings of keys such as `outputSecretName`, in fields that are not in the catalogue.
_RESULT_WORDS = ("write", "output", "destination", "generate", "managed", "target")

Match = tuple[Path, Json, Rule]


def entry_of(group_kind: GroupKind) -> Entry | None:
    """The entry of a kind, None if the kind is not in the catalogue."""
    return _BY_KIND.get(group_kind)


def find_catalogued(
    group_kind: GroupKind, targets: tuple[GroupKind, ...], data: Mapping[str, Json]
) -> tuple[list[Match], list[Match]]:
    """The references in an object of a custom kind, as two lists of (path, value, rule).

    The first list has those for which the entry has a reason to keep the original. There, the entry
    overrides the setting `embeddedPodSpecs`. The second list has all, and then every string that
    looks like a reference. If the lists contain a path several times, the caller must use the first
    match of each target.
    """
    matches = list(_matches(group_kind, targets, data))
    kept = [match for match in matches if match[2].keep_reason]
    is_known = entry_of(group_kind) is not None
    part = "this field of " if is_known else ""
    reason = f"postrender does not know {part}the kind {group_kind[1]}"
    others = [
        _unknown_match(group_kind, match, reason, data)
        for match in embedded_references(data, targets)
    ]
    others += _manifests(data, targets, reason)
    if not is_known:
        others += _own_name(group_kind, targets, data, reason)
    return kept, [*matches, *others]


def _unknown_match(
    group_kind: GroupKind, match: EmbeddedReference, reason: str, data: Mapping[str, Json]
) -> Match:
    """A string that looks like a reference, in a field that is not in the catalogue."""
    is_written = _makes_a_result(group_kind, match.path, data)
    path, name, rule = _embedded_match(match, reason, is_written=is_written, is_guess=True)
    words = letters_of(f"{group_kind[1]} {' '.join(map(str, path[:-1]))}")
    is_item = isinstance(path[-2:][0], int) and "kind" in mapping_at(data, path[:-1])
    if is_item and any(word in words for word in _SELECTOR_WORDS):
        rule = rule._replace(family=SELECTOR)
    return path, name, rule


def _makes_a_result(group_kind: GroupKind, path: Path, data: Mapping[str, Json]) -> bool:
    """Whether the fields near a name say that a program writes to the object.

    One of the last keys can say so, as in `writeSecretTo` or `generate: true`, or the kind, as in
    the `secretName` of a Certificate. A list such as `outputs` is a list of receivers, with the
    Secrets that the program reads.
    """
    if mapping_at(data, path[:-1]).get("generate") is True:
        return True
    if "certificate" in group_kind[1].lower() and path[1:2] in (("secretName",), ("secretRef",)):
        return True
    return any(
        str(key).startswith(_RESULT_WORDS) and not isinstance(below, int)
        for key, below in pairwise((*path[-3:], ""))
    )


def _manifests(data: Json, targets: tuple[GroupKind, ...], reason: str) -> list[Match]:
    """The names of the ConfigMaps and Secrets in manifests that an object contains.

    Nearly every such kind makes a program apply the manifests, as ConfigurationPolicy does.
    """
    return [
        ((*path, "metadata", "name"), name, rule)
        for path, value in nested_mappings(data)
        for target in targets
        if value.get("kind") == target[1] and "apiVersion" in value
        for name in [value_at(value, ("metadata", "name"))]
        for rule in [_rule(target, keep=reason, is_written=True, is_guess=True)]
        if isinstance(name, str)
    ]


def _own_name(
    group_kind: GroupKind, targets: tuple[GroupKind, ...], data: Mapping[str, Json], reason: str
) -> list[Match]:
    """The name of an object whose kind contains the kind of a target, such as AcmeSecret.

    Nearly every such kind makes a program write the Secret with the name of the object.
    """
    path = ("metadata", "name")
    name, letters = value_at(data, path), letters_of(group_kind[1])
    return [
        (path, name, _rule(target, keep=reason, is_written=True, is_guess=True))
        for target in targets
        if target[1].lower() in letters and isinstance(name, str)
    ]


def _matches(
    group_kind: GroupKind, targets: tuple[GroupKind, ...], data: Mapping[str, Json]
) -> Iterator[Match]:
    for path, value, (use, target) in _found(group_kind, targets, data):
        reason = use.keep_reason(data)
        if target is not None:
            name = value + use.suffix if isinstance(value, str) else value
            matches = [(path, name, _rule_of(use, target, reason, use.namespace_key))]
        elif use.shape == OBJECT_REFERENCE:
            matches = _object_reference(path, value, use, targets, reason)
        else:
            matches = _searched(path, value, use, targets, reason)
        yield from (match for match in matches if isinstance(match[1], str))


def _found(
    group_kind: GroupKind, targets: tuple[GroupKind, ...], data: Mapping[str, Json]
) -> Iterator[tuple[Path, Json, tuple[Use, GroupKind | None]]]:
    """The values at the paths of an object's uses, and its own name where a path is missing."""
    for path, value, (use, target) in _tree(group_kind, targets).find(data):
        if use.only_if is None or use.only_if(data):
            yield path, value, (use, target)
    own_path = ("metadata", "name")
    for use in _uses_of(group_kind):
        is_missing = use.or_own_name and not value_at(data, use.path)
        for _, target in use.patterns if is_missing else ():
            if target in targets and (use.only_if is None or use.only_if(data)):
                yield own_path, value_at(data, own_path), (use, target)


def _uses_of(group_kind: GroupKind) -> tuple[Use, ...]:
    entry = entry_of(group_kind)
    return (*(entry.uses if entry else ()), *_BY_KIND[EVERY_KIND].uses)


@cache
def _tree(group_kind: GroupKind, targets: tuple[GroupKind, ...]) -> PatternTree:
    """The patterns of a kind, each with (use, target).

    The target is None if the value at the path determines it.
    """
    tree = PatternTree()
    for use in _uses_of(group_kind):
        for pattern, target in use.patterns:
            if target in targets:
                tree.add((*use.path, *pattern), (use, target))
        if not use.patterns:
            tree.add(use.path, (use, None))
    return tree


def _object_reference(
    path: Path, value: Json, use: Use, targets: tuple[GroupKind, ...], reason: str
) -> list[Match]:
    kind = value_at(value, ("kind",)) or value_at(value, ("resource",))
    default = use.default_target
    word = str(kind).lower().removesuffix("s")  # or the resource, such as `configmaps`
    matching_targets = [
        target
        for target in targets
        if word == target[1].lower() or (kind is None and default in (None, target))
    ]
    name = value_at(value, ("name",))
    return [
        ((*path, "name"), name, _rule_of(use, target, reason, "namespace"))
        for target in matching_targets
    ]


def _searched(
    path: Path, value: Json, use: Use, targets: tuple[GroupKind, ...], reason: str
) -> list[Match]:
    """The references below a path, for the shapes EVERYTHING and KEY_SELECTORS."""
    parent = {str(path[-1]): value}
    embedded = [
        match._replace(path=(*path[:-1], *match.path))
        for match in embedded_references(parent, targets)
    ]
    if use.shape == EVERYTHING:
        return [_embedded_match(match, reason, is_written=use.is_written) for match in embedded]
    return [
        (match.path, match.name, _rule(match.target, keep=reason, namespace_key="namespace"))
        for match in embedded
        if _is_key_selector(match, parent, path)
    ]


def _is_key_selector(match: EmbeddedReference, parent: Json, path: Path) -> bool:
    """Whether a reference is the name in a mapping with `name` and `key`, and not a guess.

    parent: has the searched value, which is at `path` in the object, under the last part of `path`.
    """
    selector = mapping_at(parent, match.path[len(path) - 1 : -1])
    is_selector = match.path[-1] == "name" and isinstance(selector.get("key"), str)
    return is_selector and not match.is_guess


def _embedded_match(
    match: EmbeddedReference, reason: str, *, is_written: bool = False, is_guess: bool = False
) -> Match:
    rule = _rule(
        match.target,
        keep=reason,
        is_qualified=match.is_qualified,
        namespace_key="" if match.is_qualified else "namespace",
        is_written=is_written,
        is_guess=is_guess,
    )
    return match.path, match.name, rule


@cache
def _rule_of(use: Use, target: GroupKind, keep: str, namespace_key: str) -> Rule:
    """The rule for a name that is at the path of a use."""
    rule = _rule(target, keep=keep, namespace_key=namespace_key, is_written=use.is_written)
    return rule._replace(
        family=SELECTOR if use.selects else OUTSIDE,
        only_if=use.name_if,
        deletes_unselected=use.deletes_unselected,
    )


@cache
def _rule(
    target: GroupKind,
    *,
    keep: str,
    is_qualified: bool = False,
    namespace_key: str = "",
    is_written: bool = False,
    is_guess: bool = False,
) -> Rule:
    return Rule(
        group=None,
        kind="*",
        pattern=(),
        target=target,
        is_qualified=is_qualified,
        namespace_key=namespace_key,
        triggers_rename=False,
        keep_reason=keep,
        is_written=is_written,
        is_guess=is_guess,
    )
