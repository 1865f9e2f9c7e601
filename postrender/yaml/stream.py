"""The text on stdin as documents, and back, byte for byte.

`---` at column 0 can never be inside a YAML node, nor can `...`, so cutting there is exact. Each
document keeps its own marker and everything up to the next one: the texts joined are the stream.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from postrender.errors import Location, UserError
from postrender.startup.patterns import pattern
from postrender.startup.records import NamedTuple

BOM = "\ufeff"
_BOM = BOM.encode()

# A lone carriage return ends a line in YAML; few files have one, so that only they pay for it.
_LONE_CR = pattern(rb"\r(?!\n)")
_MARKER = pattern(rb"(?<=[\n\r])(?:---|\.\.\.)(?=[ \t\r\n]|\Z)")
_MARKERS = (b"---", b"...")
_AFTER_MARKER = (b"", b" ", b"\t", b"\r", b"\n")
_CONTENT = pattern(r"(?:^|(?<=\r))[ \t]*(?!---(?:\s|$)|\.\.\.(?:\s|$))[^\s#%]", re.M)
_CONTENT_ON_MARKER = pattern(r"---[ \t]+[^\s#]")
_DIRECTIVE = pattern(r"^%", re.M)
_JSON = pattern(r"(?:---[ \t]*(?:#.*)?\r?\n)?\s*\{")
_BRACE = pattern(r"\s*\{")
_SOURCE = pattern(r"^# Source: (.+?)\s*$", re.M)


class Source(NamedTuple):
    """What was read from one place; name: what it is called in messages."""

    name: str
    data: bytes


class Document(NamedTuple):
    """One document: its number, the line it begins on (both from 1), its text, and its source.

    The text includes the document marker and everything up to the next one.
    """

    number: int
    line: int
    text: str
    source: str


class Stream(NamedTuple):
    """Documents in order; the texts of those of one source, joined, are its text.

    source: what all of it is called in messages; newline: the line ending that its first line has,
    for what is added; has_bom: whether a byte order mark stands before it.
    """

    source: str
    documents: tuple[Document, ...]
    newline: str
    has_bom: bool

    def may_be_cut(self, index: int) -> bool:
        """Tell whether a document is the last of its source, whose last line has no end."""
        document = self.documents[index]
        following = self.documents[index + 1 : index + 2]
        is_last = not following or following[0].source != document.source
        return is_last and not document.text.endswith("\n")

    def location_of(self, document: Document, line: int = 0) -> Location:
        """Return the place of a line of a document; line counts from 0 in the document's text."""
        source = _SOURCE.search(document.text, 0, 4096)
        template = source[1] if source else ""
        return Location(document.source, document.line + line, document.number, template)


def read_stream(data: bytes, source: str) -> Stream:
    """Cut the bytes of a stream into documents.

    Each document is decoded alone: one character beyond Latin-1 would make the text of a whole
    stream two or four times as large.
    Raises UserError for bytes that are not UTF-8 and for a NUL.
    """
    nul = data.find(b"\0")
    if nul >= 0:
        raise UserError(
            "a NUL byte, which no YAML may hold",
            "check the program that wrote this input",
            _place_of_byte(data, nul, source),
        )
    has_bom = data.startswith(_BOM)
    begin = len(_BOM) if has_bom else 0
    first_line = data[begin : data.find(b"\n", begin) + 1]
    newline = "\r\n" if first_line.endswith(b"\r\n") else "\n"
    return Stream(source, tuple(_documents(data, begin, source)), newline, has_bom)


def read_streams(sources: Sequence[Source], name: str) -> Stream:
    """Return one stream of several sources, each of them cut into documents by itself.

    None can run into the next one, however it ends: what counts is the documents, not a text that
    they would make together. name: what all of them are called.
    Raises UserError as read_stream does.
    """
    streams = [read_stream(source.data, source.name) for source in sources]
    if len(streams) == 1:
        return streams[0]._replace(source=name)
    documents = tuple(document for stream in streams for document in stream.documents)
    return Stream(name, documents, streams[0].newline if streams else "\n", has_bom=False)


def stream_texts(stream: Stream, texts: list[str]) -> list[str]:
    """Return the parts of a stream whose documents have these texts, the byte order mark first."""
    return [BOM, *texts] if stream.has_bom else texts


def has_content(text: str) -> bool:
    """Tell whether a document holds more than comments, directives and markers."""
    return bool(_CONTENT.search(text) or _CONTENT_ON_MARKER.match(text))


def _place_of_byte(data: bytes, index: int, source: str) -> Location:
    before = data[:index].decode("utf-8", "replace").encode()
    begin = len(_BOM) if before.startswith(_BOM) else 0
    documents = list(_documents(before, begin, source))
    number = documents[-1].number if documents else 1
    return Location(source, before.count(b"\n") + 1, max(number, 1))


def _documents(data: bytes, begin: int, source: str) -> Iterator[Document]:
    """Yield the documents; text before the first marker counts only if it has content."""
    starts = _starts(data, begin)
    number, line = 0, 1
    for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
        for part in _values(_decode(data, start, end, source)):
            if part.startswith("---") or has_content(part):
                number += 1
            yield Document(number, line, part, source)
            line += part.count("\n")


def _decode(data: bytes, start: int, end: int, source: str) -> str:
    try:
        return data[start:end].decode("utf-8")
    except UnicodeDecodeError as error:
        index = start + error.start
        raise UserError(
            f"the byte 0x{data[index]:02x} is not UTF-8",
            "save the input as UTF-8",
            _place_of_byte(data, index, source),
        ) from None


def _starts(data: bytes, begin: int) -> list[int]:
    """Return where the documents begin, in order."""
    starts = [begin]
    for mark in _markers(data, begin):
        is_end = data.startswith(b"...", mark)
        start = _next_line(data, mark) if is_end else mark
        # Directives are before the marker of the document that they are for.
        if not is_end and _only_directives(data, starts[-1], mark):
            continue
        if start > starts[-1]:
            starts.append(start)
    return starts if starts[-1] < len(data) else starts[:-1] or [begin]


def _only_directives(data: bytes, start: int, end: int) -> bool:
    if data.find(b"%", start, end) < 0:
        return False
    text = data[start:end].decode("utf-8", "replace")
    return bool(_DIRECTIVE.search(text)) and not has_content(text)


def _next_line(data: bytes, index: int) -> int:
    end = data.find(b"\n", index)
    return len(data) if end < 0 else end + 1


def _markers(data: bytes, begin: int) -> list[int]:
    """Return where the lines that begin with a document marker begin, in order."""
    is_marker = data[begin : begin + 3] in _MARKERS and data[begin + 3 : begin + 4] in _AFTER_MARKER
    found = [begin] if is_marker else []
    if b"\r" in data and _LONE_CR.search(data):
        return [*found, *(match.start() for match in _MARKER.finditer(data, begin))]
    for marker in _MARKERS:
        index = data.find(b"\n" + marker, begin)
        while index >= 0:
            if data[index + 4 : index + 5] in _AFTER_MARKER:
                found.append(index + 1)
            index = data.find(b"\n" + marker, index + 4)
    return sorted(found)


def _values(text: str) -> list[str]:
    """Cut a document between its JSON values where several follow one another."""
    begin = _JSON.match(text)
    if not begin:
        return [text]
    decoder = json.JSONDecoder()
    parts, start, index = [], 0, begin.end() - 1
    while True:
        try:
            end = decoder.raw_decode(text, index)[1]
        except (ValueError, RecursionError):
            break
        following = _BRACE.match(text, end)
        if not following:
            break
        parts.append(text[start:end])
        start, index = end, following.end() - 1
    return [*parts, text[start:]]
