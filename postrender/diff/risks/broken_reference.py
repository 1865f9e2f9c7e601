"""An object references what is not there any more.

- A key of a ConfigMap or Secret (`configMapKeyRef`, `secretKeyRef`, `items`): the container stays
  in `CreateContainerConfigError`, or the volume cannot be mounted. A missing `subPath` becomes an
  empty folder.
- An object that the change removes: what a pod template needs, such as a Secret or PriorityClass,
  and what a field names by its kind, such as `issuerRef` or `parentRefs`. A Secret also goes with
  the ExternalSecret, SealedSecret or Certificate that writes it.
- The port of a Service, the named port of a probe or hook, and the variable in `$(NAME)`.

References with `optional: true` do not count, nor do objects in neither input, which another
release can own. A `pre-upgrade` or `PreSync` hook reads the previous objects.

Source: kubelet (`makeEnvironmentVariables`, the configmap and secret volume plugins, probes), the
admission plugins ServiceAccount, Priority and RuntimeClass, and the validation of Argo Rollouts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial

from postrender.config.settings import NOTHING
from postrender.diff.kinds import pod_templates_of, template_path
from postrender.diff.model import REMOVED, Risk
from postrender.diff.pairs import EARLIER
from postrender.diff.risks.data_loss import is_kept
from postrender.diff.risks.facts import Facts, Object
from postrender.kubernetes.annotations import HOOK_ANNOTATIONS
from postrender.kubernetes.kinds import DATA_FIELDS, GroupKind, Identity, ObjectKey, strings_at
from postrender.kubernetes.uses import (
    CONTAINER,
    TARGETS,
    VARIABLE,
    WITH_KEYS,
    WITH_PORTS,
    Use,
    uses_by_convention,
    uses_of,
)
from postrender.plan.namespaces import Resolver
from postrender.records import NamedTuple
from postrender.yaml.paths import Json, Parts, Path, mapping_at, mappings_in, value_at

# What follows for a hook that runs before the upgrade.
_NOW = (
    "The hook runs before the upgrade, with the objects of the previous release, so its pod cannot "
    "start, and the upgrade fails"
)
_ABSENT = "does not exist"
_UNREAD = "What the object reads from it is missing"
_LATER = "The hook of this upgrade still finds it, and that of the next upgrade cannot start"

# The objects with keys or ports, found when a use needs them.
_Contents = Callable[[], Mapping[ObjectKey, Object]]


def find(facts: Facts) -> Iterator[Risk]:
    removed = _removed(facts)
    risks = list(_find(facts, removed))
    yield from risks
    known = {(risk.identity, risk.fact) for risk in risks}
    for content in facts.contents.values():
        if content.change == REMOVED and facts.resolver.key_of(content.identity) in removed:
            fact = f"{content.identity} {_ABSENT}"
            for user in content.users:
                is_known = template_path(user.group_kind) or (user, fact) in known
                if user not in content.former and not is_known:
                    yield Risk(user, fact, _UNREAD)


def _find(facts: Facts, removed: Mapping[ObjectKey, str]) -> Iterator[Risk]:
    kinds = {
        key.group_kind[1].lower(): key.group_kind
        for key in removed
        if key.group_kind[1] not in ("ConfigMap", "Secret", "Namespace")
    }
    names = Names(facts.resolver, facts.base_names, kinds)
    before, after = (cache(partial(_contents, facts, is_new=is_new)) for is_new in (False, True))
    old = {pair.identity: pair.old.data if pair.old else None for pair in facts.pairs}

    def known(item: Object) -> set[tuple[object, str]]:
        data = old.get(item.identity, item.data)
        uses = _broken(names, item._replace(data=data), before) if data else ()
        return {(use[:3], use.place_in(data or {})) for use in uses}

    early = [item for item in facts.hooks() if _runs_before(item)]
    for item in early:
        now = {
            use[:3]: use._replace(consequence=_NOW)
            for use in _broken(names, item, partial(_early, facts, before, after), _added(facts))
        }
        later = {
            use[:3]: use._replace(consequence=_LATER)
            for use in _broken(names, item, after, removed)
        }
        old_keys = {key for key, _ in known(item)} if now else set()
        yield from (_risk(item, use) for key, use in (later | now).items() if key not in old_keys)
    yield from _left_behind(facts)
    for item, parts in _candidates(facts, removed):
        broken = list(_broken(names, item, after, removed, parts))
        if broken and not (early and _runs_before(item)):
            both = known(item)
            # One risk for an object or key, however many containers use it.
            new = {use[:3]: use for use in broken if (use[:3], use.place_in(item.data)) not in both}
            yield from (_risk(item, use) for use in new.values())


def _removed(facts: Facts) -> dict[ObjectKey, str]:
    """The objects that are no longer there, each with a clause if another object wrote it."""
    before, after = (
        {
            facts.resolver.key_of(Identity(*reference.rule.target, namespace, reference.name)): item
            for item in side.inventory.items
            for reference in item.references
            if reference.rule.is_written
            for namespace in [reference.namespace or item.identity.namespace]
        }
        for side in (facts.old, facts.new)
    )
    removed = {
        facts.resolver.key_of(one.identity): "" for one in facts.removed() if not _stays(one)
    }
    unwritten = {
        key: f"{item.identity} no longer writes {key.group_kind[1]}/{key.name}"
        for key, item in before.items()
    }
    lost = {key: fact for key, fact in {**unwritten, **removed}.items() if key not in after}
    there = {facts.resolver.key_of(one.identity) for one in facts.new.objects} if lost else set()
    return {key: fact for key, fact in lost.items() if key not in there}


def _left_behind(facts: Facts) -> Iterator[Risk]:
    """The uses of moved objects whose target is only in the namespace that they leave."""
    moved = [
        (old, new, list(uses_of(new.identity, new.data, templates)))
        for old, new in facts.moved()
        for templates in [pod_templates_of(new.identity.group_kind, new.data)]
    ]
    words = {use.name for _, _, uses in moved for use in uses}
    if not words:
        return
    before, after = (
        {facts.resolver.key_of(one.identity) for one in side.objects}
        | {
            facts.resolver.key_of(one.identity)
            for one in facts.objects((), is_new=is_new, words=words)
        }
        for side, is_new in ((facts.old, False), (facts.new, True))
    )
    for old, new, uses in moved:
        for use in {use[:2]: use for use in uses}.values():
            name = facts.base_names.get(use.name, use.name)
            target = Identity(*use.group_kind, use.namespace, name)
            there = facts.resolver.key_of(target._replace(namespace=old.identity.namespace))
            is_own = use.namespace == new.identity.namespace
            if is_own and there in before and facts.resolver.key_of(target) not in after:
                fact = f"{target.kind}/{name} is not in the namespace {use.namespace}"
                yield _risk(new, use._replace(key="", fact=fact))


def _candidates(facts: Facts, removed: Collection[ObjectKey]) -> Iterator[tuple[Object, Parts]]:
    """The objects with uses that can be broken, with the parts in which they are."""
    lost = set(_without_a_key(facts))
    words = {*(one.name for one in lost if one.kind == "Service"), *(key.name for key in removed)}
    if removed or any(one.kind != "Service" for one in lost):
        yield from ((item, None) for item in facts.objects((), is_new=True, words=words))
        return
    if lost:
        yield from ((item, None) for item in facts.objects(WITH_PORTS, is_new=True, words=words))
    for pair in facts.changes:
        if pair.new and not (lost and pair.identity.kind in WITH_PORTS):
            yield Object(pair.identity, pair.new.data), pair.parts


def _without_a_key(facts: Facts) -> Iterator[Identity]:
    """The objects that no longer have a key or port."""
    for pair in facts.changes:
        if pair.both and pair.identity.kind in WITH_KEYS:
            before, after = (_keys_of(one.data) for one in pair.both)
            if not before <= after:
                yield pair.identity
    old = {one.name: one.data for one in facts.old.revisions}
    for one in facts.new.revisions:
        if one.role == EARLIER and not _keys_of(old.get(one.name, {})) <= _keys_of(one.data):
            yield one.identity


def _runs_before(item: Object) -> bool:
    """Whether an object is a hook that runs before the other objects change."""
    annotations = strings_at(item.data, "annotations")
    phases = ",".join(annotations.get(name, "") for name in HOOK_ANNOTATIONS)
    return not {"pre-upgrade", "PreSync"}.isdisjoint(part.strip() for part in phases.split(","))


def _added(facts: Facts) -> dict[ObjectKey, str]:
    return {
        facts.resolver.key_of(pair.identity): ""
        for pair in facts.changes
        if not pair.old and not pair.newest.is_hook and pair.identity.kind in TARGETS
    }


def _early(facts: Facts, before: _Contents, after: _Contents) -> Mapping[ObjectKey, Object]:
    """What a hook before the upgrade finds: the older objects, and other hooks."""
    keys = {facts.resolver.key_of(hook.identity) for hook in facts.hooks()}
    return {**before(), **{key: item for key, item in after().items() if key in keys}}


def _contents(facts: Facts, *, is_new: bool) -> dict[ObjectKey, Object]:
    """The objects with keys or ports on one side, and the revisions under their own names."""
    side = facts.new if is_new else facts.old
    found = {
        facts.resolver.key_of(one.identity, one.name): Object(one.identity, one.data)
        for one in side.revisions
    }
    # The Service of an Ingress or route need not differ.
    used = {
        use.name
        for pair in facts.pairs
        if pair.new and pair.identity.kind in WITH_PORTS
        for use in uses_of(pair.identity, pair.new.data, ())
    }
    for item in facts.objects(WITH_KEYS, is_new=is_new, words=used):
        found[facts.resolver.key_of(item.identity)] = item
    return found


def _stays(removed: Object) -> bool:
    """Whether a tool keeps an object under the name in references. A kept revision has another."""
    name = value_at(removed.data, ("metadata", "name"))
    return name == removed.identity.name and is_kept(removed)


def _risk(item: Object, use: Use) -> Risk:
    return Risk(item.identity, _fact(use), use.consequence, use.place_in(item.data))


def _fact(use: Use) -> str:
    if use.fact:
        return use.fact
    noun = "key" if use.group_kind[1] in ("ConfigMap", "Secret") else "port"
    key = f"the {noun} {use.key} of " if use.key else ""
    return f"{key}{use.group_kind[1]}/{use.name} {_ABSENT}"


def find_missing_keys(
    objects: Sequence[Object], resolver: Resolver
) -> Iterator[tuple[Object, str, Path]]:
    """The objects that use a missing key or port, each with a fact and the path of the use.

    A ConfigMap or Secret without data does not count, because another program can fill it.
    """
    contents = {
        resolver.key_of(item.identity): item
        for item in objects
        if item.identity.kind in WITH_KEYS and _keys_of(item.data)
    }
    for item in objects if contents else ():
        for use in _broken(Names(resolver, NOTHING), item, lambda: contents):
            yield item, f"{_fact(use)}. {use.consequence}", use.path


class Names(NamedTuple):
    """What finds the target of a name.

    kinds: of removed objects, by the name in lower case.
    """

    resolver: Resolver
    base_names: Mapping[str, str]
    kinds: Mapping[str, GroupKind] = NOTHING


def _broken(
    names: Names,
    item: Object,
    contents: _Contents,
    removed: Mapping[ObjectKey, str] = NOTHING,
    parts: Parts = None,
) -> Iterator[Use]:
    """The uses whose target is removed, or does not have the key."""
    templates = pod_templates_of(item.identity.group_kind, item.data)
    uses = list(uses_of(item.identity, item.data, templates, parts, with_objects=bool(removed)))
    if removed and names.kinds:
        uses = [*uses_by_convention(item.identity, item.data, names.kinds), *uses]
    for use in dict.fromkeys(uses):
        if use.group_kind == CONTAINER or (
            use.group_kind == VARIABLE and _is_undefined(names, item, use, contents)
        ):
            yield use
        if use.group_kind in (CONTAINER, VARIABLE):
            continue
        target = Identity(*use.group_kind, use.namespace, use.name)
        name = names.base_names.get(use.name, use.name)
        key = names.resolver.key_of(target, name)
        if key in removed:
            yield use._replace(name=name, key="", fact=removed[key])
        elif use.key:
            found = contents().get(names.resolver.key_of(target)) or contents().get(key)
            if found and use.key not in _keys_of(found.data):
                yield use._replace(name=name)


def _is_undefined(names: Names, item: Object, use: Use, contents: _Contents) -> bool:
    """Whether the `envFrom` of a container is known, and does not have a variable."""
    for source in mappings_in(value_at(item.data, (*use.path[: use.depth + 2], "envFrom"))):
        for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            if name := value_at(source, (field, "name")):
                target = Identity("", kind, item.identity.namespace, str(name))
                found = contents().get(names.resolver.key_of(target))
                prefix = str(source.get("prefix") or "")
                keys = _keys_of(found.data) if found else set()
                if not keys or use.key in {f"{prefix}{key}" for key in keys}:
                    return False
    return True


def _keys_of(data: dict[str, Json]) -> set[Json]:
    """The keys of a ConfigMap or Secret, and the numbers and names of the ports of a Service."""
    keys: set[Json] = {key for field in DATA_FIELDS for key in mapping_at(data, (field,))}
    for port in mappings_in(value_at(data, ("spec", "ports"))):
        keys |= {str(port.get("port")), str(port.get("name"))}
    return keys
