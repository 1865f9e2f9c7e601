"""A null in the data of a ConfigMap: Helm 3 removes it from the live object with each upgrade."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.e2e.releases import Release

TEMPLATE = textwrap.dedent("""\
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: app-config}
    data:
      greeting: hello
      empty:
    ---
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: app, labels: {round: "{{ .Values.round }}"}}
    spec:
      replicas: 0
      selector: {matchLabels: {app: app}}
      template:
        metadata: {labels: {app: app}}
        spec:
          containers:
          - name: app
            image: app:1
            envFrom: [{configMapRef: {name: app-config}}]
    """)


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    folder = tmp_path / "nulls"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: nulls\nversion: 1.0.0\n")
    (folder / "templates" / "app.yaml").write_text(TEMPLATE)
    return folder


def test_an_upgrade_does_not_change_the_null_of_a_revision(release: Release, chart: Path) -> None:
    release.chart = chart
    for number in range(3):
        release.upgrade({"round": str(number)})
        api = release.plane.api(release.namespace)
        [revision] = [
            obj
            for obj in api.list("ConfigMap")
            if obj["metadata"]["name"].startswith("app-config-")
        ]
        assert revision["data"] == {"greeting": "hello", "empty": ""}
