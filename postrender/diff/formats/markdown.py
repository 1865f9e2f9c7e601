"""A preview as a comment on a pull request, for GitHub and GitLab.

Text from manifests that could have an effect in Markdown is in code spans or fenced blocks. There,
GitHub and GitLab do not interpret Markdown, HTML, mentions or issue numbers. The summary of a
folded section is HTML, in which `_code_in_html` escapes text from manifests. `render` truncates a
long preview.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from postrender.diff.formats import Reporter
from postrender.diff.formats.truncate import Part, Section, Truncation
from postrender.diff.model import (
    ADDED,
    REFUSED,
    REMOVED,
    ROLLS,
    ContentChange,
    KeyChange,
    ObjectChange,
    Preview,
    Risk,
    Undecided,
    WorkloadChange,
)
from postrender.diff.summary import (
    METADATA_ONLY,
    describe_rest,
    group_by_effect,
    group_equal,
    group_risks,
    shown_revisions,
    summary_line,
)
from postrender.diff.values import (
    Description,
    Forms,
    Style,
    and_more,
    describe_field,
    describe_fields,
    describe_key,
    describe_object,
    diff_lines,
    listed,
    namer,
    size_of,
)
from postrender.diff.words import (
    EFFECTS,
    NOUNS,
    OUTSIDE_TEMPLATE,
    TITLES,
    describe_cause,
    describe_change,
    describe_configuration,
    describe_content,
    describe_effect,
    describe_pods,
    describe_revision,
    describe_risk,
    revision_name,
)
from postrender.errors import sentences
from postrender.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from postrender.diff.values import Terminal

    Item = TypeVar("Item")

MARKER = "<!-- postrender diff -->"
"""The first line of a comment. A CI job uses this line to find the comment of the previous run."""

# A comment can have 65,536 characters on GitHub, and 1,000,000 on GitLab. LIMIT leaves 536
# characters for text that a CI job adds, such as a link to the HTML page.
LIMIT = 65_000
# Sizes in characters. Truncation abbreviates a diff only if the diff is longer than _LONG_DIFF.
_NOTICE_SIZE = 600
_LONG_DIFF = 1_000
_LONGEST_NAME = 300
_LONGEST_VALUE = 200
# Truncation drops only whole groups of equal changes, so `_split` limits the size of a group.
_LARGEST_GROUP = 50

# The only field outside the pod template that the table of workloads shows.
_REPLICAS = "spec.replicas"

_KEYS = Forms("key", "keys")
_FIELDS = Forms(
    f"workload that changes {OUTSIDE_TEMPLATE.one}",
    f"workloads that change {OUTSIDE_TEMPLATE.many}",
)

# The verbs for workloads whose fields are all in the section for fields outside the pod template.
_ONE_SIDE = {change: describe_change(change) for change in (ADDED, REMOVED)}

_END = "\n</details>\n"

_TICKS = re.compile("`+")
# A word that Markdown does not interpret. GitHub and GitLab treat GH-1 as an issue, www.… as a link
# and :word: as an emoji.
_PLAIN_WORD = re.compile(
    r"(?!.*(?:www\.|GH-))(?:[(]?[A-Za-z0-9][A-Za-z0-9.,;'/-]*[),.:;]*|--?|)", re.IGNORECASE
)


def code(text: str) -> str:
    """A text as a code span, in which control characters are escaped."""
    text = visible(text) or " "
    fence = "`" * (_longest_ticks(text) + 1)
    is_stripped = text[0] == text[-1] == " " and text.strip()  # CommonMark 0.31, code spans
    if is_stripped or text[0] == "`" or text[-1] == "`":
        text = f" {text} "
    return f"{fence}{text}{fence}"


def _longest_ticks(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)


def _code_in_table(text: str) -> str:
    return code(text).replace("|", "\\|")


def _code_in_html(text: str) -> str:
    text = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<code>{text}</code>"


def prose(text: str) -> str:
    """A sentence in which each word that Markdown could interpret is a code span."""
    words = text.split(" ")
    return " ".join(word if _PLAIN_WORD.fullmatch(word) else code(word) for word in words)


def _prose_in_table(text: str) -> str:
    return prose(text).replace("|", "\\|")


class MarkdownReporter(Reporter):
    """The comment for a pull request."""

    file_suffix = "md"

    def render(self, preview: Preview, terminal: Terminal) -> str:
        """A preview as Markdown of at most LIMIT characters, as `size_of` counts characters.

        Until a longer text fits, these steps truncate the sections:
        1. abbreviate other objects, the largest saving first;
        2. abbreviate ConfigMaps and Secrets, the largest saving first;
        3. drop items from the end of sections, in this order: other objects, fields outside the pod
        template, revisions, ConfigMaps and Secrets, undecided items;
        4. abbreviate the causes in the table of workloads;
        5. drop rows of the table of workloads;
        6. drop risks from the end, because nothing else is as important.
        """
        style = Style(code=code, prose=prose, name=namer(preview), limit=_LONGEST_VALUE, arrow="→")
        table_style = style._replace(code=_code_in_table, prose=_prose_in_table)
        sides = f"{code(preview.old[:_LONGEST_NAME])} to {code(preview.new[:_LONGEST_NAME])}"
        title = f"{MARKER}\n### Changes from {sides}\n\n**{prose(summary_line(preview))}**\n"
        used = describe_configuration(preview.configuration, code, preview.old_configuration)
        title += f"\n{used}\n" if used else ""
        contents = [_contents(group, style) for group in _split(group_equal(preview.contents))]
        sections = [
            _risks(preview.risks, style),
            _workloads(preview.workloads, table_style),
            *contents,
            _fields(preview.workloads, style),
            _revisions(preview, table_style),
            _objects(preview.objects, style),
            _undecided(preview.undecided, style),
        ]
        risks, table, *content_indexes, fields, revisions, objects, undecided = range(len(sections))
        truncation = Truncation(sections, LIMIT - size_of(title), _NOTICE_SIZE)
        truncation.abbreviate([objects])
        truncation.abbreviate(content_indexes)
        for index in (objects, fields, revisions, *reversed(content_indexes), undecided):
            truncation.drop(index)
        truncation.abbreviate([table])
        truncation.drop(table)
        truncation.drop(risks)
        return title + _notice(truncation.omissions()) + truncation.text()


def _notice(omissions: Sequence[str]) -> str:
    if not omissions:
        return ""
    return (
        f"\n> This comment leaves out {prose(', '.join(omissions))}, because a comment has a "
        "maximum length. `postrender diff --format text` shows the whole preview.\n"
    )


def _split(groups: Iterable[list[Item]]) -> Iterator[list[Item]]:
    for group in groups:
        for start in range(0, len(group), _LARGEST_GROUP):
            yield group[start : start + _LARGEST_GROUP]


def _risks(risks: Iterable[Risk], style: Style) -> Section:
    """An alert, as GitHub and GitLab call it: a quotation that begins with its kind."""
    parts = []
    for group in _split(group_risks(risks)):
        names = ", ".join(code(_short(style.name(risk.identity))) for risk in group)
        parts.append(Part(f"> - {names}: {describe_risk(group[0], style)}\n", "", len(group)))
    head = "\n> [!CAUTION]\n> **Risks**\n>\n" if parts else ""
    return Section(head=head, parts=tuple(parts), foot="", noun=NOUNS["risks"])


def _workloads(workloads: Iterable[WorkloadChange], style: Style) -> Section:
    parts = tuple(_row(group, style) for group in _split(group_by_effect(workloads)))
    head = "\n| workload | effect | cause |\n| --- | --- | --- |\n" if parts else ""
    return Section(
        head=head, parts=parts, foot="", noun=NOUNS["workloads"], brief_prefix="the causes of "
    )


def _row(group: Sequence[WorkloadChange], style: Style) -> Part:
    workload = group[0]
    names = "<br>".join(style.code(_short(style.name(item.identity))) for item in group)
    short = EFFECTS[workload.effect].verb.one
    effect = "<br>".join(dict.fromkeys(map(describe_effect, group)))
    if workload.effect in (REFUSED, ROLLS):
        short, effect = f"**{short}**", effect.replace(short, f"**{short}**")
    for field in workload.fields:
        if field.path == _REPLICAS:
            replicas = f"<br>{describe_field(field, style).head}"
            short, effect = short + replicas, effect + replicas
    causes = [_in_cell(describe_cause(cause, style), style) for cause in workload.causes]
    cell = "<br>".join([*causes, *describe_pods(workload, style)])
    kinds = ", ".join(dict.fromkeys(cause.kind for cause in workload.causes))
    full = f"| {names} | {effect} | {cell} |\n"
    return _part(full, f"| {names} | {short} | {kinds} |\n", len(group))


def _in_cell(described: Description, style: Style) -> str:
    """A description as one cell of a table, in which a list is not possible."""
    return "<br>".join([described.head, *described.parts, *map(style.code, described.diff)])


def _in_list(described: Description, indent: str = "") -> str:
    """A description as an item of a list."""
    lines = [f"- {described.head}", *(f"  - {part}" for part in described.parts)]
    if described.diff:
        lines += ["", *(f"  {line}" for line in _fenced(described.diff)), ""]
    return "".join(f"{indent if line else ''}{line}\n" for line in lines)


def _fenced(lines: Sequence[str]) -> list[str]:
    fence = "`" * max(3, max(map(_longest_ticks, lines), default=0) + 1)
    return [f"{fence}diff", *lines, fence]


def _contents(group: Sequence[ContentChange], style: Style) -> Section:
    content, *rest = group
    if not rest:
        return _content(content, style)
    kind = content.identity.kind
    details = [
        *map(Description, describe_content(content, style).shared),
        *describe_object(content.fields, style),
    ]
    first = _code_in_html(_short(style.name(content.identity)))
    return Section(
        head=f"{_fold(f'{first} {and_more(len(rest))} {METADATA_ONLY.many}')}\n",
        parts=(_item([_individual(item, style) for item in group], details),),
        foot=_END,
        noun=Forms(kind, f"{kind}s"),
        brief_prefix="the fields of ",
    )


def _individual(content: ContentChange, style: Style) -> str:
    facts = "; ".join(describe_content(content, style).individual)
    name = code(_short(style.name(content.identity)))
    return f"{name}: {facts}" if facts else name


def _content(content: ContentChange, style: Style) -> Section:
    kind, name = content.identity.kind, _code_in_html(_short(style.name(content.identity)))
    keys = [_code_in_html(_short(key.key)) for key in content.keys]
    summary = f"{name} {describe_change(content.change)}" + (f": {listed(keys)}" if keys else "")
    facts = "; ".join(describe_content(content, style).all)
    fields = "".join(map(_in_list, describe_object(content.fields, style)))
    parts = [Part(f"\n{fields}")] if fields else []
    parts += [_key(key, style) for key in content.keys]
    return Section(
        head=_fold(summary) + (f"\n{facts[0].upper()}{facts[1:]}\n" if facts else ""),
        parts=tuple(parts),
        foot=_END,
        noun=_KEYS,
        brief_prefix="the diffs of ",
        section_noun=Forms(kind, f"{kind}s"),
    )


def _key(key: KeyChange, style: Style) -> Part:
    change = f"{describe_change(key.change)} ({describe_key(key, style)})"
    title = f"\n**{code(_short(key.key))}** {change}"
    remark = f": {key.remark}" if key.remark else ""
    paths = "".join(f"- {part}\n" for part in describe_fields(key.fields, style))
    start = f"{title}{remark}\n" + (f"\n{paths}" if paths else "")
    lines = diff_lines(key)
    if not lines:
        return Part(start)
    diff = "\n".join(["", *_fenced(lines), ""])
    full = start + (f"{_fold('lines')}{diff}{_END}" if paths else diff)
    if len(full) <= _LONG_DIFF:
        return Part(full)
    return Part(full, start if paths else f"{title}{remark}: the diff is left out\n")


def _fields(workloads: Iterable[WorkloadChange], style: Style) -> Section:
    outside = [
        ObjectChange(
            workload.identity,
            workload.change,
            tuple(field for field in workload.fields if field.path != _REPLICAS),
        )
        for workload in workloads
    ]
    # Group the workloads again, because the groups in the table also depend on the causes.
    parts = [
        _object_item(group, style, _ONE_SIDE.get(group[0].change, ""))
        for group in _split(group_equal(change for change in outside if change.fields))
    ]
    return _list(f"{TITLES['workloads']}, {OUTSIDE_TEMPLATE.many}", parts, _FIELDS)


def _objects(objects: Iterable[ObjectChange], style: Style) -> Section:
    parts = [
        _object_item(group, style, describe_change(group[0].change))
        for group in _split(group_equal(objects))
    ]
    return _list(TITLES["objects"], parts, NOUNS["objects"])


def _object_item(group: Sequence[ObjectChange], style: Style, verb: str = "") -> Part:
    names = [code(_short(style.name(change.identity))) for change in group]
    return _item(names, list(describe_object(group[0].fields, style)), verb)


def _item(names: Sequence[str], details: Sequence[Description], verb: str = "") -> Part:
    verb = f" {verb}" if verb else ""
    first, *rest = names
    full = f"- {first}{verb}\n" + "".join(_in_list(detail, "  ") for detail in details)
    if rest:
        full += f"  - {describe_rest(rest)}\n" + "".join(f"    - {name}\n" for name in rest)
    brief = "".join(f"- {name}{verb}\n" for name in names)
    return _part(full, brief, len(names))


def _part(full: str, brief: str, count: int) -> Part:
    return Part(full, brief if size_of(brief) < size_of(full) else "", count)


def _list(title: str, parts: Sequence[Part], noun: Forms) -> Section:
    count = sum(part.items for part in parts)
    return Section(
        head=f"{_fold(f'{title} ({count:,})')}\n" if parts else "",
        parts=tuple(parts),
        foot=_END if parts else "",
        noun=noun,
        brief_prefix="the fields of ",
    )


def _revisions(preview: Preview, style: Style) -> Section:
    shown = shown_revisions(preview)
    if not shown:
        return Section(head="", parts=(), foot="", noun=NOUNS["revisions"])
    title = f"{TITLES['revisions']} ({len(shown):,})"
    rows = [
        f"| {revision_name(revision, style)} | {describe_revision(revision, style)} |\n"
        for revision in shown
    ]
    return Section(
        head=f"{_fold(title)}\n| revision | status |\n| --- | --- |\n",
        parts=tuple(map(Part, rows)),
        foot=_END,
        noun=NOUNS["revisions"],
    )


def _undecided(undecided: Sequence[Undecided], style: Style) -> Section:
    lines = [
        f"- {code(item.location)}: {sentences(style.prose(item.problem), style.prose(item.fix))}\n"
        for item in undecided
    ]
    head = f"\n**{TITLES['undecided']}**\n\n" if lines else ""
    return Section(head=head, parts=tuple(map(Part, lines)), foot="", noun=NOUNS["undecided"])


def _fold(summary: str) -> str:
    return f"\n<details>\n<summary>{summary}</summary>\n"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
