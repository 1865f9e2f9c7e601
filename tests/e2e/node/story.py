"""The story of a canary on a real node, which `make story` and the tests play.

A release changes the content of all ConfigMaps, and the canary pauses. Then a pod of the previous
release crashes, and is later deleted.
"""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

from tests.e2e.api import UNREACHABLE, Api, Json
from tests.e2e.cluster import ControlPlane
from tests.e2e.namespaces import make_namespace
from tests.e2e.node.containers import crash, running_pods
from tests.e2e.queries import ATTACHER, apply_attached, wait_for_phase
from tests.e2e.releases import Release
from tests.e2e.rollouts import HASH

CHART = Path(__file__).resolve().parent / "chart"
IMAGE = "postrender:0.1.0"
# Each way to read a ConfigMap, and the name under which the application serves the value.
WAYS = {
    "file": "volume/file",
    "subPath": "subpath",
    "projected": "projected/projected",
    "auto-mount": "mounted/automount",
    "envFrom": "envfrom",
    "env": "env",
}
# Without postrender, an auto-mount has no effect.
OWN_WAYS = [way for way in WAYS if way != "auto-mount"]
SECONDS = 120


class Row(NamedTuple):
    """The values that a pod of a release reads, by way."""

    title: str
    release: str
    values: dict[str, str]

    @property
    def is_consistent(self) -> bool:
        """Return whether the pod reads only the configuration of its own release."""
        return set(self.values.values()) == {self.release}


def new_namespace(plane: ControlPlane, title: str) -> Api:
    """Return a client for a new namespace that enforces the restricted Pod Security Standard."""
    api = plane.api(make_namespace(plane.api(), title))
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    api.patch("Namespace", api.namespace, {"metadata": {"labels": labels}})
    return api


def new_release(tool: str, plane: ControlPlane, api: Api, folder: Path) -> Release:
    """Return a release of the shop, not installed yet."""
    release = Release(tool, plane, api.namespace, folder)
    release.chart = CHART
    release.config["attacher"] |= {"image": IMAGE}
    return release


class Shop:
    """The shop on a node: its releases and the values that its pods read."""

    def __init__(self, release: Release, api: Api, label: str, **values: Any) -> None:
        self.release, self.api, self.label, self.values = release, api, label, values
        # If true, a release waits until its attacher has succeeded.
        self.is_attached = True

    @property
    def ways(self) -> list[str]:
        """The ways in which the pods read ConfigMaps."""
        return list(WAYS) if self.release.postrender else OWN_WAYS

    def deploy(self, setting: str, **values: Any) -> Json | None:
        """Install or upgrade the shop with one value in all ConfigMaps.

        Return the attacher's Pod when the Pod has succeeded, or None without postrender.
        """
        auto_mount = {"autoMount": self.release.postrender}
        values = {**auto_mount, **self.values, "setting": setting, **values}
        if self.release.postrender and self.is_attached:
            return apply_attached(self.api, lambda: self.release.upgrade(values))
        self.release.upgrade(values)
        return None

    def log(self) -> str:
        """Return the log of the attachers that still exist."""
        return self.release.kubectl("logs", "--selector", ATTACHER, "--tail=-1").stdout

    def reads(self, pod: Json) -> dict[str, str]:
        """Return the values that a pod reads now, by way."""
        served = self.api.wait_for(
            lambda: get_values(pod["status"]["podIP"]), "the pod answers", SECONDS
        )
        return {way: served.get(WAYS[way], "nothing") for way in self.ways}

    def pod(self, labels: str) -> Json:
        """Wait for a ready pod with these labels, and return the pod."""
        pods = self.api.wait_for(
            lambda: running_pods(self.api, labels), f"a pod {labels} is ready", SECONDS
        )
        return pods[0]

    def install(self) -> str:
        """Install v1; return the labels of its pods."""
        self.deploy("v1")
        return f"{HASH}={self.settle('Healthy')['status']['stableRS']}"

    def start_canary(self) -> str:
        """Upgrade to v2; return the labels of the new pods when the canary is paused."""
        self.deploy("v2")
        return f"{HASH}={self.settle('Paused')['status']['currentPodHash']}"

    def settle(self, phase: str) -> Json:
        """Wait until the Rollout is in a phase."""
        return wait_for_phase(self.api, phase)

    def crash(self, pod: Json) -> Json:
        """Kill the container of a pod; return the pod when its container runs again."""
        crash(self.label, pod)
        name = pod["metadata"]["name"]

        def restarted() -> Json | None:
            current = self.api.get("Pod", name)
            [status] = current["status"]["containerStatuses"]
            return current if status["restartCount"] and status["ready"] else None

        return self.api.wait_for(restarted, f"the container of {name} is restarted", SECONDS)

    def replace(self, pod: Json, labels: str) -> Json:
        """Delete a pod; return its replacement, which has the same labels."""
        self.api.delete("Pod", pod["metadata"]["name"])
        return self.replacement(pod, labels)

    def replacement(self, pod: Json, labels: str) -> Json:
        """Wait for a ready pod that replaces a deleted one."""

        def replaced() -> Json | None:
            others = (
                other
                for other in running_pods(self.api, labels)
                if other["metadata"]["uid"] != pod["metadata"]["uid"]
            )
            return next(others, None)

        return self.api.wait_for(replaced, "the pod is replaced", SECONDS)


# What happens to each pod of the story, and the release that the pod runs.
TITLES = {
    "v1 pod, before the release": "v1",
    "v2 pod, the canary": "v2",
    "v1 pod, after a crash": "v1",
    "v1 pod, deleted and replaced": "v1",
}


def play(shop: Shop) -> list[Row]:
    """Play the story; return what each pod reads."""
    old = shop.install()
    values = [shop.reads(shop.pod(old))]
    new = shop.start_canary()
    values.append(shop.reads(shop.pod(new)))
    values.append(shop.reads(shop.crash(shop.pod(old))))
    values.append(shop.reads(shop.replace(shop.pod(old), old)))
    pairs = zip(TITLES.items(), values, strict=True)
    return [Row(title, release, read) for (title, release), read in pairs]


def get_values(address: str) -> dict[str, str] | None:
    """Return the answer of an application, or None if there is none yet."""
    try:
        with urllib.request.urlopen(f"http://{address}:8080/", timeout=5) as answer:
            values: dict[str, str] = json.load(answer)
            return values
    except UNREACHABLE:
        return None
