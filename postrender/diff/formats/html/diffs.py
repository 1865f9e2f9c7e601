"""Differences of texts and of values as HTML, in which the words that differ are marked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby

from postrender.diff.formats.html.markup import Html, escaped, joined, tag
from postrender.diff.model import FieldChange, Hunk, Line
from postrender.diff.wording.wording import IN_ANOTHER_WAY, MARKS, NO_NEWLINE, hunk_header
from postrender.startup.patterns import pattern
from postrender.yaml.paths import Json

# Marks are of help where most of a line stays; elsewhere they are noise.
_LEAST_COMMON = 1 / 3
_LONGEST_VALUE = 5000
_WORD = pattern(r"\w")


def hunks_markup(hunks: tuple[Hunk, ...]) -> Html:
    """Return a unified diff. A line is `del`, `ins` or `span`; its numbers are attributes."""
    return Html("".join(_hunk(hunk) for hunk in hunks))


def _hunk(hunk: Hunk) -> str:
    head = hunk_header(hunk.old, hunk.old_count, hunk.new, hunk.new_count)
    width = len(str(max(hunk.old + hunk.old_count, hunk.new + hunk.new_count)))
    lines = [f'<span class="at">{head}\n</span>']
    for is_context, run in groupby(hunk.lines, key=lambda line: line.sign == " "):
        group = [*run]
        shown = _unchanged(group) if is_context else _changed(group)
        lines += [_line(line, text, width) for line, text in shown]
    return "".join(lines)


def _line(line: Line, text: Html, width: int) -> str:
    """Return one line. data-l: its numbers, for the margin; the sign is text, to be copied."""
    name = {"-": "del", "+": "ins"}.get(line.sign, "span")
    old, new = (str(number or "").rjust(width) for number in (line.old, line.new))
    end = _end(line) if line.is_open else ""
    return f'<{name} data-l="{old} {new}">{line.sign}{text}\n</{name}>{end}'


def _unchanged(lines: list[Line]) -> Iterator[tuple[Line, Html]]:
    return ((line, escaped(line.text)) for line in lines)


def _changed(lines: list[Line]) -> Iterator[tuple[Line, Html]]:
    """Yield lines that are removed, and then those added in their place, which are their pairs."""
    old = [line for line in lines if line.sign == "-"]
    new = [line for line in lines if line.sign == "+"]
    pairs = [_marked(one.text, other.text) for one, other in zip(old, new, strict=False)]
    for side, removed_or_added in enumerate((old, new)):
        for at, line in enumerate(removed_or_added):
            yield line, pairs[at][side] if at < len(pairs) else escaped(line.text)


def _end(line: Line) -> str:
    side = {"-": "old", "+": "new"}.get(line.sign, "both")
    return f'<span class="end" data-side={side}>{NO_NEWLINE}\n</span>'


def _marked(old: str, new: str) -> tuple[Html, Html]:
    """Return two lines as markup, in which the part that differs is marked, by whole words."""
    start = _common(old, new)
    while start and (_in_word(old, start) or _in_word(new, start)):
        start -= 1
    end = _common(old[start:][::-1], new[start:][::-1])
    while end and (_in_word(old, len(old) - end) or _in_word(new, len(new) - end)):
        end -= 1
    longest = max(len(old.strip()), len(new.strip()))
    common = len(old[:start].strip()) + len(old[len(old) - end :].strip())
    if common < _LEAST_COMMON * longest:
        return escaped(old), escaped(new)
    return _with_mark(old, start, end), _with_mark(new, start, end)


def _common(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, its) in pairs if mine != its), min(len(one), len(other)))


def _in_word(text: str, at: int) -> bool:
    """Tell whether a place is between two characters of one word."""
    around = text[max(at - 1, 0) : at + 1]
    return len(around) == 2 and at > 0 and all(map(_WORD.match, around))


def _with_mark(text: str, start: int, end: int) -> Html:
    stop = len(text) - end
    middle = tag("b", text[start:stop]) if stop > start else ""
    return joined(text[:start], middle, text[stop:])


def fields_markup(fields: tuple[FieldChange, ...]) -> Html:
    """Return the fields of an object that change, each with its path, the old and the new value."""
    return tag("ul", *map(_field, fields), class_="fields") if fields else Html("")


def _field(field: FieldChange) -> Html:
    path = field.path.removesuffix("[]")
    name = joined("order of " if path != field.path else "", tag("code", path))
    is_told = field.old is not None or field.new is not None
    values = values_markup(field.old, field.new) if is_told else IN_ANOTHER_WAY
    return tag("li", sign_markup(field.change), name, " ", values)


def sign_markup(change: str) -> Html:
    """Return the sign of a change: who hears the page hears the word."""
    sign = tag("span", MARKS[change], class_=f"sign {change}", aria_hidden="true")
    return joined(sign, tag("span", f"{change} ", class_="heard"))


def values_markup(old: Json, new: Json) -> Html:
    """Return what stands in the old place and what in the new; None: nothing does."""
    parts = []
    if old is not None:
        parts.append(tag("del", value_markup(old)))
    if old is not None and new is not None:
        parts.append(tag("span", " → ", class_="arrow"))
    if new is not None:
        parts.append(tag("ins", value_markup(new)))
    return tag("span", *parts, class_="values")


def value_markup(value: Json) -> Html:
    """Return plain data as a person reads it: text as it is, else JSON, and the start of either."""
    if isinstance(value, str) and not _reads_as_other(value):
        text = value
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
        if len(text) > 72 and isinstance(value, dict | list):
            text = json.dumps(value, ensure_ascii=False, default=str, indent=2)
    if len(text) > _LONGEST_VALUE:
        text = f"{text[:_LONGEST_VALUE]}… ({len(text):,} characters)"
    return joined(*_with_breaks(text))


def _reads_as_other(text: str) -> bool:
    """Tell whether a string would be taken for a number, a truth value, nothing or JSON."""
    if text.strip() != text or not text or text[0] in '{["':
        return True
    try:
        return not isinstance(json.loads(text), str)
    except ValueError:
        return False


def _with_breaks(text: str) -> Iterator[Html]:
    """Yield lines as markup: a line break in a value is one on the page."""
    for number, line in enumerate(text.split("\n")):
        yield Html("\n" * bool(number) + escaped(line))
