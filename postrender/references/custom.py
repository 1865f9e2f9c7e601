"""References in custom kinds: the user's rules, embedded pod specs, and strings that look like one.

The package `catalogue` describes known custom kinds, and uses embedded_references() for their other
fields and for unknown kinds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from postrender.kubernetes.kinds import CONFIG_MAP, SECRET, WORKLOAD_KINDS, GroupKind, Identity
from postrender.records import NamedTuple
from postrender.references.built_in import POD_SPEC_PATTERNS
from postrender.references.rule import Rule
from postrender.text import letters_of
from postrender.yaml.paths import Json, Path, PatternTree, nested_mappings

_WORDS = {"configmap": CONFIG_MAP, "secret": SECRET}
_KIND_KEYS = ("kind", "type")
_SELECTOR_KEYS = frozenset({"name", "key", "namespace", "optional"})
_SKIPPED = frozenset({"apiVersion", "kind", "metadata", "status"})


class EmbeddedReference(NamedTuple):
    """A string that looks like a reference to an object of the kind `target`.

    is_qualified: whether the string can have the form `namespace/name`.
    is_guess: whether only the keys `name` and `key` of a mapping suggest a reference. Then every
        possible target has its own EmbeddedReference.
    """

    path: Path
    name: str
    target: GroupKind
    is_qualified: bool = False
    is_guess: bool = False


def embedded_references(
    data: Mapping[str, Json], targets: tuple[GroupKind, ...]
) -> Iterator[EmbeddedReference]:
    """The strings, outside metadata and status, that look like references by nearby keys or kinds.

    Here, the strings that begin with `web`:

        configMapName: web-config
        configMapRef: {name: web-config}
        source: {kind: ConfigMap, name: web-config}
        tls: {secretName: web-tls}
        username: {name: web-users, key: username}

    Such a string can have another meaning. postrender therefore rewrites it only if the catalogue
    or the configuration describes the field, and otherwise keeps the original of the object with
    this name. An unnecessary original does less harm than a missed reference.
    """
    for key, value in data.items():
        if key not in _SKIPPED:
            yield from _search(value, (key,), _targets_of(key, targets), targets)


def _search(
    data: Json, path: Path, suggested: tuple[GroupKind, ...], targets: tuple[GroupKind, ...]
) -> Iterator[EmbeddedReference]:
    """The references in a value. suggested: the targets that the value's key suggests."""
    if isinstance(data, str):
        for target in suggested:
            yield EmbeddedReference(path=path, name=data, target=target, is_qualified=True)
    elif isinstance(data, list):
        for number, item in enumerate(data):
            yield from _search(item, (*path, number), suggested, targets)
    elif isinstance(data, dict):
        name = data.get("name")
        if isinstance(name, str):
            certain = _targets_of_mapping(data, suggested, targets)
            is_guess = not certain and _is_selector(data)
            for target in targets if is_guess else certain:
                yield EmbeddedReference(
                    path=(*path, "name"), name=name, target=target, is_guess=is_guess
                )
        for key, value in data.items():
            # The name in `metadata` is the name of an embedded manifest, and not a reference.
            if key not in ("metadata", "name"):
                yield from _search(value, (*path, key), _targets_of(key, targets), targets)


def _targets_of(key: str, targets: tuple[GroupKind, ...]) -> tuple[GroupKind, ...]:
    """The targets that a key such as `configMapKeyRef` or `tlsSecretName` suggests."""
    letters = letters_of(key)
    return tuple(target for word, target in _WORDS.items() if word in letters and target in targets)


def _targets_of_mapping(
    data: Mapping[str, Json], suggested: tuple[GroupKind, ...], targets: tuple[GroupKind, ...]
) -> tuple[GroupKind, ...]:
    """The targets of a mapping such as `{kind: Secret, name: web-tls}`, else the suggested ones."""
    kinds = {str(data.get(key)).lower() for key in _KIND_KEYS}
    named = [target for word, target in _WORDS.items() if word in kinds]
    return tuple(target for target in named if target in targets) if named else suggested


def _is_selector(data: Mapping[str, Json]) -> bool:
    """Whether a mapping has the keys of a ConfigMapKeySelector or SecretKeySelector."""
    return isinstance(data.get("key"), str) and data.keys() <= _SELECTOR_KEYS


def find_custom(
    rules: tuple[Rule, ...], identity: Identity, data: Json
) -> list[tuple[Path, Json, Rule]]:
    """The (path, value, rule) of each match of the user's rules. The value can have any type.

    With `references: [{kind: Widget, path: spec.configName}]`, `web-config` is a reference:

        kind: Widget
        spec:
          configName: web-config
    """
    applying = (rule for rule in rules if rule.applies_to(identity.group_kind, identity.name))
    return PatternTree((rule.pattern, rule) for rule in applying).find(data)


def embedded_pod_specs(
    identity: Identity, targets: tuple[GroupKind, ...], data: Json
) -> list[tuple[Path, Json, Rule]]:
    """The (path, value, rule) of each reference in a pod spec anywhere in a custom object.

    A mapping is a pod spec if its `containers` is a list of mappings with a `name`. With
    `embeddedPodSpecs: true`, `web-config` is a reference:

        kind: Widget
        spec:
          runner:
            containers:
              - name: web
                envFrom: [{configMapRef: {name: web-config}}]

    Kinds in WORKLOAD_KINDS have none, because `built_in` has the rules for them.
    """
    if identity.group_kind in WORKLOAD_KINDS:
        return []
    tree = PatternTree(
        (pattern, Rule(group=None, kind="*", pattern=pattern, target=target))
        for pattern, target in POD_SPEC_PATTERNS
        if target in targets
    )
    return [
        ((*spec_path, *path), value, rule)
        for spec_path, spec in nested_mappings(data)
        if _is_pod_spec(spec)
        for path, value, rule in tree.find(spec)
    ]


def _is_pod_spec(data: Mapping[str, Json]) -> bool:
    containers = data.get("containers")
    return isinstance(containers, list) and bool(containers) and all(map(_is_container, containers))


def _is_container(data: Json) -> bool:
    return isinstance(data, dict) and isinstance(data.get("name"), str)
