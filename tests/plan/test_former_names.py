"""References with the names that objects had before kustomize added a prefix."""

from __future__ import annotations

from postrender.config.settings import AttacherSettings, Settings
from postrender.inventory.build import take_inventory
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.yaml.stream import read_stream

CONFIG = """\
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a-web
    annotations: {internal.config.kubernetes.io/previousNames: web}
  data: {a: b}
"""
WORKLOAD = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: a-web}
  spec:
    template:
      spec: {containers: [{name: web, image: web, envFrom: [{configMapRef: {name: web}}]}]}
"""


def test_a_reference_to_an_object_that_is_twice_in_the_stream() -> None:
    settings = Settings(attacher=AttacherSettings(is_enabled=False))
    outputs = []
    for text in (WORKLOAD + CONFIG + CONFIG, WORKLOAD + CONFIG):
        inventory = take_inventory(read_stream(text.encode(), "input"), settings)
        outputs.append("".join(render(make_plan(inventory, settings))))
    assert outputs[0].count("name: a-web-") == 2
    assert outputs[0].count("kind:") == outputs[1].count("kind:")
