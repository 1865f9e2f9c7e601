"""The plan of a render: edits, removed objects, appended objects and findings.

A plan is a pure function of an inventory, the settings and the history. `make_plan` runs the steps
in their order; the package's docstring lists the modules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postrender.config.settings import NOTHING, RENAME, Settings
from postrender.errors import Finding, Location
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey
from postrender.krm.tool_annotations import with_current_names
from postrender.plan.appended import new_attachers, retained_objects
from postrender.plan.attach_groups import find_groups
from postrender.plan.attacher_job import AttachGroup, attacher_findings, decide_mode
from postrender.plan.configmap_edits import add_revision_edits
from postrender.plan.duplicates import find_duplicates
from postrender.plan.history import NO_HISTORY, History
from postrender.plan.leftovers import find_leftovers
from postrender.plan.links import Link, by_source, by_target, find_links
from postrender.plan.model import PlanContext, targets_by_workload
from postrender.plan.names import name_revisions
from postrender.plan.namespaces import Resolver, is_proof, new_resolver
from postrender.plan.numbering import RevisionNumbers, number_revisions
from postrender.plan.originals import find_originals
from postrender.plan.strategy import decide_strategies
from postrender.plan.workload_edits import source_edits
from postrender.startup.records import NamedTuple
from postrender.yaml.edits import Edit
from postrender.yaml.paths import Json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.plan.auto_mount import Mount


class PlanBasis(NamedTuple):
    """The decisions before any edit.

    context: None if the stream has no object to revise;
    repeated: the objects that repeat an earlier object.
    """

    context: PlanContext | None = None
    repeated: frozenset[ItemKey] = frozenset()
    findings: tuple[Finding, ...] = ()


class Plan(NamedTuple):
    """The changes that a render makes.

    context: the decisions, names and links (None if the stream has no object to revise);
    edits: by object;
    copies: the objects whose original stays; the edits apply to a copy after the original;
    removed: the objects that the output leaves out;
    appended: the objects at the end of the output;
    mode: the form of the attacher Jobs, and the reason;
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
    """Return the plan for a stream; history: the earlier outputs.

    Raises UserError if the stream contradicts itself; each step documents its errors.
    """
    basis = build_basis(inventory, settings, history)
    context = basis.context
    if context is None:
        return Plan(inventory)

    # The edits of references, then the edits of the objects to rename.
    edits, render_ids = source_edits(context)
    attach_groups = find_groups(context, render_ids)
    add_revision_edits(context, attach_groups, edits)
    originals = find_originals(context)
    for key in originals.kept & originals.replaced:
        del edits[key]  # the original stays, and the stream already has its revision

    # The attachers.
    groups = attach_groups.groups
    mode, mode_reason = decide_mode(context.inventory, settings.attacher)
    attachers, stale_attachers = new_attachers(context, groups, mode)

    findings = list(basis.findings)
    if settings.attacher.is_enabled and groups:
        location = Location(context.inventory.stream.source)
        findings += attacher_findings(settings.attacher, mode, location)
    findings += find_leftovers(context, edits)

    return Plan(
        inventory=context.inventory,
        context=context,
        edits={key: item_edits for key, item_edits in edits.items() if item_edits},
        copies=originals.kept - originals.replaced,
        removed=basis.repeated | (originals.replaced - originals.kept) | stale_attachers,
        appended=(*retained_objects(context, attach_groups), *attachers),
        mode=(mode, mode_reason),
        groups=groups,
        findings=tuple(findings),
    )


def build_basis(
    inventory: Inventory, settings: Settings, history: History = NO_HISTORY
) -> PlanBasis:
    """Return the decisions, names and links of a stream.

    Raises UserError as make_plan does.
    """
    if not history.earlier and not any(item.content is not None for item in inventory.items):
        return PlanBasis()

    # References. Duplicates are compared before the stream's explicit namespaces are known.
    repeated, inventory = find_duplicates(
        with_current_names(inventory), Resolver(settings.namespace)
    )
    resolver = new_resolver(inventory, settings)
    all_links, link_findings = find_links(inventory, resolver)
    links = [link for link in all_links if not link.is_pinned]
    resolver = _with_proof(resolver, links)
    mounts = _find_mounts(inventory, resolver)

    # Decisions and names.
    decisions, decision_findings = decide_strategies(
        inventory,
        by_target(all_links),
        _workloads_by_mounted(mounts),
        settings,
        _hook_users(inventory, history, resolver),
    )
    numbers = number_revisions(history, resolver, settings.naming)
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
    )
    if history.is_known:
        context = _with_history(context, numbers, history)
    return PlanBasis(context, repeated, (*link_findings, *decision_findings))


def _with_proof(resolver: Resolver, links: Sequence[Link]) -> Resolver:
    """Return the resolver, which then knows whether a link proves the release's namespace."""
    is_proven = any(is_proof(link.source, link.reference, link.target) for link in links)
    return resolver._replace(is_proven=is_proven)


def _find_mounts(inventory: Inventory, resolver: Resolver) -> Mapping[ItemKey, Sequence[Mount]]:
    """Return the auto-mounts by workload."""
    if not any(item.requests_auto_mount for item in inventory.items):
        return {}
    # Imported late: few charts have auto-mounts.
    from postrender.plan.auto_mount import find_mounts

    return find_mounts(inventory, resolver)


def _workloads_by_mounted(mounts: Mapping[ItemKey, Sequence[Mount]]) -> dict[ItemKey, Item]:
    """Return the workload of each auto-mounted object."""
    return {
        mount.item.key: mount.workload
        for workload_mounts in mounts.values()
        for mount in workload_mounts
    }


def _hook_users(
    inventory: Inventory, history: History, resolver: Resolver
) -> Mapping[ItemKey, str]:
    """Return, by object, a hook of the previous release that references the object."""
    if not history.is_known:
        return {}
    from postrender.plan.retained import find_hook_users

    return find_hook_users(inventory.items, history, resolver)


def _with_history(context: PlanContext, numbers: RevisionNumbers, history: History) -> PlanContext:
    """Return the context with revision numbers and the decisions for earlier revisions."""
    from postrender.plan.retained import find_retained

    orders = {
        key: numbers.order(context.decisions[key].item, name) for key, name in context.names.items()
    }
    return context._replace(orders=orders, retained=find_retained(context, numbers, history))
