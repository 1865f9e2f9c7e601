"""Charts that look up their own objects by name, as the Bitnami charts and others do.

The first installation generates a password, or records a format. Each upgrade looks up the object
by its base name. If the object is missing, the chart fails or generates another password.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.api import Api
from tests.e2e.releases import Release
from tests.rings import helm_3_in_matrix

CHART = {
    "Chart.yaml": "apiVersion: v2\nname: lookup\nversion: 1.0.0\n",
    "templates/secret.yaml": """
{{- $found := (lookup "v1" "Secret" .Release.Namespace "database").data }}
{{- if and .Release.IsUpgrade (not $found) }}
{{- fail "PASSWORDS ERROR: the Secret database is missing" }}
{{- end }}
apiVersion: v1
kind: Secret
metadata:
  name: database
data:
  password: {{ if $found }}{{ $found.password }}{{ else }}{{ randAlphaNum 12 | b64enc }}{{ end }}
""",
    "templates/deployment.yaml": """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: database
spec:
  selector:
    matchLabels: {app: database}
  template:
    metadata:
      labels: {app: database}
    spec:
      containers:
      - name: database
        image: database:{{ .Values.version }}
        envFrom:
        - secretRef: {name: database}
""",
}


@pytest.fixture
def lookup(release: Release, tmp_path: Path) -> Release:
    """Return a release of the chart above, with revisions of Secrets."""
    folder = tmp_path / "lookup"
    for name, text in CHART.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.lstrip())
    release.chart = folder
    release.arguments = ["--secrets"]
    return release


@helm_3_in_matrix
def test_upgrades_find_the_secret(lookup: Release, api: Api) -> None:
    lookup.install({"version": 1})
    password = passwords(api)
    for version in (2, 3):
        lookup.upgrade({"version": version})
        assert passwords(api) == password
    assert len(password) == 1


@pytest.mark.parametrize("release", ["helm3"], indirect=True)
def test_upgrades_fail_without_the_original(lookup: Release) -> None:
    """The reason why the originals of Secrets stay by default."""
    lookup.arguments.append("--no-keep-original")
    lookup.install({"version": 1})
    done = lookup.upgrade({"version": 2}, check=False)
    assert done.returncode
    assert "PASSWORDS ERROR" in done.stderr


def passwords(api: Api) -> set[str]:
    """Return the passwords in the Secret `database` and its revisions."""
    secrets: list[dict[str, Any]] = api.list("Secret")
    found = {
        json.dumps(secret["data"])
        for secret in secrets
        if secret["metadata"]["name"].startswith("database")
    }
    assert found
    return found
