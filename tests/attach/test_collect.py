"""`postrender collect` against a cluster in memory: one pass for all groups with an inventory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any

import pytest

from postrender.attach.client import ApiError
from postrender.attach.collect import Pass
from postrender.errors import UserError
from postrender.kubernetes.attach_groups import inventory_data
from tests.attach.cluster import (
    GROUP,
    NAMESPACE,
    Cluster,
    Json,
    job,
    marked,
    name_of,
    obj,
    owner_of,
    revision,
    time_ago,
    workload,
)
from tests.attach.faulty import FAULTS, FaultyCluster, user
from tests.attach.squats import squats
from tests.effort import examples

APPLIED = {"postrender/applied": "external"}
DAY = timedelta(days=1)


def external(content: str, **fields: Any) -> Json:
    """Return a revision of a release with an inventory."""
    annotations = {**APPLIED, **fields.pop("annotations", {})}
    return revision(content, annotations=annotations, **fields)


def inventory(
    *workloads: str, group: str = GROUP, label: str = "", more: Iterable[str] = ()
) -> Json:
    arguments = ["--group", group]
    for text in workloads:
        arguments += ["--workload", text]
    arguments += ["--release-owner", f"ConfigMap/{group}-inventory", *more]
    labels = {"postrender/inventory": label or group}
    data = inventory_data(arguments)
    return obj("ConfigMap", f"{group}-inventory", metadata={"labels": labels}, data=data)


NEW, OLD = external("new"), external("old")
OLD_MARKED = revision("old", annotations=marked(30))
NEW_NAME, OLD_NAME = name_of(NEW), name_of(OLD)
NEW_KEY, OLD_KEY = f"ConfigMap/{NEW_NAME}", f"ConfigMap/{OLD_NAME}"
OWNER = f"ConfigMap/{GROUP}-inventory"
WANTED = f"Deployment/app@bb=configmap/{NEW_NAME}"
WANTED_OLD = f"Deployment/app@aa=configmap/{OLD_NAME}"
INVENTORY, OLD_INVENTORY = inventory(WANTED), inventory(WANTED_OLD)
DEPLOYMENT = workload("Deployment/app", "bb", NEW_NAME)
NEW_SET = workload("ReplicaSet/app-2", "bb", NEW_NAME, owner="Deployment/app")
OLD_SET = workload("ReplicaSet/app-1", "aa", OLD_NAME, owner="Deployment/app")
RELEASE = (DEPLOYMENT, NEW_SET, NEW, INVENTORY)


def created(data: Json, days: float, **labels: str) -> Json:
    metadata = {**data["metadata"], "creationTimestamp": time_ago(days * 24 * 60)}
    return {**data, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), **labels}}}


CREATED = created(OLD, 3)


def collect(
    cluster: Cluster,
    *,
    is_dry: bool = False,
    older_than: timedelta | None = None,
    namespace: str = NAMESPACE,
) -> Pass:
    with cluster.clock():
        run = Pass(
            lambda place: cluster.client(namespace=place), namespace, older_than, is_dry=is_dry
        )
        run.run()
    return run


def changes(cluster: Cluster) -> list[str]:
    """Return the writes since the last call."""
    writes = cluster.writes
    cluster.requests.clear()
    return writes


# What a pass does


@pytest.mark.parametrize("namespace", [NAMESPACE, ""])
def test_a_pass_does_what_attach_does(namespace: str) -> None:
    cluster = Cluster(*RELEASE, OLD)
    run = collect(cluster, namespace=namespace)
    assert cluster.owners(NEW_KEY) == [OWNER, "Deployment/app", "ReplicaSet/app-2"]
    assert cluster.mark(OLD_KEY) == time_ago(0)
    assert "postrender/applied" not in cluster.objects[OLD_KEY]["metadata"]["annotations"]
    assert f"namespace prod: collect marked the unused {OLD_KEY}" in run.lines
    assert [event["reason"] for event in cluster.events] == ["RevisionUnused"]
    changes(cluster)
    cluster.sleep(11 * 60)
    run = collect(cluster, namespace=namespace)
    assert changes(cluster) == [f"delete {OLD_KEY}"]
    assert cluster.events[-1]["reason"] == "RevisionDeleted"
    assert cluster.events[-1]["involvedObject"]["name"] == "app"
    assert run.lines == [
        f"namespace prod: collect deleted {OLD_KEY}, which has been unused since {time_ago(0)}"
    ]
    assert not run.problems
    assert not collect(cluster, namespace=namespace).lines
    assert not changes(cluster)


def test_a_dry_run_reports_and_changes_nothing() -> None:
    cluster = Cluster(*RELEASE, OLD_MARKED, external("older"))
    run = collect(cluster, is_dry=True)
    assert not cluster.writes
    assert not cluster.events
    assert sorted(run.lines) == [
        f"namespace prod: collect would add owners to {NEW_KEY}: Deployment/app, "
        f"ReplicaSet/app-2, {OWNER}",
        f"namespace prod: collect would add owners to {name_key('older')}: Deployment/app, {OWNER}",
        f"namespace prod: collect would add owners to {OLD_KEY}: Deployment/app, {OWNER}",
        f"namespace prod: collect would delete {OLD_KEY}, which has been unused since "
        f"{time_ago(30)}",
        f"namespace prod: collect would mark the unused {name_key('older')}",
    ]


def name_key(content: str) -> str:
    return f"ConfigMap/{name_of(external(content))}"


def test_a_revision_in_use_stays_and_loses_its_mark() -> None:
    cluster = Cluster(*RELEASE, OLD_MARKED, OLD_SET)
    collect(cluster)
    assert cluster.mark(OLD_KEY) is None
    assert cluster.owners(OLD_KEY) == [OWNER, "Deployment/app", "ReplicaSet/app-1"]


def test_an_edited_revision_stays() -> None:
    edited = {**OLD_MARKED, "data": {"value": "edited"}}
    cluster = Cluster(*RELEASE, edited)
    assert "content does not match" in "".join(collect(cluster).lines)
    assert OLD_NAME in cluster.names("ConfigMap")


def test_an_adopted_original_is_owned_by_its_users_only() -> None:
    labels = {"postrender/attach-group": GROUP}
    original = obj("ConfigMap", "app", metadata={"labels": labels}, data={})
    cluster = Cluster(*RELEASE, original, workload("ReplicaSet/app-0", "", "app"))
    cluster.objects["ReplicaSet/app-0"]["metadata"]["ownerReferences"] = [
        owner_of("Deployment/app", controller=True)
    ]
    collect(cluster)
    assert cluster.owners("ConfigMap/app") == ["Deployment/app", "ReplicaSet/app-0"]
    cluster.remove("ReplicaSet/app-0")
    collect(cluster)
    assert cluster.mark("ConfigMap/app") == time_ago(0)
    cluster.sleep(700)
    collect(cluster)
    assert "app" not in cluster.names("ConfigMap")


def test_the_annotation_stops_deletions_and_its_removal_starts_them_again() -> None:
    cluster = Cluster(*RELEASE, OLD_MARKED)
    annotations = cluster.objects[OLD_KEY]["metadata"]["annotations"]
    annotations["postrender/prune"] = "false"
    for is_dry in (True, False):
        assert 'annotation postrender/prune is "false"' in "".join(
            collect(cluster, is_dry=is_dry).lines
        )
        assert OLD_NAME in cluster.names("ConfigMap")
    del cluster.objects[OLD_KEY]["metadata"]["annotations"]["postrender/prune"]
    collect(cluster)
    assert OLD_NAME not in cluster.names("ConfigMap")


def test_a_retained_revision_that_nothing_uses_stays() -> None:
    retained = inventory(WANTED, more=["--emitted", f"configmap/{OLD_NAME}"])
    cluster = Cluster(*RELEASE, OLD_MARKED, retained)
    collect(cluster)
    assert (cluster.owners(OLD_KEY), cluster.mark(OLD_KEY)) == ([OWNER, "Deployment/app"], None)


def test_an_unused_revision_outlives_its_inventory() -> None:
    """A release with a Job uses the revision again, and deletes the inventory before the Job runs.

    The release owner was the only owner, so Kubernetes deleted the revision in use.
    """
    cluster = Cluster(*RELEASE, OLD)
    collect(cluster)
    assert cluster.owners(OLD_KEY) == [OWNER, "Deployment/app"]


def test_without_prune_nothing_is_marked_or_deleted() -> None:
    cluster = Cluster(*RELEASE[:3], inventory(WANTED, more=["--no-prune"]), OLD_MARKED)
    cluster.add(external("older"))
    collect(cluster)
    assert (OLD_NAME in cluster.names("ConfigMap"), cluster.mark(name_key("older"))) == (True, None)


def test_secrets_are_listed_only_if_an_inventory_names_one() -> None:
    cluster = Cluster(*RELEASE)
    collect(cluster)
    assert "list Secret" not in cluster.requests
    secret = obj(
        "Secret",
        "app-bcdfghkmt2",
        metadata={
            "labels": {"postrender/attach-group": GROUP},
            "annotations": {**APPLIED, "postrender/base-name": "app"},
        },
    )
    cluster.add(secret, inventory(WANTED, more=["--emitted", "secret/app-bcdfghkmt2"]))
    collect(cluster)
    assert cluster.owners("Secret/app-bcdfghkmt2") == [OWNER]
    cluster.refused["list", "Secret"] = 403
    assert "cannot list secrets" in str(collect(cluster).problems[0])


def many(count: int) -> Iterator[Json]:
    for number in range(count):
        new = revision(f"{number}", base=f"app-{number}", group=f"g-{number}", annotations=APPLIED)
        name = f"app-{number}"
        yield new
        yield workload(f"Deployment/{name}", "bb", name_of(new))
        yield workload(f"ReplicaSet/{name}-2", "bb", name_of(new), owner=f"Deployment/{name}")
        yield inventory(f"Deployment/{name}@bb=configmap/{name_of(new)}", group=f"g-{number}")


def test_a_pass_lists_each_kind_once_for_any_number_of_groups() -> None:
    numbers = []
    for count in (1, 30):
        cluster = Cluster(*many(count))
        run = collect(cluster)
        assert (len(run.lines), run.problems) == (count, [])
        cluster.requests.clear()
        collect(cluster)
        # Only its content proves a ConfigMap, because everybody can write its owners.
        reads = [text for text in cluster.requests if text.startswith("get ConfigMap/app-")]
        assert len(reads) == len(set(reads)) == count
        numbers.append(len(cluster.requests) - count)
        lists = [text for text in cluster.requests if text != "list ConfigMap"]
        assert len(lists) == len(set(lists))
    assert numbers[0] == numbers[1]


# What an apply that is under way prevents


UNDER_WAY: dict[str, tuple[Json, ...]] = {
    "the workload has another render ID": (
        workload("Deployment/app", "aa", NEW_NAME),
        NEW_SET,
        NEW,
    ),
    "the workload does not exist": (NEW,),
    "the workload has no ReplicaSet": (DEPLOYMENT, NEW),
    "the revision does not exist": (DEPLOYMENT, NEW_SET),
}


@pytest.mark.parametrize("case", UNDER_WAY)
def test_while_an_apply_is_under_way_nothing_is_deleted(case: str) -> None:
    cluster = Cluster(*UNDER_WAY[case], INVENTORY, OLD_MARKED, external("older"))
    run = collect(cluster)
    assert "an apply may be under way" in "".join(run.lines)
    assert OLD_NAME in cluster.names("ConfigMap")
    assert cluster.mark(name_key("older")) is None


def test_what_another_inventory_names_stays() -> None:
    other = inventory(f"Deployment/x@cc=configmap/{OLD_NAME}", group="other")
    cluster = Cluster(*RELEASE, OLD_MARKED, external("older"), other)
    collect(cluster)
    assert OLD_NAME in cluster.names("ConfigMap")
    assert cluster.mark(name_key("older")) == time_ago(0)


def test_the_inventory_of_a_group_decides_about_its_revisions() -> None:
    """Another release can have the same base names, and each release its own switch."""
    kept = external("kept", group="other", annotations=marked(30))
    unmarked = external("unmarked", group="other")
    other = inventory(f"Deployment/x@cc=configmap/{NEW_NAME}", group="other", more=["--no-prune"])
    used = workload("Deployment/x", "cc", NEW_NAME)
    history = workload("ReplicaSet/x-1", "cc", NEW_NAME, owner="Deployment/x")
    cluster = Cluster(*RELEASE, kept, unmarked, other, used, history)
    collect(cluster)
    assert name_of(kept) in cluster.names("ConfigMap")
    # An apply may be about to use it, so the inventory does not become its only owner.
    assert f"patch ConfigMap/{name_of(unmarked)}" not in cluster.writes
    assert cluster.mark(f"ConfigMap/{name_of(unmarked)}") is None


def test_the_new_revision_of_a_release_with_equal_base_names_is_left_alone() -> None:
    """Its own attacher has not run. With this release as its only owner, it would go with it."""
    new, used = (revision(text, group="other") for text in ("another", "used"))
    cluster = Cluster(*RELEASE, new)
    collect(cluster)
    assert cluster.owners(f"ConfigMap/{name_of(new)}") == []
    alive = workload("Deployment/x", "cc", name_of(used))
    cluster = Cluster(*RELEASE, new, used, alive)
    collect(cluster)
    assert not [text for text in cluster.writes if name_of(new) in text]


def test_a_revision_that_was_applied_after_the_mark_stays() -> None:
    applied = external("old", annotations=marked(30))
    cluster = Cluster(*RELEASE, applied)
    run = collect(cluster)
    assert "somebody has applied the revision again" in "".join(run.lines)
    assert cluster.mark(OLD_KEY) == time_ago(0)
    cluster.sleep(11 * 60)
    collect(cluster)
    assert OLD_NAME not in cluster.names("ConfigMap")


def apply(cluster: Cluster, manifest: Json) -> None:
    """Write what a tool writes: nothing, if the live object has all values of the manifest."""
    live = cluster.objects.get(f"ConfigMap/{name_of(manifest)}")
    if live is None:
        cluster.add(manifest)
        return
    metadata = {
        field: {**live["metadata"].get(field, {}), **manifest["metadata"].get(field, {})}
        for field in ("labels", "annotations")
    }
    wanted = {**live, "data": manifest["data"], "metadata": {**live["metadata"], **metadata}}
    if wanted != live:
        cluster.add(wanted)


class StepCluster(Cluster):
    """Runs steps of an apply, each right before the request with its number."""

    def __init__(self, *objects: Json) -> None:
        super().__init__(*objects)
        self.count = 0
        self.steps: list[tuple[int, Callable[[], object]]] = []

    def _answer(self, request: Any) -> Any:
        self.count += 1
        while self.steps and self.steps[0][0] <= self.count:
            self.steps.pop(0)[1]()
        return super()._answer(request)


def revert(seed: int, *, has_inventory: bool = True) -> bool:
    """Revert to the old revision during several passes; return whether the revision is lost."""
    random = Random(seed)
    cluster = StepCluster(*RELEASE, OLD)
    back = (workload("Deployment/app", "aa", OLD_NAME), OLD_SET)
    steps: list[Callable[[], None]] = [
        lambda: apply(cluster, OLD_INVENTORY),
        lambda: apply(cluster, OLD),
        lambda: cluster.add(*back),
    ]
    # The first step is at any request of the passes 1 to 3, and the others follow at once, in the
    # same pass, or hours later.
    at = random.randrange(1, 75)
    for number, step in enumerate(steps):
        if has_inventory or number:
            cluster.steps.append((at, step))
        at += random.choice([0, 0, 1, random.randrange(20), random.randrange(150)])
    passes = 6  # after the last step
    while passes:
        passes -= not cluster.steps
        collect(cluster)
        cluster.sleep(random.choice([60, 660, 3600]))
    return OLD_NAME not in cluster.names("ConfigMap")


def test_a_revert_during_a_pass_does_not_lose_its_revision() -> None:
    seeds = range(examples(100))
    assert not [seed for seed in seeds if revert(seed)]
    assert any(revert(seed, has_inventory=False) for seed in range(100))


def revert_without_inventory(seed: int, manifest: Json, *world: Json) -> bool:
    """Return to a release without an inventory, and return whether its revision is lost.

    The workload follows within GRACE after its revision, as in a rollback of Helm.
    """
    random = Random(seed)
    cluster = StepCluster(*world)
    at = random.randrange(1, 75)
    steps: list[Callable[[], object]] = [
        lambda: apply(cluster, manifest),
        lambda: cluster.add(workload("Deployment/app", "aa", OLD_NAME), OLD_SET),
        lambda: cluster.objects.pop(OWNER, None),
    ]
    for step in steps:
        cluster.steps.append((at, step))
        at += random.choice([0, 1, random.randrange(30)])
    passes = 6
    while passes:
        passes -= not cluster.steps
        collect(cluster, older_than=timedelta(0))
        is_between = 0 < len(cluster.steps) < len(steps)
        cluster.sleep(60 if is_between else random.choice([60, 660, 3600]))
    return OLD_NAME not in cluster.names("ConfigMap")


@pytest.mark.parametrize(
    "world",
    [(*RELEASE, OLD), (DEPLOYMENT, NEW_SET, NEW, CREATED)],
    ids=["a rollback to a release with a Job", "a release without an attacher"],
)
def test_a_revert_without_an_inventory_does_not_lose_its_revision(world: tuple[Json, ...]) -> None:
    seeds = range(examples(100))
    assert not [seed for seed in seeds if revert_without_inventory(seed, OLD, *world)]
    # Without the annotation postrender/applied, nobody would see the apply.
    unnoticed = revision("old")
    assert any(revert_without_inventory(seed, unnoticed, *world) for seed in range(100))


# The Job of a release that uses the old revision again.
OF_A_JOB = revision("old", annotations={"postrender/applied": "true"})
OLD_JOB = job("app-attach-1", 0, "attach", "--group", GROUP, "--workload", WANTED_OLD)


def slow_revert(
    seed: int,
    older_than: timedelta,
    *world: Json,
    with_job: Json | None = None,
    manifest: Json = OLD,
) -> bool:
    """As revert_without_inventory, but the workload follows hours after the revision.

    with_job: the Job that the tool creates within GRACE after the revision.
    """
    random = Random(seed)
    cluster = StepCluster(*world)
    at = random.randrange(1, 75)
    steps: list[Callable[[], object]] = [
        lambda: apply(cluster, manifest),
        lambda: cluster.add(*([with_job] if with_job else ())),
        lambda: cluster.add(workload("Deployment/app", "aa", OLD_NAME), OLD_SET),
        lambda: cluster.objects.pop(OWNER, None),
    ]
    for step, delay in zip(
        steps, (0, random.randrange(30), random.randrange(100, 400), 0), strict=True
    ):
        at += delay
        cluster.steps.append((at, step))
    begun = -1.0
    passes = 6
    while passes:
        passes -= not cluster.steps
        collect(cluster, older_than=older_than)
        if begun < 0 and len(cluster.steps) < len(steps):
            begun = cluster.seconds
        is_first_part = len(cluster.steps) == len(steps) - 1
        is_late = begun >= 0 and cluster.seconds - begun > 20 * 3600
        cluster.sleep(60 if is_first_part or is_late else random.choice([60, 660, 3600]))
    return OLD_NAME not in cluster.names("ConfigMap")


def test_what_the_job_of_an_apply_names_stays_until_its_workload_follows() -> None:
    """A rollback from an inventory to a Job, with a workload in a late sync wave."""
    world = (*RELEASE, OLD)
    seeds = range(examples(100))
    no_time = timedelta(0)
    assert not [seed for seed in seeds if slow_revert(seed, no_time, *world, with_job=OLD_JOB)]
    assert any(slow_revert(seed, no_time, *world) for seed in range(100))


@pytest.mark.parametrize("live", [OLD, OF_A_JOB], ids=["last applied by an inventory", "by a Job"])
def test_a_rollback_to_a_job_in_a_late_sync_wave(live: Json) -> None:
    """The revision comes hours before its Job, and the apply of an unmarked one changes nothing."""
    world = (*RELEASE, live)
    seeds = range(examples(100))
    assert not [seed for seed in seeds if slow_revert(seed, DAY, *world, manifest=OF_A_JOB)]
    # Without the rollback, only what an inventory applied is marked.
    cluster = Cluster(*world)
    collect(cluster)
    assert (cluster.mark(OLD_KEY) is None) == (live is OF_A_JOB)


def test_without_the_annotation_of_its_job_a_revision_is_collected() -> None:
    """Nobody can see that the apply of a Job's revision has begun, so a person has to say it."""
    cluster = Cluster(*RELEASE, OF_A_JOB)
    collect(cluster)
    assert cluster.mark(OLD_KEY) is None
    del cluster.objects[OLD_KEY]["metadata"]["annotations"]["postrender/applied"]
    collect(cluster)
    cluster.sleep(700)
    apply(cluster, OF_A_JOB)  # a rollback to the Job, which began after the mark, is seen
    collect(cluster)
    assert OLD_NAME in cluster.names("ConfigMap")
    del cluster.objects[OLD_KEY]["metadata"]["annotations"]["postrender/applied"]
    cluster.sleep(700)
    collect(cluster)
    assert OLD_NAME not in cluster.names("ConfigMap")


def test_what_is_applied_while_a_pass_marks_it_stays_unmarked() -> None:
    cluster = Cluster(*RELEASE, OLD)
    cluster.before(f"patch {OLD_KEY}", OF_A_JOB)
    run = collect(cluster)
    assert not run.problems
    assert cluster.mark(OLD_KEY) is None
    assert cluster.requests.count(f"patch {OLD_KEY}") == 1


def test_older_than_is_the_time_for_the_workload_of_a_release_without_an_attacher() -> None:
    world = (DEPLOYMENT, NEW_SET, NEW, CREATED)
    seeds = range(examples(100))
    assert not [seed for seed in seeds if slow_revert(seed, DAY, *world)]
    assert any(slow_revert(seed, timedelta(0), *world) for seed in range(100))


def test_a_job_of_a_later_version_protects_what_it_names() -> None:
    later = job("app-attach-1", 0, "attach", "--future", f"x=configmap/{OLD_NAME}")
    cluster = Cluster(*RELEASE, OLD_MARKED, later)
    collect(cluster)
    assert OLD_NAME in cluster.names("ConfigMap")
    cluster.remove("Job/app-attach-1")
    collect(cluster)
    assert OLD_NAME not in cluster.names("ConfigMap")


@pytest.mark.parametrize("is_noticed", [True, False])
def test_a_revert_right_before_the_deletion(is_noticed: bool) -> None:
    """Without the annotation postrender/applied, nobody would see that the tool uses it again."""
    manifest = OLD if is_noticed else revision("old")
    cluster = Cluster(*RELEASE, OLD_MARKED)

    def again() -> None:
        apply(cluster, OLD_INVENTORY)
        apply(cluster, manifest)

    cluster._before[f"delete {OLD_KEY}"] = again
    collect(cluster)
    assert (OLD_NAME in cluster.names("ConfigMap")) == is_noticed


def test_a_consumer_of_a_deleted_revision_is_a_problem() -> None:
    """A person creates a Pod in the moment of the deletion, which changes no ConfigMap."""
    cluster = Cluster(*RELEASE, OLD_MARKED)
    cluster.before(f"delete {OLD_KEY}", user("Pod", "debug", OLD_NAME))
    [problem] = collect(cluster).problems
    assert str(problem) == (
        f"collect deleted {OLD_KEY} in namespace prod, but Pod/debug now references {OLD_KEY}. "
        f"Apply the manifests that contain {OLD_KEY}."
    )


# Inventories that are missing, older, foreign or unreadable


def test_without_an_inventory_nothing_is_deleted() -> None:
    cluster = Cluster(*RELEASE[:3], OLD_MARKED, external("older"))
    run = collect(cluster)
    assert not cluster.writes
    assert (
        f"collect keeps the unused {OLD_KEY}, because the attach group {GROUP} has no"
        in "".join(run.lines)
    )


@pytest.mark.parametrize(
    "inventories",
    [
        (),
        (OLD_INVENTORY,),
        (inventory(),),
        (inventory(label="other"),),
        (obj("ConfigMap", "x", metadata={"labels": {"postrender/inventory": GROUP}}),),
        (inventory(more=["--later-option", "x"]),),
        ({**INVENTORY, "data": {"arguments": "--workload nonsense\n"}},),
        ({**INVENTORY, "data": {}},),
    ],
)
def test_no_inventory_leads_to_a_deletion_of_a_revision_in_use(
    inventories: tuple[Json, ...],
) -> None:
    in_use = revision("new", annotations=marked(60))
    pod = user("Pod", "debug", OLD_NAME)
    cluster = Cluster(DEPLOYMENT, NEW_SET, in_use, OLD_MARKED, pod, *inventories)
    for _ in range(4):
        collect(cluster, older_than=timedelta(0))
        cluster.sleep(3600)
    assert {NEW_NAME, OLD_NAME} <= set(cluster.names("ConfigMap"))


@pytest.mark.parametrize(
    "data",
    [{}, {"arguments": "--workload nonsense\n"}, {"arguments": f"--group {GROUP}\n--future x\n"}],
)
def test_an_inventory_that_this_version_cannot_read_stops_all_deletions(data: Json) -> None:
    unreadable = {**inventory(group="other"), "data": data}
    cluster = Cluster(*RELEASE, OLD_MARKED, external("older"), unreadable)
    run = collect(cluster, older_than=timedelta(0))
    assert "collect cannot read ConfigMap/other-inventory" in str(run.problems[0])
    assert OLD_NAME in cluster.names("ConfigMap")
    assert cluster.mark(name_key("older")) is None
    assert OWNER in cluster.owners(NEW_KEY)


def test_a_foreign_config_map_under_the_name_of_a_revision_gets_no_owner() -> None:
    foreign = {**NEW, "data": {"value": "foreign"}}
    cluster = Cluster(DEPLOYMENT, NEW_SET, INVENTORY, foreign)
    run = collect(cluster)
    assert "does not match the hash" in str(run.problems[0])
    assert not cluster.owners(NEW_KEY)


SQUATS = squats(OLD)


@pytest.mark.parametrize("case", SQUATS)
def test_a_squatted_name_that_no_workload_uses_is_reported(case: str) -> None:
    squat, expected = SQUATS[case]
    names = inventory(WANTED, more=["--emitted", f"configmap/{OLD_NAME}"])
    cluster = Cluster(DEPLOYMENT, NEW_SET, NEW, names, squat)
    for _ in range(2):
        run = collect(cluster)
        texts = [
            *map(str, run.problems),
            *(line for line in run.lines if "collect added" not in line),
        ]
        # An object that is being deleted can have two problems.
        assert any(expected in text for text in texts) if expected else not texts
        assert bool(run.problems) == expected.startswith("the ")
    if expected.startswith("the "):
        assert OWNER not in cluster.owners(OLD_KEY)


# Failures


@pytest.mark.parametrize("kind", ["Pod", "ReplicaSet", "Rollout", "ConfigMap"])
def test_a_list_that_fails_never_means_that_nothing_uses_a_revision(kind: str) -> None:
    cluster = Cluster(*RELEASE, OLD_MARKED, user("Pod", "debug", OLD_NAME))
    for status in (403, 500):
        cluster.refused["list", kind] = status
        with suppress(ApiError):
            assert collect(cluster, older_than=timedelta(0)).problems
        assert OLD_NAME in cluster.names("ConfigMap")
        assert not any("delete" in text for text in cluster.writes)


@pytest.mark.parametrize("request_before", [f"patch {NEW_KEY}", f"delete {OLD_KEY}"])
def test_a_permission_that_somebody_removes_in_the_middle_is_a_problem(request_before: str) -> None:
    """A pass reads everything before the deletion, and again after the deletion."""
    cluster = Cluster(*RELEASE, OLD_MARKED)
    cluster._after[request_before] = partial(cluster.refused.update, {("list", "Pod"): 403})
    run = collect(cluster)
    assert [str(problem) for problem in run.problems] == [
        "postrender cannot list pods (HTTP status 403), so collect does not delete. Compare the "
        "permissions with the output of `postrender config collector`."
    ]
    assert (OLD_NAME in cluster.names("ConfigMap")) == request_before.startswith("patch")


@pytest.mark.parametrize("fault", FAULTS)
def test_wrong_answers_do_not_lose_a_revision(fault: str) -> None:
    for seed in range(examples(24)):
        random = Random(seed)
        cluster = FaultyCluster(
            random,
            lambda *_, random=random: fault if random.randrange(2) else "",
            *RELEASE,
            OLD_MARKED,
        )
        cluster.add(user("Pod", "a", OLD_NAME), user("Pod", "b", "x"))
        with suppress(UserError):
            collect(cluster)
        assert {OLD_NAME, NEW_NAME} <= set(cluster.names("ConfigMap"))


class KilledError(BaseException):
    """The process was killed."""


def after_a_kill(
    world: Iterable[Json], number: int, run: Callable[[Cluster], object]
) -> StepCluster:
    """Return what a run leaves of a cluster, if it is killed right before one of its requests."""
    cluster = StepCluster(*world)

    def kill() -> None:
        raise KilledError

    cluster.steps.append((number, kill))
    with pytest.raises(KilledError):
        run(cluster)
    return cluster


def test_a_pass_can_be_killed_after_every_request() -> None:
    world = (*RELEASE, OLD_MARKED, external("older"), *many(2))
    whole = StepCluster(*world)
    collect(whole)
    for number in range(1, whole.count + 1):
        cluster = after_a_kill(world, number, collect)
        collect(cluster)
        cluster.sleep(700)
        collect(cluster)
        assert cluster.names("ConfigMap") == sorted(
            set(whole.names("ConfigMap")) - {name_of(external("older"))}
        )
        assert cluster.owners(NEW_KEY) == whole.owners(NEW_KEY)


def finish(cluster: Cluster) -> None:
    assert not collect(cluster).problems


def test_two_passes_at_once() -> None:
    world = (*RELEASE, OLD_MARKED, external("older"), *many(2))
    whole = StepCluster(*world)
    collect(whole)
    for number in range(1, whole.count + 1):
        cluster = StepCluster(*world)
        cluster.steps.append((number, partial(finish, cluster)))
        assert not collect(cluster).problems
        assert cluster.names("ConfigMap") == whole.names("ConfigMap")
        assert cluster.owners(NEW_KEY) == whole.owners(NEW_KEY)


# Leftovers


def test_what_an_uninstall_leaves_is_deleted_with_older_than() -> None:
    left = created(external("old"), 3)
    cluster = Cluster(left)
    assert "has no inventory, but --older-than is not set (3d old)" in collect(cluster).lines[0]
    assert "--older-than is not reached" in collect(cluster, older_than=4 * DAY).lines[0]
    assert not changes(cluster)
    collect(cluster, older_than=DAY)
    assert changes(cluster) == [f"patch {OLD_KEY}"]
    apply(cluster, left)  # somebody installs the release again
    cluster.sleep(700)
    collect(cluster, older_than=DAY)
    assert changes(cluster) == [f"patch {OLD_KEY}"]
    cluster.sleep(700)
    assert "the mark (11m ago)" in collect(cluster, older_than=DAY).lines[0]
    assert not changes(cluster)
    cluster.sleep(DAY.total_seconds())
    collect(cluster, older_than=DAY)
    assert changes(cluster) == [f"delete {OLD_KEY}"]


def test_revisions_with_an_owner_are_left_to_their_attacher() -> None:
    cluster = Cluster(
        created(revision("old", annotations=marked(60), owners=["ServiceAccount/app-attach"]), 9)
    )
    assert not collect(cluster, older_than=timedelta(0)).lines
    assert not cluster.writes


def other_tool(content: str, days: float, **labels: str) -> Json:
    data = revision(content, base="settings", group="")
    del data["metadata"]["annotations"]
    return created(data, days, **labels)


RELEASED = {"postrender/collect": "true"}


def test_hashed_config_maps_of_other_tools_need_a_label_and_an_age() -> None:
    flux = other_tool("flux", 40, **{"kustomize.toolkit.fluxcd.io/name": "apps"})
    used, owned = other_tool("used", 40, **RELEASED), other_tool("owned", 40, **RELEASED)
    owned["metadata"]["ownerReferences"] = [owner_of("Deployment/app")]
    young, old = other_tool("young", 1, **RELEASED), other_tool("old", 40, **RELEASED)
    edited = {**other_tool("edited", 40, **RELEASED), "data": {"value": "changed"}}
    plain = created(obj("ConfigMap", "settings", data={}), 40, **RELEASED)
    timoni, no_hash = (
        created(obj("ConfigMap", name, data={}), 40, **{"app.kubernetes.io/managed-by": "timoni"})
        for name in ("app-0a1b2c3d", "app-settings")
    )
    pod = user("Pod", "a", name_of(used))
    stopped = other_tool("stopped", 40, **RELEASED)
    stopped["metadata"]["annotations"] = {"postrender/prune": "false"}
    cluster = Cluster(flux, used, owned, young, old, edited, plain, timoni, no_hash, pod, stopped)
    run = collect(cluster)
    assert not cluster.writes
    assert len(run.lines) == 6
    assert "app-0a1b2c3d, because timoni created it, and the label" in "".join(run.lines)
    assert (
        f"namespace prod: collect keeps the unused ConfigMap/{name_of(flux)}, because Flux created "
        "it, and the label postrender/collect is not true (40d old)"
    ) in run.lines
    run = collect(cluster, older_than=30 * DAY)
    assert cluster.writes == [f"delete ConfigMap/{name_of(old)}"]
    reasons = "\n".join(run.lines)
    assert f"{name_of(young)}, because --older-than is not reached (24h old)" in reasons
    assert f"{name_of(edited)}, because the content does not match" in reasons
    assert f"{name_of(stopped)}, because the annotation postrender/prune" in reasons
    cluster.refused["list", "Pod"] = 403
    cluster.add(old)
    collect(cluster, older_than=30 * DAY)
    assert len(cluster.writes) == 1
