"""References in custom kinds: the user's path rules, and embedded pod specs where they ask for it.

`references:` in the configuration names paths; `embeddedPodSpecs: true` takes any mapping with a
list of named containers for a pod spec.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.kubernetes.kinds import WORKLOAD_KINDS, GroupKind, Identity
from postrender.references.pods import POD_SPEC_PATTERNS
from postrender.references.rule import OUTSIDE, Rule
from postrender.yaml.paths import Json, Path, PatternTree


def find_custom(
    rules: tuple[Rule, ...], identity: Identity, data: Json
) -> list[tuple[Path, Json, Rule]]:
    """Return what the user's rules match in an object."""
    tree: PatternTree = PatternTree()
    for rule in rules:
        if rule.applies_to(identity.group_kind, identity.name):
            tree.add(rule.pattern, rule)
    return tree.find(data)


def embedded_pod_specs(
    identity: Identity, targets: tuple[GroupKind, ...], data: Json
) -> list[tuple[Path, Json, Rule]]:
    """Return what pod specs inside a custom kind name, wherever they stand."""
    if identity.group_kind in WORKLOAD_KINDS:
        return []
    tree: PatternTree = PatternTree()
    for pattern, target in POD_SPEC_PATTERNS:
        if target in targets:
            tree.add(pattern, Rule(None, "*", pattern, target, OUTSIDE))
    return [
        ((*path, *inner), value, rule)
        for path, spec in _pod_specs(data, ())
        for inner, value, rule in tree.find(spec)
    ]


def _pod_specs(data: Json, path: Path) -> Iterator[tuple[Path, Json]]:
    if isinstance(data, list):
        for number, item in enumerate(data):
            yield from _pod_specs(item, (*path, number))
    elif isinstance(data, dict):
        containers = data.get("containers")
        if isinstance(containers, list) and containers and all(map(_is_container, containers)):
            yield path, data
        for key, value in data.items():
            yield from _pod_specs(value, (*path, key))


def _is_container(data: Json) -> bool:
    return isinstance(data, dict) and isinstance(data.get("name"), str)
