"""A selector that matched before the change now matches nothing.

- A Service without pods refuses every connection.
- A PodDisruptionBudget or NetworkPolicy without pods no longer protects anything.
- A Service whose named `targetPort` no container has.
- A ServiceMonitor or PodMonitor without Services, pods or the named port.

What matched nothing before is not a risk.

Source: the Endpoints, disruption and autoscaling controllers of Kubernetes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from postrender.diff.kinds import pod_templates_of
from postrender.diff.model import Risk
from postrender.diff.pairs import Pair
from postrender.diff.risks import Facts, Object
from postrender.diff.selectors import LabelKey, candidates, is_selected, label_keys, words_of
from postrender.kubernetes.kinds import GroupKind
from postrender.yaml.paths import Json, mapping_at, mappings_in, parts_at, value_at

_UNSEEN = "Prometheus no longer reads the metrics"
_SELECTORS = {
    "Service": (("spec", "selector"), "Connections to the Service fail"),
    "PodDisruptionBudget": (("spec", "selector"), "Nothing protects the pods during a drain"),
    "NetworkPolicy": (("spec", "podSelector"), "The policy no longer restricts any pod"),
    "ServiceMonitor": (("spec", "selector"), _UNSEEN),
    "PodMonitor": (("spec", "selector"), _UNSEEN),
}
# Where each kind names ports.
_PORTS = {
    "Service": ("ports", "targetPort"),
    "ServiceMonitor": ("endpoints", "port"),
    "PodMonitor": ("podMetricsEndpoints", "port"),
}
# Pseudo labels of a pod or Service; a label has no blank.
_PORT, _KIND = "port ", "kind "
_SERVICE = ("", "Service")
_MOST_CANDIDATES = 1_000

_Templates = Mapping[LabelKey, Sequence[dict[str, str]]]


def find(facts: Facts) -> Iterator[Risk]:
    pairs = [pair for pair in _candidates(facts, _lost_labels(facts)) if all(map(_selector, pair))]
    if not pairs:
        return
    words = {word for pair in pairs for item in pair for word in words_of(_selector(item))}
    templates = [_templates(facts, words, is_new=is_new) for is_new in (False, True)]
    for old, new in pairs:
        before = _is_matched(facts, old, templates[0])
        if before and not _is_matched(facts, new, templates[1]):
            path, consequence = _SELECTORS[new.identity.kind]
            matched = _matched_kind(new.identity.kind)
            fact = f"the selector matched {matched} before the change, and now matches none"
            yield Risk(new.identity, fact, consequence, ".".join(path))
        elif before:
            yield from _ports(facts, old, new, templates)


def _ports(
    facts: Facts, old: Object, new: Object, templates: Sequence[_Templates]
) -> Iterator[Risk]:
    """The named ports of a Service that its pods lack. A port counts as a label of the pod."""
    before, after = (
        {name for name in _named_ports(item) if not _is_matched(facts, item, side, name)}
        for item, side in zip((old, new), templates, strict=True)
    )
    for name in sorted(after - before):
        kind = new.identity.kind
        field, _ = _PORTS[kind]
        whose = "of its Services" if kind == "ServiceMonitor" else "container of its pods"
        consequence = "Connections to the port fail" if kind == "Service" else _UNSEEN
        fact = f"no {whose} has a port with the name {name}"
        yield Risk(new.identity, fact, consequence, f"spec.{field}")


def _named_ports(item: Object) -> Iterator[str]:
    field, key = _PORTS.get(item.identity.kind, ("", ""))
    for port in mappings_in(value_at(item.data, ("spec", field))):
        name = port.get(key)
        if isinstance(name, str) and not name.isdigit():
            yield name


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


def _candidates(facts: Facts, lost: Collection[str]) -> list[tuple[Object, Object]]:
    """The objects whose selector differs, or that can select a pod template that differs."""
    if lost:
        old, new = (
            {item.identity: item for item in facts.objects(_SELECTORS, is_new=is_new, words=lost)}
            for is_new in (False, True)
        )
        return [(old[identity], item) for identity, item in new.items() if identity in old]
    pairs = (
        (Object(pair.identity, pair.both[0].data), Object(pair.identity, pair.both[1].data))
        for pair in facts.changes
        if pair.both and pair.identity.kind in _SELECTORS
    )
    return [pair for pair in pairs if _differs(*pair)]


def _differs(old: Object, new: Object) -> bool:
    ports = [list(_named_ports(item)) for item in (old, new)]
    return _selector(old) != _selector(new) or ports[0] != ports[1]


def _selector(item: Object) -> dict[str, Json]:
    if item.identity.kind == "Service":
        labels: Json = value_at(item.data, ("spec", "selector"))
        return {"matchLabels": labels} if labels and isinstance(labels, dict) else {}
    if item.identity.kind in _PORTS and mapping_at(item.data, ("spec", "namespaceSelector")):
        return {}  # of other namespaces
    return mapping_at(item.data, _SELECTORS[item.identity.kind][0])


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


def _is_matched(facts: Facts, item: Object, templates: _Templates, port: str = "") -> bool:
    """Whether a selector matches a pod template. A selector with very many candidates counts as
    one that does, so that the work stays linear.
    """
    namespace, selector = facts.both.resolver.namespace_of(item.identity.namespace), _selector(item)
    ports = {f"{_PORT}{port}": port} if port else {}
    wanted = {
        **mapping_at(selector, ("matchLabels",)),
        **ports,
        _KIND: _matched_kind(item.identity.kind),
    }
    selector = {**selector, "matchLabels": wanted}
    templates_there = candidates(templates, namespace, wanted)
    return len(templates_there) > _MOST_CANDIDATES or any(
        is_selected(selector, labels) for labels in templates_there
    )
