"""Stories in a namespace as lists of live objects, for tests of `postrender status`.

The time is cluster.START. The objects are those of tests.attach.cluster, so that a story can be a
file, and the content of a fake cluster.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from postrender.kubernetes.attach_groups import inventory_data
from tests.attach.cluster import (
    GROUP,
    Cluster,
    Json,
    job,
    marked,
    name_of,
    obj,
    owner_of,
    revision,
    template,
    time_ago,
    workload,
)

DAY = 24 * 60.0
ACCOUNT = f"ServiceAccount/{GROUP}"


def created(data: Json, minutes: float, **metadata: Any) -> Json:
    """Return an object with a time of creation, and more metadata."""
    extra = {"creationTimestamp": time_ago(minutes), **metadata}
    return {**data, "metadata": {**data["metadata"], **extra}}


def config(content: str, base: str, minutes: float, *owners: str, **fields: Any) -> Json:
    """Return a revision with an age; the release owner is an owner too."""
    group = fields.get("group", GROUP)
    account = f"ServiceAccount/{group}"
    return created(revision(content, base, owners=(account, *owners), **fields), minutes)


def containers(image: str, *names: str) -> Json:
    """Return a pod template with one container `app`."""
    spec = template(*names)
    spec["spec"]["containers"][0] |= {"name": "app", "image": image}
    return spec


def replica_set(
    owner: str,
    digest: str,
    minutes: float,
    replicas: int,
    image: str,
    *names: str,
    number: int = 1,
    render_id: str = "",
) -> Json:
    kind, _, name = owner.partition("/")
    is_rollout = kind == "Rollout"
    label = "rollouts-pod-template-hash" if is_rollout else "pod-template-hash"
    annotation = "rollout.argoproj.io" if is_rollout else "deployment.kubernetes.io"
    annotations = {f"{annotation}/revision": str(number)}
    if render_id:
        annotations["postrender/render-id"] = render_id
    data = obj(
        "ReplicaSet",
        f"{name}-{digest}",
        owner=owner,
        spec={"replicas": replicas, "template": containers(image, *names)},
        status={"replicas": replicas, "readyReplicas": replicas},
    )
    return created(data, minutes, labels={label: digest}, annotations=annotations)


def pods_of(parent: Json, *minutes: float, labels: Json | None = None) -> list[Json]:
    """Return a ready Pod for each age in minutes."""
    spec = parent.get("spec", {}).get("template", {}).get("spec", {})
    owner = f"{parent['kind']}/{name_of(parent)}"
    return [
        created(
            obj(
                "Pod",
                f"{name_of(parent)}-{chr(97 + number % 26) * 5}{number // 26 or ''}",
                owner=owner,
                spec=spec,
                status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
            ),
            age,
            labels=labels or parent["metadata"].get("labels", {}),
        )
        for number, age in enumerate(minutes)
    ]


def account(group: str = GROUP) -> Json:
    return obj("ServiceAccount", group)


def canary() -> list[Json]:
    """Return a Rollout in the middle of a canary, a rollback, and an unused revision."""
    rollout, group = "Rollout/shop-web", GROUP
    rs = ("ReplicaSet/shop-web-66b9d5c8f7", "ReplicaSet/shop-web-5d4f8c7b6d")
    rs_new = "ReplicaSet/shop-web-79c6b98d4f"
    web = [
        config("one", "shop-web-config", 14 * DAY, annotations=marked(58)),
        config("two", "shop-web-config", 9 * DAY, rollout, rs[0]),
        config("three", "shop-web-config", 3 * DAY, rollout, rs[1]),
        config("four", "shop-web-config", 12, rollout, rs_new),
    ]
    settings = [
        config("eur", "shop-settings", 9 * DAY, rollout, *rs),
        config("usd", "shop-settings", 12, rollout, rs_new),
    ]
    nginx = config("n", "shop-web-nginx", 21 * DAY, rollout, *rs, rs_new)
    names = [name_of(item) for item in web]
    first, second = (name_of(item) for item in settings)
    shared = name_of(nginx)
    history = [
        replica_set(
            rollout,
            "66b9d5c8f7",
            9 * DAY,
            0,
            "r.example.com/shop/storefront:2.7.0",
            names[1],
            first,
            shared,
            number=1,
        ),
        replica_set(
            rollout,
            "5d4f8c7b6d",
            3 * DAY,
            4,
            "r.example.com/shop/storefront:2.8.3",
            names[2],
            first,
            shared,
            number=2,
        ),
        replica_set(
            rollout,
            "79c6b98d4f",
            12,
            1,
            "r.example.com/shop/storefront:2.9.0",
            names[3],
            second,
            shared,
            number=3,
            render_id="aa",
        ),
    ]
    workload = created(
        obj(
            "Rollout",
            "shop-web",
            spec={
                "template": containers(
                    "r.example.com/shop/storefront:2.9.0", names[3], second, shared
                ),
                "strategy": {
                    "canary": {
                        "steps": [
                            {"setWeight": 25},
                            {"pause": {}},
                            {"setWeight": 50},
                            {"pause": {}},
                        ]
                    }
                },
            },
            status={
                "phase": "Paused",
                "stableRS": "5d4f8c7b6d",
                "currentPodHash": "79c6b98d4f",
                "currentStepIndex": 1,
            },
        ),
        21 * DAY,
        annotations={"postrender/render-id": "aa"},
    )
    pods = [*pods_of(history[1], 3 * DAY, 3 * DAY, 3 * DAY, 4), *pods_of(history[2], 12)]
    return [account(group), *web, *settings, nginx, workload, *history, *pods]


def attacher_job(*arguments: str, group: str = GROUP, minutes: float = 12) -> Json:
    data = job(f"{group}-x", minutes, "attach", "--group", group, *arguments)
    return {**data, "metadata": {**data["metadata"], "labels": {"postrender/attach-group": group}}}


def canary_after_its_job(*options: str) -> list[Json]:
    """Return the canary with the attacher's Job, whose manifests retain an earlier revision."""
    objects = canary()
    names = [name_of(data) for data in objects if data["kind"] == "ConfigMap"]
    retained = config("zero", "shop-web-config", 15 * DAY)
    references = ",".join(f"configmap/{names[index]}" for index in (3, 5, 6))
    arguments = attacher_job(
        f"--workload=Rollout/shop-web@aa={references}",
        f"--emitted=configmap/{name_of(retained)}",
        f"--release-owner={ACCOUNT}",
        *options,
    )
    return [*objects, retained, arguments]


def deployment(
    name: str, *contents: str, replicas: tuple[int, ...] = (), group: str = GROUP, **fields: Any
) -> list[Json]:
    """Return a Deployment with a ReplicaSet and a revision for each content, the newest last."""
    owner = f"Deployment/{name}"
    objects: list[Json] = []
    for number, content in enumerate(contents):
        age = (len(contents) - number) * DAY
        digest = f"{number}" * 5
        found = config(
            content,
            f"{name}-config",
            age,
            owner,
            f"ReplicaSet/{name}-{digest}",
            group=group,
            **fields,
        )
        count = replicas[number] if replicas else int(number == len(contents) - 1)
        history = replica_set(
            owner, digest, age, count, "app:1", name_of(found), number=number + 1, render_id="bb"
        )
        objects += [found, history, *pods_of(history, *[age] * count)]
    live = workload(
        owner,
        "bb",
        name_of(found),
        metadata={
            "annotations": {
                "postrender/render-id": "bb",
                "deployment.kubernetes.io/revision": str(len(contents)),
            }
        },
    )
    return [account(group), *objects, created(live, 30 * DAY)]


def blue_green() -> list[Json]:
    owner = "Rollout/web"
    old, new = (
        config(text, "web-config", age, owner, f"ReplicaSet/web-{digest}")
        for text, age, digest in (("old", DAY, "aaaaa"), ("new", 5, "bbbbb"))
    )
    history = [
        replica_set(owner, "aaaaa", DAY, 2, "app:1", name_of(old), number=1),
        replica_set(owner, "bbbbb", 5, 2, "app:1", name_of(new), number=2, render_id="cc"),
    ]
    live = workload(
        owner,
        "cc",
        name_of(new),
        spec={"strategy": {"blueGreen": {}}},
        status={
            "phase": "Paused",
            "stableRS": "aaaaa",
            "currentPodHash": "bbbbb",
            "blueGreen": {"activeSelector": "aaaaa", "previewSelector": "bbbbb"},
        },
    )
    return [
        account(),
        old,
        new,
        *history,
        *pods_of(history[0], DAY, 1),
        *pods_of(history[1], 5, 5),
        created(live, DAY),
    ]


def controlled(kind: str) -> list[Json]:
    """Return a StatefulSet or DaemonSet in the middle of an update."""
    owner = f"{kind}/db"
    objects: list[Json] = []
    names = []
    for number, (digest, age) in enumerate((("77777", 9 * DAY), ("88888", DAY), ("99999", 3))):
        found = config(digest, "db-config", age, owner, f"ControllerRevision/db-{digest}")
        names.append(name_of(found))
        copy = {"spec": {"template": containers("db:1", names[-1])}}
        history = obj(
            "ControllerRevision", f"db-{digest}", owner=owner, data=copy, revision=number + 1
        )
        objects += [found, created(history, age, labels={"controller.kubernetes.io/hash": digest})]
        label = f"db-{digest}" if kind == "StatefulSet" else digest
        count = (0, 2, 1)[number]
        source = {
            "kind": kind,
            "metadata": {"name": "db"},
            "spec": {"template": containers("db:1", names[-1])},
        }
        for pod in pods_of(source, *[age] * count, labels={"controller-revision-hash": label}):
            pod["metadata"] |= {"name": f"db-{number}{pod['metadata']['name'][3:]}"}
            pod["metadata"]["uid"] = f"Pod/{name_of(pod)}"
            objects.append(pod)
    live = workload(owner, "dd", names[-1], spec={"replicas": 3})
    return [account(), *objects, created(live, 30 * DAY)]


def without(objects: list[Json], number: int) -> list[Json]:
    """Return a story without one of its ConfigMaps."""
    config_maps = [data for data in objects if data["kind"] == "ConfigMap"]
    return [data for data in objects if data is not config_maps[number]]


def with_change(objects: list[Json], number: int, **fields: Any) -> list[Json]:
    """Return a story with a change of one of its ConfigMaps."""
    changed = [data for data in objects if data["kind"] == "ConfigMap"][number]
    metadata = {**changed["metadata"], **fields.pop("metadata", {})}
    return [
        {**data, **fields, "metadata": metadata} if data is changed else data for data in objects
    ]


def unused() -> list[Json]:
    """Return revisions that nothing uses, each kept or deleted for another reason."""
    ages = {
        "unmarked": {},
        "marked a moment ago": marked(4),
        "marked": marked(60),
        "no time": {"postrender/unused-since": "yesterday"},
        "in the future": marked(-60),
        "edited": marked(60),
    }
    found = [config(text, "web-config", 5 * DAY, annotations=mark) for text, mark in ages.items()]
    found[-1] |= {"data": {"value": "by hand"}}
    kept = config("sweep", "web-config", 5 * DAY, annotations={"postrender/sweep": "false"})
    foreign = config("foreign", "web-config", 5 * DAY, "Widget/boss", annotations=marked(60))
    return [*deployment("web", "now"), *found, kept, foreign]


def other_kinds() -> list[Json]:
    """Return a CronJob, a bare Pod, an operator's StatefulSet and a Secret."""
    found = config("x", "report-config", DAY, "CronJob/report")
    earlier = config("w", "report-config", 2 * DAY, "CronJob/report", "Job/report-0")
    name = name_of(found)
    run = obj("Job", "report-1", owner="CronJob/report", spec={"template": template(name)})
    ended = obj(
        "Job",
        "report-0",
        owner="CronJob/report",
        spec={"template": template(name_of(earlier))},
        status={"conditions": [{"type": "Complete", "status": "True"}]},
    )
    secret = created(
        obj(
            "Secret",
            "db-2456789bcd",
            metadata={
                "labels": {"postrender/attach-group": GROUP},
                "annotations": {"postrender/base-name": "db"},
            },
            data={"password": "aHVudGVyMg=="},
        ),
        DAY,
    )
    operated = workload("StatefulSet/queue", "", name, owner="Widget/queue")
    user = workload("Deployment/api", "ee", name, "secret/db-2456789bcd", "secret/plain")
    bare = obj("Pod", "debug", spec=template(name)["spec"], status={"phase": "Running"})
    return [
        account(),
        found,
        earlier,
        secret,
        user,
        created(workload("CronJob/report", "ff", name), DAY),
        created(run, 1),
        *pods_of(run, 1),
        created(ended, 60),
        created(operated, DAY),
        created(bare, 9),
    ]


def experiment() -> list[Json]:
    """Return the canary with an Experiment of two more ReplicaSets."""
    objects = canary()
    tested = config("try", "shop-web-config", 3, "Rollout/shop-web", "Experiment/try")
    trial = obj(
        "Experiment",
        "try",
        owner="Rollout/shop-web",
        spec={"templates": [{"name": "a", "template": template(name_of(tested))}]},
    )
    runs = [
        replica_set("Experiment/try", f"{name}{name}{name}", 2, 1, "app:3", name_of(tested))
        for name in "ab"
    ]
    return [*objects, tested, created(trial, 3), *runs, *pods_of(runs[0], 2), *pods_of(runs[1], 2)]


def first_release() -> list[Json]:
    """Return the canary of the first release, whose old Pods use the adopted original."""
    original = created(
        obj(
            "ConfigMap",
            "web-config",
            data={"value": "old"},
            metadata={"labels": {"postrender/attach-group": GROUP}},
        ),
        90 * DAY,
    )
    objects = deployment("web", "old", "new", replicas=(1, 1))
    replaced = next(name_of(data) for data in objects if data["kind"] == "ConfigMap")
    text = json.dumps([data for data in objects if name_of(data) != replaced])
    changed: list[Json] = json.loads(text.replace(replaced, "web-config"))
    return [original, *changed]


def external(options: str = "") -> list[Json]:
    """Return a release with an inventory, which retains a revision, and unused revisions."""
    objects = [item for item in deployment("web", "a", "b") if item["kind"] != "ServiceAccount"]
    owner = f"ConfigMap/{GROUP}-inventory"
    applied = {"postrender/applied": "external"}
    retained, unused, again = (
        created(revision(text, "web-config", owners=[owner], annotations=annotations), 5 * DAY)
        for text, annotations in (
            ("retained", marked(60)),
            ("unused", marked(60)),
            ("applied again", {**marked(60), **applied}),
        )
    )
    named = [name_of(item) for item in (objects[2], retained)]
    arguments = f"--group {GROUP} --workload Deployment/web@bb=configmap/{named[0]}"
    arguments += f" --emitted configmap/{named[1]} --release-owner {owner} {options}"
    found = obj(
        "ConfigMap",
        f"{GROUP}-inventory",
        metadata={"labels": {"postrender/inventory": GROUP}},
        data=inventory_data(arguments.split()),
    )
    return [*objects, retained, unused, again, created(found, DAY)]


def external_with_a_job() -> list[Json]:
    """Return a release with an inventory while a rollback to a release with a Job is under way."""
    objects = external()
    unused = next(name_of(item) for item in objects if item.get("data") == {"value": "unused"})
    return [*objects, attacher_job(f"--workload=Deployment/web@aa=configmap/{unused}", minutes=1)]


def same_base_name(missing: str) -> list[Json]:
    """Return two releases with the same base name, of which one lacks its newest revision."""
    objects = []
    for name in ("a", "b"):
        group, owner = f"{name}-attach", f"Deployment/{name}"
        old, new = (
            config(f"{name} {text}", "app-config", DAY, owner, group=group, annotations=notes)
            for text, notes in (("old", marked(60)), ("new", {}))
        )
        history = replica_set(owner, "1", DAY, 1, "app:1", name_of(new), render_id="bb")
        objects += [account(group), old, workload(owner, "bb", name_of(new)), history]
        objects += [new] if name != missing else []
    return objects


def renamed_group() -> list[Json]:
    """Return a release whose attach group got another name, with revisions of both groups."""
    mine = created(revision("mine", "web-config", "old-attach", annotations=marked(60)), 5 * DAY)
    other = config("other", "web-config", 5 * DAY, group="third-attach", annotations=marked(60))
    loose = created(revision("x", "cache-config", "gone-attach", annotations=marked(60)), 9 * DAY)
    return [*deployment("web", "a"), account("third-attach"), mine, other, loose]


def workload_ref() -> list[Json]:
    """Return a Rollout whose workloadRef references a Deployment."""
    objects = json.loads(json.dumps(canary()))
    rollout = next(item for item in objects if item["kind"] == "Rollout")
    pods = rollout["spec"].pop("template")
    rollout["spec"]["workloadRef"] = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    rollout["metadata"]["annotations"] = {}
    source = obj(
        "Deployment",
        "web",
        spec={"replicas": 0, "template": pods},
        metadata={"annotations": {"postrender/render-id": "aa"}},
    )
    names = [item["configMapRef"]["name"] for item in pods["spec"]["containers"][0]["envFrom"]]
    history = replica_set("Deployment/web", "00000", DAY, 0, "app:1", *names, render_id="aa")
    return [*objects, created(source, DAY), history]


def without_attacher() -> list[Json]:
    """Return a release without an attacher, whose tool keeps and deletes the revisions."""
    objects: list[Json] = json.loads(json.dumps(deployment("web", "a", "b")))
    for item in objects:
        if item["kind"] == "ConfigMap":
            del item["metadata"]["ownerReferences"]
    unused = created(revision("unused", "web-config"), 5 * DAY)
    return [unused, *(item for item in objects if item["kind"] != "ServiceAccount")]


class Story(NamedTuple):
    """Live objects, and the workloads that a person asks for."""

    objects: list[Json]
    targets: tuple[str, ...] = ()


_OTHER = "other-attach"
STORIES = {
    "canary": Story(canary(), ("rollout/shop-web",)),
    "canary-after-its-job": Story(canary_after_its_job(), ("ro/shop-web",)),
    "canary-without-prune": Story(canary_after_its_job("--no-prune"), ("ro/shop-web",)),
    "blue-green": Story(blue_green(), ("rollouts/web",)),
    "rolling-update": Story(deployment("web", "a", "b", "c", replicas=(0, 1, 2)), ("deploy/web",)),
    "statefulset": Story(controlled("StatefulSet"), ("sts/db",)),
    "daemonset": Story(controlled("DaemonSet"), ("ds/db",)),
    "missing": Story(without(deployment("web", "a", "b"), 1), ("deploy/web",)),
    "missing-for-a-rollback": Story(without(deployment("web", "a", "b"), 0), ("deploy/web",)),
    "edited": Story(
        with_change(deployment("web", "a", "b"), 1, data={"value": "by hand"}), ("deploy/web",)
    ),
    "without-owner": Story(
        with_change(deployment("web", "a", "b"), 1, metadata={"ownerReferences": []}),
        ("deploy/web",),
    ),
    "losing-its-owner": Story(
        with_change(
            deployment("web", "a", "b"),
            1,
            metadata={"ownerReferences": [owner_of("ReplicaSet/web-00000")]},
        ),
        ("deploy/web",),
    ),
    "owner-is-gone": Story(
        with_change(
            deployment("web", "a"), 0, metadata={"ownerReferences": [owner_of("ReplicaSet/gone")]}
        ),
    ),
    "unused": Story(unused(), ("deploy/web",)),
    "two-releases": Story(
        [*deployment("web", "a"), *deployment("api", "a", "b", group=_OTHER)], ("deploy/api",)
    ),
    "other-kinds": Story(other_kinds(), ("cj/report", "po/debug", "sts/queue", "deploy/api")),
    "experiment": Story(experiment(), ("rollout/shop-web",)),
    "external": Story(external(), ("deploy/web",)),
    "external-with-a-job": Story(external_with_a_job()),
    "external-without-prune": Story(external("--no-prune")),
    "external-of-a-later-version": Story(external("--new-option x")),
    "first-release": Story(first_release(), ("deploy/web",)),
    "renamed-group": Story(renamed_group(), ("deploy/web",)),
    "workload-ref": Story(workload_ref(), ("rollout/shop-web", "deploy/web")),
    "without-attacher": Story(without_attacher(), ("deploy/web",)),
    "external-before-collect": Story(
        with_change(external(), 1, metadata={"ownerReferences": []}), ("deploy/web",)
    ),
    "nothing": Story([]),
}


def bundle(objects: Iterable[Json]) -> str:
    """Return the output of `kubectl get -o json` for objects."""
    cluster = Cluster(*objects)
    items = list(cluster.objects.values())
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
