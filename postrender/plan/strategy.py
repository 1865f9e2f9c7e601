"""What is done with each ConfigMap and Secret, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postrender.config.settings import IGNORE, NOTHING, RENAME, STRATEGIES, Settings, StrategyRule
from postrender.errors import Finding, UserError
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.annotations import KEEP_ORIGINAL_ANNOTATION, STRATEGY_ANNOTATION
from postrender.kubernetes.hashing import fits_content, without_hash
from postrender.plan.links import Link
from postrender.startup.records import NamedTuple

# Secrets that a controller or a tool owns by their name.
_OWNED_SECRET_TYPES = (
    "helm.sh/release.v1",
    "kubernetes.io/service-account-token",
    "bootstrap.kubernetes.io/token",
)


class StrategyDecision(NamedTuple):
    """What is done with one ConfigMap or Secret.

    strategy: rename, checksum or ignore; reason: why, as a clause; is_revision: whether it has a
    content-hashed name already; keep_reason: why the original stays beside its revision, or
    nothing; is_immutable: whether its revision is.
    """

    item: Item
    strategy: str
    reason: str
    is_revision: bool = False
    keep_reason: str = ""
    is_immutable: bool = True


def decide_strategies(
    inventory: Inventory,
    links: Mapping[ItemKey, Sequence[Link]],
    mounted: Mapping[ItemKey, Sequence[Item]],
    settings: Settings,
    hook_users: Mapping[ItemKey, str] = NOTHING,
) -> tuple[list[StrategyDecision], list[Finding]]:
    """Return a decision for every ConfigMap (and Secret, where they are revised).

    links: by target; mounted: the workloads that an auto-mounted object goes into; hidden: the
    hook of the release before that names an object, where Helm keeps hooks out of the stream.
    """
    decisions, findings = [], []
    for item in inventory.items:
        if item.content is None or item.is_attacher:
            continue
        to_item = links.get(item.key, ())
        _check_strategy(inventory, item)
        decision = _fixed(item) or _decide(item, to_item, mounted.get(item.key, ()), settings)
        if decision.strategy == RENAME and not decision.keep_reason and item.key in hook_users:
            reason = f"the hook {hook_users[item.key]} of the release before names it"
            decision = decision._replace(keep_reason=reason)
        decisions.append(decision)
        if decision.is_revision:
            findings += _stale(inventory, decision, to_item)
        elif decision.reason == _NOT_REFERENCED:
            findings.append(_unreferenced(inventory, item))
        elif decision.strategy == RENAME and not _has_data(item):
            findings.append(_empty(inventory, item))
    return decisions, findings


_NOT_REFERENCED = "it is to be renamed, but nothing that can be rewritten names it"


def _fixed(item: Item) -> StrategyDecision | None:
    """Decide what no rule can change."""
    if item.is_hook:
        return StrategyDecision(item, IGNORE, "it is a hook itself")
    if item.has_generated_name:
        return StrategyDecision(item, IGNORE, "it has no name of its own (generateName)")
    content = item.content or {}
    if content.get("type") in _OWNED_SECRET_TYPES:
        return StrategyDecision(
            item, IGNORE, f"a Secret of type {content['type']} is found by its name"
        )
    if is_known_revision(item):
        return StrategyDecision(item, IGNORE, "it is a revision already", is_revision=True)
    return None


def is_known_revision(item: Item) -> bool:
    """Tell whether an object has a revision name: ours by its label, anyone's by its hash."""
    base_name = without_hash(item.identity.name)
    return item.is_revision or (bool(base_name) and _fits(item, base_name))


def _fits(item: Item, base_name: str) -> bool:
    kind, name = item.identity.group_kind, item.identity.name
    return fits_content(name, base_name, kind, item.content or {})


def _stale(
    inventory: Inventory, decision: StrategyDecision, links: Sequence[Link]
) -> list[Finding]:
    item = decision.item
    base_name = item.base_name if item.is_revision else without_hash(item.identity.name)
    users = [link for link in links if link.is_rewritable or link.keeps_base_name]
    if not users or _fits(item, base_name):
        return []
    return [
        Finding(
            "stale-revision",
            f"its content no longer fits its name, and {users[0].source.identity} names it",
            "render it again from the chart instead of editing the output",
            inventory.location_of(item),
            strict=True,
        )
    ]


def _decide(
    item: Item, links: Sequence[Link], mounted: Sequence[Item], settings: Settings
) -> StrategyDecision:
    followers = [link.source for link in links if link.is_rewritable] + list(mounted)
    stuck = [link.source for link in links if link.keeps_base_name]
    rule = _rule_for(item, bool(followers), settings)
    is_immutable = _is_immutable(item, rule, settings)
    asked = item.annotations.get(STRATEGY_ANNOTATION, "")
    strategy = asked or (rule.strategy if rule else RENAME)
    if strategy != RENAME or (not followers and not (asked or rule)):
        return StrategyDecision(
            item, *_left_alone(strategy, asked, rule, stuck), is_immutable=is_immutable
        )
    if not followers:
        reason = _only_stuck(stuck) if stuck else _NOT_REFERENCED
        return StrategyDecision(item, IGNORE, reason, is_immutable=is_immutable)
    keep = _keep_reason(item, stuck, rule, settings)
    return StrategyDecision(item, RENAME, _named_by(followers), False, keep, is_immutable)


def _left_alone(
    strategy: str, asked: str, rule: StrategyRule | None, stuck: Sequence[Item]
) -> tuple[str, str]:
    if asked:
        return strategy, f"its annotation {STRATEGY_ANNOTATION} says so"
    if rule:
        return strategy, "a rule of the configuration says so"
    return IGNORE, _only_stuck(stuck) if stuck else "nothing that can be rewritten names it"


def _only_stuck(stuck: Sequence[Item]) -> str:
    return f"only {stuck[0].identity} names it, which cannot change"


def _named_by(items: Sequence[Item]) -> str:
    names = list(dict.fromkeys(str(item.identity) for item in items))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    verb = "names" if len(names) == 1 else "name"
    return f"{', '.join(names[:3])}{more} {verb} it"


def _check_strategy(inventory: Inventory, item: Item) -> None:
    asked = item.annotations.get(STRATEGY_ANNOTATION)
    if asked is not None and asked not in STRATEGIES:
        raise UserError(
            f"{STRATEGY_ANNOTATION}: {asked!r} is no strategy",
            f"use one of {', '.join(STRATEGIES)}",
            inventory.location_of(item),
        )


def _rule_for(item: Item, is_referenced: bool, settings: Settings) -> StrategyRule | None:
    return next(
        (
            rule
            for rule in settings.rules
            if rule.matches(item.identity, item.labels, is_referenced)
        ),
        None,
    )


def _is_immutable(item: Item, rule: StrategyRule | None, settings: Settings) -> bool:
    own = (item.content or {}).get("immutable")
    if isinstance(own, bool):
        return own
    if rule and rule.is_immutable is not None:
        return rule.is_immutable
    return settings.is_immutable


def _keep_reason(
    item: Item, stuck: Sequence[Item], rule: StrategyRule | None, settings: Settings
) -> str:
    if stuck:
        return f"{stuck[0].identity} names it and cannot change"
    if item.annotations.get(KEEP_ORIGINAL_ANNOTATION) == "true":
        return f"its annotation {KEEP_ORIGINAL_ANNOTATION} says so"
    if rule and rule.keep_original is not None:
        return "a rule of the configuration says so" if rule.keep_original else ""
    return "keepOriginal is set" if settings.keep_original else ""


def _has_data(item: Item) -> bool:
    return any((item.content or {}).get(key) for key in ("data", "binaryData", "stringData"))


def _empty(inventory: Inventory, item: Item) -> Finding:
    return Finding(
        "empty",
        "it has no data, and what a program writes to it at run time would be lost with its name",
        f"if one does, give it the annotation {STRATEGY_ANNOTATION}: ignore",
        inventory.location_of(item),
    )


def _unreferenced(inventory: Inventory, item: Item) -> Finding:
    return Finding(
        "unreferenced",
        "it is to be renamed, but nothing that can be rewritten names it: it keeps its name",
        "name it in a workload, write a reference rule for the kind that does, or ask for `ignore`",
        inventory.location_of(item),
    )
