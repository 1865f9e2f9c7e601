"""The notes of `explain` about objects that another release or another cluster owns."""

from __future__ import annotations

import pytest

from postrender.config.settings import Settings
from postrender.inventory.build import take_inventory
from postrender.inventory.notes import find_other_owners
from postrender.yaml.stream import read_stream

CONFIG = """apiVersion: v1
kind: ConfigMap
metadata: {name: shop-config}
data: {a: b}
"""
COPY = """apiVersion: v1
kind: ConfigMap
metadata:
  name: shop-config
  ownerReferences:
  - {apiVersion: apps/v1, kind: Deployment, name: shop, uid: 9f2b6a1e}
data: {a: b}
"""


def deployment(name: str) -> str:
    return f"""apiVersion: apps/v1
kind: Deployment
metadata: {{name: reports}}
spec:
  template:
    spec:
      containers:
      - name: reports
        envFrom: [{{configMapRef: {{name: {name}}}}}]
"""


def notes(*documents: str) -> list[str]:
    settings = Settings()
    stream = read_stream("---\n".join(documents).encode(), "<stdin>")
    return [str(note) for note in find_other_owners(take_inventory(stream, settings), settings)]


@pytest.mark.parametrize("others", [(), (CONFIG,)], ids=["alone", "next to a ConfigMap"])
def test_a_reference_to_a_revision_of_another_release(others: tuple[str, ...]) -> None:
    [note] = notes(deployment("web-config-hf678c7m2b"), *others)
    assert note.startswith(
        "<stdin>:9 (document 1, Deployment/reports) spec.template.spec.containers[0].envFrom[0]"
        ".configMapRef.name: Deployment/reports references ConfigMap/web-config-hf678c7m2b, which "
        "looks like a revision but is not in the input. If another release owns the ConfigMap, "
        "that release can delete the ConfigMap."
    )


def test_other_names_are_not_reported() -> None:
    assert not notes(deployment("web-config-production"))
    assert not notes(CONFIG, deployment("shop-config"))
    # A person has pinned an earlier revision of this release.
    assert not notes(CONFIG, deployment("shop-config-hf678c7m2b"))


def test_a_copied_object_with_owners() -> None:
    [note] = notes(COPY, deployment("shop-config"))
    assert "metadata.ownerReferences: ConfigMap/shop-config has owner references" in note


def test_an_invalid_object_is_left_to_render() -> None:
    assert not notes(
        "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: {a-hf678c7m2b: 1}\n"
    )
