"""The example chart: what it renders is what lies in examples/rendered, and v2 is what it says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
RENDERED = ROOT / "examples" / "rendered"
HELM = shutil.which("helm")

# What values-v2.yaml documents, as (object, path): (before, after).
DOCUMENTED = {
    ("ConfigMap/demo-web-config", "data/application.yaml/checkout/payment/timeout"): (
        "5s",
        "1500ms",
    ),
    ("ConfigMap/demo-web-config", "data/application.yaml/checkout/payment/retries"): (1, 3),
    ("Deployment/demo-api", "spec/template/spec/containers/0/image"): (
        "shop/backend:5.1.0",
        "shop/backend:5.2.0",
    ),
}

# Mounted through an annotation, and found by a label: no other object names these.
NAMED_NOWHERE = ("demo-web-flags", "demo-dashboard")


def leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every scalar of a document with its path; YAML files inside a ConfigMap are opened too."""
    if path.endswith(".yaml") and isinstance(node, str):
        node = YAML(typ="safe").load(node)
    if isinstance(node, dict) and node:
        for key, value in node.items():
            yield from leaves(value, f"{path}/{key}")
    elif isinstance(node, list) and node:
        for index, value in enumerate(node):
            yield from leaves(value, f"{path}/{index}")
    else:
        yield path.removeprefix("/"), node


def rendered_leaves(version: str) -> dict[tuple[str, str], Any]:
    text = (RENDERED / f"{version}.yaml").read_text(encoding="utf-8")
    return {
        (f"{item['kind']}/{item['metadata']['name']}", path): value
        for item in YAML(typ="safe").load_all(text)
        for path, value in leaves(item)
    }


def no_blank_ends(text: str) -> str:
    """Helm 4 leaves a blank line after each document where Helm 3 leaves none."""
    return re.sub(r"\n+(?=---$)", "\n", text, flags=re.MULTILINE)


@pytest.mark.skipif(HELM is None, reason="helm is not on PATH, so the chart cannot be rendered")
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_rendered_files_are_what_the_chart_renders(version: str) -> None:
    values = f"examples/chart/values-{version}.yaml"
    command = [str(HELM), "template", "demo", "examples/chart", "-f", values]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stderr
    expected = (RENDERED / f"{version}.yaml").read_text(encoding="utf-8")
    assert no_blank_ends(run.stdout) == no_blank_ends(expected)


def test_v2_differs_from_v1_in_what_is_documented_and_nothing_else() -> None:
    old, new = rendered_leaves("v1"), rendered_leaves("v2")
    assert old.keys() == new.keys()
    assert {key: (old[key], new[key]) for key in old if old[key] != new[key]} == DOCUMENTED


@pytest.mark.parametrize("name", NAMED_NOWHERE)
def test_a_configmap_that_no_workload_names(name: str) -> None:
    holders = [location for location, value in rendered_leaves("v1").items() if value == name]
    assert holders == [(f"ConfigMap/{name}", "metadata/name")]
