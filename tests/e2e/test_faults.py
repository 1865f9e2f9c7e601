"""Faults of the API server, network and process: runs converge, or fail cleanly."""

from __future__ import annotations

import datetime
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.api import PATIENCE, STRATEGIC, Api, Json
from tests.e2e.attach_processes import Run, Runner, arguments_of, create_all, parse
from tests.e2e.cluster import Cluster, ControlPlane
from tests.e2e.namespaces import make_namespace
from tests.e2e.proxy import Answer, Cut, Fault, Proxy, Request, expired_watch, status
from tests.e2e.queries import (
    APPLIED,
    UNUSED,
    assert_nothing_is_missing,
    marked,
    owners,
    referenced_config_maps,
    revision_with,
    revisions,
)
from tests.e2e.releases import Release
from tests.rings import in_matrix

LONG_AGO = "2020-01-01T00:00:00Z"
# The state of a namespace: each revision with its owners, and whether the revision is marked.
State = dict[str, tuple[list[str], bool]]

FILES = ["app-config", "routes", "limits"]


def chart(version: int = 1) -> dict[str, Any]:
    """Return values for a Rollout with three ConfigMaps, one of which changes with the version."""
    data = {name: {"greeting": name} for name in FILES}
    data["app-config"] = {"greeting": f"version {version}"}
    workload = {"name": "app", "kind": "Rollout", "volume": FILES}
    return {"configMaps": data, "workloads": [workload], "replicas": 0}


_rendered: dict[int, list[Json]] = {}


def rendered(release: Release, version: int = 1) -> list[Json]:
    """Return the rendered objects of a version; they are the same in every namespace."""
    if version not in _rendered:
        _rendered[version] = parse(release.render(release.template(chart(version))))
    return _rendered[version]


def state(api: Api) -> State:
    """Return the state that attach manages; two equivalent runs have equal states."""
    return {
        revision["metadata"]["name"]: (
            owners(revision),
            UNUSED in revision["metadata"].get("annotations", {}),
        )
        for revision in revisions(api)
    }


def base_of(obj: Json) -> str:
    """Return the base name of a revision, or ""."""
    return str(obj["metadata"].get("annotations", {}).get("postrender/base-name", ""))


class Scenario:
    """A namespace in which one run has every kind of work to do, repeatably.

    There are three revisions in use. One is marked as unused, and one has a stale owner. A fourth
    revision has been unused long enough to be deleted.
    """

    def __init__(self, plane: ControlPlane, release: Release, folder: Path) -> None:
        self.api = plane.api(release.namespace)
        self.runner = Runner(plane, release.namespace, folder / "runs")
        first, second = rendered(release, 1), rendered(release, 2)
        create_all(self.api, first)
        old = self._replica_set("app-config", first)
        create_all(self.api, second)
        self._replica_set("app-config", second)
        self.arguments = arguments_of(second, on_failure="fail")
        maps = {
            obj["metadata"]["name"]: obj for obj in [*first, *second] if obj["kind"] == "ConfigMap"
        }
        by_base = {base_of(obj): name for name, obj in maps.items()}
        self._maps = maps
        self._marked, self._stale = by_base["limits"], by_base["app-config"]
        [unused] = [obj for obj in rendered(release, 0) if base_of(obj) == "app-config"]
        self.old = unused["metadata"]["name"]
        annotations = unused["metadata"]["annotations"] | {UNUSED: LONG_AGO}
        del annotations[APPLIED]
        maps[self.old] = unused | {"metadata": unused["metadata"] | {"annotations": annotations}}
        self._stale_owner = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": old["metadata"]["name"],
            "uid": old["metadata"]["uid"],
        }

    def _replica_set(self, base: str, objects: list[Json]) -> Json:
        names = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "ConfigMap"}

        def matching_replica_set() -> Json | None:
            return next(
                (
                    replica_set
                    for replica_set in self.api.list("ReplicaSet")
                    if referenced_config_maps(replica_set) == names
                ),
                None,
            )

        return self.api.wait_for(matching_replica_set, f"the ReplicaSet with this {base}")

    def reset(self) -> State:
        """Undo the changes of runs; return the state."""
        for name in self.api.names("ConfigMap", "postrender/attach-group"):
            self.api.delete("ConfigMap", name)
        create_all(self.api, self._maps.values())
        self.api.patch("ConfigMap", self._marked, marked(LONG_AGO))
        # The field manager is that of an earlier run: attach removes only owners that it set
        # itself.
        path = f"{self.api.path('ConfigMap', self._stale)}?fieldManager=postrender-attach"
        owner = {"metadata": {"ownerReferences": [self._stale_owner]}}
        self.api.request("PATCH", path, owner, STRATEGIC)
        return state(self.api)

    def map_of(self, name: str) -> Json:
        """Return a ConfigMap of the scenario."""
        return self._maps[name]

    def run(self, proxy: Proxy | None = None) -> Run:
        """Run attach, optionally through a proxy."""
        return self.runner.run(self.arguments, proxy.url if proxy else "")

    def converged(self) -> State:
        """Reset, and return the state after one clean run."""
        before = self.reset()
        assert self.run().code == 0
        after = state(self.api)
        marks = [name for name, (_, is_marked) in after.items() if is_marked]
        assert (self.old in before, self.old in after, marks) == (True, False, [])
        assert all("Rollout/app" in owner_titles for owner_titles, _ in after.values())
        replica_set = f"ReplicaSet/{self._stale_owner['name']}"
        assert replica_set in before[self._stale][0]
        assert replica_set not in after[self._stale][0]
        return after


@pytest.fixture
def scenario(plane: ControlPlane, manifests: Release, tmp_path: Path) -> Scenario:
    return Scenario(plane, manifests, tmp_path)


def each_once(make: Callable[[Request], Answer | Cut | None]) -> Fault:
    """Return a fault that affects the first attempt of every request."""
    tried = set()

    def fault(request: Request) -> Answer | Cut | None:
        key = request.method, request.path.split("resourceVersion")[0], count_lists(request)
        if key in tried:
            return None
        tried.add(key)
        return make(request)

    # A run requests the same list several times; the number of writes tells the requests apart.
    written: list[Request] = []

    def count_lists(request: Request) -> int:
        if request.is_write:
            written.append(request)
            return 0
        return len(written)

    return fault


# The process is killed


# A kill before a write leaves the state of a kill after the write before.
@pytest.mark.parametrize("when", [pytest.param("before", marks=in_matrix), "after"])
def test_a_killed_run_keeps_revisions_and_the_next_run_completes_the_work(
    scenario: Scenario, plane: ControlPlane, when: str
) -> None:
    api, expected = scenario.api, scenario.converged()
    initial = scenario.reset()
    seen_states = [initial]
    for number in _worth_a_kill(scenario, plane):
        _kill_at(scenario, plane, number, when)
        left = state(api)
        # A state that was already left by an earlier killed run is not tested again.
        if left not in seen_states:
            seen_states.append(left)
            assert_nothing_is_missing(api)
            assert scenario.run().code == 0
            assert state(api) == expected, f"killed {when} request {number}\n{api.dump()}"
            assert_nothing_is_missing(api)
        if left != initial:
            assert scenario.reset() == initial
    assert len(seen_states) > 4


def _worth_a_kill(scenario: Scenario, plane: ControlPlane) -> list[int]:
    """Return the numbers of the writes of a clean run.

    A read changes nothing, so a kill at a read leaves the state of a kill after the last write.
    """
    with Proxy(plane) as proxy:
        scenario.run(proxy)
    scenario.reset()
    assert len(proxy.requests) > 25
    return [request.number for request in proxy.requests if request.is_write]


def _kill_at(scenario: Scenario, plane: ControlPlane, number: int, when: str) -> None:
    """Kill a run at one of its requests."""
    running: list[Run] = []
    started = threading.Event()

    def kill() -> None:
        started.wait()
        running[0].kill()

    with Proxy(
        plane, lambda request: Cut(when, kill) if request.number == number else None
    ) as proxy:
        running.append(scenario.runner.start(scenario.arguments, proxy.url))
        started.set()
        assert running[0].code == -9


def test_a_second_run_does_not_write(scenario: Scenario, plane: ControlPlane) -> None:
    scenario.reset()
    with Proxy(plane) as proxy:
        assert scenario.run(proxy).code == 0
        assert proxy.writes
        proxy.reset()
        assert scenario.run(proxy).code == 0
        assert proxy.requests
        assert proxy.writes == []


# Faulty answers

FAULTS: dict[str, Callable[[Request], Answer | Cut | None]] = {
    "409": lambda it: status(409, "Conflict") if it.method == "PATCH" else None,
    "429": lambda it: status(429, "TooManyRequests", "1" if it.number % 10 == 0 else ""),
    "500": lambda _: status(500, "InternalError"),
    "html": lambda _: Answer(200, "<html>Sign in to the portal</html>"),
    "cut before": lambda _: Cut("before"),
    "cut after": lambda _: Cut("after"),
    "cut in the middle": lambda _: Cut("middle"),
}


# The attacher treats these like the faults that are not in this list.
LIKE_OTHERS = ("html", "cut before", "cut in the middle")


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, id=name, marks=in_matrix if name in LIKE_OTHERS else ())
        for name, fault in FAULTS.items()
    ],
)
def test_every_request_fails_once(
    scenario: Scenario, plane: ControlPlane, fault: Callable[[Request], Answer | Cut | None]
) -> None:
    expected = scenario.converged()
    scenario.reset()
    with Proxy(plane) as proxy:
        scenario.run(proxy)
        clean = len(proxy.requests)
        scenario.reset()
        proxy.reset()
        proxy.fault = each_once(fault)
        run = scenario.run(proxy)
    assert run.code == 0, run.log
    is_all = fault is not FAULTS["409"]
    # A list that is requested twice without a write in between fails only once.
    assert len(proxy.requests) >= (2 * clean - 5 if is_all else clean + 3)
    assert state(scenario.api) == expected


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=in_matrix) for seed in (2, 3))])
def test_a_fifth_of_all_requests_fails_at_random(
    scenario: Scenario, plane: ControlPlane, seed: int
) -> None:
    expected = scenario.converged()
    scenario.reset()
    dice = random.Random(seed)
    kinds = list(FAULTS.values())

    def fault(request: Request) -> Answer | Cut | None:
        return dice.choice(kinds)(request) if dice.random() < 0.2 else None

    with Proxy(plane, fault) as proxy:
        run = scenario.run(proxy)
    assert run.code == 0, run.log
    assert state(scenario.api) == expected


def test_a_change_at_the_moment_of_the_delete_is_left_for_the_next_run(
    scenario: Scenario, plane: ControlPlane
) -> None:
    scenario.reset()

    def touch() -> None:
        change = {"metadata": {"labels": {"touched": "true"}}}
        scenario.api.patch("ConfigMap", scenario.old, change)

    def fault(request: Request) -> None:
        if request.method == "DELETE":
            touch()

    with Proxy(plane, fault) as proxy:
        run = scenario.run(proxy)
    assert run.code == 0, run.log
    assert scenario.api.find("ConfigMap", scenario.old), run.log


# Lists and watches that expire


def test_a_list_whose_next_page_expired_is_restarted(
    scenario: Scenario, plane: ControlPlane
) -> None:
    expected = scenario.converged()
    scenario.reset()
    expired: list[Request] = []

    def fault(request: Request) -> Answer | None:
        if "continue" not in request.query or len(expired) == 3:
            return None
        expired.append(request)
        return status(410, "Expired")

    with Proxy(plane, fault) as proxy:
        proxy.page = 2
        run = scenario.run(proxy)
    assert run.code == 0, run.log
    assert len(expired) == 3
    assert state(scenario.api) == expected


def test_a_list_whose_next_page_always_expires_fails_cleanly(
    scenario: Scenario, plane: ControlPlane
) -> None:
    before = scenario.reset()

    def fault(request: Request) -> Answer | None:
        return status(410, "Expired") if "continue" in request.query else None

    with Proxy(plane, fault) as proxy:
        proxy.page = 2
        run = scenario.run(proxy)
    assert run.code == 1, run.log[-2000:]
    assert any("the list expires" in error for error in run.errors()), run.log[-2000:]
    assert state(scenario.api) == before


def test_watches_that_expire_and_break_are_restarted(
    plane: ControlPlane, manifests: Release, api: Api, tmp_path: Path
) -> None:
    objects = rendered(manifests)
    runner = Runner(plane, api.namespace, tmp_path / "runs")
    faults: list[Answer | Cut] = [
        expired_watch(),
        expired_watch(),
        status(500, "InternalError"),
        status(410, "Expired"),
        Cut("before"),
        Cut("middle"),
        Answer(200, '{"type": "ADDED", "obj'),
        Answer(200, "<html>\n"),
    ]
    watched = threading.Event()

    def fault(request: Request) -> Answer | Cut | None:
        if not request.is_watch:
            return None
        if not faults:
            watched.set()
            return None
        return faults.pop(0)

    create_all(api, [obj for obj in objects if obj["kind"] != "Rollout"])
    with Proxy(plane, fault) as proxy:
        run = runner.start(arguments_of(objects, on_failure="fail"), proxy.url)
        assert watched.wait(30 * PATIENCE), run.log
        create_all(api, objects)
        assert run.code == 0, run.log
    assert len(owners(revision_with(api, greeting="version 1"))) == 2


def test_a_watch_that_is_cut_after_a_while_does_not_miss_events(
    plane: ControlPlane, manifests: Release, api: Api, tmp_path: Path
) -> None:
    objects = rendered(manifests)
    runner = Runner(plane, api.namespace, tmp_path / "runs")
    create_all(api, [obj for obj in objects if obj["kind"] != "Rollout"])

    def fault(request: Request) -> Cut | None:
        """Create the Rollout while no watch is open."""
        is_first = request.is_watch and not api.find("Rollout", "app")
        return Cut("before", lambda: create_all(api, objects)) if is_first else None

    with Proxy(plane, fault) as proxy:
        arguments = arguments_of(objects, on_failure="fail", timeout="300s")
        run = runner.run(arguments, proxy.url)
    assert run.code == 0, run.log
    assert run.seconds < 20 * PATIENCE


# Restarts of the API server


def test_the_api_server_restarts(own_cluster: Cluster, tmp_path: Path) -> None:
    """While a run waits, and between two patches of a run: one cluster, because a start is slow."""
    for step in (restart_while_attach_waits, restart_between_two_patches):
        plane = own_cluster.plane
        namespace = make_namespace(plane.api(), step.__name__)
        folder = tmp_path / step.__name__
        step(own_cluster, Release("helm3", plane, namespace, folder / "release"), folder)


def restart_while_attach_waits(cluster: Cluster, release: Release, folder: Path) -> None:
    api = cluster.plane.api(release.namespace)
    objects = rendered(release)
    create_all(api, [obj for obj in objects if obj["kind"] != "Rollout"])
    runner = Runner(cluster.plane, release.namespace, folder / "runs")
    run = runner.start(arguments_of(objects, on_failure="fail")).until("waiting for")
    cluster.stop_api()
    with pytest.raises(OSError, match="refused"):
        api.names("ConfigMap")
    cluster.start_api()
    create_all(api, objects)
    assert run.code == 0, run.log
    assert len(owners(revision_with(api, greeting="version 1"))) == 2
    container = {"name": "app", "image": "app:1"}
    api.create({"kind": "Pod", "metadata": {"name": "one"}, "spec": {"containers": [container]}})
    api.wait_for(
        lambda: api.get("Pod", "one")["status"]["phase"] == "Running", "the harness goes on"
    )


def restart_between_two_patches(cluster: Cluster, release: Release, folder: Path) -> None:
    scenario = Scenario(cluster.plane, release, folder)
    scenario.reset()
    stopped = threading.Event()

    def stop() -> None:
        if not stopped.is_set():
            cluster.stop_api()
            stopped.set()

    with Proxy(cluster.plane) as proxy:
        proxy.fault = lambda _: Cut("before", stop) if len(proxy.writes) == 2 else None
        run = scenario.runner.start(scenario.arguments, proxy.url)
        assert stopped.wait(30 * PATIENCE), run.log
        cluster.start_api()
        assert run.code == 0, run.log
    after = state(scenario.api)
    assert scenario.run().code == 0
    assert state(scenario.api) == after == scenario.converged()


# Simultaneous runs


def test_attach_started_before_the_apply_waits_for_the_apply(
    plane: ControlPlane, manifests: Release, api: Api, tmp_path: Path
) -> None:
    objects = rendered(manifests)
    kinds = ("ServiceAccount", "Role", "RoleBinding")
    create_all(api, [obj for obj in objects if obj["kind"] in kinds])
    runner = Runner(plane, api.namespace, tmp_path / "runs")
    with Proxy(plane) as proxy:
        run = runner.start(arguments_of(objects, on_failure="fail"), proxy.url)
        api.wait_for(lambda: proxy.verbs["watch"], "the run waits")
        create_all(api, objects)
        assert run.code == 0, run.log
    assert {len(owner_titles) for owner_titles, _ in state(api).values()} == {2}


def test_two_attachers_at_once_agree(scenario: Scenario) -> None:
    expected = scenario.converged()
    for _ in range(3):
        scenario.reset()
        runs = [scenario.runner.start(scenario.arguments) for _ in range(2)]
        assert [run.code for run in runs] == [0, 0], [run.log for run in runs]
        assert state(scenario.api) == expected


def test_an_attacher_of_an_overtaken_apply_does_not_mark_or_delete_revisions(
    scenario: Scenario, plane: ControlPlane, manifests: Release
) -> None:
    """The attacher waits for version 3 while version 4 is half applied, with only its ConfigMap."""
    api = scenario.api
    third, fourth = rendered(manifests, 3), rendered(manifests, 4)
    scenario.converged()
    create_all(api, [obj for obj in [*third, *fourth] if obj["kind"] == "ConfigMap"])
    before = set(state(api))
    with Proxy(plane) as proxy:
        run = scenario.runner.start(arguments_of(third, timeout="4s"), proxy.url)
        run.until("waiting for")
        code = run.code
    assert (code, [request for request in proxy.writes if request.method == "DELETE"]) == (0, []), (
        run.log
    )
    assert len(run.errors()) == 1
    assert "Rollout/app" in run.errors()[0]
    assert set(state(api)) == before
    assert not [name for name, (_, is_marked) in state(api).items() if is_marked]
    # The newer apply is then attached as usual.
    create_all(api, fourth)
    assert scenario.runner.run(arguments_of(fourth, on_failure="fail")).code == 0
    assert len(owners(revision_with(api, greeting="version 4"))) == 2


def test_a_waiting_attacher_reports_that_another_apply_overtook_its_apply(
    scenario: Scenario, manifests: Release
) -> None:
    api = scenario.api
    third, fourth = rendered(manifests, 3), rendered(manifests, 4)
    run = scenario.runner.start(arguments_of(third, timeout="15s")).until("waiting for")
    create_all(api, fourth)
    assert run.code == 0
    errors = " ".join(run.errors())
    assert "Rollout/app" in errors
    # Both render IDs: the awaited one and the live one.
    for objects in (third, fourth):
        [rollout] = [obj for obj in objects if obj["kind"] == "Rollout"]
        assert rollout["metadata"]["annotations"]["postrender/render-id"] in errors
    assert_nothing_is_missing(api)


# Clocks


@pytest.mark.parametrize("ahead", ["5 minutes", "a day"])
def test_a_mark_in_the_future_does_not_delete_revisions(scenario: Scenario, ahead: str) -> None:
    scenario.reset()
    now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    shift = datetime.timedelta(days=1) if ahead == "a day" else datetime.timedelta(minutes=5)
    mark = (now + shift).strftime("%Y-%m-%dT%H:%M:%SZ")
    change = marked(mark)
    scenario.api.patch("ConfigMap", scenario.old, change)
    assert scenario.run().code == 0
    mark_after = scenario.api.get("ConfigMap", scenario.old)["metadata"]["annotations"][UNUSED]
    # A mark far in the future would keep the revision for ever, so attach writes a new mark.
    assert (mark_after == mark) is (ahead == "5 minutes")
    assert mark_after <= (now + datetime.timedelta(minutes=6)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize("text", ["", "yesterday", "2020-01-01"])
def test_an_invalid_mark_is_replaced(scenario: Scenario, text: str) -> None:
    scenario.reset()
    change = marked(text)
    scenario.api.patch("ConfigMap", scenario.old, change)
    assert scenario.run().code == 0
    mark = scenario.api.get("ConfigMap", scenario.old)["metadata"]["annotations"][UNUSED]
    assert mark.startswith(str(datetime.datetime.now(datetime.timezone.utc).year))


# Without deletions


@pytest.mark.parametrize(("mark", "step"), [(None, "mark"), (LONG_AGO, "delete")])
def test_a_run_with_no_prune_reports_the_next_step_of_an_unused_revision(
    scenario: Scenario, mark: str | None, step: str
) -> None:
    scenario.reset()
    change = marked(mark)
    scenario.api.patch("ConfigMap", scenario.old, change)
    run = scenario.runner.run([*scenario.arguments, "--no-prune"])
    assert run.code == 0
    assert f"{scenario.old} is unused, and a run without --no-prune would {step}" in run.log
    annotations = scenario.api.get("ConfigMap", scenario.old)["metadata"]["annotations"]
    assert annotations.get(UNUSED) == mark


def test_a_run_with_no_prune_reports_the_reason_to_keep_an_edited_revision(
    scenario: Scenario,
) -> None:
    scenario.reset()
    scenario.api.delete("ConfigMap", scenario.old)
    edited = {**scenario.map_of(scenario.old), "data": {"greeting": "edited"}}
    scenario.api.create(edited)
    run = scenario.runner.run([*scenario.arguments, "--no-prune"])
    assert f"keeps the unused ConfigMap/{scenario.old}, because the content does not" in run.log


# The Events


def test_the_events_show_what_a_run_has_deleted(scenario: Scenario) -> None:
    """The Role of the attacher permits the Events."""
    scenario.reset()
    assert scenario.run().code == 0
    deletions = [
        event
        for event in scenario.api.list("Event")
        if event["reason"] == "RevisionDeleted" and scenario.old in event["message"]
    ]
    assert deletions[-1]["message"] == (
        f"attach deleted ConfigMap/{scenario.old}, unused since {LONG_AGO}."
    )
    target = deletions[-1]["involvedObject"]
    workload = scenario.api.get(target["kind"], target["name"])
    assert target["uid"] == workload["metadata"]["uid"]
