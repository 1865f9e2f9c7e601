"""The command `postrender adopt --undo`: the way back to a release without postrender.

After the release without postrender, the originals of the attach group belong to the tool of the
release again. `undo` removes what adopt and attach wrote on them: the label, the annotations and
the owner references. It deletes the revisions that no object uses, and keeps all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from postrender.attach.client import FORBIDDEN, PERMISSION_FIX, ApiError, Client
from postrender.attach.failures import unknown_group
from postrender.attach.live import Consumer, Object, Revision, read_revision
from postrender.attach.observe import read_consumers
from postrender.attach.reconcile import consumers_by_revision
from postrender.attach.request import (
    CONFIG_MAPS,
    CONTROLLER_MADE_KINDS,
    RELEASE_OWNER_KINDS,
    REVISED_KINDS,
    SECRETS,
    cannot_list,
)
from postrender.attach.sweep import edit_reason
from postrender.errors import Location, UserError
from postrender.kubernetes.annotations import (
    GROUP_LABEL,
    SWEEP_ANNOTATION,
    UNUSED_ANNOTATION,
    without_keep,
)
from postrender.kubernetes.group_names import group_name_for_release
from postrender.kubernetes.inventories import inventory_name
from postrender.kubernetes.kinds import strings_at

_OURS = (SWEEP_ANNOTATION, UNUSED_ANNOTATION)


def undo(client: Client, group: str, *, is_dry: bool) -> list[str]:
    """Give the objects of an attach group back, and return a report line for each.

    group: as in `render --group`, or the name of the attach group.
    UserError if a workload still uses a revision, because the release still needs postrender.
    """
    group_name = group_name_for_release(group)
    objects = list(_objects_of(client, group_name))
    consumers, unreadable = read_consumers(client)
    if not objects:
        raise unknown_group(group_name, client.namespace)
    if unreadable:
        raise UserError(
            f"{cannot_list(unreadable)}, and an object of these kinds might use a revision",
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
    return [
        _delete(client, revision, users[revision.key], is_dry=is_dry)
        if revision.base_name and revision.group_name
        else _give_back(client, revision, data, is_dry=is_dry)
        for revision, data in sorted(objects, key=lambda pair: bool(pair[0].base_name))
    ]


def _objects_of(client: Client, group_name: str) -> Iterator[tuple[Revision, Object]]:
    """The objects of the group, each with its metadata. Only Secrets may be forbidden.

    An apply of manifests without postrender can have removed the label. The release owner, which
    attach has added, then shows the group.
    """
    for resource in REVISED_KINDS:
        try:
            found, _ = client.list_all(resource, lambda data: data)
        except ApiError as error:
            if resource != SECRETS or error.status != FORBIDDEN:
                raise
            continue
        for data in found:
            revision = read_revision(resource, data)
            if _is_of_group(revision, group_name):
                yield revision, data


def _is_of_group(revision: Revision, group_name: str) -> bool:
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
    if not revision.is_sweepable:
        return (
            "a field that the attacher does not read can reference the revision. Delete the "
            "revision by hand when nothing needs it"
        )
    return edit_reason(client, revision)
