"""Safe HTML: elements that escape every text, diffs of texts, and changes of values."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator
from itertools import groupby

from postrender.diff.lines import NO_NEWLINE, changed_blocks, hunk_header, seen_lines
from postrender.diff.model import CHANGED, FieldChange, Hunk, Line
from postrender.diff.redact import NOT_SHOWN
from postrender.diff.summary import split_schemas
from postrender.diff.texts import compare_long, folded, tokens_of
from postrender.diff.values import (
    MARKS,
    WRITTEN_DIFFERENTLY,
    Style,
    counted,
    inner_values,
    text_of,
)
from postrender.text import escape_of, visible, with_visible_end
from postrender.yaml.paths import Json

_VOID = frozenset({"input", "link", "meta"})
# `_marked` marks words only if two lines have at least this fraction of the longer line in common.
_MIN_COMMON = 1 / 3
# The differences between two texts are marked if a text has more characters than this number.
_LONG_VALUE = 72


class Html(str):
    """A text that is already markup, and is not escaped again."""

    __slots__ = ()


def escaped(text: str) -> Html:
    """A text as markup, with escapes for invisible characters and HTML syntax."""
    return Html(visible(html.escape(text), keep="\t", escape=_unseen))


def _unseen(character: str) -> str:
    return f'<u class="unseen">{escape_of(character)}</u>'


def code_markup(text: str) -> Html:
    """A name, path or value as markup, with its last blanks visible."""
    return tag("code", with_visible_end(text))


def tag(name: str, /, *children: str, **attributes: str | bool) -> Html:
    """An element.

    children: the content, which is escaped if it is not Html.
    attributes: `class_` becomes class, and `data_x` becomes data-x. True means an attribute without
    a value, and False that the element does not have the attribute.
    """
    start = name + "".join(_attribute(key, value) for key, value in attributes.items())
    return Html(f"<{start}>" if name in _VOID else f"<{start}>{joined(*children)}</{name}>")


def _attribute(name: str, value: str | bool) -> str:
    if value is False:
        return ""
    key = name.rstrip("_").replace("_", "-")
    return f" {key}" if value is True else f' {key}="{html.escape(visible(value))}"'


def joined(*parts: str) -> Html:
    """The parts as one markup text, escaped if they are not Html."""
    return Html("".join(part if isinstance(part, Html) else escaped(part) for part in parts))


# ---- diffs and values


def hunks_markup(hunks: tuple[Hunk, ...]) -> Html:
    """A unified diff as markup.

    Each line of a text has the old and new line number in the attribute data-l, or spaces for a
    side that does not have the line.
    """
    return Html("".join(_hunk(hunk) for hunk in hunks))


def _hunk(hunk: Hunk) -> str:
    width = len(str(max(hunk.old + hunk.old_count, hunk.new + hunk.new_count)))
    lines = [f'<span class="hunk">{hunk_header(hunk)}\n</span>']
    seen = [line._replace(text=text) for line, text in seen_lines(hunk)]
    for is_context, run in groupby(seen, key=lambda line: line.sign == " "):
        group = [*run]
        shown = ((line, escaped(line.text)) for line in group) if is_context else _changed(group)
        lines += [_line(line, text, width) for line, text in shown]
    return "".join(lines)


def _line(line: Line, text: Html, width: int) -> str:
    """A line as markup. A browser does not copy line numbers that are in an attribute."""
    name = {"-": "del", "+": "ins"}.get(line.sign, "span")
    old, new = (str(number or "").rjust(width) for number in (line.old, line.new))
    end = _end(line) if line.is_open else ""
    return f'<{name} data-l="{old} {new}">{line.sign}{text}\n</{name}>{end}'


def _changed(lines: list[Line]) -> Iterator[tuple[Line, Html]]:
    """Each removed line with its markup, then each added line with its markup.

    Marks show the differences between a removed line and the added line at the same position.
    """
    old = [line for line in lines if line.sign == "-"]
    new = [line for line in lines if line.sign == "+"]
    pairs = [_marked(before.text, after.text) for before, after in zip(old, new, strict=False)]
    for side, side_lines in enumerate((old, new)):
        for index, line in enumerate(side_lines):
            yield line, pairs[index][side] if index < len(pairs) else escaped(line.text)


def _end(line: Line) -> str:
    side = {"-": "old", "+": "new"}.get(line.sign, "both")
    return f'<span class="end" data-side={side}>{NO_NEWLINE}\n</span>'


def _marked(old: str, new: str) -> tuple[Html, Html]:
    """Two lines as markup. In similar lines, marks cover the words that differ."""
    before, after = tokens_of(old), tokens_of(new)
    blocks = list(changed_blocks(before, after))
    changed = sum(len("".join(before[block.start : block.end]).strip()) for block in blocks)
    common, longest = len(old.strip()) - changed, max(len(old.strip()), len(new.strip()))
    if common < _MIN_COMMON * longest:
        return escaped(old), escaped(new)
    return (
        _with_marks(before, ((block.start, block.end) for block in blocks)),
        _with_marks(after, ((block.new_start, block.new_end) for block in blocks)),
    )


def _with_marks(tokens: list[str], spans: Iterable[tuple[int, int]]) -> Html:
    parts, position = [], 0
    for start, end in spans:
        if start < end:
            parts += ["".join(tokens[position:start]), tag("b", "".join(tokens[start:end]))]
            position = end
    return joined(*parts, "".join(tokens[position:]))


def fields_markup(fields: tuple[FieldChange, ...], *, is_folded: bool = False) -> Html:
    """An HTML list of changed fields with their values, "" if no field changes.

    is_folded: whether equal changes of several list items are one.
    """
    others, schemas = split_schemas(fields)
    items = folded(others) if is_folded else [(field, 1) for field in others]
    rows = [_field(field, times) for field, times in items]
    rows += [_schema(path, changes) for path, changes in schemas.items()]
    return tag("ul", *rows, class_="fields") if rows else Html("")


def _schema(path: str, changes: list[FieldChange]) -> Html:
    count = tag("small", f" {counted(len(changes), 'change')}")
    rows = tag("ul", *(_field(field, 1) for field in changes), class_="fields")
    return tag("li", tag("details", tag("summary", code_markup(path), count), rows))


def _field(field: FieldChange, times: int) -> Html:
    path = field.path.removesuffix("[]")
    name = joined("order of " if path != field.path else "", code_markup(path))
    if field.old is not None or field.new is not None:
        values: str = values_markup(field.old, field.new)
    else:
        values = WRITTEN_DIFFERENTLY if field.change == CHANGED else tag("code", "null")
    count = tag("small", f" {times:,} times") if times > 1 else ""
    return tag("li", sign_markup(field.change), name, " ", values, count)


def sign_markup(change: str) -> Html:
    """The sign of a change. Screen readers read the name of the change instead."""
    sign = tag("span", MARKS[change], class_=f"sign {change}", aria_hidden="true")
    return joined(sign, tag("span", f"{change} ", class_="sr-only"))


def values_markup(old: Json, new: Json) -> Html:
    """An old and a new value as markup. None means that the value does not exist."""
    if old == new == NOT_SHOWN:
        return tag("span", f"changed {NOT_SHOWN}", class_="values")
    if isinstance(old, str) and isinstance(new, str) and max(len(old), len(new)) > _LONG_VALUE:
        return _texts_markup(old, new)
    parts = []
    if old is not None:
        parts.append(tag("del", value_markup(old)))
    if old is not None and new is not None:
        parts.append(tag("span", " → ", class_="arrow"))
    if new is not None:
        parts.append(tag("ins", value_markup(new)))
    return tag("span", *parts, class_="values")


def _texts_markup(old: str, new: str) -> Html:
    """The differences of two long texts, by path if they are JSON or YAML."""
    found = compare_long(old, new)
    note = tag("p", found.remark, class_="remark") if found.remark else Html("")
    if found.fields:
        return joined(note, fields_markup(found.fields, is_folded=True))
    if found.words:
        return joined(note, *(_changed_value(*pair) for pair in found.words))
    pre = tag("pre", hunks_markup(found.hunks))
    diff = tag("div", pre, class_="diff", role="group", tabindex="0", aria_label="Lines")
    return joined(note, diff)


def _changed_value(old: str, new: str) -> Html:
    marked = _marked(text_of(old), text_of(new))
    parts = tag("del", marked[0]), tag("span", " → ", class_="arrow"), tag("ins", marked[1])
    return tag("span", *parts, class_="values")


def value_markup(value: Json) -> Html:
    """A value as markup: JSON, a string that does not need quotes, or a path on each line."""
    if isinstance(value, str) and not _is_ambiguous(value):
        text = value
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
        if len(text) > _LONG_VALUE and isinstance(value, dict | list):
            text = "\n".join(inner_values(value, "", Style(limit=_LONG_VALUE)))
    # `escaped` would escape line breaks.
    return Html("\n".join(escaped(with_visible_end(line)) for line in text.split("\n")))


def _is_ambiguous(text: str) -> bool:
    if text.strip() != text or not text or text[0] in '{["' or ("\t" in text and "\n" not in text):
        return True
    try:
        return not isinstance(json.loads(text), str)
    except ValueError:
        return False
