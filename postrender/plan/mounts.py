"""Auto-mounts: volumes or variables that postrender adds to pod templates.

A user requests an auto-mount with annotations on a ConfigMap or Secret:

- `postrender/mount-path: /etc/app` requests a volume.
- `postrender/env-from: "true"` requests variables.
- `postrender/mount-in: Rollout/app` selects the workload. Without this annotation, the namespace
  must have exactly one workload that postrender rewrites.
- `postrender/containers: app,worker` selects the containers. Without this annotation, postrender
  selects every container except init containers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

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
from postrender.kubernetes.hashing import sha256_hex
from postrender.kubernetes.kinds import (
    MAX_LABEL_LENGTH,
    SECRET,
    ObjectKey,
    is_namespaced_workload,
)
from postrender.plan.links import item_order
from postrender.plan.namespaces import Resolver
from postrender.plan.strategy import is_known_revision
from postrender.records import NamedTuple, grouped
from postrender.text import shown
from postrender.yaml.edits import AddItems
from postrender.yaml.paths import Json, Path, mappings_in, value_at

# The maximum product of the auto-mounts in a workload and its containers, volumes, volumeMounts and
# envFrom. The input grows with their sum, but the time and the output grow with the product.
_MAX_ENTRIES = 20_000
# In _check_paths, the name of a mount's containers if the mount is in every container.
_EVERY = ""


class Mount(NamedTuple):
    """The auto-mount of one ConfigMap or Secret in a workload.

    workload: the object with the pod template. If a Rollout has a workloadRef, this object is the
        referenced workload.
    path: "" without a volume.
    containers: () for every container except init containers.
    """

    item: Item
    workload: Item
    path: str
    env_from: bool
    containers: tuple[str, ...]


def find_mounts(inventory: Inventory, resolver: Resolver) -> dict[ItemKey, list[Mount]]:
    """The auto-mounts that ConfigMaps and Secrets request, by workload.

    Hooks, revisions, and objects with a revision that is also in the stream do not get one.
    """
    mounts: dict[ItemKey, list[Mount]] = defaultdict(list)
    requested = [
        item
        for item in inventory.items
        if item.requests_auto_mount
        and item.identity.group_kind not in inventory.fixed_kinds
        and _is_requested(item)
    ]
    if not requested:
        return mounts
    revised = _revised_keys(inventory, resolver)
    workloads = _Workloads(inventory, resolver)
    for item in sorted(requested, key=item_order):
        if _key_of(resolver, item, item.identity.name) not in revised:
            mount = _mount(inventory, workloads, item)
            mounts[mount.workload.key].append(mount)
    for workload_mounts in mounts.values():
        _check_paths(inventory, workload_mounts)
        _check_count(inventory, workload_mounts)
    return mounts


def _is_requested(item: Item) -> bool:
    if not item.has_content or item.is_hook or item.is_attacher or is_known_revision(item):
        return False
    has_env_from = item.annotations.get(ENV_FROM_ANNOTATION) == "true"
    return has_env_from or bool(item.annotations.get(MOUNT_PATH_ANNOTATION))


def _key_of(resolver: Resolver, item: Item, name: str) -> ObjectKey:
    return ObjectKey(item.identity.group_kind, resolver.namespace_of(item.identity.namespace), name)


def _revised_keys(inventory: Inventory, resolver: Resolver) -> set[ObjectKey]:
    """The keys of the objects of which the stream has a revision."""
    return {
        _key_of(resolver, item, item.annotations[BASE_NAME_ANNOTATION])
        for item in inventory.items
        if item.has_content and BASE_NAME_ANNOTATION in item.annotations and is_known_revision(item)
    }


def _mount(inventory: Inventory, workloads: _Workloads, item: Item) -> Mount:
    path = item.annotations.get(MOUNT_PATH_ANNOTATION, "")
    if path and not path.startswith("/"):
        raise UserError(
            f"the annotation {MOUNT_PATH_ANNOTATION} is {shown(path)}, expected an absolute path",
            "Begin the path with a slash",
            inventory.location_of(item),
        )
    if ":" in path:
        raise UserError(
            f"the annotation {MOUNT_PATH_ANNOTATION} is {shown(path)}, expected a path without a "
            "colon",
            "Remove the colon and the text after it. The mount is always read-only",
            inventory.location_of(item),
        )
    containers = item.annotations.get(CONTAINERS_ANNOTATION, "").split(",")
    return Mount(
        item=item,
        workload=_workload(inventory, workloads, item),
        path=_normal(path),
        env_from=item.annotations.get(ENV_FROM_ANNOTATION) == "true",
        containers=tuple(name.strip() for name in containers if name.strip()),
    )


def _normal(path: str) -> str:
    """A path without a slash at its end: the kubelet mounts `/etc/app` and `/etc/app/` alike."""
    return path.rstrip("/") or path[:1]


class _Workloads:
    """The workloads of a stream.

    by_namespace: all workloads. rewritable: those that postrender rewrites, by namespace.
    with_template: those of `rewritable` with a pod template.
    by_title: those of `rewritable`, by namespace and `Kind/name`.
    """

    def __init__(self, inventory: Inventory, resolver: Resolver) -> None:
        self._resolver = resolver
        self.by_namespace: dict[str | None, list[Item]] = defaultdict(list)
        self.rewritable: dict[str | None, list[Item]] = defaultdict(list)
        self.with_template: dict[str | None, list[Item]] = defaultdict(list)
        self.by_title: dict[tuple[str | None, str], list[Item]] = defaultdict(list)
        for item in inventory.items:
            if is_namespaced_workload(item.identity.group_kind):
                namespace = self.namespace_of(item)
                self.by_namespace[namespace].append(item)
                if item.is_rewritable:
                    self.rewritable[namespace].append(item)
                    self.by_title[namespace, str(item.identity)].append(item)
                    if item.templates:
                        self.with_template[namespace].append(item)

    def namespace_of(self, item: Item) -> str | None:
        return self._resolver.effective_namespace(item.identity.namespace)

    def template_holders(self, workload: Item) -> list[Item]:
        """The workload itself or, for a Rollout with a workloadRef, the referenced workloads."""
        if not workload.workload_ref:
            return [workload]
        (_, kind), name = workload.workload_ref
        return [
            holder
            for holder in self.by_title[self.namespace_of(workload), f"{kind}/{name}"]
            if holder.identity.group_kind == workload.workload_ref[0]
        ]


def _workload(inventory: Inventory, all_workloads: _Workloads, item: Item) -> Item:
    namespace = all_workloads.namespace_of(item)
    in_namespace = all_workloads.by_namespace[namespace]
    workloads = all_workloads.rewritable[namespace]
    mount_in = item.annotations.get(MOUNT_IN_ANNOTATION)
    if mount_in is None:
        selected = workloads
        candidates = all_workloads.with_template[namespace]
    else:
        selected = all_workloads.by_title[namespace, mount_in]
        candidates = [
            holder for workload in selected for holder in all_workloads.template_holders(workload)
        ]
    if len(candidates) == 1:
        return candidates[0]
    _check_rewritable(inventory, item, in_namespace, selected)
    for workload in selected:
        if workload.workload_ref and not candidates:
            (_, kind), name = workload.workload_ref
            raise UserError(
                f"{item.identity} requests an auto-mount in {workload.identity}, but the input "
                f"does not contain {kind}/{name}, which has the pod template",
                f"Add {kind}/{name} to the input",
                inventory.location_of(workload),
            )
    listed = ", ".join(str(workload.identity) for workload in candidates)
    found = f" (found {listed})" if listed else ""
    raise UserError(
        f"{MOUNT_IN_ANNOTATION} is {shown(mount_in)}, expected a workload that postrender "
        f"rewrites, in the namespace of the {item.identity.kind}"
        if mount_in is not None
        else f"{item.identity} requests an auto-mount, but the input has {len(candidates)} "
        f"workloads in the namespace of the {item.identity.kind}, expected 1 workload{found}",
        f"Set {MOUNT_IN_ANNOTATION} to one workload, such as {workloads[0].identity}"
        if workloads
        else f"Add a workload in this namespace to the input, or remove {_mounts_of(item)}",
        inventory.location_of(item),
    )


def _mounts_of(item: Item) -> str:
    """A phrase for the annotations of an object that request an auto-mount."""
    names = (MOUNT_PATH_ANNOTATION, ENV_FROM_ANNOTATION)
    listed = " and ".join(name for name in names if name in item.annotations)
    return f"{listed} from {item.identity}"


def _check_rewritable(
    inventory: Inventory, item: Item, in_namespace: Sequence[Item], selected: Sequence[Item]
) -> None:
    """Raise UserError if postrender does not rewrite the workload of an auto-mount.

    selected: the rewritable workloads that `mount-in` selects, by default all rewritable workloads.
    """
    refused = _refused(item, in_namespace, selected)
    opted_out = next((workload for workload in refused if workload.opt_out), None)
    if opted_out:
        problem = f"{opted_out.identity} opts out with {opted_out.opt_out}"
        fix = f"Remove the opt-out of {opted_out.identity}"
    elif refused and not (selected or MOUNT_IN_ANNOTATION in item.annotations):
        listed = ", ".join(str(workload.identity) for workload in refused)
        problem = f"postrender does not rewrite {listed}"
        fix = "Add a workload that postrender rewrites, such as a Deployment"
    else:
        return
    raise UserError(
        f"{item.identity} requests an auto-mount, but {problem}",
        f"{fix}, or remove {_mounts_of(item)}",
        inventory.location_of(item),
    )


def _refused(item: Item, in_namespace: Sequence[Item], selected: Sequence[Item]) -> Sequence[Item]:
    refused = [workload for workload in in_namespace if not workload.is_rewritable]
    mount_in = item.annotations.get(MOUNT_IN_ANNOTATION)
    if mount_in is None and not selected:
        return refused
    sources = [workload.workload_ref for workload in selected]
    return [
        workload
        for workload in refused
        if str(workload.identity) == mount_in
        or (workload.identity.group_kind, workload.identity.name) in sources
    ]


def _check_paths(inventory: Inventory, mounts: Sequence[Mount]) -> None:
    """Refuse two mounts at one path in a container; mounts: all of one workload."""
    at_paths = grouped((mount for mount in mounts if mount.path), lambda mount: mount.path)
    conflicts: list[tuple[Mount, Mount]] = []
    for several in at_paths.values():
        by_container: dict[str, Mount] = {}
        for mount in several:
            names = mount.containers or (_EVERY,)
            earlier = [by_container[name] for name in (*names, _EVERY) if name in by_container]
            if not mount.containers and by_container:
                earlier = list(by_container.values())
            if earlier:
                conflicts.append((mount, min(earlier, key=several.index)))
                break
            by_container.update(dict.fromkeys(names, mount))
    if not conflicts:
        return
    mount, other = min(conflicts, key=lambda pair: mounts.index(pair[0]))
    raise UserError(
        f"{mount.item.identity} and {other.item.identity} both request a mount at "
        f"{mount.path} in {mount.workload.identity}, expected different paths",
        f"Change {MOUNT_PATH_ANNOTATION} of one of the two objects",
        inventory.location_of(mount.item),
    )


def _check_count(inventory: Inventory, mounts: Sequence[Mount]) -> None:
    """Refuse auto-mounts that add more than _MAX_ENTRIES; mounts: all of one workload."""
    workload = mounts[0].workload
    count = 0
    for number in range(len(workload.templates)):
        spec = value_at(inventory.template(workload, number), ("spec",))
        containers = [
            container
            for key in ("containers", "initContainers")
            for container in mappings_in(value_at(spec, (key,)))
        ]
        count += len(containers) + len(mappings_in(value_at(spec, ("volumes",))))
        count += sum(
            len(mappings_in(container.get(key)))
            for container in containers
            for key in ("volumeMounts", "envFrom")
        )
    if count * len(mounts) > _MAX_ENTRIES:
        raise UserError(
            f"{len(mounts)} ConfigMaps and Secrets request an auto-mount in {workload.identity}, "
            f"which has {count} containers, volumes and entries of the two. The product of the two "
            f"numbers is more than {_MAX_ENTRIES:,}",
            "Put the data into fewer ConfigMaps, or write the volumes of the workload by hand, "
            f"and remove the annotations {MOUNT_PATH_ANNOTATION} and {ENV_FROM_ANNOTATION}",
            inventory.location_of(mounts[-1].item),
        )


def mount_edits(inventory: Inventory, mount: Mount, name: str) -> list[AddItems]:
    """The edits that add an auto-mount to each pod template of a workload.

    The edits do not change a container that already has the auto-mount.
    name: the name of the mounted object in the output.
    """
    edits: list[AddItems] = []
    for number, template in enumerate(mount.workload.templates):
        spec = value_at(inventory.template(mount.workload, number), ("spec",))
        path = (*template, "spec")
        if mount.path:
            edits += _volume_edits(inventory, mount, name, spec, path)
        if mount.env_from:
            entry = _env_from(mount.item, name)
            edits += [
                AddItems((*path, list_key, number, "envFrom"), (entry,))
                for list_key, number, container in _containers(inventory, mount, spec)
                if entry not in mappings_in(value_at(container, ("envFrom",)))
            ]
    return edits


def _volume_edits(
    inventory: Inventory, mount: Mount, name: str, spec: Json, path: Path
) -> list[AddItems]:
    volume_name = _volume_name(mount.item.identity.name, spec)
    added = _volume(mount.item, volume_name, name)
    existing_names = [
        volume.get("name")
        for volume in mappings_in(value_at(spec, ("volumes",)))
        if _volume_source(volume) == _volume_source(added)
    ]
    edits: list[AddItems] = []
    for list_key, number, container in _containers(inventory, mount, spec):
        if not _is_mounted(inventory, mount, container, existing_names):
            entry: Json = {"name": volume_name, "mountPath": mount.path, "readOnly": True}
            edits.append(AddItems((*path, list_key, number, "volumeMounts"), (entry,)))
    return [AddItems((*path, "volumes"), (added,)), *edits] if edits else []


def _volume_source(volume: Mapping[str, Json]) -> Json:
    return {key: value for key, value in volume.items() if key != "name"}


def _volume(item: Item, volume_name: str, name: str) -> dict[str, Json]:
    if item.identity.group_kind == SECRET:
        return {"name": volume_name, "secret": {"secretName": name}}
    return {"name": volume_name, "configMap": {"name": name}}


def _env_from(item: Item, name: str) -> Json:
    key = "secretRef" if item.identity.group_kind == SECRET else "configMapRef"
    return {key: {"name": name}}


def _volume_name(base_name: str, spec: Json) -> str:
    """A volume name for a base name.

    It contains a hash if the name without the hash is too long or already used.
    """
    label = re.sub("[^a-z0-9-]+", "-", base_name.lower()).strip("-")
    used_names = [volume.get("name") for volume in mappings_in(value_at(spec, ("volumes",)))]
    if len(label) <= MAX_LABEL_LENGTH and label not in used_names:
        return label
    digest = sha256_hex(base_name)[:8]
    return f"{label[: MAX_LABEL_LENGTH - 9].rstrip('-')}-{digest}"


def _containers(inventory: Inventory, mount: Mount, spec: Json) -> list[tuple[str, int, Json]]:
    """The containers for an auto-mount: key of the list, index in the list, container."""
    entries = [
        (list_key, number, container)
        for list_key in ("containers", "initContainers")
        if isinstance(items := value_at(spec, (list_key,)), list)
        for number, container in enumerate(items)
        if isinstance(container, dict)
    ]
    if not any(list_key == "containers" for list_key, _, _ in entries):
        raise UserError(
            f"{mount.item.identity} requests an auto-mount in {mount.workload.identity}, but a pod "
            "template of the workload does not contain a container",
            f"Add a container to {mount.workload.identity}, or remove {_mounts_of(mount.item)}",
            inventory.location_of(mount.item),
        )
    if not mount.containers:
        return [entry for entry in entries if entry[0] == "containers"]
    names = [value_at(container, ("name",)) for _, _, container in entries]
    existing = {name for name in names if isinstance(name, str)}
    for name in mount.containers:
        if name not in existing:
            raise UserError(
                f"{CONTAINERS_ANNOTATION} lists {shown(name)}, expected containers of "
                f"{mount.workload.identity} ({', '.join(map(shown, filter(None, names)))})",
                f"Fix or remove {shown(name)} in {CONTAINERS_ANNOTATION}",
                inventory.location_of(mount.item),
            )
    selected = set(mount.containers)
    return [
        entry
        for entry, name in zip(entries, names, strict=True)
        if isinstance(name, str) and name in selected
    ]


def _is_mounted(
    inventory: Inventory, mount: Mount, container: Json, volume_names: list[Json]
) -> bool:
    """Whether a container already mounts the object at the path of an auto-mount.

    volume_names: the names of the existing volumes that contain the object.
    """
    for volume_mount in mappings_in(value_at(container, ("volumeMounts",))):
        if _normal(str(volume_mount.get("mountPath", ""))) == mount.path:
            if volume_mount.get("name") in volume_names:
                return True
            name = shown(value_at(container, ("name",)))
            raise UserError(
                f"{mount.item.identity} requests a mount at {mount.path}, but the container {name} "
                f"of {mount.workload.identity} mounts another volume at this path",
                f"Change {MOUNT_PATH_ANNOTATION} or {CONTAINERS_ANNOTATION}",
                inventory.location_of(mount.item),
            )
    return False
