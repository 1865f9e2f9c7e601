"""An object references what is not there any more.

- A key of a ConfigMap or Secret (`configMapKeyRef`, `secretKeyRef`, `items`): the container stays
  in `CreateContainerConfigError`, or the volume cannot be mounted. For a `subPath`, kubelet mounts
  an empty folder in place of the file.
- Another object that a pod template needs and that the change removes: a ConfigMap, Secret,
  ServiceAccount, PersistentVolumeClaim, PriorityClass or RuntimeClass.
- The Service of an Ingress, HTTPRoute, StatefulSet, Rollout, webhook or APIService, and its port;
  the Secret of an Ingress or ServiceAccount; the role and the accounts of a binding; the template
  of an analysis; the target of an autoscaler; a StorageClass or IngressClass; the named port of a
  probe.

References with `optional: true` do not count, nor do objects that are in neither input, because
another release can own them. A hook before the upgrade (`pre-upgrade`, `PreSync`) reads the objects
of the previous release.

Source: kubelet (`makeEnvironmentVariables`, the configmap and secret volume plugins, probes), the
admission plugins ServiceAccount, Priority and RuntimeClass, and the validation of Argo Rollouts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from postrender.config.settings import NOTHING
from postrender.diff.kinds import pod_templates_of, template_path
from postrender.diff.model import Risk
from postrender.diff.risks.data_loss import is_kept
from postrender.diff.risks.facts import Facts, Object
from postrender.kubernetes.annotations import HOOK_ANNOTATIONS
from postrender.kubernetes.kinds import DATA_FIELDS, Identity, ObjectKey, strings_at
from postrender.kubernetes.uses import TARGETS, WITH_KEYS, Use, uses_of
from postrender.plan.namespaces import Resolver
from postrender.records import NamedTuple
from postrender.yaml.paths import Json, mapping_at, mappings_in, value_at

_KEYS = (*((field,) for field in DATA_FIELDS), ("spec", "ports"))

# What follows for a hook that runs before the upgrade.
_NOW = (
    "The hook runs before the upgrade, with the objects of the previous release, so its pod cannot "
    "start, and the upgrade fails"
)
_LATER = "The hook of this upgrade still finds it, and that of the next upgrade cannot start"


def find(facts: Facts) -> Iterator[Risk]:
    removed = {
        facts.resolver.key_of(item.identity)
        for item in facts.removed()
        if item.identity.kind in TARGETS and not _stays(item)
    }
    old = {pair.identity: pair.old.data if pair.old else None for pair in facts.pairs}
    used = {
        use.name
        for pair in facts.pairs
        if pair.new and pair.identity.kind in ("Ingress", "HTTPRoute", "GRPCRoute")
        for use in _uses(pair.identity, pair.new.data)
    }
    contents = [_contents(facts, used, is_new=is_new) for is_new in (False, True)]
    services = {identity.name for identity, *_ in facts.changed() if identity.kind == "Service"}
    words = {*services, *(key.name for key in removed)}
    hooks = [pair for pair in facts.pairs if pair.newest.is_hook]
    added = {
        facts.resolver.key_of(pair.identity)
        for pair in facts.pairs
        if not pair.old and not pair.newest.is_hook and pair.identity.kind in TARGETS
    }
    # What a hook before the upgrade finds: the older objects, and other hooks.
    early = contents[0] | {
        key: contents[1][key]
        for key in (facts.resolver.key_of(pair.identity) for pair in hooks)
        if key in contents[1]
    }
    for item in facts.objects((), is_new=True, words=words):
        if _runs_before(item):
            uses = _broken(facts, item.identity, item.data, early, added)
            now = {use[:3]: use._replace(consequence=_NOW) for use in uses}
            data = old.get(item.identity, item.data)
            before = set(_broken(facts, item.identity, data, contents[0])) if now and data else ()
            known = {use[:3] for use in before}
            later = {
                use[:3]: use._replace(consequence=_LATER)
                for use in _broken(facts, item.identity, item.data, contents[1], removed)
            }
            found = (use for key, use in (later | now).items() if key not in known)
            yield from (_risk(item.identity, use) for use in found)
            continue
        data = old.get(item.identity, item.data)
        broken = list(_broken(facts, item.identity, item.data, contents[1], removed))
        before = set(_broken(facts, item.identity, data, contents[0])) if broken and data else ()
        # One risk for an object or key, however many containers use it.
        new = {use[:3]: use for use in broken if use not in before}
        yield from (_risk(item.identity, use) for use in new.values())


def _runs_before(item: Object) -> bool:
    """Whether an object is a hook that runs before the other objects change."""
    annotations = strings_at(item.data, "annotations")
    phases = ",".join(annotations.get(name, "") for name in HOOK_ANNOTATIONS)
    return not {"pre-upgrade", "PreSync"}.isdisjoint(part.strip() for part in phases.split(","))


def _contents(facts: Facts, used: Collection[str], *, is_new: bool) -> dict[ObjectKey, Object]:
    """The objects with keys or ports on one side, and the revisions under their own names.

    used: the names in an Ingress or route, whose Services need not differ.
    """
    side = facts.new if is_new else facts.old
    found = {
        facts.resolver.key_of(one.identity, one.name): Object(one.identity, one.data)
        for one in side.revisions
    }
    for item in facts.objects(WITH_KEYS, is_new=is_new, words=used):
        found[facts.resolver.key_of(item.identity)] = item
    return found


def _stays(removed: Object) -> bool:
    """Whether a tool keeps an object under the name in references. A kept revision has another."""
    name = value_at(removed.data, ("metadata", "name"))
    return name == removed.identity.name and is_kept(removed)


def _risk(identity: Identity, use: Use) -> Risk:
    noun = "key" if use.group_kind[1] in ("ConfigMap", "Secret") else "port"
    key = f"the {noun} {use.key} of " if use.key else ""
    fact = f"{key}{use.group_kind[1]}/{use.name} does not exist"
    return Risk(identity, fact, use.consequence, use.place)


def find_missing_keys(
    objects: Sequence[Object], resolver: Resolver
) -> Iterator[tuple[Object, str, str]]:
    """The objects that use a missing key or port, each with a fact and the place.

    A ConfigMap or Secret without data does not count, because another program can fill it.
    """
    facts = Names(resolver, NOTHING)
    contents = {
        resolver.key_of(item.identity): item
        for item in objects
        if item.identity.kind in WITH_KEYS and any(value_at(item.data, path) for path in _KEYS)
    }
    for item in objects if contents else ():
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
    removed: Collection[ObjectKey] = (),
) -> Iterator[Use]:
    """The uses whose target is removed, or does not have the key."""
    for use in dict.fromkeys(_uses(identity, data)):
        target = Identity(*use.group_kind, use.namespace, use.name)
        item = contents.get(facts.resolver.key_of(target))
        name = facts.base_names.get(use.name, use.name)
        key = facts.resolver.key_of(target, name)
        use = use._replace(name=name)
        item = item or contents.get(key)
        is_missing = use.key and item and not _has_key(item, use.key)
        if key in removed:
            yield use._replace(key="")
        elif is_missing or use.group_kind[1] == "Container":
            yield use


def _has_key(item: Object, key: str) -> bool:
    """Whether a ConfigMap or Secret has a key, or a Service a port of this number or name."""
    ports = mappings_in(value_at(item.data, ("spec", "ports")))
    return any(key in mapping_at(item.data, (field,)) for field in DATA_FIELDS) or any(
        key in (str(port.get("port")), port.get("name")) for port in ports
    )


def _uses(identity: Identity, data: dict[str, Json]) -> Iterator[Use]:
    group_kind = identity.group_kind
    has_pods = template_path(group_kind) is not None
    return uses_of(identity, data, pod_templates_of(group_kind, data) if has_pods else [])
