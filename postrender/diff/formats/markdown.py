"""A preview as a comment on a pull request, for GitHub and GitLab.

Whatever comes from a manifest stands in a code span or in a fenced block, where neither Markdown,
HTML, mentions nor issue numbers mean anything; in the summaries of folded parts, which are HTML,
its characters are escaped. What is too long is cut: see `render`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from postrender.diff.model import (
    REFUSED,
    ROLLS,
    ContentChange,
    FieldChange,
    KeyChange,
    ObjectChange,
    Preview,
    Undecided,
    WorkloadChange,
)
from postrender.diff.wording.grouping import find_alike
from postrender.diff.wording.truncate import Cut, Nouns, Part, Section, size_of
from postrender.diff.wording.wording import (
    EFFECTS,
    TITLES,
    Style,
    alike_by_effect,
    and_more,
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
    describe_shared,
    describe_via,
    diff_lines,
    listed,
    namer,
    revision_name,
    shown_revisions,
    summary_line,
)
from postrender.startup.patterns import pattern
from postrender.text.escapes import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.diff.wording.grouping import Change
    from postrender.diff.wording.terminal import Terminal

FILE_SUFFIX = "md"


MARKER = "<!-- postrender diff -->"
"""The first line, by which a CI job finds its comment of the last run again."""

# GitHub takes 65,536 characters (GitLab 1,000,000); the rest is for what a CI job adds, a link to
# the page for instance.
LIMIT = 65_000
_FOR_NOTICE = 600
_LONG = 1_000
_LONGEST_NAME = 300
_LONGEST_VALUE = 200
_MOST_CAUSES = 12
# Of objects that change alike: what is cut is cut with all that are told together.
_MOST_ALIKE = 50

# Of all fields outside of a pod template the one that a reader asks for: it stands in the table.
_REPLICAS = "spec.replicas"

_WORKLOADS = Nouns("workload", "workloads")
_KEYS = Nouns("key", "keys")
_FIELDS = Nouns("workload outside of its pod template", "workloads outside of their pod templates")
_REVISIONS = Nouns("revision", "revisions")
_OBJECTS = Nouns("other object", "other objects")
_UNDECIDED = Nouns("undecided thing", "undecided things")

_END = "\n</details>\n"

_TICKS = pattern("`+")
# Of GitHub and GitLab: GH-1 is an issue, www.… a link, :word: a picture.
_PLAIN_WORD = pattern(
    r"(?!.*(?:www\.|GH-))(?:[(]?[A-Za-z0-9][A-Za-z0-9.,;'/-]*[),.:;]*|--?|)", re.IGNORECASE
)


def code(text: str) -> str:
    """Return text as a code span, whatever it holds."""
    text = visible(text) or " "
    fence = "`" * (_longest_ticks(text) + 1)
    is_stripped = text[0] == text[-1] == " " and text.strip()  # CommonMark 0.31, code spans
    if is_stripped or text[0] == "`" or text[-1] == "`":
        text = f" {text} "
    return f"{fence}{text}{fence}"


def _longest_ticks(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)


def _code_in_table(text: str) -> str:
    """Return text as a code span in a cell, which a `|` would end."""
    return code(text).replace("|", "\\|")


def _in_html(text: str) -> str:
    text = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<code>{text}</code>"


def prose(text: str) -> str:
    """Return a sentence, in which each word that could be more than a word is a code span."""
    words = text.split(" ")
    return " ".join(word if _PLAIN_WORD.fullmatch(word) else code(word) for word in words)


def _prose_in_table(text: str) -> str:
    return prose(text).replace("|", "\\|")


def render(preview: Preview, terminal: Terminal) -> str:
    """Return a preview as Markdown of at most 65,536 characters.

    Where it is longer, it is cut in this order: fields of other objects; long diffs, the longest
    first; other objects, other fields of workloads, revisions, ConfigMaps and Secrets, what is
    undecided, from the end of each; the reasons in the table of workloads, then its rows.
    """
    style = Style(code, prose, namer(preview), _LONGEST_VALUE, "→")
    in_table = style._replace(code=_code_in_table, prose=_prose_in_table)
    sides = f"{code(preview.old[:_LONGEST_NAME])} to {code(preview.new[:_LONGEST_NAME])}"
    title = f"{MARKER}\n### What changes from {sides}\n\n**{prose(summary_line(preview))}**\n"
    contents = [_contents(group, style) for group in _alike(find_alike(preview.contents))]
    sections = [
        _workloads(preview.workloads, in_table),
        *contents,
        _fields(preview.workloads, style),
        _revisions(preview, in_table),
        _objects(preview.objects, style),
        _undecided(preview.undecided, style),
    ]
    table, *of_contents, fields, revisions, objects, undecided = range(len(sections))
    cut = Cut(sections, LIMIT - size_of(title), _FOR_NOTICE)
    cut.shorten([objects])
    cut.shorten(of_contents)
    for number in (objects, fields, revisions, *reversed(of_contents), undecided):
        cut.drop(number)
    cut.shorten([table])
    cut.drop(table)
    return title + _notice(cut.left_out()) + cut.text()


def _notice(left_out: Sequence[str]) -> str:
    if not left_out:
        return ""
    return (
        f"\n> Cut to fit into a comment; left out: {prose(', '.join(left_out))}. "
        "`postrender diff --format text` shows everything.\n"
    )


def _alike(groups: Iterable[list[Change]]) -> Iterator[list[Change]]:
    """Yield groups of changes that are alike, larger ones in parts."""
    for group in groups:
        for start in range(0, len(group), _MOST_ALIKE):
            yield group[start : start + _MOST_ALIKE]


def _workloads(workloads: Iterable[WorkloadChange], style: Style) -> Section:
    parts = tuple(_row(group, style) for group in _alike(alike_by_effect(workloads)))
    head = "\n| workload | effect | because |\n| --- | --- | --- |\n" if parts else ""
    return Section(head, parts, "", _WORKLOADS, "the causes of ")


def _row(group: Sequence[WorkloadChange], style: Style) -> Part:
    workload = group[0]
    names = "<br>".join(style.code(_short(style.name(each.identity))) for each in group)
    short = EFFECTS[workload.effect][0]
    effect = "<br>".join(dict.fromkeys(map(describe_effect, group)))
    if workload.effect in (REFUSED, ROLLS):
        short, effect = f"**{short}**", effect.replace(short, f"**{short}**")
    for field in workload.fields:
        if field.path == _REPLICAS:
            words = f"<br>{describe_field(field, style)}"
            short, effect = short + words, effect + words
    reasons = [describe_cause(cause, style) for cause in workload.causes[:_MOST_CAUSES]]
    if more := len(workload.causes) - len(reasons):
        reasons.append(f"{more:,} more")
    reasons += [describe_in_place(workload, style), describe_via(workload, style)]
    because = "<br>".join(filter(None, reasons))
    kinds = ", ".join(dict.fromkeys(cause.kind for cause in workload.causes))
    full = f"| {names} | {effect} | {because} |\n"
    return _part(full, f"| {names} | {short} | {kinds} |\n", len(group))


def _contents(group: Sequence[ContentChange], style: Style) -> Section:
    """Return one that changes, or several that change alike, which no text of theirs does."""
    content, *others = group
    if not others:
        return _content(content, style)
    kinds = Nouns(content.identity.kind, f"{content.identity.kind}s")
    names = [_own(each, style) for each in group]
    told = [*describe_shared(content, style), *_describe_field(content.fields, style)]
    first = _in_html(_short(style.name(content.identity)))
    head = f"{_fold(f'{first} {and_more(others)} change outside of their data')}\n"
    part = _item(names, told)
    return Section(head, (part,), _END, kinds, "the fields of ")


def _own(content: ContentChange, style: Style) -> str:
    words = "; ".join(describe_own(content, style))
    name = code(_short(style.name(content.identity)))
    return f"{name}: {words}" if words else name


def _content(content: ContentChange, style: Style) -> Section:
    name, does = style.name(content.identity), describe_change(content.change)
    keys = [_in_html(_short(each.key)) for each in content.keys]
    summary = f"{_in_html(_short(name))} {does}" + (f": {listed(keys)}" if keys else "")
    facts = describe_content(content, style)
    head = _fold(summary) + (f"\nIt {does}: {'; '.join(facts)}\n" if facts else "")
    fields = "".join(f"- {describe_field(field, style)}\n" for field in content.fields)
    parts = [Part(f"\n{fields}")] if fields else []
    parts += [_key(key, style) for key in content.keys]
    nouns = Nouns(content.identity.kind, f"{content.identity.kind}s")
    return Section(head, tuple(parts), _END, _KEYS, "the diffs of ", nouns)


def _key(key: KeyChange, style: Style) -> Part:
    words = (
        f"\n**{code(_short(key.key))}** {describe_change(key.change)} ({describe_key(key, style)})"
    )
    lines = diff_lines(key)
    if not lines:
        return Part(f"{words}\n")
    text = "\n".join(lines)
    fence = "`" * max(3, _longest_ticks(text) + 1)
    full = f"{words}\n\n{fence}diff\n{text}\n{fence}\n"
    return Part(full, f"{words}: the diff is left out\n" if len(full) > _LONG else "")


def _fields(workloads: Iterable[WorkloadChange], style: Style) -> Section:
    """Return what changes of workloads besides what the table tells."""
    outside = [
        ObjectChange(
            workload.identity,
            workload.change,
            tuple(each for each in workload.fields if each.path != _REPLICAS),
        )
        for workload in workloads
    ]
    # What changes alike in the whole may not do so here, and the other way round.
    parts = [
        _item(_names(group, style), _describe_field(group[0].fields, style))
        for group in _alike(find_alike(each for each in outside if each.fields))
    ]
    return _list(f"{TITLES['workloads']}, outside of their pod templates", parts, _FIELDS)


def _objects(objects: Iterable[ObjectChange], style: Style) -> Section:
    parts = [
        _item(_names(group, style), _describe_field(group[0].fields, style), group[0].change)
        for group in _alike(find_alike(objects))
    ]
    return _list(TITLES["objects"], parts, _OBJECTS)


def _names(group: Iterable[ObjectChange], style: Style) -> list[str]:
    return [code(_short(style.name(each.identity))) for each in group]


def _describe_field(fields: Iterable[FieldChange], style: Style) -> list[str]:
    return [describe_field(field, style) for field in fields]


def _item(names: Sequence[str], details: Sequence[str], change: str = "") -> Part:
    """Return an item of a list: an object and what changes, and others that it changes in."""
    does = f" {describe_change(change)}" if change else ""
    first, *others = names
    lines = [f"- {first}{does}", *(f"  - {each}" for each in details)]
    if others:
        lines += [f"  - {describe_more(others)}", *(f"    - {each}" for each in others)]
    brief = "".join(f"- {each}{does}\n" for each in names)
    return _part("".join(f"{line}\n" for line in lines), brief, len(names))


def _part(full: str, brief: str, holds: int = 1) -> Part:
    return Part(full, brief if size_of(brief) < size_of(full) else "", holds)


def _list(title: str, parts: Sequence[Part], nouns: Nouns) -> Section:
    count = sum(part.holds for part in parts)
    head = f"{_fold(f'{title} ({count:,})')}\n" if parts else ""
    return Section(head, tuple(parts), _END if parts else "", nouns, "the fields of ")


def _revisions(preview: Preview, style: Style) -> Section:
    told, others = shown_revisions(preview)
    if not told or not preview.has_changes:
        return Section("", (), "", _REVISIONS)
    columns = "| revision | what becomes of it |\n| --- | --- |\n"
    title = f"{TITLES['revisions']} ({len(told):,})"
    head = f"{_fold(title)}\n{columns}"
    rows = [f"| {revision_name(each, style)} | {describe_revision(each)} |\n" for each in told]
    foot = f"\n{describe_other_revisions(others)}\n{_END}" if others else _END
    return Section(head, tuple(map(Part, rows)), foot, _REVISIONS)


def _undecided(undecided: Sequence[Undecided], style: Style) -> Section:
    lines = [
        f"- {code(each.location)}: {style.prose(each.problem)}; {style.prose(each.fix)}\n"
        for each in undecided
    ]
    head = f"\n**{TITLES['undecided']}**\n\n" if lines else ""
    return Section(head, tuple(map(Part, lines)), "", _UNDECIDED)


def _fold(summary: str) -> str:
    return f"\n<details>\n<summary>{summary}</summary>\n"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
