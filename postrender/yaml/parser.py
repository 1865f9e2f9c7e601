"""The nodes of a text, from libyaml (PyYAML) or the pure Python parser of ruamel.yaml.

Nodes have positions and text, but do not have values. The module `nodes` reads the values. What
PyYAML leaves to a constructor is done here: surrogate pairs, tags of keys, and a limit for aliases.
"""

from __future__ import annotations

import gc
import operator
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NoReturn

from yaml.composer import ComposerError
from yaml.error import YAMLError
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from postrender.errors import Location, UserError
from postrender.yaml.plain import MAX_DEPTH

try:
    from yaml.cyaml import CParser
except ImportError:  # PyYAML was built without libyaml
    CParser = None

YamlNode = Any

# The pure Python parser reads only 0.2 MB a second, so parse() does not try it for a longer text.
MAX_PURE_CHARACTERS = 256 * 1024

# The tag of an unquoted scalar or a collection, if the text does not have a tag.
UNTAGGED = ""
# The tag of a quoted scalar or a block scalar, and of an unquoted scalar with the tag `!`.
STRING = "tag:yaml.org,2002:str"

# JSON can contain a character beyond U+FFFF as two of these escapes.
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# Each level of nesting adds one of these texts, or at least one space of indentation.
_NESTING = ("[", "{", "- ", "? ", "-\t", "?\t")
_DEEP_INDENT = " " * MAX_DEPTH

MERGE = "<<"
# Limits for hostile documents, in which nested aliases can expand to billions of nodes. A document
# may expand to the first number, and to some values for each value of its text. go-yaml, with which
# Helm and the API server read YAML, refuses a document with 400,000 values if nearly all of them
# come from aliases (decode.go: allowedAliasRatio). A long text counts as several values.
_ALWAYS_PERMITTED, _PERMITTED_RATIO, MAX_EXPANDED_NODES = 10_000, 10, 200_000
_CHARACTERS_OF_VALUE = 1_000
# The entry of a node in `extents` while _has_shared_nodes counts the children of the node.
_UNFINISHED = (0, 0)

TAG_PREFIX = "tag:yaml.org,2002:"
RESOLVED_TAGS = ("int", "float", "bool", "null")
_TAG = re.compile(r"(?:^|[\s\[{,:?-])!", re.M)  # also matches text inside a scalar
# The tag `!`, also after an anchor.
_BARE_TAG = re.compile(r"(?:&\S+(?=\s)(?:\s|#.*\n)*)?!(?=\s|\Z)")
_ALIAS = re.compile(r"(?:^|[\s\[{,:])\*[^\s,\[\]{}]", re.M)


_MOST_TAG_DIRECTIVES = 1_000


def _resolve(_kind: object, value: str | None, implicit: Any) -> str:
    """The tag of a node without a tag in the text, without deriving a type from the text."""
    # For a scalar, `implicit` is a pair. The first part is true for an unquoted scalar without a
    # tag.
    return UNTAGGED if value is None or implicit[0] else STRING


def read_nodes(text: str, location: Location) -> tuple[YamlNode, bool]:
    """The root node of a document, and whether any node is at several paths because of an alias.

    The root is None without content. Surrogate pairs are joined, and tags are applied to keys.
    """
    check_depth(text, location)
    if text.count("\n%TAG") > _MOST_TAG_DIRECTIVES:  # libyaml compares each with all others
        raise UserError(
            f"the document has more than {_MOST_TAG_DIRECTIVES:,} directives %TAG",
            "Remove the directives",
            location,
        )
    root = parse(text, location)
    if root is None:
        return None, False
    # _ALIAS also matches text inside a scalar.
    may_have_aliases = "&" in text and _ALIAS.search(text) is not None
    has_aliases = may_have_aliases and _has_shared_nodes(root, location)
    if "\\" in text and SURROGATE.search(text):
        _join_surrogates(root, location)
    if "!" in text and _TAG.search(text):
        _apply_tags(root, text)
    return root, has_aliases


def parse(text: str, location: Location) -> YamlNode:
    """The root node of a document, None without content; location: of the text's first line.

    The caller must call check_depth() first, because the C parser would crash on deep nesting.
    UserError for text that is not YAML, or is nested too deeply.
    """
    if CParser is None:
        return _parse_events(_pure_class()(text), text, location)
    try:
        return _c_class()(text).get_single_node()
    except YAMLError as error:
        if _is_repeated_anchor(error):
            return _parse_events(CParser(text), text, location)
        return _parse_again(text, error, location)


def _parse_again(text: str, error: Exception, location: Location) -> YamlNode:
    """Parse with the pure Python parser, unless it would be too slow; error: of the C parser."""
    if not _is_worth_a_retry(text, error):
        _refuse(error, text, location)
    try:
        return _compose(_pure_class()(text), location)
    except (YAMLError, _errors_of_ruamel()) as second_error:
        # If the first error is a colon that YAML allows, the second error has the real cause.
        _refuse(second_error if _is_flow_colon(error) else error, text, location)
    except ValueError:
        _refuse(error, text, location)


def _parse_events(parser: Any, text: str, location: Location) -> YamlNode:
    try:
        return _compose(parser, location)
    except _errors_of_ruamel() as error:
        _refuse(error, text, location)
    except YAMLError as error:
        return _parse_again(text, error, location)


def _compose(parser: Any, location: Location) -> YamlNode:
    """The root node of the events of a parser.

    In YAML 1.2, an alias refers to the nearest definition of its anchor above. The composers of
    both libraries refuse a second definition.
    """
    root, anchors, parents = None, {}, []  # type: ignore[var-annotated]
    while parser.check_event():
        event = parser.get_event()
        kind = type(event).__name__
        if kind in ("SequenceEndEvent", "MappingEndEvent"):
            node = parents.pop()
            node.end_mark = event.end_mark
            if kind == "MappingEndEvent":
                entries = iter(node.value)
                node.value = list(zip(entries, entries, strict=True))
            continue
        if kind == "AliasEvent":
            if event.anchor not in anchors:
                raise ComposerError(None, None, "found undefined alias", event.start_mark)
            node = anchors[event.anchor]
        elif kind == "ScalarEvent":
            node = ScalarNode(_tag(event), event.value, event.start_mark, event.end_mark)
            node.style = event.style
        elif kind in ("SequenceStartEvent", "MappingStartEvent"):
            node_class = SequenceNode if kind == "SequenceStartEvent" else MappingNode
            node = node_class(_tag(event), [], event.start_mark, None, event.flow_style)
        elif kind == "DocumentStartEvent" and root is not None:
            raise ComposerError(
                "expected a single document in the stream",
                root.start_mark,
                "but found another document",
                event.start_mark,
            )
        else:
            continue
        if kind != "AliasEvent" and event.anchor is not None:
            anchors[event.anchor] = node
        if parents:
            parents[-1].value.append(node)
        else:
            root = node
        if kind.endswith("StartEvent"):
            parents.append(node)
            if len(parents) > MAX_DEPTH:
                refuse_depth(location)
    return root


def _tag(event: Any) -> str:
    if event.tag in (None, "!"):
        return _resolve(None, getattr(event, "value", None), event.implicit)
    return str(event.tag)


def check_depth(text: str, location: Location) -> None:
    """Refuse a document that is nested too deeply.

    The C parser recurses to compose nodes, and would crash the process. Reading the events of the
    parser does not recurse.
    """
    if sum(map(text.count, _NESTING)) < MAX_DEPTH and _DEEP_INDENT not in text:
        return
    parser, depth = _pure_class()(text) if CParser is None else CParser(text), 0
    try:
        while parser.check_event():
            name = type(parser.get_event()).__name__
            depth += name.endswith("StartEvent") - name.endswith("EndEvent")
            if depth > MAX_DEPTH:
                refuse_depth(location)
    except (YAMLError, _errors_of_ruamel()) as error:
        if getattr(error, "problem", None) == "exceeded maximum nesting depth":  # 1,000 brackets
            refuse_depth(location)
        # parse() reports any other error


def _is_worth_a_retry(text: str, error: Exception) -> bool:
    """Whether the pure Python parser can perhaps read a text that the C parser rejects.

    The C parser rejects block scalars that begin with a tab, JSON's surrogate pairs, and `{a: b:}`.
    """
    is_unusual = _is_flow_colon(error) or "\t" in text or SURROGATE.search(text) is not None
    return CParser is not None and is_unusual and len(text) <= MAX_PURE_CHARACTERS


def _is_repeated_anchor(error: YAMLError) -> bool:
    return (getattr(error, "context", None) or "").startswith("found duplicate anchor")


def _is_flow_colon(error: Exception) -> bool:
    """Whether the error is a colon at the end of an unquoted scalar in a flow collection.

    libyaml 0.2.5 rejects this colon (yaml_parser_scan_plain_scalar). sigs.k8s.io/yaml and the pure
    Python parser accept it.
    """
    return getattr(error, "problem", None) == "found unexpected ':'"


def _refuse(error: Any, text: str, location: Location) -> NoReturn:
    from postrender.yaml.mistakes import find_mistake  # its patterns are only for errors

    mistake = find_mistake(error, text)
    location = location._replace(line=location.line + mistake.line)
    if _is_flow_colon(error):
        raise UserError(
            "an unquoted value in [ ] or { } ends in a colon, which postrender reads only in "
            f"documents of up to {MAX_PURE_CHARACTERS // 1024} KiB",
            "Quote the value, or split the document",
            location,
        ) from None
    problem = f"the document is not valid YAML ({mistake.problem})"
    raise UserError(problem, mistake.fix, location) from None


def refuse_depth(location: Location) -> NoReturn:
    """Raise the UserError for a document that is nested too deeply."""
    raise UserError(
        f"the document has more than {MAX_DEPTH} nested levels",
        "Remove some of the nested levels",
        location,
    ) from None


def _has_shared_nodes(root: YamlNode, location: Location) -> bool:
    """Whether any node is at several paths, because of an alias.

    Refuses nested aliases that turn a small text into a huge or deep object, and an anchor that
    contains an alias of itself.
    """
    extents: dict[int, tuple[int, int]] = {}
    aliases = written = 0

    def extent(node: YamlNode) -> tuple[int, int]:
        """The number of values and of levels in the tree of a node."""
        nonlocal aliases, written
        known = extents.get(id(node))
        aliases += known is not None
        if known == _UNFINISHED:
            raise UserError(
                "a YAML anchor contains an alias of the anchor itself, so the value does not end",
                "Replace the alias with a value",
                location._replace(line=location.line + node.start_mark.line),
            )
        if known is None:
            extents[id(node)] = _UNFINISHED
            is_scalar = node.__class__ is ScalarNode
            size, depth = 1 + (len(node.value) // _CHARACTERS_OF_VALUE if is_scalar else 0), 0
            written += size
            for child_node in children(node):
                child_size, child_depth = extent(child_node)
                size, depth = size + child_size, max(depth, child_depth)
            known = extents[id(node)] = size, depth + 1
        return known

    size, depth = extent(root)
    if depth > MAX_DEPTH:
        refuse_depth(location)
    written += aliases
    limit = min(MAX_EXPANDED_NODES, _ALWAYS_PERMITTED + _PERMITTED_RATIO * written)
    limit = max(limit, 2 * written)
    if size > limit:
        raise UserError(
            f"the YAML aliases expand to more than {limit:,} values of up to "
            f"{_CHARACTERS_OF_VALUE:,} characters",
            "Use fewer aliases",
            location,
        )
    return aliases > 0


def _every_node(root: YamlNode) -> Iterator[YamlNode]:
    """Every node of a tree once, in the order of the text."""
    pending, seen = [root], set()
    while pending:
        node = pending.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            pending += reversed(children(node))


def _join_surrogates(root: YamlNode, location: Location) -> None:
    """Replace each surrogate pair in the scalars with the encoded character."""
    for node in _every_node(root):
        if node.__class__ is ScalarNode and not node.value.isascii():
            try:
                node.value = node.value.encode("utf-16", "surrogatepass").decode("utf-16")
            except UnicodeDecodeError:
                raise UserError(
                    "the string has a single \\u escape from the range D800 to DFFF, expected a "
                    "pair",
                    "Write both escapes of the pair, or the character itself",
                    location._replace(line=location.line + node.start_mark.line),
                ) from None


def _apply_tags(root: YamlNode, text: str) -> None:
    """Mark scalars with the tag `!` as strings, which the parser drops, and apply tags to keys."""
    nodes = list(_every_node(root))
    for node in nodes:
        if node.__class__ is ScalarNode:
            is_string = _BARE_TAG.match(text, node.start_mark.index)
            if is_string and node.tag is UNTAGGED and node.value != MERGE:
                node.tag = STRING
    for node in nodes:
        for key, _ in node.value if node.__class__ is MappingNode else ():
            if key.__class__ is ScalarNode:
                _apply_tag_of_key(key)


def _apply_tag_of_key(key: YamlNode) -> None:
    """Give a key the style by which key_name() decides whether the key is a string.

    `!!str on` is the key `on`, and `!!int "0x10"` is the key `16` (sigs.k8s.io/yaml 1.6).
    """
    tag = (key.tag or "").removeprefix(TAG_PREFIX)
    if tag in RESOLVED_TAGS:
        key.style = ""
    elif tag == "binary":
        key.value, key.style = from_base64(key.value), "'"
    elif key.tag is not UNTAGGED and tag != "merge":
        key.style = key.style or "'"


def children(node: YamlNode) -> list[YamlNode]:
    """The items of a list, or the keys and values of a mapping; [] for a scalar."""
    if isinstance(node, MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value) if isinstance(node, SequenceNode) else []


def from_base64(text: str) -> str:
    """The decoded text; a byte that is not UTF-8 becomes U+FFFD, as in the JSON of Go."""
    import base64

    try:
        decoded = base64.b64decode(text).decode(errors="surrogateescape")
    except ValueError:
        return text  # not base64: sigs.k8s.io/yaml refuses the document
    return re.sub("[\udc80-\udcff]", "\ufffd", decoded)


@cache
def _c_class() -> Any:
    # libyaml's composer calls all three for every node. These C functions accept the arguments
    # without an effect, and are faster than Python functions.
    methods = {
        "descend_resolver": staticmethod(operator.is_),
        "ascend_resolver": staticmethod(gc.isenabled),
        "resolve": staticmethod(_resolve),
    }
    return type("CComposer", (CParser,), methods)


@cache
def _errors_of_ruamel() -> Any:
    from ruamel.yaml.error import YAMLError as RuamelError

    return RuamelError


@cache
def _pure_class() -> Any:
    from ruamel.yaml.docinfo import DocInfo
    from ruamel.yaml.parser import Parser
    from ruamel.yaml.reader import Reader
    from ruamel.yaml.scanner import Scanner

    class PureParser(Reader, Scanner, Parser):
        """The pure Python parser of ruamel.yaml, and the settings that it reads."""

        processing_version = (1, 1)
        version = None
        comment_handling = None
        comments: Any = ()

        def __init__(self, stream: str) -> None:
            self.doc_infos = [DocInfo()]
            Reader.__init__(self, stream, loader=self)
            Scanner.__init__(self, loader=self)
            Parser.__init__(self, loader=self)
            self._resolver = self._reader = self._scanner = self
            self._parser = self

    return PureParser
