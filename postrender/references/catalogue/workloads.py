"""Kinds of Kruise, Knative, KEDA, KServe, LeaderWorkerSet and the runners of GitHub Actions.

postrender rewrites references in the pod template of a CloneSet, as in a Deployment:

    kind: CloneSet
    spec:
      template:
        spec:
          containers:
            - name: web
              envFrom: [{configMapRef: {name: web-config}}]
"""

from __future__ import annotations

from collections.abc import Mapping

from postrender.references.catalogue.model import (
    Entry,
    everything,
    pod_spec,
    rolling,
    scheduled,
)
from postrender.yaml.paths import Json, value_at

_KRUISE = "openkruise/kruise 07169cf, v1beta1"
_KNATIVE = "knative/serving 98e5ef9, v1"
_KEDA = "kedacore/keda 8b4f083, v1alpha1"
_KSERVE = "kserve/kserve aaac4e2"
_RUNNERS = "actions/actions-runner-controller 2ee6b3b, v1alpha1"

_STARTED = "a BroadcastJob that has started does not read its template again"
_FIXED_NAME = "Knative rejects changes to a template that has a fixed name"
_JOBS_DELETED = (
    "the rollout strategy is not gradual, so KEDA deletes running Jobs when the ScaledJob changes"
)


def _has_fixed_name(data: Mapping[str, Json]) -> bool:
    return value_at(data, ("spec", "template", "metadata", "name")) is not None


def _deletes_jobs(data: Mapping[str, Json]) -> bool:
    """Return whether KEDA deletes the Jobs of a changed ScaledJob (scaledjob_controller.go)."""
    strategy = value_at(data, ("spec", "rolloutStrategy"))
    return (strategy or value_at(data, ("spec", "rollout", "strategy"))) != "gradual"


ENTRIES = (
    *(
        Entry(
            group="apps.kruise.io",
            kind=kind,
            source=_KRUISE,
            uses=(pod_spec("spec.template.spec"),),
            template=rolling("spec.template"),
        )
        for kind in ("CloneSet", "StatefulSet", "DaemonSet")
    ),
    Entry(
        group="apps.kruise.io",
        kind="BroadcastJob",
        source=_KRUISE,
        uses=(everything("spec", _STARTED),),
    ),
    Entry(
        group="apps.kruise.io",
        kind="AdvancedCronJob",
        source=_KRUISE,
        uses=(
            pod_spec("spec.template.jobTemplate.spec.template.spec"),
            pod_spec("spec.template.broadcastJobTemplate.spec.template.spec"),
        ),
        template=scheduled("spec.template"),
    ),
    Entry(
        group="apps.kruise.io",
        kind="UnitedDeployment",
        source=_KRUISE,
        uses=tuple(
            pod_spec(f"spec.template.{template}.spec.template.spec")
            for template in (
                "statefulSetTemplate",
                "advancedStatefulSetTemplate",
                "cloneSetTemplate",
                "deploymentTemplate",
            )
        ),
        template=rolling("spec.template"),
    ),
    Entry(
        group="apps.kruise.io",
        kind="SidecarSet",
        source=_KRUISE,
        uses=(everything("spec", "pods of any namespace can use the SidecarSet"),),
    ),
    *(
        Entry(
            group="serving.knative.dev",
            kind=kind,
            source=_KNATIVE,
            # Knative's revision_validation.go contains the rule about fixed names.
            uses=(pod_spec("spec.template.spec", _FIXED_NAME, _has_fixed_name),),
            template=rolling("spec.template"),
        )
        for kind in ("Service", "Configuration")
    ),
    Entry(
        group="serving.knative.dev",
        kind="Revision",
        source=_KNATIVE,
        uses=(everything("spec", "Knative rejects changes to a Revision"),),
    ),
    Entry(
        group="keda.sh",
        kind="ScaledJob",
        source=_KEDA,
        uses=(pod_spec("spec.jobTargetRef.template.spec", _JOBS_DELETED, _deletes_jobs),),
    ),
    Entry(
        group="keda.sh",
        kind="ClusterTriggerAuthentication",
        source=_KEDA,
        uses=(everything("spec", "KEDA reads the referenced object in the namespace of KEDA"),),
    ),
    Entry(
        group="serving.kserve.io",
        kind="InferenceService",
        source=f"{_KSERVE}, v1beta1",
        uses=tuple(pod_spec(f"spec.{part}") for part in ("predictor", "transformer", "explainer")),
    ),
    Entry(
        group="serving.kserve.io",
        kind="ServingRuntime",
        source=f"{_KSERVE}, v1alpha1",
        uses=(pod_spec("spec"),),
    ),
    Entry(
        group="serving.kserve.io",
        kind="ClusterServingRuntime",
        source=f"{_KSERVE}, v1alpha1",
        uses=(everything("spec", "pods of any namespace can use the ClusterServingRuntime"),),
    ),
    Entry(
        group="leaderworkerset.x-k8s.io",
        kind="LeaderWorkerSet",
        source="kubernetes-sigs/lws 060ab4d, v1",
        uses=(
            pod_spec("spec.leaderWorkerTemplate.leaderTemplate.spec"),
            pod_spec("spec.leaderWorkerTemplate.workerTemplate.spec"),
        ),
        template=rolling("spec.leaderWorkerTemplate"),
    ),
    Entry(
        group="actions.github.com",
        kind="AutoscalingRunnerSet",
        source=_RUNNERS,
        uses=(pod_spec("spec.template.spec"),),
        template=rolling("spec.template"),
    ),
    *(
        Entry(
            group="actions.summerwind.dev",
            kind=kind,
            source=_RUNNERS,
            uses=(pod_spec("spec.template.spec"),),
            template=rolling("spec.template"),
        )
        for kind in ("RunnerDeployment", "RunnerSet")
    ),
)
