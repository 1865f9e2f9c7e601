"""Text to nodes, by ruamel.yaml's C parser where there is one, else by its pure one.

Nodes carry marks and no values: neither parser resolves or constructs anything here.
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
except ImportError:  # no wheel of the C parser for this Python
    CParser = None

YamlNode = Any

MAX_DEPTH = 200
# The pure parser reads some 0.2 MB a second: a large broken document is reported at once.
MAX_PURE_CHARACTERS = 256 * 1024

# A plain scalar, or a collection, without a tag.
UNTAGGED = Tag(suffix="")
# A quoted or block scalar, or a plain one with the tag `!`, which says that it is no number.
STRING = Tag(suffix="tag:yaml.org,2002:str")

# JSON writes a character beyond U+FFFF as two such escapes.
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# Each level of nesting takes one of these, or a column of indentation.
_NESTING = ("[", "{", "- ", "? ", "-\t", "?\t")
_DEEP_INDENT = " " * MAX_DEPTH


class _Untyped:
    """What a ruamel.yaml parser asks of a resolver, answered without resolving anything."""

    # Called for every node: functions that take these arguments and do nothing, without the cost
    # of a Python call.
    descend_resolver = staticmethod(operator.is_)
    ascend_resolver = staticmethod(gc.isenabled)

    def resolve(self, _kind: YamlNode, value: str | None, implicit: YamlNode) -> Tag:
        # implicit: (plain and untagged, quoted or with the tag `!`) for a scalar
        return UNTAGGED if value is None or implicit[0] else STRING


def parse(text: str, location: Location) -> YamlNode:
    """Return the root node of a document, None if it has no content.

    place: of its first line. Raises UserError for text that is no YAML.
    """
    try:
        return _new_parser(text).get_single_node()
    except YAMLError as error:
        if _may_be_pure(text):
            try:
                return _pure_class()(text).get_single_node()
            except (YAMLError, ValueError, RecursionError):
                pass
        _refuse(error, location)
    except RecursionError:
        _refuse_depth(location)


def check_depth(text: str, location: Location) -> None:
    """Raise UserError for nesting that would exhaust the stack, before the document is parsed.

    Both parsers recurse, the C parser until the process ends; reading events does not.
    """
    if sum(map(text.count, _NESTING)) < MAX_DEPTH and _DEEP_INDENT not in text:
        return
    parser, depth = _new_parser(text), 0
    try:
        while parser.check_event():
            name = type(parser.get_event()).__name__
            depth += name.endswith("StartEvent") - name.endswith("EndEvent")
            if depth > MAX_DEPTH:
                _refuse_depth(location)
    except YAMLError:
        return  # parsing reports it


def _may_be_pure(text: str) -> bool:
    """Tell whether the pure parser may read what the C parser does not.

    That is a block scalar that begins with a tab, and JSON's pairs of escapes for one character.
    """
    is_odd = "\t" in text or SURROGATE.search(text) is not None
    return CParser is not None and is_odd and len(text) <= MAX_PURE_CHARACTERS


def _refuse(error: YAMLError, location: Location) -> NoReturn:
    line, what = 0, str(error).split("\n", 1)[0]
    if isinstance(error, MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        if (error.context or "").startswith("while scanning a quoted"):
            mark = error.context_mark  # where it begins says more than where the text ends
        line = mark.line if mark else 0
        what = " ".join(part for part in (error.context, error.problem) if part)
    raise UserError(
        f"not valid YAML: {what}",
        "mend the template that wrote it",
        location._replace(line=location.line + line),
    ) from None


def _refuse_depth(location: Location) -> NoReturn:
    raise UserError(
        f"nested deeper than {MAX_DEPTH} levels", "no Kubernetes object needs that", location
    ) from None


def _new_parser(text: str) -> Any:
    return _pure_class()(text) if CParser is None else _c_class()(text)


@cache
def _c_class() -> Any:
    return type("CComposer", (_Untyped, CParser), {})


@cache
def _pure_class() -> Any:
    from ruamel.yaml.composer import Composer
    from ruamel.yaml.docinfo import DocInfo
    from ruamel.yaml.parser import Parser
    from ruamel.yaml.reader import Reader
    from ruamel.yaml.scanner import Scanner

    class PureComposer(_Untyped, Reader, Scanner, Parser, Composer):
        """ruamel.yaml's own parser, which knows no C."""

        processing_version = (1, 1)
        version = None
        comment_handling = None
        comments: Any = ()
        max_depth = None
        allow_duplicate_keys = True

        def __init__(self, stream: str) -> None:
            self.doc_infos = [DocInfo()]
            Reader.__init__(self, stream, loader=self)
            Scanner.__init__(self, loader=self)
            Parser.__init__(self, loader=self)
            Composer.__init__(self, loader=self)
            self._resolver = self._reader = self._scanner = self
            self._parser = self._composer = self
            self.warn_double_anchors = False  # YAML lets a name be defined anew

    return PureComposer
