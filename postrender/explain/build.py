"""The report of `postrender explain`, built from a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postrender.config.settings import RENAME
from postrender.diff.redact import redact, secret_names_of_plan
from postrender.explain.model import (
    FROM_AUTO_MOUNT,
    FROM_FIELD,
    EarlierEntry,
    Explanation,
    ObjectEntry,
    ObjectReference,
)
from postrender.explain.plan_graph import plan_graph
from postrender.inventory.model import ItemKey
from postrender.plan.build import Plan
from postrender.plan.links import Link, by_target
from postrender.plan.model import PlanContext
from postrender.plan.strategy import StrategyDecision


def explain(plan: Plan) -> Explanation:
    """Return the report for a plan.

    The report does not contain revision names that could reveal a Secret. If `plan.context` is
    None, the report has only findings.
    """
    context = plan.context
    if context is None:
        return Explanation(findings=plan.findings)
    secret_names = secret_names_of_plan(context)
    is_attached = context.settings.attacher.is_enabled and bool(plan.groups)
    mode, mode_reason = plan.mode if is_attached else ("", "")
    explanation = Explanation(
        objects=_objects(plan, context, secret_names),
        earlier=_earlier(context),
        attach_groups=tuple(group.name for group in plan.groups) if is_attached else (),
        mode=mode,
        mode_reason=mode_reason,
        findings=plan.findings,
        graph=plan_graph(context, secret_names),
    )
    return redact(explanation, secret_names)


def _objects(
    plan: Plan, context: PlanContext, secret_names: Mapping[str, str]
) -> tuple[ObjectEntry, ...]:
    links = by_target(link for links in context.links.values() for link in links)
    group_names = {
        (context.resolver.effective_namespace(group.namespace), revision): group.name
        for group in plan.groups
        for revision in group.emitted
    }
    entries = []
    for key, decision in context.decisions.items():
        identity = decision.item.identity
        revision = context.revision_of(decision.item)
        namespace = context.resolver.effective_namespace(identity.namespace)
        entries.append(
            ObjectEntry(
                identity=identity,
                strategy=decision.strategy,
                reason=decision.reason,
                revision="" if revision in secret_names else revision,
                keep_reason=decision.keep_reason,
                attach_group=group_names.get((namespace, (identity.kind.lower(), revision)), ""),
                references=_references(context, decision, links.get(key, ())),
            )
        )
    return tuple(entries)


def _references(
    context: PlanContext, decision: StrategyDecision, links: Sequence[Link]
) -> tuple[ObjectReference, ...]:
    """Return the references to an object. References that can cause a rename are first."""
    is_renamed = decision.strategy == RENAME
    causes: list[ObjectReference] = []
    others: list[ObjectReference] = []
    for link in links:
        reference = link.reference
        location = context.inventory.location_of(link.source, reference.path, reference.line)
        (causes if link.triggers_rename else others).append(
            ObjectReference(
                identity=link.source.identity,
                line=location.line,
                path=location.path,
                source=FROM_FIELD,
                is_rewritten=is_renamed and link.is_rewritten,
            )
        )
    causes += _auto_mounts(context, decision.item.key, is_renamed=is_renamed)
    return (*causes, *others)


def _auto_mounts(context: PlanContext, key: ItemKey, *, is_renamed: bool) -> list[ObjectReference]:
    """Return the auto-mounts of a ConfigMap or Secret as references."""
    return [
        ObjectReference(
            identity=mount.workload.identity,
            line=0,
            path="",
            source=FROM_AUTO_MOUNT,
            is_rewritten=is_renamed,
        )
        for mounts in context.mounts.values()
        for mount in mounts
        if mount.item.key == key
    ]


def _earlier(context: PlanContext) -> tuple[EarlierEntry, ...]:
    return tuple(
        EarlierEntry(
            identity=retained.revision.identity,
            base_name=retained.revision.base_name,
            number=retained.revision.order,
            decision=retained.decision,
            reason=retained.reason,
        )
        for retained in context.retained
    )
