"""Risks of objects that no longer find each other: by labels, or with the grant of a namespace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from postrender.diff.kinds import pod_templates_of
from postrender.diff.model import Risk
from postrender.diff.pairs import Pair
from postrender.diff.risks.facts import Facts, Object
from postrender.kubernetes.annotations import keeper_of
from postrender.kubernetes.kinds import WORKLOAD_KINDS, GroupKind, Identity
from postrender.yaml.paths import (
    Json,
    PatternTree,
    format_path,
    mapping_at,
    mappings_in,
    parse_pattern,
    parts_at,
    value_at,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_CANDIDATES = 1_000


class LabelIndex:
    """What has labels, such as a workload, by its namespace and each label."""

    def __init__(self) -> None:
        self._found: defaultdict[object, list[tuple[dict[str, str], Any]]] = defaultdict(list)

    def add(self, namespace: str | None, labels: dict[str, str], value: Any = None) -> None:
        """Add what has these labels. Everything has the empty label."""
        for key, label in {"": "", **labels}.items():
            self._found[namespace, key, label].append((labels, value))

    def find(self, namespace: str | None, selector: dict[str, Json]) -> tuple[list[Any], bool]:
        """What a selector matches, and whether that is all of it.

        Only _MOST_CANDIDATES are tried, so that the work stays linear.
        """
        wanted = {"": "", **mapping_at(selector, ("matchLabels",))}
        keys = ((namespace, key, str(label)) for key, label in wanted.items())
        # The fewest have the rarest label, and the selector matches no others.
        there = min((self._found.get(key, ()) for key in keys), key=len)
        tried = there[:_MOST_CANDIDATES]
        found = [value for labels, value in tried if is_selected(selector, labels)]
        return found, len(tried) == len(there)


def pod_labels(
    group_kind: GroupKind, data: dict[str, Json]
) -> Iterator[tuple[dict[str, str], Json]]:
    """The labels of each pod template, with the template."""
    for _, template in pod_templates_of(group_kind, data):
        labels = mapping_at(template, ("metadata", "labels"))
        yield {str(key): str(value) for key, value in labels.items()}, template


def words_of(selector: dict[str, Json]) -> Iterator[str]:
    """Words of which a pod template that matches has one. "" is in every text."""
    values = [str(value) for value in mapping_at(selector, ("matchLabels",)).values()]
    yield from values[:1] or [""]


def is_selected(selector: dict[str, Json], labels: Mapping[str, str]) -> bool:
    """Whether a selector matches labels."""
    wanted = mapping_at(selector, ("matchLabels",))
    if any(labels.get(key) != str(value) for key, value in wanted.items()):
        return False
    return all(
        _meets(condition, labels) for condition in mappings_in(selector.get("matchExpressions"))
    )


def _meets(condition: dict[str, Json], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(str(condition.get("key"))), condition.get("values")
    operator, listed = condition.get("operator"), values if isinstance(values, list) else []
    if operator == "In":
        return value in listed
    if operator == "NotIn":
        return value not in listed
    return (value is not None) == (operator == "Exists")


_UNSEEN = "Prometheus no longer reads the metrics"
# The selectors of each kind, with what follows if one matches nothing.
_SELECTORS = {
    "Service": ("spec.selector", "Connections to the Service fail"),
    "PodDisruptionBudget": ("spec.selector", "Nothing protects the pods during a drain"),
    "NetworkPolicy": ("spec.podSelector", "The policy no longer restricts any pod"),
    "ServiceMonitor": ("spec.selector", _UNSEEN),
    "PodMonitor": ("spec.selector", _UNSEEN),
    "DestinationRule": ("spec.subsets", "Requests to the subset fail"),
}
_KINDS = {*_SELECTORS, *(kind for _, kind in WORKLOAD_KINDS)}
# The terms of a pod spec with a selector.
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution[]"
_TERMS = PatternTree(
    (parse_pattern(pattern), text)
    for pattern, text in (
        (f"affinity.podAffinity.{_REQUIRED}", "New pods stay Pending"),
        (f"affinity.podAntiAffinity.{_REQUIRED}", "The term no longer keeps pods apart"),
        ("topologySpreadConstraints[]", "The constraint no longer spreads the pods"),
    )
)
# The ports that each kind names, with what follows if nothing has the name.
_PORTS = {
    "Service": ("spec.ports[].targetPort", "Connections to the port fail"),
    "ServiceMonitor": ("spec.endpoints[].port", _UNSEEN),
    "PodMonitor": ("spec.podMetricsEndpoints[].port", _UNSEEN),
    "NetworkPolicy": ("spec.ingress[].ports[].port", "The policy allows no traffic to the port"),
}
_PORT_TREE = PatternTree(
    ((kind, *parse_pattern(pattern)), None) for kind, (pattern, _) in _PORTS.items()
)
_LABELS = ("labels",)
# Pseudo labels of a pod or Service; a label has no blank.
_PORT, _KIND = "port ", "kind "
_SERVICE = ("", "Service")

# An object, and one of its selectors.
_Selecting = tuple[Object, dict[str, Json]]


def find_no_match(facts: Facts) -> Iterator[Risk]:
    """A selector that matched before the change now matches nothing.

    - A Service, PodDisruptionBudget, NetworkPolicy or subset of a DestinationRule without pods.
    - A named port that no container has.
    - A ServiceMonitor or PodMonitor without Services, pods, named port or Prometheus.
    - An affinity or spread without pods.

    Source: the Endpoints, disruption and autoscaling controllers of Kubernetes.
    """
    yield from _unselected(facts)
    yield from _without_addresses(facts)
    pairs: list[tuple[str, _Selecting, _Selecting, str]] = []
    for old_item, new_item in _changed(facts, _lost_labels(facts)):
        before, after = _selectors(old_item), _selectors(new_item)
        for path in filter(before.__contains__, after):
            if after[path] != before[path] and before[path] in after.values():
                continue  # a term that has moved in its list
            selector, text = after[path]
            pairs.append((path, (old_item, before[path][0]), (new_item, selector), text))
    if not pairs:
        return
    words = {word for one in pairs for side in (one[1], one[2]) for word in words_of(side[1])}
    templates = [_templates(facts, words, is_new=is_new) for is_new in (False, True)]
    for path, old, new, text in pairs:
        if not _is_matched(facts, *old, templates[0]):
            continue
        identity = new[0].identity
        if not _is_matched(facts, *new, templates[1]):
            matched = _matched_kind(identity.kind)
            fact = f"the selector matched {matched} before the change, and now matches none"
            yield Risk(identity, fact, text, path)
        elif identity.kind in _PORTS:
            yield from _ports(facts, old, new, templates)


_SLICES = ("EndpointSlice", "Endpoints")


def _without_addresses(facts: Facts) -> Iterator[Risk]:
    """The Services without a selector whose last addresses go."""

    def service(item: Object) -> tuple[str | None, str]:
        label = value_at(item.data, ("metadata", "labels", "kubernetes.io/service-name"))
        name = label if item.identity.kind == "EndpointSlice" else item.identity.name
        return facts.namespace_of(item.identity), str(name)

    lost = {
        service(item): item.identity
        for item in facts.removed()
        if item.identity.kind in _SLICES and not keeper_of(item.data)
    }
    words = {name for _, name in lost}
    if lost:
        for item in facts.objects(_SLICES, is_new=True, words=words):
            lost.pop(service(item), None)
        for item in facts.objects(("Service",), is_new=True, words=words):
            spec = mapping_at(item.data, ("spec",))
            gone = lost.get((facts.namespace_of(item.identity), item.identity.name))
            if gone and not spec.get("selector") and spec.get("type") != "ExternalName":
                fact = f"{gone} no longer exists, and the Service has no selector"
                yield Risk(item.identity, fact, _SELECTORS["Service"][1])


# What a Prometheus selects by labels, and the field with the selector.
_COLLECTED = {
    "PrometheusRule": "ruleSelector",
    "ServiceMonitor": "serviceMonitorSelector",
    "PodMonitor": "podMonitorSelector",
    "Probe": "probeSelector",
    "ScrapeConfig": "scrapeConfigSelector",
}
_COLLECTORS = ("Prometheus", "PrometheusAgent")


def _unselected(facts: Facts) -> Iterator[Risk]:
    """The rules and monitors that no Prometheus of the input selects any more."""
    changed = {pair.identity.kind for pair in facts.changes if pair.both}
    if changed.isdisjoint((*_COLLECTED, *_COLLECTORS)):
        return
    found: list[set[Identity]] = []
    for is_new in (False, True):
        specs = [
            mapping_at(one.data, ("spec",)) for one in facts.objects(_COLLECTORS, is_new=is_new)
        ]
        if not specs:
            return
        selected = set()
        for item in facts.objects(_COLLECTED, is_new=is_new):
            labels = mapping_at(item.data, ("metadata", "labels"))
            texts = {str(key): str(value) for key, value in labels.items()}
            selectors = [spec.get(_COLLECTED[item.identity.kind]) for spec in specs]
            if any(isinstance(one, dict) and is_selected(one, texts) for one in selectors):
                selected.add(item.identity)
            elif is_new and item.identity in found[0]:
                fact = "the labels match the selector of no Prometheus any more"
                yield Risk(item.identity, fact, _DROPPED, "metadata.labels")
        found.append(selected)


_DROPPED = "Prometheus drops the rules or targets of the object"


def _ports(
    facts: Facts, old: _Selecting, new: _Selecting, templates: Sequence[LabelIndex]
) -> Iterator[Risk]:
    """The named ports that nothing selected has. A port counts as a label."""
    before, after = (
        {name for name in _named_ports(one[0]) if not _is_matched(facts, *one, side, name)}
        for one, side in zip((old, new), templates, strict=True)
    )
    identity = new[0].identity
    whose = "of its Services" if identity.kind == "ServiceMonitor" else "container of its pods"
    pattern, consequence = _PORTS[identity.kind]
    for name in sorted(after - before):
        fact = f"no {whose} has a port with the name {name}"
        yield Risk(identity, fact, consequence, pattern.partition("[]")[0])


def _named_ports(item: Object) -> list[str]:
    kind = item.identity.kind
    ports = [port for _, port, _ in _PORT_TREE.find({kind: item.data})] if kind in _PORTS else []
    return [port for port in ports if isinstance(port, str) and not port.isdigit()]


def _lost_labels(facts: Facts) -> set[str]:
    """The values of labels that only pod templates of the older side have."""
    lost = set()
    for pair in filter(_may_lose_labels, facts.changes):
        sides = ((one and one.data) or {} for one in (pair.old, pair.new))
        old, new = (
            {item for labels in _labels(pair.identity.group_kind, data) for item in labels.items()}
            for data in sides
        )
        lost |= {value for _, value in old - new}
    return lost - {""}


def _may_lose_labels(pair: Pair) -> bool:
    if pair.identity.group_kind == _SERVICE:
        return any(parts_at(pair.parts, path) != {} for path in (("metadata",), ("spec", "ports")))
    for path, _ in pod_templates_of(pair.identity.group_kind, pair.old.data) if pair.old else ():
        containers = parts_at(pair.parts, (*path, "spec", "containers"))
        if (
            parts_at(pair.parts, (*path, "metadata")) != {}
            or containers is None
            or any(inner is None or "ports" in inner for inner in containers.values())
        ):
            return True
    return False


def _changed(facts: Facts, lost: Collection[str]) -> list[tuple[Object, Object]]:
    """The objects whose selector differs, or that can select a pod template that differs."""
    if lost:
        old, new = (
            {item.identity: item for item in facts.objects(_KINDS, is_new=is_new, words=lost)}
            for is_new in (False, True)
        )
        return [(old[identity], item) for identity, item in new.items() if identity in old]
    pairs = (
        (Object(pair.identity, pair.both[0].data), Object(pair.identity, pair.both[1].data))
        for pair in facts.changes
        if pair.both and (pair.identity.kind in _SELECTORS or _has_other_terms(pair))
    )
    return [pair for pair in pairs if _differs(*pair)]


def _has_other_terms(pair: Pair) -> bool:
    return any(
        parts_at(pair.parts, (*path, "spec", field)) != {}
        for path, _ in pod_templates_of(pair.identity.group_kind, pair.newest.data)
        for field in ("affinity", "topologySpreadConstraints")
    )


def _differs(old: Object, new: Object) -> bool:
    return _selectors(old) != _selectors(new) or _named_ports(old) != _named_ports(new)


def _selectors(item: Object) -> dict[str, tuple[dict[str, Json], str]]:
    """The selectors of an object by path, each with what follows if nothing matches. A selector
    of other namespaces does not count.
    """
    kind, data = item.identity.kind, item.data
    if kind not in _SELECTORS:
        return {
            format_path((*start, "spec", *path)): (mapping_at(term, ("labelSelector",)), text)
            for start, template in pod_templates_of(item.identity.group_kind, data)
            for path, term, text in _TERMS.find(value_at(template, ("spec",)))
            if value_at(term, ("labelSelector",))
            and not _elsewhere(term)
            and value_at(term, ("namespaceSelector",)) is None
        }
    path, text = _SELECTORS[kind]
    if kind == "DestinationRule":
        is_here = "." not in str(value_at(data, ("spec", "host")))
        return {
            f"{path}[name={subset.get('name')}]": (
                {"matchLabels": mapping_at(subset, _LABELS)},
                text,
            )
            for subset in mappings_in(value_at(data, ("spec", "subsets")))
            if is_here and mapping_at(subset, _LABELS)
        }
    selector = mapping_at(data, tuple(path.split(".")))
    if not selector or _elsewhere(data.get("spec")):
        return {}
    return {path: ({"matchLabels": selector} if kind == "Service" else selector, text)}


def _elsewhere(around: Json) -> bool:
    return any(value_at(around, (field,)) for field in ("namespaces", "namespaceSelector"))


def _templates(facts: Facts, words: Collection[str], *, is_new: bool) -> LabelIndex:
    """All pod templates and Services."""
    found = LabelIndex()
    for item in facts.objects((), is_new=is_new, words=None if "" in words else words):
        namespace = facts.namespace_of(item.identity)
        for labels in _labels(item.identity.group_kind, item.data):
            found.add(namespace, labels)
    return found


def _labels(group_kind: GroupKind, data: dict[str, Json]) -> list[dict[str, str]]:
    if group_kind == _SERVICE:
        labels = mapping_at(data, ("metadata", "labels"))
        texts = {str(key): str(value) for key, value in labels.items()}
        return [{**texts, **_ports_in(mapping_at(data, ("spec",))), _KIND: "Services"}]
    found = []
    for texts, template in pod_labels(group_kind, data):
        for container in mappings_in(value_at(template, ("spec", "containers"))):
            texts |= _ports_in(container)
        found.append({**texts, _KIND: "pods"})
    return found


def _ports_in(around: dict[str, Json]) -> dict[str, str]:
    names = (str(port.get("name")) for port in mappings_in(around.get("ports")))
    return {f"{_PORT}{name}": name for name in names}


def _matched_kind(kind: str) -> str:
    return "Services" if kind == "ServiceMonitor" else "pods"


def _is_matched(
    facts: Facts, item: Object, selector: dict[str, Json], templates: LabelIndex, port: str = ""
) -> bool:
    """Whether a selector matches a pod template, or has too many candidates."""
    namespace = facts.namespace_of(item.identity)
    wanted = {
        **mapping_at(selector, ("matchLabels",)),
        **({f"{_PORT}{port}": port} if port else {}),
        _KIND: _matched_kind(item.identity.kind),
    }
    found, is_all = templates.find(namespace, {**selector, "matchLabels": wanted})
    return bool(found) or not is_all
