"""Findings about originals that a hook reads, but that the output lacks under Helm 3.

postrender never rewrites a hook. If a hook in the stream references an object that postrender
renames, the original stays in the output next to its revision. Helm 4, Argo CD and a pipe from
`helm template` pass hooks to postrender. Helm 3 does not pass hooks, so the output lacks the
original. The pod of the hook then waits for an object that does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from postrender.config.settings import RENAME
from postrender.errors import HOOK_ON_HELM_3, Finding
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.annotations import HELM_HOOK_ANNOTATION, KEEP_ORIGINAL_ANNOTATION
from postrender.plan.links import Link
from postrender.plan.strategy import StrategyDecision, apply_signs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.plan.by_name.signs import Sign

    # A function that returns the decisions and findings for an inventory. The second argument
    # contains the resolved references, by the referenced object.
    Decide = Callable[
        [Inventory, Mapping[ItemKey, Sequence[Link]]], tuple[list[StrategyDecision], list[Finding]]
    ]


def find_helm_3_hooks(
    inventory: Inventory,
    links: Mapping[ItemKey, Sequence[Link]],
    decisions: Sequence[StrategyDecision],
    signs: Mapping[ItemKey, Sign],
    decide: Decide,
) -> list[Finding]:
    """Return a finding for each original that postrender would not keep under Helm 3.

    The result is [] if the stream is from Helm 4, or is a ResourceList (from kustomize or kpt).
    links: the resolved references, by the referenced object.
    decisions: the decisions after apply_signs.
    signs: as in apply_signs.
    decide: the function that makes the decisions again, for the stream without hooks.
    """
    hook_by_original = {
        decision.item.key: hook
        for decision in decisions
        if decision.strategy == RENAME and decision.keep_reason
        for hook in _hooks_in(links.get(decision.item.key, ()))[:1]
    }
    if not hook_by_original or _is_not_from_helm_3(inventory):
        return []
    # Only these originals need a new decision, because a decision does not depend on others.
    visible = inventory._replace(
        items=tuple(
            item
            for item in inventory.items
            if item.key in hook_by_original and not _is_helm_hook(item)
        )
    )
    visible_links = {
        key: [link for link in links.get(key, ()) if not _is_helm_hook(link.source)]
        for key in hook_by_original
    }
    visible_signs = {key: sign for key, sign in signs.items() if not _is_helm_hook(sign.source)}
    new_decisions, _ = apply_signs(decide(visible, visible_links)[0], visible_signs)
    return [
        _lost_original(inventory, decision.item, hook_by_original[decision.item.key])
        for decision in new_decisions
        if decision.strategy == RENAME and not decision.keep_reason
    ]


def _is_not_from_helm_3(inventory: Inventory) -> bool:
    """Return whether the stream is from Helm 4, or is a ResourceList (from kustomize or kpt)."""
    from postrender.krm.resource_list import is_resource_list

    return inventory.is_from_helm_4 or is_resource_list(inventory.stream)


def _hooks_in(links: Sequence[Link]) -> list[Item]:
    return [link.source for link in links if link.keeps_base_name and _is_helm_hook(link.source)]


def _is_helm_hook(item: Item) -> bool:
    return HELM_HOOK_ANNOTATION in item.annotations


def _lost_original(inventory: Inventory, item: Item, hook: Item) -> Finding:
    return Finding(
        code=HOOK_ON_HELM_3,
        problem=f"Helm 3 does not pass the hook {hook.identity} to postrender. With Helm 3, the "
        f"output therefore lacks the original {item.identity}, which the hook reads",
        fix=f'If you use Helm 3, add the annotation {KEEP_ORIGINAL_ANNOTATION}: "true" to '
        f"{item.identity}",
        location=inventory.location_of(item),
    )
