"""The Kubernetes kinds of Flux, Tekton and Crossplane, which deliver or build software.

postrender rewrites the names in `valuesFrom` of a HelmRelease. If a name changes, the controller of
Flux sees the new name at once:

    kind: HelmRelease
    spec:
      valuesFrom: [{kind: ConfigMap, name: web-values}]
"""

from __future__ import annotations

from postrender.references.catalogue.model import (
    Entry,
    Use,
    container,
    everything,
    object_reference,
    volume,
)

_TEKTON = "tektoncd/pipeline 3ee1745, v1 and v1beta1"
_CROSSPLANE = "crossplane/crossplane 2d040d2"

_RUN = "a run that has started does not read its spec again"
_OTHER_NAMESPACE = "Crossplane reads the object in the namespace of Crossplane"


def _task(path: str) -> tuple[Use, ...]:
    return (
        container(f"{path}.steps[]"),
        container(f"{path}.stepTemplate"),
        container(f"{path}.sidecars[]"),
        volume(f"{path}.volumes[]"),
    )


ENTRIES = (
    Entry(
        group="helm.toolkit.fluxcd.io",
        kind="HelmRelease",
        source="fluxcd/helm-controller 0f61a86, v2",
        uses=(object_reference("spec.valuesFrom[]"),),
    ),
    Entry(
        group="kustomize.toolkit.fluxcd.io",
        kind="Kustomization",
        source="fluxcd/kustomize-controller 186fb3b, v1",
        uses=(object_reference("spec.postBuild.substituteFrom[]"),),
    ),
    Entry(group="tekton.dev", kind="Task", source=_TEKTON, uses=_task("spec")),
    Entry(
        group="tekton.dev",
        kind="Pipeline",
        source=_TEKTON,
        uses=(*_task("spec.tasks[].taskSpec"), *_task("spec.finally[].taskSpec")),
    ),
    Entry(group="tekton.dev", kind="StepAction", source=_TEKTON, uses=(container("spec"),)),
    *(
        Entry(group="tekton.dev", kind=kind, source=_TEKTON, uses=(everything("spec", _RUN),))
        for kind in ("TaskRun", "PipelineRun", "CustomRun")
    ),
    *(
        Entry(
            group="pkg.crossplane.io",
            kind=kind,
            source=f"{_CROSSPLANE}, {version}",
            uses=(everything("spec", _OTHER_NAMESPACE),),
        )
        for kind, version in (
            ("DeploymentRuntimeConfig", "v1beta1"),
            ("Provider", "v1"),
            ("Function", "v1"),
            ("Configuration", "v1"),
        )
    ),
)
