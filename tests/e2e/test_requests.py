"""The number of requests, the duration and the memory of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.attach_processes import Run, Runner, arguments_of, create_all, in_parallel, parse
from tests.e2e.cluster import ControlPlane
from tests.e2e.proxy import Proxy
from tests.e2e.queries import revisions
from tests.e2e.releases import Release

# The design's limit for a run, in addition to two patches for each ConfigMap.
OTHER_REQUESTS = 30
PEAK_MB = 128
PAGE = 500

Report = Callable[[str], None]


@pytest.fixture
def report(record_property: Callable[[str, object], None]) -> Report:
    """Return a function that records a line of figures, which `pytest -rP` shows."""

    def report(line: str) -> None:
        record_property("figures", line)
        print(line)

    return report


def with_config_maps(count: int) -> dict[str, Any]:
    """Return values with one Rollout that references `count` ConfigMaps."""
    names = [f"config-{number}" for number in range(count)]
    workload = {"name": "app", "kind": "Rollout", "envFrom": names, "replicas": 0}
    data = {name: {"greeting": name} for name in names}
    return {"workloads": [workload], "configMaps": data}


def figures(title: str, count: int, proxy: Proxy, run: Run) -> str:
    """Return a line of the table."""
    verbs = ", ".join(f"{verb} {number}" for verb, number in sorted(proxy.verbs.items()))
    size = f"{run.seconds:.1f} s, {run.peak_mb:.0f} MB"
    return f"{title:<24} {count:>5} ConfigMaps: {len(proxy.requests):>5} requests ({verbs}), {size}"


def count_other_requests(proxy: Proxy) -> int:
    """Return the number of requests that were not patches."""
    return len(proxy.requests) - proxy.verbs["patch"]


@pytest.mark.parametrize("count", [1, 50, 500])
def test_requests_after_an_apply_and_of_a_second_run(
    plane: ControlPlane, manifests: Release, api: Api, tmp_path: Path, report: Report, count: int
) -> None:
    objects = parse(manifests.render(manifests.template(with_config_maps(count))))
    create_all(api, objects)
    arguments = arguments_of(objects, on_failure="fail")
    runner = Runner(plane, api.namespace, tmp_path / "runs")
    with Proxy(plane) as proxy:
        run = runner.run(arguments, proxy.url)
        assert run.code == 0, run.log
        report(figures("after the apply", count, proxy, run))
        assert proxy.verbs["patch"] <= 2 * count
        assert count_other_requests(proxy) <= OTHER_REQUESTS + count // PAGE
        assert {len(revision["metadata"]["ownerReferences"]) for revision in revisions(api)} == {2}
        assert run.peak_mb < PEAK_MB
        proxy.reset()
        again = runner.run(arguments, proxy.url)
        assert again.code == 0, again.log
        report(figures("once more", count, proxy, again))
        assert not proxy.writes
        assert count_other_requests(proxy) <= OTHER_REQUESTS + count // PAGE


@pytest.mark.parametrize("count", [1, 50, 500])
def test_requests_before_an_apply(
    plane: ControlPlane, manifests: Release, api: Api, tmp_path: Path, report: Report, count: int
) -> None:
    """Helm applies in this order: ConfigMaps, then the Job, then the Rollout."""
    objects = parse(manifests.render(manifests.template(with_config_maps(count))))
    create_all(api, [obj for obj in objects if obj["kind"] != "Rollout"])
    runner = Runner(plane, api.namespace, tmp_path / "runs")
    with Proxy(plane) as proxy:
        run = runner.start(arguments_of(objects, on_failure="fail"), proxy.url)
        api.wait_for(lambda: proxy.verbs["watch"], "the run waits")
        create_all(api, [obj for obj in objects if obj["kind"] == "Rollout"])
        assert run.code == 0, run.log
        report(figures("before the Rollout", count, proxy, run))
    assert {len(revision["metadata"]["ownerReferences"]) for revision in revisions(api)} == {2}
    assert proxy.verbs["patch"] <= 2 * count
    assert count_other_requests(proxy) <= OTHER_REQUESTS + 4 * (count // PAGE)


def test_requests_of_a_run_that_starts_before_the_apply(
    plane: ControlPlane, manifests: Release, api: Api, tmp_path: Path, report: Report
) -> None:
    count = 50
    objects = parse(manifests.render(manifests.template(with_config_maps(count))))
    kinds = ("ServiceAccount", "Role", "RoleBinding")
    create_all(api, [obj for obj in objects if obj["kind"] in kinds])
    runner = Runner(plane, api.namespace, tmp_path / "runs")
    with Proxy(plane) as proxy:
        run = runner.start(arguments_of(objects, on_failure="fail"), proxy.url)
        api.wait_for(lambda: proxy.verbs["watch"], "the run waits")
        create_all(api, [obj for obj in objects if obj["kind"] == "ConfigMap"])
        create_all(api, [obj for obj in objects if obj["kind"] == "Rollout"])
        assert run.code == 0, run.log
        report(figures("before all", count, proxy, run))
    assert proxy.verbs["patch"] <= 2 * count
    assert count_other_requests(proxy) <= OTHER_REQUESTS


def test_few_requests_while_a_config_map_is_missing(
    plane: ControlPlane, manifests: Release, api: Api, tmp_path: Path, report: Report
) -> None:
    objects = parse(manifests.render(manifests.template(with_config_maps(1))))
    create_all(api, [obj for obj in objects if obj["kind"] != "ConfigMap"])
    runner = Runner(plane, api.namespace, tmp_path / "runs")
    with Proxy(plane) as proxy:
        run = runner.run(arguments_of(objects, timeout="10s"), proxy.url)
        assert run.code == 0, run.log
        report(figures("without it, 10 s", 1, proxy, run))
    # In addition to the usual requests: one request per second.
    assert count_other_requests(proxy) <= OTHER_REQUESTS + 10


def test_a_large_namespace_is_read_in_pages_with_little_memory(
    plane: ControlPlane, manifests: Release, api: Api, tmp_path: Path, report: Report
) -> None:
    objects = parse(manifests.render(manifests.template(with_config_maps(1))))
    create_all(api, objects)
    fill(api, replica_sets=500, config_maps=2000)
    runner = Runner(plane, api.namespace, tmp_path / "runs")
    with Proxy(plane) as proxy:
        run = runner.run(arguments_of(objects, on_failure="fail"), proxy.url)
        assert run.code == 0, run.log
        report(figures("500 ReplicaSets", 2000, proxy, run))
    lists = [request for request in proxy.requests if request.verb == "list"]
    assert all(request.query["limit"] == [str(PAGE)] for request in lists)
    pages = [request for request in lists if "continue" in request.query]
    # 2,001 ConfigMaps are read three times, 501 ReplicaSets twice.
    assert 4 + 1 <= len(pages) <= 3 * 4 + 2 * 1
    assert count_other_requests(proxy) - len(pages) <= OTHER_REQUESTS
    assert proxy.verbs["patch"] <= 2
    assert run.peak_mb < PEAK_MB


def fill(api: Api, replica_sets: int, config_maps: int) -> None:
    """Fill a namespace with other workloads' ReplicaSets and with 4 KB revisions of the group."""
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

    objects = [config_map(number) for number in range(config_maps)]
    objects += [replica_set(number) for number in range(replica_sets)]
    in_parallel(api.create, objects)
