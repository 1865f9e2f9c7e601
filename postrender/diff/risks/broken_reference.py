"""New pods cannot start, because what they reference is not there any more.

- A key of a ConfigMap or Secret (`configMapKeyRef`, `secretKeyRef`, `items`): the container stays
  in `CreateContainerConfigError`, or the volume cannot be mounted. For a `subPath`, kubelet mounts
  an empty folder in place of the file.
- A whole ConfigMap or Secret, a ServiceAccount, PersistentVolumeClaim, PriorityClass or
  RuntimeClass that the change removes.

References with `optional: true` do not count. Nor do objects that are in neither input, because
another release can own them, and references that were broken before. `postrender check` finds the
missing keys of objects in its input.

Source: kubelet (`makeEnvironmentVariables`, the configmap and secret volume plugins), and the
admission plugins ServiceAccount, Priority and RuntimeClass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from postrender.config.settings import NOTHING
from postrender.diff.kinds import pod_templates_of, template_path
from postrender.diff.model import Risk
from postrender.diff.risks.data_loss import is_kept
from postrender.diff.risks.facts import Facts, Object
from postrender.kubernetes.kinds import DATA_FIELDS, GroupKind, Identity, ObjectKey
from postrender.plan.namespaces import Resolver
from postrender.records import NamedTuple
from postrender.yaml.paths import Json, mapping_at, mappings_in, value_at

_CONFIG_MAP, _SECRET = ("", "ConfigMap"), ("", "Secret")
_CONFIG_ERROR = "New pods cannot start (CreateContainerConfigError)"
_MOUNT_ERROR = "New pods cannot mount the volume, and do not start"
_EMPTY = "Kubelet mounts an empty folder in place of the file"
_OTHERS = {
    ("", "ServiceAccount"): "New pods cannot be created",
    ("", "PersistentVolumeClaim"): "New pods stay Pending",
    ("scheduling.k8s.io", "PriorityClass"): "New pods cannot be created",
    ("node.k8s.io", "RuntimeClass"): "New pods cannot be created",
}
_KINDS = (_CONFIG_MAP, _SECRET, *_OTHERS)


class _Use(NamedTuple):
    """What a pod needs: an object, or a key of it; place: of the reference, for the message."""

    group_kind: GroupKind
    name: str
    key: str
    place: str
    consequence: str


def find(facts: Facts) -> Iterator[Risk]:
    removed = {
        facts.resolver.key_of(item.identity)
        for item in facts.removed()
        if item.identity.group_kind in _KINDS and not _stays(item)
    }
    data: tuple[dict[ObjectKey, Object], ...] = ({}, {})
    for number, is_new in enumerate((False, True)):
        for pair in facts.pairs:
            compared = pair.new if is_new else pair.old
            if compared and pair.identity.group_kind in (_CONFIG_MAP, _SECRET):
                key = facts.resolver.key_of(pair.identity)
                data[number][key] = Object(pair.identity, compared.data)
    seen = set()
    for pair in facts.pairs:
        if pair.new and template_path(pair.identity.group_kind) is not None:
            seen.add(pair.identity)
            broken = list(_broken(facts, pair.identity, pair.new.data, data[1], removed))
            old = pair.old if broken else None
            before = set(_broken(facts, pair.identity, old.data, data[0])) if old else ()
            # One risk for an object or key, however many containers use it.
            new = {use[:3]: use for use in broken if use not in before}
            yield from (_risk(pair.identity, use) for use in new.values())
    names = [key.name for key in removed if key.group_kind in _OTHERS]
    for item in facts.objects((), is_new=True, words=names) if names else ():
        if item.identity not in seen and template_path(item.identity.group_kind) is not None:
            for use in _broken(facts, item.identity, item.data, data[1], removed):
                if use.group_kind in _OTHERS:
                    yield _risk(item.identity, use)


def _stays(removed: Object) -> bool:
    """Whether a tool keeps an object under the name in references. A kept revision has another."""
    name = value_at(removed.data, ("metadata", "name"))
    return name == removed.identity.name and is_kept(removed)


def _risk(identity: Identity, use: _Use) -> Risk:
    key = f"the key {use.key} of " if use.key else ""
    fact = f"{key}{use.group_kind[1]}/{use.name} does not exist"
    return Risk(identity, fact, use.consequence, use.place)


def find_missing_keys(
    objects: Sequence[Object], resolver: Resolver
) -> Iterator[tuple[Object, str, str]]:
    """The objects with a pod template that uses a missing key, each with a fact and the place.

    A ConfigMap or Secret without data does not count, because another program can fill it.
    """
    facts = Names(resolver, NOTHING)
    contents = {
        resolver.key_of(item.identity): item
        for item in objects
        if item.identity.group_kind in (_CONFIG_MAP, _SECRET)
        and any(mapping_at(item.data, (field,)) for field in DATA_FIELDS)
    }
    for item in objects if contents else ():
        if template_path(item.identity.group_kind) is not None:
            for use in _broken(facts, item.identity, item.data, contents):
                risk = _risk(item.identity, use)
                yield item, f"{risk.fact}. {risk.consequence}", risk.path


class Names(NamedTuple):
    """What finds the target of a name."""

    resolver: Resolver
    base_names: Mapping[str, str]


def _broken(
    facts: Facts | Names,
    identity: Identity,
    data: dict[str, Json],
    contents: Mapping[ObjectKey, Object],
    removed: AbstractSet[ObjectKey] = frozenset(),
) -> Iterator[_Use]:
    """The uses whose target is removed, or does not have the key."""
    for template in _pod_specs(identity.group_kind, data):
        for use in dict.fromkeys(_uses(template)):
            use = use._replace(name=facts.base_names.get(use.name, use.name))
            is_global = use.group_kind[0] in ("scheduling.k8s.io", "node.k8s.io")
            namespace = None if is_global else identity.namespace
            key = facts.resolver.key_of(Identity(*use.group_kind, namespace, use.name))
            target = contents.get(key)
            if key in removed:
                yield use._replace(key="")
            elif target and use.key and not _has_key(target, use.key):
                yield use


def _has_key(target: Object, key: str) -> bool:
    return any(key in mapping_at(target.data, (field,)) for field in DATA_FIELDS)


def _pod_specs(group_kind: GroupKind, data: dict[str, Json]) -> list[dict[str, Json]]:
    return [mapping_at(template, ("spec",)) for template in pod_templates_of(group_kind, data)]


def _uses(spec: dict[str, Json]) -> Iterator[_Use]:
    for group_kind, field in (
        (("", "ServiceAccount"), "serviceAccountName"),
        (("", "ServiceAccount"), "serviceAccount"),
        (("scheduling.k8s.io", "PriorityClass"), "priorityClassName"),
        (("node.k8s.io", "RuntimeClass"), "runtimeClassName"),
    ):
        if isinstance(name := spec.get(field), str):
            yield _Use(group_kind, name, "", field, _OTHERS[group_kind])
    volumes: dict[Json, dict[str, Json]] = {}
    for volume in mappings_in(spec.get("volumes")):
        name = volume.get("name")
        place = f"volumes[name={name}]"
        if isinstance(name, str):
            volumes[name] = volume
        yield from _volume_uses(volume, place)
        for source in mappings_in(value_at(volume, ("projected", "sources"))):
            yield from _volume_uses(source, place)
        claim = value_at(volume, ("persistentVolumeClaim", "claimName"))
        if isinstance(claim, str):
            kind = ("", "PersistentVolumeClaim")
            yield _Use(kind, claim, "", place, _OTHERS[kind])
    for field in ("initContainers", "containers"):
        for container in mappings_in(spec.get(field)):
            yield from _container_uses(container, f"{field}[name={container.get('name')}]", volumes)


def _source(source: dict[str, Json]) -> tuple[GroupKind, str] | None:
    """The ConfigMap or Secret of a volume or of a projection, None if it is optional."""
    for field, group_kind in (("configMap", _CONFIG_MAP), ("secret", _SECRET)):
        part = source.get(field)
        if isinstance(part, dict) and part.get("optional") is not True:
            name = part.get("secretName") or part.get("name")
            return (group_kind, name) if isinstance(name, str) else None
    return None


def _items(source: dict[str, Json]) -> list[dict[str, Json]]:
    return mappings_in(
        value_at(source, ("configMap", "items")) or value_at(source, ("secret", "items"))
    )


def _volume_uses(source: dict[str, Json], place: str) -> Iterator[_Use]:
    if target := _source(source):
        yield _Use(*target, "", place, _MOUNT_ERROR)
        for item in _items(source):
            if isinstance(key := item.get("key"), str):
                yield _Use(*target, key, place, _MOUNT_ERROR)


def _container_uses(
    container: dict[str, Json], place: str, volumes: Mapping[Json, dict[str, Json]]
) -> Iterator[_Use]:
    for source in mappings_in(container.get("envFrom")):
        for field, group_kind in (("configMapRef", _CONFIG_MAP), ("secretRef", _SECRET)):
            reference = mapping_at(source, (field,))
            name = reference.get("name")
            if isinstance(name, str) and reference.get("optional") is not True:
                yield _Use(group_kind, name, "", f"{place}.envFrom", _CONFIG_ERROR)
    for variable in mappings_in(container.get("env")):
        for field, group_kind in (("configMapKeyRef", _CONFIG_MAP), ("secretKeyRef", _SECRET)):
            reference = mapping_at(variable, ("valueFrom", field))
            name, key = reference.get("name"), reference.get("key")
            is_optional = reference.get("optional") is True
            if isinstance(name, str) and isinstance(key, str) and not is_optional:
                where = f"{place}.env[name={variable.get('name')}]"
                yield _Use(group_kind, name, key, where, _CONFIG_ERROR)
    for mount in mappings_in(container.get("volumeMounts")):
        path, name = mount.get("subPath"), mount.get("name")
        volume = volumes.get(name) if isinstance(name, str) else None
        target = _source(volume) if volume else None
        if isinstance(path, str) and path and volume and target and not _items(volume):
            where = f"{place}.volumeMounts[name={name}]"
            yield _Use(*target, path.strip("/").partition("/")[0], where, _EMPTY)
