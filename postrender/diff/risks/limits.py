"""Risks of the limits of a namespace: LimitRanges, quotas and pod security."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from postrender.diff.kinds import pod_templates_of
from postrender.diff.model import Risk
from postrender.diff.pairs import Pair
from postrender.diff.risks.facts import Facts, Object
from postrender.diff.risks.rejected import CLAIM_SIZE, rejection
from postrender.kubernetes.kinds import WORKLOAD_KINDS, Identity
from postrender.kubernetes.validation.checks import ONE, quantity
from postrender.kubernetes.validation.containers import CONTAINERS
from postrender.kubernetes.validation.rows import RATIO
from postrender.kubernetes.validation.security import find_violations
from postrender.records import NamedTuple, grouped
from postrender.yaml.paths import Json, format_path, mapping_at, mappings_in, value_at

_QUOTA, _PODS = "ResourceQuota", ("pods", "count/pods")
_RULES = ("LimitRange", _QUOTA, "Namespace")
_WORKLOADS = {kind for _, kind in WORKLOAD_KINDS}
_LEVEL = ("metadata", "labels", "pod-security.kubernetes.io/enforce")
NO_PODS = "The API server refuses new pods"
_UNLESS = f"{NO_PODS}, unless a LimitRange of another release sets a default"


def find_refused_pods(facts: Facts) -> Iterator[Risk]:
    """The API server refuses new pods, but accepts their workload.

    - An amount is outside of a LimitRange.
    - A ResourceQuota is too small, or counts what a container lacks.
    - The pod security of its Namespace forbids the template.

    Source: the admission plugins LimitRanger, ResourceQuota and PodSecurity.
    """
    # Only a quota or a changed rule can refuse the pods of a workload that does not differ.
    is_ruled = any(pair.identity.kind in _RULES for pair in facts.changes)
    words = None if is_ruled or any(facts.objects((_QUOTA,), is_new=True)) else ()
    before, after = (_refused(facts, words, is_new=is_new) for is_new in (False, True))
    for (identity, fact), consequence in after.items():
        if (identity, fact) not in before:
            yield Risk(identity, fact, consequence)


def _refused(
    facts: Facts, words: Collection[str] | None, *, is_new: bool
) -> dict[tuple[Identity, str], str]:
    """Why new pods of the workloads of one side are refused, with the consequence."""

    def namespace(item: Object) -> str | None:
        is_space = item.identity.kind == "Namespace"
        own = item.identity.name if is_space else item.identity.namespace
        return facts.both.resolver.namespace_of(own)

    rules = grouped(facts.objects(_RULES, is_new=is_new), namespace)
    found: dict[tuple[Identity, str], str] = {}
    needed: dict[str | None, Counter[_Resource]] = defaultdict(Counter)
    for item in facts.objects(_WORKLOADS, is_new=is_new, words=words) if rules else ():
        there = rules.get(space := namespace(item), ())
        for path, _ in pod_templates_of(item.identity.group_kind, item.data) if there else ():
            pod = mapping_at(item.data, (*path, "spec"))
            replicas = value_at(item.data, ("spec", "replicas"))
            # An autoscaler can own the replicas.
            count = replicas if isinstance(replicas, int) else 0
            for resource, amount in _needs(pod).items():
                needed[space][resource] += count * amount
            found |= {(item.identity, fact): text for fact, text in _reasons(pod, there)}
    for space, amounts in needed.items():
        for identity, data in rules[space]:
            for name, hard in mapping_at(data, ("spec", "hard")).items():
                allowed = None if _is_scoped(data) else quantity(hard)
                if allowed is not None and amounts[_resource(name)] > allowed:
                    fact = f"the workloads need more {name} than {hard}"
                    found[identity, fact] = "The API server refuses some of their pods"
    return found


# `limits` or `requests` with a resource; "" for a number of pods.
_Resource = tuple[str, str]


def _resource(name: str) -> _Resource:
    """What a quota counts under a name."""
    way, _, resource = name.partition(".")
    if way in ("limits", "requests"):
        return way, resource
    return ("", "pods") if name in _PODS else ("requests", name)


def _needs(pod: dict[str, Json]) -> Counter[_Resource]:
    """How much of what a quota counts a pod needs, in the unit of quantity()."""
    needs = Counter({("", "pods"): ONE})
    for container in mappings_in(pod.get("containers")):
        for way in ("limits", "requests"):
            for resource, amount in mapping_at(container, ("resources", way)).items():
                needs[way, resource] += quantity(amount) or 0
    return needs


def _is_scoped(quota: dict[str, Json]) -> bool:
    return any(value_at(quota, ("spec", field)) for field in ("scopes", "scopeSelector"))


def _reasons(pod: dict[str, Json], rules: Sequence[Object]) -> Iterator[tuple[str, str]]:
    containers = [one for field in CONTAINERS for one in mappings_in(pod.get(field))]
    limits = _limits(rules, "Container")
    for identity, data in rules:
        level, spec = str(value_at(data, _LEVEL)), mapping_at(data, ("spec",))
        for fact in find_violations(pod, level):
            yield f"{fact}, which {identity} ({level}) forbids", NO_PODS
        is_quota = identity.kind == _QUOTA and not _is_scoped(data)
        for container in containers if is_quota else ():
            for what in _lacking(container, spec.get("hard"), [limit for _, limit in limits]):
                yield (
                    f"the container {container.get('name')} has no {what}, which {identity} needs",
                    _UNLESS,
                )
    for identity, limit in limits:
        for container in containers:
            for what in _outside(mapping_at(container, ("resources",)), limit):
                yield f"the container {container.get('name')} has {what} of {identity}", NO_PODS
    pod_limits = _limits(rules, "Pod")
    needs = _needs(pod) if pod_limits else {}
    for identity, limit in pod_limits:
        for name, bound in mapping_at(limit, ("max",)).items():
            most = quantity(bound)
            for way in ("limits", "requests"):
                if most is not None and needs[way, name] > most:
                    fact = f"the {name} {way} of the pod are above the max {bound} of {identity}"
                    yield fact, NO_PODS


def _limits(rules: Sequence[Object], kind: str) -> list[tuple[Identity, dict[str, Json]]]:
    return [
        (rule.identity, limit)
        for rule in rules
        for limit in mappings_in(value_at(rule.data, ("spec", "limits")))
        if limit.get("type") == kind
    ]


# What a quota counts only if each container has it.
_LACKED = tuple((way, name) for way in ("", "requests", "limits") for name in ("cpu", "memory"))


def _lacking(container: Json, hard: Json, limits: Sequence[dict[str, Json]]) -> Iterator[str]:
    """What a quota counts, and a container has neither itself nor by a default."""
    limited, requested = (
        {name for one in limits for field in fields for name in mapping_at(one, (field,))}
        | mapping_at(container, ("resources", own)).keys()
        for own, *fields in (("limits", "default", "max"), ("requests", "defaultRequest", "min"))
    )
    for way, name in _LACKED:
        key = f"{way}.{name}".removeprefix(".")
        known = limited if way == "limits" else limited | requested
        if isinstance(hard, dict) and key in hard and name not in known:
            yield f"{way.removesuffix('s') or 'request'} of {name}"


def _outside(resources: dict[str, Json], limit: dict[str, Json]) -> Iterator[str]:
    """The amounts of a container or claim that are outside of the minimum, maximum or ratio."""
    for name, ratio in mapping_at(limit, (RATIO,)).items():
        amounts = [quantity(value_at(resources, (way, name))) for way in ("limits", "requests")]
        most = quantity(ratio)
        if amounts[0] and amounts[1] and most and amounts[0] * ONE > amounts[1] * most:
            yield f"a {name} limit of more than {ratio} times the request, the {RATIO}"
    for field in ("limits", "requests"):
        for name, text in mapping_at(resources, (field,)).items():
            for end, sign in (("min", 1), ("max", -1)):
                amount, bound = quantity(text), quantity(value_at(limit, (end, name)))
                if amount is not None and bound is not None and amount * sign < bound * sign:
                    side = "below" if end == "min" else "above"
                    what = f"{name} {field.removesuffix('s')} {text}"
                    yield f"the {what}, {side} the {end} {value_at(limit, (end, name))}"


_CLAIM = "PersistentVolumeClaim"
# Kubernetes creates one of these in each namespace.
_OWN = ("configmaps", "count/configmaps", "count/serviceaccounts")
_NEXT = "The API server rejects the next new object, also one that is deleted and re-created"
_SOME = "The API server rejects some of the new objects, and Helm stops with an error"
_Amounts = Mapping[str, int]
# A namespace, and what a quota counts there.
_Counted = tuple["str | None", str]


class _Limit(NamedTuple):
    """A limit of a quota, which allows an amount in the unit of quantity().

    text, old_text: the limit in the newer and in the older quota.
    """

    allowed: int
    quota: Identity
    text: Json
    old_text: Json


def find_exceeded_limit(facts: Facts) -> Iterator[Risk]:
    """A limit of the namespace refuses an object.

    - More objects than a ResourceQuota allows.
    - A claim is outside of a LimitRange.

    Source: the admission plugins ResourceQuota and LimitRanger.
    """
    yield from _claims(facts)
    quotas = [one for one in facts.objects((_QUOTA,), is_new=True) if not _is_scoped(one.data)]
    grown = _grown(facts) if quotas else {}
    limits = _lowest(facts, quotas, grown)
    needed = _needed(facts, {name for _, name in limits}) if limits else {}
    for key, limit in limits.items():
        name, new = key[1], grown.get(key, {})
        over = needed.get(key, 0) + ONE * (name in _OWN) - limit.allowed
        if over <= 0:
            continue
        own = ", of which Kubernetes creates one" if name in _OWN else ""
        fact = f"the objects need more {name} than the {limit.text} of {limit.quota}{own}"
        earlier = quantity(limit.old_text)
        if earlier is None or earlier > limit.allowed or over < sum(new.values()):
            yield Risk(limit.quota, fact, _SOME if new else _NEXT, "spec.hard")
        else:
            yield from (rejection(facts, identity, fact) for identity in new)


def _grown(facts: Facts) -> dict[_Counted, dict[Identity, int]]:
    """How much more the changed objects need, by object."""
    grown: dict[_Counted, dict[Identity, int]] = defaultdict(dict)
    for pair in facts.changes:
        for name, more in _more(pair).items():
            grown[facts.namespace_of(pair.identity), name][pair.identity] = more
    return grown


def _lowest(
    facts: Facts, quotas: Sequence[Object], grown: Collection[_Counted]
) -> dict[_Counted, _Limit]:
    """The lowest limit of what grows, or of what a quota limits in another way than before."""
    changed = {pair.identity: pair for pair in facts.changes if pair.identity.kind == _QUOTA}
    limits: dict[_Counted, _Limit] = {}
    for identity, data in quotas:
        pair = changed.get(identity)
        before = (pair.old.data if pair.old else {}) if pair else data
        for name, bound in mapping_at(data, ("spec", "hard")).items():
            key = facts.namespace_of(identity), name
            allowed, last = quantity(bound), value_at(before, ("spec", "hard", name))
            if name in _PODS or allowed is None or not (key in grown or bound != last):
                continue
            if key not in limits or allowed < limits[key].allowed:
                limits[key] = _Limit(allowed, identity, bound, last)
    return limits


def _needed(facts: Facts, names: Collection[str]) -> dict[_Counted, int]:
    """How much of each name the objects of a namespace need, in the unit of quantity()."""
    resources = {name.removeprefix("count/").partition(".")[0] for name in names}
    there = {pair.identity.kind for pair in facts.pairs} | facts.both.unread.keys()
    kinds = {kind for kind in there if _plural(kind) in resources or kind in ("Service", _CLAIM)}
    hooks = {hook.identity for hook in facts.hooks()}
    counted = [
        (item.identity, item.data)
        for item in facts.objects(kinds, is_new=True)
        if item.identity not in hooks
    ]
    # The previous revision of a ConfigMap stays as long as pods read it.
    counted += [
        (pair.identity, pair.old.data)
        for pair in facts.changes
        if pair.both and pair.old and pair.both[0].name != pair.both[1].name
    ]
    found: dict[_Counted, int] = defaultdict(int)
    for identity, data in counted:
        for name, amount in _amounts(identity, data).items():
            found[facts.namespace_of(identity), name] += amount
    return found


def _more(pair: Pair) -> _Amounts:
    """What the API server adds up for the change of an object. A hook is deleted again."""
    if pair.new is None or pair.new.is_hook:
        return {}
    after = _amounts(pair.identity, pair.new.data)
    before: _Amounts = {}
    if pair.old and pair.old.name == pair.new.name:
        before = _amounts(pair.identity, pair.old.data)
        after = after if pair.identity.kind == "Service" else {}
    return {name: more for name, one in after.items() if (more := one - before.get(name, 0)) > 0}


def _amounts(identity: Identity, data: dict[str, Json]) -> _Amounts:
    """What an object counts for quotas, in the unit of quantity()."""
    name, spec = _plural(identity.kind), mapping_at(data, ("spec",))
    if identity.group:
        return {f"count/{name}.{identity.group}": ONE}
    found = {f"count/{name}": ONE, name: ONE}
    if identity.kind == "Service":
        kind, ports = spec.get("type"), len(mappings_in(spec.get("ports")))
        is_balancer = kind == "LoadBalancer"
        has_ports = is_balancer and spec.get("allocateLoadBalancerNodePorts") is not False
        found["services.loadbalancers"] = ONE * is_balancer
        found["services.nodeports"] = ONE * ports * (has_ports or kind == "NodePort")
    if identity.kind == _CLAIM:
        found["requests.storage"] = quantity(value_at(data, CLAIM_SIZE)) or 0
        of_class = f"{spec.get('storageClassName')}.storageclass.storage.k8s.io/"
        found |= {of_class + one: found[one] for one in ("requests.storage", name)}
    return found


def _plural(kind: str) -> str:
    """The name of a kind in the API, by the rule that all kinds of Kubernetes follow."""
    name = kind.lower()
    if name.endswith("y"):
        return f"{name[:-1]}ies"
    return name if name == "endpoints" else f"{name}es" if name.endswith("s") else f"{name}s"


def _claims(facts: Facts) -> Iterator[Risk]:
    """The claims outside of a LimitRange, which reads only their requests."""
    claims = list(facts.differing((_CLAIM,)))
    ranges = facts.objects(("LimitRange",), is_new=True) if claims else ()
    rules = grouped(ranges, lambda one: facts.namespace_of(one.identity))
    for identity, data in claims:
        resources: dict[str, Json] = {"requests": mapping_at(data, CLAIM_SIZE[:-1])}
        there = rules.get(facts.namespace_of(identity), ())
        for rule, limit in _limits(there, _CLAIM):
            for what in _outside(resources, limit):
                fact = f"the claim has {what} of {rule}"
                yield rejection(facts, identity, fact, format_path(CLAIM_SIZE))
