"""Commands of postrender, run outside of the rendered Job: attach as its account, and adopt."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.e2e.accounts import account_kubeconfig
from tests.e2e.api import KINDS, Api, ApiError, Json, Objects, Resource
from tests.e2e.cluster import ControlPlane
from tests.e2e.custom_kinds import define_kinds
from tests.e2e.kubelet import content
from tests.e2e.programs import ROOT
from tests.e2e.queries import (
    UNUSED,
    age_marks,
    contents,
    is_deleting,
    marked,
    owners,
    referenced_config_maps,
    revisions,
    wait_for_collector,
    wait_for_phase,
    wait_until_pruned,
)
from tests.e2e.releases import Done, run
from tests.e2e.rollouts import promote

# The kinds that may reference a ConfigMap.
HOLDERS = (
    "Rollout Deployment StatefulSet DaemonSet CronJob PodTemplate ReplicationController "
    "AnalysisTemplate Experiment AnalysisRun ReplicaSet ControllerRevision Job Pod"
)

LONG_AGO = "2020-01-01T00:00:00Z"

KINDS["Widget"] = Resource("e2e.example.com/v1", "widgets")


class AttachResult(NamedTuple):
    """The result of a run of attach: its exit code and its log lines."""

    code: int
    log: list[str]

    @property
    def text(self) -> str:
        """The whole log."""
        return "\n".join(self.log)

    @property
    def writes(self) -> int:
        """The number of requests that were writes."""
        found = re.search(r"\((\d+) of these requests are writes\)", self.log[-1])
        assert found, self.log[-1]
        return int(found[1])


def attach_again(plane: ControlPlane, pod: Json, *extra: str) -> AttachResult:
    """Run attach as an attacher Pod did: with its args and extra ones, as its ServiceAccount."""
    api = plane.api(pod["metadata"]["namespace"])
    arguments = [*pod["spec"]["containers"][0]["args"], *extra]
    return attach_as(plane, api, pod["spec"]["serviceAccountName"], arguments)


def attach_as(
    plane: ControlPlane,
    api: Api,
    account: str,
    arguments: Sequence[str],
    env: Mapping[str, str] = {},
) -> AttachResult:
    """Run attach as a ServiceAccount."""
    env = {"IS_IN_CLUSTER": "false", **env}
    done = postrender(plane, api, account_kubeconfig(plane, api, account), arguments, env=env)
    return AttachResult(
        done.returncode, [json.loads(line)["msg"] for line in done.stderr.splitlines()]
    )


def adopt(plane: ControlPlane, api: Api, rendered: str, *options: str, access: str = "") -> Done:
    """Run adopt on rendered output, with a kubeconfig (by default the administrator's)."""
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


def pass_grace_time(plane: ControlPlane, api: Api, pod: Json, *extra: str) -> AttachResult:
    """Run attach, let the grace time pass, and run attach again; return the last run."""
    first = attach_again(plane, pod, *extra)
    assert first.code == 0, first.text
    age_marks(api)
    last = attach_again(plane, pod, *extra)
    assert last.code == 0, last.text
    return last


def end_canary(plane: ControlPlane, api: Api, attacher: Json) -> AttachResult:
    """Promote the only Rollout, which keeps no history, and let the grace time pass."""
    promote(api)
    wait_for_phase(api, "Healthy")
    wait_until_pruned(api)
    return pass_grace_time(plane, api, attacher)


def try_to_sweep(plane: ControlPlane, api: Api, pod: Json, *extra: str) -> AttachResult:
    """Run attach, and again with every revision marked as unused since long ago.

    The second run deletes every revision that it considers unused. Return the second run.
    """
    first = attach_again(plane, pod, *extra)
    assert first.code == 0, first.text
    for revision in revisions(api):
        mark_as_unused(api, revision["metadata"]["name"])
    last = attach_again(plane, pod, *extra)
    assert last.code == 0, last.text
    return last


def mark_as_unused(api: Api, name: str) -> None:
    """Mark a revision as unused since long ago, as a mistaken run would."""
    api.patch("ConfigMap", name, marked(LONG_AGO))


# Queries and assertions


def greetings(api: Api) -> list[str]:
    """Return the greetings in the existing revisions, sorted."""
    return sorted(revision["data"]["greeting"] for revision in revisions(api))


def owner_kinds(obj: Json) -> list[str]:
    """Return the kinds of an object's owners, sorted."""
    return [owner.partition("/")[0] for owner in owners(obj)]


def is_marked(obj: Json) -> bool:
    """Return whether a revision has the mark of an unused revision."""
    return UNUSED in obj["metadata"].get("annotations", {})


def controller_of(obj: Json) -> str:
    """Return the uid of the controller of an object, or ""."""
    references = obj["metadata"].get("ownerReferences", [])
    return next(
        (str(reference["uid"]) for reference in references if reference.get("controller")), ""
    )


def assert_owned_by_the_rule(api: Api) -> None:
    """Fail unless each revision has exactly the owners that the rule requires.

    The owners are all live objects that reference the revision, and their controllers. A Pod with a
    controller is not an owner. A workload that referenced the revision earlier may still be an
    owner.
    """
    wait_for_collector(api)
    live = {
        obj["metadata"]["uid"]: obj
        for kind in HOLDERS.split()
        for obj in api.list(kind)
        if not is_deleting(obj)
    }
    for revision in revisions(api):
        expected = set()
        for uid, obj in live.items():
            if revision["metadata"]["name"] not in referenced_config_maps(obj):
                continue
            owner = controller_of(obj) if obj["kind"] == "Pod" and controller_of(obj) else uid
            while owner in live:
                expected.add(_title(live[owner]))
                owner = controller_of(live[owner])
        former = {_title(obj) for obj in live.values() if not controller_of(obj)}
        actual = set(owners(revision))
        message = f"{revision['metadata']['name']}\n{api.dump()}"
        assert expected <= actual, message
        assert actual - former <= expected, message


def _title(obj: Json) -> str:
    return f"{obj['kind']}/{obj['metadata']['name']}"


# Actions of a person


def restart_pods(api: Api, pods: Objects) -> None:
    """Delete Pods, as when their node fails, and wait until they are gone.

    Their controller may have deleted some of them since they were listed.
    """
    for pod in pods:
        _delete(api, pod)
    gone = {pod["metadata"]["uid"] for pod in pods}

    def remaining() -> list[str]:
        return [_title(pod) for pod in api.list("Pod") if pod["metadata"]["uid"] in gone]

    api.wait_for(lambda: not remaining(), "the deleted Pods are gone")


def _delete(api: Api, pod: Json) -> None:
    """Delete a Pod, unless it is gone."""
    try:
        api.delete("Pod", pod["metadata"]["name"])
    except ApiError as error:
        if error.status != 404:
            raise


def restart_pods_with(api: Api, greeting: str) -> None:
    """Restart the Pods that started with a greeting."""
    old = [pod for pod in api.list("Pod", labels="app=app") if greeting in str(content(pod))]
    assert old
    restart_pods(api, old)


def restart_during_canary(api: Api, old: str, new: str) -> None:
    """Restart the Pods with the old greeting at the pause of a canary.

    The function waits until the restarted Pods read the old greeting again, next to the canary.
    """
    wait_for_phase(api, "Paused")
    restart_pods_with(api, old)
    api.wait_for(lambda: contents(api) == sorted((old, new)), "the old pod is back")


def define_widgets(plane: ControlPlane) -> None:
    """Define a custom kind that contains a pod spec, unless another test has defined it."""
    define_kinds(plane.api(), "Widget")
