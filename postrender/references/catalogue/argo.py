"""Argo Workflows and Argo Events.

A Workflow that has started does not read its template again, so postrender keeps the originals that
a Workflow references, and rewrites references in templates of later Workflows:

    kind: WorkflowTemplate
    spec:
      templates:
        - name: build
          container:
            envFrom: [{configMapRef: {name: build-config}}]
"""

from __future__ import annotations

from postrender.references.catalogue.model import (
    Entry,
    Use,
    container,
    everything,
    key_selectors,
    pod_spec,
    secret,
    volume,
    written,
)

_WORKFLOWS = "argoproj/argo-workflows f016ad8, v1alpha1"
_EVENTS = "argoproj/argo-events 6478ece, v1alpha1"

_RUN = "a Workflow that has started does not read its template again"
_SEMAPHORE = "the name identifies the semaphore"
_CACHE = "Argo Workflows writes its cache to the ConfigMap"
_ANY_NAMESPACE = "Workflows of any namespace can use the template"


def _template(path: str) -> tuple[Use, ...]:
    return (
        everything(f"{path}.synchronization", _SEMAPHORE),
        written(everything(f"{path}.memoize", _CACHE)),
        container(f"{path}.container"),
        container(f"{path}.script"),
        container(f"{path}.initContainers[]"),
        container(f"{path}.sidecars[]"),
        pod_spec(f"{path}.containerSet"),
        volume(f"{path}.volumes[]"),
    )


def _workflow(path: str) -> tuple[Use, ...]:
    return (
        everything(f"{path}.synchronization", _SEMAPHORE),
        *_template(f"{path}.templates[]"),
        *_template(f"{path}.templateDefaults"),
        volume(f"{path}.volumes[]"),
        secret(f"{path}.imagePullSecrets[].name"),
        key_selectors(path),
    )


ENTRIES = (
    Entry(
        group="argoproj.io", kind="Workflow", source=_WORKFLOWS, uses=(everything("spec", _RUN),)
    ),
    Entry(group="argoproj.io", kind="WorkflowTemplate", source=_WORKFLOWS, uses=_workflow("spec")),
    Entry(
        group="argoproj.io",
        kind="CronWorkflow",
        source=_WORKFLOWS,
        uses=_workflow("spec.workflowSpec"),
    ),
    Entry(
        group="argoproj.io",
        kind="ClusterWorkflowTemplate",
        source=_WORKFLOWS,
        uses=(everything("spec", _ANY_NAMESPACE),),
    ),
    *(
        Entry(
            group="argoproj.io",
            kind=kind,
            source=_EVENTS,
            uses=(
                container("spec.template.container"),
                volume("spec.template.volumes[]"),
                secret("spec.template.imagePullSecrets[].name"),
            ),
        )
        for kind in ("Sensor", "EventSource")
    ),
)
