"""ConfigMaps that a program finds by a label, so that it would find every revision.

A sidecar has the label in a variable or argument whose name contains `label`:

    containers:
    - name: dashboards
      image: kiwigrid/k8s-sidecar
      env:
      - name: LABEL
        value: grafana_dashboard

So can a custom kind, in a selector of ConfigMaps:

    spec:
      dashboardConfigMapSelector:
        matchLabels: {grafana_dashboard: "1"}

Labels that most charts set are left out, because programs use them to find Pods.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from postrender.errors import UserError
from postrender.inventory.build import Inventory
from postrender.inventory.prefilter import root_kind
from postrender.kubernetes.kinds import CONFIG_MAP, GroupKind, roots_of
from postrender.text import letters_of
from postrender.yaml.paths import Json, nested_mappings, value_at

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


def label_readers(inventory: Inventory) -> Mapping[str, str]:
    """By label, the program or object that finds ConfigMaps by it."""
    readers = dict(_KNOWN)
    config_maps = (item for item in inventory.items if item.identity.group_kind == CONFIG_MAP)
    labels = {label for item in config_maps for label in _own_labels(item.labels)}
    labels -= readers.keys()
    for index, text in enumerate(inventory.stream.texts) if labels else ():
        if root_kind(text) != "ConfigMap" and not labels.isdisjoint(re.findall(_WORD, text)):
            try:
                document = inventory.document(index)
            except UserError:  # postrender passes on a document that it need not read
                continue
            for _, root in roots_of(document.data):
                kind, name = (value_at(root, path) for path in (("kind",), ("metadata", "name")))
                for label in _labels_in(root):
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


def _labels_in(data: Json) -> Iterator[str]:
    """The labels in selectors of ConfigMaps, and the words in variables and flags about labels."""
    for path, mapping in nested_mappings(data):
        if path[-1:] == ("matchLabels",) and "configmap" in letters_of("".join(map(str, path))):
            yield from mapping
        if "label" in letters_of(str(mapping.get("name"))):
            yield from _words(mapping.get("value"))
        for field in ("command", "args"):
            words = mapping.get(field)
            flag = ""
            for word in words if isinstance(words, list) else ():
                name, _, value = str(word).partition("=")
                if name[:1] == "-":
                    flag = name
                if "label" in letters_of(flag):
                    yield from _words(value if name == flag else word)


def _words(value: Json) -> list[str]:
    return re.findall(_WORD, value) if isinstance(value, str) else []
