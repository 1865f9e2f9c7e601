"""A controller can make a label or the name of a volume from a name, with at most 63 characters."""

from __future__ import annotations

import pytest

from postrender.config.settings import AttacherSettings, Settings
from postrender.inventory.build import take_inventory
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.yaml.stream import read_stream

SETTINGS = Settings(attacher=AttacherSettings(image="image:1"))
MANIFESTS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME}
data: {a: b}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: web, envFrom: [{configMapRef: {name: NAME}}]}]}}}
---
apiVersion: sparkoperator.k8s.io/v1beta2
kind: ScheduledSparkApplication
metadata: {name: job}
spec: {template: {sparkConfigMap: NAME, driver: {envFrom: [{configMapRef: {name: NAME}}]}}}
"""


@pytest.mark.parametrize(
    ("length", "is_rewritten"), [(42, True), (43, False), (63, False), (64, True), (200, True)]
)
def test_a_reference_of_a_custom_kind_stays_short(length: int, is_rewritten: bool) -> None:
    name = "n" * length
    stream = read_stream(MANIFESTS.replace("NAME", name).encode(), "input")
    output = "".join(render(make_plan(take_inventory(stream, SETTINGS), SETTINGS)))
    assert (f"sparkConfigMap: {name}," not in output) == is_rewritten
    # The original is there if the name stays, and a pod accepts any name.
    assert (f"metadata: {{name: {name}}}" in output) != is_rewritten
    assert f"{{configMapRef: {{name: {name}}}}}" not in output
