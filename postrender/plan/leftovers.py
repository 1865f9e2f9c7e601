"""Leftovers: strings that still hold the base name of a renamed object.

All references in Kubernetes' own kinds are known, so the search covers only their free text. Free
text is arguments, env values, annotations and the data of ConfigMaps. In other kinds any string
may be a reference, except for labels and selectors.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase

from postrender.config.settings import IgnoredLeftover
from postrender.errors import Finding
from postrender.inventory.model import Item, ItemKey
from postrender.inventory.prefilter import may_escape_names
from postrender.krm.tool_annotations import is_tool_annotation
from postrender.kubernetes.annotations import (
    BASE_NAME_ANNOTATION,
    HELM_POSTRENDERER_PREFIX,
    PAIRING_ANNOTATION,
    PREFIX,
)
from postrender.kubernetes.kinds import WORKLOAD_KINDS, GroupKind, is_built_in
from postrender.plan.model import PlanContext
from postrender.references.rule import RBAC
from postrender.text.words import WordSet, is_whole_value, words_of
from postrender.yaml.document import ParsedDocument, parse_document
from postrender.yaml.edits import Edit, SetScalar
from postrender.yaml.paths import Json, Path, value_at

_OWN_PREFIXES = (PREFIX, PAIRING_ANNOTATION, HELM_POSTRENDERER_PREFIX)
_TEXT_LISTS = frozenset({"args", "command"})
_TEXT_MAPS = frozenset({"annotations", "volumeAttributes", "options", "parameters"})
_DATA = frozenset({"data", "stringData"})
_LABELS = frozenset({"labels", "matchLabels", "selector", "matchExpressions"})


def find_leftovers(context: PlanContext, edits: Mapping[ItemKey, Sequence[Edit]]) -> list[Finding]:
    """Return a finding for each string that still holds the base name of a renamed object."""
    inventory = context.inventory
    links = {(key, link.reference.path) for key, links in context.links.items() for link in links}
    replaced = _replaced_counts(edits, links)
    search = _Search(context, links)
    names = WordSet(search.renamed)
    items_by_document: dict[int, list[Item]] = defaultdict(list)
    for item in inventory.items:
        items_by_document[item.document].append(item)
    findings: list[Finding] = []
    for index, items in items_by_document.items():
        text = inventory.stream.documents[index].text
        # Most documents need no second parse: the edits replace all base names in them. Escaped
        # base names are invisible to a text search.
        if names.count_in(text) > replaced[index] or may_escape_names(text):
            document = parse_document(text, inventory.location_of(items[0], line=0))
            for item in items:
                findings += search.run(item, document)
    return findings


def _replaced_counts(
    edits: Mapping[ItemKey, Sequence[Edit]], links: AbstractSet[tuple[ItemKey, Path]]
) -> Counter[int]:
    """Return the number of base names that the edits replace, by document."""
    return Counter(
        key[0]
        for key, item_edits in edits.items()
        for edit in item_edits
        if isinstance(edit, SetScalar)
        and ((key, edit.path) in links or edit.path == (*key[1], "metadata", "name"))
    )


def _renamed(context: PlanContext) -> dict[str, list[Item]]:
    """Return, by base name, the objects whose base name no object of the output has."""
    kept = context.kept_keys
    renamed: dict[str, list[Item]] = defaultdict(list)
    for decision in context.decisions.values():
        base_name = _base_name(context, decision.item)
        key = context.resolver.certain_key_of(decision.item.identity, base_name)
        if base_name and key not in kept:
            renamed[base_name].append(decision.item)
    return renamed


def _base_name(context: PlanContext, item: Item) -> str:
    """Return the base name of an object that is a revision in the output, or ""."""
    if item.key in context.names:
        return item.identity.name
    return item.annotations.get(BASE_NAME_ANNOTATION, "") if context.revision_of(item) else ""


class _Search:
    """The search for leftovers in the objects of a stream.

    links: the references that resolve to an object of the stream, which are not leftovers;
    renamed: the renamed objects by base name;
    existing_names: the names of the objects that are never renamed.
    """

    __slots__ = ("existing_names", "ignored", "inventory", "links", "renamed", "resolver")

    def __init__(self, context: PlanContext, links: AbstractSet[tuple[ItemKey, Path]]) -> None:
        self.inventory = context.inventory
        self.resolver = context.resolver
        self.ignored = context.settings.ignored_leftovers
        self.links = links
        self.renamed = _renamed(context)
        self.existing_names = {
            item.identity.name
            for item in context.inventory.items
            if item.identity.name and item.content is None
        }

    def run(self, item: Item, document: ParsedDocument) -> Iterator[Finding]:
        """Yield the findings of one object."""
        if item.is_attacher:
            return
        linked = {
            reference.path[len(item.path) :]
            for reference in item.references
            if (item.key, reference.path) in self.links
        }
        unresolved = {
            reference.path[len(item.path) :]: reference.rule.target
            for reference in item.references
            if reference.rule.family != RBAC
        }
        for path, text in _strings(value_at(document.data, item.path), ()):
            if path in linked or not (path in unresolved or _may_reference(item, path)):
                continue
            for name in dict.fromkeys(words_of(text)):
                if self.is_leftover(item, name, path, unresolved.get(path)):
                    yield self.finding(item, document, path, text, name)

    def is_leftover(self, item: Item, name: str, path: Path, kind: GroupKind | None) -> bool:
        """Return whether a word is a base name; kind: the kind that the reference requires."""
        namespace = item.identity.namespace
        for target in self.renamed.get(name, ()):
            may_be_same = self.resolver.may_be_same(namespace, target.identity.namespace)
            is_own_name = target.key == item.key and path[0] == "metadata"
            is_kind = kind in (None, target.identity.group_kind)
            if may_be_same and is_kind and not is_own_name:
                return not any(_is_ignored(rule, item, name, path) for rule in self.ignored)
        return False

    def finding(
        self, item: Item, document: ParsedDocument, path: Path, text: str, name: str
    ) -> Finding:
        """Return the finding for a base name in a string."""
        line = _line_of(document, (*item.path, *path), text, name)
        verb = "is" if text == name else "contains"
        kind = self.renamed[name][0].identity.kind
        return Finding(
            code="leftover",
            problem=f"the value {verb} {name!r}, the base name of the renamed {kind}/{name}",
            fix="Add a reference rule that rewrites the value, or list the value under "
            "leftovers.ignore",
            location=self.inventory.location_of(item, (*item.path, *path), line),
            strict=is_whole_value(text, name) and name not in self.existing_names,
        )


def _is_ignored(rule: IgnoredLeftover, item: Item, name: str, path: Path) -> bool:
    return (
        fnmatchcase(item.identity.kind, rule.kind)
        and fnmatchcase(item.identity.name, rule.name)
        and fnmatchcase(name, rule.value)
        and _matches(path, rule.path)
    )


def _may_reference(item: Item, path: Path) -> bool:
    """Return whether a string at this path of an object may reference another object."""
    if path[:2] == ("metadata", "annotations"):
        name = str(path[-1])
        return not (name.startswith(_OWN_PREFIXES) or is_tool_annotation(name))
    if path[0] in ("metadata", "apiVersion", "kind"):
        return False
    identity = item.identity
    if item.content is not None or identity.kind in ("ConfigMap", "Secret"):
        return path[0] in _DATA
    if is_built_in(identity.group) or identity.group_kind in WORKLOAD_KINDS:
        return _is_free_text(path)
    return not (_LABELS & set(path))


def _line_of(document: ParsedDocument, path: Path, text: str, name: str) -> int:
    """Return the line of a word in a scalar; in a block literal, the line with the word."""
    line = document.line_of(path)
    if not document.is_literal(path):
        return line
    lines = (number for number, part in enumerate(text.split("\n"), 1) if name in words_of(part))
    return line + next(lines, 0)


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
    """Return whether a pattern matches a path or the beginning of it; () matches every path."""
    if len(path) < len(pattern):
        return False
    return all(
        key in (part, "*") or (key == "[]" and isinstance(part, int))
        for part, key in zip(path, pattern, strict=False)
    )
