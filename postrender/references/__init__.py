"""Rules for references between objects.

Rules are data (patterns), so that the same rules apply to manifests and to objects in the cluster.
"""

from __future__ import annotations

import sys
from functools import cache

from postrender.kubernetes.kinds import RBAC_GROUP, WORKLOAD_KINDS, GroupKind, is_built_in
from postrender.references import pods
from postrender.references.rule import Rule
from postrender.yaml.paths import Json, Path, PatternTree

# The modules with rules for fields outside pod templates, by the group and kind of the object.
# postrender imports a module only if an object has a kind of this module. To add rules, write a
# module with RULES, and add the kinds of the rules here.
BUILT_IN = {
    ("argoproj.io", "AnalysisTemplate"): "analysis",
    ("argoproj.io", "ClusterAnalysisTemplate"): "analysis",
    ("argoproj.io", "AnalysisRun"): "analysis",
    (RBAC_GROUP, "Role"): "rbac",
    (RBAC_GROUP, "ClusterRole"): "rbac",
    ("networking.k8s.io", "Ingress"): "ingress",
    ("", "ServiceAccount"): "service_accounts",
}

# The kinds of Kubernetes itself that are in the catalogue. postrender never rewrites references in
# these kinds.
_KEPT_KINDS: frozenset[GroupKind] = frozenset(
    {
        ("", "PersistentVolume"),
        ("storage.k8s.io", "StorageClass"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    }
)


def rules_in(module: str) -> tuple[Rule, ...]:
    """Return the rules of a module of this package. module: a value of BUILT_IN."""
    # importlib.import_module would also work, but the import of importlib would take longer.
    name = f"{__name__}.{module}"
    __import__(name)
    rules: tuple[Rule, ...] = sys.modules[name].RULES
    return rules


@cache
def _built_in_tree(group_kind: GroupKind, targets: tuple[GroupKind, ...]) -> PatternTree:
    tree = PatternTree()
    for rule in pods.rules_of(group_kind, targets):
        tree.add(rule.pattern, rule)
    module = BUILT_IN.get(group_kind)
    for rule in rules_in(module) if module else ():
        if (rule.group, rule.kind) == group_kind and rule.target in targets:
            tree.add(rule.pattern, rule)
    return tree


def find_built_in(
    group_kind: GroupKind, targets: tuple[GroupKind, ...], data: Json
) -> list[tuple[Path, Json, Rule]]:
    """Return (path, value, rule) for each match of a built-in rule in an object.

    targets: the kinds of referenced objects; the function skips rules with another target.
    """
    return _built_in_tree(group_kind, targets).find(data)


def is_custom(group_kind: GroupKind) -> bool:
    """Return whether postrender uses the catalogue for a kind."""
    if group_kind in WORKLOAD_KINDS:
        return False
    return not is_built_in(group_kind[0]) or group_kind in _KEPT_KINDS


__all__ = ["BUILT_IN", "Rule", "find_built_in", "is_custom", "rules_in"]
