"""The objects of a stream as records: identity, labels, references, pod templates, content."""

from __future__ import annotations

from postrender.kubernetes.annotations import (
    BASE_NAME_ANNOTATION,
    ENV_FROM_ANNOTATION,
    GROUP_LABEL,
    HOOK_ANNOTATIONS,
    MOUNT_PATH_ANNOTATION,
    NUMBER_ANNOTATION,
)
from postrender.kubernetes.kinds import WORKLOAD_KINDS, GroupKind, Identity
from postrender.kubernetes.pod_template import PodTemplate
from postrender.references import Rule
from postrender.startup.patterns import pattern
from postrender.startup.records import NamedTuple
from postrender.yaml.paths import Json, Path

_MOUNTS = (MOUNT_PATH_ANNOTATION, ENV_FROM_ANNOTATION)
ATTACHER_KINDS = frozenset({"ServiceAccount", "Role", "RoleBinding", "Job"})
# A revision number; the length is limited so that a wrong value is not a huge number.
_REVISION_NUMBER = pattern(r"[1-9][0-9]{0,17}\Z")

ItemKey = tuple[int, Path]


class Reference(NamedTuple):
    """A field in which an object references a ConfigMap or Secret.

    namespace: as written next to the name, None for the namespace of the object.
    template: the number of the pod template that contains the field, None outside pod templates.
    """

    path: Path
    name: str
    namespace: str | None
    rule: Rule
    template: int | None
    line: int


class Item(NamedTuple):
    """One Kubernetes object of the stream.

    key: the document and the path of the object, unique in the stream.
    line: in the document, from 0.
    is_hook: whether Helm or Argo CD runs the object as a hook.
    is_attacher: whether an earlier run appended the object as a part of the attacher.
    is_rewritable: whether an upgrade may change the references of the object.
    content: the whole object for a ConfigMap or Secret, else None.
    folded: the folded scalars of content.
    workload_ref: the object from which a Rollout takes its template.
    history_limit: spec.revisionHistoryLimit, None if absent.
    """

    key: ItemKey
    line: int
    identity: Identity
    labels: dict[str, str]
    annotations: dict[str, str]
    is_hook: bool
    is_attacher: bool
    is_rewritable: bool
    references: tuple[Reference, ...] = ()
    templates: tuple[PodTemplate, ...] = ()
    content: dict[str, Json] | None = None
    folded: tuple[tuple[Path, str], ...] = ()
    workload_ref: tuple[GroupKind, str] | None = None
    history_limit: int | None = None

    @property
    def requests_auto_mount(self) -> bool:
        """Whether an annotation asks for an auto-mount."""
        return not self.annotations.keys().isdisjoint(_MOUNTS)

    @property
    def document(self) -> int:
        """The index of the document that contains the object."""
        return self.key[0]

    @property
    def path(self) -> Path:
        """The path of the object in its document: () unless the object is in a List."""
        return self.key[1]

    @property
    def has_generated_name(self) -> bool:
        """Return whether the API server generates the name of the object (generateName)."""
        return not self.identity.name

    @property
    def is_revision(self) -> bool:
        """Return whether the object is a revision that an earlier run of postrender created."""
        return GROUP_LABEL in self.labels and BASE_NAME_ANNOTATION in self.annotations

    @property
    def base_name(self) -> str:
        """The name that the object has in the chart."""
        return self.annotations[BASE_NAME_ANNOTATION] if self.is_revision else self.identity.name

    @property
    def order(self) -> int:
        """The number of a revision in the history, 0 if absent."""
        number = self.annotations.get(NUMBER_ANNOTATION, "")
        return int(number) if _REVISION_NUMBER.match(number) else 0


def new_item(
    key: ItemKey,
    line: int,
    identity: Identity,
    labels: dict[str, str],
    annotations: dict[str, str],
) -> Item:
    """Return an object of the stream with metadata only."""
    workload = WORKLOAD_KINDS.get((identity.group, identity.kind))
    is_hook = any(name in annotations for name in HOOK_ANNOTATIONS)
    is_mutable = workload is None or workload.is_mutable
    return Item(
        key=key,
        line=line,
        identity=identity,
        labels=labels,
        annotations=annotations,
        is_hook=is_hook,
        is_attacher=identity.kind in ATTACHER_KINDS and GROUP_LABEL in labels,
        is_rewritable=not is_hook and bool(identity.name) and is_mutable,
    )
