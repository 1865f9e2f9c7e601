"""References between objects: one module for each family of rules, and one registry here.

Rules are data (patterns), so that the same rules apply to manifests and to live objects.
"""

from __future__ import annotations

from functools import cache

from postrender.kubernetes.kinds import GroupKind
from postrender.references import analysis, ingress, pods, rbac, service_accounts
from postrender.references.rule import Rule
from postrender.yaml.paths import Json, Path, PatternTree

# The rules of kinds without pod templates. If two rules match a string, the first rule applies.
# To add a family, write a module with RULES and add RULES here.
BUILT_IN: tuple[tuple[Rule, ...], ...] = (
    analysis.RULES,
    rbac.RULES,
    ingress.RULES,
    service_accounts.RULES,
)


def _rules_of(group_kind: GroupKind) -> tuple[Rule, ...]:
    rules = (rule for family in BUILT_IN for rule in family)
    return (
        *pods.rules_of(group_kind),
        *(rule for rule in rules if (rule.group, rule.kind) == group_kind),
    )


@cache
def _built_in_tree(group_kind: GroupKind, targets: tuple[GroupKind, ...]) -> PatternTree:
    tree = PatternTree()
    for rule in _rules_of(group_kind):
        if rule.target in targets:
            tree.add(rule.pattern, rule)
    return tree


def find_built_in(
    group_kind: GroupKind, targets: tuple[GroupKind, ...], data: Json
) -> list[tuple[Path, Json, Rule]]:
    """Return (path, value, rule) for each value of an object that may reference a target."""
    return _built_in_tree(group_kind, targets).find(data)


__all__ = ["BUILT_IN", "Rule", "find_built_in"]
