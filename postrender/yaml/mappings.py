"""The keys of a mapping node: if several entries set a key, the last entry wins.

sigs.k8s.io/yaml, which kubectl, Helm and the API server use, reads the entries of a mapping in
their order. Each entry overrides the entries above that have the same key. A merge key (`<<`)
sets all keys of the mappings in its value. If several of these mappings have a key, the first
mapping wins.
"""

from __future__ import annotations

from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from postrender.records import NamedTuple
from postrender.yaml.parser import YamlNode
from postrender.yaml.scalars import WORDS, key_text, resolve_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from postrender.yaml.paths import Path

MERGE = "<<"


class DuplicateKey(NamedTuple):
    """A key that is duplicated in a mapping.

    path: the path of the key in the document.
    key: the key node of the last entry with the key.
    first: the key node of the first entry with the key.
    is_ambiguous: whether the key is a string only in some of the entries. For example, "true" and
        the boolean `on` are the same key in JSON.
    """

    path: Path
    key: YamlNode
    first: YamlNode
    is_ambiguous: bool


def key_name(key: YamlNode) -> str:
    """Return the name of a key in the data: `true` for an unquoted `on`. key: a scalar node."""
    text: str = key.value
    if key.style or (text.isidentifier() and text not in WORDS):
        return text
    return key_text(text)


def is_merge_key(key: YamlNode) -> bool:
    """Return whether a key is an unquoted `<<`, which merges other mappings into its mapping."""
    return bool(key.value == MERGE and not key.style)


def merge_sources(value: YamlNode) -> list[YamlNode]:
    """Return the nodes that a merge key merges. value: the value node of the merge key."""
    return list(value.value) if isinstance(value, SequenceNode) else [value]


def winning_entry(mapping: YamlNode, name: str | int) -> tuple[YamlNode, YamlNode, YamlNode] | None:
    """Return the nodes of the entry that sets a key: the mapping, the key and the value.

    name: the key_name() of the key.
    If a merge key sets the key, the mapping is the merged mapping. Returns None if the key is
    missing.
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
    """Return the winning value node of each key of a mapping, by the key_name() of the key."""
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
    """Return the duplicate keys of a document.

    The function yields the duplicate keys of a mapping, and then the duplicate keys in the values
    of the mapping. A key that occurs three times in a mapping has only one DuplicateKey.
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
