"""Strings that still hold the base name of an object that was renamed.

Kubernetes' own kinds have no references but the known ones: in them only free text is looked at
(arguments, env values, annotations, the data of ConfigMaps). In other kinds any string may be a
reference, but for labels and selectors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase

from postrender.config.settings import IgnoredLeftover
from postrender.errors import Finding
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey
from postrender.inventory.prefilter import hides_names
from postrender.krm.tool_annotations import is_orchestrators
from postrender.kubernetes.annotations import HELM_POSTRENDERER_PREFIX, PAIRING_ANNOTATION, PREFIX
from postrender.kubernetes.kinds import GroupKind, is_built_in
from postrender.plan.namespaces import Resolver
from postrender.references.rule import RBAC
from postrender.startup.records import NamedTuple
from postrender.text.words import WordSet, is_whole_value, words_of
from postrender.yaml.document import ParsedDocument, parse_document
from postrender.yaml.paths import Json, Path, value_at

_OWN_PREFIXES = (PREFIX, PAIRING_ANNOTATION, HELM_POSTRENDERER_PREFIX)
_TEXT_LISTS = frozenset({"args", "command"})
_TEXT_MAPS = frozenset({"annotations", "volumeAttributes", "options", "parameters"})
_DATA = frozenset({"data", "stringData"})
_LABELS = frozenset({"labels", "matchLabels", "selector", "matchExpressions"})
_WORKLOAD_GROUP = "argoproj.io"
_ROLLOUT_KINDS = frozenset(
    {"Rollout", "Experiment", "AnalysisTemplate", "AnalysisRun", "ClusterAnalysisTemplate"}
)


class Renamed(NamedTuple):
    """An object whose base name is gone from the output."""

    item: Item
    base_name: str


def find_leftovers(
    inventory: Inventory,
    resolver: Resolver,
    renamed: Sequence[Renamed],
    accounted: Mapping[int, int],
    ignored: Sequence[IgnoredLeftover],
    linked: AbstractSet[tuple[ItemKey, Path]],
) -> list[Finding]:
    """Return a finding for each string that still holds a base name.

    renamed: the objects whose base name no object of the output has; accounted: how many names
    were replaced in each document, so that one with no more of them need not be read again;
    linked: the references that name an object of the stream, which are none.
    """
    bases: dict[str, list[Renamed]] = defaultdict(list)
    for each in renamed:
        bases[each.base_name].append(each)
    names = WordSet(bases)
    items: dict[int, list[Item]] = defaultdict(list)
    for item in inventory.items:
        items[item.document].append(item)
    borne = {
        item.identity.name
        for item in inventory.items
        if item.identity.name and item.content is None
    }
    findings: list[Finding] = []
    for index, inside in items.items():
        text = inventory.stream.documents[index].text
        # More of the names than were replaced in it, or some that a search does not see.
        if names.count_in(text) > accounted.get(index, 0) or hides_names(text):
            document = parse_document(text, inventory.location_of(inside[0], line=0))
            for item in inside:
                search = _Search(inventory, resolver, document, item, bases, borne, ignored, linked)
                findings += search.run(value_at(document.data, item.path))
    return findings


class _Search(NamedTuple):
    """The search of one object."""

    inventory: Inventory
    resolver: Resolver
    document: ParsedDocument
    item: Item
    bases: Mapping[str, Sequence[Renamed]]
    borne: set[str]
    ignored: Sequence[IgnoredLeftover]
    linked: AbstractSet[tuple[ItemKey, Path]]

    def run(self, data: Json) -> Iterator[Finding]:
        if self.item.is_attacher:
            return
        linked = {
            reference.path[len(self.item.path) :]
            for reference in self.item.references
            if (self.item.key, reference.path) in self.linked
        }
        dangling = {
            reference.path[len(self.item.path) :]: reference.rule.target
            for reference in self.item.references
            if reference.rule.family != RBAC
        }
        for path, text in _strings(data, ()):
            if path in linked or not (path in dangling or self.is_text(path)):
                continue
            for name in dict.fromkeys(words_of(text)):
                if self.is_left(name, path, dangling.get(path)):
                    yield self.finding(path, text, name)

    def is_text(self, path: Path) -> bool:
        """Tell whether a string at this path could be meant to name an object."""
        if path[:2] == ("metadata", "annotations"):
            name = str(path[-1])
            return not (name.startswith(_OWN_PREFIXES) or is_orchestrators(name))
        if path[0] in ("metadata", "apiVersion", "kind"):
            return False
        identity = self.item.identity
        if self.item.content is not None or identity.kind in ("ConfigMap", "Secret"):
            return path[0] in _DATA
        is_known = is_built_in(identity.group) or (
            identity.group == _WORKLOAD_GROUP and identity.kind in _ROLLOUT_KINDS
        )
        if is_known:
            return _is_free_text(path)
        return not (_LABELS & set(path))

    def is_left(self, name: str, path: Path, kind: GroupKind | None) -> bool:
        """Tell whether a word is an old name; kind: that of the object it must have been."""
        here = self.item.identity.namespace
        for each in self.bases.get(name, ()):
            there = each.item.identity.namespace
            may_be_same = not here or not there or self.resolver.is_same(here, there)
            is_own = each.item.key == self.item.key and path[0] == "metadata"
            is_kind = kind in (None, each.item.identity.group_kind)
            if may_be_same and is_kind and not is_own:
                return not any(self.is_ignored(rule, name, path) for rule in self.ignored)
        return False

    def is_ignored(self, rule: IgnoredLeftover, name: str, path: Path) -> bool:
        identity = self.item.identity
        return (
            fnmatchcase(identity.kind, rule.kind)
            and fnmatchcase(identity.name, rule.name)
            and fnmatchcase(name, rule.value)
            and _matches(path, rule.path)
        )

    def finding(self, path: Path, text: str, name: str) -> Finding:
        revised = self.bases[name][0].item.identity
        line = _line_of(self.document, (*self.item.path, *path), text, name)
        whole = is_whole_value(text, name) and name not in self.borne
        verb = "is" if text == name else "holds"
        return Finding(
            "leftover",
            f"{verb} {name!r}, the old name of {revised.kind}/{name}",
            "rewrite it by a rule under references, or silence it under leftovers.ignore",
            self.inventory.location_of(self.item, (*self.item.path, *path), line),
            strict=whole,
        )


def _line_of(document: ParsedDocument, path: Path, text: str, name: str) -> int:
    """Return the line of a document on which a scalar holds a word: its own if it is a literal."""
    line = document.line_of(path)
    if not document.is_literal(path):
        return line
    words = (number for number, part in enumerate(text.split("\n"), 1) if name in words_of(part))
    return line + next(words, 0)


def _is_free_text(path: Path) -> bool:
    keys = [part for part in path if isinstance(part, str)]
    if _TEXT_LISTS & set(keys[-1:]) or (len(keys) > 1 and keys[-2] in _TEXT_MAPS):
        return True
    return keys[-2:] == ["env", "value"]


def _strings(data: Json, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(data, str):
        yield path, data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from _strings(value, (*path, key))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from _strings(value, (*path, number))


def _matches(path: Path, pattern: tuple[str, ...]) -> bool:
    """Tell whether a path is, or is inside of, what a pattern matches; () matches everything."""
    if len(path) < len(pattern):
        return False
    return all(
        wanted == part or wanted == "*" or (wanted == "[]" and isinstance(part, int))
        for part, wanted in zip(path, pattern, strict=False)
    )
