"""Programs that read a ConfigMap without a reference: by a well-known name, or by a label.

A well-known name is fixed in the source code of a program, so the manifests do not show that the
program reads the ConfigMap. To add a name, add a line to well_known_names.txt. A line has three
parts, separated by semicolons: the name or a glob, the program, and a source file that contains the
name. If the name depends on the release name, add a chart glob and a slash before the name, as in
`jupyterhub-[0-9]*/*hub`. The chart glob matches the label `helm.sh/chart`.

A program that searches by a label would find every revision. A sidecar has the label in a variable
or argument whose name contains `label`:

    containers:
    - name: dashboards
      image: kiwigrid/k8s-sidecar
      env:
      - name: LABEL
        value: grafana_dashboard

So can a command such as `kubectl get cm -l grafana_dashboard=1`, and a custom kind, in a selector
of ConfigMaps:

    spec:
      dashboardConfigMapSelector:
        matchLabels: {grafana_dashboard: "1"}

Labels that most charts set are left out, because programs use them to find Pods.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase
from functools import cache

from postrender.errors import UserError
from postrender.inventory.build import Inventory
from postrender.kubernetes.kinds import CONFIG_MAP, GroupKind, Identity, roots_of
from postrender.plan.by_name.strings import has_kind
from postrender.text import letters_of
from postrender.yaml.paths import Json, Path, nested_mappings, value_at

_CHART_LABEL = "helm.sh/chart"
# The import of pathlib would take a tenth of the time of a small render.
_FILE = os.path.join(os.path.dirname(__file__), "well_known_names.txt")
# By label, the program that finds ConfigMaps by it. Sources:
# grafana-community/helm-charts charts/grafana/values.yaml
# velero-io/velero pkg/plugin/framework/common/plugin_config.go
# cloudnative-pg/cloudnative-pg pkg/utils/labels_annotations.go
_KNOWN = {
    "grafana_alert": "Grafana",
    "grafana_dashboard": "Grafana",
    "grafana_datasource": "Grafana",
    "grafana_notifier": "Grafana",
    "grafana_plugin": "Grafana",
    "velero.io/plugin-config": "Velero",
    "cnpg.io/reload": "CloudNativePG",
}
_COMMON_PREFIXES = ("app.kubernetes.io/", "helm.sh/", "argocd.argoproj.io/", "postrender/")
_COMMON = frozenset(
    {
        *("app", "chart", "component", "env", "environment", "heritage", "instance", "k8s-app"),
        *("name", "namespace", "owner", "part-of", "project", "release", "role", "service"),
        *("team", "tier", "type", "version"),
    }
)
_WORD = r"[\w./-]+"
# In a text, flag or field about labels, such as `kubectl get cm -l board`.
_SELECTS = r"(?i)label|selector|(?<!\S)-l"
_KIND = CONFIG_MAP[1]


def label_readers(inventory: Inventory) -> Mapping[str, str]:
    """By label, the program or object that finds ConfigMaps by it."""
    readers = dict(_KNOWN)
    config_maps = (item for item in inventory.items if item.identity.group_kind == CONFIG_MAP)
    labels = {label for item in config_maps for label in _own_labels(item.labels)}
    labels -= readers.keys()
    for index, text in enumerate(inventory.stream.texts) if labels else ():
        if re.search(_SELECTS, text) and not labels.isdisjoint(re.findall(_WORD, text)):
            try:
                document = inventory.document(index)
            except UserError:  # postrender passes on a document that it need not read
                continue
            for _, root in roots_of(document.data):
                kind, name = (value_at(root, path) for path in (("kind",), ("metadata", "name")))
                for label in _labels_in(root, labels):
                    readers.setdefault(label, f"{kind}/{name}")
    return readers


def finder_of(
    kind: GroupKind, labels: Mapping[str, str], readers: Mapping[str, str]
) -> tuple[str, str]:
    """The program that finds an object by a label, and the label. ("", "") if there is none."""
    for label in _own_labels(labels) if kind == CONFIG_MAP else ():
        if label in readers:
            return readers[label], label
    return "", ""


def _own_labels(labels: Mapping[str, str]) -> list[str]:
    return [
        label for label in labels if not (label.startswith(_COMMON_PREFIXES) or label in _COMMON)
    ]


def _labels_in(root: Json, labels: AbstractSet[str]) -> Iterator[str]:
    """The labels in selectors of ConfigMaps, and in texts, variables and flags about labels."""
    has_content = value_at(root, ("kind",)) == _KIND
    inside: Path | None = None  # the last mapping with `kind: ConfigMap`
    for path, mapping in nested_mappings(root):
        if path[:1] == ("metadata",) or (has_content and path != ("data",)):
            continue
        if path and mapping.get("kind") == _KIND:
            inside = path
        is_inside = inside is not None and path[: len(inside)] == inside
        if _is_selector(path, is_inside=is_inside):
            yield from labels & mapping.keys()
        for key, value in mapping.items():
            items = value if isinstance(value, list) else [value]
            words = [word for word in items if isinstance(word, str)]
            text = " ".join(words)
            if labels.isdisjoint(re.findall(_WORD, text)):
                continue
            is_read = _is_selector((*path, key), is_inside=is_inside) or (
                re.search(_SELECTS, text) and has_kind(text, _KIND)
            )
            flag = str(mapping.get("name")) if key == "value" else ""
            for word in words:
                flag = word.partition("=")[0] if word[:1] == "-" else flag
                if is_read or re.search(_SELECTS, flag):
                    yield from labels & set(re.findall(_WORD, word))


def _is_selector(path: Path, *, is_inside: bool) -> bool:
    """Whether a path such as `spec.configMapSelector` is that of a selector of ConfigMaps."""
    letters = letters_of("".join(map(str, path)))
    return (is_inside or "configmap" in letters) and bool(re.search(_SELECTS, letters))


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
