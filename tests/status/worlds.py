"""Random namespaces: releases in every mode, with odd objects of people, operators and backups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from random import Random
from typing import NamedTuple

from postrender.attach.request import CONSUMER_KINDS
from postrender.kubernetes.attach_groups import inventory_data
from tests.attach.cluster import (
    GROUP,
    Json,
    job,
    marked,
    name_of,
    obj,
    owner_of,
    revision,
    template,
    workload,
)
from tests.attach.faulty import history, user

GROUPS = (GROUP, "shop-attach", "old-attach")
KINDS = ("Deployment", "StatefulSet", "DaemonSet", "Rollout", "CronJob", "ReplicationController")
APPLIED: tuple[Json, ...] = (
    {},
    {"postrender/applied": "true"},
    {"postrender/applied": "external"},
)
MARKS: tuple[Json, ...] = (
    {},
    marked(5),
    marked(60),
    marked(60),
    marked(-60),
    {"postrender/unused-since": "yesterday"},
)


class World(NamedTuple):
    """What a namespace has so far."""

    random: Random
    objects: list[Json]

    def revisions(self) -> list[Json]:
        return [item for item in self.objects if item["kind"] == "ConfigMap" and "data" in item]

    def some(self) -> Json:
        """A revision or original."""
        return self.random.choice(self.revisions())

    def name(self) -> str:
        """A name that nothing else has."""
        return f"x{len(self.objects)}"

    def live(self) -> list[str]:
        """The uids of live objects, and of one that is gone."""
        found = [item["metadata"]["uid"] for item in self.objects if item["kind"] != "ConfigMap"]
        return [*found, "ReplicaSet/gone", "ServiceAccount/gone", "Widget/boss"]


def random_world(random: Random) -> list[Json]:
    """Return the objects of a namespace."""
    world = World(random, [])
    groups = random.sample(GROUPS, random.choice((1, 1, 2, 3)))
    for group in groups:
        world.objects.extend(_release(world, group, groups))
    for add in random.choices(ODD, k=random.randrange(7)):
        world.objects.extend(add(world))
    for change in random.choices(CHANGES, k=random.randrange(4)):
        change(world, world.some())
    # Several items can have the same name. The cluster keeps the last one.
    return world.objects


def _revision(world: World, group: str, content: str) -> Json:
    random = world.random
    marks = random.choice(MARKS) if random.randrange(2) else {}
    owners = random.sample(world.live(), min(2, random.randrange(4)))
    base = random.choice(("app", "app", group))
    annotations = {**random.choice(APPLIED), **marks}
    return revision(content, base, group, annotations=annotations, owners=owners)


def _release(world: World, group: str, groups: Sequence[str]) -> Iterator[Json]:
    """A release: its workload, its revisions, and an attacher's Job, an inventory or neither."""
    random = world.random
    kind, name = random.choice(KINDS), group.removesuffix("-attach")
    owner = f"{kind}/{name}"
    # Two releases can have the same content, and so share a revision.
    revisions = [
        _revision(world, random.choice((group, group, *groups)), f"{number}")
        for number in range(random.randrange(1, 5))
    ]
    new, *old = revisions
    yield from revisions
    yield workload(owner, "bb", name_of(new))
    if kind in ("Deployment", "Rollout"):
        yield workload(f"ReplicaSet/{name}-2", "bb", name_of(new), owner=owner)
    elif kind in ("StatefulSet", "DaemonSet"):
        yield history(f"{name}-2", owner, name_of(new))
    for number, item in enumerate(old):
        if random.randrange(2) and kind in ("Deployment", "Rollout"):
            yield workload(f"ReplicaSet/{name}-1{number}", "aa", name_of(item), owner=owner)
    given = random.choice((new, new, random.choice(revisions)))
    wanted = f"{owner}@{random.choice(('bb', 'bb', 'bb', 'aa'))}=configmap/{name_of(given)}"
    arguments = ["--group", group, "--workload", wanted]
    if random.randrange(3) == 0:
        arguments += ["--emitted", f"configmap/{name_of(random.choice(revisions))}"]
    if random.randrange(6) == 0:
        arguments.append("--no-prune")
    if random.randrange(2):
        has_job = random.randrange(4)
        # Without a Job and without an owner, nothing shows that a Role is the release owner.
        kinds = ("ServiceAccount", "Role") if has_job else ("ServiceAccount",)
        account = f"{random.choice(kinds)}/{group}"
        yield obj(*account.split("/"))
        if has_job:
            options = [*arguments, "--release-owner", account]
            made = job(f"{group}-1", random.choice((1, 30)), "attach", *options)
            made["metadata"]["labels"]["postrender/attach-group"] = group
            yield made
    if random.randrange(2):
        options = [*arguments, "--release-owner", f"ConfigMap/{group}-inventory"]
        data = inventory_data(options)
        labels = {"postrender/inventory": random.choice((group, group, group, *GROUPS))}
        made = obj("ConfigMap", f"{group}-inventory", metadata={"labels": labels})
        yield {**made, "data": data} if random.randrange(9) else made


# Odd objects


def _any_user(world: World) -> Iterator[Json]:
    """A user of a revision, of any kind: bare, of an operator, or being deleted."""
    kind = world.random.choice(CONSUMER_KINDS).kind
    found = user(kind, world.name(), name_of(world.some()))
    controller = world.random.choice(("", "ScaledJob/x", "Widget/x", "ReplicaSet/gone"))
    if controller:
        found["metadata"]["ownerReferences"] = [owner_of(controller, controller=True)]
    if world.random.randrange(3) == 0:
        found["metadata"]["deletionTimestamp"] = "2026-11-21T11:59:00Z"
    yield found


def _workload_ref(world: World) -> Iterator[Json]:
    """A Rollout with a workloadRef, whose target can be absent."""
    name = world.name()
    used = name_of(world.some())
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"{name}-source"}
    yield obj("Rollout", name, spec={"workloadRef": reference})
    if world.random.randrange(3):
        yield workload(f"Deployment/{name}-source", world.random.choice(("", "aa")), used)
        yield workload(f"ReplicaSet/{name}-1", "", used, owner=f"Rollout/{name}")


def _suspended(world: World) -> Iterator[Json]:
    """A suspended CronJob with a Job that still runs."""
    name, used = world.name(), name_of(world.some())
    yield workload(f"CronJob/{name}", "cc", name_of(world.some()), spec={"suspend": True})
    run = f"Job/{name}-1"
    yield workload(run, "", used, owner=f"CronJob/{name}")
    yield obj("Pod", f"{name}-1-a", owner=run, spec=template(used)["spec"])


def _experiment(world: World) -> Iterator[Json]:
    name, used = world.name(), name_of(world.some())
    spec = {"templates": [{"name": "a", "template": template(used)}]}
    yield obj("Experiment", name, owner="Rollout/app", spec=spec)
    yield workload(f"ReplicaSet/{name}-a", "", used, owner=f"Experiment/{name}")


def _second_workload(world: World) -> Iterator[Json]:
    """A workload of no release, or of one, that names several revisions."""
    names = {name_of(world.some()) for _ in range(3)}
    render_id = world.random.choice(("", "bb", "dd"))
    yield workload(f"{world.random.choice(KINDS)}/{world.name()}", render_id, *sorted(names))


def _original(world: World) -> Iterator[Json]:
    """An adopted original, or a ConfigMap of a person that looks like a revision."""
    random = world.random
    metadata: Json = {"labels": {}, "annotations": dict(random.choice(MARKS))}
    if random.randrange(3):
        metadata["labels"] = {"postrender/attach-group": random.choice(GROUPS)}
    if random.randrange(3) == 0:
        metadata["annotations"]["postrender/base-name"] = random.choice(("app", "other", "x" * 300))
    name = random.choice(("app", "app-bcdfghkmt2", world.name()))
    yield obj("ConfigMap", name, metadata=metadata, data={"value": "by hand"})


def _running_job(world: World) -> Iterator[Json]:
    """The Job of another apply, which runs, and can name anything."""
    random = world.random
    wanted = f"Deployment/app@aa=configmap/{name_of(world.some())}"
    group = random.choice(GROUPS)
    options = ["--group", group, "--workload", wanted]
    made = job(f"{group}-9", 0, "attach", *options, finished=bool(random.randrange(2)))
    made["metadata"]["labels"]["postrender/attach-group"] = group
    yield made


ODD: tuple[Callable[[World], Iterator[Json]], ...] = (
    _any_user,
    _any_user,
    _any_user,
    _workload_ref,
    _suspended,
    _experiment,
    _second_workload,
    _original,
    _original,
    _running_job,
)


# Changes of revisions


def _edit(_world: World, item: Json) -> None:
    item["data"] = {"value": "edited"}
    item["immutable"] = False


def _finalizer(world: World, item: Json) -> None:
    item["metadata"]["finalizers"] = ["example.com/keep"]
    if world.random.randrange(2):
        item["metadata"]["deletionTimestamp"] = "2026-11-21T11:00:00Z"


def _restored(_world: World, item: Json) -> None:
    """A backup brings owners back with uids that do not exist any more, and new managers."""
    metadata = item["metadata"]
    references = deepcopy(metadata.get("ownerReferences", []))
    metadata["ownerReferences"] = [{**owner, "uid": f"old {owner['uid']}"} for owner in references]
    fields: Json = {"f:metadata": {"f:ownerReferences": {}, "f:annotations": {}}, "f:data": {}}
    metadata["managedFields"] = [{"manager": "velero-server", "fieldsV1": fields}]


def _foreign_owner(world: World, item: Json) -> None:
    owner = owner_of(world.random.choice(world.live()))
    del owner["blockOwnerDeletion"]
    item["metadata"].setdefault("ownerReferences", []).append(owner)


def _lost_label(world: World, item: Json) -> None:
    field = world.random.choice(("labels", "annotations"))
    item["metadata"][field] = {}


def _kept(_world: World, item: Json) -> None:
    item["metadata"].setdefault("annotations", {})["postrender/sweep"] = "false"


def _owned_by_all(world: World, item: Json) -> None:
    owners = dict.fromkeys(world.random.choices(world.live(), k=3))
    item["metadata"]["ownerReferences"] = [owner_of(owner) for owner in owners]


CHANGES: tuple[Callable[[World, Json], None], ...] = (
    _edit,
    _finalizer,
    _restored,
    _foreign_owner,
    _lost_label,
    _kept,
    _owned_by_all,
)
