"""Risks of objects that no longer find each other: by labels, or with the grant of a namespace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from postrender.diff.kinds import pod_templates_of
from postrender.diff.model import Risk
from postrender.diff.pairs import Pair
from postrender.diff.risks.facts import Facts, Object
from postrender.kubernetes.kinds import WORKLOAD_KINDS, GroupKind
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
    from typing import TypeVar

    Value = TypeVar("Value")

# A namespace, and a label of an object in it. All objects have the empty label.
LabelKey = tuple[str | None, str, str]


def label_keys(namespace: str | None, labels: Mapping[str, Json]) -> Iterator[LabelKey]:
    """The keys under which an index has an object, or a selector finds it."""
    for key, value in {"": "", **labels}.items():
        yield namespace, key, str(value)


def candidates(
    index: Mapping[LabelKey, Sequence[Value]], namespace: str | None, wanted: Mapping[str, Json]
) -> Sequence[Value]:
    """The values of the key that the fewest values have; the selector matches no others."""
    return min((index.get(key, ()) for key in label_keys(namespace, wanted)), key=len)


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
}
_KINDS = {*_SELECTORS, *(kind for _, kind in WORKLOAD_KINDS)}
# The terms of a pod spec with a selector.
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution[]"
_TERMS = PatternTree()
for _pattern, _text in (
    (f"affinity.podAffinity.{_REQUIRED}", "New pods stay Pending"),
    (f"affinity.podAntiAffinity.{_REQUIRED}", "The term no longer keeps pods apart"),
    ("topologySpreadConstraints[]", "The constraint no longer spreads the pods"),
):
    _TERMS.add(parse_pattern(_pattern), _text)
# The ports that each kind names, with what follows if nothing has the name.
_PORTS = {
    "Service": ("spec.ports[].targetPort", "Connections to the port fail"),
    "ServiceMonitor": ("spec.endpoints[].port", _UNSEEN),
    "PodMonitor": ("spec.podMetricsEndpoints[].port", _UNSEEN),
    "NetworkPolicy": ("spec.ingress[].ports[].port", "The policy allows no traffic to the port"),
}
_PORT_TREE = PatternTree()
for _kind, (_pattern, _) in _PORTS.items():
    _PORT_TREE.add((_kind, *parse_pattern(_pattern)), None)
# Pseudo labels of a pod or Service; a label has no blank.
_PORT, _KIND = "port ", "kind "
_SERVICE = ("", "Service")
_MOST_CANDIDATES = 1_000

# An object, and one of its selectors.
_Selecting = tuple[Object, dict[str, Json]]
_Templates = Mapping[LabelKey, Sequence[dict[str, str]]]


def find_no_match(facts: Facts) -> Iterator[Risk]:
    """A selector that matched before the change now matches nothing.

    - A Service without pods refuses every connection.
    - A PodDisruptionBudget or NetworkPolicy without pods protects nothing.
    - A named port that no container has.
    - A ServiceMonitor or PodMonitor without Services, pods or the named port.
    - An affinity or spread without pods.

    Source: the Endpoints, disruption and autoscaling controllers of Kubernetes.
    """
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


def _ports(
    facts: Facts, old: _Selecting, new: _Selecting, templates: Sequence[_Templates]
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
    selector = mapping_at(data, tuple(path.split(".")))
    if not selector or _elsewhere(data.get("spec")):
        return {}
    return {path: ({"matchLabels": selector} if kind == "Service" else selector, text)}


def _elsewhere(around: Json) -> bool:
    return any(value_at(around, (field,)) for field in ("namespaces", "namespaceSelector"))


def _templates(facts: Facts, words: Collection[str], *, is_new: bool) -> _Templates:
    """The labels of all pod templates and Services, by namespace and one label."""
    found: defaultdict[LabelKey, list[dict[str, str]]] = defaultdict(list)
    for item in facts.objects((), is_new=is_new, words=None if "" in words else words):
        namespace = facts.both.resolver.namespace_of(item.identity.namespace)
        for labels in _labels(item.identity.group_kind, item.data):
            for key in label_keys(namespace, labels):
                found[key].append(labels)
    return found


def _labels(group_kind: GroupKind, data: dict[str, Json]) -> list[dict[str, str]]:
    found = []
    if group_kind == _SERVICE:
        labels = mapping_at(data, ("metadata", "labels"))
        names = [str(port.get("name")) for port in mappings_in(value_at(data, ("spec", "ports")))]
        return [_with_ports(labels, names, "Services")]
    for _, template in pod_templates_of(group_kind, data):
        labels = mapping_at(template, ("metadata", "labels"))
        ports = [
            str(port.get("name"))
            for container in mappings_in(value_at(template, ("spec", "containers")))
            for port in mappings_in(container.get("ports"))
        ]
        found.append(_with_ports(labels, ports, "pods"))
    return found


def _with_ports(labels: dict[str, Json], ports: Iterable[str], kind: str) -> dict[str, str]:
    texts = {str(key): str(value) for key, value in labels.items()}
    return {**texts, **{f"{_PORT}{name}": name for name in ports}, _KIND: kind}


def _matched_kind(kind: str) -> str:
    return "Services" if kind == "ServiceMonitor" else "pods"


def _is_matched(
    facts: Facts,
    item: Object,
    selector: dict[str, Json],
    templates: _Templates,
    port: str = "",
) -> bool:
    """Whether a selector matches a pod template. A selector with very many candidates counts as
    one that does, so that the work stays linear.
    """
    namespace = facts.both.resolver.namespace_of(item.identity.namespace)
    wanted = {
        **mapping_at(selector, ("matchLabels",)),
        **({f"{_PORT}{port}": port} if port else {}),
        _KIND: _matched_kind(item.identity.kind),
    }
    selector = {**selector, "matchLabels": wanted}
    templates_there = candidates(templates, namespace, wanted)
    return len(templates_there) > _MOST_CANDIDATES or any(
        is_selected(selector, labels) for labels in templates_there
    )
