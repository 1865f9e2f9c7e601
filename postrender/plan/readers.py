"""Programs that read a ConfigMap by a well-known name, and workloads that reload a mounted file.

A well-known name is fixed in the source code of a program, so the manifests do not show that the
program reads the ConfigMap. To add a name, add a line to well_known_names.txt. A line has three
parts, separated by semicolons: the name or a glob, the program, and a source file that contains the
name. If the name depends on the release name, add a chart glob and a slash before the name, as in
`jupyterhub-[0-9]*/*hub`. The chart glob matches the label `helm.sh/chart`.

A workload reloads a file itself when its ConfigMap changes. After a rename, the file of a running
pod never changes: each change restarts the pod instead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache

from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.kinds import CONFIG_MAP, Identity
from postrender.yaml.paths import Json, mapping_at, mappings_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.plan.model import PlanContext

_CHART_LABEL = "helm.sh/chart"
# The import of pathlib would take a tenth of the time of a small render.
_FILE = os.path.join(os.path.dirname(__file__), "well_known_names.txt")


@cache
def _names() -> tuple[dict[str, str], list[tuple[str, str, str]], tuple[str, ...]]:
    """The line of each name without a wildcard, the globs, and the prefixes of the globs.

    A glob has three parts: the text before the first wildcard, the whole text, and the program.
    """
    with open(_FILE, encoding="utf-8") as file:
        lines = {line.partition(";")[0]: line for line in file if not line.startswith("#")}
    globs = []
    for name in [name for name in lines if "*" in name or "[" in name]:
        prefix = name.partition("*")[0].partition("[")[0]
        globs.append((prefix, name, _program_in(lines.pop(name))))
    return lines, globs, tuple(prefix for prefix, _, _ in globs)


def _program_in(line: str) -> str:
    return line.split(";")[1].strip()


def well_known_reader(identity: Identity, labels: Mapping[str, str]) -> str:
    """The program that reads an object by its well-known name, "" if there is none."""
    if identity.group_kind != CONFIG_MAP:
        return ""
    name, (lines, globs, prefixes) = identity.name, _names()
    if name in lines:
        return _program_in(lines[name])
    name_in_chart = f"{labels.get(_CHART_LABEL, '')}/{name}"
    if not (name.startswith(prefixes) or name_in_chart.startswith(prefixes)):
        return ""  # Nearly every name leads to this line.
    for prefix, glob, program in globs:
        text = name_in_chart if "/" in glob else name
        # Compare the prefix first, because the first use of a glob compiles a pattern.
        if text.startswith(prefix) and fnmatchcase(text, glob):
            return program
    return ""


# The end of the image's or the container's name: prometheus-config-reloader, configmap-reload,
# nats-server-config-reloader, rules-configmap-reloader.
_RELOADER = r"reload(er)?$"
# Options of these sidecars, of Vector, Fluent Bit, Traefik and Prometheus, and a tool of scripts.
_ARGUMENT = (
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
    return any(re.search(_RELOADER, name) for name in names) or bool(re.search(_ARGUMENT, text))


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
