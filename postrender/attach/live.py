"""Live objects as records: consumers with their references, and revisions with their owners.

To save memory, attach keeps only the records, and a record does not contain long texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from postrender.attach.request import (
    BY_GROUP_KIND,
    CONTROLLER_REVISIONS,
    RELEASE_OWNER_KINDS,
    NamedObject,
    Resource,
    RevisionRef,
)
from postrender.kubernetes.annotations import (
    APPLIED_ANNOTATION,
    BASE_NAME_ANNOTATION,
    GROUP_LABEL,
    KEEP_ANNOTATIONS,
    RENDER_ID_ANNOTATION,
    SWEEP_ANNOTATION,
    UNUSED_ANNOTATION,
)
from postrender.kubernetes.kinds import (
    CONFIG_MAP,
    SECRET,
    GroupKind,
    api_group,
    strings_at,
    workload_ref,
)
from postrender.records import NamedTuple
from postrender.references.built_in import find_built_in
from postrender.yaml.paths import Json, mapping_at, mappings_in, value_at

Object = dict[str, Json]

FIELD_MANAGER = "postrender-attach"

_STATEFUL_SET = ("apps", "StatefulSet")
# The manager that server-side apply records for the fields of an object without managedFields.
_UNKNOWN_MANAGER = "before-first-apply"
_OWNER_KINDS = frozenset(
    {*BY_GROUP_KIND, *(resource.group_kind for resource in RELEASE_OWNER_KINDS)}
)
# The maximum number of characters of an annotation's value in a record, and of
# Consumer.status_problems. Every valid base name, time and render ID is shorter.
_LONGEST_TEXT, _LONGEST_PROBLEMS = 256, 1024
# The start of an owner reference's key in managedFields; the uid and `"}` follow.
_UID_KEY = 'k:{"uid":"'
_RENDER_ID_KEY = f"f:{RENDER_ID_ANNOTATION}"
# The types of conditions that report a problem if their status is True.
_PROBLEMS_WHEN_TRUE = frozenset({"InvalidSpec", "ReplicaFailure"})


class Owner(NamedTuple):
    """One entry of metadata.ownerReferences."""

    api_version: str
    kind: str
    name: str
    uid: str

    @property
    def group_kind(self) -> GroupKind:
        return api_group(self.api_version), self.kind

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


class Consumer(NamedTuple):
    """A possible consumer: a live object of one of CONSUMER_KINDS.

    The pod template of a Pod is the Pod itself. The pod template of a ControllerRevision is the
    copy of the template of a StatefulSet or DaemonSet.

    controller: the uid of the controller, "" for none.
    references: all ConfigMaps and Secrets that the object references.
    render_id: the annotation postrender/render-id of the object itself, "" if absent.
    appliers: the field managers that set render_id, which name the tool of the release.
    template_from: the target of spec.workloadRef, if its kind is in CONSUMER_KINDS.
    is_paused: the field spec.paused.
    status_problems: what the status reports, as one text.
    """

    resource: Resource
    name: str
    uid: str
    controller: str
    is_deleting: bool
    references: frozenset[RevisionRef]
    render_id: str
    appliers: frozenset[str] = frozenset()
    template_from: NamedObject | None = None
    is_paused: bool = False
    status_problems: str = ""

    @property
    def named(self) -> NamedObject:
        return NamedObject(self.resource, self.name)

    @property
    def owner(self) -> Owner:
        return Owner(
            api_version=self.resource.api_version,
            kind=self.resource.kind,
            name=self.name,
            uid=self.uid,
        )

    def __str__(self) -> str:
        return f"{self.resource.kind}/{self.name}"


class Revision(NamedTuple):
    """The metadata of a live ConfigMap or Secret: a revision, an original or another object.

    group_name: the attach group in the label, "" if absent.
    base_name: "" on an original.
    keep_annotations: those of KEEP_ANNOTATIONS that are "false".
    our_owners: the uids of the owners that a run of attach added.
    proven_owners: of these, the owners that metadata.managedFields attributes to attach.
    unused_since: the mark, which is the unparsed value of postrender/unused-since; None if absent.
    is_original_in_stream: whether the object is an original in the applied stream, which is the
        output of postrender for which attach runs.
    applied: the value of APPLIED_ANNOTATION, None if absent. A marked revision with the annotation
        has been applied after the mark.
    """

    resource: Resource
    name: str
    uid: str
    resource_version: str
    group_name: str
    base_name: str
    keep_annotations: tuple[str, ...]
    is_deleting: bool
    owners: tuple[Owner, ...]
    our_owners: frozenset[str]
    proven_owners: frozenset[str]
    unused_since: str | None
    is_original_in_stream: bool = False
    applied: str | None = None
    finalizers: tuple[str, ...] = ()

    @property
    def is_sweepable(self) -> bool:
        """Whether render permits the deletion. A stop by a person does not change the owners."""
        return SWEEP_ANNOTATION not in self.keep_annotations

    @property
    def keep_reason(self) -> str:
        """Why attach may not delete the revision, "" if it may."""
        return "".join(f'the annotation {key} is "false"' for key in self.keep_annotations[:1])

    @property
    def is_applied(self) -> bool:
        return self.applied is not None

    @property
    def is_original(self) -> bool:
        """Whether the object is adopted, or is an original in the applied stream."""
        return self.is_original_in_stream or bool(self.group_name and not self.base_name)

    @property
    def key(self) -> RevisionRef:
        return self.resource.kind.lower(), self.name

    @property
    def base(self) -> RevisionRef:
        """The base name, with the kind as in `key`."""
        return self.resource.kind.lower(), self.base_name

    def __str__(self) -> str:
        return f"{self.resource.kind}/{self.name}"


def read_consumer(resource: Resource, data: Object) -> Consumer:
    """The record of an object of one of CONSUMER_KINDS."""
    return Consumer(
        resource=resource,
        name=text_at(data, "metadata", "name"),
        uid=text_at(data, "metadata", "uid"),
        controller=next((owner.uid for owner, controls in owners_of(data) if controls), ""),
        is_deleting=bool(text_at(data, "metadata", "deletionTimestamp")),
        references=frozenset(_references(*holder_of(resource, data))),
        render_id=strings_at(data, "annotations").get(RENDER_ID_ANNOTATION, "")[:_LONGEST_TEXT],
        appliers=frozenset(managers_of(data, "f:metadata", "f:annotations", _RENDER_ID_KEY)),
        template_from=_template_from(resource, data),
        is_paused=value_at(data, ("spec", "paused")) is True,
        status_problems="; ".join(_status_problems(data))[:_LONGEST_PROBLEMS],
    )


def read_revision(resource: Resource, data: Object) -> Revision:
    """The record of a ConfigMap or Secret, of which `data` needs only the metadata."""
    annotations = strings_at(data, "annotations")
    unused_since = annotations.get(UNUSED_ANNOTATION)
    finalizers = value_at(data, ("metadata", "finalizers"))
    return Revision(
        resource=resource,
        name=text_at(data, "metadata", "name"),
        uid=text_at(data, "metadata", "uid"),
        resource_version=text_at(data, "metadata", "resourceVersion"),
        group_name=strings_at(data, "labels").get(GROUP_LABEL, ""),
        base_name=annotations.get(BASE_NAME_ANNOTATION, "")[:_LONGEST_TEXT],
        keep_annotations=tuple(key for key in KEEP_ANNOTATIONS if annotations.get(key) == "false"),
        is_deleting=bool(text_at(data, "metadata", "deletionTimestamp")),
        owners=tuple(owner for owner, _ in owners_of(data)),
        our_owners=frozenset(_uids_of_our_owners(data)),
        proven_owners=frozenset(
            uid for manager, uid in _managed_owners(data) if manager == FIELD_MANAGER
        ),
        applied=annotations.get(APPLIED_ANNOTATION),
        unused_since=None if unused_since is None else unused_since[:_LONGEST_TEXT],
        finalizers=tuple(map(str, finalizers)) if isinstance(finalizers, list) else (),
    )


def holder_of(resource: Resource, data: Object) -> tuple[GroupKind, Object]:
    """The kind and the data of what has the pod template.

    A ControllerRevision keeps the template of its StatefulSet or DaemonSet at data.spec.template.
    """
    if resource == CONTROLLER_REVISIONS:
        return _STATEFUL_SET, mapping_at(data, ("data",))
    return resource.group_kind, data


def text_at(data: Json, *path: str) -> str:
    """The string at a path, "" for any other value."""
    value = value_at(data, path)
    return value if isinstance(value, str) else ""


def age_text(created: datetime | None, now: datetime) -> str:
    """A time span as kubectl prints it, such as `3d` or `12m`; "-" if unknown."""
    if created is None:
        return "-"
    seconds = max(0, int((now - created).total_seconds()))
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def managers_of(data: Object, *path: str) -> Iterator[str]:
    """The field managers that have set a field, by a path in metadata.managedFields."""
    for entry in mappings_in(value_at(data, ("metadata", "managedFields"))):
        if value_at(entry, ("fieldsV1", *path)) is not None:
            yield text_at(entry, "manager")


def owners_of(data: Object) -> Iterator[tuple[Owner, bool]]:
    """Each owner, and whether it is the controller."""
    for entry in mappings_in(value_at(data, ("metadata", "ownerReferences"))):
        owner = Owner(
            api_version=str(entry.get("apiVersion", "")),
            kind=str(entry.get("kind", "")),
            name=str(entry.get("name", "")),
            uid=str(entry.get("uid", "")),
        )
        yield owner, entry.get("controller") is True


def _references(group_kind: GroupKind, data: Object) -> Iterator[RevisionRef]:
    for _, name, rule in find_built_in(group_kind, (CONFIG_MAP, SECRET), data):
        if isinstance(name, str):
            yield rule.target[1].lower(), name


def _template_from(resource: Resource, data: Object) -> NamedObject | None:
    reference = workload_ref(resource.group_kind, data)
    if reference is None:
        return None
    group_kind, name = reference
    target = BY_GROUP_KIND.get(group_kind)
    return NamedObject(target, name) if target else None


def _status_problems(data: Object) -> Iterator[str]:
    status = mapping_at(data, ("status",))
    phase, message = status.get("phase"), str(status.get("message") or "")
    if message:
        yield f"{phase}: {message}" if phase else message
    for condition in mappings_in(status.get("conditions")):
        reason, detail = str(condition.get("reason") or ""), str(condition.get("message") or "")
        if _reports_problem(condition) and not (detail and detail in message):
            state = f"{condition.get('type')} is {condition.get('status')}"
            yield ": ".join(part for part in (state, reason, detail) if part)


def _reports_problem(condition: Object) -> bool:
    kind, status = (str(condition.get(field)) for field in ("type", "status"))
    return (kind in _PROBLEMS_WHEN_TRUE and status == "True") or (
        kind == "Progressing" and status == "False"
    )


def _uids_of_our_owners(data: Object) -> Iterator[str]:
    """The uids of the owner references that attach added.

    metadata.managedFields shows who added an owner reference. Some tools clear this field. The form
    of the owner reference then decides.
    """
    foreign = set()
    for manager, uid in _managed_owners(data):
        if manager == FIELD_MANAGER:
            yield uid
        elif manager != _UNKNOWN_MANAGER:
            foreign.add(uid)
    for entry in mappings_in(value_at(data, ("metadata", "ownerReferences"))):
        uid = str(entry.get("uid", ""))
        if uid not in foreign and _has_our_form(entry):
            yield uid


def _managed_owners(data: Object) -> Iterator[tuple[str, str]]:
    """The field manager and the uid of each owner reference in metadata.managedFields."""
    for entry in mappings_in(value_at(data, ("metadata", "managedFields"))):
        for key in mapping_at(entry, ("fieldsV1", "f:metadata", "f:ownerReferences")):
            if key.startswith(_UID_KEY):
                yield text_at(entry, "manager"), key[len(_UID_KEY) : -2]


def _has_our_form(entry: Object) -> bool:
    group_kind = api_group(str(entry.get("apiVersion", ""))), str(entry.get("kind", ""))
    is_explicit = entry.get("controller") is False and entry.get("blockOwnerDeletion") is False
    return is_explicit and group_kind in _OWNER_KINDS
