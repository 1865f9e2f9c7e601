"""The kinds of live objects that attach reads, and where the API serves them.

A new kind of consumer is one entry here, one in kubernetes/kinds.py if it has pod templates, and
one in the Role that plan/attacher_job.py writes.
"""

from __future__ import annotations

from postrender.kubernetes.kinds import GroupKind, api_group
from postrender.startup.records import NamedTuple


class Resource(NamedTuple):
    """A kind as the API serves it: `apps/v1`, `ReplicaSet`, `replicasets`."""

    api_version: str
    kind: str
    plural: str

    @property
    def group_kind(self) -> GroupKind:
        """Group and kind, by which owner references and workloads are matched."""
        return api_group(self.api_version), self.kind

    @property
    def path(self) -> str:
        """The start of its addresses on the API server."""
        root = "/apis" if "/" in self.api_version else "/api"
        return f"{root}/{self.api_version}"


CONFIG_MAPS = Resource("v1", "ConfigMap", "configmaps")
SECRETS = Resource("v1", "Secret", "secrets")
EVENTS = Resource("v1", "Event", "events")
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

REVISED = (CONFIG_MAPS, SECRETS)

# Those that make others come before those that they make: an object made while the lists are read
# is then seen itself, or its maker was seen with the template that it was made from.
HOLDERS = (
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
BY_GROUP_KIND = {resource.group_kind: resource for resource in HOLDERS}
BY_KIND = {resource.kind: resource for resource in HOLDERS}

# What keeps a workload's earlier templates, and is made anew for each: its revision objects.
REVISION_KINDS = {
    ROLLOUTS: REPLICA_SETS,
    DEPLOYMENTS: REPLICA_SETS,
    STATEFUL_SETS: CONTROLLER_REVISIONS,
    DAEMON_SETS: CONTROLLER_REVISIONS,
}

# Kinds of which a controller makes and deletes objects: one that names a revision no more is no
# owner of it any more. A workload that a person applies stays an owner for as long as it lives.
MADE_BY_OTHERS = frozenset(
    {REPLICA_SETS, CONTROLLER_REVISIONS, JOBS, PODS, EXPERIMENTS, ANALYSIS_RUNS}
)
