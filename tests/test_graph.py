"""Who names what, drawn: labels, mermaid, dot."""

from __future__ import annotations

import pytest

from postrender.paths import Path
from postrender.preview.labels import label_of

POD = ("spec", "template", "spec")
CONTAINER = (*POD, "containers", 0)


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ((*POD, "volumes", 0, "configMap", "name"), "volume"),
        ((*POD, "volumes", 3, "projected", "sources", 1, "secret", "name"), "projected"),
        ((*CONTAINER, "envFrom", 0, "configMapRef", "name"), "envFrom"),
        ((*CONTAINER, "env", 12, "valueFrom", "secretKeyRef", "name"), "env"),
        ((*POD, "initContainers", 0, "env", 0, "valueFrom", "configMapKeyRef", "name"), "env"),
        ((*POD, "imagePullSecrets", 0, "name"), "imagePullSecrets"),
        ((*POD, "volumes", 0, "csi", "nodePublishSecretRef", "name"), "volume"),
        (("items", 2, *POD, "volumes", 0, "secret", "secretName"), "volume"),
        (("volumes", 0, "configMap", "name"), "volume"),
        (("rules", 0, "resourceNames", 2), "resourceNames"),
        (("spec", "tls", 0, "secretName"), "tls"),
        (("metadata", "annotations", "nginx.ingress.kubernetes.io/auth-secret"), "auth-secret"),
        (("spec", "sources", 0, "configMap", "name"), "configMap"),
        (("spec", "env", "name"), "env"),
        (("data", "app.yaml"), "app.yaml"),
        (("name",), "name"),
        (("spec", "name", "name"), "spec"),
        ((), ""),
    ],
)
def test_a_reference_is_called_by_what_it_stands_in(path: Path, label: str) -> None:
    assert label_of(path) == label
