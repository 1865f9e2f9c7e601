"""What a render would do and why, as a model that is built once and printed by a format."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from postrender.errors import Finding
from postrender.items import Item
from postrender.objects import Identity
from postrender.plan import Plan
from postrender.planning.links import Link, by_target
from postrender.preview.base_names import hidden_names
from postrender.preview.model import Graph
from postrender.preview.plan_graph import plan_graph
from postrender.startup.records import NamedTuple
from postrender.words import replace_words


class User(NamedTuple):
    """An object that names a ConfigMap: where it stands, and whether its reference follows."""

    identity: str
    place: str
    follows: bool


class Entry(NamedTuple):
    """What happens to one ConfigMap or Secret, and why."""

    identity: str
    namespace: str
    strategy: str
    reason: str
    revision: str
    keeps_original: str
    set_name: str
    users: tuple[User, ...]


class Earlier(NamedTuple):
    """What becomes of one object of earlier outputs, and why; order: 0 for an original."""

    identity: str
    namespace: str
    base_name: str
    order: int
    what: str
    reason: str


class Explanation(NamedTuple):
    """A whole stream explained.

    mode: of the attacher Jobs, with the reason; sets: their names; graph: who names what.
    """

    entries: tuple[Entry, ...]
    earlier: tuple[Earlier, ...]
    sets: tuple[str, ...]
    mode: str
    mode_reason: str
    findings: tuple[Finding, ...]
    graph: Graph = Graph()


def explain(plan: Plan) -> Explanation:
    """Return what a plan does to each ConfigMap and Secret of the stream."""
    choices = plan.choices
    if choices is None:
        return Explanation((), (), (), "", "", plan.findings)
    links = by_target(link for links in choices.links.values() for link in links)
    set_of = {
        (choices.resolver.home_of(each.namespace), name): each.name
        for each in plan.sets
        for name in each.emitted
    }
    hidden = hidden_names(choices)
    entries = []
    for key, decision in choices.decisions.items():
        item = decision.item
        name = choices.revision_of(item)
        home = choices.resolver.home_of(item.identity.namespace)
        entries.append(
            Entry(
                replace_words(str(item.identity), hidden),
                item.identity.namespace or "",
                decision.strategy,
                decision.reason,
                "" if name in hidden else name,
                decision.keep_reason,
                set_of.get((home, (item.identity.kind.lower(), name)), ""),
                tuple(_users(plan, item, links.get(key, []), hidden)),
            )
        )
    is_attached = choices.settings.attacher.is_enabled and bool(plan.sets)
    mode, reason = plan.mode if is_attached else ("", "")
    sets_ = tuple(each.name for each in plan.sets) if is_attached else ()
    earlier = tuple(
        Earlier(
            replace_words(str(past.identity), hidden),
            past.identity.namespace or "",
            past.base_name,
            past.order,
            each.what,
            each.reason,
        )
        for each in choices.carried
        if (past := each.past)
    )
    findings = tuple(_shown(finding, hidden) for finding in plan.findings)
    graph = plan_graph(plan, hidden)
    return Explanation(tuple(entries), earlier, sets_, mode, reason, findings, graph)


def _shown(finding: Finding, hidden: Mapping[str, str]) -> Finding:
    """Return a finding as it may be told beside what Secrets there are."""
    what, remedy = (replace_words(text, hidden) for text in (finding.what, finding.remedy))
    place = finding.place._replace(subject=replace_words(finding.place.subject, hidden))
    return finding._replace(what=what, remedy=remedy, place=place)


def _users(plan: Plan, item: Item, links: list[Link], hidden: Mapping[str, str]) -> Iterator[User]:
    inventory = plan.inventory
    for link in links:
        place = inventory.place(link.source, link.reference.path, link.reference.line)
        where = f"line {place.line}, {place.path}"
        name = replace_words(_full(link.source.identity), hidden)
        yield User(name, where, link.source.is_rewritable)
    for mounts in plan.choices.mounts.values() if plan.choices else ():
        for mount in mounts:
            if mount.item.key == item.key:
                yield User(_full(mount.workload.identity), "auto-mount", True)


def _full(identity: Identity) -> str:
    return f"{identity.namespace}/{identity}" if identity.namespace else str(identity)


def to_text(explanation: Explanation) -> str:
    """Return an explanation for a person to read in a terminal."""
    lines = [line for entry in explanation.entries for line in _entry_lines(entry)]
    lines += [line for earlier in explanation.earlier for line in _earlier_lines(earlier)]
    because = f"{explanation.mode}, because {explanation.mode_reason}"
    lines += [f"attacher {name}: {because}" for name in explanation.sets]
    renamed = sum(1 for entry in explanation.entries if entry.strategy == "rename")
    total = len(explanation.entries)
    lines.append(f"{renamed} of {total} renamed" if total else "nothing to revise")
    return "\n".join(lines) + "\n"


def _entry_lines(entry: Entry) -> Iterator[str]:
    namespace = f" in {entry.namespace}" if entry.namespace else ""
    arrow = f" -> {entry.revision or 'a revision'}" if entry.strategy == "rename" else ""
    yield f"{entry.identity}{namespace}{arrow}"
    yield f"  {entry.strategy}: {entry.reason}"
    if entry.keeps_original:
        yield f"  the original stays: {entry.keeps_original}"
    for user in entry.users:
        verb = "names" if user.follows else "keeps the base name"
        yield f"  {user.identity} {verb} ({user.place})"


def _earlier_lines(earlier: Earlier) -> Iterator[str]:
    namespace = f" in {earlier.namespace}" if earlier.namespace else ""
    number = f"number {earlier.order}" if earlier.order else "the original"
    yield f"{earlier.identity}{namespace}, {number} of {earlier.base_name}"
    yield f"  {earlier.what}: {earlier.reason}"


def to_json(explanation: Explanation) -> str:
    """Return an explanation as JSON; keys are stable within a major version."""
    document = {
        "version": 1,
        "objects": [
            {
                "object": entry.identity,
                "namespace": entry.namespace,
                "strategy": entry.strategy,
                "reason": entry.reason,
                "revision": entry.revision,
                "keepsOriginal": entry.keeps_original,
                "set": entry.set_name,
                "users": [
                    {"object": user.identity, "place": user.place, "follows": user.follows}
                    for user in entry.users
                ],
            }
            for entry in explanation.entries
        ],
        "earlier": [
            {
                "object": earlier.identity,
                "namespace": earlier.namespace,
                "baseName": earlier.base_name,
                "order": earlier.order,
                "what": earlier.what,
                "reason": earlier.reason,
            }
            for earlier in explanation.earlier
        ],
        "attacher": {
            "sets": list(explanation.sets),
            "mode": explanation.mode,
            "reason": explanation.mode_reason,
        },
        "findings": [
            {
                "code": finding.code,
                "strict": finding.strict,
                "line": finding.place.line,
                "document": finding.place.document,
                "template": finding.place.template,
                "object": finding.place.subject,
                "path": finding.place.path,
                "message": finding.what,
                "remedy": finding.remedy,
            }
            for finding in explanation.findings
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
