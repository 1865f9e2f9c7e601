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
    Use,
    config_map,
    container,
    everything,
    kinds,
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
    *kinds(
        "apps.kruise.io: CloneSet StatefulSet DaemonSet",
        _KRUISE,
        pod_spec("spec.template.spec"),
        template=rolling("spec.template"),
    ),
    *kinds("apps.kruise.io: BroadcastJob", _KRUISE, everything("spec", _STARTED)),
    *kinds(
        "apps.kruise.io: AdvancedCronJob",
        _KRUISE,
        pod_spec("spec.template.jobTemplate.spec.template.spec"),
        pod_spec("spec.template.broadcastJobTemplate.spec.template.spec"),
        template=scheduled("spec.template"),
    ),
    *kinds(
        "apps.kruise.io: UnitedDeployment",
        _KRUISE,
        *(
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
    *kinds(
        "apps.kruise.io: SidecarSet",
        _KRUISE,
        everything("spec", "pods of any namespace can use the SidecarSet"),
    ),
    # revision_validation.go of Knative contains the rule about fixed names.
    *kinds(
        "serving.knative.dev: Service Configuration",
        _KNATIVE,
        pod_spec("spec.template.spec", _FIXED_NAME, _has_fixed_name),
        template=rolling("spec.template"),
    ),
    *kinds(
        "serving.knative.dev: Revision",
        _KNATIVE,
        everything("spec", "Knative rejects changes to a Revision"),
    ),
    *kinds(
        "keda.sh: ScaledJob",
        _KEDA,
        pod_spec("spec.jobTargetRef.template.spec", _JOBS_DELETED, _deletes_jobs),
    ),
    *kinds(
        "keda.sh: ClusterTriggerAuthentication",
        _KEDA,
        everything("spec", "KEDA reads the referenced object in the namespace of KEDA"),
    ),
    *kinds(
        "serving.kserve.io: InferenceService",
        f"{_KSERVE}, v1beta1",
        *(pod_spec(f"spec.{part}") for part in ("predictor", "transformer", "explainer")),
    ),
    *kinds("serving.kserve.io: ServingRuntime", f"{_KSERVE}, v1alpha1", pod_spec("spec")),
    *kinds(
        "serving.kserve.io: ClusterServingRuntime",
        f"{_KSERVE}, v1alpha1",
        everything("spec", "pods of any namespace can use the ClusterServingRuntime"),
    ),
    *kinds(
        "leaderworkerset.x-k8s.io: LeaderWorkerSet",
        "kubernetes-sigs/lws 060ab4d, v1",
        pod_spec("spec.leaderWorkerTemplate.leaderTemplate.spec"),
        pod_spec("spec.leaderWorkerTemplate.workerTemplate.spec"),
        template=rolling("spec.leaderWorkerTemplate"),
    ),
    *kinds(
        "actions.github.com: AutoscalingRunnerSet",
        _RUNNERS,
        pod_spec("spec.template.spec"),
        template=rolling("spec.template"),
    ),
    *kinds(
        "actions.summerwind.dev: RunnerDeployment RunnerSet",
        _RUNNERS,
        pod_spec("spec.template.spec"),
        template=rolling("spec.template"),
    ),
    # Jobs
    *kinds(
        "batch.volcano.sh: Job",
        "volcano-sh/volcano ed72c7c, v1alpha1, admit_job.go",
        everything("spec", _REJECTED),
    ),
    *kinds(
        "batch.volcano.sh: CronJob",
        "volcano-sh/volcano ed72c7c, v1alpha1",
        pod_spec("spec.jobTemplate.spec.tasks[].template.spec"),
    ),
    *kinds(
        "jobset.x-k8s.io: JobSet",
        "kubernetes-sigs/jobset 08dfbdf, v1alpha2, jobset_webhook.go",
        everything("spec", _REJECTED),
    ),
    *kinds(
        "kubeflow.org: PyTorchJob TFJob MPIJob XGBoostJob PaddleJob JAXJob",
        f"{_KUBEFLOW}, v1",
        everything("spec", _RUN),
    ),
    *kinds("kubeflow.org: Experiment", "kubeflow/katib 33c8ff4, v1beta1", everything("spec", _RUN)),
    *kinds("kubeflow.org: Notebook", f"{_KUBEFLOW}, v1beta1", pod_spec("spec.template.spec")),
    *kinds(
        "kubeflow.org: PodDefault",
        f"{_KUBEFLOW}, v1alpha1",
        container("spec"),
        container("spec.initContainers[]"),
        container("spec.sidecars[]"),
        volume("spec.volumes[]"),
        secret("spec.imagePullSecrets[].name"),
    ),
    *kinds("kubeflow.org: PVCViewer", f"{_KUBEFLOW}, v1alpha1", pod_spec("spec.podSpec")),
    *kinds("trainer.kubeflow.org: TrainJob", _TRAINER, everything("spec", _RUN)),
    *kinds(
        "trainer.kubeflow.org: TrainingRuntime",
        f"{_TRAINER}, snapshot.go",
        everything("spec", _COPIED),
    ),
    *kinds(
        "trainer.kubeflow.org: ClusterTrainingRuntime", _TRAINER, everything("spec", _ANY_NAMESPACE)
    ),
    *kinds("sparkoperator.k8s.io: SparkApplication", _SPARK, everything("spec", _RESTART)),
    *kinds(
        "sparkoperator.k8s.io: ScheduledSparkApplication",
        _SPARK,
        *_spark_application("spec.template"),
    ),
    *kinds(
        "flink.apache.org: FlinkDeployment FlinkSessionJob",
        "apache/flink-kubernetes-operator 6e9caeb, v1beta1",
        everything("spec", _FLINK_RESTART),
    ),
    *kinds("ray.io: RayCluster", _RAY, *_ray_cluster("spec")),
    *kinds("ray.io: RayService", _RAY, *_ray_cluster("spec.rayClusterConfig")),
    *kinds("ray.io: RayJob", _RAY, everything("spec", _RUN)),
    *kinds(
        "ray.io: RayCronJob",
        _RAY,
        *_ray_cluster("spec.jobTemplate.rayClusterSpec"),
        pod_spec("spec.jobTemplate.submitterPodTemplate.spec"),
    ),
)
