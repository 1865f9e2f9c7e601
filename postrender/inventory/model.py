"""The objects of a stream as facts: identity, labels, references, pod templates, content."""

from __future__ import annotations

from postrender.kubernetes.annotations import (
    BASE_NAME_ANNOTATION,
    GROUP_LABEL,
    HOOK_ANNOTATIONS,
    NUMBER_ANNOTATION,
)
from postrender.kubernetes.kinds import WORKLOAD_KINDS, GroupKind, Identity
from postrender.kubernetes.pod_template import PodTemplate
from postrender.references import Rule
from postrender.startup.patterns import pattern
from postrender.startup.records import NamedTuple
from postrender.yaml.paths import Json, Path

ATTACHER_KINDS = frozenset({"ServiceAccount", "Role", "RoleBinding", "Job"})
# A number of the history, of no absurd length.
_ORDER = pattern(r"[1-9][0-9]{0,17}\Z")

ItemKey = tuple[int, Path]


class Reference(NamedTuple):
    """A place in an object that names a ConfigMap or Secret.

    namespace: as written beside the name, None where the object's own is meant;
    template: the number of the pod template that it stands in, None outside of any.
    """

    path: Path
    name: str
    namespace: str | None
    rule: Rule
    template: int | None
    line: int


class Item(NamedTuple):
    """One Kubernetes object of the stream; path and lines count within its document (line from 0).

    key: what tells it from every other of the stream; is_hook: whether Helm or Argo CD runs it as
    a hook; is_attacher: whether a run of ours appended it; is_rewritable: whether an upgrade may
    change what it names; content: the whole object for a ConfigMap or Secret, else None;
    folded: the folded scalars of content; workload_ref: what a Rollout takes its template from;
    history_limit: its spec.revisionHistoryLimit, None where it has none.
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
    def document(self) -> int:
        """The index of the document that holds the object."""
        return self.key[0]

    @property
    def path(self) -> Path:
        """Where the object stands in its document: () unless it is in a List."""
        return self.key[1]

    @property
    def has_generated_name(self) -> bool:
        """Whether the API server makes the name: the object has no identity yet."""
        return not self.identity.name

    @property
    def is_revision(self) -> bool:
        """Whether the object bears a revision name that a run of ours has given it."""
        return GROUP_LABEL in self.labels and BASE_NAME_ANNOTATION in self.annotations

    @property
    def base_name(self) -> str:
        """The name that the object has in the chart."""
        return self.annotations[BASE_NAME_ANNOTATION] if self.is_revision else self.identity.name

    @property
    def order(self) -> int:
        """The number of a revision in the history, 0 where it has none."""
        order = self.annotations.get(NUMBER_ANNOTATION, "")
        return int(order) if _ORDER.match(order) else 0


def new_item(
    key: ItemKey,
    line: int,
    identity: Identity,
    labels: dict[str, str],
    annotations: dict[str, str],
) -> Item:
    """Return an object of the stream, without what is inside it."""
    workload = WORKLOAD_KINDS.get((identity.group, identity.kind))
    is_hook = any(name in annotations for name in HOOK_ANNOTATIONS)
    return Item(
        key,
        line,
        identity,
        labels,
        annotations,
        is_hook,
        identity.kind in ATTACHER_KINDS and GROUP_LABEL in labels,
        not is_hook and bool(identity.name) and (workload is None or workload.is_mutable),
    )
