"""The work of a render and of a preview grows with the number of objects, not with its square.

The tests count calls of functions, because the time of a run depends on the machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from postrender.config.settings import AttacherSettings, Settings
from postrender.diff.build import compare
from postrender.explain.build import explain
from postrender.inventory.build import take_inventory
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.yaml.stream import read_stream

SETTINGS = Settings(attacher=AttacherSettings(image="image:1"))
APPLICATION = """\
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: config-{number}
data:
  level: {level}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{number}
spec:
  template:
    spec:
      containers:
      - name: web
        envFrom:
        - configMapRef:
            name: config-{number}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate-{number}
spec:
  template:
    spec:
      containers:
      - name: migrate
        envFrom:
        - configMapRef:
            name: config-{number}
"""


def stream_of(count: int, level: str = "info") -> bytes:
    texts = (APPLICATION.format(number=number, level=level) for number in range(count))
    return "".join(texts).encode()


def list_of(count: int) -> bytes:
    """Return the same applications as the items of one List."""
    indented = stream_of(count).decode().replace("\n", "\n  ")
    items = indented.replace("---\n  ", "- ").replace("\n  - ", "\n- ").rstrip(" ")
    return f"apiVersion: v1\nkind: List\nitems:\n{items}".encode()


def render_bytes(manifests: bytes) -> None:
    plan = make_plan(take_inventory(read_stream(manifests, "input"), SETTINGS), SETTINGS)
    "".join(render(plan))
    explain(plan)


def run_render(count: int) -> None:
    render_bytes(stream_of(count))


def run_render_of_list(count: int) -> None:
    render_bytes(list_of(count))


def run_compare(count: int) -> None:
    sides = [read_stream(stream_of(count, level), level) for level in ("info", "debug")]
    compare(sides[0], sides[1], SETTINGS)


def calls(run: Callable[[int], None], count: int) -> int:
    """Return the number of functions that are called while `run` handles so many applications."""
    number = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal number
        number += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(trace)
    try:
        run(count)
    finally:
        sys.setprofile(before)
    return number


@pytest.mark.parametrize("run", [run_render, run_render_of_list, run_compare])
def test_twice_the_objects_take_twice_the_calls(run: Callable[[int], None]) -> None:
    run(2)  # imports and caches
    small, large = calls(run, 75), calls(run, 150)
    assert large < 2.1 * small
