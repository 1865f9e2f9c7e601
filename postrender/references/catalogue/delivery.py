"""Argo Workflows, OpenShift, Flux, Tekton and Crossplane, which deliver or build software.

A Workflow that has started does not read its template again, so postrender keeps the originals that
a Workflow references, and rewrites references in templates of later Workflows:

    kind: WorkflowTemplate
    spec:
      templates:
        - name: build
          container:
            envFrom: [{configMapRef: {name: build-config}}]

If another workload causes a rename, postrender also rewrites the references in the pod template of
a DeploymentConfig:

    kind: DeploymentConfig
    spec:
      template:
        spec:
          volumes: [{name: config, configMap: {name: web-config}}]

It also rewrites the names in `valuesFrom` of a HelmRelease, whose controller sees the new name at
once:

    kind: HelmRelease
    spec:
      valuesFrom: [{kind: ConfigMap, name: web-values}]
"""

from __future__ import annotations

from collections.abc import Mapping

from postrender.references.catalogue.model import (
    Use,
    config_map,
    container,
    environment,
    everything,
    key_selectors,
    kinds,
    object_reference,
    pod_spec,
    rolling,
    secret,
    volume,
    written,
)
from postrender.yaml.paths import Json, value_at

_ROUTE = "a Role permits the router to read only the Secret with this name"
_PULL = "a ServiceAccount lists the names of the Secrets that builds may use"
_BUILD = "spec.strategy"
_STRATEGIES = ("dockerStrategy", "sourceStrategy", "customStrategy", "jenkinsPipelineStrategy")
_HOOKS = tuple(
    f"spec.strategy.{parameters}.{hook}.execNewPod"
    for parameters in ("recreateParams", "rollingParams")
    for hook in ("pre", "mid", "post")
)

_TEKTON = "tektoncd/pipeline 3ee1745, v1 and v1beta1"
_CROSSPLANE = "crossplane/crossplane 2d040d2"

_RUN = "a run that has started does not read its spec again"
_OTHER_NAMESPACE = "Crossplane reads the object in the namespace of Crossplane"

_WORKFLOWS = "argoproj/argo-workflows f016ad8, v1alpha1"
_EVENTS = "argoproj/argo-events 6478ece, v1alpha1"

_STARTED = "a Workflow that has started does not read its template again"
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


def _has_config_trigger(data: Mapping[str, Json]) -> bool:
    """Whether a changed template starts a deployment, as it does without `spec.triggers`."""
    triggers = value_at(data, ("spec", "triggers"))
    if not isinstance(triggers, list):
        return True
    return any(value_at(trigger, ("type",)) == "ConfigChange" for trigger in triggers)


def _task(path: str) -> tuple[Use, ...]:
    return (
        container(f"{path}.steps[]"),
        container(f"{path}.stepTemplate"),
        container(f"{path}.sidecars[]"),
        volume(f"{path}.volumes[]"),
    )


ENTRIES = (
    # Argo Workflows and Argo Events
    *kinds("argoproj.io: Workflow", _WORKFLOWS, everything("spec", _STARTED)),
    *kinds("argoproj.io: WorkflowTemplate", _WORKFLOWS, *_workflow("spec")),
    *kinds("argoproj.io: CronWorkflow", _WORKFLOWS, *_workflow("spec.workflowSpec")),
    *kinds("argoproj.io: ClusterWorkflowTemplate", _WORKFLOWS, everything("spec", _ANY_NAMESPACE)),
    *kinds(
        "argoproj.io: Sensor EventSource",
        _EVENTS,
        container("spec.template.container"),
        volume("spec.template.volumes[]"),
        secret("spec.template.imagePullSecrets[].name"),
    ),
    # OpenShift
    *kinds(
        "apps.openshift.io: DeploymentConfig",
        "openshift/api 2a3d739, v1",
        pod_spec("spec.template.spec"),
        environment("spec.strategy.customParams.environment[]"),
        *(environment(f"{hook}.env[]") for hook in _HOOKS),
        template=rolling("spec.template", _has_config_trigger),
    ),
    *kinds(
        "build.openshift.io: BuildConfig",
        "openshift/api 2a3d739, v1",
        config_map("spec.source.configMaps[].configMap.name"),
        secret("spec.source.secrets[].secret.name"),
        *(environment(f"{_BUILD}.{strategy}.env[]") for strategy in _STRATEGIES),
        environment(f"{_BUILD}.dockerStrategy.buildArgs[]"),
        *(volume(f"{_BUILD}.{strategy}.volumes[].source") for strategy in _STRATEGIES[:2]),
        secret(f"{_BUILD}.customStrategy.secrets[].secretSource.name"),
        *(secret(f"{_BUILD}.{strategy}.pullSecret.name", _PULL) for strategy in _STRATEGIES[:3]),
        secret("spec.source.sourceSecret.name", _PULL),
        secret("spec.source.images[].pullSecret.name", _PULL),
        secret("spec.output.pushSecret.name", _PULL),
    ),
    *kinds(
        "route.openshift.io: Route",
        "openshift/api 2a3d739, v1",
        secret("spec.tls.externalCertificate.name", _ROUTE),
    ),
    # Flux, Tekton and Crossplane
    *kinds(
        "helm.toolkit.fluxcd.io: HelmRelease",
        "fluxcd/helm-controller 0f61a86, v2",
        object_reference("spec.valuesFrom[]"),
    ),
    *kinds(
        "kustomize.toolkit.fluxcd.io: Kustomization",
        "fluxcd/kustomize-controller 186fb3b, v1",
        object_reference("spec.postBuild.substituteFrom[]"),
    ),
    *kinds("tekton.dev: Task", _TEKTON, *_task("spec")),
    *kinds(
        "tekton.dev: Pipeline",
        _TEKTON,
        *_task("spec.tasks[].taskSpec"),
        *_task("spec.finally[].taskSpec"),
    ),
    *kinds("tekton.dev: StepAction", _TEKTON, container("spec")),
    *kinds("tekton.dev: TaskRun PipelineRun CustomRun", _TEKTON, everything("spec", _RUN)),
    *(
        entry
        for kind, version in (
            ("DeploymentRuntimeConfig", "v1beta1"),
            ("Provider", "v1"),
            ("Function", "v1"),
            ("Configuration", "v1"),
        )
        for entry in kinds(
            f"pkg.crossplane.io: {kind}",
            f"{_CROSSPLANE}, {version}",
            everything("spec", _OTHER_NAMESPACE),
        )
    ),
)
