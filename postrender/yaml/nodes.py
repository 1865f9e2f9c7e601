"""A document as nodes of the YAML parser.

This module and PyYAML are imported only when a document needs the YAML parser. The module
`scalars`, and not PyYAML, converts scalars to values: PyYAML would crash on an unquoted `=`, and
would not read `1e3` and `0o7` as Kubernetes tools do. Nodes take about fifty times the
memory of the text, so they are not kept; a later step parses the document again.

A key that several entries set has the value of the last entry, as in sigs.k8s.io/yaml, which
kubectl, Helm and the API server use. A merge key (`<<`) counts as an entry for each key of the
mappings in its value; of these mappings, the first one wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from postrender.errors import Location, UserError
from postrender.records import NamedTuple
from postrender.text import shortened
from postrender.yaml.parser import (
    MERGE,
    RESOLVED_TAGS,
    STRING,
    TAG_PREFIX,
    UNTAGGED,
    YamlNode,
    from_base64,
    read_nodes,
)
from postrender.yaml.paths import Json, Path, format_path, object_path
from postrender.yaml.scalars import WORDS, Scalar, key_text, resolve_plain


class NodeDocument:
    """The text of a document and its root node.

    root: None if the document has no content.
    location: the location of the text's first line.
    has_aliases: whether any node is at several paths, because of an alias.
    may_repeat_keys: whether read() has found a mapping in which several entries or merge keys set
        the same key.
    """

    __slots__ = ("_paths", "has_aliases", "location", "may_repeat_keys", "root", "text")

    def __init__(self, text: str, root: YamlNode, location: Location, *, has_aliases: bool) -> None:
        self.text = text
        self.root = root
        self.location = location
        self.has_aliases = has_aliases
        self.may_repeat_keys = False
        self._paths: dict[int, list[Path]] = {}

    def read(self) -> Json:
        """The document as data, None without content.

        UserError for a key that is not a scalar, and for an invalid merge key (`<<`).
        """
        return None if self.root is None else _read(self.root, self)

    def duplicate_keys(self) -> list[DuplicateKey]:
        """The caller must call read() first."""
        return list(duplicate_keys(self.root)) if self.may_repeat_keys else []

    def line_of(self, path: Path) -> int:
        """The line, from 0, on which the value at a path begins. The path must exist."""
        return int(node_at(self.root, path).start_mark.line)

    def is_literal(self, path: Path) -> bool:
        """Whether the value at a path is a literal block scalar (`|`); False for a missing path."""
        node = node_at(self.root, path)
        return isinstance(node, ScalarNode) and bool(node.style == "|")

    def paths_to(self, node: YamlNode) -> list[Path]:
        """Every path at which the data contains the value of a node."""
        if not self._paths:
            self._paths = _paths_by_node(self.root)
        return self._paths[id(node)]

    def location_of(self, node: YamlNode, path: Path = ()) -> Location:
        """The line of a node, the object with the node, and the path in this object.

        path: the path of the node in the document, () if unknown.
        """
        parent = object_path(path)
        return self.location._replace(
            line=self.location.line + node.start_mark.line,
            subject=_subject(node_at(self.root, parent)),
            path=format_path(path[len(parent) :]),
        )


def compose(text: str, location: Location) -> NodeDocument:
    """Parse a document; location: the location of the text's first line.

    UserError for text that is not YAML or is nested too deeply, and for aliases that expand to too
    many nodes.
    """
    root, has_aliases = read_nodes(text, location)
    return NodeDocument(text, root, location, has_aliases=has_aliases)


def _subject(node: YamlNode) -> str:
    """The `Kind/name` of an object, "" if its kind or name is missing."""
    parts = [node_at(node, ("kind",)), node_at(node, ("metadata", "name"))]
    texts = [part.value for part in parts if part.__class__ is ScalarNode]
    return shortened("/".join(texts)) if len(texts) == len(parts) else ""


def _read(node: YamlNode, document: NodeDocument) -> Json:
    # For speed, the loop itself reads most scalars, without a call of read_scalar().
    kind = node.__class__
    if kind is MappingNode:
        mapping: dict[str, Json] = {}
        for key, value in node.value:
            if key.__class__ is not ScalarNode:
                _refuse_key(
                    key,
                    document,
                    "the key is a mapping or a list, expected a string",
                    "Write the key as a string in quotes",
                )
            name = key.value
            if not key.style and (name in WORDS or not name.isidentifier()):
                if name == MERGE:
                    _merge(mapping, value, document)
                    continue
                name = key_text(name)
            if name in mapping:  # a merge key or an earlier entry has set the name
                document.may_repeat_keys = True
            if value.__class__ is ScalarNode:
                tag = value.tag
                if tag is STRING:
                    mapping[name] = value.value
                elif tag is UNTAGGED:
                    mapping[name] = resolve_plain(value.value)
                else:
                    mapping[name] = read_scalar(value)
            else:
                mapping[name] = _read(value, document)
        return mapping
    if kind is SequenceNode:
        return [_read(item, document) for item in node.value]
    return read_scalar(node)


def read_scalar(node: YamlNode) -> Scalar:
    """The value of a scalar node, as Kubernetes tools read it."""
    text: str = node.value
    if node.tag is STRING:
        return text
    if node.tag is UNTAGGED:
        return resolve_plain(text)
    tag = (node.tag or "").removeprefix(TAG_PREFIX)
    if tag == "binary":
        return from_base64(text)
    return resolve_plain(text) if tag in RESOLVED_TAGS else text


def _merge(mapping: dict[str, Json], value: YamlNode, document: NodeDocument) -> None:
    """Add the keys of a merge key to a mapping; of several merged mappings, the first wins."""
    for source in reversed(merge_sources(value)):
        if not isinstance(source, MappingNode):
            _refuse_key(
                value,
                document,
                "the value of << is invalid, expected a mapping or a list of mappings",
                "Write a mapping, or an alias of a mapping, after <<",
            )
        data = _read(source, document)
        mapping.update(data if isinstance(data, dict) else {})


def _refuse_key(node: YamlNode, document: NodeDocument, problem: str, fix: str) -> NoReturn:
    raise UserError(problem, fix, document.location_of(node))


def child(node: YamlNode, part: str | int) -> YamlNode:
    """The child at a key or index, None if it is missing. A merge key may set the key."""
    if isinstance(node, SequenceNode):
        return node.value[part] if isinstance(part, int) and part < len(node.value) else None
    if not isinstance(node, MappingNode):
        return None
    entry = winning_entry(node, part)
    return None if entry is None else entry[2]


def node_at(root: YamlNode, path: Path) -> YamlNode:
    """The node at a path, None for a missing path."""
    node = root
    for part in path:
        node = child(node, part)
    return node


def key_node(root: YamlNode, path: Path) -> YamlNode | None:
    """The node of the last key of a path, None if the key is missing or a merge key sets it."""
    parent = node_at(root, path[:-1])
    entry = winning_entry(parent, path[-1]) if isinstance(parent, MappingNode) else None
    return entry[1] if entry is not None and entry[0] is parent else None


def is_alias(parent: YamlNode, index: int | str) -> bool:
    """Whether an item of a list, or a value of a mapping, is an alias in the text.

    For an alias, the parser returns the node of the anchor, which is earlier in the text.
    index: of the item or entry in the node `parent`; -1 for the last.
    """
    if isinstance(parent, MappingNode):
        key, value = parent.value[int(index)]
        return bool(value.start_mark.index < key.start_mark.index)
    starts = [item.start_mark.index for item in parent.value]
    number = int(index) % len(starts)
    return bool(starts[number] <= max([parent.start_mark.index - 1, *starts[:number]]))


def _paths_by_node(root: YamlNode) -> dict[int, list[Path]]:
    paths: dict[int, list[Path]] = {}

    def walk(node: YamlNode, path: Path) -> None:
        paths.setdefault(id(node), []).append(path)
        if isinstance(node, SequenceNode):
            for index, item in enumerate(node.value):
                walk(item, (*path, index))
        elif isinstance(node, MappingNode):
            walk_mapping(node, path, set())

    def walk_mapping(node: YamlNode, path: Path, overridden: set[str]) -> None:
        for key, value in reversed(node.value):
            if is_merge_key(key):
                for source in merge_sources(value):
                    paths.setdefault(id(source), []).append(path)
                    walk_mapping(source, path, overridden)
            elif key_name(key) not in overridden:
                overridden.add(key_name(key))
                walk(value, (*path, key_name(key)))

    walk(root, ())
    return paths


def last_block_scalar(node: YamlNode) -> tuple[Path, str] | None:
    """The path and value of the block scalar at the end of a document, None for another end."""
    path: Path = ()
    while node.value and not isinstance(node, ScalarNode):
        if isinstance(node, SequenceNode):
            path, node = (*path, len(node.value) - 1), node.value[-1]
        else:
            key, value = node.value[-1]
            path, node = (*path, key_name(key)), value
    is_block = isinstance(node, ScalarNode) and node.style in ("|", ">")
    return (path, node.value) if is_block else None


def folded_scalars(node: YamlNode, path: Path) -> Iterator[tuple[Path, str]]:
    """The path and value of each folded scalar in a node, which is at `path`.

    Helm 4 can add newlines to a folded scalar, so revisions have them in double quotes.
    """
    kind = node.__class__
    if kind is ScalarNode:
        if node.style == ">":
            yield path, node.value
    elif kind is MappingNode:
        for name, value in winning_values(node).items():
            if value.__class__ is not ScalarNode or value.style == ">":
                yield from folded_scalars(value, (*path, name))
    elif kind is SequenceNode:
        for number, item in enumerate(node.value):
            yield from folded_scalars(item, (*path, number))


class DuplicateKey(NamedTuple):
    """A key that is duplicated in a mapping.

    key, first: the key nodes of its last and its first entry.
    is_ambiguous: whether the key is a string only in some of the entries. For example, "true" and
        the boolean `on` are the same key in JSON.
    """

    path: Path
    key: YamlNode
    first: YamlNode
    is_ambiguous: bool


def key_name(key: YamlNode) -> str:
    """The key in the data, such as `true` for an unquoted `on`; key: a scalar node."""
    text: str = key.value
    if key.style or (text.isidentifier() and text not in WORDS):
        return text
    return key_text(text)


def is_merge_key(key: YamlNode) -> bool:
    """Whether a key is an unquoted `<<`, which merges other mappings into its mapping."""
    return bool(key.value == MERGE and not key.style)


def merge_sources(value: YamlNode) -> list[YamlNode]:
    """The nodes that a merge key merges; value: the value node of the merge key."""
    return list(value.value) if isinstance(value, SequenceNode) else [value]


def winning_entry(mapping: YamlNode, name: str | int) -> tuple[YamlNode, YamlNode, YamlNode] | None:
    """The entry that sets a key (a key_name()): its mapping, key and value; None if it is missing.

    If a merge key sets the key, the mapping is the merged mapping.
    """
    for key, value in reversed(mapping.value):
        if is_merge_key(key):
            for source in merge_sources(value):
                entry = winning_entry(source, name) if isinstance(source, MappingNode) else None
                if entry is not None:
                    return entry
        elif key.__class__ is ScalarNode and key_name(key) == name:
            return mapping, key, value
    return None


def winning_values(mapping: YamlNode) -> dict[str, YamlNode]:
    """The winning value node of each key, by key_name()."""
    values: dict[str, YamlNode] = {}
    for key, value in mapping.value:
        if is_merge_key(key):
            for source in reversed(merge_sources(value)):
                if isinstance(source, MappingNode):
                    values.update(winning_values(source))
        else:
            values[key_name(key)] = value
    return values


def duplicate_keys(root: YamlNode) -> Iterator[DuplicateKey]:
    """The duplicate keys of a mapping, and then those in its values.

    A key that occurs three times in a mapping has only one DuplicateKey.
    """
    seen: set[int] = set()
    pending: list[tuple[Path, YamlNode]] = [((), root)]
    while pending:
        path, node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, SequenceNode):
            pending += [((*path, index), item) for index, item in enumerate(node.value)][::-1]
        elif isinstance(node, MappingNode):
            yield from _duplicates_in(node, path)
            pending += [((*path, key_name(key)), value) for key, value in node.value][::-1]


def _duplicates_in(mapping: YamlNode, path: Path) -> Iterator[DuplicateKey]:
    keys: dict[str, list[YamlNode]] = {}
    for key, _ in mapping.value:
        if not is_merge_key(key):
            keys.setdefault(key_name(key), []).append(key)
    for name, (first, *others) in keys.items():
        if others:
            yield DuplicateKey(
                path=(*path, name),
                key=others[-1],
                first=first,
                is_ambiguous=any(_is_string(key) != _is_string(first) for key in others),
            )


def _is_string(key: YamlNode) -> bool:
    return bool(key.style) or isinstance(resolve_plain(key.value), str)
