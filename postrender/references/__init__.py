"""Rules for references between objects.

Rules are data (patterns), so that the same rules apply to manifests and to objects in the cluster.
"""

from __future__ import annotations

from functools import cache

from postrender.kubernetes.kinds import WORKLOAD_KINDS, GroupKind, is_built_in
from postrender.references.analysis import ANALYSIS_RULES
from postrender.references.built_in import pod_rules
from postrender.references.ingress import INGRESS_RULES
from postrender.references.rbac import RBAC_RULES
from postrender.references.rule import Rule
from postrender.references.service_accounts import SERVICE_ACCOUNT_RULES
from postrender.yaml.paths import Json, Path, PatternTree

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


# The rules for fields outside of pod templates.
_OTHER_RULES = (*ANALYSIS_RULES, *INGRESS_RULES, *RBAC_RULES, *SERVICE_ACCOUNT_RULES)


@cache
def _built_in_tree(group_kind: GroupKind, targets: tuple[GroupKind, ...]) -> PatternTree:
    tree = PatternTree()
    for rule in (*pod_rules(group_kind, targets), *_OTHER_RULES):
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
