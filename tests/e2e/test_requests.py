"""How many requests a run sends, how long it takes and what memory it needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.cluster import ControlPlane
from tests.e2e.looks import revisions
from tests.e2e.proxy import Proxy
from tests.e2e.releases import Release
from tests.e2e.runs import Run, Runner, arguments_of, create_all, in_parallel, parse

# What the design allows a run besides two patches a ConfigMap.
OTHER_REQUESTS = 30
PEAK_MB = 128
PAGE = 500

Tell = Callable[[str], None]


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Tell:
    """Return what writes a line of figures, which `pytest -rP` shows."""

    def tell(line: str) -> None:
        record_property("figures", line)
        print(line)

    return tell


def naming(count: int) -> dict[str, Any]:
    """Return values: one Rollout that names so many ConfigMaps."""
    names = [f"config-{number}" for number in range(count)]
    workload = {"name": "app", "kind": "Rollout", "envFrom": names, "replicas": 0}
    data = {name: {"greeting": name} for name in names}
    return {"workloads": [workload], "configMaps": data}


def figures(title: str, count: int, proxy: Proxy, run: Run) -> str:
    """Return a line of the table."""
    verbs = ", ".join(f"{verb} {number}" for verb, number in sorted(proxy.verbs.items()))
    size = f"{run.seconds:.1f} s, {run.peak_mb:.0f} MB"
    return f"{title:<24} {count:>5} ConfigMaps: {len(proxy.requests):>5} requests ({verbs}), {size}"


def others(proxy: Proxy) -> int:
    """Return how many requests were no patches."""
    return len(proxy.requests) - proxy.verbs["patch"]


@pytest.mark.parametrize("count", [1, 50, 500])
def test_requests_after_an_apply_and_once_more(
    plane: ControlPlane, manifests: Release, api: Api, tmp_path: Path, tell: Tell, count: int
) -> None:
    objects = parse(manifests.render(manifests.template(naming(count))))
    create_all(api, objects)
    arguments = arguments_of(objects, on_failure="fail")
    runner = Runner(plane, api.namespace, tmp_path / "runs")
    with Proxy(plane) as proxy:
        run = runner.run(arguments, proxy.url)
        assert run.code == 0, run.log
        tell(figures("after the apply", count, proxy, run))
        assert proxy.verbs["patch"] <= 2 * count
        assert others(proxy) <= OTHER_REQUESTS + count // PAGE
        assert {len(one["metadata"]["ownerReferences"]) for one in revisions(api)} == {2}
        assert run.peak_mb < PEAK_MB
        proxy.reset()
        again = runner.run(arguments, proxy.url)
        assert again.code == 0, again.log
        tell(figures("once more", count, proxy, again))
        assert not proxy.writes
        assert others(proxy) <= OTHER_REQUESTS + count // PAGE


@pytest.mark.parametrize("count", [1, 50, 500])
def test_requests_before_an_apply(
    plane: ControlPlane, manifests: Release, api: Api, tmp_path: Path, tell: Tell, count: int
) -> None:
    """The order in which Helm applies: ConfigMaps, then the Job, then the Rollout."""
    objects = parse(manifests.render(manifests.template(naming(count))))
    create_all(api, [obj for obj in objects if obj["kind"] != "Rollout"])
    runner = Runner(plane, api.namespace, tmp_path / "runs")
    with Proxy(plane) as proxy:
        run = runner.start(arguments_of(objects, on_failure="fail"), proxy.url)
        api.wait_for(lambda: proxy.verbs["watch"], "it waits")
        create_all(api, [obj for obj in objects if obj["kind"] == "Rollout"])
        assert run.code == 0, run.log
        tell(figures("before the Rollout", count, proxy, run))
    assert {len(one["metadata"]["ownerReferences"]) for one in revisions(api)} == {2}
    assert proxy.verbs["patch"] <= 2 * count
    assert others(proxy) <= OTHER_REQUESTS + 4 * (count // PAGE)


def test_requests_of_a_run_that_starts_before_anything_is_there(
    plane: ControlPlane, manifests: Release, api: Api, tmp_path: Path, tell: Tell
) -> None:
    count = 50
    objects = parse(manifests.render(manifests.template(naming(count))))
    kinds = ("ServiceAccount", "Role", "RoleBinding")
    create_all(api, [obj for obj in objects if obj["kind"] in kinds])
    runner = Runner(plane, api.namespace, tmp_path / "runs")
    with Proxy(plane) as proxy:
        run = runner.start(arguments_of(objects, on_failure="fail"), proxy.url)
        api.wait_for(lambda: proxy.verbs["watch"], "it waits")
        create_all(api, [obj for obj in objects if obj["kind"] == "ConfigMap"])
        create_all(api, [obj for obj in objects if obj["kind"] == "Rollout"])
        assert run.code == 0, run.log
        tell(figures("before all", count, proxy, run))
    assert proxy.verbs["patch"] <= 2 * count
    assert others(proxy) <= OTHER_REQUESTS


def test_requests_while_a_config_map_is_missing_are_few(
    plane: ControlPlane, manifests: Release, api: Api, tmp_path: Path, tell: Tell
) -> None:
    objects = parse(manifests.render(manifests.template(naming(1))))
    create_all(api, [obj for obj in objects if obj["kind"] != "ConfigMap"])
    runner = Runner(plane, api.namespace, tmp_path / "runs")
    with Proxy(plane) as proxy:
        run = runner.run(arguments_of(objects, timeout="10s"), proxy.url)
        assert run.code == 0, run.log
        tell(figures("without it, 10 s", 1, proxy, run))
    # Besides what the run sends in any case: one request a second.
    assert others(proxy) <= OTHER_REQUESTS + 10


def test_a_large_namespace_is_read_in_pages_and_little_memory(
    plane: ControlPlane, manifests: Release, api: Api, tmp_path: Path, tell: Tell
) -> None:
    objects = parse(manifests.render(manifests.template(naming(1))))
    create_all(api, objects)
    fill(api, replica_sets=500, config_maps=2000)
    runner = Runner(plane, api.namespace, tmp_path / "runs")
    with Proxy(plane) as proxy:
        run = runner.run(arguments_of(objects, on_failure="fail"), proxy.url)
        assert run.code == 0, run.log
        tell(figures("500 ReplicaSets", 2000, proxy, run))
    lists = [request for request in proxy.requests if request.verb == "list"]
    assert all(request.query["limit"] == [str(PAGE)] for request in lists)
    pages = [request for request in lists if "continue" in request.query]
    # 2,001 ConfigMaps are read three times, 501 ReplicaSets twice.
    assert 4 + 1 <= len(pages) <= 3 * 4 + 2 * 1
    assert others(proxy) - len(pages) <= OTHER_REQUESTS
    assert proxy.verbs["patch"] <= 2
    assert run.peak_mb < PEAK_MB


def fill(api: Api, replica_sets: int, config_maps: int) -> None:
    """Fill a namespace with other workloads' ReplicaSets and with revisions of the set, of 4 KB."""
    owner = api.create({"kind": "ConfigMap", "metadata": {"name": "owner"}})["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
    container = {
        "name": "app",
        "image": "app:1",
        "env": [{"name": f"VARIABLE_{number}", "value": "x" * 60} for number in range(40)],
    }

    def replica_set(number: int) -> Json:
        labels = {"app": f"other-{number}"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
        return {"kind": "ReplicaSet", "metadata": {"name": f"other-{number}"}, "spec": spec}

    def config_map(number: int) -> Json:
        meta = {
            "name": f"other-{number}",
            "labels": {"postrender/attach-group": "app-rollout-attach"},
            "annotations": {"postrender/base-name": "other"},
            "ownerReferences": [reference],
        }
        return {"kind": "ConfigMap", "metadata": meta, "data": {"file": "x" * 4000}}

    made = [config_map(number) for number in range(config_maps)]
    made += [replica_set(number) for number in range(replica_sets)]
    in_parallel(api.create, made)
