"""Runs of postrender beside those of the rendered Job: attach as its account, and adopt."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.e2e.accounts import account_kubeconfig
from tests.e2e.api import KINDS, Api, ApiError, Json, Resource
from tests.e2e.cluster import ControlPlane
from tests.e2e.kubelet import content
from tests.e2e.looks import UNUSED, age_marks, named_by, owners, revisions, wait_for_phase
from tests.e2e.programs import ROOT
from tests.e2e.releases import Done, run
from tests.e2e.rollouts import promote

# What may name a ConfigMap.
HOLDERS = (
    "Rollout Deployment StatefulSet DaemonSet CronJob PodTemplate ReplicationController "
    "AnalysisTemplate Experiment AnalysisRun ReplicaSet ControllerRevision Job Pod"
)

LONG_AGO = "2020-01-01T00:00:00Z"

WIDGETS = "widgets.e2e.example.com"
KINDS["Widget"] = Resource("e2e.example.com/v1", "widgets")


class Run(NamedTuple):
    """What a run of attach ended with: its exit code and what it logged, a line each."""

    code: int
    log: list[str]

    @property
    def text(self) -> str:
        """All that it logged."""
        return "\n".join(self.log)

    @property
    def writes(self) -> int:
        """How many requests of it were writes."""
        return int(self.log[-1].partition(" of them writes")[0].split()[-1])


def attach_again(plane: ControlPlane, pod: Json, *more: str) -> Run:
    """Run attach as an attacher Pod did: its args (and more), as its ServiceAccount."""
    api = plane.api(pod["metadata"]["namespace"])
    arguments = [*pod["spec"]["containers"][0]["args"], *more]
    return attach_as(plane, api, pod["spec"]["serviceAccountName"], arguments)


def attach_as(
    plane: ControlPlane,
    api: Api,
    account: str,
    arguments: Sequence[str],
    env: Mapping[str, str] = {},
) -> Run:
    """Run attach as a ServiceAccount."""
    env = {"IS_IN_CLUSTER": "false", **env}
    done = postrender(plane, api, account_kubeconfig(plane, api, account), arguments, env=env)
    return Run(done.returncode, [json.loads(line)["msg"] for line in done.stderr.splitlines()])


def adopt(plane: ControlPlane, api: Api, rendered: str, *options: str, access: str = "") -> Done:
    """Run adopt on rendered output, with a kubeconfig: the administrator's if none is given."""
    access = access or plane.kubeconfig.read_text()
    arguments = ["adopt", "--namespace", api.namespace, *options]
    return postrender(plane, api, access, arguments, stdin=rendered)


def postrender(
    plane: ControlPlane,
    api: Api,
    access: str,
    arguments: Sequence[str],
    stdin: str = "",
    env: Mapping[str, str] = {},
) -> Done:
    """Run postrender with a kubeconfig."""
    folder = plane.folder / "runs" / api.namespace
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / secrets.token_hex(4)
    file.write_text(access)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "KUBECONFIG": str(file), **env}
    command = [sys.executable, "-m", "postrender", *arguments]
    return run(command, env=env, folder=folder, stdin=stdin, check=False)


def pass_grace_time(plane: ControlPlane, api: Api, pod: Json, *more: str) -> Run:
    """Run attach, let the grace time pass, and run it again; return the last run."""
    first = attach_again(plane, pod, *more)
    assert first.code == 0, first.text
    age_marks(api)
    last = attach_again(plane, pod, *more)
    assert last.code == 0, last.text
    return last


def end_canary(plane: ControlPlane, api: Api, attacher: Json) -> Run:
    """Promote the only Rollout, which has no history, and let the grace time pass after that."""
    promote(api)
    wait_for_phase(api, "Healthy")
    api.wait_for(lambda: len(api.list("ReplicaSet")) == 1, "the old ReplicaSets are pruned")
    return pass_grace_time(plane, api, attacher)


def try_to_sweep(plane: ControlPlane, api: Api, pod: Json, *more: str) -> Run:
    """Run attach, then again with every revision marked as unused since long ago.

    What a run takes for unused is gone after that; return the last run.
    """
    first = attach_again(plane, pod, *more)
    assert first.code == 0, first.text
    for one in revisions(api):
        mark_as_unused(api, one["metadata"]["name"])
    last = attach_again(plane, pod, *more)
    assert last.code == 0, last.text
    return last


def mark_as_unused(api: Api, name: str) -> None:
    """Mark a revision as unused since long ago, as a mistaken run would have done."""
    api.patch("ConfigMap", name, {"metadata": {"annotations": {UNUSED: LONG_AGO}}})


# What to look at


def greetings(api: Api) -> list[str]:
    """Return what the revisions there are greet with, sorted."""
    return sorted(one["data"]["greeting"] for one in revisions(api))


def owner_kinds(obj: Json) -> list[str]:
    """Return the kinds of an object's owners, sorted."""
    return [owner.partition("/")[0] for owner in owners(obj)]


def is_marked(obj: Json) -> bool:
    """Tell whether a revision bears the mark of one that nothing uses."""
    return UNUSED in obj["metadata"].get("annotations", {})


def controller_of(obj: Json) -> str:
    """Return the uid of what controls an object, "" for nothing."""
    references = obj["metadata"].get("ownerReferences", [])
    return next((str(one["uid"]) for one in references if one.get("controller")), "")


def assert_owned_by_the_rule(api: Api) -> None:
    """Fail unless each revision's owners are those of the rule, told from what lives.

    They are all that names it, and what that belongs to; a Pod that something controls is no
    owner. A workload that named it once may still be one; anything else may not.
    """
    live = {
        obj["metadata"]["uid"]: obj
        for kind in HOLDERS.split()
        for obj in api.list(kind)
        if not obj["metadata"].get("deletionTimestamp")
    }
    for one in revisions(api):
        wanted = set()
        for uid, obj in live.items():
            if one["metadata"]["name"] not in named_by(obj):
                continue
            at = controller_of(obj) if obj["kind"] == "Pod" and controller_of(obj) else uid
            while at in live:
                wanted.add(_title(live[at]))
                at = controller_of(live[at])
        former = {_title(obj) for obj in live.values() if not controller_of(obj)}
        found = set(owners(one))
        told = f"{one['metadata']['name']}\n{api.dump()}"
        assert wanted <= found, told
        assert found - former <= wanted, told


def _title(obj: Json) -> str:
    return f"{obj['kind']}/{obj['metadata']['name']}"


# What a person does


def replace_pod(api: Api, name: str) -> None:
    """Delete a Pod, as when its node goes away, and wait until it has gone."""
    uid = api.get("Pod", name)["metadata"]["uid"]
    api.delete("Pod", name)

    def is_gone() -> bool:
        found = api.find("Pod", name)
        return found is None or found["metadata"]["uid"] != uid

    api.wait_for(is_gone, f"Pod/{name} is gone")


def restart_pods_with(api: Api, greeting: str) -> None:
    """Delete the Pods that were started with a greeting, as when their node goes away."""
    old = [pod for pod in api.list("Pod", labels="app=app") if greeting in str(content(pod))]
    assert old
    for pod in old:
        replace_pod(api, pod["metadata"]["name"])


def define_widgets(plane: ControlPlane) -> None:
    """Define a custom kind with a pod spec in it, unless another test has."""
    api = plane.api()
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "e2e.example.com", "scope": "Namespaced", "names": names}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": WIDGETS},
        "spec": {**spec, "versions": [version]},
    }
    try:
        api.create(definition)
    except ApiError as error:
        if error.status != 409:
            raise
    api.wait_for(lambda: "items" in api.request("GET", api.path("Widget")), "Widgets are served")
