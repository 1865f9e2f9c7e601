"""The plan of `postrender render`: edits, removed objects, appended objects and findings.

`build_context` decides, and `make_plan` turns the decisions into edits. Both read from top to
bottom in the order of the steps, so a new step has one place here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from postrender.config.settings import NOTHING, RENAME, Settings
from postrender.errors import Finding, Location
from postrender.inventory.build import Inventory
from postrender.inventory.model import ItemKey
from postrender.krm.input import with_current_names
from postrender.plan.attacher_job import AttachGroup, attacher_findings, decide_mode
from postrender.plan.by_name import Evidence, find_signs
from postrender.plan.by_name.mentions import find_mentions
from postrender.plan.edits import (
    add_revision_edits,
    find_replaced,
    new_attachers,
    retained_objects,
    source_edits,
)
from postrender.plan.findings import (
    find_helm_3_hooks,
    find_last_owners,
    find_leftovers,
    find_never_deleted,
    find_overwritten,
    find_selectors,
    find_unkeyed,
)
from postrender.plan.groups import AttachGroups, find_groups, group_name_findings
from postrender.plan.history import NO_HISTORY, History
from postrender.plan.links import find_links
from postrender.plan.model import PlanContext, attached_pins, targets_by_workload
from postrender.plan.mounts import find_mounts
from postrender.plan.names import name_revisions, number_revisions
from postrender.plan.namespaces import Resolver, find_duplicates, new_resolver
from postrender.plan.retained import find_retained, with_retired_secrets
from postrender.plan.strategy import apply_signs, decide_strategies
from postrender.records import NamedTuple, grouped
from postrender.yaml.edits import Edit
from postrender.yaml.paths import Json


class Plan(NamedTuple):
    """The changes that turn a stream into its output.

    context: the decisions, names and links, None as in build_context.
    copies: the originals that stay in the output next to a new revision.
    mode: the form of the attacher Jobs, and the reason. ("", "") if the context is None.
    """

    inventory: Inventory
    context: PlanContext | None = None
    edits: Mapping[ItemKey, Sequence[Edit]] = NOTHING
    copies: frozenset[ItemKey] = frozenset()
    removed: frozenset[ItemKey] = frozenset()
    appended: tuple[dict[str, Json], ...] = ()
    mode: tuple[str, str] = ("", "")
    groups: tuple[AttachGroup, ...] = ()
    findings: tuple[Finding, ...] = ()


def make_plan(inventory: Inventory, settings: Settings, history: History = NO_HISTORY) -> Plan:
    """The plan for a stream; without earlier outputs, the history is NO_HISTORY."""
    context = build_context(inventory, settings, history)
    if context is None:
        return Plan(inventory)

    # add_revision_edits skips a path that already has an edit, so source_edits is first.
    edits, render_ids = source_edits(context)
    attach_groups = find_groups(context, render_ids)
    add_revision_edits(context, attach_groups, edits)
    replaced = find_replaced(context)
    kept = frozenset(key for key in context.names if context.decisions[key].keep_reason)
    for key in kept & replaced:
        del edits[key]  # the original stays, and the stream already has the revision

    groups = with_retired_secrets(context, attach_groups.groups, history.owners)
    attach_groups = attach_groups._replace(groups=groups)
    mode, mode_reason = decide_mode(context.inventory, settings.attacher)
    attachers, stale_attachers = new_attachers(context, groups, mode)

    return Plan(
        inventory=context.inventory,
        context=context,
        edits={key: item_edits for key, item_edits in edits.items() if item_edits},
        copies=kept - replaced,
        removed=context.repeated | (replaced - kept) | stale_attachers,
        appended=(*retained_objects(context, attach_groups), *attachers),
        mode=(mode, mode_reason),
        groups=groups,
        findings=(*context.findings, *_result_findings(context, attach_groups, mode, history)),
    )


def _result_findings(
    context: PlanContext, attach_groups: AttachGroups, mode: str, history: History
) -> Iterator[Finding]:
    attacher, groups = context.settings.attacher, attach_groups.groups
    if attacher.is_enabled and groups:
        location = Location(context.inventory.stream.source)
        yield from attacher_findings(attacher, mode, location)
        yield from group_name_findings(attach_groups.derived_names, location)
    yield from find_never_deleted(context)
    yield from find_unkeyed(context)
    yield from find_overwritten(context)
    yield from find_selectors(context, is_history_known=history.is_known)
    yield from find_leftovers(context)
    yield from find_last_owners(context, groups, history.owners)


def build_context(
    inventory: Inventory, settings: Settings, history: History = NO_HISTORY
) -> PlanContext | None:
    """The decisions, names and links of a stream.

    The result is None if neither the stream nor the history has a ConfigMap, an object of an
    attacher or, with the setting `secrets`, a Secret.
    """
    if not history.earlier and not any(item.has_content for item in inventory.items):
        return None

    # Resolve references and auto-mounts to objects of the stream.
    repeated, inventory = find_duplicates(with_current_names(inventory), settings.namespace)
    resolver = new_resolver(inventory, settings)
    all_links, link_findings = find_links(inventory, resolver, resolver.candidates)
    links = [link for link in all_links if not link.is_pin]
    links_by_source = grouped(links, lambda link: link.source.key)
    mounts = find_mounts(inventory, resolver)

    # Decide the strategy of each ConfigMap and Secret.
    decisions, decision_findings = decide_strategies(
        inventory,
        grouped(all_links, lambda link: link.target.key),
        {mount.item.key: mount.workload for several in mounts.values() for mount in several},
        settings,
        _stored_hooks(inventory, history, resolver),
    )
    searched = [
        decision.item
        for decision in decisions
        if decision.strategy == RENAME
        or decision.is_adopted
        or (decision.is_revision and decision.item.is_revision)
    ]
    mentions = find_mentions(inventory, resolver, links, searched, settings.ignored_leftovers)
    to_rename = [decision.item for decision in decisions if decision.strategy == RENAME]
    signs = find_signs(Evidence(inventory, resolver, mentions, links, to_rename))
    decisions, by_name_findings = apply_signs(decisions, signs)
    helm_3_findings = (
        () if settings.has_all_hooks else find_helm_3_hooks(inventory, decisions, signs)
    )

    # Number and name the new revisions.
    numbers = number_revisions(history, resolver, settings)
    renamed = [decision for decision in decisions if decision.strategy == RENAME]
    names = name_revisions(inventory, renamed, links_by_source, numbers)
    adopted = [decision for decision in decisions if decision.is_adopted]
    revision_names = names | {
        decision.item.key: decision.item.identity.name for decision in adopted
    }

    # A reference can already have the name of a revision that is new in this output.
    by_new_name = grouped(
        (decision.item for decision in renamed),
        lambda item: (item.identity.group_kind, names[item.key]),
    )
    new_pins, _ = find_links(inventory, resolver, by_new_name)
    pins = [*(link for link in all_links if link.is_pin), *new_pins]
    used = [*links, *attached_pins(pins, targets_by_workload(links, mounts), revision_names)]

    context = PlanContext(
        inventory=inventory,
        settings=settings,
        resolver=resolver,
        decisions={decision.item.key: decision for decision in decisions},
        names=names,
        revision_names=revision_names,
        links=links_by_source,
        mounts=mounts,
        workload_targets=targets_by_workload(used, mounts),
        is_proven=any(link.is_proof for link in used),
        mentions=mentions,
        read_by_name=signs.keys(),
        orders={
            decision.item.key: numbers.number(decision, revision_names[decision.item.key])
            for decision in ([*renamed, *adopted] if history.is_known else ())
        },
        repeated=repeated,
        findings=(*link_findings, *decision_findings, *helm_3_findings, *by_name_findings),
    )
    return context._replace(retained=find_retained(context, numbers, history))


def _stored_hooks(
    inventory: Inventory, history: History, resolver: Resolver
) -> Mapping[ItemKey, str]:
    """By object, a hook of the previous release that references the object."""
    hooks = {
        key._replace(namespace=resolver.effective_namespace(key.namespace)): hook
        for key, hook in history.hooks.items()
    }
    return {
        item.key: hook
        for item in inventory.items
        if (hook := hooks.get(resolver.key_of(item.identity)))
    }
