"""The number of requests, the duration and the memory of a run."""

from __future__ import annotations

from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.attach_processes import Run, Runner, arguments_of, create_all, in_parallel, parse
from tests.e2e.cluster import ControlPlane
from tests.e2e.proxy import Proxy
from tests.e2e.queries import owners, revisions
from tests.e2e.releases import Release
from tests.rings import in_matrix

# The design's limit for a run, in addition to two patches for each ConfigMap.
OTHER_REQUESTS = 30
PEAK_MB = 128
PAGE = 500
GROUP = "app-rollout-attach"

# The test after an apply fills a page too.
LARGE = pytest.param(500, marks=in_matrix)
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
    """Return the number of requests that were neither patches nor reads of one ConfigMap."""
    return len(proxy.requests) - proxy.verbs["patch"] - proxy.verbs["get"]


@pytest.mark.parametrize("count", [1, pytest.param(50, marks=in_matrix), 500])
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
        assert proxy.verbs["get"] <= count
        assert count_other_requests(proxy) <= OTHER_REQUESTS + count // PAGE
        assert {len(owners(revision)) for revision in revisions(api)} == {2}
        assert run.peak_mb < PEAK_MB
        proxy.reset()
        again = runner.run(arguments, proxy.url)
        assert again.code == 0, again.log
        report(figures("once more", count, proxy, again))
        assert not proxy.writes
        # Anybody can write owners, so the owners do not show that an earlier run read the content.
        assert proxy.verbs["get"] <= count
        assert count_other_requests(proxy) <= OTHER_REQUESTS + count // PAGE


@pytest.mark.parametrize("count", [pytest.param(1, marks=in_matrix), 50, LARGE])
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
    assert {len(owners(revision)) for revision in revisions(api)} == {2}
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
        assert run.code == 1, run.log
        report(figures("without it, 10 s", 1, proxy, run))
    # In addition to the usual requests: one request per second.
    assert count_other_requests(proxy) <= OTHER_REQUESTS + 10


def test_answers_do_not_contain_values_of_secrets(
    plane: ControlPlane, manifests: Release, api: Api, tmp_path: Path
) -> None:
    manifests.config |= {"secrets": True, "keepOriginal": False}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "app-secret"}}
    secret["stringData"] = {"password": PASSWORD}
    volumes = [{"name": "secret", "secret": {"secretName": "app-secret"}}]
    workload = {"name": "app", "kind": "Rollout", "replicas": 0, "podSpec": {"volumes": volumes}}
    values = {"workloads": [workload], "extra": [secret]}
    objects = parse(manifests.render(manifests.template(values)))
    create_all(api, [*objects, unused_secret()])
    answers: dict[str, list[bytes]] = defaultdict(list)
    runner = Runner(plane, api.namespace, tmp_path / "runs")
    with Proxy(plane) as proxy:
        proxy.on_answer = lambda request, content: answers[request.method].append(content)
        run = runner.run(arguments_of(objects, on_failure="fail"), proxy.url)
    deleted = api.get("Secret", OLD)
    api.patch("Secret", OLD, {"metadata": {"finalizers": None}})
    assert run.code == 0, run.log
    assert deleted["metadata"]["deletionTimestamp"]
    assert any(OLD.encode() in content for content in answers["DELETE"])
    assert answers["PATCH"]
    value = b64encode(PASSWORD.encode())
    assert not [
        content for contents in answers.values() for content in contents if value in content
    ]


PASSWORD = "correct horse battery staple"
OLD = "app-secret-old"


def unused_secret() -> Json:
    """Return a Secret that a run deletes. The finalizer makes the API server return the object."""
    annotations = {
        "postrender/base-name": "app-secret",
        "postrender/unused-since": "2020-01-01T00:00:00Z",
    }
    metadata = {
        "name": OLD,
        "labels": {"postrender/attach-group": GROUP},
        "annotations": annotations,
        "finalizers": ["example.com/test"],
    }
    return {"kind": "Secret", "metadata": metadata, "stringData": {"password": PASSWORD}}


def test_a_large_namespace_is_read_in_pages_with_little_memory(
    plane: ControlPlane, manifests: Release, api: Api, tmp_path: Path, report: Report
) -> None:
    objects = parse(manifests.render(manifests.template(with_config_maps(1))))
    create_all(api, objects)
    fill(api, replica_sets=500, config_maps=1000)
    runner = Runner(plane, api.namespace, tmp_path / "runs")
    with Proxy(plane) as proxy:
        run = runner.run(arguments_of(objects, on_failure="fail"), proxy.url)
        assert run.code == 0, run.log
        report(figures("500 ReplicaSets", 1000, proxy, run))
    lists = [request for request in proxy.requests if request.verb == "list"]
    assert all(request.query["limit"] == [str(PAGE)] for request in lists)
    pages = [request for request in lists if "continue" in request.query]
    # 1,001 ConfigMaps are read three times, 501 ReplicaSets twice.
    assert 2 + 1 <= len(pages) <= 3 * 2 + 2 * 1
    assert count_other_requests(proxy) - len(pages) <= OTHER_REQUESTS
    assert proxy.verbs["patch"] <= 2
    assert run.peak_mb < PEAK_MB


TENANT_MB = 96


@pytest.mark.parametrize("kind", ["ConfigMap", "Pod"])
def test_large_objects_of_a_tenant_need_little_memory(
    plane: ControlPlane, manifests: Release, api: Api, tmp_path: Path, report: Report, kind: str
) -> None:
    """The limit of the Job is 256 MiB; the API server permits 256 KiB of annotations."""
    count = 300
    objects = parse(manifests.render(manifests.template(with_config_maps(1))))
    create_all(api, objects)
    annotations = {
        "postrender/base-name": "x" * 85_000,
        "postrender/unused-since": "x" * 85_000,
        "postrender/render-id": "x" * 85_000,
    }
    labels = {"postrender/attach-group": GROUP}
    content: Json = {"ConfigMap": {"data": {"a": "x" * 255_000}}, "Pod": {"spec": WAITING}}[kind]

    def create(number: int) -> None:
        metadata = {"name": f"tenant-{number}", "labels": labels, "annotations": annotations}
        api.create({"kind": kind, "metadata": metadata, **content})

    in_parallel(create, range(count))
    run = Runner(plane, api.namespace, tmp_path / "runs").run(arguments_of(objects))
    report(f"{count} {kind}s with 255 KB of annotations: {run.seconds:.1f} s, {run.peak_mb:.0f} MB")
    assert run.code == 0, run.log[-2000:]
    assert run.peak_mb < TENANT_MB
    assert {len(owners(revision)) for revision in given(api)} == {2}


# The simulated kubelet does not start a Pod with a gate.
WAITING: Json = {
    "schedulingGates": [{"name": "example.com/wait"}],
    "containers": [{"name": "a", "image": "a:1"}],
}


def given(api: Api) -> list[Json]:
    """Return the revisions of the chart."""
    return [item for item in revisions(api) if item["metadata"]["name"].startswith("config-")]


def fill(api: Api, replica_sets: int, config_maps: int) -> None:
    """Fill a namespace with other workloads' ReplicaSets and with 4 KB revisions of the group."""
    uid = api.get("ServiceAccount", GROUP)["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ServiceAccount", "name": GROUP, "uid": uid}
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
            "labels": {"postrender/attach-group": GROUP},
            "annotations": {"postrender/base-name": "other"},
            "ownerReferences": [reference],
        }
        return {"kind": "ConfigMap", "metadata": meta, "data": {"file": "x" * 4000}}

    objects = [config_map(number) for number in range(config_maps)]
    objects += [replica_set(number) for number in range(replica_sets)]
    in_parallel(api.create, objects)
