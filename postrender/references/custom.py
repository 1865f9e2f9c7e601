"""References that the configuration adds: the user's path rules and embedded pod specs.

If the configuration has `references: [{kind: Widget, path: spec.configName}]`, the value of
`configName` is the reference:

    kind: Widget
    spec:
      configName: web-config

If the configuration has `embeddedPodSpecs: true`, postrender searches objects for embedded pod
specs. A mapping is a pod spec if the key `containers` has a list of mappings with a `name`. In this
example, the value of `configMapRef.name` is the reference:

    kind: Widget
    spec:
      runner:
        containers:
          - name: web
            envFrom: [{configMapRef: {name: web-config}}]
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.kubernetes.kinds import WORKLOAD_KINDS, GroupKind, Identity
from postrender.references.built_in import POD_SPEC_PATTERNS
from postrender.references.rule import Rule
from postrender.yaml.paths import Json, Path, PatternTree


def find_custom(
    rules: tuple[Rule, ...], identity: Identity, data: Json
) -> list[tuple[Path, Json, Rule]]:
    """Return (path, value, rule) for each match of the user's rules in an object.

    The value can have any type.
    """
    tree = PatternTree()
    for rule in rules:
        if rule.applies_to(identity.group_kind, identity.name):
            tree.add(rule.pattern, rule)
    return tree.find(data)


def embedded_pod_specs(
    identity: Identity, targets: tuple[GroupKind, ...], data: Json
) -> list[tuple[Path, Json, Rule]]:
    """Return (path, value, rule) for each reference in the embedded pod specs of an object.

    targets: the kinds of the referenced objects.
    The result is [] for a kind in WORKLOAD_KINDS, because the module `pods` has the rules for these
    kinds.
    """
    if identity.group_kind in WORKLOAD_KINDS:
        return []
    tree = PatternTree()
    for pattern, target in POD_SPEC_PATTERNS:
        if target in targets:
            tree.add(pattern, Rule(group=None, kind="*", pattern=pattern, target=target))
    return [
        ((*spec_path, *path), value, rule)
        for spec_path, spec in _pod_specs(data, ())
        for path, value, rule in tree.find(spec)
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
