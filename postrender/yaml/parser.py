"""The nodes of a text, from the C parser or the pure Python parser of ruamel.yaml.

Nodes have positions and text, but do not have values. The module `nodes` reads the values.
"""

from __future__ import annotations

import gc
import operator
import re
from functools import cache
from typing import Any, NoReturn

from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.tag import Tag

from postrender.errors import Location, UserError

try:
    from ruamel.yaml.cyaml import CParser  # type: ignore[attr-defined]
except ImportError:  # the C parser has no wheel for this Python
    CParser = None

YamlNode = Any

MAX_DEPTH = 200
# The pure Python parser reads only 0.2 MB a second, so parse() does not try it for a longer text.
MAX_PURE_CHARACTERS = 256 * 1024

# The tag of an unquoted scalar or a collection, if the text does not have a tag.
UNTAGGED = Tag(suffix="")
# The tag of a quoted scalar or a block scalar, and of an unquoted scalar with the tag `!`.
STRING = Tag(suffix="tag:yaml.org,2002:str")

# JSON can contain a character beyond U+FFFF as two of these escapes.
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# Each level of nesting adds one of these texts, or at least one space of indentation.
_NESTING = ("[", "{", "- ", "? ", "-\t", "?\t")
_DEEP_INDENT = " " * MAX_DEPTH


class _NoResolver:
    """A resolver for ruamel.yaml that does not derive the type of a scalar from its text."""

    # ruamel.yaml calls both methods for every node. These C functions accept the arguments without
    # an effect, and are faster than Python functions.
    descend_resolver = staticmethod(operator.is_)
    ascend_resolver = staticmethod(gc.isenabled)

    def resolve(self, _kind: YamlNode, value: str | None, implicit: YamlNode) -> Tag:
        # For a scalar, `implicit` is a pair. The first part is true for an unquoted scalar without
        # a tag.
        return UNTAGGED if value is None or implicit[0] else STRING


class _ComposerSettings(_NoResolver):
    """The settings that the composer of ruamel.yaml reads from its loader."""

    processing_version = (1, 1)
    version = None
    comment_handling = None
    max_depth = MAX_DEPTH
    allow_duplicate_keys = True


def parse(text: str, location: Location) -> YamlNode:
    """The root node of a document, None without content; location: of the text's first line.

    The caller must call check_depth() first, because the C parser would crash on deep nesting.
    UserError for text that is not YAML, or is nested too deeply.
    """
    try:
        return _new_parser(text).get_single_node()
    except YAMLError as error:
        if _is_repeated_anchor(error):
            return _parse_events(text, location)
        return _parse_again(text, error, location)


def _parse_events(text: str, location: Location) -> YamlNode:
    """Parse a text that defines an anchor several times.

    In YAML 1.2, an alias refers to the nearest definition above. The composer of the C parser
    rejects a second definition, but the composer of ruamel.yaml, here with the events of the C
    parser, accepts it.
    """
    from ruamel.yaml.composer import MaxDepthExceededError

    try:
        return _event_class()(text).get_single_node()
    except MaxDepthExceededError:
        refuse_depth(location)
    except YAMLError as error:
        return _parse_again(text, error, location)


def _parse_again(text: str, error: YAMLError, location: Location) -> YamlNode:
    """Parse with the pure Python parser, unless it would be too slow; error: of the C parser.

    It can find deep nesting after the position of `error`, at which check_depth() stops.
    """
    if not _is_worth_a_retry(text, error):
        _refuse(error, location)
    from ruamel.yaml.composer import MaxDepthExceededError

    try:
        return _pure_class()(text).get_single_node()
    except MaxDepthExceededError:
        refuse_depth(location)
    except YAMLError as second_error:
        # If the first error is a colon that YAML allows, the second error has the real cause.
        _refuse(second_error if _is_flow_colon(error) else error, location)
    except ValueError:
        _refuse(error, location)


def check_depth(text: str, location: Location) -> None:
    """Refuse a document that is nested too deeply.

    Both parsers recurse to compose nodes, and the C parser would crash the process. Reading the
    events of the parser does not recurse.
    """
    if sum(map(text.count, _NESTING)) < MAX_DEPTH and _DEEP_INDENT not in text:
        return
    parser, depth = _new_parser(text), 0
    try:
        while parser.check_event():
            name = type(parser.get_event()).__name__
            depth += name.endswith("StartEvent") - name.endswith("EndEvent")
            if depth > MAX_DEPTH:
                refuse_depth(location)
    except YAMLError:
        return  # parse() reports the error


def _is_worth_a_retry(text: str, error: YAMLError) -> bool:
    """Whether the pure Python parser can perhaps read a text that the C parser rejects.

    The C parser rejects block scalars that begin with a tab, JSON's surrogate pairs, and
    `[http://api:8080]`.
    """
    is_unusual = _is_flow_colon(error) or "\t" in text or SURROGATE.search(text) is not None
    return CParser is not None and is_unusual and len(text) <= MAX_PURE_CHARACTERS


def _is_repeated_anchor(error: YAMLError) -> bool:
    return (getattr(error, "context", None) or "").startswith("found duplicate anchor")


def _is_flow_colon(error: YAMLError) -> bool:
    """Whether the error is a colon in an unquoted scalar of a flow collection.

    The C parser of ruamel.yaml.clib 0.2.15 rejects this colon (yaml_parser_scan_plain_scalar).
    sigs.k8s.io/yaml, libyaml 0.2.5 and the pure Python parser accept it.
    """
    return getattr(error, "problem", None) == "found unexpected ':'"


def _refuse(error: YAMLError, location: Location) -> NoReturn:
    line, problem = 0, str(error).split("\n", 1)[0]
    if isinstance(error, MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        if (error.context or "").startswith("while scanning a quoted"):
            mark = error.context_mark  # the opening quote; the other mark is the end of the text
        line = mark.line if mark else 0
        problem = " ".join(part for part in (error.context, error.problem) if part)
    location = location._replace(line=location.line + line)
    if _is_flow_colon(error):
        raise UserError(
            "an unquoted value in [ ] or { } contains a colon, which postrender reads only in "
            f"documents of up to {MAX_PURE_CHARACTERS // 1024} KiB",
            "Quote the value, or split the document",
            location,
        ) from None
    raise UserError(
        f"the document is not valid YAML ({problem})",
        "Fix the YAML near this line, for example the indentation, a colon or a quote",
        location,
    ) from None


def refuse_depth(location: Location) -> NoReturn:
    """Raise the UserError for a document that is nested too deeply."""
    raise UserError(
        f"the document has more than {MAX_DEPTH} nested levels",
        "Remove some of the nested levels",
        location,
    ) from None


def _new_parser(text: str) -> Any:
    return _pure_class()(text) if CParser is None else _c_class()(text)


@cache
def _c_class() -> Any:
    return type("CComposer", (_NoResolver, CParser), {})


@cache
def _event_class() -> Any:
    from ruamel.yaml.composer import Composer

    class EventComposer(_ComposerSettings, Composer):
        """The pure Python composer of ruamel.yaml, with the events of the C parser."""

        def __init__(self, stream: str) -> None:
            Composer.__init__(self, loader=self)
            self._resolver = self._composer = self
            self._parser = CParser(stream)
            self.warn_double_anchors = False  # YAML allows an anchor to be defined again

    return EventComposer


@cache
def _pure_class() -> Any:
    from ruamel.yaml.composer import Composer
    from ruamel.yaml.docinfo import DocInfo
    from ruamel.yaml.parser import Parser
    from ruamel.yaml.reader import Reader
    from ruamel.yaml.scanner import Scanner

    class PureComposer(_ComposerSettings, Reader, Scanner, Parser, Composer):
        """The pure Python parser of ruamel.yaml."""

        comments: Any = ()

        def __init__(self, stream: str) -> None:
            self.doc_infos = [DocInfo()]
            Reader.__init__(self, stream, loader=self)
            Scanner.__init__(self, loader=self)
            Parser.__init__(self, loader=self)
            Composer.__init__(self, loader=self)
            self._resolver = self._reader = self._scanner = self
            self._parser = self._composer = self
            self.warn_double_anchors = False  # YAML allows an anchor to be defined again

    return PureComposer
