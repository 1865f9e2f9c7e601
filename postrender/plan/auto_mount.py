"""ConfigMaps that say themselves where they are mounted, so that a chart never writes their name.

Annotations: `postrender/mount-path: /etc/app` and `postrender/env-from: "true"` ask for it;
`postrender/mount-in: Rollout/app` says in which workload (else the stream must have one in that
namespace), `postrender/containers: app,worker` in which containers (else in all but init ones).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from postrender.errors import UserError
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.annotations import (
    BASE_NAME_ANNOTATION,
    CONTAINERS_ANNOTATION,
    ENV_FROM_ANNOTATION,
    MOUNT_IN_ANNOTATION,
    MOUNT_PATH_ANNOTATION,
)
from postrender.kubernetes.kinds import SECRET, WORKLOAD_KINDS
from postrender.plan.namespaces import Resolver
from postrender.plan.strategy import is_known_revision
from postrender.startup.digest import sha256
from postrender.startup.patterns import pattern
from postrender.startup.records import NamedTuple
from postrender.yaml.edits import AddItems, Edit
from postrender.yaml.paths import Json, Path, mapping_at, value_at

_NOT_LABEL = pattern(r"[^a-z0-9-]+")
_MAX_LABEL = 63


class Mount(NamedTuple):
    """An object that goes into a workload: path and env_from as its annotations ask."""

    item: Item
    workload: Item
    path: str
    env_from: bool
    containers: tuple[str, ...]


def find_mounts(inventory: Inventory, resolver: Resolver) -> list[Mount]:
    """Return the auto-mounts that the stream's ConfigMaps (and Secrets) ask for.

    Raises UserError where the workload is not given and cannot be told, or does not exist.
    """
    return [
        _mount(inventory, resolver, item)
        for item in inventory.items
        if _asks(item) and not _has_revision(inventory, item, resolver)
    ]


def _asks(item: Item) -> bool:
    if item.content is None or item.is_hook or item.is_attacher or is_known_revision(item):
        return False
    asks_env = item.annotations.get(ENV_FROM_ANNOTATION) == "true"
    return asks_env or MOUNT_PATH_ANNOTATION in item.annotations


def _has_revision(inventory: Inventory, item: Item, resolver: Resolver) -> bool:
    """Tell whether an object is an original that an earlier run kept beside its revision."""
    return any(
        other.annotations.get(BASE_NAME_ANNOTATION) == item.identity.name
        and other.identity.group_kind == item.identity.group_kind
        and resolver.is_same(other.identity.namespace, item.identity.namespace)
        for other in inventory.items
        if other.content is not None and is_known_revision(other)
    )


def _mount(inventory: Inventory, resolver: Resolver, item: Item) -> Mount:
    path = item.annotations.get(MOUNT_PATH_ANNOTATION, "")
    if path and not path.startswith("/"):
        raise UserError(
            f"{MOUNT_PATH_ANNOTATION}: {path!r} is no absolute path",
            "begin it with a slash",
            inventory.location_of(item),
        )
    containers = item.annotations.get(CONTAINERS_ANNOTATION, "").split(",")
    return Mount(
        item,
        _workload(inventory, resolver, item),
        path,
        item.annotations.get(ENV_FROM_ANNOTATION) == "true",
        tuple(name.strip() for name in containers if name.strip()),
    )


def _workload(inventory: Inventory, resolver: Resolver, item: Item) -> Item:
    here = resolver.effective_namespace(item.identity.namespace)
    candidates = [
        other
        for other in inventory.items
        if _takes_mounts(other) and resolver.effective_namespace(other.identity.namespace) == here
    ]
    asked = item.annotations.get(MOUNT_IN_ANNOTATION)
    if asked is None:
        basis = [other for other in candidates if other.templates]
    else:
        named = [other for other in candidates if str(other.identity) == asked]
        basis = [target for other in named for target in _behind(other, candidates)]
    if len(basis) == 1:
        return basis[0]
    there = ", ".join(str(other.identity) for other in candidates) or "none"
    what = (
        f"no workload {asked} in its namespace (there: {there})"
        if asked
        else f"to be mounted, but its namespace has {len(basis)} workloads, not one: {there}"
    )
    fix = f"name one of them in {MOUNT_IN_ANNOTATION}"
    raise UserError(what, fix, inventory.location_of(item))


def _takes_mounts(item: Item) -> bool:
    workload = WORKLOAD_KINDS.get(item.identity.group_kind)
    return workload is not None and workload.is_namespaced and item.is_rewritable


def _behind(item: Item, candidates: Iterable[Item]) -> list[Item]:
    """Return the object that holds the pod template: a Rollout may take it from a Deployment."""
    if not item.workload_ref:
        return [item]
    return [
        other
        for other in candidates
        if (other.identity.group_kind, other.identity.name) == item.workload_ref
    ]


def check_mounts(inventory: Inventory, mounts: Mapping[ItemKey, Sequence[Mount]]) -> None:
    """Raise UserError where two objects are to be mounted at one path of one container."""
    for group in mounts.values():
        for number, mount in enumerate(group):
            for other in group[:number]:
                shared = not (mount.containers and other.containers) or (
                    set(mount.containers) & set(other.containers)
                )
                if mount.path and mount.path == other.path and shared:
                    raise UserError(
                        f"to be mounted at {mount.path} in {mount.workload.identity}, where "
                        f"{other.item.identity} goes",
                        f"choose another {MOUNT_PATH_ANNOTATION}",
                        inventory.location_of(mount.item),
                    )


def mount_edits(inventory: Inventory, mount: Mount, name: str) -> list[Edit]:
    """Return the edits that put the object, under this name, into each pod template.

    What is there already (a run before this one put it there) is not added again.
    Raises UserError for a container that is not there or has something else at the path.
    """
    edits: list[Edit] = []
    for template in mount.workload.templates:
        spec = value_at(template.data, ("spec",))
        path = (*template.path, "spec")
        if mount.path:
            edits += _volume_edits(inventory, mount, name, spec, path)
        if mount.env_from:
            entry = _env_from(mount.item, name)
            edits += [
                AddItems((*path, kind, number, "envFrom"), (entry,))
                for kind, number, container in _containers(inventory, mount, spec)
                if entry not in _list(value_at(container, ("envFrom",)))
            ]
    return edits


def _volume_edits(
    inventory: Inventory, mount: Mount, name: str, spec: Json, path: Path
) -> list[Edit]:
    volume = _volume_name(mount.item.identity.name, spec)
    added = _volume(mount.item, volume, name)
    ours = [
        value_at(there, ("name",))
        for there in _list(value_at(spec, ("volumes",)))
        if _source(there) == _source(added)
    ]
    edits: list[Edit] = []
    for kind, number, container in _containers(inventory, mount, spec):
        if not _is_mounted(inventory, mount, container, ours):
            entry: Json = {"name": volume, "mountPath": mount.path, "readOnly": True}
            edits.append(AddItems((*path, kind, number, "volumeMounts"), (entry,)))
    return [AddItems((*path, "volumes"), (added,)), *edits] if edits else []


def _source(volume: Json) -> Json:
    """Return what a volume holds, without its name."""
    return {key: value for key, value in mapping_at(volume, ()).items() if key != "name"}


def _volume(item: Item, volume: str, name: str) -> Json:
    if item.identity.group_kind == SECRET:
        return {"name": volume, "secret": {"secretName": name}}
    return {"name": volume, "configMap": {"name": name}}


def _env_from(item: Item, name: str) -> Json:
    key = "secretRef" if item.identity.group_kind == SECRET else "configMapRef"
    return {key: {"name": name}}


def _volume_name(base_name: str, spec: Json) -> str:
    """Return a volume name made of the base name, which no volume of the pod has yet."""
    label = _NOT_LABEL.sub("-", base_name.lower()).strip("-")
    taken = [value_at(volume, ("name",)) for volume in _list(value_at(spec, ("volumes",)))]
    if len(label) <= _MAX_LABEL and label not in taken:
        return label
    digest = sha256(base_name.encode()).hexdigest()[:8]
    return f"{label[: _MAX_LABEL - 9].rstrip('-')}-{digest}"


def _containers(inventory: Inventory, mount: Mount, spec: Json) -> list[tuple[str, int, Json]]:
    """Return (list, number, container) of the containers that the object goes into."""
    every = [
        (kind, number, container)
        for kind in ("containers", "initContainers")
        for number, container in enumerate(_list(value_at(spec, (kind,))))
    ]
    if not mount.containers:
        return [entry for entry in every if entry[0] == "containers"]
    names = [value_at(container, ("name",)) for _, _, container in every]
    for name in mount.containers:
        if name not in names:
            raise UserError(
                f"{mount.workload.identity} has no container {name!r}, only "
                + ", ".join(map(str, names)),
                f"mend {CONTAINERS_ANNOTATION}",
                inventory.location_of(mount.item),
            )
    return [entry for entry, name in zip(every, names, strict=True) if name in mount.containers]


def _is_mounted(inventory: Inventory, mount: Mount, container: Json, ours: list[Json]) -> bool:
    """Tell whether one of our volumes is mounted at the path; refuse any other there."""
    for there in _list(value_at(container, ("volumeMounts",))):
        if value_at(there, ("mountPath",)) == mount.path:
            if value_at(there, ("name",)) in ours:
                return True
            raise UserError(
                f"{mount.workload.identity}, container {value_at(container, ('name',))}, mounts "
                f"something at {mount.path} already",
                f"choose another {MOUNT_PATH_ANNOTATION}, or other {CONTAINERS_ANNOTATION}",
                inventory.location_of(mount.item),
            )
    return False


def _list(data: Json) -> Sequence[Json]:
    return data if isinstance(data, list) else ()
