"""Where one object names another: one module a rule family, one registry here.

Rules are data (patterns), so that one set serves manifests offline and live objects.
"""

from __future__ import annotations

from functools import cache

from postrender.kubernetes.kinds import GroupKind
from postrender.references import analysis as rollouts
from postrender.references import ingress, pods, rbac, service_accounts
from postrender.references.rule import Rule
from postrender.yaml.paths import Json, Path, PatternTree

# The rules of kinds without pod templates; where two rules match one place, the first counts. A
# new family is one new module and one entry here.
BUILT_IN: tuple[tuple[Rule, ...], ...] = (
    rollouts.RULES,
    rbac.RULES,
    ingress.RULES,
    service_accounts.RULES,
)


def _rules_of(group_kind: GroupKind) -> tuple[Rule, ...]:
    others = (rule for rules in BUILT_IN for rule in rules)
    return (
        *pods.rules_of(group_kind),
        *(rule for rule in others if (rule.group, rule.kind) == group_kind),
    )


@cache
def _built_in_tree(group_kind: GroupKind, targets: tuple[GroupKind, ...]) -> PatternTree:
    tree: PatternTree = PatternTree()
    for rule in _rules_of(group_kind):
        if rule.target in targets:
            tree.add(rule.pattern, rule)
    return tree


def find_built_in(
    group_kind: GroupKind, targets: tuple[GroupKind, ...], data: Json
) -> list[tuple[Path, Json, Rule]]:
    """Return (path, value there, rule) for every place of an object that may name a target."""
    return _built_in_tree(group_kind, targets).find(data)


__all__ = ["BUILT_IN", "Rule", "find_built_in"]
