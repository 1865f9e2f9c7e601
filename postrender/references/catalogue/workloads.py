"""Workloads and jobs: Kruise, Knative, KEDA, Volcano, Kubeflow, Spark, Flink, Ray and others.

postrender rewrites references in the pod template of a CloneSet, as in a Deployment:

    kind: CloneSet
    spec:
      template:
        spec:
          containers:
            - name: web
              envFrom: [{configMapRef: {name: web-config}}]

It keeps the originals that one run of a job references, and rewrites references in templates of
later runs:

    kind: ScheduledSparkApplication
    spec:
      template:
        sparkConfigMap: spark-config
"""

from __future__ import annotations

from collections.abc import Mapping

from postrender.references.catalogue.model import (
    Entry,
    Use,
    config_map,
    container,
    everything,
    pod_spec,
    rolling,
    scheduled,
    secret,
    volume,
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

_RUN = "a job that has started does not read its template again"
_RESTART = "a change would run the Spark application again"
_FLINK_RESTART = "a change would restart the job from its last state"
_COPIED = "each TrainJob keeps a copy of the runtime, and can start pods from this copy later"
_ANY_NAMESPACE = "TrainJobs of any namespace can use the runtime"
_REJECTED = "the admission webhook of this kind rejects changes to the template"

_SPARK = "kubeflow/spark-operator 38082f3, v1beta2"
_KUBEFLOW = "kubeflow/manifests 009c880"
_TRAINER = "kubeflow/trainer 8c0f505, v1alpha1"
_RAY = "ray-project/kuberay feeaf72, v1"


def _has_fixed_name(data: Mapping[str, Json]) -> bool:
    return value_at(data, ("spec", "template", "metadata", "name")) is not None


def _deletes_jobs(data: Mapping[str, Json]) -> bool:
    """Whether KEDA deletes the Jobs of a changed ScaledJob (scaledjob_controller.go)."""
    strategy = value_at(data, ("spec", "rolloutStrategy"))
    return (strategy or value_at(data, ("spec", "rollout", "strategy"))) != "gradual"


def _spark_application(path: str) -> tuple[Use, ...]:
    roles = [f"{path}.{role}" for role in ("driver", "executor")]
    return (
        config_map(f"{path}.sparkConfigMap"),
        config_map(f"{path}.hadoopConfigMap"),
        secret(f"{path}.imagePullSecrets[]"),
        volume(f"{path}.volumes[]"),
        *(container(role) for role in roles),
        *(container(f"{role}.sidecars[]") for role in roles),
        *(container(f"{role}.initContainers[]") for role in roles),
        *(config_map(f"{role}.configMaps[].name") for role in roles),
        *(secret(f"{role}.secrets[].name") for role in roles),
    )


def _ray_cluster(path: str) -> tuple[Use, ...]:
    return (
        pod_spec(f"{path}.headGroupSpec.template.spec"),
        pod_spec(f"{path}.workerGroupSpecs[].template.spec"),
        container(f"{path}.autoscalerOptions"),
    )


ENTRIES = (
    # Workloads
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
    # Jobs
    Entry(
        group="batch.volcano.sh",
        kind="Job",
        source="volcano-sh/volcano ed72c7c, v1alpha1, admit_job.go",
        uses=(everything("spec", _REJECTED),),
    ),
    Entry(
        group="batch.volcano.sh",
        kind="CronJob",
        source="volcano-sh/volcano ed72c7c, v1alpha1",
        uses=(pod_spec("spec.jobTemplate.spec.tasks[].template.spec"),),
    ),
    Entry(
        group="jobset.x-k8s.io",
        kind="JobSet",
        source="kubernetes-sigs/jobset 08dfbdf, v1alpha2, jobset_webhook.go",
        uses=(everything("spec", _REJECTED),),
    ),
    *(
        Entry(
            group="kubeflow.org",
            kind=kind,
            source=f"{_KUBEFLOW}, v1",
            uses=(everything("spec", _RUN),),
        )
        for kind in ("PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob")
    ),
    Entry(
        group="kubeflow.org",
        kind="Experiment",
        source="kubeflow/katib 33c8ff4, v1beta1",
        uses=(everything("spec", _RUN),),
    ),
    Entry(
        group="kubeflow.org",
        kind="Notebook",
        source=f"{_KUBEFLOW}, v1beta1",
        uses=(pod_spec("spec.template.spec"),),
    ),
    Entry(
        group="kubeflow.org",
        kind="PodDefault",
        source=f"{_KUBEFLOW}, v1alpha1",
        uses=(
            container("spec"),
            container("spec.initContainers[]"),
            container("spec.sidecars[]"),
            volume("spec.volumes[]"),
            secret("spec.imagePullSecrets[].name"),
        ),
    ),
    Entry(
        group="kubeflow.org",
        kind="PVCViewer",
        source=f"{_KUBEFLOW}, v1alpha1",
        uses=(pod_spec("spec.podSpec"),),
    ),
    Entry(
        group="trainer.kubeflow.org",
        kind="TrainJob",
        source=_TRAINER,
        uses=(everything("spec", _RUN),),
    ),
    Entry(
        group="trainer.kubeflow.org",
        kind="TrainingRuntime",
        source=f"{_TRAINER}, snapshot.go",
        uses=(everything("spec", _COPIED),),
    ),
    Entry(
        group="trainer.kubeflow.org",
        kind="ClusterTrainingRuntime",
        source=_TRAINER,
        uses=(everything("spec", _ANY_NAMESPACE),),
    ),
    Entry(
        group="sparkoperator.k8s.io",
        kind="SparkApplication",
        source=_SPARK,
        uses=(everything("spec", _RESTART),),
    ),
    Entry(
        group="sparkoperator.k8s.io",
        kind="ScheduledSparkApplication",
        source=_SPARK,
        uses=_spark_application("spec.template"),
    ),
    *(
        Entry(
            group="flink.apache.org",
            kind=kind,
            source="apache/flink-kubernetes-operator 6e9caeb, v1beta1",
            uses=(everything("spec", _FLINK_RESTART),),
        )
        for kind in ("FlinkDeployment", "FlinkSessionJob")
    ),
    Entry(group="ray.io", kind="RayCluster", source=_RAY, uses=_ray_cluster("spec")),
    Entry(
        group="ray.io", kind="RayService", source=_RAY, uses=_ray_cluster("spec.rayClusterConfig")
    ),
    Entry(group="ray.io", kind="RayJob", source=_RAY, uses=(everything("spec", _RUN),)),
    Entry(
        group="ray.io",
        kind="RayCronJob",
        source=_RAY,
        uses=(
            *_ray_cluster("spec.jobTemplate.rayClusterSpec"),
            pod_spec("spec.jobTemplate.submitterPodTemplate.spec"),
        ),
    ),
)
