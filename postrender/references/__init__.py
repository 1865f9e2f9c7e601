"""Where one object names another: one module a rule family, one registry here.

Rules are data (patterns), so that one set serves manifests offline and live objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from postrender.objects import GroupKind
from postrender.paths import Data, Path, PatternTree
from postrender.references import ingress, pods, rbac, rollouts, service_accounts
from postrender.references.rule import Rule

# A new family is one new module and one entry here.
BUILT_IN: tuple[tuple[Rule, ...], ...] = (
    pods.RULES,
    rollouts.RULES,
    rbac.RULES,
    ingress.RULES,
    service_accounts.RULES,
)


@cache
def _built_in_tree(group_kind: GroupKind) -> PatternTree[Rule]:
    tree: PatternTree[Rule] = PatternTree()
    for rules in BUILT_IN:
        for rule in rules:
            if (rule.group, rule.kind) == group_kind:
                tree.add(rule.pattern, rule)
    return tree


def find_built_in(group_kind: GroupKind, data: Data) -> Iterator[tuple[Path, Data, Rule]]:
    """Yield (path, value there, rule) for every place of an object that may name another."""
    return _built_in_tree(group_kind).find(data)


__all__ = ["BUILT_IN", "Rule", "find_built_in"]
