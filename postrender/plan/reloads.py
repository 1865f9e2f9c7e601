"""Workloads that reload a mounted file when its ConfigMap changes.

After a rename, the file of a running pod never changes: each change restarts the pod instead.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.kinds import Identity
from postrender.plan.model import PlanContext
from postrender.yaml.paths import Json, mapping_at, mappings_in

# The end of the image's or the container's name: prometheus-config-reloader, configmap-reload,
# nats-server-config-reloader, rules-configmap-reloader.
_NAME = re.compile(r"reload(er)?$")
# Options of these sidecars, of Vector, Fluent Bit, Traefik and Prometheus, and a tool of scripts.
_ARGUMENT = re.compile(
    r"(^|\s)(--?(watched-dir|volume-dir|watch-config|(enable-)?hot-reload)\b"
    r"|--providers\.file\.watch(=true)?(\s|$)"
    r"|--enable-feature=\S*\bauto-reload-config\b"
    r"|inotifywait\s)"
)
_LABEL_SIDECAR = "k8s-sidecar"


def find_reloads(context: PlanContext, keys: Collection[ItemKey]) -> dict[Identity, list[Identity]]:
    """Those of the objects `keys` that each workload reloads itself, by workload."""
    found: dict[Identity, list[Identity]] = {}
    for item in context.inventory.items:
        targets = dict.fromkeys(
            target
            for number in range(len(item.templates))
            for target in _reloaded(context, item, number, keys)
        )
        if targets:
            found[item.identity] = list(targets)
    return found


def _reloaded(
    context: PlanContext, item: Item, number: int, keys: Collection[ItemKey]
) -> Iterator[Identity]:
    pod = mapping_at(context.inventory.template(item, number), ("spec",))
    containers = [*mappings_in(pod.get("initContainers")), *mappings_in(pod.get("containers"))]
    mounted = {
        str(mount.get("name"))
        for container in filter(_is_reloader, containers)
        for mount in mappings_in(container.get("volumeMounts"))
    }
    volumes = pod.get("volumes")
    start = len(item.templates[number]) + len(("spec",))
    for link in context.links.get(item.key, ()):
        path = link.reference.path[start:]
        if (
            link.reference.template == number
            and link.target.key in keys
            and path[:1] == ("volumes",)
            and str(mapping_at(volumes, path[1:2]).get("name")) in mounted
        ):
            yield link.target.identity
    for label, value in filter(None, map(_searched_label, containers)):
        for key in keys:
            target = context.decisions[key].item
            if label in target.labels and value in ("", target.labels[label]):
                yield target.identity


def _is_reloader(container: Mapping[str, Json]) -> bool:
    names = (_image(container), str(container.get("name", "")))
    words = (container.get(key) for key in ("command", "args"))
    text = " ".join(str(word) for part in words if isinstance(part, list) for word in part)
    return any(map(_NAME.search, names)) or bool(_ARGUMENT.search(text))


def _image(container: Mapping[str, Json]) -> str:
    """The last part of the image's name, without tag and digest."""
    return re.split("[@:]", str(container.get("image", "")).rpartition("/")[2])[0]


def _searched_label(container: Mapping[str, Json]) -> tuple[str, str] | None:
    """The label and its value, "" for any, by which a k8s-sidecar finds ConfigMaps."""
    if _image(container) != _LABEL_SIDECAR:
        return None
    variables = {
        entry.get("name"): entry.get("value") for entry in mappings_in(container.get("env"))
    }
    label = variables.get("LABEL")
    return (label, str(variables.get("LABEL_VALUE") or "")) if isinstance(label, str) else None
