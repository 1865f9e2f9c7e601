"""The command `postrender adopt`: protect live originals before the first apply of revisions.

A tool such as Helm deletes an original that is not in the new manifests, even if Pods still use it.
`adopt` adds the label of the attach group, and annotations that prevent the deletion. Later,
`attach` adds owners to the original, and deletes it when no object uses it any more.

`adopt --undo` is the way back. After a release without postrender, the originals of the attach
group belong to the tool of the release again. `undo` removes what adopt and attach wrote on them:
the label, the annotations and the owner references. It deletes the revisions that no object uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from postrender.attach.client import PERMISSION_FIX, Client
from postrender.attach.content import edit_reason
from postrender.attach.live import Consumer, Object, Revision, read_consumer, read_revision, text_at
from postrender.attach.observe import read_consumers
from postrender.attach.reconcile import consumers_by_revision
from postrender.attach.report import unknown_group
from postrender.attach.request import (
    CONFIG_MAPS,
    CONTROLLER_MADE_KINDS,
    PODS,
    RELEASE_OWNER_KINDS,
    REVISED_KINDS,
    SECRETS,
    Resource,
    RevisionRef,
    cannot_list,
    plurals,
)
from postrender.errors import Location, UserError
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item
from postrender.kubernetes.annotations import (
    BASE_NAME_ANNOTATION,
    GROUP_LABEL,
    KEEP_ANNOTATIONS,
    SWEEP_ANNOTATION,
    UNUSED_ANNOTATION,
    changed_values,
    keep_annotations,
    without_keep,
)
from postrender.kubernetes.attach_groups import group_name_for_release, inventory_name
from postrender.kubernetes.kinds import strings_at
from postrender.records import NamedTuple

# The field manager of the writes of adopt. attach writes with live.FIELD_MANAGER.
ADOPT_FIELD_MANAGER = "postrender-adopt"
# If more than SHOWN_PODS Pods use an original, the report shows the number of Pods, and one Pod.
SHOWN_PODS = 5


class Original(NamedTuple):
    """The original of one or more revisions in an output of postrender.

    namespace: in the manifest of a revision, None if absent.
    is_in_output: whether the output also contains the original, so that an apply overwrites it.
    labels, annotations: what adopt adds to the live original.
    """

    resource: Resource
    namespace: str | None
    name: str
    is_in_output: bool
    labels: Mapping[str, str]
    annotations: Mapping[str, str]

    @property
    def ref(self) -> RevisionRef:
        """As in Consumer.references."""
        return self.resource.kind.lower(), self.name

    def __str__(self) -> str:
        return f"{self.resource.kind}/{self.name}"


def run_adopt(
    originals: Sequence[Original],
    namespace: str | None,
    client_of: Callable[[str | None], Client],
    *,
    is_dry: bool,
) -> list[str]:
    """Adopt originals, and return the lines of the report.

    namespace: of originals without a namespace in the output, None as in open_clients.
    is_dry: whether to report the changes without changing the cluster.
    """
    lines = []
    for written_namespace in dict.fromkeys(original.namespace for original in originals):
        client = client_of(written_namespace or namespace)
        group = [original for original in originals if original.namespace == written_namespace]
        lines += in_namespace(client, adopt(client, group, is_dry=is_dry))
    return lines


def in_namespace(client: Client, lines: Iterable[str]) -> list[str]:
    """The lines of a report with the namespace of a client."""
    return [f"namespace {client.namespace}: {line}" for line in lines]


def find_originals(inventory: Inventory) -> list[Original]:
    """The originals of the revisions in an output of postrender. There must be one."""
    present = {item.identity for item in inventory.items}
    originals: dict[tuple[Resource, str | None, str], Original] = {}
    for item in inventory.items:
        base_name = item.annotations.get(BASE_NAME_ANNOTATION)
        if base_name and GROUP_LABEL in item.labels:
            is_in_output = item.identity._replace(name=base_name) in present
            original = _original(item, base_name, is_in_output=is_in_output)
            originals[original.resource, original.namespace, original.name] = original
    if not originals:
        raise UserError(
            "the input does not contain a revision",
            "Pipe in the output of postrender: helm template … | postrender | postrender adopt. "
            "If the output does not contain revisions, skip adopt",
            Location(inventory.stream.source),
        )
    return list(originals.values())


def _original(item: Item, base_name: str, *, is_in_output: bool) -> Original:
    annotations = keep_annotations()
    if item.annotations.get(SWEEP_ANNOTATION) == "false":
        annotations[SWEEP_ANNOTATION] = "false"
    return Original(
        resource=next(
            kind for kind in REVISED_KINDS if kind.group_kind == item.identity.group_kind
        ),
        namespace=item.identity.namespace,
        name=base_name,
        is_in_output=is_in_output,
        labels={GROUP_LABEL: item.labels[GROUP_LABEL]},
        annotations=annotations,
    )


def adopt(client: Client, originals: Sequence[Original], *, is_dry: bool) -> list[str]:
    """Adopt the originals of one namespace, and return a report line for each."""
    pods, _ = client.list_all(PODS, partial(read_consumer, PODS))
    live = {
        (resource, text_at(data, "metadata", "name")): data
        for resource in dict.fromkeys(original.resource for original in originals)
        for data in client.list_all(resource, lambda data: data)[0]
    }
    lines = []
    for original in originals:
        users = [str(pod) for pod in pods if original.ref in pod.references]
        data = live.get((original.resource, original.name))
        start, end = _adopt_original(client, original, data, is_dry=is_dry)
        lines.append(f"{start} {original}{_used_by(users)}{end}")
    if not any((original.resource, original.name) in live for original in originals):
        lines.append("the originals do not exist. Check --namespace and --kube-context.")
    return lines


def _used_by(users: Sequence[str]) -> str:
    if len(users) > SHOWN_PODS:
        return f" (used by {len(users)} Pods such as {users[0]})"
    return f" (used by {', '.join(users)})" if users else ""


def _adopt_original(
    client: Client, original: Original, data: Object | None, *, is_dry: bool
) -> tuple[str, str]:
    """Adopt an original, and return the report line before and after the name of the original.

    data: the live object, None if absent.
    """
    if data is None:
        return "adopt skips", ", because the object does not exist"
    if original.is_in_output:
        return "adopt cannot protect", (
            f", because the output contains {original} itself. If --previous does not retain "
            f"{original} unchanged, an apply overwrites the live object. postrender explain shows "
            f"why the output contains {original}. To protect {original}, remove the cause."
        )
    labels = changed_values(strings_at(data, "labels"), original.labels)
    current = strings_at(data, "annotations")
    annotations: dict[str, str | None] = {**changed_values(current, original.annotations)}
    if labels:
        # An earlier adoption can have left annotations. With an old UNUSED_ANNOTATION, the attacher
        # would delete an unused original without a delay.
        stale = {SWEEP_ANNOTATION, UNUSED_ANNOTATION} & current.keys() - original.annotations.keys()
        annotations.update(dict.fromkeys(stale))
    if not labels and not annotations:
        return "adopt already protects", ""
    if is_dry:
        return "adopt would protect", ""
    patch: Object = {"metadata": {"labels": labels, "annotations": annotations}}
    is_patched = client.patch(original.resource, original.name, patch)
    if not is_patched:
        return "adopt skips", ", because the object does not exist any more"
    return "adopt protects", ""


_OURS = (*KEEP_ANNOTATIONS, UNUSED_ANNOTATION)


def undo(client: Client, group: str, *, is_dry: bool) -> list[str]:
    """Give the objects of an attach group back, and return a report line for each.

    group: as in `render --group`, or the name of the attach group.
    UserError if a workload still uses a revision, because the release still needs postrender.
    """
    group_name = group_name_for_release(group)
    config_maps, _ = client.list_all(CONFIG_MAPS, partial(_read, CONFIG_MAPS))
    secrets = client.list_allowed(SECRETS, partial(_read, SECRETS))
    objects = [
        pair for pair in (*config_maps, *(secrets or ())) if _is_of_group(pair[0], group_name)
    ]
    consumers, unreadable = read_consumers(client)
    if not objects:
        raise unknown_group(group_name, client.namespace)
    if unreadable:
        raise UserError(
            f"{cannot_list(plurals(unreadable))}, and an object of these kinds might use a "
            "revision",
            PERMISSION_FIX,
        )
    users = consumers_by_revision(consumers)
    for revision, _ in objects:
        for consumer in users[revision.key]:
            if revision.base_name and consumer.resource not in CONTROLLER_MADE_KINDS:
                raise UserError(
                    f"{consumer} uses {revision}, so the release still needs postrender",
                    "First release without postrender, then run this command again",
                    Location(f"namespace {client.namespace}"),
                )
    lines = [
        _delete(client, revision, users[revision.key], is_dry=is_dry)
        if revision.base_name and revision.group_name
        else _give_back(client, revision, data, is_dry=is_dry)
        for revision, data in sorted(objects, key=lambda pair: bool(pair[0].base_name))
    ]
    if secrets is None:
        lines.append(
            f"adopt leaves out revisions of Secrets, because {cannot_list([SECRETS.plural])}"
        )
    return lines


def _read(resource: Resource, data: Object) -> tuple[Revision, Object]:
    return read_revision(resource, data), data


def _is_of_group(revision: Revision, group_name: str) -> bool:
    """Whether an object is of the group.

    An apply of manifests without postrender can have removed the label. The release owner, which
    attach has added, then shows the group.
    """
    if revision.group_name:
        return revision.group_name == group_name
    owners = {(resource.kind, group_name) for resource in RELEASE_OWNER_KINDS}
    owners.add((CONFIG_MAPS.kind, inventory_name(group_name)))
    return any(
        owner.uid in revision.proven_owners and (owner.kind, owner.name) in owners
        for owner in revision.owners
    )


def _give_back(client: Client, original: Revision, data: Object, *, is_dry: bool) -> str:
    if is_dry:
        return f"adopt would give back {original}"
    current = strings_at(data, "annotations")
    kept = {key: value for key, value in without_keep(current).items() if key not in _OURS}
    changed = {key: kept.get(key) for key in current if kept.get(key) != current[key]}
    owners = [owner for owner in original.owners if owner.uid in original.our_owners]
    patch: Object = {
        "uid": original.uid,
        "labels": {GROUP_LABEL: None},
        "annotations": changed,
        "ownerReferences": [{"$patch": "delete", "uid": owner.uid} for owner in owners],
    }
    written = {key: value for key, value in patch.items() if value}
    if not client.patch(original.resource, original.name, {"metadata": written}):
        return f"adopt skips {original}, because the object does not exist any more"
    return f"adopt gives back {original}"


def _delete(client: Client, revision: Revision, users: Sequence[Consumer], *, is_dry: bool) -> str:
    reason = _keep_reason(client, revision, users)
    if reason:
        return f"adopt keeps {revision}, because {reason}"
    if is_dry:
        return f"adopt would delete {revision}"
    preconditions = {"uid": revision.uid, "resourceVersion": revision.resource_version}
    if client.delete(revision.resource, revision.name, preconditions):
        return f"adopt deletes {revision}"
    return f"adopt keeps {revision}, because the object changed during this run"


def _keep_reason(client: Client, revision: Revision, users: Sequence[Consumer]) -> str:
    if users:
        return f"{users[0]} uses the revision"
    if revision.is_deleting:
        return "Kubernetes already deletes the revision"
    if revision.keep_reason:
        return f"{revision.keep_reason}. Delete the revision by hand when nothing needs it"
    return edit_reason(client, revision, revision.base_name)
