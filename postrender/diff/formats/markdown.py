"""A preview as a comment on a pull request, for GitHub and GitLab.

Text from manifests that could have an effect in Markdown is in code spans or fenced blocks. There,
GitHub and GitLab do not interpret Markdown, HTML, mentions or issue numbers. The summary of a
folded section is HTML, in which `_code_in_html` escapes text from manifests. `render` truncates a
long preview.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from postrender.diff.formats import Reporter
from postrender.diff.formats.truncate import Cut, Part, Section, truncate
from postrender.diff.groups import group_changes, is_dangerous
from postrender.diff.lines import diff_lines
from postrender.diff.model import (
    ADDED,
    CHANGED,
    REFUSED,
    REMOVED,
    ROLLS,
    ContentChange,
    FieldChange,
    KeyChange,
    ObjectChange,
    Preview,
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
    Description,
    Forms,
    Style,
    and_more,
    capitalised,
    counted,
    describe_field,
    describe_fields,
    describe_key,
    describe_whole,
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
    describe_effect,
    describe_facts,
    describe_group,
    describe_member,
    describe_pods,
    describe_rest,
    describe_revision,
    describe_risks,
    describe_shared,
    describe_verb,
    explain_change,
    revision_name,
)
from postrender.errors import sentences
from postrender.text import visible, with_visible_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from postrender.diff.groups import Group
    from postrender.diff.values import Terminal

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
# The numbers of names of a group that remain if there is no space for all, by stage.
_MANY_NAMES, _FEW_NAMES = 100, 3
# A comment of at most this many lines is unfolded.
_OPEN_LINES = 30

# The stages of truncation: first repetitions, then what rarely matters, and last what can hurt.
(
    _MOST_NAMES,
    _NAMES,
    _LINES,
    _FIELDS,
    _DIFFS,
    _OBJECTS,
    _OUTSIDE,
    _REVISIONS,
    _KEYS,
    _CONTENTS,
    _UNDECIDED,
    _CAUSES,
    _ROWS,
    _DANGEROUS,
    _RISKS,
) = range(15)

# The only field outside the pod template that the table of workloads shows.
_REPLICAS = "spec.replicas"

_KEY_NOUN = Forms("key", "keys")
_FIELD_NOUN = Forms(
    f"workload that changes {OUTSIDE_TEMPLATE.one}",
    f"workloads that change {OUTSIDE_TEMPLATE.many}",
)

# The verbs for workloads whose fields are all in the section for fields outside the pod template.
_ONE_SIDE = {change: describe_change(change) for change in (ADDED, REMOVED)}

_FOLD, _END = "\n<details>\n<summary>", "\n</details>\n"
_OPEN_FOLD = _FOLD.replace("<details>", "<details open>")

_TICKS = re.compile("`+")
# A word that Markdown does not interpret. GitHub and GitLab treat GH-1 as an issue, www.… as a link
# and :word: as an emoji.
_PLAIN_WORD = re.compile(
    r"(?!.*(?:www\.|GH-))(?:[(]?[A-Za-z0-9][A-Za-z0-9.,;'/-]*[),.:;]*|--?|)", re.IGNORECASE
)
# The first word of a text that Markdown turns into a list.
_LIST_MARK = re.compile(r"[0-9]+[.)]|-")


def code(text: str) -> str:
    """A text as a code span, in which control characters are escaped."""
    text = visible(with_visible_end(text)) or " "
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
    return f"<code>{_in_html(with_visible_end(text))}</code>"


def _in_html(text: str) -> str:
    return visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def prose(text: str) -> str:
    """A sentence in which each word that Markdown could interpret is a code span."""
    first, *words = text.split(" ")
    is_plain = _PLAIN_WORD.fullmatch(first) and not _LIST_MARK.fullmatch(first)
    plain = (word if _PLAIN_WORD.fullmatch(word) else code(word) for word in words)
    return " ".join([first if is_plain else code(first), *plain])


def _prose_in_table(text: str) -> str:
    return prose(text).replace("|", "\\|")


class MarkdownReporter(Reporter):
    """The comment for a pull request."""

    file_suffix = "md"

    def render(self, preview: Preview, terminal: Terminal) -> str:
        """A preview as Markdown of at most LIMIT characters, as `size_of` counts characters.

        A longer text loses the parts in the order of the stages.
        """
        style = Style(code=code, prose=prose, name=namer(preview), limit=_LONGEST_VALUE, arrow="→")
        table_style = style._replace(code=_code_in_table, prose=_prose_in_table)
        sides = f"{code(preview.old[:_LONGEST_NAME])} to {code(preview.new[:_LONGEST_NAME])}"
        title = f"{MARKER}\n### Changes from {sides}\n\n**{prose(summary_line(preview))}**\n"
        used = describe_configuration(preview.configuration, code, preview.old_configuration)
        title += f"\n{used}\n" if used else ""
        groups = group_changes(preview)
        sections = [
            _risks(preview.risks, style),
            _workloads(groups.workloads, table_style),
            *(_contents(group, style) for group in groups.contents),
            _fields(groups.workloads, style),
            _revisions(preview, table_style),
            _objects("objects", groups.objects, style),
            _objects("labels", groups.labels, style),
            _undecided(preview.undecided, style),
        ]
        text, omissions = truncate(sections, LIMIT - size_of(title), _NOTICE_SIZE)
        if text.count("\n") <= _OPEN_LINES:
            # No text from a manifest begins a line with `<`.
            text = text.replace(_FOLD, _OPEN_FOLD)
        return title + _notice(omissions) + text


def _notice(omissions: Sequence[str]) -> str:
    if not omissions:
        return ""
    return (
        f"\n> This comment leaves out {prose(', '.join(omissions))}, because a comment has a "
        "maximum length. `postrender diff --format text` shows the whole preview.\n"
    )


def _risks(risks: Iterable[Risk], style: Style) -> Section:
    """An alert, as GitHub and GitLab call it: a quotation that begins with its kind."""
    parts = []
    for group in group_risks(risks):
        facts, consequence = describe_risks(group, style)
        text: Callable[[str], str] = partial("> - {}: {risk}\n".format, risk=consequence)
        names = [code(_short(style.name(risk.identity))) for risk in group]
        kinds = [risk.identity.kind for risk in group]
        if facts:
            names, text = facts, partial("> - {risk}\n>   - {}\n".format, risk=consequence)
        joint = "\n>   - " if facts else ", "
        parts.append(_part(names, text, (Cut(_RISKS),), NOUNS["risks"], kinds, joint))
    return Section("\n> [!CAUTION]\n> **Risks**\n>\n" if parts else "", parts)


def _part(
    names: Sequence[str],
    text: Callable[[str], str],
    cuts: Iterable[Cut],
    noun: Forms,
    kinds: Sequence[str],
    joint: str = ", ",
) -> Part:
    """A part whose first cuts, if it has many names, leave out names.

    text: the text with the names.
    joint: what is between two names.
    cuts: further cuts. Each that makes the text shorter counts.
    """
    full = text(_listed(names, len(names), joint))
    limits = (_MOST_NAMES, _MANY_NAMES), (_NAMES, _FEW_NAMES)
    shorter = [
        Cut(stage, text(_listed(names, limit, joint)), "the names of", kinds[limit:])
        for stage, limit in limits
    ]
    shorter += [cut for cut in cuts if cut.text]
    useful = [cut for cut in shorter if size_of(cut.text) < size_of(full)]
    return Part(full, (*useful, *(cut for cut in cuts if not cut.text)), noun, kinds)


def _listed(names: Sequence[str], limit: int, joint: str = ", ") -> str:
    rest = len(names) - limit
    return joint.join(names[:limit]) + (f" {and_more(rest)}" if rest > 0 else "")


def _workloads(groups: Iterable[Group[WorkloadChange]], style: Style) -> Section:
    parts = [_row(group, style) for group in groups]
    return Section("\n| workload | effect | cause |\n| --- | --- | --- |\n" if parts else "", parts)


def _row(group: Group[WorkloadChange], style: Style) -> Part:
    members, shared, rest = group
    names = [
        describe_member(style.code(_short(style.name(item.identity))), item, shared)
        for item in members
    ]
    short, effect = EFFECTS[shared.effect].verb.one, describe_effect(shared)
    if shared.effect in (REFUSED, ROLLS):
        short, effect = f"**{short}**", effect.replace(short, f"**{short}**")
    replicas = "".join(f"<br>{line}" for line in _replicas(shared, style))
    cell = []
    for change in rest:
        if details := [*_replicas(change, style), *_causes(change, style)]:
            cell += [f"**{describe_rest(change, style)}**", *details]
    common = _causes(shared, style)
    title = [f"**{describe_shared(group)}**"] if cell and common else []
    causes = "<br>".join([*cell, *title, *common])
    kinds = ", ".join(
        dict.fromkeys(cause.kind for item in (*rest, shared) for cause in item.causes)
    )
    subject = ""
    if len(members) > 1:
        subject, verb = describe_group(group, style.prose)
        subject += f"{verb.partition(' alike')[2]}<br>"

    def text(names: str) -> str:
        return f"| {subject}{names} | {effect}{replicas} | {causes} |\n"

    brief = f"| {subject}{_listed(names, _FEW_NAMES)} | {short}{replicas} | {kinds} |\n"
    lost = "the causes of" if len(names) <= _FEW_NAMES else "the names and causes of"
    cuts = Cut(_CAUSES, brief, lost), Cut(_ROWS)
    return _part(names, text, cuts, NOUNS["workloads"], [item.identity.kind for item in members])


def _replicas(workload: WorkloadChange, style: Style) -> list[str]:
    fields = (field for field in workload.fields if field.path == _REPLICAS)
    return [describe_field(field, style).head for field in fields]


def _causes(workload: WorkloadChange, style: Style) -> list[str]:
    """The lines of a cell, in which a list is not possible."""
    described = (describe_cause(cause, style) for cause in workload.causes)
    causes = (line for one in described for line in one.lines(style))
    return [*causes, *describe_pods(workload, style)]


def _in_list(described: Description, indent: str = "") -> str:
    """A description as an item of a list."""
    lines = [f"- {described.head}", *(f"  - {part}" for part in described.parts)]
    if described.diff:
        lines += ["", *(f"  {line}" for line in _fenced(described.diff)), ""]
    return "".join(f"{indent if line else ''}{line}\n" for line in lines)


def _fenced(lines: Sequence[str]) -> list[str]:
    fence = "`" * max(3, max(map(_longest_ticks, lines), default=0) + 1)
    return [f"{fence}diff", *lines, fence]


def _contents(group: Group[ContentChange], style: Style) -> Section:
    members, shared, rest = group
    kinds = [member.identity.kind for member in members]
    noun = Forms(kinds[0], counted(2, kinds[0])[2:])
    keys = {key.key: key for change in (*rest, shared) for key in change.keys}
    parts = []
    if len(members) == 1:
        name = _code_in_html(_short(style.name(shared.identity)))
        summary = f"{name} {describe_change(shared.change)}"
    else:
        summary = " ".join(describe_group(group, _in_html))
        names = [code(_short(style.name(member.identity))) for member in members]
        parts = [_part(names, "\n{}\n".format, (Cut(_CONTENTS),), noun, kinds)]
    for change in rest:
        title = f"\n{capitalised(describe_rest(change, style))}\n"
        parts += _content(change, style, title, noun, kinds[:1])
    title = f"\n{capitalised(describe_shared(group))}\n" if rest else ""
    parts += _content(shared, style, title, noun, kinds)
    shown = listed([_code_in_html(_short(key)) for key in keys])
    return Section(_fold(summary + (f": {shown}" if shown else "")), parts, _END)


def _content(
    content: ContentChange, style: Style, title: str, noun: Forms, kinds: Sequence[str]
) -> Iterator[Part]:
    facts = "; ".join(describe_facts(content, style))
    text = title + (f"\n{facts[0].upper()}{facts[1:]}\n" if facts else "")
    fields = _in_lists(content.fields, style, "")
    if text or fields or not content.keys:
        full = f"{text}\n{fields}" if fields else text
        cuts = (Cut(_FIELDS, text, "the fields of"),) if fields else ()
        yield Part(full, (*cuts, Cut(_CONTENTS)), noun, kinds)
    yield from (_key(key, style) for key in content.keys)


def _key(key: KeyChange, style: Style) -> Part:
    if whole := describe_whole(key, style):
        verb = "" if key.change == CHANGED else f" {describe_change(key.change)}"
        text = f"- {code(_short(key.key))}{verb}: {whole}\n"
        return Part(text, (Cut(_KEYS),), _KEY_NOUN)
    change = f"{describe_change(key.change)} ({describe_key(key, style)})"
    title = f"\n**{code(_short(key.key))}** {change}"
    remark = f": {key.remark}" if key.remark else ""
    paths = "".join(f"- {part}\n" for part in describe_fields(key.fields, style))
    start = f"{title}{remark}\n" + (f"\n{paths}" if paths else "")
    lines = diff_lines(key)
    diff = "\n".join(["", *_fenced(lines), ""]) if lines else ""
    full = start + (f"{_fold('lines')}{diff}{_END}" if paths and diff else diff)
    brief = start if paths else f"{title}{remark}: the diff is left out\n"
    cuts: tuple[Cut, ...] = (Cut(_KEYS),)
    if lines and paths:
        cuts = (Cut(_LINES, brief, "the lines of"), *cuts)
    elif lines and len(full) > _LONG_DIFF:
        cuts = (Cut(_DIFFS, brief, "the diffs of"), *cuts)
    return Part(full, cuts, _KEY_NOUN)


def _fields(groups: Iterable[Group[WorkloadChange]], style: Style) -> Section:
    parts = []
    for members, shared, rest in groups:
        outside = (members, _without_replicas(shared), list(map(_without_replicas, rest)))
        if outside[1].fields or any(change.fields for change in outside[2]):
            parts.append(_item(outside, style, _OUTSIDE, _FIELD_NOUN))
    return _list(f"{TITLES['workloads']}, {OUTSIDE_TEMPLATE.many}", parts)


def _without_replicas(workload: WorkloadChange) -> WorkloadChange:
    return workload._replace(fields=tuple(f for f in workload.fields if f.path != _REPLICAS))


def _objects(section: str, groups: Iterable[Group[ObjectChange]], style: Style) -> Section:
    parts = [_item(group, style, _OBJECTS, NOUNS[section]) for group in groups]
    return _list(TITLES[section], parts)


def _item(group: Group[Any], style: Style, stage: int, noun: Forms) -> Part:
    """The fields of an object, or of a group; stage: that leaves out the whole item."""
    members, shared, rest = group
    names = [code(_short(style.name(member.identity))) for member in members]
    is_workload = isinstance(shared, WorkloadChange)
    verb = _ONE_SIDE.get(shared.change, "") if is_workload else describe_verb(shared)
    start, end = "- ", f" {verb}" if verb else ""
    body = ""
    if len(members) > 1:
        start, end = f"- {' '.join(describe_group(group, style.prose))}: ", ""
        body = f"  - {clause}\n" if not is_workload and (clause := explain_change(shared)) else ""
    for change in rest:
        if change.fields:
            body += f"  - {describe_rest(change, style)}\n"
            body += _in_lists(change.fields, style, "    ")
    if body and shared.fields and rest:
        body += f"  - {describe_shared(group)}\n"
    body += _in_lists(shared.fields, style, "    " if rest else "  ")
    brief = f"{start}{_listed(names, _FEW_NAMES)}{end}\n"
    is_kept = is_dangerous(shared.identity) or shared.change == REMOVED
    cuts = (
        Cut(_DANGEROUS if is_kept else _FIELDS, brief, "the fields of"),
        Cut(_DANGEROUS if is_kept else stage),
    )
    kinds = [member.identity.kind for member in members]
    return _part(names, lambda names: f"{start}{names}{end}\n{body}", cuts, noun, kinds)


def _in_lists(fields: Iterable[FieldChange], style: Style, indent: str) -> str:
    return "".join(_in_list(described, indent) for described in describe_object(fields, style))


def _list(title: str, parts: Sequence[Part]) -> Section:
    count = sum(len(part.kinds) for part in parts)
    return Section(f"{_fold(f'{title} ({count:,})')}\n", parts, _END) if parts else Section()


def _revisions(preview: Preview, style: Style) -> Section:
    shown = shown_revisions(preview)
    if not shown:
        return Section()
    title = f"{TITLES['revisions']} ({len(shown):,})"
    parts = [
        Part(
            f"| {revision_name(revision, style)} | {describe_revision(revision, style)} |\n",
            (Cut(_RISKS if revision.lost_owners else _REVISIONS),),
            NOUNS["revisions"],
        )
        for revision in shown
    ]
    return Section(f"{_fold(title)}\n| revision | status |\n| --- | --- |\n", parts, _END)


def _undecided(undecided: Sequence[Undecided], style: Style) -> Section:
    parts = [
        Part(
            f"- {code(item.location)}: "
            f"{sentences(style.prose(item.problem), style.prose(item.fix))}\n",
            (Cut(_UNDECIDED),),
            NOUNS["undecided"],
        )
        for item in undecided
    ]
    return Section(f"\n**{TITLES['undecided']}**\n\n" if parts else "", parts)


def _fold(summary: str) -> str:
    return f"{_FOLD}{summary}</summary>\n"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
