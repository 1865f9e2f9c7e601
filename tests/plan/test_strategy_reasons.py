"""The reason why a ConfigMap keeps its name."""

from __future__ import annotations

import pytest

from postrender.config.settings import Settings
from postrender.inventory.build import take_inventory
from postrender.plan.build import build_context
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
            "only ScaledJob/queue references the ConfigMap, and the rollout strategy is not "
            "gradual, so KEDA deletes running Jobs when the ScaledJob changes",
        ),
        (
            [JOB, DEPLOYMENT],
            "Job/migrate, which postrender never rewrites, references the ConfigMap",
        ),
        ([], "workloads do not reference the ConfigMap"),
    ],
)
def test_the_reason_is_true(objects: list[str], reason: str) -> None:
    stream = read_stream("---\n".join([CONFIG_MAP, *objects]).encode(), "<stdin>")
    context = build_context(take_inventory(stream, Settings()), Settings())
    assert context is not None
    assert [decision.reason for decision in context.decisions.values()] == [reason]


@pytest.mark.parametrize(
    ("metadata", "kind", "reason"),
    [
        (
            'annotations: {service.beta.openshift.io/inject-cabundle: "true"}',
            "ConfigMap",
            "the service CA operator of OpenShift writes to the ConfigMap, because of the "
            "annotation service.beta.openshift.io/inject-cabundle",
        ),
        (
            'labels: {config.openshift.io/inject-trusted-cabundle: "true"}',
            "ConfigMap",
            "the network operator of OpenShift writes to the ConfigMap, because of the label "
            "config.openshift.io/inject-trusted-cabundle",
        ),
        (
            "annotations: {replicator.v1.mittwald.de/replicate-from: other/app}",
            "ConfigMap",
            "kubernetes-replicator writes to the ConfigMap, because of the annotation "
            "replicator.v1.mittwald.de/replicate-from",
        ),
        (
            "annotations: {reflector.v1.k8s.emberstack.com/reflects: other/app}",
            "Secret",
            "Reflector writes to the Secret, because of the annotation "
            "reflector.v1.k8s.emberstack.com/reflects",
        ),
        (
            "annotations: {secret-generator.v1.mittwald.de/autogenerate: password}",
            "Secret",
            "kubernetes-secret-generator writes to the Secret, because of the annotation "
            "secret-generator.v1.mittwald.de/autogenerate",
        ),
        (
            'annotations: {secretgen.carvel.dev/image-pull-secret: ""}',
            "Secret",
            "secretgen-controller writes to the Secret, because of the annotation "
            "secretgen.carvel.dev/image-pull-secret",
        ),
        (
            'annotations: {sealedsecrets.bitnami.com/patch: "true"}',
            "Secret",
            "Sealed Secrets writes to the Secret, because of the annotation "
            "sealedsecrets.bitnami.com/patch",
        ),
        (
            'labels: {conjur.org/managed-by-provider: "true"}',
            "Secret",
            "the Secrets Provider of Conjur writes to the Secret, because of the label "
            "conjur.org/managed-by-provider",
        ),
        (
            'annotations: {vault.security.banzaicloud.io/mutate-configmap: "true"}',
            "ConfigMap",
            "the webhook of Bank-Vaults writes to the ConfigMap, because of the annotation "
            "vault.security.banzaicloud.io/mutate-configmap",
        ),
        (
            "annotations: {secrets-webhook.security.bank-vaults.io/provider: aws}",
            "ConfigMap",
            "the webhook of Bank-Vaults writes to the ConfigMap, because of the annotation "
            "secrets-webhook.security.bank-vaults.io/provider",
        ),
        (
            'annotations: {vault.security.banzaicloud.io/mutate-configmap: "false"}',
            "ConfigMap",
            "referenced by StatefulSet/web",
        ),
        (
            "annotations: {vault.security.banzaicloud.io/mutate: skip}",
            "ConfigMap",
            "referenced by StatefulSet/web",
        ),
        (
            "annotations: {secret-generator.v1.mittwald.de/autogenerate: password}",
            "ConfigMap",
            "referenced by StatefulSet/web",
        ),
        (
            'annotations: {service.beta.openshift.io/inject-cabundle: "false"}',
            "ConfigMap",
            "referenced by StatefulSet/web",
        ),
        (
            "annotations: {reflector.v1.k8s.emberstack.com/reflects: other/app, "
            "postrender/strategy: rename}",
            "ConfigMap",
            "referenced by StatefulSet/web",
        ),
    ],
)
def test_an_object_that_another_program_fills(metadata: str, kind: str, reason: str) -> None:
    pod_spec = POD_SPEC if kind == "ConfigMap" else POD_SPEC.replace("configMapRef", "secretRef")
    text = (
        f"apiVersion: v1\nkind: {kind}\nmetadata:\n  name: app\n  {metadata}\ndata: {{a: YQ==}}\n"
        "---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web}\n"
        f"spec:\n  template:\n    spec: {pod_spec}\n"
    )
    settings = Settings(with_secrets=True)
    context = build_context(
        take_inventory(read_stream(text.encode(), "<stdin>"), settings), settings
    )
    assert context is not None
    assert [decision.reason for decision in context.decisions.values()] == [reason]
