"""The words for what a preview says, the same in every format, and values cut to a short text.

Nothing here knows of markup. Where a sentence holds what comes from manifests, the format says with
a Style how that is written.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Sized

from postrender.diff.compare.redact import SHOWN
from postrender.diff.model import (
    ADDED,
    CHANGED,
    CONFIG,
    DROPPED,
    ENDS,
    ENV,
    HOOK,
    IMAGE,
    NEW,
    NEXT_PODS,
    NEXT_RUN,
    NO_PODS,
    REFUSED,
    REMOVED,
    RETAINED,
    REUSED,
    ROLLS,
    STARTS,
    STAYS,
    SUPERSEDED,
    UNCHANGED,
    Cause,
    ContentChange,
    FieldChange,
    Hunk,
    KeyChange,
    ObjectChange,
    Preview,
    RevisionChange,
    WorkloadChange,
    change_of,
)
from postrender.diff.wording.grouping import find_alike
from postrender.kubernetes.kinds import Identity
from postrender.startup.patterns import pattern
from postrender.startup.records import NamedTuple
from postrender.text.escapes import visible
from postrender.yaml.paths import Json

# What the parts of a preview are called, by their names in it.
TITLES = {
    "workloads": "Workloads",
    "contents": "ConfigMaps and Secrets",
    "revisions": "Revisions",
    "objects": "Other objects",
    "undecided": "Undecided",
    "graph": "Who names what",
}

MARKS = {ADDED: "+", REMOVED: "-", CHANGED: "~", UNCHANGED: "="}

CHANGES = {
    ADDED: ("is added", "are added"),
    REMOVED: ("is removed", "are removed"),
    CHANGED: ("changes", "change"),
    UNCHANGED: ("changes its name only", "change their names only"),
}

# What a reader must know first stands first: what will fail, then what restarts.
EFFECTS = {
    REFUSED: ("is refused", "are refused"),
    ROLLS: ("rolls", "roll"),
    HOOK: ("runs anew", "run anew"),
    NEXT_RUN: ("changes with its next run", "change with their next run"),
    NEXT_PODS: ("changes with its next pods", "change with their next pods"),
    STARTS: ("is added", "are added"),
    ENDS: ("is removed", "are removed"),
    NO_PODS: ("has no pods of its own", "have no pods of their own"),
    STAYS: ("restarts nothing", "restart nothing"),
}
_RANKS = {effect: rank for rank, effect in enumerate(EFFECTS)}

_REASONS = {
    HOOK: "runs anew: it is a hook, which is deleted and made again",
    NEXT_RUN: "restarts nothing: what runs next has the new pod template",
    NEXT_PODS: "restarts nothing: pods stay, and those that replace them have the new pod template",
}

_UNCHANGED_VERBS = ("stays as it is", "stay as they are")

# Of a field whose values say nothing: by base names, or as they are read, they are the same.
IN_ANOTHER_WAY = "is written in another way"
NO_NEWLINE = r"\ No newline at end of file"  # as diff(1) has it
_MOST_ITEMS = 12
_CONTEXT = 20

# Strings that would read as something else without quotes.
_OTHER_TYPE = pattern(
    r"(?:null|~|true|false|yes|no|on|off|[-+]?[0-9_]*\.?[0-9]+(?:e[-+]?[0-9]+)?|0x[0-9a-f]+"
    r"|0o[0-7]+|[\[{\"'].*)?\Z",
    re.IGNORECASE,
)


def name_of(identity: Identity) -> str:
    """Return what an object is called: `DaemonSet/agent in kube-system`."""
    return f"{identity} in {identity.namespace}" if identity.namespace else str(identity)


class Style(NamedTuple):
    """How a format writes what comes from manifests.

    code: a name, a path or a value; prose: a sentence with such in it; name: of an object, before
    code; limit: how many characters of a value are shown; arrow: from an old value to a new one.
    """

    code: Callable[[str], str] = str
    prose: Callable[[str], str] = str
    name: Callable[[Identity], str] = name_of
    limit: int = 120
    arrow: str = "->"


PLAIN = Style()
"""As it stands in the manifests: for a format that escapes whole sentences."""


def namer(preview: Preview) -> Callable[[Identity], str]:
    """Return what calls each object of a preview by a name that no other one has.

    The group is said only where kind, namespace and name alone would mean two objects: an Ingress
    that goes from one group to another.
    """
    known = {each.identity for each in preview.contents}
    known |= {each.identity for each in preview.workloads}
    known |= {each.identity for each in preview.objects}
    counts = Counter(identity[1:] for identity in known)

    def name(identity: Identity) -> str:
        if counts[identity[1:]] > 1 and identity.group:
            identity = identity._replace(kind=f"{identity.kind}.{identity.group}")
        return name_of(identity)

    return name


def alike_by_effect(workloads: Iterable[WorkloadChange]) -> list[list[WorkloadChange]]:
    """Return groups of workloads that change alike, in the order in which a reader wants them."""
    return sorted(find_alike(workloads), key=lambda group: _RANKS[group[0].effect])


def describe_more(others: Sized) -> str:
    """Return what stands before others of a group, after the one that is told in full."""
    return f"the same in {len(others):,} more:"


def describe_all(group: Sized) -> str:
    """Return what stands before all of a group, after what changes in them."""
    return "the same in both" if len(group) == 2 else f"the same in all {len(group):,}"


def and_more(others: Sized) -> str:
    """Return what stands after the first of several, where the others are not named."""
    return f"and {len(others):,} more"


def summary_line(preview: Preview) -> str:
    """Return in one sentence, without a full stop, what a change does.

    `1 Rollout rolls, 2 ConfigMaps change, 1 new revision; 3 other objects change`
    """
    main = [*_workloads(preview), *_contents(preview), *_revisions(preview)]
    others = Counter(each.change for each in preview.objects)
    rest: list[str] = []
    for change in (CHANGED, ADDED, REMOVED):
        if count := others[change]:
            what = f"{count:,}" if rest else _count(count, "other object")
            rest.append(f"{what} {_verb(CHANGES[change], count)}")
    if not main and not rest and preview.has_changes:
        main = ["other changes of pod templates and revisions"]
    none = f"no changes of {_and(preview.only)}" if preview.only else "no changes"
    clauses = [", ".join(group) for group in (main, rest) if group] or [none]
    if preview.undecided:
        clauses.append(f"{_count(len(preview.undecided), 'thing')} undecided")
    return "; ".join(clauses)


def _contents(preview: Preview) -> list[str]:
    verbs = {
        CHANGED: CHANGES[CHANGED],
        "": ("changes outside of its data", "change outside of their data"),
        ADDED: CHANGES[ADDED],
        REMOVED: CHANGES[REMOVED],
        UNCHANGED: CHANGES[UNCHANGED],
    }
    counts = {change: Counter[str]() for change in verbs}
    for each in preview.contents:
        counts["" if _keeps_its_data(each) else each.change][each.identity.kind] += 1
    return [_clause(kinds, verbs[change]) for change, kinds in counts.items() if kinds]


def _keeps_its_data(content: ContentChange) -> bool:
    """Tell whether a ConfigMap changes and its data does not; of a Secret that is not known."""
    return content.change == CHANGED and bool(content.fields) and not content.keys


def _workloads(preview: Preview) -> list[str]:
    counts = {effect: Counter[str]() for effect in (ROLLS, *EFFECTS)}
    in_place = Counter[str]()
    templates = {each.via for each in preview.workloads}
    for each in preview.workloads:
        if each.effect == NO_PODS and each.identity in templates:
            continue  # said of the workload that has the pods
        is_changed = each.effect != STAYS or each.change != UNCHANGED
        (counts[each.effect] if is_changed else in_place)[each.identity.kind] += 1
    verbs = {**EFFECTS, STAYS: ("changes without a restart", "change without a restart")}
    clauses = [_clause(kinds, verbs[effect]) for effect, kinds in counts.items() if kinds]
    if in_place:
        clauses.append(
            _clause(in_place, ("reads new content in place", "read new content in place"))
        )
    return clauses


def _revisions(preview: Preview) -> list[str]:
    counts = Counter(each.change for each in preview.revisions)
    kinds = (NEW, DROPPED)
    return [_count(counts[change], f"{change} revision") for change in kinds if counts[change]]


def _clause(kinds: Counter[str], verb: tuple[str, str]) -> str:
    """Return `2 Rollouts and 1 Job change`."""
    return f"{_and([_count(count, kind) for kind, count in kinds.items()])} " + _verb(
        verb, sum(kinds.values())
    )


def _verb(forms: tuple[str, str], count: int) -> str:
    return forms[count != 1]


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("s" if count != 1 else "")


def _and(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)


def mark_of(change: WorkloadChange | ContentChange | ObjectChange) -> str:
    """Return the mark of a change; a workload that rolls has that of one that changes."""
    if isinstance(change, WorkloadChange) and change.change == UNCHANGED and change.effect != STAYS:
        return MARKS[CHANGED]
    return MARKS[change.change]


def describe_change(change: str) -> str:
    """Return what one object does: `changes`, `is added`."""
    return CHANGES[change][0]


def describe_effect(workload: WorkloadChange) -> str:
    """Return what becomes of a workload, and where it needs one the reason: `rolls`."""
    effect = workload.effect
    words = EFFECTS[effect][0]
    if effect == REFUSED:
        what = "a Pod" if workload.identity.kind == "Pod" else "a Job's pod template"
        return f"{words}: {what} cannot change; delete it first or give it another name"
    return _REASONS.get(effect, words)


def describe_in_place(workload: WorkloadChange, style: Style) -> str:
    """Return what running pods may read anew; "" where there is none."""
    if not workload.in_place:
        return ""
    names = listed([style.code(style.name(each)) for each in workload.in_place])
    verb = "their names stay" if workload.in_place[1:] else "its name stays"
    return f"pods read the new content of {names} when they restart, or before: {verb}"


def describe_via(workload: WorkloadChange, style: Style) -> str:
    """Return whose pod template a workload uses; "" for its own."""
    return (
        f"with the pod template of {style.code(style.name(workload.via))}" if workload.via else ""
    )


def describe_cause(cause: Cause, style: Style) -> str:
    """Return why a pod template changes: `image of app: shop/web:1 -> shop/web:2`."""
    if cause.kind == CONFIG and cause.subject:
        keys = listed([style.code(key) for key in cause.keys])
        words = f"{style.code(style.name(cause.subject))}: {style.prose(cause.what)}"
        return f"{words} ({keys})" if keys else words
    if cause.kind == IMAGE:
        what = f"image of {style.code(cause.container)}"
        return _from_to(what, change_of(cause.old, cause.new), cause.old, cause.new, style)
    if cause.kind == ENV:
        what = f"{style.code(cause.what)} of {style.code(cause.container)}"
        return _from_to(what, change_of(cause.old, cause.new), cause.old, cause.new, style)
    return describe_field(cause.field, style) if cause.field else style.prose(cause.what)


def describe_field(field: FieldChange, style: Style) -> str:
    """Return how a field changes: `spec.replicas: 2 -> 3`, `spec.paused added: true`."""
    path = field.path.removesuffix("[]")
    what = style.code(path) if path == field.path else f"order of {style.code(path)}"
    return _from_to(what, field.change, field.old, field.new, style)


def _from_to(what: str, change: str, old: Json, new: Json, style: Style) -> str:
    if old is None and new is None:
        return f"{what} {IN_ANOTHER_WAY}"
    if old == new == SHOWN:
        return f"{what}: another value {SHOWN}"
    if change == CHANGED:
        before, after = _pair(old, new, style)
        return f"{what}: {before} {style.arrow} {after}"
    return f"{what} {change}: {describe_value(new if change == ADDED else old, style)}"


def describe_value(value: Json, style: Style) -> str:
    """Return a value, cut to the style's limit: then its length is said."""
    return _cut(_text_of(value), 0, style)


def _pair(old: Json, new: Json, style: Style) -> tuple[str, str]:
    """Return two values, of which long ones begin shortly before they differ."""
    before, after = _text_of(old), _text_of(new)
    start = 0
    if max(len(before), len(after)) > style.limit:
        common = _common_length(before, after)
        start = common - _CONTEXT if common > style.limit // 2 else 0
    return _cut(before, start, style), _cut(after, start, style)


def _cut(text: str, start: int, style: Style) -> str:
    if not start and len(text) <= style.limit:
        return style.code(text)
    end = start + style.limit
    shown = ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
    return f"{style.code(shown)} ({_count(len(text), 'character')})"


def _common_length(one: str, other: str) -> int:
    """Return how many characters two texts have in common from the start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _text_of(value: Json) -> str:
    """Return a value on one line, as JSON, but text without quotes where it cannot be misread."""
    if isinstance(value, str):
        is_plain = value.isprintable() and value == value.strip()
        if is_plain and not _OTHER_TYPE.match(value):
            return value
    return json.dumps(value, ensure_ascii=False, default=str)


def describe_key(key: KeyChange, style: Style = PLAIN) -> str:
    """Return how a key changes: `+2 -1`, `binary, 2,048 bytes, sha256 … -> text, +3`."""
    added = sum(1 for hunk in key.hunks for line in hunk.lines if line.sign == "+")
    removed = sum(1 for hunk in key.hunks for line in hunk.lines if line.sign == "-")
    counts = ((added, f"+{added}"), (removed, f"-{removed}"))
    lines = " ".join(text for count, text in counts if count) or "empty"
    if not key.old_blob and not key.new_blob:
        return lines
    sides = [
        f"binary, {_count(blob.size, 'byte')}, sha256 {blob.digest[:12]}" if blob else ""
        for blob in (key.old_blob, key.new_blob)
    ]
    if key.change == CHANGED:
        return f" {style.arrow} ".join(side or f"text, {lines}" for side in sides)
    return sides[0] or sides[1]


def hunk_header(old: int, old_count: int, new: int, new_count: int) -> str:
    """Return the line over a hunk, as diff(1) has it: a count of one is not said."""
    return f"@@ -{_range(old, old_count)} +{_range(new, new_count)} @@"


def _range(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"


def shown_hunks(key: KeyChange) -> tuple[Hunk, ...]:
    """Return the hunks of a key, where a line break at the end is told only if it comes or goes.

    Most values of one line have none, on either side.
    """
    if _tells_ends(key):
        return key.hunks
    return tuple(
        hunk._replace(lines=tuple(line._replace(is_open=False) for line in hunk.lines))
        for hunk in key.hunks
    )


def _tells_ends(key: KeyChange) -> bool:
    """Tell whether it says something that a text ends without a line break.

    Not where both sides do, or the only one there is.
    """
    lines = [line for hunk in key.hunks for line in hunk.lines]
    old = [line for line in lines if line.sign != "+"]
    new = [line for line in lines if line.sign != "-"]
    if not (old and new):
        return False
    if any(line.is_open for line in old) != any(line.is_open for line in new):
        return True
    # Of two lines that look the same one is the last.
    changed = [line for line in lines if line.sign != " "]
    return any(
        not other.is_open and one.sign != other.sign and one.text == other.text
        for one in changed
        if one.is_open
        for other in changed
    )


def diff_lines(key: KeyChange) -> list[str]:
    """Return the unified diff of a key, in which tabs stay and nothing else is unseen."""
    lines = []
    for hunk in shown_hunks(key):
        lines.append(hunk_header(hunk.old, hunk.old_count, hunk.new, hunk.new_count))
        for line in hunk.lines:
            lines.append(line.sign + visible(line.text, keep="\t"))
            if line.is_open:
                lines.append(NO_NEWLINE)
    return lines


def describe_content(content: ContentChange, style: Style) -> list[str]:
    """Return what there is to say of a ConfigMap or Secret besides its keys, one thing each."""
    return [
        *_describe_names(content, style),
        *describe_shared(content, style),
        *_describe_users(content, style),
    ]


def describe_own(content: ContentChange, style: Style) -> list[str]:
    """Return what of these words may be so of no other one that changes alike."""
    return [*_describe_names(content, style), *_describe_users(content, style)]


def describe_shared(content: ContentChange, style: Style) -> list[str]:
    """Return what of these words is so of all that change alike."""
    words = []
    if content.strategy == "ignore":
        words.append(f"not revised (strategy {style.code(content.strategy)})")
    elif content.strategy != "rename":
        words.append(f"strategy {style.code(content.strategy)}")
    if content.note:
        words.append(style.prose(content.note))
    if content.identity.kind == "Secret" and content.change == CHANGED:
        words.append("what it holds is not shown")
    return words


def _describe_users(content: ContentChange, style: Style) -> list[str]:
    present = [each for each in content.users if each not in content.former]
    return [
        f"{what} {listed([style.code(style.name(each)) for each in users])}"
        for what, users in (("named by", present), ("no longer named by", content.former))
        if users
    ]


def _describe_names(content: ContentChange, style: Style) -> list[str]:
    """Return by what names workloads have it; nothing where that is its base name."""
    old, new = content.old_revision, content.new_revision
    if not {old, new} - {"", content.identity.name}:
        return []
    if old and new and old != new:
        return [f"{style.code(old)} {style.arrow} {style.code(new)}"]
    return [style.code(new or old)]


def shown_revisions(preview: Preview) -> tuple[list[RevisionChange], list[RevisionChange]]:
    """Return revisions worth a line each, and the others.

    Not worth one: what stays as it is of a ConfigMap or Secret whose data does not change.
    """
    changed = {
        each.identity
        for each in preview.contents
        if each.old_revision != each.new_revision or not _keeps_its_data(each)
    }
    # Of contents that are not asked for (`--only`) too, their revisions say it.
    changed |= {
        each.identity for each in preview.revisions if each.change not in (REUSED, RETAINED)
    }
    told: list[RevisionChange] = []
    others: list[RevisionChange] = []
    for each in preview.revisions:
        (told if each.identity in changed else others).append(each)
    return told, others


def describe_other_revisions(others: Sized) -> str:
    """Return how many other revisions there are, besides those that are told."""
    return f"{_count(len(others), 'other revision')} {_verb(_UNCHANGED_VERBS, len(others))}"


def describe_revision(revision: RevisionChange) -> str:
    """Return what becomes of a revision."""
    if revision.change == SUPERSEDED:
        stays = "stays as an earlier one" if revision.is_retained else "leaves the manifests"
        return f"superseded, {stays}"
    return {
        NEW: "new",
        REUSED: "reused, its content is there already",
        RETAINED: "stays as an earlier one",
        DROPPED: "an earlier one, leaves the manifests",
    }[revision.change]


def revision_name(revision: RevisionChange, style: Style) -> str:
    """Return what a revision is called; that of a Secret only by the Secret's base name."""
    if not revision.name:
        return f"a revision of {style.code(style.name(revision.identity))}"
    return style.code(name_of(revision.identity._replace(name=revision.name)))


def listed(parts: Sequence[str]) -> str:
    """Return `a, b, c`, of many the first ones and how many more there are."""
    if len(parts) > _MOST_ITEMS:
        return f"{', '.join(parts[:_MOST_ITEMS])} {and_more(parts[_MOST_ITEMS:])}"
    return ", ".join(parts)
