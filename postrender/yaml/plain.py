r"""A fast line-by-line reader for simple block YAML, which covers nearly every chart.

`read_plain` returns a document only if the grammar below covers every line. Otherwise the YAML
parser (module `nodes`) reads the document or reports an error. tests/yaml/test_plain.py checks that
both readers return equal data.

    document  = [ "---" [comment] ] line*
    line      = indent [dash] entry [comment]  |  comment  |  empty line
    dash      = "-" " "+                        an item of a block list; "- - x" is not covered
    entry     = key ":" [value]  |  value       a value has a key, except after a dash
    value     = scalar  |  literal  |  flow
    key       = word of letters, digits, "_./$-"  |  quoted text without escapes
    scalar    = unquoted text without ": " and " #", which begins with A-Z, a-z, 0-9 or _/.+$(^<-\
             |  '…' with '' for a quote  |  "…" with the escapes \" \\ \n \t
    literal   = "|" | "|-" | "|+", then lines that are indented deeper than the key or dash
    flow      = "{" pairs "}" | "[" scalars "]" on one line, not nested and without escapes. A key
                is an unquoted word that begins with a letter or "_". An unquoted scalar is a word

A block mapping or list is indented deeper than its key; a list may also be at the column of its
key. The root is a mapping.

For example, the grammar does not cover:

- anchors, aliases, tags, merge keys and directives
- folded scalars, indentation indicators, and quoted or unquoted scalars of several lines
- flow collections of several lines
- tabs outside literals, and carriage returns
- a list directly in a list, and a duplicate key

read_plain caches parsed lines, because charts repeat most of their lines.
"""

from __future__ import annotations

import re
from itertools import accumulate

from postrender.yaml.scalars import WORDS, key_text, resolve_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from postrender.yaml.paths import Json, Path

    # A line of a document, divided as in the grammar: form, column, key, value, span, entry.
    # form: a constant from PAIR to NOT_COVERED.
    # column: of the key, the value or the dash.
    # value: for a PAIR or SCALAR, the scalar; for a LITERAL, the chomping indicator "", "-" or
    #     "+"; for a FLOW, a function that returns a new collection.
    # span: for a PAIR or SCALAR, the start, end and quote ("" if unquoted) of the scalar.
    # entry: for an ITEM, the Line of the entry after the dash.
    # Python unpacks a tuple faster than a record.
    Line = tuple[int, int, str | None, Any, tuple[int, int, str] | None, Any]

# The most levels of a document. The YAML parser reads those that are too deep for this module.
MAX_DEPTH, _MAX_PLAIN_DEPTH = 200, 150
_MAX_CACHED_LINES = 16384

# The forms of a line: `key: scalar`, `key:`, `key: |`, `key: {…}`, a list item, a line without
# content or only with a comment, a scalar without a key, and a line outside the grammar. After a
# dash, LITERAL and FLOW do not need a key. read_plain relies on the order of these numbers.
PAIR, OPEN, LITERAL, FLOW, ITEM, SKIPPED, SCALAR, NOT_COVERED = range(8)

# A group that matches one character at a time would need 200 bytes of memory for each character.
_WORD = (
    r"(?:[A-Za-z0-9_/.+$(^<\\]|-(?![ ]|$))[^\s:#]*"
    r"(?:(?::(?![ ]|$)|(?<![ ])\#|\ +(?![ \#]|$))[^\s:#]*)*"
)
_QUOTED = r"""\"[^"\\]*(?:\\["\\nt][^"\\]*)*\"|'[^']*(?:''[^']*)*'"""
# A colon is a part of the word if a letter, a digit or `_/.+@=%*-` follows: `http://api:8080`.
_FLOW_WORD = (
    r"(?:[A-Za-z0-9_/.+]|-(?=[A-Za-z0-9_./-]))"
    r"[A-Za-z0-9_/.+@=%*-]*(?::(?=[A-Za-z0-9_/.+@=%*-])[A-Za-z0-9_/.+@=%*-]*)*"
)
_FLOW_SCALAR = rf"""(?:{_FLOW_WORD}|"[^"\\]*"|'[^']*')"""
_FLOW_KEY = r"[A-Za-z_][A-Za-z0-9_./-]*"
# Without `(?!\ )`, matching a line with many spaces would take quadratic time.
_LINE = rf"""(?x)
(?P<indent>\ *)(?!\ )(?P<dash>-\ +(?!\ ))?
(?:
  (?P<key>[A-Za-z0-9_./$][A-Za-z0-9_./$-]{{0,250}}|"[^"\\]{{0,250}}"|'[^']{{0,250}}')
  :(?:\ +(?!\ )|$)
)?
(?:
  (?P<scalar>{_WORD}|{_QUOTED})
  |(?P<literal>\|[+-]?)
  |(?P<flow>[\[{{].*[\]}}])
)?
(?:\ *|(?:(?<=\ )|^)\#.*|\ +\#.*)$
"""
# This pattern covers nine lines in ten, and takes a third of the time of _LINE.
_USUAL_LINE = re.compile(
    r"(?P<indent> *)(?P<dash>- +)?(?:(?P<key>[A-Za-z_][A-Za-z0-9_./-]*):(?: |$))?"
    r"(?:(?P<word>[A-Za-z0-9/][A-Za-z0-9_./:@=,-]*(?<!:))"
    r'|"(?P<quoted>[ !#-\[\]-~]*)"|(?P<other>\|-?|\{\}|\[\]))?$'
)
_FLOW_PART = rf"(?:({_FLOW_KEY}): +)?({_FLOW_SCALAR})"
_ESCAPED = {"n": "\n", "t": "\t"}

# Patterns for the lines of a literal. _ASCII_BODY covers only ASCII. %d is the indentation.
_ASCII_BODY = "(?:\n+| {%d}[\t -~]*\n)*"
_WIDE_BODY = "(?:\n+| {%d}[^\x00-\x08\x0a-\x1f\x7f-\x9f]*\n)*"


_NOT_COVERED: Line = (NOT_COVERED, 0, None, None, None, None)
_SKIPPED: Line = (SKIPPED, 0, None, None, None, None)
_line_cache: dict[str, Line] = {}


class PlainDocument:
    """The data of a document, and the line numbers of the entries in block collections.

    entry_lines: these line numbers for each block collection, by the id() of the collection.
    """

    __slots__ = ("_lines", "_positions", "_spans", "_starts", "data", "entry_lines", "text")

    def __init__(self, text: str, data: dict[str, Json], entry_lines: dict[int, list[int]]):
        self.text = text
        self.data = data
        self.entry_lines = entry_lines
        self.release()

    def release(self) -> None:
        """Free the memory of the lines. The next access splits the text again."""
        self._lines: list[str] = []
        self._starts: list[int] = []
        # The positions of the keys of a mapping by its id(), and the result of flow_spans by line.
        # A large stream has many documents, so these start without the memory of a dict.
        self._positions: dict[int, dict[str | int, int]] | None = None
        self._spans: dict[int, list[tuple[int, int, str]]] | None = None

    @property
    def lines(self) -> list[str]:
        if not self._lines:
            self._lines = self.text.split("\n")
        return self._lines

    def start_of(self, number: int) -> int:
        """The index in the text at which a line begins."""
        if not self._starts:
            self._starts = [0, *accumulate(map(len, self.lines))]
        return self._starts[number] + number  # `_starts` does not count line breaks

    def parsed_line(self, number: int) -> Line:
        text = self.lines[number]
        return _line_cache.get(text) or _read_line(text)

    def parsed_entry(self, number: int) -> Line:
        """The parsed line, or for an ITEM the entry after its dash."""
        line = self.parsed_line(number)
        return line[-1] or line

    def entry_line(self, path: Path) -> int | None:
        """The line of the key or dash at a path.

        None for (), for a missing path, and in a flow collection.
        """
        try:
            collection = self.existing_value(path[:-1])
            return int(self.entry_lines[id(collection)][self.index_of(collection, path[-1])])
        except (KeyError, IndexError, TypeError, ValueError):
            return None

    def index_of(self, collection: Any, part: str | int) -> Any:
        """The position of an entry in its collection; KeyError for a missing key."""
        if collection.__class__ is not dict:
            return part
        if self._positions is None:
            self._positions = {}
        positions = self._positions.get(id(collection))
        if positions is None:
            positions = {key: index for index, key in enumerate(collection)}
            self._positions[id(collection)] = positions
        return positions[part]

    def flow_span(self, number: int, index: int) -> tuple[int, int, str]:
        """The start, end and quote of a value in the flow collection of a line."""
        if self._spans is None:
            self._spans = {}
        if number not in self._spans:
            self._spans[number] = flow_spans(self.lines[number])
        return self._spans[number][index]

    def existing_value(self, path: Path) -> Any:
        """The value at a path; KeyError, IndexError or TypeError if it is missing."""
        value: Any = self.data
        for part in path:
            value = value[part]
        return value

    def line_of(self, path: Path) -> int | None:
        """The line at which the value at a path begins, None for a missing path.

        A block collection begins with its first entry. A flow collection is on one line.
        """
        try:
            value = self.existing_value(path)
        except (KeyError, IndexError, TypeError):
            return None
        numbers = self.entry_lines.get(id(value))
        if numbers:
            return numbers[0]
        line = self.entry_line(path)
        return self.entry_line(path[:-1]) if line is None else line

    def is_literal(self, path: Path) -> bool | None:
        """Whether the value at a path is a literal, None if entry_line() returns None."""
        number = self.entry_line(path)
        return None if number is None else self.parsed_entry(number)[0] == LITERAL


def read_plain(text: str) -> PlainDocument | None:
    """Read a text, or return None if the grammar does not cover it or it has no content."""
    if len(_line_cache) > _MAX_CACHED_LINES:
        _line_cache.clear()
    root: dict[str, Json] = {}
    # `inner` is the innermost block collection at the current line, and `outer` has those around
    # it. `numbers` and `level` are the line numbers and the column of the entries in `inner`.
    inner: Any = root
    numbers: list[int] = []
    level, is_list = 0, False
    outer: list[tuple[Any, list[int], int, bool]] = []
    # The key of the entry above, if the value of the entry can be on the lines below the key.
    open_key: str | None = None
    entry_lines = {id(root): numbers}
    document = PlainDocument(text, root, entry_lines)
    lines = document.lines

    get = _line_cache.get
    number, end = -1, len(lines)
    if lines[0].startswith("---"):
        if not _is_marker(lines[0]):
            return None
        number = 0
    while (number := number + 1) < end:
        line = get(lines[number])
        if line is None:
            line = _line_cache[lines[number]] = _read_line(lines[number])
        form, column, key, value, _, entry = line
        if form == PAIR and column == level and not is_list:  # most lines
            if key in inner:
                return None
            inner[key] = value
            numbers.append(number)
            open_key = None
            continue
        if form > ITEM:
            if form == SKIPPED:
                continue
            return None
        is_item = form == ITEM
        if column != level or is_item != is_list:  # not an entry of the innermost collection
            if open_key is not None and column >= level:
                if len(outer) > _MAX_PLAIN_DEPTH:
                    return None
                outer.append((inner, numbers, level, is_list))
                inner[open_key] = inner = [] if is_item else {}
                numbers, level, is_list = [], column, is_item
                entry_lines[id(inner)] = numbers
            else:
                while outer and (level > column or (level == column and is_list and not is_item)):
                    inner, numbers, level, is_list = outer.pop()
                if level != column or is_list != is_item:
                    return None
        open_key = None
        numbers.append(number)
        if entry is not None:
            form, column, key, value, _, _ = entry
            if form == SCALAR:
                inner.append(value)
                continue
            if key is not None:  # `- key: value` also opens a mapping
                if len(outer) > _MAX_PLAIN_DEPTH:
                    return None
                outer.append((inner, numbers, level, is_list))
                mapping: dict[str, Json] = {}
                inner.append(mapping)
                inner, numbers, level, is_list = mapping, [number], column, False
                entry_lines[id(inner)] = numbers
        if form == PAIR:
            pass
        elif form == OPEN:
            open_key = key
        elif form == FLOW:
            value = value()
        else:
            literal = _read_literal(document, text, number, level, value)
            if literal is None:
                return None
            value, number = literal
        if is_list:
            inner.append(value)
        elif key in inner:
            return None
        else:
            inner[key] = value
    return document if root else None


def _is_marker(line: str) -> bool:
    rest = line[3:].strip(" ")
    return not rest or (rest[0] == "#" and line[3] == " " and rest.isprintable())


def _read_line(text: str) -> Line:
    return _read_usual_line(text) or _read_unusual_line(text)


def _read_usual_line(text: str) -> Line | None:
    match = _USUAL_LINE.match(text)
    if match is None:
        return None
    indent, dash, key, word, quoted, other = match.groups()
    if key is None and (dash is None or (word is None and quoted is None and other is None)):
        return None
    if key in WORDS:
        key = key_text(key)
    value: Any = None
    span = None
    form = SCALAR if key is None else PAIR
    if word is not None:
        value, span = resolve_plain(word), (match.start("word"), len(text), "")
    elif quoted is not None:
        value, span = quoted, (match.start("quoted") - 1, len(text), '"')
    elif other is None:
        form = OPEN
    elif other[0] == "|":
        form, value = LITERAL, other[1:]
    else:
        form, value = FLOW, dict if other == "{}" else list
    return _line_fields(form, indent, dash, key, value, span)


def _read_unusual_line(text: str) -> Line:
    content = text.lstrip(" ")
    if not content or (content[0] == "#" and content.isprintable()):
        return _SKIPPED
    match = re.match(_LINE, text)
    if match is None or not text.isprintable():
        return _NOT_COVERED
    indent, dash, key, scalar, literal, flow = match.groups()
    if key is None and (dash is None or (scalar is None and literal is None and flow is None)):
        return _NOT_COVERED
    if key is not None:
        if key[0] in "\"'":
            key = key[1:-1]
        elif key in ("---", "..."):
            return _NOT_COVERED
        elif key in WORDS or not key.isidentifier():
            key = key_text(key)
    value: Any = None
    span = None
    form = OPEN
    if scalar is not None:
        form, value = (SCALAR if key is None else PAIR), _read_scalar(scalar)
        span = (*match.span("scalar"), scalar[0] if scalar[0] in "\"'" else "")
    elif literal is not None:
        form, value = LITERAL, literal[1:]
    elif flow is not None:
        form, value = FLOW, _flow_maker(flow)
        if value is None:
            return _NOT_COVERED
    return _line_fields(form, indent, dash, key, value, span)


def _line_fields(
    form: int,
    indent: str,
    dash: str | None,
    key: str | None,
    value: Any,
    span: tuple[int, int, str] | None,
) -> Line:
    column = len(indent)
    if dash is None:
        return form, column, key, value, span, None
    return ITEM, column, None, None, None, (form, column + len(dash), key, value, span, None)


def _read_scalar(text: str) -> Json:
    if text[0] == '"':
        text = text[1:-1]
        if "\\" not in text:
            return text
        return re.sub(r"\\(.)", lambda escape: _ESCAPED.get(escape[1], escape[1]), text)
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    return resolve_plain(text)


def _flow_maker(text: str) -> Callable[[], Json] | None:
    """A function that creates the flow collection, None for text outside the grammar."""
    parts = _flow_parts(text)
    if parts is None:
        return None
    values = [_read_scalar(part[2]) for part in parts]
    if text[0] == "[":
        return values.copy
    pairs = {key_text(part[1]): value for part, value in zip(parts, values, strict=True)}
    return pairs.copy if len(pairs) == len(parts) else None


def _flow_parts(text: str) -> list[re.Match[str]] | None:
    is_mapping, last = text[0] == "{", len(text) - 1
    if text[last] != ("}" if is_mapping else "]"):
        return None
    parts: list[re.Match[str]] = []
    start = _skip_spaces(text, 1)
    while start < last:
        part = re.compile(_FLOW_PART).match(text, start)
        if part is None or (part[1] is not None) != is_mapping:
            return None
        parts.append(part)
        start = _skip_spaces(text, part.end())
        if start < last:
            if text[start] != ",":
                return None
            start = _skip_spaces(text, start + 1)
            if start == last:
                return None  # a trailing comma
    return parts


def _skip_spaces(text: str, start: int) -> int:
    while text[start] == " ":
        start += 1
    return start


def flow_spans(text: str) -> list[tuple[int, int, str]]:
    """The start, end and quote of each value in the flow collection of a line, [] without one."""
    match = re.match(_LINE, text)
    parts = _flow_parts(match["flow"]) if match and match["flow"] else None
    if match is None or parts is None:
        return []
    start = match.start("flow")
    return [
        (start + part.start(2), start + part.end(2), part[2][0] if part[2][0] in "\"'" else "")
        for part in parts
    ]


def _read_literal(
    document: PlainDocument, text: str, number: int, column: int, chomping: str
) -> tuple[str, int] | None:
    """The value and last line number of a literal, None for a literal outside the grammar.

    number: the line with `|`. column: of the mapping or list that contains the literal.
    """
    lines = document.lines
    first, end = number + 1, len(lines)
    while first < end and not lines[first]:
        first += 1
    if first == end:
        return None
    content = lines[first].lstrip(" ")
    indent = len(lines[first]) - len(content)
    if indent <= column or not content or content[0] == "\t":
        return None
    start = document.start_of(number + 1)
    body = _match_body(_ASCII_BODY, indent, text, start)
    if start + len(body) < len(text) and not text.isascii():
        body = _match_body(_WIDE_BODY, indent, text, start)
        if not body.isascii() and not body.replace("\n", "").replace("\t", "").isprintable():
            return None
    last = number + body.count("\n")
    # The patterns do not cover the whole literal if the next line consists of spaces, or is
    # indented deeper than `column`.
    following = lines[last + 1] if last + 1 < end else ""
    content = following.lstrip(" ")
    if following and (not content or len(following) - len(content) > column):
        return None
    value = body.replace("\n" + " " * indent, "\n").removeprefix(" " * indent)
    if chomping != "+":
        value = value.rstrip("\n")
        if not chomping:
            value += "\n"
    return value, last


def _match_body(template: str, indent: int, text: str, start: int) -> str:
    match = re.compile(template % indent).match(text, start)
    return match[0] if match else ""
