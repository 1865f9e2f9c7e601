"""From live state to patches: the rule in small examples, then against a naive reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postrender.attach.live import Consumer, Owner, Revision
from postrender.attach.reconcile import GRACE, ClusterState, Patch, Scope, pin, reconcile, unused
from postrender.attach.request import RevisionRef
from postrender.attach.resources import BY_KIND, CONFIG_MAPS, MADE_BY_OTHERS, PODS

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=timezone.utc)
SET = "app-rollout-attach"
SCOPE = Scope(SET, frozenset({"Rollout/app", "Rollout/0"}))
FOREIGN = Owner("example.com/v1", "Widget", "widget", "widget-uid")


def time(ago: timedelta) -> str:
    return (NOW - ago).strftime("%Y-%m-%dT%H:%M:%SZ")


def consumer(text: str, *names: str, controller: str = "", is_deleting: bool = False) -> Consumer:
    """Return a holder of `Kind/name` whose uid is that text."""
    kind, _, name = text.partition("/")
    resource = BY_KIND[kind]
    return Consumer(
        resource,
        resource.api_version,
        name,
        text,
        controller,
        is_deleting,
        frozenset(("configmap", one) for one in names),
        frozenset(),
    )


def revision(
    name: str,
    owners: Iterable[Consumer | Owner] = (),
    *,
    ours: bool = True,
    unused_since: str | None = None,
    is_swept: bool = True,
    group_name: str = SET,
) -> Revision:
    entries = tuple(one.owner if isinstance(one, Consumer) else one for one in owners)
    mine = {one.uid for one in entries if one != FOREIGN} if ours else set()
    return Revision(
        CONFIG_MAPS,
        name,
        f"{name}-uid",
        "1",
        group_name,
        name.rpartition("-")[0],
        is_swept,
        False,
        entries,
        frozenset(mine),
        unused_since,
    )


def live(
    revisions: Iterable[Revision], *consumers: Consumer, unreadable: Iterable[str] = ()
) -> ClusterState:
    return ClusterState(
        tuple(revisions),
        {one.uid: one for one in consumers},
        frozenset(BY_KIND[kind] for kind in unreadable),
    )


def changes(state: ClusterState, in_stream: Iterable[str] = ()) -> list[Patch]:
    return reconcile(state, SCOPE, frozenset(("configmap", one) for one in in_stream), NOW)


ROLLOUT = consumer("Rollout/app", "app-new")
OLD = consumer("ReplicaSet/app-1", "app-old", controller="Rollout/app")
NEW = consumer("ReplicaSet/app-2", "app-new", controller="Rollout/app")


def added(state: ClusterState) -> dict[str, list[str]]:
    return {
        patch.revision.name: [str(owner) for owner in patch.added]
        for patch in changes(state)
        if patch.added
    }


def test_each_revision_is_owned_by_what_names_it_and_by_its_workload() -> None:
    state = live([revision("app-old"), revision("app-new")], ROLLOUT, OLD, NEW)
    assert added(state) == {
        "app-old": ["ReplicaSet/app-1", "Rollout/app"],
        "app-new": ["Rollout/app", "ReplicaSet/app-2"],
    }


def test_the_patch_appends_owners_as_they_were_read() -> None:
    [patch] = changes(live([revision("app-new", [ROLLOUT])], ROLLOUT, NEW))
    assert patch.body == {
        "metadata": {
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "app-2",
                    "uid": "ReplicaSet/app-2",
                    "controller": False,
                    "blockOwnerDeletion": False,
                }
            ]
        }
    }


def test_what_is_as_it_should_be_needs_no_patch() -> None:
    assert not changes(live([revision("app-new", [ROLLOUT, NEW])], ROLLOUT, NEW))


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
        ([consumer("Pod/bare", "app-new")], ["Pod/bare"]),
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
def test_owners_by_kind_of_holder(chain: list[Consumer], owners: list[str]) -> None:
    found = added(live([revision("app-new")], *chain))
    assert sorted(found.get("app-new", [])) == owners


def dropped(state: ClusterState) -> list[str]:
    return [str(owner) for patch in changes(state) for owner in patch.dropped]


def test_owners_that_are_gone_are_dropped() -> None:
    assert dropped(live([revision("app-new", [ROLLOUT, NEW, OLD])], ROLLOUT, NEW)) == [str(OLD)]


def test_a_revision_object_that_names_it_no_more_is_dropped() -> None:
    assert dropped(live([revision("app-new", [ROLLOUT, NEW, OLD])], ROLLOUT, NEW, OLD)) == [
        str(OLD)
    ]


def test_a_workload_is_never_dropped_while_it_lives() -> None:
    other = consumer("Deployment/other")
    state = live([revision("app-old", [ROLLOUT, OLD, other])], ROLLOUT, OLD, other)
    assert not dropped(state)


def test_owners_that_others_set_are_left_alone() -> None:
    state = live([revision("app-new", [ROLLOUT, NEW, OLD, FOREIGN], ours=False)], ROLLOUT, NEW)
    assert not changes(state)


def test_a_kind_that_cannot_be_read_drops_nothing() -> None:
    state = live(
        [revision("app-new", [ROLLOUT, NEW, OLD])], ROLLOUT, NEW, unreadable=["ReplicaSet"]
    )
    assert not dropped(state)


def test_what_is_named_outside_of_pod_templates_has_no_owners() -> None:
    [patch] = changes(live([revision("app-new", [ROLLOUT], is_swept=False)], ROLLOUT, NEW))
    assert (patch.added, [str(owner) for owner in patch.dropped]) == ((), ["Rollout/app"])
    assert not pin([revision("app-new", is_swept=False)], lambda _: [ROLLOUT])


def test_what_the_stream_holds_comes_first() -> None:
    state = live([revision("app-old"), revision("app-new")], ROLLOUT, OLD, NEW)
    assert [patch.revision.name for patch in changes(state, ["app-new"])] == ["app-new", "app-old"]


def marks(state: ClusterState, in_stream: Iterable[str] = ()) -> list[str | None]:
    return [patch.mark for patch in changes(state, in_stream)]


def test_what_nothing_names_is_marked_with_the_time() -> None:
    state = live([revision("app-old", [ROLLOUT])], ROLLOUT)
    assert marks(state) == ["2026-11-21T12:00:00Z"]
    [patch] = changes(state)
    assert patch.body == {
        "metadata": {"annotations": {"postrender/unused-since": "2026-11-21T12:00:00Z"}}
    }


@pytest.mark.parametrize("since", ["yesterday", "", time(-timedelta(days=1))])
def test_a_mark_that_is_no_time_or_in_the_future_is_written_anew(since: str) -> None:
    assert marks(live([revision("app-old", [ROLLOUT], unused_since=since)], ROLLOUT)) == [
        time(timedelta(0))
    ]


def test_what_is_used_again_loses_the_mark() -> None:
    state = live([revision("app-new", [ROLLOUT, NEW], unused_since=time(GRACE))], ROLLOUT, NEW)
    [patch] = changes(state)
    assert patch.body == {"metadata": {"annotations": {"postrender/unused-since": None}}}


def test_what_an_earlier_set_left_behind_is_marked() -> None:
    """A set is named after its first workload, and gets another name with it."""
    state = live([revision("app-old", [ROLLOUT], group_name="api-deployment-attach")], ROLLOUT)
    assert marks(state) == [time(timedelta(0))]
    other = consumer("Deployment/other")
    shared = revision("app-old", [ROLLOUT, other], group_name="api-deployment-attach")
    assert not marks(live([shared], ROLLOUT, other))


NOT_MARKED = {
    "it has its mark": (live([revision("app-old", unused_since=time(GRACE))], ROLLOUT), ()),
    "the stream holds it": (live([revision("app-old")], ROLLOUT), ["app-old"]),
    "it is of another set": (live([revision("app-old", group_name="other")], ROLLOUT), ()),
    "it has no label": (live([revision("app-old", group_name="")], ROLLOUT), ()),
    "it is not swept": (live([revision("app-old", is_swept=False)], ROLLOUT), ()),
    "an unknown kind owns it": (live([revision("app-old", [FOREIGN])], ROLLOUT), ()),
    "another program made a live owner": (
        live([revision("app-old", [ROLLOUT], ours=False)], ROLLOUT),
        (),
    ),
    "a kind cannot be read": (live([revision("app-old")], ROLLOUT, unreadable=["Job"]), ()),
    "a deleted object still names it": (
        live([revision("app-old")], consumer("Deployment/a", "app-old", is_deleting=True)),
        (),
    ),
    "a pod of an unknown kind names it": (
        live([revision("app-old")], consumer("Pod/a", "app-old", controller="unknown")),
        (),
    ),
}


@pytest.mark.parametrize("why", NOT_MARKED)
def test_not_marked_because(why: str) -> None:
    assert not changes(*NOT_MARKED[why])


def test_without_a_set_nothing_is_marked() -> None:
    state = live([revision("app-old", group_name="")], ROLLOUT)
    assert not reconcile(state, Scope(""), frozenset(), NOW)


KEPT = {
    "": revision("app-old", [ROLLOUT], unused_since=time(GRACE)),
    "not long enough": revision("app-old", [ROLLOUT], unused_since=time(GRACE - timedelta(0, 1))),
    "outside of pod templates": revision("app-old", unused_since=time(GRACE), is_swept=False),
    "which is not ours": revision("app-old", [FOREIGN], unused_since=time(GRACE)),
}


@pytest.mark.parametrize("why", KEPT)
def test_what_is_deleted_and_what_is_kept(why: str) -> None:
    [(found, reason)] = unused(live([KEPT[why]], ROLLOUT), SCOPE, frozenset(), NOW)
    assert found == KEPT[why]
    assert why in reason
    assert bool(why) == bool(reason)


def test_what_the_stream_holds_is_not_deleted() -> None:
    state = live([KEPT[""]], ROLLOUT)
    [(_, reason)] = unused(state, SCOPE, frozenset({("configmap", "app-old")}), NOW)
    assert reason == "it is in the applied stream"


def test_pinning_adds_the_workload_and_takes_the_mark_away() -> None:
    workloads: Mapping[RevisionRef, list[Consumer]] = {("configmap", "app-new"): [ROLLOUT]}
    revisions = [
        revision("app-new", unused_since=time(GRACE)),
        revision("app-other"),
    ]
    [patch] = pin(revisions, lambda name: workloads.get(name, []))
    assert ([str(owner) for owner in patch.added], patch.mark) == (["Rollout/app"], "")


# Against a naive reference: random owners, holders and controllers.

NAMES = ["a", "b", "c"]
KINDS = ["Rollout", "Deployment", "CronJob", "ReplicaSet", "Job", "ControllerRevision", "Pod"]


@st.composite
def states(draw: st.DrawFn) -> ClusterState:
    texts = [f"{kind}/{number}" for kind in KINDS for number in range(2)]
    there = draw(st.lists(st.sampled_from(texts), unique=True))
    consumers = [
        consumer(
            text,
            *draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=2)),
            # Only what stands before it in the list: a controller is never made by its own.
            controller=draw(st.sampled_from(["", "gone", *there[:position]])),
            is_deleting=draw(st.integers(0, 5)) == 0,
        )
        for position, text in enumerate(there)
    ]
    everything = [consumer(text) for text in texts]
    revisions = [
        revision(
            name,
            [
                *draw(st.lists(st.sampled_from(everything), unique=True)),
                *([FOREIGN] * draw(st.booleans())),
            ],
            ours=draw(st.booleans()),
            unused_since=draw(st.sampled_from([None, time(GRACE), time(timedelta(0))])),
            is_swept=draw(st.booleans()),
            group_name=draw(st.sampled_from([SET, "other", ""])),
        )
        for name in NAMES
    ]
    unreadable = draw(st.sampled_from([[], [], ["StatefulSet"]]))
    return live(revisions, *consumers, unreadable=unreadable)


def after(state: ClusterState, patches: Iterable[Patch]) -> ClusterState:
    """Return the state with patches applied, as the API server would."""
    by_name = {patch.revision.name: patch for patch in patches}
    return state._replace(revisions=tuple(patched(one, by_name) for one in state.revisions))


def patched(one: Revision, patches: Mapping[str, Patch]) -> Revision:
    patch = patches.get(one.name)
    if patch is None:
        return one
    gone = {owner.uid for owner in patch.dropped}
    return one._replace(
        owners=(*(owner for owner in one.owners if owner.uid not in gone), *patch.added),
        owned_by_us=(one.owned_by_us | {owner.uid for owner in patch.added}) - gone,
        unused_since=one.unused_since if patch.mark is None else patch.mark or None,
    )


def must_own(state: ClusterState, name: str) -> set[str]:
    """Return the uids that must own a revision, object by object."""
    result: set[str] = set()
    for one in state.consumers.values():
        if ("configmap", name) not in one.names:
            continue
        chain = [one]
        while chain[-1].controller in state.consumers:
            chain.append(state.consumers[chain[-1].controller])
        if chain[-1].resource in MADE_BY_OTHERS and chain[-1].controller:
            continue
        if one.resource == PODS and one.controller:
            chain.pop(0)
        result |= {link.uid for link in chain if not link.is_deleting}
    return result


@given(states(), st.frozensets(st.sampled_from(NAMES)))
def test_the_rule_holds_whatever_there_was(state: ClusterState, in_stream: frozenset[str]) -> None:
    patches = changes(state, in_stream)
    now = after(state, patches)
    assert not changes(now, in_stream), "a second run writes nothing"
    for before, one in zip(state.revisions, now.revisions, strict=True):
        owners = {owner.uid for owner in one.owners}
        assert one.owned_by_us <= must_own(state, one.name) or one.is_swept
        assert must_own(state, one.name) <= owners or not one.is_swept
        for owner in before.owners:
            if owner.uid not in owners:
                found = state.consumers.get(owner.uid)
                assert owner.uid in before.owned_by_us
                is_gone = found is None or found.resource in MADE_BY_OTHERS
                assert is_gone or not one.is_swept
        is_named = any(("configmap", one.name) in it.names for it in state.consumers.values())
        if is_named or one.name in in_stream:
            assert one.unused_since is None
        elif one.unused_since != before.unused_since:
            assert one.group_name
            assert one.is_swept


@given(states(), st.frozensets(st.sampled_from(NAMES)))
def test_nothing_that_is_named_is_ever_deleted(
    state: ClusterState, in_stream: frozenset[str]
) -> None:
    names = frozenset(("configmap", one) for one in in_stream)
    doomed = [one for one, why in unused(state, SCOPE, names, NOW) if not why]
    for one in doomed:
        assert one.group_name == SET or SCOPE.workloads & {owner.uid for owner in one.owners}
        assert one.name not in in_stream
        assert not any(one.key in it.names for it in state.consumers.values())
        assert one.is_swept
        assert FOREIGN not in one.owners
        assert not state.unreadable
