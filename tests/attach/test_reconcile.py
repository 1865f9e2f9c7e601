"""Tests of `reconcile`: small examples, then a comparison with a naive implementation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postrender.attach.live import Consumer, Owner, Revision
from postrender.attach.reconcile import (
    GRACE,
    Patch,
    RunState,
    controller_chain,
    find_related,
    find_unused,
    pin,
    reconcile,
)
from postrender.attach.request import BY_KIND, CONFIG_MAPS, CONTROLLER_MADE_KINDS, PODS, RevisionRef

SECOND = timedelta(seconds=1)
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=timezone.utc)
GROUP = "app-rollout-attach"
WORKLOADS = frozenset({"Rollout/app", "Rollout/0"})
FOREIGN = Owner(api_version="example.com/v1", kind="Widget", name="widget", uid="widget-uid")
ACCOUNT = Owner(api_version="v1", kind="ServiceAccount", name="app-attach", uid="account-uid")
OTHER_ACCOUNT = ACCOUNT._replace(name="other-attach", uid="other-account-uid")


def time(ago: timedelta) -> str:
    return (NOW - ago).strftime("%Y-%m-%dT%H:%M:%SZ")


def consumer(text: str, *names: str, controller: str = "", is_deleting: bool = False) -> Consumer:
    """Return the consumer `Kind/name`, which references ConfigMaps. The uid is also `Kind/name`."""
    kind, _, name = text.partition("/")
    resource = BY_KIND[kind]
    return Consumer(
        resource=resource,
        name=name,
        uid=text,
        controller=controller,
        is_deleting=is_deleting,
        references=frozenset(("configmap", name) for name in names),
        render_id="",
    )


def revision(
    name: str,
    owners: Iterable[Consumer | Owner] = (),
    *,
    ours: bool = True,
    unused_since: str | None = None,
    is_sweepable: bool = True,
    group_name: str = GROUP,
) -> Revision:
    entries = tuple(item.owner if isinstance(item, Consumer) else item for item in owners)
    uids = {owner.uid for owner in entries if owner != FOREIGN} if ours else set()
    return Revision(
        resource=CONFIG_MAPS,
        name=name,
        uid=f"{name}-uid",
        resource_version="1",
        group_name=group_name,
        base_name=name.rpartition("-")[0],
        keep_annotations=() if is_sweepable else ("postrender/sweep",),
        is_deleting=False,
        owners=entries,
        our_owners=frozenset(uids),
        proven_owners=frozenset(uids),
        unused_since=unused_since,
    )


def state_of(
    revisions: Iterable[Revision],
    *consumers: Consumer,
    unreadable: Iterable[str] = (),
    release_owner: Owner | None = None,
) -> RunState:
    return RunState(
        revisions=tuple(revisions),
        consumers={item.uid: item for item in consumers},
        unreadable=frozenset(BY_KIND[kind] for kind in unreadable),
        release_owner=release_owner,
        group_name=GROUP,
        workloads=WORKLOADS,
    )


def with_stream(state: RunState, names: Iterable[str]) -> RunState:
    return state._replace(in_stream=frozenset(("configmap", name) for name in names))


def changes(state: RunState, in_stream: Iterable[str] = ()) -> list[Patch]:
    return reconcile(with_stream(state, in_stream), NOW)


ROLLOUT = consumer("Rollout/app", "app-new")
OLD = consumer("ReplicaSet/app-1", "app-old", controller="Rollout/app")
NEW = consumer("ReplicaSet/app-2", "app-new", controller="Rollout/app")


def added(state: RunState) -> dict[str, list[str]]:
    return {
        patch.revision.name: [str(owner) for owner in patch.added]
        for patch in changes(state)
        if patch.added
    }


def test_a_revision_is_owned_by_its_consumers_and_their_workload() -> None:
    state = state_of([revision("app-old"), revision("app-new")], ROLLOUT, OLD, NEW)
    assert added(state) == {
        "app-old": ["ReplicaSet/app-1", "Rollout/app"],
        "app-new": ["Rollout/app", "ReplicaSet/app-2"],
    }


def test_the_patch_adds_owner_references() -> None:
    [patch] = changes(state_of([revision("app-new", [ROLLOUT])], ROLLOUT, NEW))
    assert patch.body == {
        "metadata": {
            "uid": "app-new-uid",
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "app-2",
                    "uid": "ReplicaSet/app-2",
                    "controller": False,
                    "blockOwnerDeletion": False,
                }
            ],
        }
    }


def test_a_revision_with_all_owners_does_not_need_a_patch() -> None:
    assert not changes(state_of([revision("app-new", [ROLLOUT, NEW])], ROLLOUT, NEW))


@pytest.mark.parametrize(
    ("chain", "owners"),
    [
        ([consumer("CronJob/report", "app-new")], ["CronJob/report"]),
        (
            [
                consumer("CronJob/report"),
                consumer("Job/report-1", "app-new", controller="CronJob/report"),
            ],
            ["CronJob/report", "Job/report-1"],
        ),
        (
            [
                consumer("Rollout/app"),
                consumer("Experiment/try", controller="Rollout/app"),
                consumer("ReplicaSet/try-1", "app-new", controller="Experiment/try"),
            ],
            ["Experiment/try", "ReplicaSet/try-1", "Rollout/app"],
        ),
        (
            [
                consumer("StatefulSet/db"),
                consumer("ControllerRevision/db-1", "app-new", controller="StatefulSet/db"),
            ],
            ["ControllerRevision/db-1", "StatefulSet/db"],
        ),
        ([consumer("Pod/bare", "app-new")], []),
        ([consumer("Job/bare", "app-new")], []),
        (
            [consumer("Job/bare"), consumer("Pod/bare-x", "app-new", controller="Job/bare")],
            [],
        ),
        (
            [
                ROLLOUT,
                consumer("ReplicaSet/app-2", controller="Rollout/app"),
                consumer("Pod/app-2-x", "app-new", controller="ReplicaSet/app-2"),
            ],
            ["ReplicaSet/app-2", "Rollout/app"],
        ),
        ([consumer("Pod/odd", "app-new", controller="a kind that cannot be read")], []),
        ([consumer("Job/odd", "app-new", controller="a kind that cannot be read")], []),
        (
            [consumer("Deployment/app", "app-new", controller="a kind that cannot be read")],
            ["Deployment/app"],
        ),
        ([consumer("Deployment/gone", "app-new", is_deleting=True)], []),
    ],
)
def test_owners_by_kind_of_consumer(chain: list[Consumer], owners: list[str]) -> None:
    result = added(state_of([revision("app-new")], *chain))
    assert sorted(result.get("app-new", [])) == owners


def dropped(state: RunState) -> list[str]:
    return [str(owner) for patch in changes(state) for owner in patch.removed]


def test_a_deleted_owner_is_dropped() -> None:
    assert dropped(state_of([revision("app-new", [ROLLOUT, NEW, OLD])], ROLLOUT, NEW)) == [str(OLD)]


def test_a_replica_set_without_the_reference_is_dropped() -> None:
    assert dropped(state_of([revision("app-new", [ROLLOUT, NEW, OLD])], ROLLOUT, NEW, OLD)) == [
        str(OLD)
    ]


def test_an_existing_workload_is_never_dropped() -> None:
    other = consumer("Deployment/other")
    state = state_of([revision("app-old", [ROLLOUT, OLD, other])], ROLLOUT, OLD, other)
    assert not dropped(state)


def test_owners_of_other_programs_stay() -> None:
    state = state_of([revision("app-new", [ROLLOUT, NEW, OLD, FOREIGN], ours=False)], ROLLOUT, NEW)
    assert not changes(state)


def test_an_unreadable_kind_prevents_drops() -> None:
    state = state_of(
        [revision("app-new", [ROLLOUT, NEW, OLD])], ROLLOUT, NEW, unreadable=["ReplicaSet"]
    )
    assert not dropped(state)


def test_a_revision_that_is_not_swept_has_no_owners_without_a_release_owner() -> None:
    """An Ingress, for example, can need the revision after the workload is deleted."""
    [patch] = changes(state_of([revision("app-new", [ROLLOUT], is_sweepable=False)], ROLLOUT, NEW))
    assert (patch.added, [str(owner) for owner in patch.removed]) == ((), ["Rollout/app"])
    assert not pin([revision("app-new", is_sweepable=False)], lambda _: [ROLLOUT])


def test_a_stop_by_a_person_does_not_change_the_owners() -> None:
    stopped = revision("app-new")._replace(keep_annotations=("postrender/prune",))
    assert added(state_of([stopped], ROLLOUT, NEW)) == {
        "app-new": ["Rollout/app", "ReplicaSet/app-2"]
    }


def test_an_unused_revision_gets_the_workloads_with_its_base_name() -> None:
    revisions = [revision("app-new"), revision("app-old"), revision("api-old")]
    other = revision("app-other", group_name="other")
    with_owner = state_of([*revisions, other], ROLLOUT, NEW, release_owner=ACCOUNT)
    assert added(with_owner)["app-old"] == ["Rollout/app", "ServiceAccount/app-attach"]
    assert added(with_owner)["api-old"] == ["ServiceAccount/app-attach"]
    assert added(with_owner)["app-other"] == ["ServiceAccount/app-attach"]
    # Without a release owner, a revision without an owner stays, also if the workload is renamed.
    assert list(added(state_of(revisions, ROLLOUT, NEW))) == ["app-new"]


def test_a_revision_that_is_not_swept_does_not_keep_only_the_owner_of_somebody_else() -> None:
    """Kubernetes would delete the revision, although a ReplicaSet uses it, with this owner."""
    kept = revision("app-new", [ROLLOUT, FOREIGN], ours=False, is_sweepable=False)
    kept = kept._replace(our_owners=frozenset({ROLLOUT.uid}))
    assert not changes(state_of([kept], ROLLOUT, NEW))


@pytest.mark.parametrize("present", [(), (ACCOUNT,)], ids=["new", "present"])
def test_consumers_protect_a_revision_that_is_not_swept(present: tuple[Owner, ...]) -> None:
    """A release without postrender, for example, deletes the release owner."""
    kept = revision("app-new", present, is_sweepable=False)
    release_owner = None if present else ACCOUNT
    state = state_of([kept], ROLLOUT, NEW, release_owner=release_owner)
    names = ["Rollout/app", "ReplicaSet/app-2", *([] if present else ["ServiceAccount/app-attach"])]
    assert {name: sorted(owners) for name, owners in added(state).items()} == {
        "app-new": sorted(names)
    }
    [patch] = pin([kept], lambda _: [ROLLOUT], release_owner)
    assert "Rollout/app" in [str(owner) for owner in patch.added]


@pytest.mark.parametrize("is_sweepable", [True, False])
def test_the_release_owner_does_not_own_an_adopted_original(is_sweepable: bool) -> None:
    """A rollback applies the original again, and deletes the release owner."""
    original = revision("app", [ACCOUNT], is_sweepable=is_sweepable)
    consumers = consumer("Deployment/app", "app"), consumer("Rollout/app", "app-new")
    state = state_of([original], *consumers, release_owner=ACCOUNT)
    [patch] = changes(state)
    assert patch.removed == (ACCOUNT,)
    assert [str(owner) for owner in patch.added] == ["Deployment/app"] * is_sweepable
    assert not pin([revision("app")], lambda _: [], ACCOUNT)


# The release owner


def test_a_revision_that_another_object_needs_has_more_than_the_release_owner() -> None:
    """A change from the Job to an inventory deletes the release owner, and no other owner."""
    kept, other = revision("api-new", is_sweepable=False), revision("api-old")
    state = state_of([revision("app-new"), kept, other], ROLLOUT, NEW, release_owner=ACCOUNT)
    assert added(state)["api-new"] == ["Rollout/app", "ServiceAccount/app-attach"]
    assert added(state)["api-old"] == ["ServiceAccount/app-attach"]


def test_the_release_owner_owns_every_revision() -> None:
    revisions = [revision("app-old"), revision("app-kept", is_sweepable=False)]
    state = state_of(revisions, ROLLOUT, release_owner=ACCOUNT)
    assert added(state) == {name: ["ServiceAccount/app-attach"] for name in ("app-old", "app-kept")}
    [patch] = pin([revision("app-new")], lambda _: [ROLLOUT], ACCOUNT)
    assert patch.added == (ROLLOUT.owner, ACCOUNT)


def test_the_release_owner_is_not_the_first_owner_before_the_workload_exists() -> None:
    """At a change to an inventory, the revision would go under a workload that came late."""
    assert not pin([revision("app-new")], lambda _: [], ACCOUNT)
    [patch] = pin([revision("app-new", [ROLLOUT])], lambda _: [], ACCOUNT)
    assert patch.added == (ACCOUNT,)


def test_the_release_owner_does_not_own_an_original_of_the_stream() -> None:
    """The tool that applies the manifests manages the original."""
    original = revision("app", [ACCOUNT], is_sweepable=False)._replace(is_original_in_stream=True)
    state = state_of([original], ROLLOUT, release_owner=ACCOUNT)
    assert dropped(state) == ["ServiceAccount/app-attach"]
    assert not pin([original], lambda _: [ROLLOUT], ACCOUNT)


def test_a_recreated_release_owner_replaces_the_earlier_release_owner() -> None:
    earlier = ACCOUNT._replace(uid="earlier-uid")
    state = state_of([revision("app-old", [earlier])], ROLLOUT, release_owner=ACCOUNT)
    [patch] = changes(state)
    assert (patch.added, patch.removed) == ((ACCOUNT,), (earlier,))


def test_other_release_owners_stay() -> None:
    """Two releases can use one revision. A run cannot see whether the other release exists."""
    state = state_of([revision("app-old", [OTHER_ACCOUNT])], ROLLOUT, release_owner=ACCOUNT)
    assert not dropped(state)
    assert not dropped(state._replace(release_owner=None))


def test_release_owners_do_not_prevent_a_sweep() -> None:
    owners = [ACCOUNT, OTHER_ACCOUNT]
    state = state_of([revision("app-old", owners, unused_since=time(GRACE))], ROLLOUT)
    assert [reason for _, reason in find_unused(state, NOW)] == [""]


def test_a_service_account_of_another_program_prevents_a_sweep() -> None:
    old = revision("app-old", [ACCOUNT], ours=False, unused_since=time(GRACE))
    [(_, reason)] = find_unused(state_of([old], ROLLOUT), NOW)
    assert "does not manage the owner ServiceAccount/app-attach" in reason


def test_a_bare_pod_that_an_earlier_version_made_an_owner_is_dropped() -> None:
    pod = consumer("Pod/debug", "app-old")
    assert dropped(state_of([revision("app-old", [pod])], pod)) == ["Pod/debug"]


def test_a_revision_that_is_being_deleted_is_unchanged() -> None:
    old = revision("app-new", unused_since=time(GRACE))._replace(is_deleting=True)
    assert not changes(state_of([old], ROLLOUT, release_owner=ACCOUNT))
    assert not pin([old], lambda _: [ROLLOUT], ACCOUNT)


# Revisions of other groups

BASES = frozenset({("configmap", "app")})


def related(item: Revision, *consumers: Consumer, account: Owner | None = ACCOUNT) -> bool:
    """Return whether a run looks after a revision of another group."""
    state = state_of([], *consumers, release_owner=account)
    return bool(find_related(state._replace(base_names=BASES), [item]))


@pytest.mark.parametrize(
    ("owners", "consumers", "expected"),
    [
        ([], [ROLLOUT, OLD], True),
        ([], [consumer("Deployment/other", "app-old")], False),
        ([], [], True),
        ([consumer("Deployment/other")], [consumer("Deployment/other")], True),
        ([ACCOUNT], [], True),
        ([OTHER_ACCOUNT], [], False),
        ([ROLLOUT], [ROLLOUT], True),
    ],
    ids=[
        "an object of a workload of the run uses the revision",
        "another workload uses the revision",
        "no object uses the revision",
        "another workload used the revision",
        "the release owns the revision",
        "another release owns the revision",
        "a workload of the run owns the revision",
    ],
)
def test_coverage_of_a_revision_of_another_group(
    owners: list[Consumer | Owner], consumers: list[Consumer], expected: bool
) -> None:
    assert related(revision("app-old", owners, group_name="other"), *consumers) == expected


def test_another_base_name_is_not_covered() -> None:
    assert not related(revision("web-old", group_name="other"))
    assert related(revision("web-old", group_name="other"), ROLLOUT, consumer_of("web-old"))


def consumer_of(name: str) -> Consumer:
    return consumer("ReplicaSet/app-1", name, controller="Rollout/app")


def test_revisions_of_the_stream_come_first() -> None:
    state = state_of([revision("app-old"), revision("app-new")], ROLLOUT, OLD, NEW)
    assert [patch.revision.name for patch in changes(state, ["app-new"])] == ["app-new", "app-old"]


def marks(state: RunState, in_stream: Iterable[str] = ()) -> list[str | None]:
    return [patch.mark for patch in changes(state, in_stream)]


def test_an_unused_revision_is_marked_with_the_time() -> None:
    state = state_of([revision("app-old", [ROLLOUT])], ROLLOUT)
    assert marks(state) == ["2026-11-21T12:00:00Z"]
    [patch] = changes(state)
    assert patch.body == {
        "metadata": {
            "uid": "app-old-uid",
            "annotations": {"postrender/unused-since": "2026-11-21T12:00:00Z"},
            "resourceVersion": "1",
        }
    }


@pytest.mark.parametrize("since", ["yesterday", "", time(-timedelta(days=1))])
def test_an_invalid_or_future_mark_is_replaced(since: str) -> None:
    assert marks(state_of([revision("app-old", [ROLLOUT], unused_since=since)], ROLLOUT)) == [
        time(timedelta(0))
    ]


def test_a_revision_that_is_used_again_loses_the_mark() -> None:
    state = state_of([revision("app-new", [ROLLOUT, NEW], unused_since=time(GRACE))], ROLLOUT, NEW)
    [patch] = changes(state)
    assert patch.body == {
        "metadata": {"uid": "app-new-uid", "annotations": {"postrender/unused-since": None}}
    }


@pytest.mark.parametrize(("ahead", "is_marked"), [(GRACE, False), (GRACE + SECOND, True)])
def test_a_mark_in_the_future_is_replaced_after_the_grace_time(
    ahead: timedelta, is_marked: bool
) -> None:
    """The clocks of two nodes differ a little."""
    state = state_of([revision("app-old", [ROLLOUT], unused_since=time(-ahead))], ROLLOUT)
    assert bool(marks(state)) is is_marked


def test_a_leftover_revision_of_an_earlier_group_is_marked() -> None:
    """The group's name is derived from its first workload, and changes with the workload."""
    state = state_of([revision("app-old", [ROLLOUT], group_name="api-deployment-attach")], ROLLOUT)
    assert marks(state) == [time(timedelta(0))]
    other = consumer("Deployment/other")
    shared = revision("app-old", [ROLLOUT, other], group_name="api-deployment-attach")
    assert not marks(state_of([shared], ROLLOUT, other))


NOT_MARKED = {
    "the revision has a mark": (
        state_of([revision("app-old", unused_since=time(GRACE))], ROLLOUT),
        (),
    ),
    "the revision has a recent mark": (
        state_of([revision("app-old", unused_since=time(GRACE / 2))], ROLLOUT),
        (),
    ),
    "the stream contains the revision": (state_of([revision("app-old")], ROLLOUT), ["app-old"]),
    "the revision belongs to another group": (
        state_of([revision("app-old", group_name="other")], ROLLOUT),
        (),
    ),
    "the revision has no label": (state_of([revision("app-old", group_name="")], ROLLOUT), ()),
    "the revision is not swept": (state_of([revision("app-old", is_sweepable=False)], ROLLOUT), ()),
    "the owner has an unknown kind": (state_of([revision("app-old", [FOREIGN])], ROLLOUT), ()),
    "another program set the owner": (
        state_of([revision("app-old", [ROLLOUT], ours=False)], ROLLOUT),
        (),
    ),
    "a kind cannot be read": (state_of([revision("app-old")], ROLLOUT, unreadable=["Job"]), ()),
    "a terminating object references the revision": (
        state_of([revision("app-old")], consumer("Deployment/a", "app-old", is_deleting=True)),
        (),
    ),
    "a Pod with an unknown controller references the revision": (
        state_of([revision("app-old")], consumer("Pod/a", "app-old", controller="unknown")),
        (),
    ),
}


@pytest.mark.parametrize("why", NOT_MARKED)
def test_a_revision_is_not_marked(why: str) -> None:
    assert not changes(*NOT_MARKED[why])


def test_without_an_attach_group_a_run_does_not_mark_revisions() -> None:
    state = state_of([revision("app-old", group_name="")], ROLLOUT)
    assert not changes(state._replace(group_name="", workloads=frozenset()))
    state = state_of([revision("app-old", [ROLLOUT], group_name="other")], ROLLOUT)
    assert marks(state)
    assert not marks(state._replace(group_name=""))


def test_an_object_without_a_label_is_not_marked_although_only_the_run_owns_it() -> None:
    assert not marks(state_of([revision("app-old", [ROLLOUT], group_name="")], ROLLOUT))


KEPT = {
    "": revision("app-old", [ROLLOUT], unused_since=time(GRACE)),
    "the revision has been unused for less than 10 minutes": revision(
        "app-old", [ROLLOUT], unused_since=time(GRACE - timedelta(0, 1))
    ),
    'the mark postrender/unused-since is "soon", which is not a time': revision(
        "app-old", [ROLLOUT], unused_since="soon"
    ),
    'the annotation postrender/sweep is "false"': revision(
        "app-old", unused_since=time(GRACE), is_sweepable=False
    ),
    "does not manage the owner": revision("app-old", [FOREIGN], unused_since=time(GRACE)),
}


@pytest.mark.parametrize("why", KEPT)
def test_reasons_to_keep_an_unused_revision(why: str) -> None:
    [(unused, reason)] = find_unused(state_of([KEPT[why]], ROLLOUT), NOW)
    assert unused == KEPT[why]
    assert why in reason
    assert bool(why) == bool(reason)


def test_a_revision_is_kept_if_a_kind_of_consumer_cannot_be_read() -> None:
    state = state_of([KEPT[""]], ROLLOUT, unreadable=["Job", "CronJob"])
    [(_, reason)] = find_unused(state, NOW)
    assert "cannot list cronjobs, jobs, and an object of these kinds might reference" in reason


def test_an_unmarked_revision_is_found_only_on_request() -> None:
    state = state_of([revision("app-old", [ROLLOUT])], ROLLOUT)
    assert not find_unused(state, NOW)
    [(found, reason)] = find_unused(state, NOW, includes_unmarked=True)
    assert (found.name, reason) == ("app-old", "")


def test_a_revision_of_the_stream_is_not_deleted() -> None:
    state = state_of([KEPT[""]], ROLLOUT)
    [(_, reason)] = find_unused(with_stream(state, ["app-old"]), NOW)
    assert reason == "the applied manifests contain the revision"


def test_pinning_adds_the_workload_and_removes_the_mark() -> None:
    workloads: Mapping[RevisionRef, list[Consumer]] = {("configmap", "app-new"): [ROLLOUT]}
    revisions = [
        revision("app-new", unused_since=time(GRACE)),
        revision("app-other"),
    ]
    [patch] = pin(revisions, lambda ref: workloads.get(ref, []))
    assert ([str(owner) for owner in patch.added], patch.mark) == (["Rollout/app"], "")


# Against a naive implementation: random owners, consumers and controllers.

NAMES = ["a-1", "b-1", "original"]
KINDS = ["Rollout", "Deployment", "CronJob", "ReplicaSet", "Job", "ControllerRevision", "Pod"]


@st.composite
def states(draw: st.DrawFn) -> RunState:
    texts = [f"{kind}/{number}" for kind in KINDS for number in range(2)]
    existing = draw(st.lists(st.sampled_from(texts), unique=True))
    consumers = [
        consumer(
            text,
            *draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=2)),
            # Controllers come earlier in the list, so the controllers never form a circle.
            controller=draw(st.sampled_from(["", "deleted", *existing[:position]])),
            is_deleting=draw(st.integers(0, 5)) == 0,
        )
        for position, text in enumerate(existing)
    ]
    candidates = [consumer(text) for text in texts]
    revisions = [
        revision(
            name,
            [
                *draw(st.lists(st.sampled_from(candidates), unique=True)),
                *([FOREIGN] * draw(st.booleans())),
                *draw(st.lists(st.sampled_from([ACCOUNT, OTHER_ACCOUNT]), unique=True)),
            ],
            ours=draw(st.booleans()),
            unused_since=draw(st.sampled_from([None, time(GRACE), time(timedelta(0))])),
            is_sweepable=draw(st.booleans()),
            group_name=draw(st.sampled_from([GROUP, "other", ""])),
        )
        for name in NAMES
    ]
    unreadable = draw(st.sampled_from([[], [], ["StatefulSet"]]))
    release_owner = draw(st.sampled_from([None, ACCOUNT]))
    return state_of(revisions, *consumers, unreadable=unreadable, release_owner=release_owner)


def after(state: RunState, patches: Iterable[Patch]) -> RunState:
    """Return the state with patches applied, as the API server applies them."""
    by_name = {patch.revision.name: patch for patch in patches}
    return state._replace(revisions=tuple(patched(item, by_name) for item in state.revisions))


def patched(item: Revision, patches: Mapping[str, Patch]) -> Revision:
    patch = patches.get(item.name)
    if patch is None:
        return item
    removed_uids = {owner.uid for owner in patch.removed}
    return item._replace(
        owners=(*(owner for owner in item.owners if owner.uid not in removed_uids), *patch.added),
        our_owners=(item.our_owners | {owner.uid for owner in patch.added}) - removed_uids,
        unused_since=item.unused_since if patch.mark is None else patch.mark or None,
    )


def must_own(state: RunState, name: str) -> set[str]:
    """Return the uids that must own a revision, computed object by object."""
    result: set[str] = set()
    for item in state.consumers.values():
        if ("configmap", name) not in item.references:
            continue
        chain = [item]
        while chain[-1].controller in state.consumers:
            chain.append(state.consumers[chain[-1].controller])
        if chain[-1].resource in CONTROLLER_MADE_KINDS and chain[-1].controller:
            continue
        if chain[-1].resource.kind in ("Pod", "Job"):
            continue
        if item.resource == PODS and item.controller:
            chain.pop(0)
        result |= {link.uid for link in chain if not link.is_deleting}
    return result


def has_consumer(state: RunState, item: Revision) -> bool:
    return any(item.key in consumer.references for consumer in state.consumers.values())


@given(states(), st.frozensets(st.sampled_from(NAMES)))
def test_the_rule_is_true_for_any_state(state: RunState, in_stream: frozenset[str]) -> None:
    patches = changes(state, in_stream)
    result = after(state, patches)
    assert not changes(result, in_stream), "a second run writes nothing"
    for before, now in zip(state.revisions, result.revisions, strict=True):
        owners = {owner.uid for owner in now.owners}
        is_adopted = now.name == "original" and now.group_name != ""
        accounts = {ACCOUNT.uid, OTHER_ACCOUNT.uid}
        has_account = state.release_owner is not None or bool(accounts & before.our_owners)
        may_own = now.is_sweepable or (has_account and not is_adopted)
        if is_adopted:
            assert not accounts & now.our_owners
        else:
            assert state.release_owner is None or ACCOUNT.uid in owners
            assert accounts & before.our_owners <= owners
        if may_own:
            assert must_own(state, now.name) <= owners
        elif any(owner.uid not in before.our_owners for owner in before.owners):
            assert before.our_owners - accounts == now.our_owners - accounts
        else:
            assert now.our_owners <= accounts
        for owner in before.owners:
            if owner.uid not in owners:
                live_owner = state.consumers.get(owner.uid)
                assert owner.uid in before.our_owners
                is_stale = live_owner is None or live_owner.resource in CONTROLLER_MADE_KINDS
                assert is_stale or not may_own
        if has_consumer(state, now) or now.name in in_stream:
            assert now.unused_since is None
        elif now.unused_since != before.unused_since:
            assert now.group_name
            assert now.is_sweepable


@given(states(), st.frozensets(st.sampled_from(NAMES)))
def test_a_revision_with_a_consumer_is_never_deleted(
    state: RunState, in_stream: frozenset[str]
) -> None:
    state = with_stream(state, in_stream)
    doomed = [item for item, reason in find_unused(state, NOW) if not reason]
    for item in doomed:
        assert item.group_name == GROUP or WORKLOADS & {owner.uid for owner in item.owners}
        assert item.name not in in_stream
        assert not has_consumer(state, item)
        assert item.is_sweepable
        assert FOREIGN not in item.owners
        assert not state.unreadable


def test_a_chain_of_controllers_of_a_tenant_costs_little_and_keeps_the_revision() -> None:
    names = [f"ReplicaSet/{number}" for number in range(50)]
    chain = [
        consumer(name, "app-config-1", controller=above)
        for name, above in zip(names, [*names[1:], "Rollout/app"], strict=True)
    ]
    consumers = {item.uid: item for item in [*chain, consumer("Rollout/app")]}
    assert max(len(controller_chain(consumers, item)) for item in chain) == 20
    marked = revision("app-config-1", [ACCOUNT], unused_since=time(2 * GRACE))
    state = state_of([marked], *consumers.values(), release_owner=ACCOUNT)
    assert not find_unused(state, NOW)
    assert [(patch.mark, patch.removed) for patch in changes(state)] == [("", ())]
