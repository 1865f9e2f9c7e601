"""The example chart: v2 changes what its comment says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
RENDERED = ROOT / "examples" / "rendered"

# The changes that values-v2.yaml documents, as (object, path): (before, after).
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

# No object references these: the first is mounted by an annotation, the second is found by a label.
UNREFERENCED = ("demo-web-flags", "demo-dashboard")


def leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every scalar of a document with its path, also in YAML files inside a ConfigMap."""
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


def test_only_the_documented_values_differ_between_v1_and_v2() -> None:
    old, new = rendered_leaves("v1"), rendered_leaves("v2")
    assert old.keys() == new.keys()
    assert {key: (old[key], new[key]) for key in old if old[key] != new[key]} == DOCUMENTED


@pytest.mark.parametrize("name", UNREFERENCED)
def test_some_configmaps_are_not_referenced(name: str) -> None:
    holders = [location for location, value in rendered_leaves("v1").items() if value == name]
    assert holders == [(f"ConfigMap/{name}", "metadata/name")]
