"""The new object is invalid, so the API server rejects the object.

- A name or a key of a ConfigMap has a character that Kubernetes does not allow, or is too long.
- A label, an annotation, a key of a ConfigMap or the value of a variable is not a string, because
  it lacks quotes, such as `true` or `8080`.
- A ConfigMap or Secret has more than 1,048,576 bytes.
- A selector does not match the labels of its own pod template.
- A HorizontalPodAutoscaler has a minimum above its maximum. A PodDisruptionBudget sets both
  `minAvailable` and `maxUnavailable`. The strategy `Recreate` has `rollingUpdate`.
- Two containers, volumes or ports have one name, or a mount names a volume that does not exist.
- A resource request is above its limit.

An object that had the same fault before the change is not a risk of the change.

Source: `pkg/apis/*/validation` and `apimachinery/pkg/util/validation` of Kubernetes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from postrender.diff.kinds import template_pattern
from postrender.diff.model import Risk
from postrender.diff.risks.facts import Facts
from postrender.diff.risks.quantities import quantity
from postrender.kubernetes.kinds import (
    CONTENT_KINDS,
    DATA_FIELDS,
    MAX_CONTENT_SIZE,
    RBAC_GROUP,
    Identity,
    content_size,
)
from postrender.yaml.paths import Json, mapping_at, mappings_in, value_at

_CONSEQUENCE = (
    "The API server rejects the object. With kubectl apply, all other objects change. Helm and "
    "Argo CD stop with an error"
)
_NAME = re.compile(r"[-a-z0-9]+\Z")
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}\Z")
# The longest name of each kind; a name of one of these kinds has no dots. A CronJob appends 11
# characters to the name of each Job.
_LABEL_LENGTHS = {("", "Service"): 63, ("", "Namespace"): 63}
_LENGTHS = {("batch", "CronJob"): 52}

# A fact and the path of a field.
_Problem = tuple[str, str]


def find(facts: Facts) -> Iterator[Risk]:
    for pair in facts.pairs:
        if pair.new is None or (pair.old and pair.old.data == pair.new.data):
            continue
        problems = dict.fromkeys(_problems(pair.identity, pair.new.data))
        before = set(_problems(pair.identity, pair.old.data)) if problems and pair.old else ()
        for fact, path in problems:
            if (fact, path) not in before:
                yield Risk(pair.identity, fact, _CONSEQUENCE, path)


def _problems(identity: Identity, data: dict[str, Json]) -> Iterator[_Problem]:
    yield from _name(identity)
    yield from _not_texts(data, "metadata.labels", "metadata.annotations")
    if identity.kind in CONTENT_KINDS and not identity.group:
        yield from _content(identity, data)
    spec = mapping_at(data, ("spec",))
    if identity.kind == "HorizontalPodAutoscaler":
        low, high = spec.get("minReplicas", 1), spec.get("maxReplicas")
        if isinstance(low, int) and isinstance(high, int) and low > high:
            yield f"minReplicas ({low}) is above maxReplicas ({high})", "spec"
    limits = [spec.get(field) for field in ("minAvailable", "maxUnavailable")]
    if identity.kind == "PodDisruptionBudget" and None not in limits:
        yield "minAvailable and maxUnavailable are both set", "spec"
    strategy = mapping_at(spec, ("strategy",))
    is_recreate = identity.kind == "Deployment" and strategy.get("type") == "Recreate"
    if is_recreate and strategy.get("rollingUpdate"):
        yield "the strategy Recreate cannot have rollingUpdate", "spec.strategy"
    tree = template_pattern(identity.group_kind)
    for _, template, _ in tree.find(data) if tree else ():
        yield from _template(identity, spec, template)


def _name(identity: Identity) -> Iterator[_Problem]:
    if identity.group == RBAC_GROUP:
        return  # any name is a path segment
    is_label = identity.group_kind in _LABEL_LENGTHS
    limit = _LABEL_LENGTHS.get(identity.group_kind) or _LENGTHS.get(identity.group_kind, 253)
    if len(identity.name) > limit:
        yield f"the name has {len(identity.name)} characters, and can have {limit}", "metadata.name"
    elif not all(map(_is_label, [identity.name] if is_label else identity.name.split("."))):
        yield "the name has a character that its kind does not allow", "metadata.name"


def _is_label(text: str) -> bool:
    return bool(_NAME.match(text)) and not (text[0] == "-" or text[-1] == "-")


def _not_texts(data: Json, *paths: str) -> Iterator[_Problem]:
    for path in paths:
        for key, value in mapping_at(data, tuple(path.split("."))).items():
            if value is not None and not isinstance(value, str):
                yield f"the value of {key} is not a string, and needs quotes", path


def _content(identity: Identity, data: dict[str, Json]) -> Iterator[_Problem]:
    is_secret = identity.kind == "Secret"
    for field in DATA_FIELDS:
        for key, value in mapping_at(data, (field,)).items():
            shown = "a key" if is_secret else f"the key {key}"
            if not _KEY.match(str(key)):
                yield f"{shown} has a character that a key cannot have, or is too long", field
            if value is not None and not isinstance(value, str):
                yield f"the value of {shown} is not a string, and needs quotes", field
    if content_size(data) > MAX_CONTENT_SIZE:
        yield f"the content has more than {MAX_CONTENT_SIZE:,} bytes", ""


def _template(identity: Identity, spec: dict[str, Json], template: Json) -> Iterator[_Problem]:
    yield from _not_texts(template, "metadata.labels", "metadata.annotations", "spec.nodeSelector")
    labels = mapping_at(template, ("metadata", "labels"))
    wanted = mapping_at(spec, ("selector", "matchLabels"))
    if identity.group == "apps" and any(labels.get(key) != value for key, value in wanted.items()):
        yield "the selector does not match the labels of the pod template", "spec.selector"
    pod = mapping_at(template, ("spec",))
    volumes = [volume.get("name") for volume in mappings_in(pod.get("volumes"))]
    yield from _repeated("volume", volumes)
    claims = mappings_in(spec.get("volumeClaimTemplates"))
    known = {str(name) for name in volumes}
    known |= {str(value_at(claim, ("metadata", "name"))) for claim in claims}
    containers = [
        *mappings_in(pod.get("initContainers")),
        *mappings_in(pod.get("containers")),
    ]
    yield from _repeated("container", [container.get("name") for container in containers])
    for container in containers:
        path = f"containers[name={container.get('name')}]"
        for mount in mappings_in(container.get("volumeMounts")):
            if str(mount.get("name")) not in known:
                yield f"the volume {mount.get('name')} does not exist", f"{path}.volumeMounts"
        for variable in mappings_in(container.get("env")):
            value = variable.get("value")
            if value is not None and not isinstance(value, str):
                name = variable.get("name")
                yield f"the value of {name} is not a string, and needs quotes", f"{path}.env"
        yield from _resources(container, path)


def _repeated(noun: str, names: list[Json]) -> Iterator[_Problem]:
    for name, count in Counter(map(str, names)).items():
        if count > 1:
            yield f"{count} {noun}s have the name {name}", f"spec.{noun}s"


def _resources(container: dict[str, Json], path: str) -> Iterator[_Problem]:
    limits = mapping_at(container, ("resources", "limits"))
    for name, value in mapping_at(container, ("resources", "requests")).items():
        request, limit = quantity(value), quantity(limits.get(name))
        if request is not None and limit is not None and request > limit:
            fact = f"the request of {name} ({value}) is above the limit ({limits[name]})"
            yield fact, f"{path}.resources"
