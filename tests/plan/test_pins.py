"""A person wrote the name of a revision into a pod template: the second run changes nothing."""

from __future__ import annotations

import pytest

from postrender.config.settings import AttacherSettings, Settings
from postrender.inventory.build import take_inventory
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.yaml.stream import read_stream

SETTINGS = Settings(attacher=AttacherSettings(image="registry.example/postrender:1", group="shop"))
ROUTES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: routes}
data: {a: b}
"""
WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: prod}
spec:
  template:
    spec:
      containers:
      - name: web
        image: web
        envFrom:
        - configMapRef: {name: NAME}
"""
MOUNTED = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: mounted
  namespace: prod
  annotations: {postrender/mount-path: /etc/web}
data: {c: d}
"""
REFERENCED = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: referenced, namespace: prod}
data: {c: d}
"""


def output_of(text: str) -> str:
    stream = read_stream(text.encode(), "<stdin>")
    return "".join(render(make_plan(take_inventory(stream, SETTINGS), SETTINGS)))


@pytest.mark.parametrize("other", [MOUNTED, REFERENCED], ids=["auto-mount", "reference"])
@pytest.mark.parametrize("namespace", ["", ", namespace: prod"], ids=["absent", "explicit"])
def test_the_attacher_gets_a_pin_next_to_another_use(other: str, namespace: str) -> None:
    routes = ROUTES.replace("routes", f"routes{namespace}", 1)
    revision = output_of("---\n".join([routes, WORKLOAD.replace("NAME", "routes")]))
    name = next(line for line in revision.splitlines() if "- configMapRef" in line)
    pinned = WORKLOAD.replace("        - configMapRef: {name: NAME}", name)
    if other is REFERENCED:
        pinned += "        - configMapRef: {name: referenced}\n"
    config_map = revision.split("---\n")[0]
    once = output_of("---\n".join([config_map, other, pinned]))
    assert output_of(once) == once
