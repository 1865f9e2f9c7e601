"""Strings that look like references, because of nearby keys or kinds.

In these examples, the strings that begin with `web` are references:

    configMapName: web-config
    configMapRef: {name: web-config}
    source: {kind: ConfigMap, name: web-config}
    tls: {secretName: web-tls}
    username: {name: web-users, key: username}

A string that looks like a reference can have another meaning. postrender therefore rewrites the
string only if the catalogue or the configuration describes the field. Otherwise, postrender leaves
the string unchanged and keeps the original of the object with this name. An unnecessary original
does less harm than a missed reference.

References that the configuration adds: the user's path rules and embedded pod specs.

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

from collections.abc import Iterator, Mapping

from postrender.kubernetes.kinds import CONFIG_MAP, SECRET, WORKLOAD_KINDS, GroupKind, Identity
from postrender.records import NamedTuple
from postrender.references.built_in import POD_SPEC_PATTERNS
from postrender.references.rule import Rule
from postrender.text import letters_of
from postrender.yaml.paths import Json, Path, PatternTree

_WORDS = {"configmap": CONFIG_MAP, "secret": SECRET}
_KIND_KEYS = ("kind", "type")
_SELECTOR_KEYS = frozenset({"name", "key", "namespace", "optional"})
_SKIPPED = frozenset({"apiVersion", "kind", "metadata", "status"})


class EmbeddedReference(NamedTuple):
    """A string that looks like a reference to an object.

    path: the path of the string in the object with the reference.
    name: the string.
    target: the kind of the referenced object.
    is_qualified: whether the string can have the form `namespace/name`.
    is_guess: whether only the keys `name` and `key` of a mapping suggest a reference. If so, every
        possible target has a separate EmbeddedReference.
    """

    path: Path
    name: str
    target: GroupKind
    is_qualified: bool = False
    is_guess: bool = False


def embedded_references(
    data: Mapping[str, Json], targets: tuple[GroupKind, ...]
) -> Iterator[EmbeddedReference]:
    """Return the strings that look like references, except strings in metadata and status.

    data: the object.
    targets: the kinds of the referenced objects.
    """
    for key, value in data.items():
        if key not in _SKIPPED:
            yield from _search(value, (key,), _targets_of(key, targets), targets)


def _search(
    data: Json, path: Path, suggested: tuple[GroupKind, ...], targets: tuple[GroupKind, ...]
) -> Iterator[EmbeddedReference]:
    """Return the references in a value. suggested: the targets that the value's key suggests."""
    if isinstance(data, str):
        for target in suggested:
            yield EmbeddedReference(path=path, name=data, target=target, is_qualified=True)
    elif isinstance(data, list):
        for number, item in enumerate(data):
            yield from _search(item, (*path, number), suggested, targets)
    elif isinstance(data, dict):
        name = data.get("name")
        if isinstance(name, str):
            certain = dict.fromkeys((*suggested, *_targets_of_kind(data, targets)))
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
    """Return the targets that a key such as `configMapKeyRef` or `tlsSecretName` suggests."""
    letters = letters_of(key)
    return tuple(target for word, target in _WORDS.items() if word in letters and target in targets)


def _targets_of_kind(
    data: Mapping[str, Json], targets: tuple[GroupKind, ...]
) -> tuple[GroupKind, ...]:
    """Return the targets that a mapping such as `{kind: Secret, name: web-tls}` suggests."""
    kinds = {str(data.get(key)).lower() for key in _KIND_KEYS}
    return tuple(target for word, target in _WORDS.items() if word in kinds and target in targets)


def _is_selector(data: Mapping[str, Json]) -> bool:
    """Return whether a mapping has the keys of a ConfigMapKeySelector or SecretKeySelector."""
    return isinstance(data.get("key"), str) and data.keys() <= _SELECTOR_KEYS


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
