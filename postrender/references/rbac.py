"""Role and ClusterRole `rules[].resourceNames` (rbac.authorization.k8s.io/v1 PolicyRule).

Only where the rule's `resources` has the kind. Names are added and none is taken away: old pods
and Jobs still ask for theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from postrender.kubernetes.kinds import CONFIG_MAP, SECRET
from postrender.references.rule import RBAC, Rule
from postrender.yaml.paths import Json, parse_pattern


def _has_resource(name: str) -> Callable[[Mapping[str, Json]], bool]:
    def condition(rule: Mapping[str, Json]) -> bool:
        resources = rule.get("resources")
        return isinstance(resources, list) and (name in resources or "*" in resources)

    return condition


RULES = tuple(
    Rule(
        "rbac.authorization.k8s.io",
        kind,
        parse_pattern("rules[].resourceNames[]"),
        target,
        RBAC,
        only_if=_has_resource(resource),
    )
    for kind in ("Role", "ClusterRole")
    for target, resource in ((CONFIG_MAP, "configmaps"), (SECRET, "secrets"))
)
