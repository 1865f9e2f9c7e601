"""The risk of a reference to an object, or a part of it, that is not there any more."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial

from postrender.config.settings import NOTHING
from postrender.diff.kinds import pod_templates_of, template_path
from postrender.diff.model import NEXT_PODS, NEXT_RUN, REMOVED, ROLLS, Risk
from postrender.diff.pairs import EARLIER, Side
from postrender.diff.risks.changed_uses import find_changed_uses, find_lost_labels
from postrender.diff.risks.facts import Facts, Object
from postrender.inventory.model import Item
from postrender.kubernetes.annotations import HOOK_ANNOTATIONS, keeper_of
from postrender.kubernetes.kinds import (
    CONTENT_KINDS,
    GroupKind,
    Identity,
    ObjectKey,
    is_built_in,
    strings_at,
)
from postrender.kubernetes.needs import NEEDED_KINDS, needs_differ, unmet_needs
from postrender.kubernetes.parts import (
    ANALYSES,
    USERS_OF_PARTS,
    parts_named_at,
    parts_of,
    written_keys,
)
from postrender.kubernetes.uses import (
    CONTAINER,
    FAILS,
    TARGETS,
    VARIABLE,
    Use,
    uses_by_convention,
    uses_of,
)
from postrender.plan.namespaces import Resolver
from postrender.records import NamedTuple
from postrender.yaml.paths import Parts, Path, mappings_in, value_at

# What follows for a hook that runs before the upgrade.
_NOW = (
    "The hook runs before the upgrade, with the objects of the previous release, so its pod cannot "
    "start, and the upgrade fails"
)
_ABSENT = "does not exist"
_NEW_PODS = (ROLLS, NEXT_PODS, NEXT_RUN)
_UNREAD = "What the object reads from it is missing"
_LATER = "The hook of this upgrade still finds it, and that of the next upgrade cannot start"

# What a part is called, by the kind of the object that has it.
_NOUNS = {
    "ConfigMap": "key",
    "Secret": "key",
    "Service": "port",
    "Gateway": "listener",
    "DestinationRule": "subset",
    "WorkflowTemplate": "template",
}
# The objects with parts, each with its parts, found when a use needs them.
_Parted = tuple[Object, set[str]]
_Contents = Callable[[], Mapping[ObjectKey, _Parted]]


def find_broken_reference(facts: Facts) -> Iterator[Risk]:
    """An object references what is not there any more.

    - A key of a ConfigMap or Secret: the container stays in `CreateContainerConfigError`. A
      missing `subPath` becomes an empty folder.
    - A removed object: what a pod template needs, such as a PriorityClass, or what a field names
      by its kind, such as `issuerRef`. A Secret goes with the ExternalSecret or Certificate that
      writes it.
    - Another part of an object: a port, a listener, a subset, the container or request of a
      metric, an argument of an analysis, a route of a router.
    - The port of a probe or hook, the variable in `$(NAME)`, a label in `fieldRef`.

    References with `optional: true` do not count, nor do objects in neither input, which another
    release can own. A `pre-upgrade` or `PreSync` hook reads the previous objects.

    Source: kubelet (`makeEnvironmentVariables`, the configmap and secret volume plugins,
    probes), the admission plugins ServiceAccount, Priority and RuntimeClass, and the validation
    of Argo Rollouts.
    """
    removed = _removed(facts)
    risks = list(_find(facts, removed))
    yield from risks
    known = {(risk.identity, risk.fact) for risk in risks}
    for content in facts.contents.values():
        if content.change == REMOVED and facts.both.resolver.key_of(content.identity) in removed:
            fact = f"{content.identity} {_ABSENT}"
            for user in content.users:
                is_known = template_path(user.group_kind) or (user, fact) in known
                if user not in content.former and not is_known:
                    yield Risk(user, fact, _UNREAD)


def _find(facts: Facts, removed: Mapping[ObjectKey, str]) -> Iterator[Risk]:
    lost, needed = set(_without_a_part(facts)), _needed_differently(facts)
    kinds = {
        group_kind[1].lower(): group_kind
        for group_kind in {key.group_kind for key in removed} | {one.group_kind for one in lost}
        if group_kind[1] not in (*CONTENT_KINDS, "Namespace")
    }
    names = Names(facts.both.resolver, facts.both.names.of_all, kinds, _custom_references(facts))
    before, after = (
        cache(partial(_contents, facts, needed, is_new=is_new)) for is_new in (False, True)
    )
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
    yield from (_risk(item, use) for item, use in find_changed_uses(facts))
    yield from find_lost_labels(facts)
    rolling = {one.identity for one in facts.workloads if one.effect in _NEW_PODS}
    for item, parts in _candidates(facts, removed, lost, needed, rolling):
        broken = list(_broken(names, item, after, removed, parts))
        if broken and not (early and _runs_before(item)):
            both = known(item)
            # One risk for an object or key, however many containers use it.
            new = {use[:3]: use for use in broken if (use[:3], use.place_in(item.data)) not in both}
            for use in broken if item.identity in rolling else ():
                if use.key and use.group_kind[1] in CONTENT_KINDS and use[:3] not in new:
                    new[use[:3]] = use._replace(fact=f"{_fact(use)}, as before the change")
            yield from (_risk(item, use) for use in new.values())


def _removed(facts: Facts) -> dict[ObjectKey, str]:
    """The objects that are no longer there, each with a clause if another object wrote it."""
    key_of = facts.both.resolver.key_of
    before, after = (
        {key_of(target): item for item, target in _writers(side)}
        for side in (facts.both.old, facts.both.new)
    )
    removed = {key_of(one.identity): "" for one in facts.removed() if not _stays(one)}
    unwritten = {
        key: f"{item.identity} no longer writes {key.group_kind[1]}/{key.name}"
        for key, item in before.items()
    }
    lost = {key: fact for key, fact in {**unwritten, **removed}.items() if key not in after}
    there = {key_of(one.identity) for one in facts.both.new.objects} if lost else set()
    return {key: fact for key, fact in lost.items() if key not in there}


def _candidates(
    facts: Facts,
    removed: Collection[ObjectKey],
    lost: Collection[Identity],
    needed: Collection[Identity],
    rolling: Collection[Identity],
) -> Iterator[tuple[Object, Parts]]:
    """The objects with uses that can be broken, with the parts in which they are."""
    words = {one.name for one in (*lost, *needed)} | {key.name for key in removed}
    users = [USERS_OF_PARTS[one.kind] for one in lost] + [("Rollout",)] * bool(needed)
    if removed or () in users:
        yield from ((item, None) for item in facts.objects((), is_new=True, words=words))
        return
    kinds = {kind for one in users for kind in one}
    if kinds:
        yield from ((item, None) for item in facts.objects(kinds, is_new=True, words=words))
    for pair in facts.changes:
        if pair.new and pair.identity.kind not in kinds:
            is_whole = pair.identity in rolling or pair.identity.kind == "Rollout"
            parts = None if is_whole else pair.parts
            yield Object(pair.identity, pair.new.data), parts


def _kinds_with_parts(facts: Facts) -> set[str]:
    """The kinds with parts that an object here can name."""
    there = {pair.identity.kind for pair in facts.pairs} | facts.both.unread.keys()
    return {
        kind for kind, users in USERS_OF_PARTS.items() if not users or not there.isdisjoint(users)
    }


def _needed_differently(facts: Facts) -> set[Identity]:
    """The objects in which what a Rollout needs differs."""
    return {
        pair.identity
        for pair in facts.changes
        if pair.both and needs_differ(*(one.data for one in pair.both))
    }


def _without_a_part(facts: Facts) -> Iterator[Identity]:
    """The objects that no longer have a part."""
    kinds = _kinds_with_parts(facts)
    for pair in facts.changes:
        if not pair.both:
            continue
        identity, sides = pair.identity, [Object(pair.identity, one.data) for one in pair.both]
        if identity.kind in kinds:
            before, after = (parts_of(one.data) for one in sides)
            if not before <= after:
                yield _owner(sides[1])
        elif identity.kind in _WRITERS:
            written = [_written(side, identity) for side in (facts.both.old, facts.both.new)]
            yield from (target for target in written[0] if target in written[1])
    old = {one.name: one.data for one in facts.both.old.revisions}
    for one in facts.both.new.revisions:
        if one.role == EARLIER and not parts_of(old.get(one.name, {})) <= parts_of(one.data):
            yield one.identity


def _owner(item: Object) -> Identity:
    """The identity of an object with parts. A DestinationRule is found by its host."""
    host = value_at(item.data, ("spec", "host"))
    is_rule = item.identity.kind == "DestinationRule" and isinstance(host, str)
    return item.identity._replace(name=str(host).partition(".")[0]) if is_rule else item.identity


def _writers(side: Side) -> Iterator[tuple[Item, Identity]]:
    """The objects of a side that write other objects, each with one of those."""
    for item in side.inventory.items:
        for reference in item.references:
            if reference.rule.is_written:
                yield item, item.target_of(reference)


_WRITERS = ("ExternalSecret", "SealedSecret")


def _written(side: Side, writer: Identity | None = None) -> dict[Identity, Object]:
    """The Secrets that the objects of a side write, if their keys are known."""
    found = {}
    for item, target in _writers(side):
        is_known = item.identity.kind in _WRITERS and writer in (None, item.identity)
        keys = written_keys(side.by_item[item.key].data) if is_known else None
        if keys:
            found[target] = Object(target, {"data": dict.fromkeys(keys, "")})
    return found


def _custom_references(facts: Facts) -> dict[Identity, list[Use]]:
    """The keys that fields of custom kinds use, in objects that differ or can use what differs."""
    found: dict[Identity, list[Use]] = {}
    for item in facts.both.new.inventory.items:
        for reference in () if is_built_in(item.identity.group) else item.references:
            path, target = reference.path[len(item.path) :], reference.rule.target
            around = value_at(facts.both.new.by_item[item.key].data, path[:-1])
            is_optional = value_at(around, ("optional",)) is True
            keys = parts_named_at(around, target[1])
            if item.identity.kind == "HelmRelease" and not keys:
                keys = ["values.yaml"]
            for key in () if is_optional else keys:
                space = item.target_of(reference).namespace
                use = Use(target, reference.name, key, space, path, 0, FAILS)
                found.setdefault(item.identity, []).append(use)
    return found


def _runs_before(item: Object) -> bool:
    """Whether an object is a hook that runs before the other objects change."""
    annotations = strings_at(item.data, "annotations")
    phases = ",".join(annotations.get(name, "") for name in HOOK_ANNOTATIONS)
    return not {"pre-upgrade", "PreSync"}.isdisjoint(part.strip() for part in phases.split(","))


def _added(facts: Facts) -> dict[ObjectKey, str]:
    return {
        facts.both.resolver.key_of(pair.identity): ""
        for pair in facts.changes
        if not pair.old and not pair.newest.is_hook and pair.identity.kind in TARGETS
    }


def _early(facts: Facts, before: _Contents, after: _Contents) -> Mapping[ObjectKey, _Parted]:
    """What a hook before the upgrade finds: the older objects, and other hooks."""
    keys = {facts.both.resolver.key_of(hook.identity) for hook in facts.hooks()}
    return {**before(), **{key: item for key, item in after().items() if key in keys}}


def _contents(
    facts: Facts, needed: Collection[Identity], *, is_new: bool
) -> dict[ObjectKey, _Parted]:
    """The objects with keys or ports on one side, and the revisions under their own names."""
    key_of = facts.both.resolver.key_of
    side = facts.both.new if is_new else facts.both.old
    found = {
        key_of(one.identity, one.name): Object(one.identity, one.data) for one in side.revisions
    }
    for target, item in _written(side).items():
        found[key_of(target)] = item
    # The Service of an Ingress or route need not differ.
    kinds = _kinds_with_parts(facts)
    users = {user for kind in kinds for user in USERS_OF_PARTS[kind]} | {"Rollout"}
    uses = [
        use
        for pair in facts.pairs
        if pair.new and pair.identity.kind in users
        for use in uses_of(pair.identity, pair.new.data, ())
    ]
    kinds |= NEEDED_KINDS & {use.group_kind[1] for use in uses}
    kinds |= {one.kind for one in needed}
    used = {use.name for use in uses}
    for item in facts.objects(kinds, is_new=is_new, words=used):
        found[key_of(_owner(item))] = item
    return {key: (item, parts_of(item.data)) for key, item in found.items()}


def _stays(removed: Object) -> bool:
    """Whether a tool keeps an object under the name in references. A kept revision has another."""
    name = value_at(removed.data, ("metadata", "name"))
    return name == removed.identity.name and bool(keeper_of(removed.data))


def _risk(item: Object, use: Use) -> Risk:
    return Risk(item.identity, _fact(use), use.consequence, use.place_in(item.data))


def _fact(use: Use) -> str:
    if use.fact:
        return use.fact
    noun = _NOUNS.get(use.group_kind[1], "container")
    key = f"the {noun} {use.key} of " if use.key else ""
    return f"{key}{use.group_kind[1]}/{use.name} {_ABSENT}"


def find_missing_keys(
    objects: Sequence[Object], resolver: Resolver
) -> Iterator[tuple[Object, str, Path]]:
    """The objects that use a missing key or port, each with a fact and the path of the use.

    A ConfigMap or Secret without data does not count, because another program can fill it.
    """
    contents = {
        resolver.key_of(item.identity): (item, parts)
        for item in objects
        if item.identity.kind in USERS_OF_PARTS and (parts := parts_of(item.data))
    }
    for item in objects if contents else ():
        for use in _broken(Names(resolver, NOTHING), item, lambda: contents):
            yield item, f"{_fact(use)}. {use.consequence}", use.path


class Names(NamedTuple):
    """What finds the target of a name.

    kinds: of removed objects, and of those that lost a part, by the name in lower case.
    custom: the uses in fields of custom kinds.
    """

    resolver: Resolver
    base_names: Mapping[str, str]
    kinds: Mapping[str, GroupKind] = NOTHING
    custom: Mapping[Identity, Sequence[Use]] = NOTHING


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
    if names.kinds:
        uses = [*uses_by_convention(item.identity, item.data, names.kinds), *uses]
    uses += names.custom.get(item.identity, ())
    needed: dict[ObjectKey, list[Use]] = {}
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
            if found and use.key not in found[1]:
                yield use._replace(name=found[0].identity.name)
        elif item.identity.kind == "Rollout" and target.kind in NEEDED_KINDS:
            needed.setdefault(key, []).append(use._replace(name=name))
    yield from _unmet(item, needed, contents)


def _unmet(
    item: Object, needed: Mapping[ObjectKey, Sequence[Use]], contents: _Contents
) -> Iterator[Use]:
    """What a Rollout does not find in the objects that it needs."""
    lists: dict[Path, set[ObjectKey]] = {}  # the templates of each analysis
    for key, uses in needed.items():
        for use in uses:
            lists.setdefault(_list_of(use), set()).add(key)
    for key, uses in needed.items():
        found = contents().get(key)
        is_analysis = key.group_kind[1] in ANALYSES
        # An experiment gives its own arguments.
        by_path = {use.path: use for use in uses if "templates" in use.path or not is_analysis}
        if found and by_path:
            others = {other for use in by_path.values() for other in lists[_list_of(use)]} - {key}
            there = [one[0].data if (one := contents().get(other)) else None for other in others]
            for path, part, fact in unmet_needs(
                item.data, list(by_path), found[0].data, there if is_analysis else ()
            ):
                use = by_path[path]
                fact = fact.replace("{}", f"{use.group_kind[1]}/{use.name}")
                yield use._replace(key=part, fact=fact)


def _list_of(use: Use) -> Path:
    path = use.path
    return path[: path.index("templates") + 1] if "templates" in path else path


def _is_undefined(names: Names, item: Object, use: Use, contents: _Contents) -> bool:
    """Whether the `envFrom` of a container is known, and does not have a variable."""
    for source in mappings_in(value_at(item.data, (*use.path[: use.depth + 2], "envFrom"))):
        for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            if name := value_at(source, (field, "name")):
                target = Identity("", kind, item.identity.namespace, str(name))
                found = contents().get(names.resolver.key_of(target)) or (None, set())
                prefix = str(source.get("prefix") or "")
                has_key = use.key.startswith(prefix) and use.key[len(prefix) :] in found[1]
                if has_key or not found[1]:
                    return False
    return True
