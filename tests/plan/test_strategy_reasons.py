"""The reason why a ConfigMap keeps its name."""

from __future__ import annotations

import pytest

from postrender.config.settings import Settings
from postrender.inventory.build import take_inventory
from postrender.plan.build import build_basis
from postrender.yaml.stream import read_stream

CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: app
data:
  a: b
"""
POD_SPEC = "{containers: [{name: main, envFrom: [{configMapRef: {name: app}}]}]}"
JOB = f"""\
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
spec:
  template:
    spec: {POD_SPEC}
"""
SCALED_JOB = f"""\
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata:
  name: queue
spec:
  jobTargetRef:
    template:
      spec: {POD_SPEC}
"""
DEPLOYMENT = f"""\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations:
    postrender/rewrite-references: "false"
spec:
  template:
    spec: {POD_SPEC}
"""


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        ([JOB], "only Job/migrate, which postrender never rewrites, references the ConfigMap"),
        (
            [DEPLOYMENT],
            "only Deployment/web, which opts out with postrender/rewrite-references, references "
            "the ConfigMap",
        ),
        (
            [SCALED_JOB],
            "only ScaledJob/queue references the ConfigMap, and KEDA deletes running Jobs when the "
            "ScaledJob changes",
        ),
        (
            [JOB, DEPLOYMENT],
            "Job/migrate, which postrender never rewrites, references the ConfigMap",
        ),
        ([], "no workload references the ConfigMap"),
    ],
)
def test_the_reason_is_true(objects: list[str], reason: str) -> None:
    stream = read_stream("---\n".join([CONFIG_MAP, *objects]).encode(), "<stdin>")
    context = build_basis(take_inventory(stream, Settings()), Settings()).context
    assert context is not None
    assert [decision.reason for decision in context.decisions.values()] == [reason]
