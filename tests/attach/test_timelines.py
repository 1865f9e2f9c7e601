"""Random timelines: releases that apply, roll back and change their mode, with runs in between.

A step of an apply, or of a controller, can come right before any request of a run. Kubernetes
collects the objects of which no owner exists. No object may lose a revision that it uses.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from postrender.attach.collect import Pass
from postrender.attach.request import request_of_job
from postrender.attach.run import attach
from postrender.errors import UserError
from tests.attach.cluster import (
    NAMESPACE,
    Cluster,
    Json,
    job,
    logged,
    name_of,
    obj,
    revision,
    template,
    workload,
)
from tests.attach.faulty import FaultyCluster
from tests.attach.test_collect import apply, inventory
from tests.effort import examples

MODES = (("job",), ("external",), ("job", "external"))
EVENTS = ("start", "start", "step", "step", "prune", "collect", "collect", "attach", "wait")


class Timeline(FaultyCluster):
    """A cluster that raises LostError for a deletion in use, and changes while a run reads it."""

    _patch = Cluster._patch

    def __init__(self, random: Random) -> None:
        super().__init__(random, lambda *_: "")
        self.latency = 0
        self.change: Callable[[], object] = lambda: None

    def _answer(self, request: Any) -> Any:
        self.change()
        return super()._answer(request)

    def collect_garbage(self) -> None:
        """Delete the objects of which no owner exists, also those that then lose their owners."""
        while True:
            uids = {data["metadata"]["uid"] for data in self.objects.values()}
            owners = {key: self.owners(key) for key in self.objects}
            gone = [key for key, uid in owners.items() if uid and uids.isdisjoint(uid)]
            for key in gone:
                used_by = self.users(key.partition("/")[2]) if key.startswith("ConfigMap") else []
                assert not used_by, f"Kubernetes deletes {key}, which {used_by} use"
                self.remove(key)
            if not gone:
                return

    def drop(self, start: str) -> None:
        """Delete the objects whose key has a start."""
        for key in [key for key in self.objects if key.startswith(start)]:
            self.objects.pop(key)


class Release:
    """A release of a Deployment, with the steps of the apply that is under way."""

    def __init__(self, cluster: Timeline, name: str, base: str) -> None:
        self.cluster, self.random = cluster, cluster.random
        self.name, self.base, self.group = name, base, f"{name}-attach"
        self.modes = self.random.choice(MODES)
        self.limit = self.random.choice((0, 0, 1, 2))
        self.mode = ""
        self.steps: list[Callable[[], object]] = []
        self.history: list[tuple[str, str]] = []
        self.sets: list[str] = []

    def start(self) -> None:
        """Begin to apply a new or an earlier version, unless an apply is under way."""
        if self.steps:
            return
        new = self.random.choice("abcdef"), self.random.choice(self.modes)
        content, self.mode = self.random.choice((new, new, *self.history[-3:]))
        self.history.append((content, self.mode))
        applied = {"job": "true", "external": "external"}[self.mode]
        manifest = revision(
            content, self.base, self.group, annotations={"postrender/applied": applied}
        )
        render_id = f"{ord(content):x}{len(self.mode)}"
        wanted = f"Deployment/{self.name}@{render_id}=configmap/{name_of(manifest)}"
        add_workload = [lambda: self._add_workload(render_id, name_of(manifest))]
        if self.mode == "external":
            found = inventory(wanted, group=self.group)
            self.steps = [lambda: self._add_inventory(found), lambda: apply(self.cluster, manifest)]
            self.steps += [*add_workload, lambda: self.cluster.drop(f"ServiceAccount/{self.group}")]
            self.steps.append(lambda: self.cluster.drop(f"Job/{self.group}"))
            return
        add_job = [lambda: self._add_job(wanted)]
        in_order = [*add_workload, *add_job] if self.random.randrange(2) else add_job + add_workload
        self.steps = [
            lambda: self.cluster.add(obj("ServiceAccount", self.group)),
            lambda: apply(self.cluster, manifest),
            *in_order,
            lambda: self.cluster.drop(f"ConfigMap/{self.group}-inventory"),
        ]

    def step(self) -> None:
        if self.steps:
            self.steps.pop(0)()

    def prune(self) -> None:
        """The controller deletes old ReplicaSets, with or before their Pods."""
        while len(self.sets) > self.limit + 1:
            self.cluster.objects.pop(self.sets.pop(0), None)
        if self.random.randrange(2):
            for key in self.sets[:-1]:
                self.cluster.drop(f"Pod/{key.partition('/')[2]}-")

    def attach(self) -> None:
        """Run the attacher's Job, if the release has one that has not ended."""
        found = [key for key in self.cluster.objects if key.startswith(f"Job/{self.group}")]
        for key in found:
            data = self.cluster.objects[key]
            if data["status"]["conditions"]:
                continue
            arguments = data["spec"]["template"]["spec"]["containers"][0]["args"]
            request = request_of_job(arguments)
            assert request
            timeout = self.random.choice((0.0, 30.0, 90.0))
            with self.cluster.clock(), logged(), suppress(UserError):
                attach(self.cluster.client(270), request._replace(timeout=timeout), arguments)
            data["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}

    def _add_inventory(self, data: Json) -> None:
        live = self.cluster.objects.get(f"ConfigMap/{name_of(data)}", data)
        self.cluster.add({**data, "metadata": live["metadata"]})

    def _add_workload(self, render_id: str, name: str) -> None:
        owner, new = f"Deployment/{self.name}", f"ReplicaSet/{self.name}-{render_id}"
        self.cluster.add(workload(owner, render_id, name))
        self.cluster.add(workload(new, render_id, name, owner=owner))
        pod = f"{self.name}-{render_id}-x"
        self.cluster.add(obj("Pod", pod, owner=new, spec=template(name)["spec"]))
        self.sets = [*(key for key in self.sets if key != new), new]

    def _add_job(self, wanted: str) -> None:
        self.cluster.drop(f"Job/{self.group}")
        options = ["--group", self.group, "--workload", wanted]
        options += ["--release-owner", f"ServiceAccount/{self.group}"]
        minutes = -self.cluster.seconds / 60
        name = f"{self.group}-{len(self.history)}"
        made = job(name, minutes, "attach", *options, finished=False)
        made["metadata"]["labels"] = {"postrender/attach-group": self.group}
        self.cluster.add(made)


# Timelines that have lost a revision: one that had only the release owner, when the mode changed.
LOST = (293, 720, 1076, 2043)


@pytest.mark.random_inputs
@pytest.mark.parametrize("seed", [*range(examples(120)), *LOST])
def test_no_timeline_loses_a_revision(seed: int) -> None:
    random = Random(seed)
    cluster = Timeline(random)
    names = ("app", "shop")[: random.choice((1, 2))]
    base = random.choice(("app", ""))
    releases = [Release(cluster, name, base or name) for name in names]
    for _ in range(40):
        happen(cluster, releases, random.choice(EVENTS))
        cluster.collect_garbage()
        # Only an inventory or a Job shows that an apply takes longer than GRACE.
        is_short = any(release.steps and release.mode == "job" for release in releases)
        cluster.sleep(random.choice((1, 20) if is_short else (10, 60, 660, 4000)))
    for release in releases:
        while release.steps:
            release.step()
    cluster.collect_garbage()
    config_maps = set(cluster.names("ConfigMap"))
    for name in {
        name_of(revision(text, release.base)) for text in "abcdef" for release in releases
    }:
        assert name in config_maps or not cluster.users(name)


def happen(cluster: Timeline, releases: list[Release], event: str) -> None:
    release = cluster.random.choice(releases)

    def change() -> None:
        if cluster.random.randrange(50) == 0:
            cluster.change = lambda: None
            cluster.random.choice((release.step, release.prune))()
            cluster.change = change

    if event == "start":
        release.start()
    elif event == "step":
        release.step()
    elif event == "prune":
        release.prune()
    cluster.change = change
    if event == "attach":
        release.attach()
    elif event == "collect":
        age = cluster.random.choice((None, None, timedelta(days=1)))
        with cluster.clock(), suppress(UserError):
            Pass(lambda place: cluster.client(namespace=place), NAMESPACE, age, is_dry=False).run()
    cluster.change = lambda: None
