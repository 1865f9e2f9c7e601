"""What a render would do and why, as a model that is built once and printed by a format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from postrender.diff.base_names import redacted_names
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
    context = plan.context
    if context is None:
        return Explanation((), (), (), "", "", plan.findings)
    links = by_target(link for links in context.links.values() for link in links)
    group_name_of = {
        (context.resolver.effective_namespace(each.namespace), name): each.name
        for each in plan.sets
        for name in each.emitted
    }
    redacted = redacted_names(context)
    entries = []
    for key, decision in context.decisions.items():
        item = decision.item
        name = context.revision_of(item)
        home = context.resolver.effective_namespace(item.identity.namespace)
        entries.append(
            Entry(
                replace_words(str(item.identity), redacted),
                item.identity.namespace or "",
                decision.strategy,
                decision.reason,
                "" if name in redacted else name,
                decision.keep_reason,
                group_name_of.get((home, (item.identity.kind.lower(), name)), ""),
                tuple(_users(plan, item, links.get(key, []), redacted)),
            )
        )
    is_attached = context.settings.attacher.is_enabled and bool(plan.sets)
    mode, reason = plan.mode if is_attached else ("", "")
    sets_ = tuple(each.name for each in plan.sets) if is_attached else ()
    earlier = tuple(
        Earlier(
            replace_words(str(past.identity), redacted),
            past.identity.namespace or "",
            past.base_name,
            past.order,
            each.what,
            each.reason,
        )
        for each in context.retained
        if (past := each.past)
    )
    findings = tuple(_shown(finding, redacted) for finding in plan.findings)
    graph = plan_graph(plan, redacted)
    return Explanation(tuple(entries), earlier, sets_, mode, reason, findings, graph)


def _shown(finding: Finding, redacted: Mapping[str, str]) -> Finding:
    """Return a finding as it may be told beside what Secrets there are."""
    problem, fix = (replace_words(text, redacted) for text in (finding.problem, finding.fix))
    location = finding.location._replace(subject=replace_words(finding.location.subject, redacted))
    return finding._replace(problem=problem, fix=fix, location=location)


def _users(
    plan: Plan, item: Item, links: list[Link], redacted: Mapping[str, str]
) -> Iterator[User]:
    inventory = plan.inventory
    for link in links:
        location = inventory.location_of(link.source, link.reference.path, link.reference.line)
        where = f"line {location.line}, {location.path}"
        name = replace_words(_full(link.source.identity), redacted)
        yield User(name, where, link.source.is_rewritable)
    for mounts in plan.context.mounts.values() if plan.context else ():
        for mount in mounts:
            if mount.item.key == item.key:
                yield User(_full(mount.workload.identity), "auto-mount", True)


def _full(identity: Identity) -> str:
    return f"{identity.namespace}/{identity}" if identity.namespace else str(identity)
