"""The decision for each ConfigMap and Secret, and its reason."""

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

# Secrets that a controller or a tool looks up by name.
_OWNED_SECRET_TYPES = (
    "helm.sh/release.v1",
    "kubernetes.io/service-account-token",
    "bootstrap.kubernetes.io/token",
)

_NOT_REFERENCED = "marked for renaming, but no workload references it"
_BY_RULE = "set by a rule of the configuration"


class StrategyDecision(NamedTuple):
    """The decision for one ConfigMap or Secret.

    strategy: rename, checksum or ignore;
    reason: a clause for the user;
    is_revision: whether the name already ends in a hash of the content;
    keep_reason: why the original stays next to its revision, "" if it does not;
    is_immutable: whether the revision is immutable.
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
    mounted_in: Mapping[ItemKey, Item],
    settings: Settings,
    hook_users: Mapping[ItemKey, str] = NOTHING,
) -> tuple[list[StrategyDecision], list[Finding]]:
    """Return a decision for every ConfigMap (and Secret, if they are revised), and findings.

    links: by target;
    mounted_in: the workload of each auto-mounted object;
    hook_users: by object, a hook of the previous release that references the object.
    """
    decisions: list[StrategyDecision] = []
    findings: list[Finding] = []
    for item in inventory.items:
        if item.content is None or item.is_attacher:
            continue
        item_links = links.get(item.key, ())
        _check_strategy(inventory, item)
        decision = _preset_decision(item) or _decide(
            item, item_links, mounted_in.get(item.key), settings
        )
        if decision.strategy == RENAME and not decision.keep_reason and item.key in hook_users:
            reason = f"{hook_users[item.key]}, a hook of the previous release, references it"
            decision = decision._replace(keep_reason=reason)
        decisions.append(decision)
        if decision.is_revision:
            findings += _stale_revision(inventory, decision, item_links)
        elif decision.reason == _NOT_REFERENCED:
            findings.append(_unreferenced(inventory, item))
        elif decision.strategy == RENAME and not _has_data(item):
            findings.append(_empty(inventory, item))
    return decisions, findings


def _preset_decision(item: Item) -> StrategyDecision | None:
    """Return the decision that no rule or annotation can change, if there is one."""
    kind = item.identity.kind
    if item.is_hook:
        return StrategyDecision(item, IGNORE, f"the {kind} is a hook")
    if item.has_generated_name:
        return StrategyDecision(item, IGNORE, "the API server generates the name (generateName)")
    content = item.content or {}
    if content.get("type") in _OWNED_SECRET_TYPES:
        reason = f"a Secret of type {content['type']} is looked up by name"
        return StrategyDecision(item, IGNORE, reason)
    if is_known_revision(item):
        return StrategyDecision(item, IGNORE, f"the {kind} is already a revision", is_revision=True)
    return None


def is_known_revision(item: Item) -> bool:
    """Return whether an object is a revision: by our label, or by the hash in its name."""
    base_name = without_hash(item.identity.name)
    return item.is_revision or (bool(base_name) and _fits(item, base_name))


def _fits(item: Item, base_name: str) -> bool:
    kind, name = item.identity.group_kind, item.identity.name
    return fits_content(name, base_name, kind, item.content or {})


def _decide(
    item: Item, links: Sequence[Link], mounted_in: Item | None, settings: Settings
) -> StrategyDecision:
    users = [link.source for link in links if link.is_rewritable]
    users += [mounted_in] if mounted_in else []
    unrewritable = [link.source for link in links if link.keeps_base_name]
    rule = _rule_for(item, bool(users), settings)
    annotation = item.annotations.get(STRATEGY_ANNOTATION, "")
    strategy = annotation or (rule.strategy if rule else RENAME)
    is_requested = bool(annotation or rule)
    if strategy == RENAME and users:
        reason, keep_reason = _used_by(users), _keep_reason(item, unrewritable, rule, settings)
    elif is_requested and strategy != RENAME:
        reason, keep_reason = _requested_by(annotation), ""
    else:
        strategy, keep_reason = IGNORE, ""
        reason = _NOT_REFERENCED if is_requested else "no workload references it"
        if unrewritable:
            reason = f"only {_never_rewritten(unrewritable[0])} references it"
    return StrategyDecision(
        item=item,
        strategy=strategy,
        reason=reason,
        keep_reason=keep_reason,
        is_immutable=_is_immutable(item, rule, settings),
    )


def _requested_by(annotation: str) -> str:
    return f"set by the annotation {STRATEGY_ANNOTATION}" if annotation else _BY_RULE


def _used_by(items: Sequence[Item]) -> str:
    names = list(dict.fromkeys(str(item.identity) for item in items))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    verb = "references" if len(names) == 1 else "reference"
    return f"{', '.join(names[:3])}{more} {verb} it"


def _never_rewritten(item: Item) -> str:
    return f"{item.identity}, which is never rewritten,"


def _check_strategy(inventory: Inventory, item: Item) -> None:
    annotation = item.annotations.get(STRATEGY_ANNOTATION)
    if annotation is not None and annotation not in STRATEGIES:
        raise UserError(
            f"the annotation {STRATEGY_ANNOTATION} is {annotation!r}, expected one of "
            f"{', '.join(STRATEGIES)}",
            "Correct the annotation",
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
    immutable = (item.content or {}).get("immutable")
    if isinstance(immutable, bool):
        return immutable
    if rule and rule.is_immutable is not None:
        return rule.is_immutable
    return settings.is_immutable


def _keep_reason(
    item: Item, unrewritable: Sequence[Item], rule: StrategyRule | None, settings: Settings
) -> str:
    """Return why the original stays next to its revision, or "" if it does not."""
    if unrewritable:
        return f"{_never_rewritten(unrewritable[0])} references it"
    if item.annotations.get(KEEP_ORIGINAL_ANNOTATION) == "true":
        return f"set by the annotation {KEEP_ORIGINAL_ANNOTATION}"
    if rule and rule.keep_original is not None:
        return _BY_RULE if rule.keep_original else ""
    return "keepOriginal is true" if settings.keep_original else ""


def _has_data(item: Item) -> bool:
    return any((item.content or {}).get(key) for key in ("data", "binaryData", "stringData"))


def _stale_revision(
    inventory: Inventory, decision: StrategyDecision, links: Sequence[Link]
) -> list[Finding]:
    item = decision.item
    base_name = item.base_name if item.is_revision else without_hash(item.identity.name)
    users = [link.source for link in links if link.is_rewritable or link.keeps_base_name]
    if not users or _fits(item, base_name):
        return []
    return [
        Finding(
            code="stale-revision",
            problem=f"the content of {item.identity} no longer matches the hash in its name, and "
            f"{users[0].identity} references the {item.identity.kind}",
            fix=f"Render the {item.identity.kind} again from the chart, and do not edit the output",
            location=inventory.location_of(item),
            strict=True,
        )
    ]


def _empty(inventory: Inventory, item: Item) -> Finding:
    return Finding(
        code="empty",
        problem=f"{item.identity} has no data, and data that a program writes at run time would be "
        "lost with each rename",
        fix=f"If a program writes to {item.identity}, add the annotation "
        f"{STRATEGY_ANNOTATION}: ignore",
        location=inventory.location_of(item),
    )


def _unreferenced(inventory: Inventory, item: Item) -> Finding:
    return Finding(
        code="unreferenced",
        problem=f"{item.identity} is marked for renaming but keeps its name, because no workload "
        "references it",
        fix=f"Reference the {item.identity.kind} in a workload, add a reference rule for the kind "
        "that uses it, or set the strategy to ignore",
        location=inventory.location_of(item),
    )
