"""The words of a preview, in every format for readers: nouns, verbs, and phrases about one change.

A phrase does not contain markup; a Style formats the names and values in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from postrender.config.settings import IGNORE, RENAME
from postrender.diff.model import (
    ADDED,
    CHANGED,
    CONFIG,
    DELETED,
    ENDS,
    ENV,
    HOOK,
    IMAGE,
    IN_MANIFESTS,
    LEFT,
    NEXT_PODS,
    NEXT_RUN,
    NO_PODS,
    REFUSED,
    REMOVED,
    ROLLS,
    STARTS,
    STAYS,
    UNCHANGED,
    Cause,
    ContentChange,
    ObjectChange,
    RevisionChange,
    Risk,
    WorkloadChange,
    change_of,
)
from postrender.diff.values import (
    MARKS,
    Description,
    Forms,
    Style,
    braced,
    count_kinds,
    describe_field,
    describe_values,
    listed,
    name_of,
)
from postrender.errors import sentences
from postrender.records import NamedTuple, grouped
from postrender.text import conjoined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from postrender.diff.alike import AnyChange
    from postrender.diff.groups import Group

# The title of each section, by the section's field in Preview.
TITLES = {
    "risks": "Risks",
    "workloads": "Workloads",
    "contents": "ConfigMaps and Secrets",
    "revisions": "Revisions",
    "objects": "Other objects",
    "labels": "Shared labels",
    "undecided": "Undecided parts",
    "graph": "References",
}

# The items of each section.
NOUNS = {
    "risks": Forms("risk", "risks"),
    "workloads": Forms("workload", "workloads"),
    "contents": Forms("ConfigMap or Secret", TITLES["contents"]),
    "revisions": Forms("revision", "revisions"),
    "objects": Forms("other object", "other objects"),
    "labels": Forms("object with shared labels", "objects with shared labels"),
    "undecided": Forms("undecided part", "undecided parts"),
}

CHANGES = {
    ADDED: Forms("is added", "are added"),
    REMOVED: Forms("is removed", "are removed"),
    CHANGED: Forms("changes", "change"),
    UNCHANGED: Forms("is only renamed", "are only renamed"),
}


# Parts of an object that most changes are not about.
OUTSIDE_DATA = Forms("outside its data", "outside their data")
OUTSIDE_TEMPLATE = Forms("outside its pod template", "outside their pod templates")


class Effect(NamedTuple):
    """The words for an effect.

    explained: what follows the verb for one workload.
    badge: the words in a badge of the HTML page, "" for the effect itself.
    drawn: the words in a box of the graph, "" for the verb.
    """

    verb: Forms
    explained: str = ""
    badge: str = ""
    drawn: str = ""


# In order of importance to a reader: failures first, then workloads that roll.
EFFECTS = {
    REFUSED: Effect(
        Forms("is rejected by the API server", "are rejected by the API server"),
        badge="rejected",
        drawn="rejected by the API server",
    ),
    ROLLS: Effect(Forms("rolls", "roll")),
    HOOK: Effect(
        Forms("runs again", "run again"),
        explained=": Helm or Argo CD deletes and re-creates the hook",
        drawn="hook, runs again",
    ),
    NEXT_RUN: Effect(
        Forms("uses the change on its next run", "use the change on their next run"),
        explained=", and does not roll",
    ),
    NEXT_PODS: Effect(
        Forms("changes only new pods", "change only new pods"), explained=", and does not roll"
    ),
    STARTS: Effect(Forms("is added", "are added"), drawn="starts"),
    ENDS: Effect(Forms("is removed", "are removed"), drawn="ends"),
    NO_PODS: Effect(Forms("does not have its own pods", "do not have their own pods")),
    STAYS: Effect(Forms("does not roll", "do not roll"), badge="no roll"),
}

# The phrases for a revision that a workload still uses, but that Kubernetes deletes.
LOST = Forms("revision in use", "revisions in use")

# More names of one kind than this have braces, such as `ConfigMap/web-{a, b, c}`.
_MOST_NAMES = 3
_KEPT_NAMES = Forms("the object keeps its name", "the objects keep their names")


def mark_of(change: AnyChange) -> str:
    """`+`, `-`, `~` or `=`. An unchanged workload counts as changed if its effect is not STAYS."""
    if isinstance(change, WorkloadChange) and change.change == UNCHANGED and change.effect != STAYS:
        return MARKS[CHANGED]
    return MARKS[change.change]


def describe_configuration(
    file: str | None, code: Callable[[str], str], old_file: str | None = None
) -> str:
    """The configuration file that a report used; "" for None.

    code: the form of the path.
    old_file: the file for the older manifests, None for one file.
    """
    if file is None:
        return ""
    if old_file is not None:
        old, new = (code(name) if name else "no file" for name in (old_file, file))
        return f"Configuration: {old} for OLD, {new} for NEW"
    return f"Configuration: {code(file)}" if file else "No configuration file"


def describe_change(change: str) -> str:
    """The verb for a change of one object: `changes`, `is added`."""
    return CHANGES[change].one


def describe_effect(workload: WorkloadChange) -> str:
    """The effect on a workload, such as `rolls (3 pods)`. Some effects include an explanation."""
    effect, replacement = EFFECTS[workload.effect], workload.replacement
    return effect.verb.one + effect.explained + (f" ({replacement})" if replacement else "")


def describe_pods(workload: WorkloadChange, style: Style) -> list[str]:
    """Phrases about a shared pod template, and about content that changes in place."""
    phrases = []
    if workload.via:
        phrases.append(f"uses the pod template of {style.code(style.name(workload.via))}")
    if workload.in_place:
        names = ", ".join(style.code(style.name(target)) for target in workload.in_place)
        reason = _KEPT_NAMES.of(len(workload.in_place))
        phrases.append(
            f"pods read the new content of {names} after a restart"
            f"{', or earlier in mounted files' if workload.is_mounted else ''}, because {reason}"
        )
    elif workload.is_mounted:  # in a group
        phrases.append("pods read new content earlier, in mounted files")
    return phrases


def describe_cause(cause: Cause, style: Style) -> Description:
    """The reason for a change of a pod template: `image of app: shop:1 -> shop:2`."""
    if cause.kind == CONFIG and cause.subject:
        keys = listed([style.code(key) for key in cause.keys])
        phrase = f"{style.code(style.name(cause.subject))}: {style.prose(cause.reason)}"
        return Description(f"{phrase} ({keys})" if keys else phrase)
    if cause.kind in (IMAGE, ENV):
        part = "image" if cause.kind == IMAGE else style.code(cause.variable)
        subject = f"{part} of {style.code(cause.container)}"
        change = change_of(cause.old, cause.new)
        return describe_values(subject, change, cause.old, cause.new, style)
    if cause.field:
        return describe_field(cause.field, style)
    return Description(f"{style.prose(cause.reason)}: {', '.join(map(style.code, cause.keys))}")


def brief_cause(cause: Cause) -> str:
    """A name or one or two words for a list of causes."""
    if cause.kind == CONFIG and cause.subject:
        return cause.subject.name
    return {IMAGE: "image", ENV: "env"}.get(cause.kind, "pod template")


def describe_facts(change: AnyChange, style: Style) -> list[str]:
    """The phrases about a change, except for its causes, fields and keys."""
    if isinstance(change, WorkloadChange):
        return describe_pods(change, style)
    if isinstance(change, ObjectChange):
        return []
    return [
        *describe_names(change, style),
        *_fates(change, style),
        *_shared_facts(change, style),
        *describe_users(change, style),
    ]


def describe_verb(change: AnyChange) -> str:
    """What happens to one object: its effect, for a workload, or the verb for its change."""
    if isinstance(change, WorkloadChange):
        return describe_effect(change)
    note = change.note if isinstance(change, ObjectChange) else ""
    return describe_change(change.change) + (f" ({note})" if note else "")


def explain_change(change: AnyChange) -> str:
    """A clause about the effect on a workload or about an object, "" if the verb says all."""
    if isinstance(change, WorkloadChange):
        effect = describe_effect(change)
        return "" if effect == EFFECTS[change.effect].verb.one else effect
    return change.note if isinstance(change, ObjectChange) else ""


def own_replacement(member: AnyChange, shared: AnyChange) -> str:
    """How the pods of a workload of a group are replaced, "" if that is shared."""
    replacement: str = getattr(member, "replacement", "")
    return "" if replacement == getattr(shared, "replacement", "") else replacement


def describe_member(name: str, member: AnyChange, shared: AnyChange) -> str:
    """The name of an object of a group, with how its pods are replaced if that is not shared."""
    replacement = own_replacement(member, shared)
    return f"{name} ({replacement})" if replacement else name


def describe_group(group: Group[Any], prose: Callable[[str], str]) -> tuple[str, str]:
    """The subject and the verb of a group: `3 workloads`, `roll alike (1 Deployment, 2 Jobs)`.

    prose: a function that formats a text. A manifest may have any text as its kind.
    """
    members, change, _ = group
    kinds = Counter(member.identity.kind for member in members)
    counts = [prose(count) for count in count_kinds(kinds)]
    is_workload = isinstance(change, WorkloadChange)
    verb = EFFECTS[change.effect].verb if is_workload else CHANGES[change.change]
    if len(counts) == 1:
        return counts[0], f"{verb.many} alike"
    noun = NOUNS["workloads"].many if is_workload else "objects"
    return f"{len(members):,} {noun}", f"{verb.many} alike ({', '.join(counts)})"


def describe_rest(change: AnyChange, style: Style) -> str:
    """The line above what one object of a group has and the others do not."""
    return f"besides, in {style.code(style.name(change.identity))}:"


def describe_shared(group: Group[Any]) -> str:
    """The line above what all objects of a group have in common, "" if they share everything."""
    return f"in {'both' if len(group[0]) == 2 else f'all {len(group[0]):,}'}:" if group[2] else ""


def describe_members(members: Iterable[AnyChange], shared: AnyChange, style: Style) -> str:
    """The names of the objects of a group, with each namespace once. Many names have braces."""
    runs: dict[str, dict[str, list[str]]] = {}
    for member in members:
        namespace = member.identity.namespace
        end = f" in {namespace}" if namespace else ""
        name = style.name(member.identity).removesuffix(end)
        described = describe_member(style.code(name), member, shared)
        kinds = runs.setdefault(end, {})
        kinds.setdefault(member.identity.kind, []).append(described)
    return "; ".join(
        f"{', '.join(_names_of(names) for names in kinds.values())}{style.code(end)}"
        for end, kinds in runs.items()
    )


def _names_of(names: Sequence[str]) -> str:
    """Names of one kind. Braces share a part of the name, not only the kind."""
    kind, _, _ = names[0].partition("/")
    short = braced([name.removeprefix(f"{kind}/") for name in names])
    is_short = len(names) > _MOST_NAMES and short.endswith("}")
    return f"{kind}/{short}" if is_short else ", ".join(names)


def describe_names(content: ContentChange, style: Style) -> list[str]:
    """The names of the revisions."""
    old, new = content.old_revision, content.new_revision
    if not {old, new} - {"", content.identity.name}:
        return []
    if old and new and old != new:
        return [style.both(old, new)]
    return [style.code(new or old)]


def _fates(content: ContentChange, style: Style) -> list[str]:
    """The sentence about the old revision, if old pods use it."""
    fate = content.fate
    if fate is None:
        return []
    name = style.code(content.old_revision) if content.old_revision else "the old revision"
    if fate.outcome == DELETED:
        effect = "start without it" if fate.is_optional else "cannot start"
        return [
            f"{name} is DELETED on apply by Helm, Argo CD or Flux: old pods that restart {effect}"
        ]
    if fate.outcome == IN_MANIFESTS:
        return [f"old pods keep {name}, which stays in the manifests"]
    if fate.outcome == LEFT:
        return [f"old pods keep {name}, and no attacher deletes it later"]
    if not fate.holders:
        return [f"old pods keep {name} until no object uses it"]
    limits = " to ".join(f"{limit:,}" for limit in dict.fromkeys((fate.limits[0], fate.limits[-1])))
    holders = conjoined(list(fate.holders))
    return [f"old pods keep {name} until their {holders} are pruned (history {limits})"]


def _shared_facts(content: ContentChange, style: Style) -> list[str]:
    phrases = []
    if content.reason:
        phrases.append(f"not renamed, because {style.prose(content.reason)}")
    elif content.strategy not in (RENAME, IGNORE, ""):
        phrases.append(f"strategy {style.code(content.strategy)}")
    if content.note:
        phrases.append(style.prose(content.note))
    if content.identity.kind == "Secret" and content.change == CHANGED:
        phrases.append(_describe_parts(content.parts))
    return phrases


def _describe_parts(parts: Sequence[str]) -> str:
    """What changes in a Secret, such as `only the labels change`."""
    names = [f"the {part}" for part in parts]
    is_plural = len(parts) > 1 or "".join(parts) in ("labels", "annotations")
    verb = "change" if is_plural else "changes"
    if parts and "data" not in parts:
        return f"only {conjoined(names)} {verb}"
    return f"{conjoined(names or ['the data'])} {verb}, and diff does not show the content"


def describe_users(content: ContentChange, style: Style) -> list[str]:
    """Who references an object, and who no longer does."""
    current = [user for user in content.users if user not in content.former]
    still = "still " if content.change == REMOVED else ""
    return [
        f"{verb} {listed([style.code(style.name(user)) for user in users])}"
        for verb, users in (
            (f"{still}referenced by", current),
            ("no longer referenced by", content.former),
        )
        if users
    ]


def describe_risks(risks: Sequence[Risk], style: Style) -> tuple[list[str], str]:
    """The facts of a group of risks, each with its objects, and what follows from all of them.

    If all have one fact, it is a part of what follows, and the list is empty.
    """
    by_fact = grouped(risks, lambda risk: (risk.path, risk.fact))
    first, end = risks[0], f"({style.code(risks[0].code)})"
    if len(by_fact) == 1:
        path = f"{style.code(first.path)}: " if first.path else ""
        return [], f"{path}{style.prose(sentences(first.fact, first.consequence))} {end}"
    facts = []
    for (path, fact), same in by_fact.items():
        names = [style.code(style.name(risk.identity)) for risk in same]
        place = [style.code(path)] if path else []
        facts.append(": ".join([", ".join(names), *place, style.prose(fact)]))
    return facts, f"{style.prose(sentences(first.consequence))} {end}"


def describe_revision(revision: RevisionChange, style: Style) -> str:
    """What happens to a revision that the change drops, or whose owners it deletes."""
    if not revision.lost_owners:
        return "earlier revision, dropped from the manifests"
    owners = conjoined([style.code(owner) for owner in revision.lost_owners])
    return f"deleted by Kubernetes while in use, because the change deletes all owners ({owners})"


def revision_name(revision: RevisionChange, style: Style) -> str:
    """The name of a revision, or a phrase with the base name if the name is redacted."""
    if not revision.name:
        return f"a revision of {style.code(style.name(revision.identity))}"
    return style.code(name_of(revision.identity._replace(name=revision.name)))
