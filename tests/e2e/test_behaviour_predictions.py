"""A real cluster does what tests/predictions expects of each change.

Both sides are rendered, and applied with kubectl one after the other. If the API server accepts
everything, objects that NEW does not contain are deleted, as Helm does.
tests/diff/test_predictions.py compares the same expectations with the preview.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from tests.diff.change_cases import run
from tests.diff.predictions import Prediction, predictions, write_sides
from tests.e2e.api import KINDS, PATIENCE, Api, ApiError, Json, Resource
from tests.e2e.cluster import ControlPlane, kubeconfig
from tests.e2e.namespaces import make_namespace
from tests.e2e.releases import Release
from tests.manifests import is_hook, normalise

T = TypeVar("T")
MORE_KINDS = {
    "PersistentVolumeClaim": Resource("v1", "persistentvolumeclaims"),
    "PriorityClass": Resource("scheduling.k8s.io/v1", "priorityclasses", namespaced=False),
    "RuntimeClass": Resource("node.k8s.io/v1", "runtimeclasses", namespaced=False),
}
# The kinds with pods that run all the time, and the label with the hash of a pod's template.
PODS = ("Deployment", "StatefulSet", "DaemonSet", "Rollout")
WORKLOADS = (*PODS, "Job", "CronJob")
HASHES = ("rollouts-pod-template-hash", "pod-template-hash", "controller-revision-hash")
# Controllers that would still do something after an apply have this time.
QUIET_SECONDS = 4
LIMIT_SECONDS = 20 * PATIENCE

Pods = dict[str, dict[str, str]]


class Change:
    """A prediction in its own namespace of the cluster."""

    def __init__(self, prediction: Prediction, plane: ControlPlane, folder: Path) -> None:
        self.prediction = prediction
        self.old, self.new = rendered(prediction)
        self.api = plane.api(make_namespace(plane.api(), prediction.name))
        folder /= prediction.name
        self.kubectl = Release("helm3", plane, self.api.namespace, folder).kubectl
        self.config = folder / "namespace.kubeconfig"
        self.config.write_text(kubeconfig(plane.url, plane.token, plane.ca, self.api.namespace))
        self.pods: Pods = {}
        self.templates: dict[str, object] = {}
        self.errors = ""

    def apply_old(self) -> None:
        self._apply(self.old, check=True)

    def remember(self) -> None:
        """Wait for the pods of OLD, and keep their names and those of the templates."""
        self.api.wait_for(self._has_all_pods, f"the pods of {self.prediction.name}")
        self.pods = pods_of(self.api)
        self.templates = {name: self._template(name) for name in self.prediction.effects}

    def apply_new(self) -> None:
        self.errors = self._apply(self.new, check=False)
        gone = {} if self.errors else names_of(self.old).items() - names_of(self.new).items()
        for name, is_kept in gone:
            if not is_kept:
                self.kubectl("delete", name, "--wait=false", "--ignore-not-found")

    def wait(self) -> None:
        """Wait until everything is as predicted, or until the time is over."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while self.differences() and time.monotonic() < deadline:
            time.sleep(0.3)

    def differences(self) -> list[str]:
        """Compare the cluster with the prediction."""
        found = []
        for name, pattern in self.prediction.rejected.items():
            # kubectl names no object that it cannot decode.
            is_named = name.split("/")[1] in self.errors or "unable to decode" in self.errors
            if not is_named or not re.search(pattern, self.errors, re.I | re.S):
                found.append(f"{name} is not rejected with {pattern!r}: {self.errors[-400:]!r}")
        if self.errors and not self.prediction.rejected:
            found.append(f"unexpected: {self.errors[-400:]}")
        for name, effect in self.prediction.effects.items():
            observed = self.observed(name)
            if effect not in observed:
                found.append(f"{name}: predicted {effect!r}, observed {observed[0]!r}")
        return [f"{self.prediction.name}: {difference}" for difference in found]

    def observed(self, name: str) -> list[str]:
        """Return the effect on an object, in the words of a prediction, the shortest first."""
        kind = name.split("/")[0]
        if kind not in WORKLOADS:
            return ["kept" if self._exists(name) else "deleted"]
        was_there = name in names_of(self.old)
        if not self._exists(name):
            return ["ends"]
        if not was_there:
            return ["starts"]
        if name in self.prediction.rejected and self.errors:
            return ["refused"]
        has_changed = self.templates[name] != self._template(name)
        if kind == "CronJob":
            return ["next run" if has_changed else "stays"]
        before, after = self.pods.get(name, {}), pods_of(self.api).get(name, {})
        replaced = sorted(pod for pod, template in after.items() if template not in before.values())
        if replaced:
            names = f"rolls {' '.join(replaced)}"
            some = f"rolls {len(replaced)} of {len(after)}"
            return ["rolls", names] if len(replaced) == len(after) else [some, names]
        if len(before) != len(after):
            return [f"scales {len(before)} to {len(after)}"]
        strategy = self._spec(name).get("updateStrategy", {}).get("type")
        return ["next pods" if has_changed and strategy == "OnDelete" else "stays"]

    def clean_up(self) -> None:
        if "predicted" in self.prediction.change:
            options = ["--namespace=", f"--kubeconfig={self.config}", "--ignore-not-found"]
            self.kubectl("delete", *options, "--wait=false", "-f", "-", stdin=self.old)
        self.api.delete("Namespace", self.api.namespace)

    def _apply(self, text: str, check: bool) -> str:
        """Apply manifests; return what kubectl says if it fails."""
        # The annotation of a client-side apply has a lower limit than the object.
        is_large = "LARGE" in self.prediction.change
        options = ["--server-side"] if is_large or self.prediction.server_side else []
        # With the option --namespace, kubectl refuses objects of other namespaces.
        options += ["--namespace=", f"--kubeconfig={self.config}"]
        done = self.kubectl("apply", *options, "-f", "-", stdin=text, check=check)
        return done.stderr if done.returncode else ""

    def _exists(self, name: str) -> bool:
        """Whether an object is there, and not being deleted. A revision has a longer name."""
        kind, base = name.split("/")
        if kind == "ConfigMap":
            [live] = [one for one in names_of(self.old) if one.startswith(name)]
            base = live.split("/")[1]
        found = self._find(kind, base)
        return found is not None and "deletionTimestamp" not in found["metadata"]

    def _find(self, kind: str, name: str) -> Json | None:
        resource = {**KINDS, **MORE_KINDS}[kind]
        try:
            return self.api.request("GET", f"{resource.path(self.api.namespace)}/{name}")
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def _spec(self, name: str) -> Json:
        found = self._find(*name.split("/")) if name.split("/")[0] in WORKLOADS else None
        return found["spec"] if found else {}

    def _template(self, name: str) -> object:
        spec = self._spec(name)
        return spec.get("jobTemplate") or spec.get("template")

    def _has_all_pods(self) -> bool:
        live = [(*name.split("/"), name) for name in names_of(self.old)]
        found = pods_of(self.api)
        # A workload of another namespace has no spec here.
        return all(
            len(found.get(name, {})) == spec.get("replicas", 1)
            for kind, _, name in live
            if kind in PODS and (spec := self._spec(name))
        )


def rendered(prediction: Prediction) -> tuple[str, str]:
    """Return both sides as postrender renders them, or as written if postrender refuses them."""
    texts = []
    with tempfile.TemporaryDirectory() as name:
        write_sides(prediction, Path(name))
        old = "postrender.yaml" if prediction.postrender_old is None else "before.yaml"
        for side, configuration in (("old.yaml", old), ("new.yaml", "postrender.yaml")):
            options = ["--config", configuration]
            if "attacher" not in (Path(name) / configuration).read_text("utf-8"):
                options.append("--no-attacher")
            done = run(["render", *options, side], Path(name))
            texts.append(done.stdout if done.code == 0 else (Path(name) / side).read_text("utf-8"))
    return texts[0], texts[1]


def names_of(text: str) -> Mapping[str, bool]:
    """Return the objects of a stream that are no hooks, and whether Helm keeps each."""
    return {
        f"{obj['kind']}/{obj['metadata']['name']}": (
            (obj["metadata"].get("annotations") or {}).get("helm.sh/resource-policy") == "keep"
        )
        for obj in normalise(text)
        if not is_hook(obj)
    }


def pods_of(api: Api) -> Pods:
    """Return the hash of the template of each pod that stays, by workload."""
    owners = {
        replica_set["metadata"]["name"]: owner
        for replica_set in api.list("ReplicaSet")
        for owner in replica_set["metadata"].get("ownerReferences", [])
    }
    found: Pods = {}
    for pod in api.list("Pod"):
        metadata = pod["metadata"]
        if "deletionTimestamp" in metadata or not metadata.get("ownerReferences"):
            continue
        owner = metadata["ownerReferences"][0]
        owner = owners.get(owner["name"], owner) if owner["kind"] == "ReplicaSet" else owner
        template = next(
            (metadata["labels"][key] for key in HASHES if key in metadata["labels"]), ""
        )
        found.setdefault(f"{owner['kind']}/{owner['name']}", {})[metadata["name"]] = template
    return found


def test_a_cluster_does_what_is_predicted(plane: ControlPlane, tmp_path: Path) -> None:
    # Helm runs hooks, kubectl would apply them.
    applied = [
        one for one in predictions() if "helm.sh/hook" not in one.change and not one.no_cluster
    ]
    changes = [Change(prediction, plane, tmp_path) for prediction in applied]
    with ThreadPoolExecutor(6) as pool:

        def each(step: Callable[[Change], T]) -> list[T]:
            return list(pool.map(step, changes))

        try:
            each(Change.apply_old)
            each(Change.remember)
            each(Change.apply_new)
            time.sleep(QUIET_SECONDS)
            each(Change.wait)
            differences = [line for lines in each(Change.differences) for line in lines]
        finally:
            each(Change.clean_up)
    print(len(changes), "changes")
    assert not differences, "\n".join(differences)
