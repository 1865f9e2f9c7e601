"""References of a Role or ClusterRole (rbac.authorization.k8s.io/v1 PolicyRule).

If `resources` has `configmaps`, `secrets` or `*`, each item of `resourceNames` is a reference:

    kind: Role
    rules:
      - apiGroups: [""]
        resources: [configmaps]
        resourceNames: [web-config]
        verbs: [get]

postrender adds names to `resourceNames` and never removes a name, because old pods and Jobs still
use the old names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from postrender.kubernetes.kinds import CONFIG_MAP, RBAC_GROUP, SECRET
from postrender.references.rule import RBAC, Rule
from postrender.yaml.paths import Json, parse_pattern


def _has_resource(resource: str) -> Callable[[Mapping[str, Json]], bool]:

    def condition(policy_rule: Mapping[str, Json]) -> bool:
        resources = policy_rule.get("resources")
        return isinstance(resources, list) and (resource in resources or "*" in resources)

    return condition


RBAC_RULES = tuple(
    Rule(
        group=RBAC_GROUP,
        kind=kind,
        pattern=parse_pattern("rules[].resourceNames[]"),
        target=target,
        family=RBAC,
        only_if=_has_resource(resource),
    )
    for kind in ("Role", "ClusterRole")
    for target, resource in ((CONFIG_MAP, "configmaps"), (SECRET, "secrets"))
)
