"""A preview for a person to read in a terminal.

Everything but the lines of a diff is wrapped at the terminal's width. Those are shown whole: cut,
they would hide a change; wrapped, they could not be told from lines of their own. Whatever comes
from a manifest has its control characters written out, so that no ConfigMap writes to a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from postrender.diff.model import (
    ENDS,
    HOOK,
    NEW,
    NEXT_PODS,
    NEXT_RUN,
    REFUSED,
    ROLLS,
    STARTS,
    ContentChange,
    KeyChange,
    ObjectChange,
    Preview,
    RevisionChange,
    Undecided,
    WorkloadChange,
)
from postrender.diff.wording.grouping import find_alike
from postrender.diff.wording.terminal import Terminal
from postrender.diff.wording.wording import (
    MARKS,
    TITLES,
    Style,
    alike_by_effect,
    describe_cause,
    describe_change,
    describe_content,
    describe_effect,
    describe_field,
    describe_in_place,
    describe_key,
    describe_more,
    describe_other_revisions,
    describe_own,
    describe_revision,
    describe_via,
    diff_lines,
    mark_of,
    namer,
    revision_name,
    shown_revisions,
    summary_line,
)
from postrender.startup.patterns import pattern
from postrender.startup.records import NamedTuple
from postrender.text.escapes import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Change = TypeVar("Change")

FILE_SUFFIX = "txt"

_END, _BOLD, _DIM = "\x1b[0m", "\x1b[1m", "\x1b[2m"
_RED, _GREEN, _YELLOW, _CYAN = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"

_OF_MARK = {"+": _GREEN, "-": _RED, "~": _YELLOW}
_OF_EFFECT = {
    REFUSED: _BOLD + _RED,
    ROLLS: _BOLD + _YELLOW,
    HOOK: _YELLOW,
    NEXT_RUN: _CYAN,
    NEXT_PODS: _CYAN,
    STARTS: _GREEN,
    ENDS: _RED,
}
_OF_LINE = {"-": _RED, "+": _GREEN, "@": _CYAN, "\\": _DIM}

_NARROWEST = 20
_INDENT = "    "
_HANG = "  "
_JOINT = pattern(r"(?<=[./,:\]-])")


class _Page(NamedTuple):
    """What is printed on, and how words from manifests are written on it."""

    width: int
    is_coloured: bool
    style: Style

    def lines(self, text: str, indent: str = _INDENT, colour: str = "") -> Iterator[str]:
        """Yield text as lines that fit, those after the first indented further."""
        for line in _wrap(text, self.width, indent, indent + _HANG):
            yield self.paint(line, colour)

    def paint(self, text: str, colour: str) -> str:
        """Return text in a colour, if the terminal has any."""
        return f"{colour}{text}{_END}" if colour and text and self.is_coloured else text


def render(preview: Preview, terminal: Terminal) -> str:
    """Return a preview as text for a terminal."""
    width = max(terminal.width, _NARROWEST)
    limit = min(max(width * 3 // 2, 60), 300)
    style = Style(code=visible, prose=visible, name=namer(preview), limit=limit)
    page = _Page(width, terminal.is_coloured, style)
    summary = list(page.lines(visible(summary_line(preview)), "", _BOLD))
    body = [line for part in _parts(preview, page) for line in part]
    if not body:
        return "\n".join(summary) + "\n"
    sides = page.lines(f"from {visible(preview.old)} to {visible(preview.new)}", "", _DIM)
    return "\n".join([*summary, *sides, *body, "", *summary]) + "\n"


def _parts(preview: Preview, page: _Page) -> Iterator[Iterator[str]]:
    yield _part("workloads", alike_by_effect(preview.workloads), _workloads, page)
    yield _part("contents", find_alike(preview.contents), _contents, page)
    if preview.has_changes:
        yield _revisions(preview, page)
    yield _part("objects", _blocks(preview.objects), _objects, page)
    yield _list("undecided", preview.undecided, _undecided, page)


def _part(
    name: str,
    changes: Iterable[Change],
    write: Callable[[Change, _Page], Iterator[str]],
    page: _Page,
) -> Iterator[str]:
    """Yield a title and what is written of each change, with an empty line before all of them."""
    for number, change in enumerate(changes):
        if not number:
            yield from ("", _title(name, page))
        yield ""
        yield from write(change, page)


def _list(
    name: str,
    changes: Iterable[Change],
    write: Callable[[Change, _Page], Iterator[str]],
    page: _Page,
) -> Iterator[str]:
    """Yield a title and what is written of each change, close together."""
    for number, change in enumerate(changes):
        if not number:
            yield from ("", _title(name, page), "")
        yield from write(change, page)


def _title(name: str, page: _Page) -> str:
    return page.paint(TITLES[name].upper(), _BOLD)


def _workloads(group: Sequence[WorkloadChange], page: _Page) -> Iterator[str]:
    workload, *others = group
    style = page.style
    yield from _workload_head(workload, page)
    for words in (describe_in_place(workload, style), describe_via(workload, style)):
        if words:
            yield from page.lines(words)
    for cause in workload.causes:
        yield from page.lines(describe_cause(cause, style))
    if workload.fields:
        yield from page.lines("outside of its pod template:", colour=_DIM)
    for field in workload.fields:
        yield from page.lines(describe_field(field, style), _INDENT + _HANG)
    yield from _more(others, _workload_head, page)


def _workload_head(workload: WorkloadChange, page: _Page) -> Iterator[str]:
    colour = _OF_EFFECT.get(workload.effect, _DIM)
    yield from _head(workload, describe_effect(workload), colour, page)


def _contents(group: Sequence[ContentChange], page: _Page) -> Iterator[str]:
    content, *others = group
    yield from _head(content, describe_change(content.change), "", page)
    for words in describe_content(content, page.style):
        yield from page.lines(words)
    for field in content.fields:
        yield from page.lines(describe_field(field, page.style))
    for key in content.keys:
        yield from _key(key, page)
    yield from _more(others, _own, page)


def _own(content: ContentChange, page: _Page) -> Iterator[str]:
    yield from _head(content, describe_change(content.change), "", page)
    for words in describe_own(content, page.style):
        yield from page.lines(words)


def _more(
    others: Sequence[Change], write: Callable[[Change, _Page], Iterator[str]], page: _Page
) -> Iterator[str]:
    """Yield what is written of those that change as the one before them does."""
    if others:
        yield from page.lines(describe_more(others), _HANG, _DIM)
    for each in others:
        yield from write(each, page)


def _key(key: KeyChange, page: _Page) -> Iterator[str]:
    yield ""
    name = f"{MARKS[key.change]} {visible(key.key)} ({describe_key(key, page.style)})"
    yield from page.lines(name, _HANG, _BOLD)
    for line in diff_lines(key):
        yield _INDENT + page.paint(line, _OF_LINE.get(line[0], ""))


def _revisions(preview: Preview, page: _Page) -> Iterator[str]:
    told, others = shown_revisions(preview)
    if told:
        yield from _list("revisions", told, _revision, page)
        if others:
            yield from page.lines(describe_other_revisions(others), _HANG, _DIM)


def _revision(revision: RevisionChange, page: _Page) -> Iterator[str]:
    words = f"{revision_name(revision, page.style)}: {describe_revision(revision)}"
    yield from page.lines(words, _HANG, _GREEN if revision.change == NEW else "")


def _blocks(objects: Iterable[ObjectChange]) -> list[list[list[ObjectChange]]]:
    """Return groups of objects that stand together: those alone, then each that has several."""
    groups = find_alike(objects)
    alone = [group for group in groups if len(group) == 1]
    return [block for block in (alone, *([group] for group in groups[len(alone) :])) if block]


def _objects(groups: Iterable[Sequence[ObjectChange]], page: _Page) -> Iterator[str]:
    for first, *others in groups:
        yield from _object_head(first, page)
        for field in first.fields:
            yield from page.lines(describe_field(field, page.style))
        yield from _more(others, _object_head, page)


def _object_head(change: ObjectChange, page: _Page) -> Iterator[str]:
    yield from _head(change, describe_change(change.change), "", page)


def _undecided(undecided: Undecided, page: _Page) -> Iterator[str]:
    yield from page.lines(
        f"? {visible(undecided.location)}: {visible(undecided.problem)}", "", _YELLOW
    )
    yield from page.lines(visible(undecided.fix))


def _head(
    change: WorkloadChange | ContentChange | ObjectChange, words: str, colour: str, page: _Page
) -> Iterator[str]:
    """Yield what an object is called and what it does."""
    mark = mark_of(change)
    start = f"{mark} {visible(page.style.name(change.identity))}"
    first, *rest = _wrap(f"{start} {words}", page.width, "", _HANG)
    start_colour = _BOLD + _OF_MARK.get(mark, "")
    if first.startswith(start):
        yield page.paint(start, start_colour) + page.paint(first[len(start) :], colour)
    else:
        yield page.paint(first, start_colour)
    for line in rest:
        yield page.paint(line, colour)


def _wrap(text: str, width: int, indent: str, hang: str) -> list[str]:
    """Return text as lines of at most width columns, those after the first with another indent."""
    used = len(indent) + _columns(text)
    if used <= width:
        return [indent + text]
    lines: list[str] = []
    line, used = indent, len(indent)
    for gap, part in _pieces(text, width - len(hang)):
        columns = _columns(part)
        if used + len(gap) + columns > width:
            lines.append(line.rstrip(" "))
            line, used = hang + part, len(hang) + columns
        else:
            line, used = line + gap + part, used + len(gap) + columns
    return [*lines, line]


def _pieces(text: str, room: int) -> Iterator[tuple[str, str]]:
    """Yield text in pieces of at most room columns, each with the space before it, or none.

    A word that has too many is parted where a path or a name has a joint.
    """
    gap = ""
    for word in text.split(" "):
        for part in [word] if _columns(word) <= room else _JOINT.split(word):
            step = room if part.isascii() else room // 2  # wide characters take two
            for start in range(0, len(part) or 1, step):
                yield gap, part[start : start + step]
                gap = ""
        gap = " "


def _columns(text: str) -> int:
    """Return how many columns of a terminal text takes."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(each) else 1 + (unicodedata.east_asian_width(each) in "WF")
        for each in text
    )
