"""The memory that a stream of small documents takes, as a multiple of its size."""

from __future__ import annotations

import tracemalloc

import pytest

from postrender import output
from postrender.config.settings import Settings
from postrender.inventory import build
from postrender.plan.build import make_plan
from postrender.yaml import plain
from postrender.yaml.stream import read_stream

CONFIG_MAP = (
    "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web-{}\ndata:\n  a: value-{}\n"
)
LABELLED = CONFIG_MAP.replace("data:\n", "  labels:\n    app.kubernetes.io/name: web\ndata:\n")
SERVICE = "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: web-{}\nspec:\n  ports: []\n"


def peak(data: bytes) -> int:
    settings = Settings()
    tracemalloc.start(1)
    try:
        inventory = build.take_inventory(read_stream(data, "app.yaml"), settings)
        output.render(make_plan(inventory, settings))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("text", "times"),
    [(CONFIG_MAP, 17.5), (LABELLED, 12), (SERVICE, 4), ("---\na: b\n", 9), ("---\n", 20)],
)
def test_small_documents_take_little_memory(
    text: str, times: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # These take some memory of a fixed size.
    monkeypatch.setattr(build, "_MAX_KEPT", 0)
    monkeypatch.setattr(plain, "_MAX_CACHED_LINES", 100)
    parts = [text.format(number, number).encode() for number in range(1800)]
    few, many = b"".join(parts[:300]), b"".join(parts)
    peak(few)  # imports modules, for example
    assert peak(many) - peak(few) < (len(many) - len(few)) * times
