"""The split of the input into YAML documents.

A marker is the word `---` or `...` at the start of a line. YAML does not allow one inside a value,
so markers divide the input. A document begins at `---`, at the directives above it, after a line
with `...`, or at the start of the input, and ends where the next one begins. Two more rules:

- JSON objects that follow each other are separate documents.
- kubectl ignores a byte order mark at the start of the line after `---`. Here, the `---` and the
  mark are a document without content, and the text after the mark is the next document.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice, pairwise
from sys import intern

from postrender.errors import Location, UserError
from postrender.records import NamedTuple

BOM = "\ufeff"
# The start of Helm's comment with the template of a document.
SOURCE_COMMENT = "# Source: "
_HEAD = 4096  # the characters in which the comment can be
_BOM = BOM.encode()

_MARKERS = (b"---", b"...")
_AFTER_MARKER = (b"", b" ", b"\t", b"\r", b"\n")
_CONTENT = r"(?m)(?:^|(?<=\r))[ \t]*(?!---(?:\s|$)|\.\.\.(?:\s|$))[^\s#%]"
_CONTENT_ON_MARKER = r"---[ \t]+[^\s#]"
_BRACE = re.compile(r"\s*\{")
_KIND = "kind: "
# The start of a line that can contain the root key `kind` in an unusual form, such as `"kind"`.
# The pattern begins with a fixed character (the newline), because Python then searches quickly.
_UNUSUAL_LINE = re.compile("\n[\"'?&!*{\\[]")


class Source(NamedTuple):
    """The bytes of a part of the input, such as a file.

    name: how messages call it.
    is_pipe: whether a program may still have been writing, so that the end can be missing.
    """

    name: str
    data: bytes
    is_pipe: bool = False


class Stream(NamedTuple):
    """The documents of the input, in order, in columns.

    A record for each document would take more memory than the text of a small document.

    source: the name of the whole input in messages.
    texts: everything from the marker of a document up to the next document. The joined texts are
        the input, except for a byte order mark at the start of a source.
    kinds: the value of the root key `kind` of each document, "" if only a YAML parser can find it.
    sources: the name of the source of each document.
    numbers: of each document, from 1; 0 for comments before the first document.
    lines: where each document begins in its source, from 1.
    newline: the line break after the first line, which text that postrender adds also gets.
    has_bom: whether the input begins with a byte order mark; always false for several sources.
    pipes: the names of the sources that are pipes.
    """

    source: str
    texts: Sequence[str]
    kinds: Sequence[str]
    sources: Sequence[str]
    numbers: Sequence[int]
    lines: Sequence[int]
    newline: str
    has_bom: bool
    pipes: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Whether no document has content."""
        return not any(map(has_content, self.texts))

    @property
    def sole_document(self) -> int | None:
        """The index of the only document with content, None if there are none or several."""
        found = (index for index, text in enumerate(self.texts) if has_content(text))
        indexes = list(islice(found, 2))
        return indexes[0] if len(indexes) == 1 else None

    def lacks_newline(self, index: int) -> bool:
        """Whether a document is the last one of a source that does not end with a newline."""
        is_last = self.sources[index] not in self.sources[index + 1 : index + 2]
        return is_last and not self.texts[index].endswith("\n")

    def location_of(self, index: int, line: int = 0) -> Location:
        """The location of a line of a document; line: the line in the document, from 0."""
        return Location(
            source=self.sources[index],
            line=self.lines[index] + line,
            document=self.numbers[index],
            template=template_of(self.texts[index]),
        )


@lru_cache(maxsize=8)  # many locations in a row are in a few documents
def template_of(text: str) -> str:
    """The chart template in Helm's comment `# Source:`, "" without the comment."""
    start = 0 if text.startswith(SOURCE_COMMENT) else text.find(f"\n{SOURCE_COMMENT}", 0, _HEAD) + 1
    if not text.startswith(SOURCE_COMMENT, start):
        return ""
    end = text.find("\n", start, _HEAD)
    return text[start + len(SOURCE_COMMENT) : _HEAD if end < 0 else end].rstrip()


def read_stream(data: bytes, source: str) -> Stream:
    """Split the bytes of a source, which has this name in messages.

    UserError for bytes that are not UTF-8, and for a NUL byte.
    """
    return read_streams([Source(source, data)], source)


def read_streams(sources: Sequence[Source], name: str) -> Stream:
    """One stream from several sources; name: the name of the whole input in messages.

    Each source is split separately, because it can end without a newline.
    """
    texts: list[str] = []
    names: list[str] = []
    numbers, lines = array("Q"), array("Q")
    for source in sources:
        nul = source.data.find(b"\0")
        if nul >= 0:
            raise UserError(
                "the input contains a NUL byte, expected text in UTF-8",
                "Check the program that produced the input. Convert UTF-16 to UTF-8",
                _location_of_byte(source.data, nul, source.name),
            )
        for number, line, text in _documents(source.data, source.name):
            # A stream that repeats a document, such as an empty one, needs the text only once.
            texts.append(texts[-1] if texts and text == texts[-1] else text)
            names.append(source.name)
            numbers.append(number)
            lines.append(line)
    first = sources[0].data if sources else b""
    begin = _begin(first)
    first_line = first[begin : first.find(b"\n", begin) + 1]
    return Stream(
        source=name,
        texts=texts,
        kinds=list(map(_root_kind, texts)),
        sources=names,
        numbers=numbers,
        lines=lines,
        newline="\r\n" if first_line.endswith(b"\r\n") else "\n",
        has_bom=begin > 0 and len(sources) == 1,
        pipes=frozenset(source.name for source in sources if source.is_pipe),
    )


def _root_kind(text: str) -> str:
    """The value of the root key `kind`, "" if only a YAML parser can find it."""
    start = 0 if text.startswith("kind:") else text.find("\nkind:") + 1
    kind = _kind_at(text, start)
    # rfind() is twice as fast as find() here, because it compares the rare line break first.
    if not kind or text.rfind("\nkind:", start) >= 0 or _UNUSUAL_LINE.search(text):
        return ""
    return kind


def _kind_at(text: str, start: int) -> str:
    """The kind if a line `kind: …` begins at an index, else ""."""
    end = text.find("\n", start)
    line = text[start : end if end >= 0 else len(text)]
    kind = line[len(_KIND) :]
    if line.startswith(_KIND) and kind.isascii() and kind.isalpha():
        return intern(kind)  # Nearly every document has this form. The pattern is slower.
    match = re.fullmatch(r"kind:[ \t]+([A-Za-z]+)[ \t]*(?:#.*)?\r?", line)
    return match[1] if match else ""


def stream_texts(stream: Stream, texts: list[str]) -> list[str]:
    """The new texts of the documents, after the byte order mark of the input if it has one."""
    return [BOM, *texts] if stream.has_bom else texts


def has_content(text: str) -> bool:
    """Whether a document has more than comments, directives and markers."""
    if "\napiVersion:" in text or "\nkind:" in text:
        return True  # this check is fast, and sufficient for nearly every document
    text = text.removesuffix(BOM)
    return bool(re.search(_CONTENT, text) or re.match(_CONTENT_ON_MARKER, text))


def _begin(data: bytes) -> int:
    """The index after the byte order mark at the start of a source."""
    return len(_BOM) if data.startswith(_BOM) else 0


def _location_of_byte(data: bytes, index: int, source: str) -> Location:
    preceding = data[:index].decode("utf-8", "replace").encode()
    documents = list(_documents(preceding, source))
    number = documents[-1][0] if documents else 1
    return Location(source, line=preceding.count(b"\n") + 1, document=max(number, 1))


def _documents(data: bytes, source: str) -> Iterator[tuple[int, int, str]]:
    """The number, the line and the text of each document of a source.

    Each is decoded separately to save memory: one character beyond Latin-1 makes Python store every
    character of its text in two or four bytes.
    """
    number, line = 0, 1
    for start, end in pairwise(chain(_starts(data, _begin(data)), (len(data),))):
        for text in _split_json(_decode(data, start, end, source)):
            if (text.startswith("---") and not text.endswith(BOM)) or has_content(text):
                number += 1
            yield number, line, text
            line += text.count("\n")


def _decode(data: bytes, start: int, end: int, source: str) -> str:
    try:
        return data[start:end].decode("utf-8")
    except UnicodeDecodeError as error:
        index = start + error.start
        raise UserError(
            f"the input is not valid UTF-8, because of the byte 0x{data[index]:02x}",
            "Convert the input to UTF-8",
            _location_of_byte(data, index, source),
        ) from None


def _starts(data: bytes, begin: int) -> Sequence[int]:
    starts = array("Q", [begin])
    for marker in _markers(data, begin):
        is_end = data.startswith(b"...", marker)
        start = _next_line(data, marker) if is_end else marker
        # A document begins at its directives, and not at its marker.
        if not is_end and _has_only_directives(data, starts[-1], marker):
            continue
        if start > starts[-1]:
            starts.append(start)
    # Most streams lack the first byte of the mark, and the search for one byte is much faster.
    if _BOM[:1] in data and data.find(b"\n" + _BOM, begin) >= 0:
        starts = _with_bom_starts(data, starts)
    # A marker at the end begins no document, but an empty input is one.
    return starts[:-1] if len(starts) > 1 and starts[-1] == len(data) else starts


def _with_bom_starts(data: bytes, starts: Sequence[int]) -> array[int]:
    """Add the index after each byte order mark that follows `---`."""
    ends = (_next_line(data, start) for start in starts if data.startswith(b"---", start))
    after_boms = {end + len(_BOM) for end in ends if data.startswith(_BOM, end)}
    return array("Q", sorted({*starts, *after_boms}))


def _has_only_directives(data: bytes, start: int, end: int) -> bool:
    if data.find(b"%", start, end) < 0:
        return False
    text = data[start:end].decode("utf-8", "replace")
    return bool(re.search("(?m)^%", text)) and not has_content(text)


def _next_line(data: bytes, index: int) -> int:
    end = data.find(b"\n", index)
    return len(data) if end < 0 else end + 1


def _markers(data: bytes, begin: int) -> Sequence[int]:
    # A lone carriage return is a line break in YAML. Only an input with one needs the pattern of a
    # marker, which is slower than the search for bytes.
    indexes = array("Q")
    is_marker = data[begin : begin + 3] in _MARKERS and data[begin + 3 : begin + 4] in _AFTER_MARKER
    if is_marker:
        indexes.append(begin)
    if b"\r" in data and re.search(rb"\r(?!\n)", data):
        pattern = re.compile(rb"(?<=[\n\r])(?:---|\.\.\.)(?=[ \t\r\n]|\Z)")
        indexes.extend(match.start() for match in pattern.finditer(data, begin))
        return indexes
    for marker in _MARKERS:
        # rfind() is twice as fast as find() here, because it compares the rare line break first.
        index = data.rfind(b"\n" + marker, begin)
        while index >= 0:
            if data[index + 4 : index + 5] in _AFTER_MARKER:
                indexes.append(index + 1)
            index = data.rfind(b"\n" + marker, begin, index)
    return array("Q", sorted(indexes))


def _split_json(text: str) -> list[str]:
    """One text for each JSON object of a document; [text] for YAML."""
    begin = text.find("\n") + 1 if text.startswith("---") else 0
    character = text[begin : begin + 1]
    may_be_json = character == "{" or character.isspace()
    first = re.match(r"(?:---[ \t]*(?:#.*)?\r?\n)?\s*\{", text) if may_be_json else None
    if not first:
        return [text]

    decoder = json.JSONDecoder()
    parts, start, index = [], 0, first.end() - 1
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
