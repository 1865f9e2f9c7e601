"""Live objects as facts: what a holder names, who controls it, who owns a revision.

An object is reduced to these as soon as it is read, so that memory does not grow with its size.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from postrender.attach.request import RevisionRef
from postrender.attach.resources import BY_GROUP_KIND, CONTROLLER_REVISIONS, Resource
from postrender.kubernetes.annotations import (
    BASE_NAME_ANNOTATION,
    GROUP_LABEL,
    RENDER_ID_ANNOTATION,
    SWEEP_ANNOTATION,
    UNUSED_ANNOTATION,
)
from postrender.kubernetes.kinds import (
    CONFIG_MAP,
    SECRET,
    WORKLOAD_KINDS,
    GroupKind,
    api_group,
    strings_at,
)
from postrender.references import find_built_in
from postrender.startup.records import NamedTuple
from postrender.yaml.paths import Json, PatternTree, mapping_at, value_at

Object = dict[str, Json]

FIELD_MANAGER = "postrender-attach"

_STATEFUL_SET = ("apps", "StatefulSet")
# How managedFields writes the key of an owner reference, before the uid and `"}`.
_UID_KEY = 'k:{"uid":"'
# Conditions that say by their being true that something is wrong.
_BAD_WHEN_TRUE = frozenset({"InvalidSpec", "ReplicaFailure"})


class Owner(NamedTuple):
    """One entry of metadata.ownerReferences."""

    api_version: str
    kind: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


class Consumer(NamedTuple):
    """A live object that has a pod template, or keeps one.

    names: the revisions, of any set, that it names; render_ids: what its templates carry as
    postrender/render-id; controller: the uid of its controller, "" for none; template_from: what a
    Rollout takes its template from; trouble: what its status tells of failing.
    """

    resource: Resource
    api_version: str
    name: str
    uid: str
    controller: str
    is_deleting: bool
    names: frozenset[RevisionRef]
    render_ids: frozenset[str]
    template_from: tuple[Resource, str] | None = None
    is_paused: bool = False
    trouble: str = ""

    @property
    def owner(self) -> Owner:
        """The entry of ownerReferences that makes it an owner."""
        return Owner(self.api_version, self.resource.kind, self.name, self.uid)

    def __str__(self) -> str:
        return f"{self.resource.kind}/{self.name}"


class Revision(NamedTuple):
    """The metadata of a live ConfigMap or Secret that attach looks after.

    owned_by_us: uids of the owners that a run of attach added; unused_since: the mark as written.
    """

    resource: Resource
    name: str
    uid: str
    resource_version: str
    group_name: str
    base_name: str
    is_swept: bool
    is_deleting: bool
    owners: tuple[Owner, ...]
    owned_by_us: frozenset[str]
    unused_since: str | None

    @property
    def key(self) -> RevisionRef:
        """Kind and name, as the arguments write them."""
        return self.resource.kind.lower(), self.name

    def __str__(self) -> str:
        return f"{self.resource.kind}/{self.name}"


def read_holder(resource: Resource, data: Object) -> Consumer:
    """Return what matters of a live object of one of the kinds of postrender.attach.resources."""
    # A ControllerRevision keeps the template of its StatefulSet or DaemonSet at data.spec.template.
    is_kept = resource == CONTROLLER_REVISIONS
    group_kind = _STATEFUL_SET if is_kept else resource.group_kind
    template_owner = mapping_at(data, ("data",)) if is_kept else data
    return Consumer(
        resource,
        resource.api_version,
        _text(data, "metadata", "name"),
        _text(data, "metadata", "uid"),
        next((owner.uid for owner, controls in _owners(data) if controls), ""),
        bool(_text(data, "metadata", "deletionTimestamp")),
        frozenset(
            (rule.target[1].lower(), name)
            for _, name, rule in find_built_in(group_kind, (CONFIG_MAP, SECRET), template_owner)
            if isinstance(name, str)
        ),
        frozenset(_render_ids(group_kind, template_owner)),
        _template_from(data),
        value_at(data, ("spec", "paused")) is True,
        "; ".join(_trouble(data)),
    )


def read_revision(resource: Resource, data: Object) -> Revision:
    """Return what matters of the metadata of a live ConfigMap or Secret."""
    annotations = strings_at(data, "annotations")
    return Revision(
        resource,
        _text(data, "metadata", "name"),
        _text(data, "metadata", "uid"),
        _text(data, "metadata", "resourceVersion"),
        strings_at(data, "labels").get(GROUP_LABEL, ""),
        annotations.get(BASE_NAME_ANNOTATION, ""),
        annotations.get(SWEEP_ANNOTATION) != "false",
        bool(_text(data, "metadata", "deletionTimestamp")),
        tuple(owner for owner, _ in _owners(data)),
        frozenset(_uids_of_ours(data)),
        annotations.get(UNUSED_ANNOTATION),
    )


def _text(data: Object, *path: str) -> str:
    value = value_at(data, path)
    return value if isinstance(value, str) else ""


def _owners(data: Object) -> Iterator[tuple[Owner, bool]]:
    """Yield each owner, with whether it is the controller."""
    for entry in _dicts_at(data, "metadata", "ownerReferences"):
        fields = (str(entry.get(key, "")) for key in ("apiVersion", "kind", "name", "uid"))
        yield Owner(*fields), entry.get("controller") is True


@cache
def _templates(group_kind: GroupKind) -> PatternTree:
    tree: PatternTree = PatternTree()
    tree.add(WORKLOAD_KINDS[group_kind].template, None)
    return tree


def _render_ids(group_kind: GroupKind, data: Object) -> Iterator[str]:
    for _, template, _ in _templates(group_kind).find(data):
        value = value_at(template, ("metadata", "annotations", RENDER_ID_ANNOTATION))
        if isinstance(value, str):
            yield value


def _template_from(data: Object) -> tuple[Resource, str] | None:
    """Return what a Rollout's spec.workloadRef names (Argo Rollouts: also a ReplicaSet)."""
    reference = mapping_at(data, ("spec", "workloadRef"))
    group_kind = api_group(str(reference.get("apiVersion", ""))), str(reference.get("kind", ""))
    resource = BY_GROUP_KIND.get(group_kind)
    return (resource, str(reference.get("name", ""))) if resource else None


def _trouble(data: Object) -> Iterator[str]:
    """Yield what a status tells: a Rollout's phase and message, and conditions that are bad."""
    status = mapping_at(data, ("status",))
    phase, message = status.get("phase"), str(status.get("message") or "")
    if message:
        yield f"{phase}: {message}" if phase else message
    for condition in _dicts_at(status, "conditions"):
        reason, told = str(condition.get("reason") or ""), str(condition.get("message") or "")
        if _is_bad(condition) and not (told and told in message):
            state = f"{condition.get('type')} is {condition.get('status')}"
            yield ": ".join(part for part in (state, reason, told) if part)


def _is_bad(condition: Object) -> bool:
    kind, status = condition.get("type"), condition.get("status")
    return (kind in _BAD_WHEN_TRUE and status == "True") or (
        kind == "Progressing" and status == "False"
    )


def _uids_of_ours(data: Object) -> Iterator[str]:
    """Yield the uids of owner references that we set, as metadata.managedFields records it."""
    for entry in _dicts_at(data, "metadata", "managedFields"):
        if entry.get("manager") == FIELD_MANAGER:
            for key in mapping_at(entry, ("fieldsV1", "f:metadata", "f:ownerReferences")):
                if key.startswith(_UID_KEY):
                    yield key[len(_UID_KEY) : -2]


def _dicts_at(data: Object, *path: str) -> Iterator[Object]:
    values = value_at(data, path)
    for value in values if isinstance(values, list) else ():
        if isinstance(value, dict):
            yield value
