"""The list of well-known names: each line has a program and a source that can be checked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from postrender.kubernetes.kinds import Identity
from postrender.plan import readers
from postrender.plan.readers import well_known_reader

FILE = Path(readers.__file__).with_name("well_known_names.txt")
LINES = [line for line in FILE.read_text("utf-8").splitlines() if line and line[0] != "#"]
NAME = re.compile(r"([a-z0-9-]+-\[0-9\]\*/)?[a-z0-9*][a-z0-9.*\[\]-]*")
# A repository of GitHub and a file in it, such as `argoproj/argo-cd common/common.go`.
SOURCE = re.compile(r"[\w.-]+/[\w.-]+ [\w./-]+\.\w+")


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.split(";")[0])
def test_a_line_has_a_name_a_program_and_a_file_of_a_repository(line: str) -> None:
    name, program, source = (column.strip() for column in line.split(";"))
    assert NAME.fullmatch(name)
    assert program
    assert SOURCE.fullmatch(source)
    if not {"*", "[", "/"} & set(name):
        assert reader_of(name) == program


def test_names_are_not_duplicated() -> None:
    names = [line.split(";")[0].strip() for line in LINES]
    assert len(set(names)) == len(names)


def reader_of(name: str, kind: str = "ConfigMap", chart: str = "") -> str:
    identity = Identity(group="", kind=kind, namespace="", name=name)
    return well_known_reader(identity, {"helm.sh/chart": chart} if chart else {})


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("argocd-cm", "Argo CD"),
        ("calico-config", "the migration controller of Calico"),
        ("config-kafka-broker-data-plane", "Knative"),
        ("higress-config", "Higress"),
        ("istio-1-24", "Istio"),
        ("istio-sidecar-injector-1-24", "Istio"),
        ("karpenter-global-settings", "Karpenter before 0.33"),
        ("local-data-agent-control", "the New Relic Agent Control"),
        ("metadata-grpc-configmap", "Kubeflow Pipelines"),
    ],
)
def test_the_program_that_reads_a_name(name: str, program: str) -> None:
    assert reader_of(name) == program


@pytest.mark.parametrize(
    "name", ["argocd-image-updater-config", "argocd-redis-ha-configmap", "istio-cni-config", "web"]
)
def test_a_name_that_only_pods_reference_is_not_in_the_list(name: str) -> None:
    assert reader_of(name) == ""


def test_the_list_is_for_config_maps() -> None:
    assert reader_of("argocd-cm", kind="Secret") == ""


def test_a_chart_that_looks_up_a_name_of_the_release() -> None:
    chart = "influxdb3-enterprise-0.9.2"
    assert reader_of("rel-config", chart=chart) == "the chart of InfluxDB 3 Enterprise"
    assert reader_of("rel-config", chart="web-0.9.2") == ""
    assert reader_of("rel-config") == ""


def test_a_control_plane_revision_of_istio() -> None:
    assert reader_of("istio-canary", chart="istiod-1.24.0") == "Istio"
    assert reader_of("istio-canary", chart="web-1.0.0") == ""
