"""What a render would do and why, as a model that is built once and printed by a format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from postrender.diff.base_names import hidden_names
from postrender.errors import Finding
from postrender.explain.model import Earlier, Entry, Explanation, User
from postrender.explain.plan_graph import plan_graph
from postrender.inventory.model import Item
from postrender.kubernetes.kinds import Identity
from postrender.plan.build import Plan
from postrender.plan.links import Link, by_target
from postrender.text.words import replace_words


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
