"""Risks of objects that no longer find each other: by labels, or with the grant of a namespace."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from postrender.diff.kinds import pod_templates_of
from postrender.diff.model import Risk
from postrender.diff.pairs import Pair
from postrender.diff.risks.facts import Facts, Object
from postrender.kubernetes.kinds import WORKLOAD_KINDS, GroupKind, Identity
from postrender.kubernetes.parts import ROUTES
from postrender.records import grouped
from postrender.yaml.paths import (
    Json,
    Path,
    PatternTree,
    format_path,
    mapping_at,
    mappings_in,
    nested_mappings,
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


_GRANT = "ReferenceGrant"
_DEFAULTS = {"Gateway": "Secret", **dict.fromkeys(ROUTES, "Service")}
_FAILS = "The Gateway does not follow the reference, unless another ReferenceGrant allows it"


def find_missing_grant(facts: Facts) -> Iterator[Risk]:
    """A route or Gateway loses its ReferenceGrant, or an Application what its AppProject permits.

    Source: ReferenceGrant in Gateway API 1.4, and `app_project_types.go` of Argo CD 3.5.
    """
    yield from _of_projects(facts)
    lost = [pair for pair in facts.changes if pair.old and pair.identity.kind == _GRANT]
    namespace_of = facts.both.resolver.namespace_of
    words = {space for pair in lost if (space := namespace_of(pair.identity.namespace))}
    if not words:
        return
    before, after = (
        grouped(
            facts.objects((_GRANT,), is_new=is_new, words=words),
            lambda grant: namespace_of(grant.identity.namespace),
        )
        for is_new in (False, True)
    )
    for item in facts.objects(_DEFAULTS, is_new=True, words=words):
        space = namespace_of(item.identity.namespace)
        for path, target, namespace, name in _references(item):
            source = (*item.identity.group_kind, space)
            allowed = [
                any(
                    _allows(grant.data, source, target, name) for grant in grants.get(namespace, ())
                )
                for grants in (before, after)
            ]
            if namespace != space and allowed == [True, False]:
                fact = f"no {_GRANT} of {namespace} allows {target[1]}/{name} any longer"
                yield Risk(item.identity, fact, _FAILS, format_path(path))


def _references(item: Object) -> Iterator[tuple[Path, GroupKind, str, str]]:
    """The references with a namespace. Those to a parent need no grant."""
    for path, around in nested_mappings(item.data.get("spec"), ("spec",)):
        name, namespace = around.get("name"), around.get("namespace")
        if isinstance(name, str) and isinstance(namespace, str) and "parentRefs" not in path:
            kind = str(around.get("kind") or _DEFAULTS[item.identity.kind])
            yield path, (str(around.get("group") or ""), kind), namespace, name


def _allows(
    grant: dict[str, Json], source: tuple[str, str, str | None], target: GroupKind, name: str
) -> bool:
    sources, targets = (mappings_in(value_at(grant, ("spec", end))) for end in ("from", "to"))
    is_source = any(
        (one.get("group"), one.get("kind"), one.get("namespace")) == source for one in sources
    )
    return is_source and any(
        (one.get("group") or "", one.get("kind")) == target and one.get("name") in (None, "", name)
        for one in targets
    )


# The Applications of Argo CD, and the path of their spec.
_APPLICATIONS = {"Application": ("spec",), "ApplicationSet": ("spec", "template", "spec")}
_PROJECT = "AppProject"
_SYNC = "Argo CD reports InvalidSpecError, and does not sync the Application"
_LONGEST = 1_000


def _of_projects(facts: Facts) -> Iterator[Risk]:
    """What a project begins to forbid to an Application."""
    changed = [one for one in facts.changes if one.identity.kind in (_PROJECT, *_APPLICATIONS)]
    words = {one.identity.name for one in changed if one.identity.kind == _PROJECT}
    known: set[tuple[Identity, str]] = set()
    for is_new in (False, True) if changed else ():
        projects = grouped(facts.objects((_PROJECT,), is_new=is_new), lambda one: one.identity.name)
        for item in facts.objects(_APPLICATIONS, is_new=is_new, words=words):
            spec = mapping_at(item.data, _APPLICATIONS[item.identity.kind])
            found = projects.get(str(spec.get("project") or "default"), ())
            for project in found if len(found) == 1 else ():
                for what in _forbidden(mapping_at(project.data, ("spec",)), spec):
                    if is_new and (item.identity, what) not in known:
                        yield Risk(
                            item.identity, f"{project.identity} does not permit {what}", _SYNC
                        )
                    known.add((item.identity, what))


def _forbidden(project: dict[str, Json], spec: dict[str, Json]) -> Iterator[str]:
    """The repositories and the destination of an Application that a project does not permit."""
    sources = spec.get("sources") or [spec.get("source")]
    patterns = project.get("sourceRepos")
    for source in mappings_in(sources):
        url, wanted = source.get("repoURL"), patterns if isinstance(patterns, list) else []
        texts = [_repository(str(pattern)) for pattern in wanted]
        if isinstance(url, str) and _permits(texts, _repository(url), "/") is False:
            yield f"the repository {url}"
    target = mapping_at(spec, ("destination",))
    for field, other in (("server", "name"), ("name", "server")):
        value, space = target.get(field), target.get("namespace")
        listed = mappings_in(project.get("destinations"))
        both = [f"{one.get(field)} {one.get('namespace')}" for one in listed]
        # Only the cluster knows which name belongs to a server.
        is_known = all(one.get(field) and not one.get(other) for one in listed)
        is_plain = is_known and not any("!" in text for text in both)
        is_target = isinstance(value, str) and isinstance(space, str)
        if is_target and is_plain and _permits(both, f"{value} {space}", "") is False:
            yield f"the destination {value} with the namespace {space}"


def _repository(url: str) -> str:
    """A URL or its pattern as Argo CD compares them."""
    denied, text = ("!", url[1:]) if url.startswith("!") else ("", url)
    text = text.strip().lower()
    if "@" in text and "/" not in text.partition("@")[0].partition("://")[0]:
        text = text if "://" in text else text.replace(":", "/", 1)
    return denied + text.removesuffix(".git").removeprefix("ssh://")


def _permits(patterns: Iterable[str], text: str, separator: str) -> bool | None:
    """Whether patterns match a text and none denies it; None if that is not certain."""
    results = []
    for pattern in patterns:
        is_denied = pattern.startswith("!")
        wanted = pattern.removeprefix("!")
        if not {*"[]{}\\"}.isdisjoint(wanted) or "{{" in text or len(wanted + text) > _LONGEST:
            return None
        matches = wanted == "*" or _matches(wanted, text, separator)
        if is_denied and matches:
            return False
        results.append(matches != is_denied)
    return any(results)


def _matches(pattern: str, text: str, separator: str) -> bool:
    """Whether a text matches a pattern in which `**`, but not `*`, matches a separator."""
    places = {0}
    for token in re.findall(r"\*\*|.", pattern, re.DOTALL):
        after: set[int] = set()
        for place in sorted(places):
            here = text[place : place + 1]
            if token[0] == "*":
                end = place
                while end not in after and end <= len(text):
                    after.add(end)
                    end += len(text) if token == "*" and text[end : end + 1] == separator else 1
            elif token == here or (token == "?" and here not in ("", separator)):
                after.add(place + 1)
        places = after
    return len(text) in places
