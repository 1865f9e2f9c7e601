"""Whole runs of attach against a cluster in memory: what changes there, and what a run reports.

The workload of most runs is Deployment/app, which has the new render ID bb, and whose pod template
references the new revision. The earlier render ID is aa.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from postrender.attach.connect import Account
from postrender.attach.report import record_event
from postrender.attach.request import DEPLOYMENTS, NamedObject
from postrender.kubernetes.hashing import hashed_content, revision_name
from postrender.kubernetes.kinds import CONFIG_MAP
from tests.attach.cluster import (
    GROUP,
    Cluster,
    Json,
    Run,
    job,
    marked,
    name_of,
    obj,
    owner_of,
    revision,
    template,
    time_ago,
    workload,
)
from tests.attach.squats import squats

NEW, OLD = revision("new"), revision("old", annotations=marked(30))
NEW_NAME, OLD_NAME = name_of(NEW), name_of(OLD)
NEW_KEY, OLD_KEY = f"ConfigMap/{NEW_NAME}", f"ConfigMap/{OLD_NAME}"
WANTED = f"Deployment/app@bb=configmap/{NEW_NAME}"
APPLY_AGAIN = "Apply the manifests again."

DEPLOYMENT = workload("Deployment/app", "bb", NEW_NAME)
OLD_DEPLOYMENT = workload("Deployment/app", "aa", OLD_NAME)
NEW_SET = workload("ReplicaSet/app-2", "bb", NEW_NAME, owner="Deployment/app")
OLD_SET = workload("ReplicaSet/app-1", "aa", OLD_NAME, owner="Deployment/app")
APPLIED = (DEPLOYMENT, NEW_SET, NEW)


def plain(data: Json) -> Json:
    """Return a ConfigMap without its labels and annotations."""
    return obj("ConfigMap", name_of(data), data=data["data"], immutable=True)


def controller_revision(name: str, render_id: str, *names: str) -> Json:
    """Return the ControllerRevision of StatefulSet/db, with a copy of its annotations."""
    return obj(
        "ControllerRevision",
        name,
        owner="StatefulSet/db",
        metadata={"annotations": {"postrender/render-id": render_id}},
        data={"spec": {"template": template(*names)}},
    )


# The wait: when has an apply arrived?

READY: dict[str, tuple[str, tuple[Json, ...]]] = {
    "a Deployment with its new ReplicaSet": (WANTED, APPLIED),
    "next to an old ReplicaSet": (WANTED, (*APPLIED, OLD_SET)),
    "without a render ID, an object with all references": (
        f"Deployment/app=configmap/{NEW_NAME}",
        (
            workload("Deployment/app", "", NEW_NAME, "another"),
            workload("ReplicaSet/app-2", "", NEW_NAME, "another", owner="Deployment/app"),
            NEW,
        ),
    ),
    "a paused Deployment, which creates no ReplicaSet": (
        WANTED,
        (workload("Deployment/app", "bb", NEW_NAME, spec={"paused": True}), NEW),
    ),
    "a StatefulSet with its new ControllerRevision": (
        f"StatefulSet/db@bb=configmap/{NEW_NAME}",
        (
            workload("StatefulSet/db", "bb", NEW_NAME, "another"),
            controller_revision("db-2", "bb", NEW_NAME, "another"),
            NEW,
        ),
    ),
    "a StatefulSet after a change that does not roll it": (
        f"StatefulSet/db@bb=configmap/{NEW_NAME}",
        (
            workload("StatefulSet/db", "bb", NEW_NAME),
            controller_revision("db-2", "aa", NEW_NAME),
            NEW,
        ),
    ),
    "a ReplicationController, which has no history": (
        f"ReplicationController/x@bb=configmap/{NEW_NAME}",
        (workload("ReplicationController/x", "bb", NEW_NAME), NEW),
    ),
    "a Rollout with the new template in its Deployment": (
        f"Rollout/app@bb=configmap/{NEW_NAME}",
        (
            obj(
                "Rollout",
                "app",
                spec={
                    "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app"}
                },
            ),
            DEPLOYMENT,
            workload("ReplicaSet/app-r", "", NEW_NAME, owner="Rollout/app"),
            NEW,
        ),
    ),
}


@pytest.mark.parametrize("case", READY)
def test_a_workload_that_is_ready(case: str) -> None:
    wanted, objects = READY[case]
    cluster = Cluster(*objects)
    run = Run(cluster, wanted)
    assert not run.problems
    assert cluster.seconds == 0
    assert wanted.partition("@")[0].partition("=")[0] in cluster.owners(NEW_KEY)


ROLLOUT_OF_A_DEPLOYMENT = obj(
    "Rollout",
    "app",
    spec={"workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app"}},
)
NO_REPLICA_SET = "Deployment/app has not created a ReplicaSet for the new pod template"
FIX_STATUS = "Find the cause in the status of Deployment/app, and fix the cause."
PENDING: dict[str, tuple[str, tuple[Json, ...], str]] = {
    "no workload": (
        WANTED,
        (),
        "Deployment/app does not exist. Check that the manifests contain Deployment/app, then "
        "apply the manifests again.",
    ),
    "a workload that is being deleted": (
        WANTED,
        (workload("Deployment/app", "bb", NEW_NAME, deleting=True), NEW_SET),
        "Deployment/app is being deleted. Check that the manifests contain Deployment/app, then "
        "apply the manifests again.",
    ),
    "the earlier render ID": (
        WANTED,
        (OLD_DEPLOYMENT, OLD_SET),
        "Deployment/app has the render ID aa, expected bb. If no later apply "
        "has changed Deployment/app, apply the manifests again.",
    ),
    "no render ID": (
        WANTED,
        (workload("Deployment/app", "", NEW_NAME), NEW_SET),
        "Deployment/app has no render ID, expected bb. If no later "
        "apply has changed Deployment/app, apply the manifests again.",
    ),
    "one of two references": (
        f"Deployment/app=configmap/{NEW_NAME},configmap/another",
        (workload("Deployment/app", "", NEW_NAME), obj("ConfigMap", "another")),
        "the pod template of Deployment/app does not reference ConfigMap/another. If no later "
        "apply has changed Deployment/app, apply the manifests again.",
    ),
    "only the earlier ReplicaSet": (
        WANTED,
        (DEPLOYMENT, OLD_SET),
        f"{NO_REPLICA_SET}. {FIX_STATUS}",
    ),
    "only the ReplicaSet before a change of the image": (
        WANTED,
        (DEPLOYMENT, workload("ReplicaSet/app-1", "aa", NEW_NAME, owner="Deployment/app")),
        f"{NO_REPLICA_SET}. {FIX_STATUS}",
    ),
    "only the earlier ControllerRevision": (
        f"StatefulSet/db@bb=configmap/{NEW_NAME}",
        (
            workload("StatefulSet/db", "bb", NEW_NAME),
            controller_revision("db-1", "bb", NEW_NAME, "another"),
        ),
        "StatefulSet/db has not created a ControllerRevision for the new pod template. "
        "Find the cause in the status of StatefulSet/db, and fix the cause.",
    ),
    "a new ReplicaSet that is being deleted": (
        WANTED,
        (
            DEPLOYMENT,
            workload("ReplicaSet/app-2", "bb", NEW_NAME, owner="Deployment/app", deleting=True),
        ),
        f"{NO_REPLICA_SET}. {FIX_STATUS}",
    ),
    "a new ReplicaSet of another workload": (
        WANTED,
        (DEPLOYMENT, workload("ReplicaSet/x", "bb", NEW_NAME, owner="Rollout/app")),
        f"{NO_REPLICA_SET}. {FIX_STATUS}",
    ),
    "a Deployment that reports why": (
        WANTED,
        (
            workload(
                "Deployment/app",
                "bb",
                NEW_NAME,
                status={
                    "conditions": [
                        {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"}
                    ]
                },
            ),
        ),
        f"{NO_REPLICA_SET} (ReplicaFailure is True: exceeded quota). {FIX_STATUS}",
    ),
    "a paused Rollout, which does create a ReplicaSet": (
        f"Rollout/app@bb=configmap/{NEW_NAME}",
        (workload("Rollout/app", "bb", NEW_NAME, spec={"paused": True}),),
        "Rollout/app has not created a ReplicaSet for the new pod template. Find the cause in the "
        "status of Rollout/app, and fix the cause.",
    ),
    "a Rollout without its Deployment": (
        f"Rollout/app@bb=configmap/{NEW_NAME}",
        (ROLLOUT_OF_A_DEPLOYMENT,),
        "Deployment/app does not exist, but spec.workloadRef of Rollout/app references "
        "Deployment/app. Create Deployment/app, or fix spec.workloadRef of Rollout/app.",
    ),
    "a Rollout whose Deployment has the earlier template": (
        f"Rollout/app@bb=configmap/{NEW_NAME}",
        (ROLLOUT_OF_A_DEPLOYMENT, OLD_DEPLOYMENT),
        "Deployment/app has the render ID aa, expected bb. If no later apply "
        "has changed Deployment/app, apply the manifests again.",
    ),
    "a Rollout whose Deployment alone has a new ReplicaSet": (
        f"Rollout/app@bb=configmap/{NEW_NAME}",
        (ROLLOUT_OF_A_DEPLOYMENT, DEPLOYMENT, NEW_SET),
        "Rollout/app has not created a ReplicaSet for the new pod template. Find the cause in the "
        "status of Rollout/app, and fix the cause.",
    ),
}


@pytest.mark.parametrize("case", PENDING)
def test_a_workload_that_is_not_ready_in_time(case: str) -> None:
    wanted, objects, problem = PENDING[case]
    cluster = Cluster(*objects, NEW, OLD)
    run = Run(cluster, wanted)
    assert run.problems == [problem]
    assert not run.failures[0].is_severe
    assert cluster.seconds == pytest.approx(90)
    # An apply that has not arrived proves nothing about the old revisions.
    assert OLD_KEY in cluster.objects
    assert NEW_KEY in cluster.objects


def test_a_run_logs_once_why_it_waits() -> None:
    cluster = Cluster(OLD_DEPLOYMENT)
    run = Run(cluster, WANTED, timeout="30s")
    assert [line for line in run.log if "waiting" in line] == [
        f"info: waiting for at most 30 s: ConfigMap/{NEW_NAME} does not exist",
        "info: waiting for at most 30 s: Deployment/app has the render ID aa, expected bb",
    ]


ARRIVALS = {
    "the workload": ((NEW,), (DEPLOYMENT, NEW_SET)),
    "the template": ((NEW, OLD_DEPLOYMENT), (DEPLOYMENT, NEW_SET)),
    "the ReplicaSet": ((NEW, DEPLOYMENT), (NEW_SET,)),
    "the revision": ((DEPLOYMENT, NEW_SET), (NEW,)),
}


@pytest.mark.parametrize("case", ARRIVALS)
@pytest.mark.parametrize("seconds", [0.5, 25, 89])
def test_a_run_goes_on_when_the_apply_arrives(case: str, seconds: float) -> None:
    before, after = ARRIVALS[case]
    cluster = Cluster(*before)
    cluster.later(seconds, *after)
    run = Run(cluster, WANTED)
    assert not run.problems
    assert cluster.owners(NEW_KEY) == ["Deployment/app", "ReplicaSet/app-2"]
    # A watch reports objects at once. ConfigMaps are only listed, at most every 10 seconds.
    assert seconds <= cluster.seconds <= seconds + (10 if case == "the revision" else 0)


def test_a_change_during_the_wait_is_seen_in_the_watch() -> None:
    """The ReplicaSet comes, goes and comes again; each change is one event of a watch."""
    cluster = Cluster(NEW)
    cluster.later(2, OLD_DEPLOYMENT)
    cluster.later(3, DEPLOYMENT)
    cluster.later(4, workload("ReplicaSet/app-2", "aa", NEW_NAME, owner="Deployment/app"))
    cluster.later(5, remove=["ReplicaSet/app-2"])
    cluster.later(6, NEW_SET)
    assert not Run(cluster, WANTED).problems
    assert cluster.seconds == pytest.approx(6)
    # One watch for each kind and each interval of 1, 2 and 4 seconds.
    assert sum(request.startswith("watch") for request in cluster.requests) <= 6


def test_other_changes_do_not_end_a_watch() -> None:
    """A busy namespace must not cause a list for each change."""
    cluster = Cluster(DEPLOYMENT, NEW)
    for second in range(1, 40):
        other = workload(f"ReplicaSet/other-{second}", "cc", owner="Deployment/other")
        cluster.later(second, other)
    cluster.later(40, NEW_SET)
    assert not Run(cluster, WANTED).problems
    assert cluster.seconds == pytest.approx(40)
    assert cluster.requests.count("watch ReplicaSet") <= 7


def test_a_watch_that_the_server_does_not_end() -> None:
    cluster = Cluster(DEPLOYMENT, NEW)
    cluster.has_endless_watches = True
    for second in range(1, 200):
        cluster.later(
            second, workload(f"ReplicaSet/other-{second}", "cc", owner="Deployment/other")
        )
    run = Run(cluster, WANTED)
    assert run.problems == [f"{NO_REPLICA_SET}. {FIX_STATUS}"]
    assert cluster.seconds <= 95


def test_a_run_lists_objects_if_it_cannot_watch_them() -> None:
    cluster = Cluster(DEPLOYMENT, NEW)
    cluster.refused["watch", "ReplicaSet"] = 500
    cluster.later(20, NEW_SET)
    assert not Run(cluster, WANTED).problems
    assert 20 <= cluster.seconds <= 22
    assert cluster.requests.count("watch ReplicaSet") <= 21  # no busy loop


def test_the_first_revision_that_exists_gets_its_owner_during_the_wait() -> None:
    """If the run fails or is killed later, a deletion of the old ReplicaSet must do no harm."""
    cluster = Cluster(DEPLOYMENT, NEW)
    cluster.later(50, NEW_SET)
    assert not Run(cluster, WANTED).problems
    assert cluster.times[f"patch {NEW_KEY}"] == 0


def test_a_kind_that_the_cluster_does_not_have_can_arrive_later() -> None:
    cluster = Cluster(NEW)
    cluster.absent.add("Rollout")
    cluster.later(12, workload("Rollout/app", "bb", NEW_NAME))
    cluster.later(13, workload("ReplicaSet/app-2", "bb", NEW_NAME, owner="Rollout/app"))
    run = Run(cluster, f"Rollout/app@bb=configmap/{NEW_NAME}", timeout="5s")
    assert "Rollout/app does not exist" in run.problems[0]
    assert 5 <= cluster.seconds < 7
    # The pauses are not a busy loop.
    assert cluster.requests.count("list Rollout") < 12


# The revisions: what is marked and deleted?


def test_a_run_logs_which_owners_it_adds_and_removes() -> None:
    cluster = Cluster(*APPLIED)
    assert Run(cluster, WANTED).log == [
        f"info: attach added owners to {NEW_KEY}: Deployment/app, ReplicaSet/app-2"
    ]
    cluster.remove("ReplicaSet/app-2")
    cluster.add(workload("ReplicaSet/app-3", "bb", NEW_NAME, owner="Deployment/app"))
    assert Run(cluster, WANTED).log == [
        f"info: attach added owners to {NEW_KEY}: ReplicaSet/app-3",
        f"info: attach removed owners from {NEW_KEY}: ReplicaSet/app-2",
    ]


def test_an_old_revision_that_nothing_uses_is_deleted() -> None:
    cluster = Cluster(*APPLIED, OLD)
    run = Run(cluster, WANTED)
    assert cluster.names("ConfigMap") == [NEW_NAME]
    assert not run.problems
    assert run.log[-1] == (
        f"info: attach deleted {OLD_KEY}, which had been unused since {time_ago(30)}"
    )


def test_an_old_revision_without_a_mark_is_marked_first() -> None:
    cluster = Cluster(*APPLIED, revision("old"))
    run = Run(cluster, WANTED)
    assert cluster.mark(OLD_KEY) == time_ago(0)
    assert run.log[-1] == (
        f"info: attach marked the unused {OLD_KEY}. If {OLD_KEY} stays unused, a later run deletes "
        "the revision."
    )


def test_a_revision_that_is_used_again_loses_its_mark() -> None:
    cluster = Cluster(DEPLOYMENT, NEW_SET, revision("new", annotations=marked(30)))
    run = Run(cluster, WANTED)
    assert cluster.mark(NEW_KEY) is None
    assert (
        f"info: attach removed the mark from {NEW_KEY}, because an object uses the revision"
    ) in run.log


def kept(cluster: Cluster) -> bool:
    return OLD_KEY in cluster.objects


@pytest.mark.parametrize(
    "user",
    [
        OLD_SET,
        workload("Job/migrate", "", OLD_NAME),
        obj("Pod", "debug", spec=template("", OLD_NAME)["spec"]),
        workload("ReplicationController/x", "", OLD_NAME),
    ],
    ids=lambda user: str(user["kind"]),
)
def test_a_revision_with_a_consumer_is_kept(user: Json) -> None:
    cluster = Cluster(*APPLIED, OLD, user)
    assert not Run(cluster, WANTED).problems
    assert kept(cluster)
    assert cluster.mark(OLD_KEY) is None


def test_a_run_that_may_not_read_a_kind_deletes_nothing_and_says_so() -> None:
    """An object of this kind can use the revision."""
    cluster = Cluster(*APPLIED, OLD, revision("unmarked"))
    cluster.refused["list", "CronJob"] = 403
    run = Run(cluster, WANTED)
    assert cluster.writes == [f"patch {NEW_KEY}"]
    [failure] = run.failures
    assert str(failure).startswith(
        "postrender cannot list cronjobs (HTTP status 403), so this run does not delete revisions. "
        "Compare the permissions of the account"
    )
    assert not failure.is_severe


def test_several_missing_permissions_are_one_failure() -> None:
    cluster = Cluster(*APPLIED)
    for kind in ("CronJob", "Pod", "Job"):
        cluster.refused["list", kind] = 403
    [failure] = Run(cluster, WANTED).failures
    assert "cannot list cronjobs, jobs and pods (HTTP" in str(failure)


def test_without_a_group_a_missing_permission_is_only_logged() -> None:
    cluster = Cluster(DEPLOYMENT, NEW_SET, revision("new", group=""))
    cluster.refused["list", "CronJob"] = 403
    run = Run(cluster, WANTED, group="")
    assert not run.failures
    assert any(line.startswith("warning: postrender cannot list cronjobs") for line in run.log)


def test_a_missing_revision_does_not_prevent_a_sweep() -> None:
    """The quota of ConfigMaps can be full: the deletion makes room for the new revision."""
    cluster = Cluster(DEPLOYMENT, NEW_SET, OLD, revision("unmarked"))
    run = Run(cluster, WANTED, timeout="1s")
    assert not kept(cluster)
    # A new mark waits until the apply is complete.
    assert cluster.mark(f"ConfigMap/{name_of(revision('unmarked'))}") is None
    assert run.problems == [f"{NEW_KEY} does not exist. {APPLY_AGAIN}"]


def test_without_pruning_a_run_only_reports_unused_revisions() -> None:
    unmarked = revision("unmarked")
    cluster = Cluster(*APPLIED, OLD, unmarked)
    run = Run(cluster, WANTED, prunes=False)
    assert cluster.writes == [f"patch {NEW_KEY}"]
    assert sorted(run.log[-2:]) == sorted(
        f"info: {key} is unused, and a run without --no-prune would {step} {key}"
        for key, step in (
            (OLD_KEY, "delete"),
            (f"ConfigMap/{name_of(unmarked)}", "mark"),
        )
    )


@pytest.mark.parametrize(
    ("old", "reason"),
    [
        (
            revision("old", annotations=marked(9)),
            f"the revision has been unused for less than 10 minutes (since {time_ago(9)})",
        ),
        (
            revision("old", annotations={**marked(30), "postrender/sweep": "false"}),
            'the annotation postrender/sweep is "false"',
        ),
        (
            revision("old", annotations={**marked(30), "postrender/prune": "false"}),
            'the annotation postrender/prune is "false"',
        ),
        (
            revision("old", annotations=marked(30), owners=["Widget/w"]),
            "postrender does not manage the owner Widget/w",
        ),
        (
            {**OLD, "data": {"value": "edited"}},
            "the content does not match the hash in the name",
        ),
    ],
    ids=["young", "not swept", "not pruned", "foreign owner", "edited"],
)
def test_an_unused_revision_is_kept_for_a_reason(old: Json, reason: str) -> None:
    cluster = Cluster(*APPLIED, old)
    run = Run(cluster, WANTED)
    assert kept(cluster)
    assert f"info: attach keeps the unused {OLD_KEY}, because {reason}" in run.log


def with_optional_references(data: Json) -> Json:
    changed: Json = deepcopy(data)
    for source in changed["spec"]["template"]["spec"]["containers"][0]["envFrom"]:
        source["configMapRef"]["optional"] = True
    return changed


def test_an_optional_reference_keeps_its_revision() -> None:
    cluster = Cluster(*APPLIED, OLD, with_optional_references(OLD_SET))
    Run(cluster, WANTED)
    assert OLD_NAME in cluster.names("ConfigMap")


def test_a_missing_revision_with_an_optional_reference_is_severe() -> None:
    cluster = Cluster(*map(with_optional_references, (DEPLOYMENT, NEW_SET)))
    [failure] = Run(cluster, WANTED, timeout="0s").failures
    assert f"{NEW_KEY} does not exist" in str(failure)
    assert failure.is_severe


def test_an_adopted_original_and_a_secret_are_deleted_unread() -> None:
    """An original has no hash in its name, and the content of a Secret is never read."""
    labels = {"postrender/attach-group": GROUP}
    original = obj("ConfigMap", "app", metadata={"labels": labels, "annotations": marked(30)})
    secret = obj("Secret", "s-old", metadata={"labels": labels, "annotations": marked(30)})
    given = obj("Secret", "s-new", metadata={"labels": labels})
    cluster = Cluster(*APPLIED, original, secret, given)
    run = Run(cluster, WANTED, emitted=["secret/s-new"])
    assert not run.problems
    assert cluster.names("ConfigMap") == [NEW_NAME]
    assert cluster.names("Secret") == ["s-new"]
    assert "get Secret/s-old" not in cluster.requests
    assert "get ConfigMap/app" not in cluster.requests


# Somebody else is at work at the same time

OWN_JOB = job("own", 0.5, "attach", "own", finished=False)
CONFLICTS: dict[str, tuple[tuple[Json, ...], str]] = {
    "another unfinished Job": (
        (OWN_JOB, job("other", 5, "attach", "other", finished=False)),
        "the attacher Job/other is not finished",
    ),
    "a newer Job": (
        (OWN_JOB, job("other", 0.2, "attach", "other")),
        "Job/other is newer than the Job of this run",
    ),
    "a late own Job": (
        (job("own", 2.6, "attach", "own", finished=False),),
        "the Job of this run, Job/own, is more than 150 seconds old",
    ),
    "a newer Job than the last Job with the arguments of a run by hand": (
        (job("own", 5, "attach", "own"), job("other", 4, "attach", "other")),
        "Job/other is newer than the Job of this run",
    ),
}


@pytest.mark.parametrize("case", CONFLICTS)
def test_a_later_apply_may_be_under_way(case: str) -> None:
    """Its ConfigMaps can exist before the workloads that use them."""
    jobs, reason = CONFLICTS[case]
    cluster = Cluster(*APPLIED, OLD, *jobs)
    run = Run(cluster, WANTED)
    assert kept(cluster)
    assert run.log[-1] == (
        "info: attach does not delete revisions, because a later apply may be under way: " + reason
    )


@pytest.mark.parametrize(
    "jobs",
    [
        (OWN_JOB, job("older", 60, "attach", "older")),
        (job("own", 2.4, "attach", "own", finished=False),),
        (job("own", 60, "attach", "own"),),
        (job("own", 60, "attach", "own"), OWN_JOB),
        (job("older", 60, "attach", "older"),),
        (OWN_JOB, {**job("x", 0, "y"), "metadata": {"name": "x", "uid": "x"}}),
    ],
    ids=["older", "in time", "by hand", "repeated", "unknown own", "another group"],
)
def test_no_later_apply_is_under_way(jobs: tuple[Json, ...]) -> None:
    cluster = Cluster(*APPLIED, OLD, *jobs)
    Run(cluster, WANTED)
    assert not kept(cluster)


def test_the_finished_jobs_before_the_own_job_are_deleted_on_request() -> None:
    jobs = (OWN_JOB, job("older", 60, "attach", "older"), job("wave", 60, "attach", "w", wave="1"))
    cluster = Cluster(*APPLIED, *jobs)
    run = Run(cluster, WANTED, deletes_finished_jobs=True)
    assert cluster.names("Job") == ["own", "wave"]
    assert run.log[-1] == (
        "info: attach deleted the finished Job/older, because the Job of this run supersedes "
        "Job/older"
    )
    cluster = Cluster(*APPLIED, *jobs)
    Run(cluster, WANTED)
    Run(cluster, WANTED, deletes_finished_jobs=True, arguments=["attach", "by hand"])
    assert cluster.names("Job") == ["older", "own", "wave"]


@pytest.mark.parametrize("objects", [(DEPLOYMENT, NEW), (DEPLOYMENT, NEW_SET)])
def test_finished_jobs_stay_until_the_apply_has_arrived(objects: tuple[Json, ...]) -> None:
    cluster = Cluster(*objects, OWN_JOB, job("older", 60, "attach", "older"))
    Run(cluster, WANTED, deletes_finished_jobs=True, timeout="1s")
    assert cluster.names("Job") == ["older", "own"]


def test_a_run_with_nothing_to_do_sends_few_requests() -> None:
    """Each deployment of each release runs it."""
    cluster = Cluster(*APPLIED)
    Run(cluster, WANTED)
    first = len(cluster.requests)
    Run(cluster, WANTED)
    assert len(cluster.requests) - first < first
    assert cluster.requests.count("list Job") == 2
    assert cluster.writes == [f"patch {NEW_KEY}"]


def test_a_job_that_was_created_again_is_not_deleted() -> None:
    older = job("older", 60, "attach", "older")
    again = {**older, "metadata": {**older["metadata"], "uid": "again"}}
    cluster = Cluster(*APPLIED, OWN_JOB, older)
    cluster.after(f"patch {NEW_KEY}", again)
    run = Run(cluster, WANTED, deletes_finished_jobs=True)
    # The list after the patch has the new uid, so the Job is deleted by that.
    assert cluster.names("Job") == ["own"]
    assert run.log[-1].startswith("info: attach deleted the finished Job/older")


def test_a_consumer_that_appears_during_the_run_saves_the_revision() -> None:
    cluster = Cluster(*APPLIED, OLD)
    cluster.after(f"patch {NEW_KEY}", OLD_SET)
    assert not Run(cluster, WANTED).problems
    assert kept(cluster)


def test_a_revision_that_changes_before_its_deletion_is_kept() -> None:
    cluster = Cluster(*APPLIED, OLD)
    cluster.after(f"get {OLD_KEY}", revision("old", annotations=marked(30), owners=["Widget/w"]))
    Run(cluster, WANTED)
    assert kept(cluster)

    late = Cluster(*APPLIED, OLD)
    late.before(f"delete {OLD_KEY}", revision("old", annotations=marked(0)), OLD_SET)
    run = Run(late, WANTED)
    assert not run.problems
    assert kept(late)
    assert run.log[-1] == (
        f"info: attach did not delete {OLD_KEY}, because the object changed during this run"
    )


def test_a_consumer_of_a_deleted_revision_is_a_failure() -> None:
    cluster = Cluster(*APPLIED, OLD)
    # Since the last lists, a person has rolled the Deployment back, which changes no ConfigMap.
    cluster.before(f"delete {OLD_KEY}", OLD_SET)
    [failure] = Run(cluster, WANTED).failures
    assert str(failure) == (
        f"attach deleted {OLD_KEY}, but ReplicaSet/app-1 now references {OLD_KEY}. "
        f"Apply the manifests that contain {OLD_KEY}."
    )
    assert not failure.is_severe  # no workload of this release needs the revision


@pytest.mark.parametrize("status", [403, 422])
@pytest.mark.parametrize(("verb", "key"), [("patch", NEW_KEY), ("delete", OLD_KEY)])
def test_a_refused_write_is_a_failure_and_the_run_goes_on(verb: str, key: str, status: int) -> None:
    cluster = Cluster(*APPLIED, OLD)
    cluster.refused[verb, "ConfigMap"] = status
    [failure] = Run(cluster, WANTED).failures
    assert failure.problem.startswith(
        f"postrender cannot {verb} configmaps/{key[10:]} in namespace"
    )
    assert not failure.is_severe
    assert kept(cluster) == (verb == "delete")


# The workload changes during the run


def test_a_workload_that_is_re_created_during_the_run_gets_the_revisions_again() -> None:
    again = workload("Deployment/app", "bb", NEW_NAME, metadata={"uid": "again"})
    new_set = workload("ReplicaSet/app-3", "bb", NEW_NAME)
    new_set["metadata"]["ownerReferences"] = [
        {**owner_of("Deployment/app", controller=True), "uid": "again"}
    ]
    cluster = Cluster(*APPLIED)
    cluster.after(f"patch {NEW_KEY}", again, new_set, remove=["ReplicaSet/app-2"])
    run = Run(cluster, WANTED)
    assert not run.problems
    assert cluster.owners(NEW_KEY) == ["ReplicaSet/app-3", "again"]
    assert (
        "info: somebody re-created Deployment/app during this run, so the run starts again"
    ) in run.log


def test_a_workload_that_is_deleted_during_the_run_is_a_failure() -> None:
    cluster = Cluster(*APPLIED)
    cluster.after(f"patch {NEW_KEY}", remove=["Deployment/app"])
    run = Run(cluster, WANTED)
    assert run.problems == [f"somebody deleted Deployment/app during this run. {APPLY_AGAIN}"]
    [failure] = run.failures
    assert [(str(item), uid) for item, uid in failure.workloads] == [("Deployment/app", "")]


def test_a_workload_that_is_being_deleted_counts_as_deleted() -> None:
    cluster = Cluster(*APPLIED)
    deleting = workload("Deployment/app", "bb", NEW_NAME, deleting=True)
    cluster.after(f"patch {NEW_KEY}", deleting)
    assert Run(cluster, WANTED).problems == [
        f"somebody deleted Deployment/app during this run. {APPLY_AGAIN}"
    ]


def test_a_workload_that_is_re_created_after_the_deadline_is_a_failure() -> None:
    again = workload("Deployment/app", "bb", NEW_NAME, metadata={"uid": "again"})
    cluster = Cluster(DEPLOYMENT, NEW)
    cluster.latency = 0.1
    cluster.before("list PodTemplate", again)
    run = Run(cluster, WANTED, timeout="30s")
    assert f"somebody re-created Deployment/app during this run. {APPLY_AGAIN}" in run.problems


def test_a_revision_that_is_deleted_during_the_run_is_a_failure() -> None:
    cluster = Cluster(*APPLIED)
    cluster.after(f"patch {NEW_KEY}", remove=[NEW_KEY])
    [failure] = Run(cluster, WANTED).failures
    assert str(failure) == (
        f"somebody or Kubernetes deleted {NEW_KEY} during this run. {APPLY_AGAIN}"
    )
    assert failure.is_severe
    assert [str(item) for item, _ in failure.workloads] == ["Deployment/app"]


def test_a_patch_of_a_revision_that_is_gone_is_a_warning() -> None:
    cluster = Cluster(DEPLOYMENT, NEW_SET, NEW, revision("more", annotations=marked(30)), OLD_SET)
    more = f"ConfigMap/{name_of(revision('more'))}"
    cluster.add(workload("ReplicaSet/app-4", "cc", more[10:], owner="Deployment/app"))
    cluster.after(f"patch {NEW_KEY}", remove=[more])
    run = Run(cluster, WANTED)
    assert (
        f"warning: somebody or Kubernetes deleted {more} during this run. If pods use {more}, "
        "apply the manifests again."
    ) in run.log


# Failures


def test_many_missing_revisions_are_one_failure() -> None:
    names = [f"missing-{number:02}" for number in range(12)]
    wanted = "Deployment/app@bb=" + ",".join(f"configmap/{name}" for name in names)
    cluster = Cluster(DEPLOYMENT, NEW_SET)
    [failure] = Run(cluster, wanted, timeout="1s").failures
    shown = ", ".join(f"ConfigMap/{name}" for name in names[:10])
    assert failure.problem == f"{shown} and 2 more do not exist"


@pytest.mark.parametrize("is_used", [True, False])
def test_a_missing_revision_is_severe_only_if_an_object_uses_it(is_used: bool) -> None:
    """If no object uses it, a later apply has replaced it."""
    user = workload("ReplicaSet/app-2", "bb", *[NEW_NAME] * is_used, owner="Deployment/app")
    deleted = workload("ReplicaSet/app-1", "aa", NEW_NAME, owner="Deployment/app", deleting=True)
    cluster = Cluster(workload("Deployment/app", "bb"), user, deleted)
    [failure] = Run(cluster, WANTED, timeout="1s").failures
    assert failure.problem == f"{NEW_KEY} does not exist"
    assert failure.is_severe == is_used


def test_a_finalizer_that_delays_a_deletion_is_named() -> None:
    held = revision("new", metadata={"finalizers": ["a/b", "c/d"]}, deleting=True)
    cluster = Cluster(DEPLOYMENT, NEW_SET, held)
    wanted = f"{WANTED},configmap/gone"
    run = Run(cluster, wanted, timeout="1s")
    assert run.problems == [
        f"{NEW_KEY} is being deleted, but waits for the finalizer a/b, c/d. Remove the finalizer "
        f"from {NEW_KEY}, then apply the manifests again.",
        f"ConfigMap/gone does not exist. {APPLY_AGAIN}",
    ]
    assert (
        f"info: waiting for at most 1 s: {NEW_KEY} is being deleted, but waits for the "
        in "".join(run.log)
    )
    assert not cluster.writes


def test_a_failure_names_only_the_workloads_that_it_concerns() -> None:
    cluster = Cluster(*APPLIED, workload("CronJob/report", "cc", "gone"))
    run = Run(cluster, WANTED, "CronJob/report@cc=configmap/gone", timeout="1s")
    [failure] = run.failures
    assert [(str(item), uid) for item, uid in failure.workloads] == [
        ("CronJob/report", "CronJob/report")
    ]


def test_refused_extras_do_not_hide_a_missing_revision() -> None:
    """Without these permissions, the release still learns that its pods cannot start."""
    paused = workload("Deployment/app", "bb", NEW_NAME, spec={"paused": True})
    jobs = job("old", 60, "attach", "old"), job("own", 0, "attach", "own", finished=False)
    cluster = Cluster(paused, *jobs)
    cluster.refused = {("create", "Event"): 403, ("delete", "Job"): 403}
    run = Run(cluster, WANTED, timeout="0s", deletes_finished_jobs=True)
    assert [failure.is_severe for failure in run.failures] == [True]
    cluster.add(NEW)
    run = Run(cluster, WANTED, timeout="0s", deletes_finished_jobs=True)
    assert [str(failure).partition(" in ")[0] for failure in run.failures] == [
        "postrender cannot delete jobs/old"
    ]
    assert not run.failures[0].is_severe


def test_a_paused_deployment_is_reported() -> None:
    cluster = Cluster(workload("Deployment/app", "bb", NEW_NAME, spec={"paused": True}), NEW)
    run = Run(cluster, WANTED)
    text = (
        "Deployment/app is paused, so Kubernetes does not create the new ReplicaSet. "
        "To create the ReplicaSet, resume Deployment/app."
    )
    assert run.log[-1] == f"warning: {text}"
    [event] = cluster.events
    assert (event["type"], event["reason"], event["message"]) == ("Normal", "AttachPaused", text)
    assert event["involvedObject"] == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "namespace": "prod",
        "name": "app",
        "uid": "Deployment/app",
    }
    assert event["firstTimestamp"] == event["lastTimestamp"] == time_ago(0)
    assert event["count"] == 1


# The attach group


def test_the_group_of_the_given_revisions_is_used_without_a_group() -> None:
    cluster = Cluster(*APPLIED, OLD, revision("x", "web", "other", annotations=marked(30)))
    run = Run(cluster, WANTED, group="")
    assert not run.problems
    assert not kept(cluster)
    assert len(cluster.names("ConfigMap")) == 2


@pytest.mark.parametrize("groups", [("", ""), ("a", "b")])
def test_without_one_group_nothing_is_deleted(groups: tuple[str, str]) -> None:
    given = [revision(text, group=group) for text, group in zip("xy", groups, strict=True)]
    old = revision("old", group=groups[0], annotations=marked(30))
    names = [name_of(item) for item in given]
    cluster = Cluster(
        workload("Deployment/app", "bb", *names),
        workload("ReplicaSet/app-2", "bb", *names, owner="Deployment/app"),
        *given,
        old,
    )
    wanted = "Deployment/app@bb=" + ",".join(f"configmap/{name}" for name in names)
    run = Run(cluster, wanted, group="")
    assert not run.problems
    assert kept(cluster)
    assert cluster.owners(f"ConfigMap/{names[0]}") == ["Deployment/app", "ReplicaSet/app-2"]


def test_one_label_among_the_given_revisions_is_enough() -> None:
    plain = revision("x", group="")
    cluster = Cluster(*APPLIED, plain, OLD)
    Run(cluster, f"{WANTED},configmap/{name_of(plain)}", group="")
    assert not kept(cluster)


def test_the_label_of_another_revision_is_not_the_group() -> None:
    cluster = Cluster(DEPLOYMENT, NEW_SET, revision("new", group=""), OLD)
    Run(cluster, WANTED, group="")
    assert kept(cluster)


def test_a_given_revision_without_a_label_gets_its_owners() -> None:
    """Another tool created it, so the list by label does not contain it."""
    cluster = Cluster(DEPLOYMENT, NEW_SET, revision("new", group=""))
    assert not Run(cluster, WANTED).problems
    assert cluster.owners(NEW_KEY) == ["Deployment/app", "ReplicaSet/app-2"]


def test_a_run_lists_only_labelled_objects_if_that_is_enough() -> None:
    """A namespace can have thousands of other ConfigMaps."""
    cluster = Cluster(*APPLIED, obj("ConfigMap", "other"))
    Run(cluster, WANTED)
    assert set(cluster.selectors) == {"postrender/attach-group"}
    cluster = Cluster(DEPLOYMENT, NEW_SET, revision("new", group=""), obj("ConfigMap", "other"))
    Run(cluster, WANTED)
    assert set(cluster.selectors) == {"postrender/attach-group", ""}


def test_a_run_without_a_group_lists_everything_once() -> None:
    cluster = Cluster(DEPLOYMENT, NEW_SET)
    Run(cluster, WANTED, timeout="1s", group="")
    assert cluster.requests.count("list ConfigMap") == cluster.requests.count("list Deployment")


def test_a_revision_of_the_group_under_its_earlier_name_is_swept() -> None:
    """The name of the group changes with the first workload. The base name is still ours."""
    old = revision("old", group="earlier-attach", annotations=marked(30))
    cluster = Cluster(*APPLIED, old)
    Run(cluster, WANTED)
    assert not kept(cluster)


@pytest.mark.parametrize(
    "old",
    [
        revision("old", group="other", base="web", annotations=marked(30)),
        revision("old", group="other", annotations=marked(30), owners=["ServiceAccount/other"]),
        revision("old", group="", annotations=marked(30)),
    ],
    ids=["another base name", "another release", "no group"],
)
def test_a_revision_of_somebody_else_is_not_touched(old: Json) -> None:
    cluster = Cluster(*APPLIED, old)
    Run(cluster, WANTED)
    assert f"ConfigMap/{name_of(old)}" in cluster.objects
    assert [write for write in cluster.writes if NEW_NAME not in write] == []


@pytest.mark.parametrize("group", [GROUP, ""])
def test_an_object_that_postrender_did_not_make_gets_no_owners(group: str) -> None:
    """The workload also uses it, and a run without labels lists it."""
    plain, other = obj("ConfigMap", "plain"), revision("x", "web", "other")
    names = (NEW_NAME, "plain", *[name_of(other)] * (not group))
    cluster = Cluster(
        workload("Deployment/app", "bb", *names),
        workload("ReplicaSet/app-2", "bb", *names, owner="Deployment/app"),
        revision("new", group=""),
        plain,
        other,
    )
    assert not Run(cluster, WANTED, group=group).problems
    assert set(cluster.writes) == {f"patch {NEW_KEY}"}


def test_an_emitted_object_is_kept_without_a_consumer() -> None:
    original = obj("ConfigMap", "app", metadata={"labels": {"postrender/attach-group": GROUP}})
    cluster = Cluster(*APPLIED, OLD, original)
    run = Run(cluster, WANTED, emitted=[f"configmap/{OLD_NAME},configmap/app"])
    assert not run.problems
    assert cluster.names("ConfigMap") == sorted(["app", NEW_NAME, OLD_NAME])
    assert cluster.mark(OLD_KEY) is None


def test_an_original_of_the_manifests_gets_no_owners() -> None:
    """The tool that applies it also deletes it. Kubernetes must not delete it with a workload."""
    labels = {"postrender/attach-group": GROUP}
    original = obj("ConfigMap", "app", metadata={"labels": labels})
    user = workload("CronJob/report", "cc", "app")
    cluster = Cluster(*APPLIED, original, user)
    Run(cluster, WANTED, emitted=["configmap/app"])
    assert cluster.owners("ConfigMap/app") == []
    # An original that a workload of the manifests references is given, not only emitted.
    cluster = Cluster(*APPLIED, original, user)
    Run(cluster, WANTED, "CronJob/report@cc=configmap/app", emitted=["configmap/app"])
    assert cluster.owners("ConfigMap/app") == ["CronJob/report"]


# Secrets


def secret(name: str, **fields: Any) -> Json:
    metadata = {
        "labels": {"postrender/attach-group": GROUP},
        "annotations": {"postrender/base-name": "s", **fields.pop("annotations", {})},
    }
    return obj("Secret", name, metadata=metadata, **fields)


def test_secrets_of_the_manifests_are_handled_like_config_maps() -> None:
    cluster = Cluster(
        workload("Deployment/app", "bb", "secret/s-new"),
        workload("ReplicaSet/app-2", "bb", "secret/s-new", owner="Deployment/app"),
        secret("s-new"),
        secret("s-old", annotations=marked(30)),
    )
    assert not Run(cluster, "Deployment/app@bb=secret/s-new").problems
    assert not any(request.startswith("get Secret") for request in cluster.requests)
    assert cluster.names("Secret") == ["s-new"]
    assert cluster.owners("Secret/s-new") == ["Deployment/app", "ReplicaSet/app-2"]


def test_without_secrets_in_the_manifests_no_secret_is_listed() -> None:
    cluster = Cluster(*APPLIED, secret("s-old", annotations=marked(30)))
    Run(cluster, WANTED)
    assert not any("Secret" in request for request in cluster.requests)


def test_the_retired_secrets_are_read_by_name_and_deleted() -> None:
    """The Role of an attacher without Secrets permits only requests with these names."""
    cluster = Cluster(*APPLIED, secret("s-1", annotations=marked(30)), secret("s-2"), secret("s-3"))
    run = Run(cluster, WANTED, retired=["secret/s-1,secret/s-2,secret/s-0"])
    assert not run.problems
    assert cluster.names("Secret") == ["s-2", "s-3"]
    assert cluster.mark("Secret/s-2") == time_ago(0)
    assert cluster.mark("Secret/s-3") is None


def test_a_retired_secret_that_the_role_forbids_is_kept() -> None:
    cluster = Cluster(*APPLIED, OLD, secret("s-1", annotations=marked(30)))
    cluster.refused["list", "Secret"] = 403
    run = Run(cluster, WANTED, retired=["secret/s-1"])
    assert not run.problems
    assert cluster.names("Secret") == ["s-1"]
    assert not kept(cluster)
    assert any(line.startswith("warning: attach keeps Secret/s-1, because") for line in run.log)


# The release owner


@pytest.mark.parametrize(
    ("account", "reads"),
    [
        (("prod", "app-attach", "ServiceAccount/app-attach"), False),
        (("other", "app-attach", "x"), True),
        (("prod", "other", "x"), True),
        (None, True),
    ],
)
def test_the_release_owner_owns_every_revision(account: Account | None, reads: bool) -> None:
    cluster = Cluster(*APPLIED, OLD_SET, OLD, obj("ServiceAccount", "app-attach"))
    run = Run(cluster, WANTED, release_owner="ServiceAccount/app-attach", account=account)
    assert not run.problems
    owner = "ServiceAccount/app-attach"
    assert cluster.owners(NEW_KEY) == ["Deployment/app", "ReplicaSet/app-2", owner]
    assert owner in cluster.owners(OLD_KEY)
    assert ("get ServiceAccount/app-attach" in cluster.requests) == reads


def test_a_role_can_be_the_release_owner() -> None:
    cluster = Cluster(*APPLIED, obj("Role", "app-attach"))
    account = ("prod", "app-attach", "not-the-role")
    Run(cluster, WANTED, release_owner="Role/app-attach", account=account)
    assert "Role/app-attach" in cluster.owners(NEW_KEY)


@pytest.mark.parametrize("status", [404, 403])
def test_a_missing_release_owner_is_a_warning(status: int) -> None:
    cluster = Cluster(*APPLIED)
    cluster.refused["get", "ServiceAccount"] = status
    run = Run(cluster, WANTED, release_owner="ServiceAccount/app-attach")
    assert not run.problems
    assert cluster.owners(NEW_KEY) == ["Deployment/app", "ReplicaSet/app-2"]
    [line] = [line for line in run.log if "cannot make" in line]
    assert line.startswith(
        "warning: attach cannot make ServiceAccount/app-attach an owner of the revisions, because "
    )
    assert ("ServiceAccount/app-attach does not exist" in line) == (status == 404)


# Foreign content

RENDER_ID, BASE_NAME = "postrender/render-id", "postrender/base-name"


def wrote(manager: str, *annotations: str, content: bool = True) -> Json:
    """Return the entry of managedFields of a manager that wrote annotations, and the content."""
    names: Json = {f"f:{name}": {} for name in annotations}
    fields = {"f:metadata": {"f:annotations": names}} | ({"f:data": {"f:v": {}}} if content else {})
    return {"manager": manager, "operation": "Update", "fieldsV1": fields}


def written(data: Json, /, *entries: Json, **fields: Any) -> Json:
    """Return an object with managedFields, and other top-level fields."""
    return {**data, "metadata": {**data["metadata"], "managedFields": list(entries)}, **fields}


def owned(data: Json, *entries: Json) -> Json:
    """Return an object with an owner reference as attach writes it, which anybody can write."""
    metadata = {**data["metadata"], "ownerReferences": [owner_of("Deployment/app")]}
    return written({**data, "metadata": metadata}, *entries)


def named_after(**content: Any) -> Json:
    """Return the new revision with other content, as if its name were the hash of this content."""
    return {**{key: value for key, value in NEW.items() if key != "data"}, **content}


OTHER = {"data": {"value": "other"}}
FIXED = {**OTHER, "immutable": True}
MUTABLE = {**NEW, "immutable": False}
SAME_BYTES = {"binaryData": {"value": "bmV3"}}
BY_ATTACH: Json = {
    "manager": "postrender-attach",
    "fieldsV1": {"f:metadata": {"f:ownerReferences": {'k:{"uid":"Deployment/app"}': {}}}},
}
CONTENTS: dict[str, tuple[Json, str]] = {
    "the right content": (NEW, "accepted"),
    "the right content, without labels and annotations": (plain(NEW), "accepted"),
    "the right content, and nobody knows who wrote it": (owned(NEW), "accepted"),
    "other content that nobody can have edited": ({**NEW, **OTHER}, "refused"),
    "other content of an object that postrender did not make": ({**plain(NEW), **OTHER}, "refused"),
    "other content, and nobody knows who wrote it": ({**MUTABLE, **OTHER}, "refused"),
    "edited content": (
        written(MUTABLE, wrote("helm", BASE_NAME), wrote("kubectl-edit"), **OTHER),
        "changed by kubectl-edit",
    ),
    "keys that a program adds": (
        written(MUTABLE, wrote("helm", BASE_NAME), wrote("b"), wrote("a"), **OTHER),
        "changed by a and b",
    ),
    "content that an admission webhook changes": (
        written(NEW, wrote("helm", BASE_NAME), **FIXED),
        "changed by an admission webhook",
    ),
    "written by another tool than the workload": (
        written(NEW, wrote("kubectl-create", BASE_NAME), **FIXED),
        "refused",
    ),
    "content by another tool, annotated by the tool of the workload": (
        written(NEW, wrote("x"), wrote("helm", BASE_NAME, content=False), **FIXED),
        "refused",
    ),
    "written by the tool of the workload, without the annotations of render": (
        written(plain(NEW), wrote("helm"), **FIXED),
        "refused",
    ),
    "of no attach group": (
        written(revision("new", group=""), wrote("helm", BASE_NAME), **FIXED),
        "refused",
    ),
    # What a tenant can write
    "binary data in addition": ({**NEW, "binaryData": {"icon": "AA=="}}, "refused"),
    "binary data and other data": ({**NEW, **OTHER, "binaryData": {"icon": "AA=="}}, "refused"),
    "the same bytes as binary data": (named_after(**SAME_BYTES), "refused"),
    "no data": (named_after(), "refused"),
    "empty data": (named_after(data={}), "refused"),
    "another key": ({**NEW, "data": {"value": "new", "other": ""}}, "refused"),
    "data that are no texts": ({**NEW, "data": {"value": ["new"]}}, "refused"),
    "the right content, which somebody can edit": (MUTABLE, "refused: the field immutable"),
    "the right content, which everybody can edit": (
        {**plain(NEW), "immutable": None},
        "refused: the field immutable",
    ),
    "the right content of kustomize, which somebody can edit": (
        {**revision("new", annotations={"postrender/hash": "kustomize"}), "immutable": None},
        "owned",
    ),
    "the owner of an earlier run": (
        owned({**NEW, **OTHER}),
        "owned, and changed by an admission webhook",
    ),
    "the owner of an earlier run in the managed fields": (
        owned({**NEW, **OTHER}, BY_ATTACH, wrote("kubectl-edit")),
        "owned, and changed by kubectl-edit",
    ),
    "the owner of an earlier run, without labels": (owned({**plain(NEW), **OTHER}), "refused"),
}


WRITTEN_DEPLOYMENT = written(DEPLOYMENT, wrote("helm", RENDER_ID), wrote("kube", content=False))


@pytest.mark.parametrize("case", CONTENTS)
def test_the_content_of_a_new_config_map(case: str) -> None:
    """An object with other content is foreign, unless this release wrote it."""
    new, verdict = CONTENTS[case]
    cluster = Cluster(WRITTEN_DEPLOYMENT, NEW_SET, new)
    run = Run(cluster, WANTED)
    changes = [line for line in run.log if line.startswith("warning: ")]
    if "changed by " in verdict:
        who = verdict.partition("changed by ")[2]
        is_owned = verdict.startswith("owned")
        origin = "to which an earlier run added owners" if is_owned else "which helm applied"
        message = (
            f"{who} changed the content of {NEW_KEY}, {origin}, so the content does not match the "
            "hash in the name. Everybody who may create ConfigMaps can imitate such a change. "
            f"attach adds owners, and keeps {NEW_KEY} as long as an owner exists. "
            f"If the content must not change, exclude {NEW_KEY} from this program. "
            f"If you do not know the program, compare {NEW_KEY} with the manifests. "
            "If the program fills the content, set "
            'postrender/strategy to "ignore" on ConfigMap/app in the chart.'
        )
        assert changes == [f"warning: {message}"]
        [event] = cluster.events
        assert (event["reason"], event["message"]) == ("AttachChanged", message)
    else:
        assert not changes
        assert not cluster.events
    if verdict.startswith("refused"):
        what = verdict.partition(": ")[2] or "the content"
        [failure] = run.failures
        assert str(failure) == (
            f"{what} of {NEW_KEY} does not match the hash in the name, so attach does not add "
            "owners. If a program needs the content, copy the content to a new ConfigMap. Delete "
            f"{NEW_KEY}, then apply the manifests again."
        )
        assert failure.is_severe
        assert not cluster.writes
    else:
        assert not run.problems
        assert cluster.owners(NEW_KEY) == ["Deployment/app", "ReplicaSet/app-2"]


@pytest.mark.parametrize("state", [True, False])
def test_a_revision_that_the_chart_makes_mutable(state: bool) -> None:
    """The hash covers the field. The API server permits a person to set it later."""
    content: Json = {"data": {"value": "x"}}
    name = revision_name("app", hashed_content(CONFIG_MAP, content, False))
    metadata = {**revision("x")["metadata"], "name": name, "uid": "1"}
    user = workload("Deployment/app", "bb", name)
    cluster = Cluster(
        user,
        workload("ReplicaSet/app-2", "bb", name, owner="Deployment/app"),
        obj("ConfigMap", name, metadata=metadata, **content, immutable=state),
    )
    run = Run(cluster, f"Deployment/app@bb=configmap/{name}")
    assert [text.partition(" of ")[0] for text in run.problems] == ["the field immutable"] * state


def test_binary_data_prove_themselves() -> None:
    """The manifest has line breaks, which the API server removes."""
    manifest: Json = {"data": {"a": "b"}, "binaryData": {"icon": "AAAA\nAAAA\n"}}
    name = revision_name("app", hashed_content(CONFIG_MAP, manifest, True))
    metadata = {**revision("x")["metadata"], "name": name, "uid": "1"}
    live: Json = {"data": {"a": "b"}, "binaryData": {"icon": "AAAAAAAA"}, "immutable": True}
    workloads = (
        workload("Deployment/app", "bb", name),
        workload("ReplicaSet/app-2", "bb", name, owner="Deployment/app"),
    )
    wanted = f"Deployment/app@bb=configmap/{name}"
    assert not Run(
        Cluster(*workloads, obj("ConfigMap", name, metadata=metadata, **live)), wanted
    ).problems
    live["binaryData"] = {"icon": "AAAAAAAB"}
    assert Run(
        Cluster(*workloads, obj("ConfigMap", name, metadata=metadata, **live)), wanted
    ).problems


def test_a_revision_that_no_workload_references_is_checked_too() -> None:
    """A custom resource can reference it. An original of the manifests has no hash in its name."""
    emitted = [f"configmap/{OLD_NAME}", "configmap/original"]
    labels = {"postrender/attach-group": GROUP}
    original = obj("ConfigMap", "original", metadata={"labels": labels})
    cluster = Cluster(*APPLIED, {**revision("old"), **OTHER}, original)
    run = Run(cluster, WANTED, emitted=emitted)
    assert [text.partition(", ")[0] for text in run.problems] == [
        f"the content of {OLD_KEY} does not match the hash in the name"
    ]
    assert not any(OLD_NAME in write for write in cluster.writes)
    assert not Run(Cluster(*APPLIED, revision("old"), original), WANTED, emitted=emitted).problems


SQUATS = squats(revision("old"))


@pytest.mark.parametrize("case", SQUATS)
def test_a_squatted_name_that_no_workload_uses_is_reported(case: str) -> None:
    squat, expected = SQUATS[case]
    cluster = Cluster(*APPLIED, squat)
    for _ in range(2):
        run = Run(cluster, WANTED, emitted=[f"configmap/{OLD_NAME}"])
        warnings = [line.partition(": ")[2] for line in run.log if line.startswith("warning")]
        texts = [*run.problems, *warnings]
        # An object that is being deleted can have two problems.
        assert any(expected in text for text in texts) if expected else not texts
        severe = [failure for failure in run.failures if failure.is_severe]
        assert [expected in str(failure) for failure in severe] == [True] * expected.startswith(
            "the "
        )
    if expected.startswith("the "):
        assert not any(OLD_NAME in write for write in cluster.writes)


def test_the_fix_for_a_squat_that_is_being_deleted_is_its_finalizer() -> None:
    for case, is_deleting in (("with all marks", False), ("being deleted, with other data", True)):
        run = Run(Cluster(*APPLIED, SQUATS[case][0]), WANTED, emitted=[f"configmap/{OLD_NAME}"])
        [problem] = [text for text in run.problems if "does not match the hash" in text]
        assert ("Delete ConfigMap/" in problem) != is_deleting
        assert ("Remove the finalizer from ConfigMap/" in problem) == is_deleting


@pytest.mark.parametrize("is_pod", [False, True])
def test_an_event_names_the_pod_of_the_attacher(
    monkeypatch: pytest.MonkeyPatch, is_pod: bool
) -> None:
    """The name of the Pod begins with that of its Job."""
    monkeypatch.setenv("HOSTNAME", "app-attach-1a2b3c4d5e-x7k2p")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    if is_pod:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    cluster = Cluster()
    client = cluster.client()
    record_event(client, NamedObject(DEPLOYMENTS, "app"), "", "Normal", "RevisionUnused", "x")
    [event] = cluster.events
    assert event.get("reportingInstance") == ("app-attach-1a2b3c4d5e-x7k2p" if is_pod else None)


def test_a_squat_in_a_release_without_workloads_is_a_failure() -> None:
    """A custom resource can read the revision. A webhook can have changed it: no severe failure."""
    squat, _ = SQUATS["with all marks"]
    [failure] = Run(Cluster(squat), emitted=[f"configmap/{OLD_NAME}"]).failures
    assert "does not match the hash" in failure.problem
    assert not failure.is_severe


def test_an_original_whose_name_ends_like_a_hash_is_not_a_squat() -> None:
    original = obj("ConfigMap", "app-bcdfghkmt2", data={"value": "of the chart"})
    made = revision("x", base="app-bcdfghkmt2")
    emitted = [f"configmap/{name_of(made)}", "configmap/app-bcdfghkmt2"]
    cluster = Cluster(*APPLIED, original, made)
    assert not Run(cluster, WANTED, emitted=emitted).problems


def test_a_secret_without_the_marks_of_a_revision_is_refused() -> None:
    """The content of a Secret is never read, so only the marks can show that it is foreign."""
    name = f"s-{NEW_NAME.rpartition('-')[2]}"
    workloads = (
        workload("Deployment/app", "bb", f"secret/{name}"),
        workload("ReplicaSet/app-2", "bb", f"secret/{name}", owner="Deployment/app"),
    )
    wanted = f"Deployment/app@bb=secret/{name}"
    assert not Run(Cluster(*workloads, secret(name)), wanted).problems
    cluster = Cluster(*workloads, obj("Secret", name))
    [failure] = Run(cluster, wanted).failures
    assert str(failure) == (
        f"Secret/{name} has the name of a revision, but no label postrender/attach-group or no "
        f"annotation postrender/base-name, so attach does not add owners. If a program needs "
        f"Secret/{name}, copy the content to a new Secret. Delete Secret/{name}, then apply the "
        "manifests again."
    )
    assert failure.is_severe
    assert not cluster.writes
    assert not any(request.startswith("get Secret") for request in cluster.requests)


def test_a_changed_config_map_is_decided_when_the_workload_exists() -> None:
    """The workload shows which tool applies the release. Helm creates a Rollout last."""
    changed = written(NEW, wrote("helm", BASE_NAME), **FIXED)
    cluster = Cluster(changed)
    run = Run(cluster, WANTED, timeout="1s")
    assert run.problems == [
        "Deployment/app does not exist. Check that the manifests contain Deployment/app, then "
        "apply the manifests again."
    ]
    assert not cluster.writes
    late = Cluster(changed)
    late.later(5, WRITTEN_DEPLOYMENT, NEW_SET)
    assert not Run(late, WANTED).problems
    assert late.owners(NEW_KEY) == ["Deployment/app", "ReplicaSet/app-2"]
    assert len(late.events) == 1


def test_the_event_about_a_changed_config_map_is_not_necessary() -> None:
    changed = written(NEW, wrote("helm", BASE_NAME), **FIXED)
    cluster = Cluster(WRITTEN_DEPLOYMENT, NEW_SET, changed)
    cluster.refused["create", "Event"] = 403
    run = Run(cluster, WANTED)
    assert not run.problems
    assert any(line.startswith("warning: an admission webhook changed") for line in run.log)


def test_without_a_group_the_content_is_not_checked() -> None:
    """The names can have the hashes of another tool."""
    foreign = {**revision("new", group=""), "data": {"value": "other"}, "immutable": True}
    cluster = Cluster(DEPLOYMENT, NEW_SET, foreign)
    assert not Run(cluster, WANTED, group="").problems
    assert cluster.owners(NEW_KEY) == ["Deployment/app", "ReplicaSet/app-2"]


def test_a_config_map_is_read_once_in_a_run() -> None:
    """Nobody can change an immutable object. Owners do not prove that an earlier run read it."""
    cluster = Cluster(DEPLOYMENT, NEW)
    cluster.later(40, NEW_SET)
    Run(cluster, WANTED)
    assert cluster.requests.count(f"get {NEW_KEY}") == 1
    Run(cluster, WANTED)
    assert cluster.requests.count(f"get {NEW_KEY}") == 2


def test_a_mutable_config_map_is_read_again_after_a_change() -> None:
    changed = written(MUTABLE, wrote("helm", BASE_NAME), wrote("kubectl-edit"), **OTHER)
    cluster = Cluster(WRITTEN_DEPLOYMENT, changed)
    cluster.later(40, NEW_SET, written(NEW, wrote("helm", BASE_NAME)))
    run = Run(cluster, WANTED)
    assert not run.problems
    assert cluster.requests.count(f"get {NEW_KEY}") > 1


def test_a_config_map_that_is_re_created_after_the_check_gets_no_owners() -> None:
    """Somebody replaces it between the comparison and the patch. Both patches are refused."""
    again = {**NEW, **OTHER, "metadata": {**NEW["metadata"], "uid": "again"}}
    cluster = Cluster(*APPLIED)
    cluster.before(f"patch {NEW_KEY}", again)
    run = Run(cluster, WANTED)
    assert cluster.owners(NEW_KEY) == []
    assert [text.partition(" (")[0] for text in run.problems] == [
        f"postrender cannot patch configmaps/{NEW_NAME} in namespace prod"
    ]


def test_a_config_map_that_is_re_created_during_the_run_is_read_again() -> None:
    again = {**NEW, **OTHER, "metadata": {**NEW["metadata"], "uid": "again"}}
    cluster = Cluster(DEPLOYMENT, NEW)
    cluster.later(40, NEW_SET, again)
    [failure] = Run(cluster, WANTED).failures
    assert failure.problem.startswith(f"the content of {NEW_KEY} does not match")


# Events: what attach did, after its Job and log are deleted.


def test_marks_and_deletions_are_events() -> None:
    """A workload has the Events of its base names, and the release owner has all others."""
    unmarked, others = revision("unmarked"), [revision("x", "other"), revision("y", "other")]
    cluster = Cluster(*APPLIED, OLD, unmarked, *others, obj("ServiceAccount", "app-attach"))
    run = Run(cluster, WANTED, release_owner="ServiceAccount/app-attach")
    assert not run.failures
    names = [f"ConfigMap/{name_of(data)}" for data in (unmarked, *others)]
    end = " as unused. A later run deletes what stays unused."
    assert events(cluster) == {
        ("Deployment/app", "RevisionUnused", f"attach marked {names[0]}{end}"),
        (
            "ServiceAccount/app-attach",
            "RevisionUnused",
            f"attach marked {' and '.join(sorted(names[1:]))}{end}",
        ),
        (
            "Deployment/app",
            "RevisionDeleted",
            f"attach deleted {OLD_KEY}, unused since {time_ago(30)}.",
        ),
    }
    number = len(cluster.events)
    assert not Run(cluster, WANTED, release_owner="ServiceAccount/app-attach").failures
    assert len(cluster.events) == number


def test_an_event_that_is_refused_does_not_stop_a_run() -> None:
    cluster = Cluster(*APPLIED, OLD)
    cluster.refused["create", "Event"] = 403
    run = Run(cluster, WANTED)
    assert not run.failures
    assert not kept(cluster)
    assert any("attach cannot create an Event: " in line for line in run.log)


def events(cluster: Cluster) -> set[tuple[str, str, str]]:
    """The object, the reason and the message of each Event."""
    return {
        (
            f"{data['involvedObject']['kind']}/{data['involvedObject']['name']}",
            data["reason"],
            data["message"],
        )
        for data in cluster.events
    }


# The attach group.


def test_the_group_is_a_label_or_the_name_in_render() -> None:
    for group in ("app", "app-attach"):
        cluster = Cluster(*APPLIED, OLD)
        assert not Run(cluster, WANTED, group=group).failures
        assert not kept(cluster)


def test_a_group_without_objects_is_a_failure() -> None:
    cluster = Cluster(*APPLIED)
    run = Run(cluster, group="missing", emitted=["configmap/none"])
    assert run.problems == [
        "the attach group missing-attach has no ConfigMap or Secret in the namespace prod. "
        "Check --group and --namespace."
    ]
