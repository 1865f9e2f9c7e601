"""The behaviour of the kubelet with ConfigMaps, without postrender. See tests/e2e/BEHAVIOUR.md.

The first tests run on a real node, and on the stand-in of the other end-to-end tests. They fail if
the two disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.cluster import ControlPlane
from tests.e2e.kubelet import content
from tests.e2e.namespaces import make_namespace
from tests.e2e.node.containers import crash, is_ready
from tests.e2e.node.nodes import RealNodes
from tests.e2e.node.story import get_values

# The kubelet reports some failures only after it has retried.
SECONDS = 60


class Place(NamedTuple):
    """A namespace, and a function that returns the values that the container of a Pod reads."""

    api: Api
    read: Callable[[Json], list[str]]

    def start(self, *pods: Json) -> None:
        """Create Pods, and wait until they are ready."""
        for pod in pods:
            self.api.create(pod)
        for pod in pods:
            self.wait_until_ready(pod["metadata"]["name"])

    def wait_until_ready(self, name: str, restarts: int = 0) -> None:
        """Wait until a Pod is ready, after a number of restarts."""

        def ready() -> bool:
            pod = self.api.get("Pod", name)
            [status] = pod["status"]["containerStatuses"]
            return is_ready(pod) and status["restartCount"] == restarts

        self.api.wait_for(ready, f"Pod/{name} is ready", SECONDS)

    def wait_until_waiting(self, name: str, *reasons: str) -> None:
        """Wait until the container of a Pod waits for one of the reasons."""

        def waits() -> bool:
            [status] = self.api.get("Pod", name)["status"]["containerStatuses"]
            return status["state"].get("waiting", {}).get("reason") in reasons

        self.api.wait_for(waits, f"Pod/{name} waits with {reasons}", SECONDS)

    def reads(self, name: str) -> list[str]:
        """Return the values that the container of a Pod reads."""
        return self.read(self.api.get("Pod", name))


def read_real(pod: Json) -> list[str]:
    return sorted((get_values(pod["status"]["podIP"]) or {}).values())


def read_recorded(pod: Json) -> list[str]:
    return sorted({value for data in content(pod).values() for value in data.values()})


@pytest.fixture
def real(pods_api: Api) -> Place:
    """Return a namespace with real nodes."""
    return Place(pods_api, read_real)


@pytest.fixture(params=["kubelet", "stand-in"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """Yield a namespace with real nodes, and one with the stand-in."""
    if request.param == "kubelet":
        yield request.getfixturevalue("real")
        return
    plane: ControlPlane = request.getfixturevalue("plane")
    api = plane.api(make_namespace(plane.api(), request.node.name))
    yield Place(api, read_recorded)
    api.delete("Namespace", api.namespace)


def config(name: str, value: str, immutable: bool = False) -> Json:
    """Return a ConfigMap."""
    data = {"setting": value}
    return {
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "immutable": immutable,
        "data": data,
    }


def volume_pod(
    name: str, config_map: str, node: str = "", optional: bool = False, **mount: str
) -> Json:
    """Return a Pod that mounts a ConfigMap as a volume."""
    source = {"name": config_map, "optional": optional}
    mounts = [{"name": "config", "mountPath": "/etc/app/setting", **mount}]
    pod = pod_with(name, node, volumeMounts=mounts)
    pod["spec"]["volumes"] = [{"name": "config", "configMap": source}]
    return pod


def variable_pod(name: str, config_map: str, node: str = "", optional: bool = False) -> Json:
    """Return a Pod with the variables of a ConfigMap."""
    source = {"name": config_map, "optional": optional}
    return pod_with(name, node, envFrom=[{"configMapRef": source}])


def pod_with(name: str, node: str, **fields: object) -> Json:
    """Return a Pod that satisfies the restricted Pod Security Standard."""
    security = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    probe = {"httpGet": {"port": 8080}, "periodSeconds": 1}
    app = {"name": "app", "image": "localhost/app:1", "securityContext": security}
    spec: Json = {
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 1,
        "containers": [{**app, "readinessProbe": probe, **fields}],
    }
    if node:
        spec["nodeName"] = node
    return {"kind": "Pod", "metadata": {"name": name}, "spec": spec}


# The kubelet and the stand-in


def test_a_pod_waits_for_a_missing_config_map(place: Place) -> None:
    place.api.create(volume_pod("volume", "later"))
    place.api.create(variable_pod("variable", "later"))
    place.wait_until_waiting("volume", "ContainerCreating", "CreateContainerConfigError")
    place.wait_until_waiting("variable", "CreateContainerConfigError")
    place.api.create(config("later", "v1"))
    place.wait_until_ready("volume")
    place.wait_until_ready("variable")
    assert place.reads("volume") == place.reads("variable") == ["v1"]


def test_a_pod_starts_without_an_optional_config_map(place: Place) -> None:
    volume = volume_pod("volume", "nothing", optional=True)
    place.start(volume, variable_pod("variable", "nothing", optional=True))
    assert place.reads("volume") == place.reads("variable") == []


def test_a_new_pod_reads_the_changed_content(place: Place) -> None:
    place.api.create(config("shared", "v1"))
    place.start(variable_pod("old", "shared"))
    place.api.patch("ConfigMap", "shared", {"data": {"setting": "v2"}})
    place.start(variable_pod("new", "shared"), volume_pod("new-volume", "shared"))
    assert place.reads("old") == ["v1"]
    assert place.reads("new") == place.reads("new-volume") == ["v2"]


def test_a_running_pod_outlives_its_config_map_and_a_new_pod_waits(place: Place) -> None:
    place.api.create(config("shared", "v1"))
    place.start(variable_pod("old", "shared"))
    place.api.delete("ConfigMap", "shared")
    place.api.create(variable_pod("new", "shared"))
    place.wait_until_waiting("new", "CreateContainerConfigError")
    assert place.reads("old") == ["v1"]


# Only the kubelet


def test_a_file_changes_in_a_running_pod_and_a_variable_does_not(real: Place) -> None:
    real.api.create(config("shared", "v1"))
    subpath = volume_pod("subpath", "shared", subPath="setting")
    real.start(volume_pod("volume", "shared"), subpath, variable_pod("variable", "shared"))
    real.api.patch("ConfigMap", "shared", {"data": {"setting": "v2"}})
    real.api.wait_for(lambda: real.reads("volume") == ["v2"], "the file changes", SECONDS)
    assert real.reads("subpath") == real.reads("variable") == ["v1"]


def test_a_container_restarts_after_its_config_map_was_deleted(
    real: Place, nodes: RealNodes
) -> None:
    real.api.create(config("mutable", "v1"))
    real.api.create(config("immutable", "v1", immutable=True))
    for name in ("mutable", "immutable"):
        real.start(volume_pod(f"{name}-volume", name), variable_pod(f"{name}-variable", name))
        real.api.delete("ConfigMap", name)
    for pod in real.api.list("Pod"):
        crash(nodes.label, pod)
    # The volume is still mounted, and the kubelet caches an immutable ConfigMap.
    for name in ("mutable-volume", "immutable-volume", "immutable-variable"):
        real.wait_until_ready(name, restarts=1)
        assert real.reads(name) == ["v1"]
    real.wait_until_waiting("mutable-variable", "CreateContainerConfigError")


def test_a_re_created_immutable_config_map_has_its_old_content_on_some_nodes(real: Place) -> None:
    real.api.create(config("shared", "v1", immutable=True))
    real.start(variable_pod("old", "shared", "node-1"))
    real.api.delete("ConfigMap", "shared")
    real.api.create(config("shared", "v2", immutable=True))
    on_first = (volume_pod("volume", "shared", "node-1"), variable_pod("first", "shared", "node-1"))
    real.start(*on_first, variable_pod("second", "shared", "node-2"))
    assert real.reads("volume") == real.reads("first") == ["v1"]
    assert real.reads("second") == ["v2"]
