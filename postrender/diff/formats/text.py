"""A preview as text for a terminal.

`render` wraps lines at the width of the terminal, except diff lines. A wrapped diff line would look
like two lines. Nothing is wrapped in a pipe or file. `render` escapes control characters, so that a
ConfigMap cannot control the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from postrender.diff.formats import Reporter
from postrender.diff.groups import group_changes
from postrender.diff.model import (
    ADDED,
    ENDS,
    HOOK,
    NEXT_PODS,
    NEXT_RUN,
    REFUSED,
    REMOVED,
    ROLLS,
    STARTS,
    ContentChange,
    KeyChange,
    Preview,
    RevisionChange,
    Risk,
    Undecided,
    WorkloadChange,
)
from postrender.diff.summary import (
    describe_object,
    group_risks,
    shown_revisions,
    summary_line,
)
from postrender.diff.values import (
    MARKS,
    Description,
    Style,
    Terminal,
    describe_fields,
    describe_key,
    describe_long_line,
    describe_whole,
    namer,
    outlined,
)
from postrender.diff.words import (
    OUTSIDE_TEMPLATE,
    TITLES,
    describe_cause,
    describe_configuration,
    describe_facts,
    describe_group,
    describe_members,
    describe_rest,
    describe_revision,
    describe_risks,
    describe_shared,
    describe_verb,
    explain_change,
    mark_of,
    revision_name,
)
from postrender.records import NamedTuple
from postrender.terminal import BLUE, BOLD, END, GREEN, GREY, MAGENTA, RED, wrap
from postrender.text import visible, with_visible_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from postrender.diff.alike import AnyChange
    from postrender.diff.groups import Change, Group

    Item = TypeVar("Item")

_MARK_COLOURS = {"+": GREEN, "-": RED, "~": MAGENTA}
_EFFECT_COLOURS = {
    REFUSED: BOLD + RED,
    ROLLS: BOLD + MAGENTA,
    HOOK: MAGENTA,
    NEXT_RUN: BLUE,
    NEXT_PODS: BLUE,
    STARTS: GREEN,
    ENDS: RED,
}
_DIFF_COLOURS = {"-": RED, "+": GREEN, "@": BLUE, "\\": GREY}

_MIN_WIDTH = 20
# The longest value on one line of a pipe or file, which are not wrapped.
_PIPE_LIMIT = 120
_INDENT = "    "
_HANG = "  "


class _Page(NamedTuple):
    width: int | None
    style: Style
    is_coloured: bool

    def lines(self, text: str, indent: str = _INDENT, colour: str = "") -> Iterator[str]:
        """A text as lines of at most `width` columns; later lines have a larger indent."""
        for line in wrap(text, self.width, indent, indent + _HANG):
            yield self.paint(line, colour)

    def described(self, described: Description, indent: str = _INDENT) -> Iterator[str]:
        """The lines of a change of a value."""
        yield from self.lines(described.head, indent)
        for part in described.parts:
            yield from self.lines(part, indent + _HANG)
        for line in described.diff:
            yield indent + _HANG + self.paint(line, _DIFF_COLOURS.get(line[:1], ""))

    def paint(self, text: str, colour: str) -> str:
        """A text in a colour, if the output is coloured."""
        return f"{colour}{text}{END}" if colour and text and self.is_coloured else text


def _code(text: str) -> str:
    return visible(with_visible_end(text))


class TextReporter(Reporter):
    """The text for a terminal."""

    file_suffix = "txt"

    def render(self, preview: Preview, terminal: Terminal) -> str:
        """A preview as text for a terminal."""
        width = max(terminal.width, _MIN_WIDTH) if terminal.width else None
        limit = min(max(width * 3 // 2, 60), 300) if width else _PIPE_LIMIT
        style = Style(code=_code, prose=visible, name=namer(preview), limit=limit)
        page = _Page(width, style, terminal.is_coloured)
        summary = list(page.lines(visible(summary_line(preview)), "", BOLD))
        body = [line for section in _sections(preview, page) for line in section]
        used = describe_configuration(preview.configuration, visible, preview.old_configuration)
        configuration = list(page.lines(used, "", GREY)) if used else []
        if not body:
            return "\n".join([*summary, *configuration]) + "\n"
        sides = page.lines(f"from {visible(preview.old)} to {visible(preview.new)}", "", GREY)
        return "\n".join([*summary, *sides, *configuration, *body]) + "\n"


def _sections(preview: Preview, page: _Page) -> Iterator[Iterator[str]]:
    yield _section("risks", group_risks(preview.risks), _risks, page)
    groups = group_changes(preview)
    yield _section("workloads", groups.workloads, _group, page)
    yield _section("contents", groups.contents, _group, page)
    yield _section("revisions", shown_revisions(preview), _revision, page, lambda _: True)
    yield _section("objects", groups.objects, _group, page, lambda group: len(group[0]) == 1)
    yield _section("labels", groups.labels, _group, page)
    yield _section("undecided", preview.undecided, _undecided, page, lambda _: True)


def _section(
    name: str,
    changes: Iterable[Item],
    write: Callable[[Item, _Page], Iterator[str]],
    page: _Page,
    is_dense: Callable[[Item], bool] = lambda _: False,
) -> Iterator[str]:
    """A title and the lines of each change, or nothing if `changes` is empty.

    name: the key of the title in TITLES.
    is_dense: whether to omit the empty line before a change that is not the first.
    """
    for number, change in enumerate(changes):
        if not number:
            yield from ("", page.paint(TITLES[name].upper(), BOLD))
        if not number or not is_dense(change):
            yield ""
        yield from write(change, page)


def _risks(group: Sequence[Risk], page: _Page) -> Iterator[str]:
    facts, consequence = describe_risks(group, page.style)
    names = ", ".join(_code(page.style.name(risk.identity)) for risk in group)
    yield from page.lines(f"! {consequence if facts else names}", "", BOLD + RED)
    for line in facts or [consequence]:
        yield from page.lines(line)


def _group(group: Group[Change], page: _Page) -> Iterator[str]:
    """A change, or the changes of a group: first what differs, then what all share."""
    members, shared, rest = group
    if len(members) == 1:
        name = _code(page.style.name(shared.identity))
        yield from _head(shared, page, name, describe_verb(shared))
        yield from _body(shared, page, _INDENT)
        return
    yield from _head(shared, page, *describe_group(group, page.style.prose))
    if clause := explain_change(shared):
        yield from page.lines(f"each {clause}" if isinstance(shared, WorkloadChange) else clause)
    for change in rest:
        title = describe_rest(change, page.style)
        first, *more = _body(change, page, "")
        if first and not more and page.width is None:
            yield from page.lines(f"{title} {first}")
            continue
        yield from page.lines(title, colour=BOLD)
        yield from _body(change, page, _INDENT + _HANG)
    if rest:
        yield from page.lines(describe_shared(group))
    yield from _body(shared, page, _INDENT + _HANG if rest else _INDENT)
    yield from page.lines(describe_members(members, shared, page.style), colour=GREY)


def _body(change: AnyChange, page: _Page, indent: str) -> Iterator[str]:
    for fact in describe_facts(change, page.style):
        yield from page.lines(fact, indent, BOLD + RED if "DELETED on apply" in fact else "")
    field_indent = indent
    if isinstance(change, WorkloadChange):
        for cause in change.causes:
            yield from page.described(describe_cause(cause, page.style), indent)
        if change.fields and change.change not in (ADDED, REMOVED):
            yield from page.lines(f"{OUTSIDE_TEMPLATE.one}:", indent, GREY)
        field_indent += _HANG
    for field in describe_object(change.fields, page.style):
        yield from page.described(field, field_indent)
    for key in change.keys if isinstance(change, ContentChange) else ():
        yield from _key(key, page, indent)


def _key(key: KeyChange, page: _Page, indent: str) -> Iterator[str]:
    if whole := describe_whole(key, page.style):
        yield from page.lines(f"{MARKS[key.change]} {_code(key.key)}: {whole}", indent)
        return
    yield ""
    title = f"{MARKS[key.change]} {_code(key.key)} ({describe_key(key, page.style)})"
    yield from page.lines(title, indent[len(_HANG) :], BOLD)
    if key.remark:
        yield from page.lines(key.remark, indent)
    parts = [*describe_fields(key.fields, page.style)] or describe_long_line(key, page.style)
    for part in parts:
        yield from page.lines(part, indent)
    for line in () if parts else outlined(key):
        yield indent + page.paint(line, _DIFF_COLOURS.get(line[0], ""))


def _revision(revision: RevisionChange, page: _Page) -> Iterator[str]:
    line = f"{revision_name(revision, page.style)}: {describe_revision(revision, page.style)}"
    yield from page.lines(line, _HANG, BOLD + RED if revision.lost_owners else "")


def _undecided(item: Undecided, page: _Page) -> Iterator[str]:
    yield from page.lines(f"? {visible(item.location)}: {visible(item.problem)}", "", MAGENTA)
    yield from page.lines(visible(item.fix))


def _head(change: AnyChange, page: _Page, subject: str, verb: str) -> Iterator[str]:
    colour = ""
    if isinstance(change, WorkloadChange):
        colour = _EFFECT_COLOURS.get(change.effect, GREY)
    mark = mark_of(change)
    start = f"{mark} {subject}"
    first, *rest = wrap(f"{start} {verb}", page.width, "", _HANG)
    start_colour = BOLD + _MARK_COLOURS.get(mark, "")
    if first.startswith(start):
        yield page.paint(start, start_colour) + page.paint(first[len(start) :], colour)
    else:
        yield page.paint(first, start_colour)
    for line in rest:
        yield page.paint(line, colour)
