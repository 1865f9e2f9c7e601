"""The kinds of objects that attach and adopt use, and the paths of these kinds in the API.

To add a kind of consumer, add an entry to CONSUMER_KINDS, and a rule to the Role in
plan/attacher_job.py. A kind with pod templates also needs an entry in kubernetes/kinds.py.
"""

from __future__ import annotations

from postrender.kubernetes.kinds import RBAC_GROUP, GroupKind, api_group
from postrender.records import NamedTuple


class Resource(NamedTuple):
    """A kind in the Kubernetes API.

    plural: the name in paths, such as `replicasets`.
    """

    api_version: str
    kind: str
    plural: str

    @property
    def group_kind(self) -> GroupKind:
        """The group and kind, such as (`apps`, `ReplicaSet`)."""
        return api_group(self.api_version), self.kind

    @property
    def path(self) -> str:
        """The URL path of the API version on the API server, such as `/apis/apps/v1`."""
        root = "/apis" if "/" in self.api_version else "/api"
        return f"{root}/{self.api_version}"


CONFIG_MAPS = Resource("v1", "ConfigMap", "configmaps")
SECRETS = Resource("v1", "Secret", "secrets")
EVENTS = Resource("v1", "Event", "events")
SERVICE_ACCOUNTS = Resource("v1", "ServiceAccount", "serviceaccounts")
ROLES = Resource(f"{RBAC_GROUP}/v1", "Role", "roles")
PODS = Resource("v1", "Pod", "pods")
JOBS = Resource("batch/v1", "Job", "jobs")
ROLLOUTS = Resource("argoproj.io/v1alpha1", "Rollout", "rollouts")
DEPLOYMENTS = Resource("apps/v1", "Deployment", "deployments")
STATEFUL_SETS = Resource("apps/v1", "StatefulSet", "statefulsets")
DAEMON_SETS = Resource("apps/v1", "DaemonSet", "daemonsets")
REPLICA_SETS = Resource("apps/v1", "ReplicaSet", "replicasets")
CONTROLLER_REVISIONS = Resource("apps/v1", "ControllerRevision", "controllerrevisions")
EXPERIMENTS = Resource("argoproj.io/v1alpha1", "Experiment", "experiments")
ANALYSIS_RUNS = Resource("argoproj.io/v1alpha1", "AnalysisRun", "analysisruns")

REVISED_KINDS = (CONFIG_MAPS, SECRETS)
# The possible kinds of a release owner, as defined in the module `release_owner`.
RELEASE_OWNER_KINDS = (SERVICE_ACCOUNTS, ROLES)

# The kinds of possible consumers, in the order of the list requests. The kind of a controlling
# object precedes the kinds of the objects under its control. If a controller creates an object too
# late for a list, attach has already read the references in the controlling object.
CONSUMER_KINDS = (
    ROLLOUTS,
    DEPLOYMENTS,
    STATEFUL_SETS,
    DAEMON_SETS,
    Resource("batch/v1", "CronJob", "cronjobs"),
    Resource("v1", "PodTemplate", "podtemplates"),
    Resource("v1", "ReplicationController", "replicationcontrollers"),
    Resource("argoproj.io/v1alpha1", "AnalysisTemplate", "analysistemplates"),
    EXPERIMENTS,
    ANALYSIS_RUNS,
    REPLICA_SETS,
    CONTROLLER_REVISIONS,
    JOBS,
    PODS,
)
BY_GROUP_KIND = {resource.group_kind: resource for resource in CONSUMER_KINDS}
BY_KIND = {resource.kind: resource for resource in CONSUMER_KINDS}

# For some kinds of workloads, the kind of the objects with the current and earlier pod templates.
HISTORY_KINDS = {
    ROLLOUTS: REPLICA_SETS,
    DEPLOYMENTS: REPLICA_SETS,
    STATEFUL_SETS: CONTROLLER_REVISIONS,
    DAEMON_SETS: CONTROLLER_REVISIONS,
}

# The kinds of objects that a controller creates and deletes. An object of these kinds with
# a controller owns a revision only while the object is or controls a consumer. All other workloads
# remain owners until somebody deletes the workloads.
CONTROLLER_MADE_KINDS = frozenset(
    {REPLICA_SETS, CONTROLLER_REVISIONS, JOBS, PODS, EXPERIMENTS, ANALYSIS_RUNS}
)
