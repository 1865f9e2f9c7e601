"""The plan of `postrender render`: edits, removed objects, appended objects and findings.

The docstring of the package `plan` lists the steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from postrender.config.settings import NOTHING, RENAME, Settings
from postrender.errors import Finding, Location
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey
from postrender.krm.tool_annotations import with_current_names
from postrender.plan.appended import new_attachers, retained_objects
from postrender.plan.attacher_job import AttachGroup, attacher_findings, decide_mode
from postrender.plan.by_name import Evidence, find_signs
from postrender.plan.by_name.mentions import find_mentions
from postrender.plan.edits import add_revision_edits, find_replaced, source_edits
from postrender.plan.findings import (
    find_helm_3_hooks,
    find_last_owners,
    find_leftovers,
    find_overwritten,
    find_unprotected,
)
from postrender.plan.groups import AttachGroups, find_groups, group_name_findings
from postrender.plan.history import NO_HISTORY, History
from postrender.plan.links import Link, by_source, by_target, find_links
from postrender.plan.model import PlanContext, targets_by_workload
from postrender.plan.mounts import Mount, find_mounts
from postrender.plan.names import (
    RevisionNumbers,
    find_attached_pins,
    name_revisions,
    number_revisions,
)
from postrender.plan.namespaces import Resolver, find_duplicates, is_proof, new_resolver
from postrender.plan.retained import find_retained, with_retired_secrets
from postrender.plan.strategy import StrategyDecision, apply_signs, decide_strategies
from postrender.records import NamedTuple
from postrender.yaml.edits import Edit
from postrender.yaml.paths import Json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.plan.findings import Decide


class PlanBasis(NamedTuple):
    """The decisions of a plan, without edits.

    context: None if the stream and the history do not contain relevant objects. ConfigMaps and
        objects of attachers are relevant. If the setting `secrets` is true, Secrets are also
        relevant.
    repeated: the objects that repeat an earlier object of the stream.
    """

    context: PlanContext | None = None
    repeated: frozenset[ItemKey] = frozenset()
    findings: tuple[Finding, ...] = ()


class Plan(NamedTuple):
    """The changes that turn a stream into its output.

    context: the decisions, names and links. None as in PlanBasis.
    edits: the edits, by object.
    copies: the originals that stay in the output. The output also has a new revision of each of
        these originals.
    removed: the objects of the stream that are not in the output.
    appended: the new objects at the end of the output.
    mode: the form of the attacher Jobs, and the reason. ("", "") if the context is None.
    groups: the attach groups.
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
    """Return the plan for a stream.

    history: the earlier outputs, NO_HISTORY if postrender has not read earlier outputs.
    Raises UserError if a step finds an error in the stream.
    """
    basis = build_basis(inventory, settings, history)
    context = basis.context
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
        removed=basis.repeated | (replaced - kept) | stale_attachers,
        appended=(*retained_objects(context, attach_groups), *attachers),
        mode=(mode, mode_reason),
        groups=groups,
        findings=(*basis.findings, *_result_findings(context, attach_groups, mode, history)),
    )


def _result_findings(
    context: PlanContext, attach_groups: AttachGroups, mode: str, history: History
) -> Iterator[Finding]:
    """Return the findings about attachers, unprotected old pods, leftovers and deleted owners."""
    attacher, groups = context.settings.attacher, attach_groups.groups
    if attacher.is_enabled and groups:
        location = Location(context.inventory.stream.source)
        yield from attacher_findings(attacher, mode, location)
        yield from group_name_findings(attach_groups.derived_names, location)
    yield from find_unprotected(context)
    yield from find_overwritten(context)
    yield from find_leftovers(context)
    yield from find_last_owners(context, groups, history.owners)


def build_basis(
    inventory: Inventory, settings: Settings, history: History = NO_HISTORY
) -> PlanBasis:
    """Return the decisions, names and links of a stream.

    Raises UserError if a step finds an error in the stream.
    """
    if not history.earlier and not any(item.content is not None for item in inventory.items):
        return PlanBasis()

    # The resolver for duplicates knows only the release namespace, because new_resolver reads the
    # explicit namespaces from an inventory without duplicates.
    repeated, inventory = find_duplicates(
        with_current_names(inventory), Resolver(settings.namespace)
    )
    resolver = new_resolver(inventory, settings)
    all_links, link_findings = find_links(inventory, resolver)
    links = [link for link in all_links if not link.is_pinned]
    resolver = _with_proof(resolver, links)
    mounts = find_mounts(inventory, resolver)
    stored_hooks = _hooks_by_target(inventory, history, resolver)
    links_by_target = by_target(all_links)
    decide = _decider(mounts, settings, stored_hooks)
    decisions, decision_findings = decide(inventory, links_by_target)
    mentions = find_mentions(
        inventory, resolver, links, _mention_targets(decisions), settings.ignored_leftovers
    )
    renamed_items = [decision.item for decision in decisions if decision.strategy == RENAME]
    signs = find_signs(Evidence(inventory, mentions, links, renamed_items))
    decisions, by_name_findings = apply_signs(decisions, signs)
    helm_3_findings = find_helm_3_hooks(inventory, links_by_target, decisions, signs, decide)
    numbers = number_revisions(history, resolver, settings)
    links_by_source = by_source(links)
    renamed = [decision for decision in decisions if decision.strategy == RENAME]
    context = PlanContext(
        inventory=inventory,
        settings=settings,
        resolver=resolver,
        decisions={decision.item.key: decision for decision in decisions},
        names=name_revisions(inventory, renamed, links_by_source, numbers),
        links=links_by_source,
        mounts=mounts,
        workload_targets=targets_by_workload(links_by_source, mounts),
        mentions=mentions,
        read_by_name=signs.keys(),
    )
    context = _with_pins(context, all_links)
    if history.is_known:
        context = _with_history(context, numbers, history)
    return PlanBasis(
        context, repeated, (*link_findings, *decision_findings, *helm_3_findings, *by_name_findings)
    )


def _decider(
    mounts: Mapping[ItemKey, Sequence[Mount]],
    settings: Settings,
    hooks_by_target: Mapping[ItemKey, str],
) -> Decide:
    """Return the function that makes the decisions of step 3.

    The docstring of the package lists the steps.
    mounts: the auto-mounts, by workload.
    hooks_by_target: as in decide_strategies.
    """
    return partial(
        decide_strategies,
        mounted_in={
            mount.item.key: mount.workload
            for workload_mounts in mounts.values()
            for mount in workload_mounts
        },
        settings=settings,
        hooks_by_target=hooks_by_target,
    )


def _with_pins(context: PlanContext, all_links: Sequence[Link]) -> PlanContext:
    """Return the context with the attached pins in workload_targets, and as proof in resolver.

    all_links: all resolved references.
    """
    pins = find_attached_pins(context, all_links)
    if not pins:
        return context
    links = [*(link for link in all_links if not link.is_pinned), *pins]
    return context._replace(
        resolver=_with_proof(context.resolver, links),
        workload_targets=targets_by_workload(by_source(links), context.mounts),
    )


def _mention_targets(decisions: Sequence[StrategyDecision]) -> list[Item]:
    """Return the objects to rename, and the revisions in the stream that have Item.is_revision."""
    return [
        decision.item
        for decision in decisions
        if decision.strategy == RENAME or (decision.is_revision and decision.item.is_revision)
    ]


def _with_proof(resolver: Resolver, links: Sequence[Link]) -> Resolver:
    """Return the resolver, with is_proven set if a link is proof (see is_proof)."""
    is_proven = any(is_proof(link.source, link.reference, link.target) for link in links)
    return resolver.with_proof(is_proven=is_proven)


def _hooks_by_target(
    inventory: Inventory, history: History, resolver: Resolver
) -> Mapping[ItemKey, str]:
    """Return, by object, a hook of the previous release that references the object."""
    hooks = {
        key._replace(namespace=resolver.effective_namespace(key.namespace)): hook
        for key, hook in history.hooks.items()
    }
    return {
        item.key: hook
        for item in inventory.items
        if (hook := hooks.get(resolver.key_of(item.identity)))
    }


def _with_history(context: PlanContext, numbers: RevisionNumbers, history: History) -> PlanContext:
    """Return the context with revision numbers and the decisions for earlier revisions."""
    orders = {
        key: numbers.number(context.decisions[key].item, name)
        for key, name in context.names.items()
    }
    return context._replace(orders=orders, retained=find_retained(context, numbers, history))
