"""A document as nodes of the YAML parser: for every document that `plain` does not cover.

This module imports ruamel.yaml and is imported only where a document needs it. Nothing is
constructed from a node but plain data, read as the API server reads it (`scalars`): a bare `=`
crashes YAML constructors, and `1e3` or `0o7` would change. Nodes take some fifty times the
memory of the text, and are dropped before the next document is composed.
"""

from __future__ import annotations

import re

from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from postrender.errors import Location, UserError
from postrender.startup.patterns import pattern
from postrender.yaml.parser import STRING, SURROGATE, UNTAGGED, YamlNode, check_depth, parse
from postrender.yaml.paths import Json, Path, format_path, object_path
from postrender.yaml.scalars import WORDS, Scalar, key_text, resolve_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

MAX_EXPANDED_NODES = 1_000_000

_MERGE = "<<"
_TAG_PREFIX = "tag:yaml.org,2002:"
_ALIAS = pattern(r"(?:^|[\s\[{,:])\*[^\s,\[\]{}]", re.M)


class NodeDocument:
    """A document's text with its root node, which is None when the document has no content.

    place: of the text's first line. has_aliases: whether a node may be reached by several paths.
    """

    __slots__ = ("_paths", "has_aliases", "location", "root", "text")

    def __init__(self, text: str, root: YamlNode, location: Location, *, has_aliases: bool) -> None:
        self.text = text
        self.root = root
        self.location = location
        self.has_aliases = has_aliases
        self._paths: dict[int, list[Path]] = {}

    def read(self) -> Json:
        """Return the document as plain data: dicts, lists, strings, numbers, booleans and None.

        Raises UserError for a key that occurs twice in one mapping or is not a scalar.
        """
        return None if self.root is None else _read(self.root, self)

    def line_of(self, path: Path) -> int:
        """Return the line in which the value at a path begins."""
        return int(node_at(self.root, path).start_mark.line)

    def is_literal(self, path: Path) -> bool:
        """Return whether the scalar at a path is a literal (`|`)."""
        return bool(node_at(self.root, path).style == "|")

    def paths_to(self, node: YamlNode) -> list[Path]:
        """Return every path at which a node is read. The document is walked once."""
        if not self._paths:
            self._paths = _paths_by_node(self.root)
        return self._paths[id(node)]

    def location_of(self, node: YamlNode, path: Path = ()) -> Location:
        """Return where a node is in the input: its line, its object and the path in that."""
        above = object_path(path)
        return self.location._replace(
            line=self.location.line + node.start_mark.line,
            subject=_subject(node_at(self.root, above)),
            path=format_path(path[len(above) :]),
        )


def compose(text: str, location: Location) -> NodeDocument:
    """Return a document as nodes; place is that of its first line.

    Raises UserError for text that is not YAML, nests too deep or expands too far.
    """
    check_depth(text, location)
    root = parse(text, location)
    has_aliases = root is not None and "&" in text and _ALIAS.search(text) is not None
    if has_aliases:
        _check_expansion(root, location)
        has_aliases = _has_shared_nodes(root)
    if root is not None and "\\" in text and SURROGATE.search(text):
        _join_surrogates(root, location)
    return NodeDocument(text, root, location, has_aliases=has_aliases)


def _subject(node: YamlNode) -> str:
    """Return the `Kind/name` of an object, as far as it has them."""
    parts = [node_at(node, ("kind",)), node_at(node, ("metadata", "name"))]
    texts = [part.value for part in parts if part.__class__ is ScalarNode]
    return "/".join(texts) if len(texts) == len(parts) else ""


def _has_shared_nodes(root: YamlNode) -> bool:
    """Return whether any node is in the document twice: text alone may only look like an alias."""
    seen: set[int] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        if id(node) in seen:
            return True
        seen.add(id(node))
        pending += children(node)
    return False


def _check_expansion(root: YamlNode, location: Location) -> None:
    """Refuse aliases that nest in one another until a small text stands for a huge object."""
    sizes: dict[int, int] = {}

    def size(node: YamlNode) -> int:
        if node.__class__ is ScalarNode:
            return 1
        known = sizes.get(id(node))
        if known == 0:
            raise UserError(
                "an anchor that contains an alias of itself",
                "no Kubernetes object can",
                location._replace(line=location.line + node.start_mark.line),
            )
        if known is None:
            sizes[id(node)] = 0
            known = 1 + sum(size(child) for child in children(node))
            sizes[id(node)] = known
        return known

    if size(root) > MAX_EXPANDED_NODES:
        raise UserError(
            f"aliases that expand to more than {MAX_EXPANDED_NODES:,} nodes",
            "write the object out without them",
            location,
        )


def _join_surrogates(node: YamlNode, location: Location) -> None:
    """Read pairs of escapes, by which JSON writes one character, as that character."""
    for inner in children(node):
        _join_surrogates(inner, location)
    if node.__class__ is ScalarNode and not node.value.isascii():
        try:
            node.value = node.value.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise UserError(
                "an escape that is half of a character",
                "write both halves of the surrogate pair, or the character itself",
                location._replace(line=location.line + node.start_mark.line),
            ) from None


def children(node: YamlNode) -> list[YamlNode]:
    """Return the nodes directly inside a node: items, or keys and values."""
    if isinstance(node, MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value) if isinstance(node, SequenceNode) else []


def _read(node: YamlNode, document: NodeDocument) -> Json:
    # The hot loop of the program: scalars inline, no call for them where it can be saved.
    kind = node.__class__
    if kind is MappingNode:
        mapping: dict[str, Json] = {}
        merges: list[YamlNode] = []
        for key, value in node.value:
            if key.__class__ is not ScalarNode:
                _refuse_key(key, document, "a key that is a mapping or a list")
            name = key.value
            if not key.style and (name in WORDS or not name.isidentifier()):
                if name == _MERGE:
                    merges.append(value)
                    continue
                name = key_text(name)
            if name in mapping:
                _refuse_key(key, document, f"the key {name!r} occurs twice in one mapping")
            if value.__class__ is ScalarNode:
                tag = value.ctag
                if tag is STRING:
                    mapping[name] = value.value
                elif tag is UNTAGGED:
                    mapping[name] = resolve_plain(value.value)
                else:
                    mapping[name] = read_scalar(value)
            else:
                mapping[name] = _read(value, document)
        return _merged(mapping, merges, document) if merges else mapping
    if kind is SequenceNode:
        return [_read(item, document) for item in node.value]
    return read_scalar(node)


def read_scalar(node: YamlNode) -> Scalar:
    """Return the value of a scalar node."""
    text: str = node.value
    if node.ctag is STRING:
        return text
    if node.ctag is UNTAGGED:
        return resolve_plain(text)
    tag = (node.tag or "").removeprefix(_TAG_PREFIX)
    if tag == "binary":
        return _from_base64(text)
    return resolve_plain(text) if tag in ("int", "float", "bool", "null") else text


def _from_base64(text: str) -> str:
    import base64
    import binascii

    try:
        return base64.b64decode(text).decode()
    except (binascii.Error, UnicodeDecodeError):
        return text  # no string at all: whoever applies it says so


def _merged(
    mapping: dict[str, Json], merges: list[YamlNode], document: NodeDocument
) -> dict[str, Json]:
    for merge in merges:
        for source in merge_sources(merge):
            if not isinstance(source, MappingNode):
                _refuse_key(merge, document, "a merge key (<<) of something that is no mapping")
            inner = _read(source, document)
            mapping = {**mapping, **(inner if isinstance(inner, dict) else {}), **mapping}
    return mapping


def is_merge_key(key: YamlNode) -> bool:
    """Tell whether a key is `<<`, which merges mappings into the one it stands in."""
    return bool(key.value == _MERGE and not key.style)


def merge_sources(value: YamlNode) -> list[YamlNode]:
    """Return what a merge key merges: one mapping, or a list of them."""
    return list(value.value) if isinstance(value, SequenceNode) else [value]


def _refuse_key(node: YamlNode, document: NodeDocument, what: str) -> NoReturn:
    raise UserError(what, "mend the template that wrote it", document.location_of(node))


def child(node: YamlNode, part: str | int) -> YamlNode:
    """Return the node at one key or index of a node, through merge keys too, or None."""
    if isinstance(node, SequenceNode):
        return node.value[part] if isinstance(part, int) and part < len(node.value) else None
    if not isinstance(node, MappingNode):
        return None
    for key, value in node.value:
        if key.value == part:
            return value
    return _unusual_child(node, part)


def _unusual_child(node: YamlNode, part: str | int) -> YamlNode:
    """Return the value of a key that is read otherwise than it is written, or merged in."""
    for key, value in node.value:
        if not key.style and key_text(key.value) == part:
            return value
    for key, value in node.value:
        if is_merge_key(key):
            for source in merge_sources(value):
                found = child(source, part)
                if found is not None:
                    return found
    return None


def node_at(root: YamlNode, path: Path) -> YamlNode:
    """Return the node at a path, or None where there is none."""
    node = root
    for part in path:
        node = child(node, part)
        if node is None:
            return None
    return node


def key_node(root: YamlNode, path: Path) -> YamlNode | None:
    """Return the node of the last key of a path, None where the key is not written there."""
    parent = node_at(root, path[:-1])
    if not isinstance(parent, MappingNode):
        return None
    return next((key for key, _ in parent.value if key.value == path[-1]), None)


def is_alias(parent: YamlNode, index: int | str) -> bool:
    """Tell whether the item, or the value, with this number in parent is written as an alias.

    An alias is the node of its anchor, which stands before the place where it is read.
    """
    if isinstance(parent, MappingNode):
        key, value = parent.value[int(index)]
        return bool(value.start_mark.index < key.start_mark.index)
    items = [item.start_mark.index for item in parent.value]
    number = int(index) % len(items)
    return bool(items[number] <= max([parent.start_mark.index - 1, *items[:number]]))


def _paths_by_node(root: YamlNode) -> dict[int, list[Path]]:
    """Return, for each node by its id(), every path at which it is read."""
    paths: dict[int, list[Path]] = {}

    def walk(node: YamlNode, path: Path, skip: frozenset[str | int] = frozenset()) -> None:
        paths.setdefault(id(node), []).append(path)
        if isinstance(node, SequenceNode):
            for index, item in enumerate(node.value):
                walk(item, (*path, index))
        elif isinstance(node, MappingNode):
            walk_mapping(node, path, skip)

    def walk_mapping(node: YamlNode, path: Path, skip: frozenset[str | int]) -> None:
        own = {key.value for key, _ in node.value}
        for key, value in node.value:
            if is_merge_key(key):
                for source in merge_sources(value):
                    walk(source, path, skip | own)
            elif key.value not in skip:
                walk(value, (*path, key.value))

    walk(root, ())
    return paths


def last_block_scalar(node: YamlNode) -> tuple[Path, str] | None:
    """Return path and text of the block scalar that a document's text ends with, if it does."""
    path: Path = ()
    while node.value and not isinstance(node, ScalarNode):
        if isinstance(node, SequenceNode):
            path, node = (*path, len(node.value) - 1), node.value[-1]
        else:
            key, value = node.value[-1]
            path, node = (*path, key.value), value
    is_block = isinstance(node, ScalarNode) and node.style in ("|", ">")
    return (path, node.value) if is_block else None


def folded_scalars(node: YamlNode, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the folded scalars of an object: Helm 4 adds newlines to them at each pass."""
    kind = node.__class__
    if kind is ScalarNode:
        if node.style == ">":
            yield path, node.value
    elif kind is MappingNode:
        for key, value in node.value:
            if value.__class__ is not ScalarNode or value.style == ">":
                yield from folded_scalars(value, (*path, key.value))
    elif kind is SequenceNode:
        for number, item in enumerate(node.value):
            yield from folded_scalars(item, (*path, number))
