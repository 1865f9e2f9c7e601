"""The render ID on workloads: what rolls, what the controllers copy, and what it decides."""

from __future__ import annotations

import textwrap

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.lifecycle_checks import NothingIsLost
from tests.e2e.manual_attach import AT_ONCE, App, assert_attached
from tests.e2e.queries import (
    age_marks,
    contents,
    owners,
    revision_with,
    revisions,
    wait_until_pruned,
)
from tests.e2e.releases import Release
from tests.e2e.rollouts import replica_sets
from tests.e2e.test_preview import REVISION_OBJECTS, have_observed

RENDER_ID = "postrender/render-id"
VERSIONS = {"Rollout": "argoproj.io/v1alpha1"}
STRATEGIES = {"Rollout": "strategy: {canary: {}}"}
# Each pair is equal for the API server.
EQUAL = {
    "containerPort: 80}": "containerPort: 80, protocol: TCP}",
    "cpu: 1000m": "cpu: '1'",
    "memory: 1024Mi": "memory: 1Gi",
    "nodeSelector: {}": "restartPolicy: Always",
    "dnsPolicy: ClusterFirst": "terminationGracePeriodSeconds: 30",
}


def manifest(kind: str, image: str = "app:1") -> str:
    """Return a ConfigMap and a workload of a kind that references it."""
    replicas = "" if kind == "DaemonSet" else "replicas: 0"
    return textwrap.dedent(f"""\
        apiVersion: v1
        kind: ConfigMap
        metadata: {{name: app-config}}
        data: {{greeting: hello}}
        ---
        apiVersion: {VERSIONS.get(kind, "apps/v1")}
        kind: {kind}
        metadata: {{name: app}}
        spec:
          {replicas}
          {STRATEGIES.get(kind, "")}
          selector: {{matchLabels: {{app: app}}}}
          template:
            metadata: {{labels: {{app: app}}}}
            spec:
              dnsPolicy: ClusterFirst
              nodeSelector: {{}}
              containers:
              - name: app
                image: {image}
                ports: [{{containerPort: 80}}]
                resources: {{limits: {{cpu: 1000m, memory: 1024Mi}}}}
                envFrom: [{{configMapRef: {{name: app-config}}}}]
        """)


def history(api: Api, kind: str) -> list[Json]:
    """Return the ReplicaSets or ControllerRevisions of the workload."""
    return [
        obj
        for obj in api.list(REVISION_OBJECTS[kind])
        if any(owner["kind"] == kind for owner in obj["metadata"].get("ownerReferences", ()))
    ]


def render_id(obj: Json) -> str:
    return str(obj["metadata"].get("annotations", {}).get(RENDER_ID, ""))


def release(app: App, text: str, kind: str) -> Json:
    """Apply a manifest, run its attacher, and return the live workload."""
    app.apply_text(app.manifests.render(text))
    assert_attached(app.start())
    api = app.api
    api.wait_for(lambda: have_observed(api, [api.get(kind, "app")]), "the controller has seen it")
    return api.get(kind, "app")


@pytest.mark.parametrize("kind", REVISION_OBJECTS)
def test_an_equal_change_does_not_roll(manifests: Release, api: Api, kind: str) -> None:
    app = App(manifests, api)
    first = release(app, manifest(kind), kind)
    text = manifest(kind)
    for old, new in EQUAL.items():
        assert old in text
        text = text.replace(old, new)
    assert render_id(release(app, text, kind)) != render_id(first)
    assert len(history(api, kind)) == 1


@pytest.mark.parametrize("kind", REVISION_OBJECTS)
def test_the_history_object_of_a_new_template_has_the_render_id(
    manifests: Release, api: Api, kind: str
) -> None:
    app = App(manifests, api)
    workloads = [release(app, manifest(kind, image), kind) for image in ("app:1", "app:2", "app:1")]
    first, second, again = map(render_id, workloads)
    assert first == again != second
    assert {render_id(obj) for obj in history(api, kind)} == {first, second}


# What the names of revisions cannot decide


def test_a_run_for_an_overtaken_apply_does_not_sweep(manifests: Release, api: Api) -> None:
    """The image changed after the apply of the run, and the next apply goes back to "one"."""
    app = App(manifests, api, revisionHistoryLimit=0, steps=AT_ONCE)
    with NothingIsLost(api):
        app.release("one")
        app.release("two")
        overtaken = app.applied
        app.release("two", image="app:2")
        old = revision_with(api, greeting="one")["metadata"]["name"]
        wait_until_pruned(api)
        app.attach()
        assert old in age_marks(api, 60)
        run = app.start(overtaken, timeout="2s")
        assert run.code == 0
        assert "has the render ID" in " ".join(run.errors())
        assert api.find("ConfigMap", old)
        app.release("one")
        api.wait_for(lambda: contents(api) == ["one", "one"], "the first content is back")


def test_a_change_of_the_image_is_awaited(manifests: Release, api: Api) -> None:
    """The ReplicaSet becomes an owner, so the revision outlives the Rollout and an orphaning."""
    app = App(manifests, api, steps=AT_ONCE)
    app.release()
    text = app.render(image="app:2")
    run = app.start(text).until("waiting for at most")
    app.apply_text(text)
    assert_attached(run)
    [revision] = revisions(api)
    owner_titles = {f"ReplicaSet/{obj['metadata']['name']}" for obj in replica_sets(api)}
    assert len(owner_titles) == 2
    assert owner_titles <= set(owners(revision))
