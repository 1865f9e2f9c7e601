"""The objects of a stream as facts: identity, labels, references, pod templates, content."""

from __future__ import annotations

from typing import NamedTuple

from postrender.objects import HOOK_ANNOTATIONS, WORKLOAD_KINDS, GroupKind, Identity
from postrender.paths import Data, Path
from postrender.references import Rule

MANAGED_LABEL = "postrender/managed"
BASE_NAME_ANNOTATION = "postrender/base-name"
STRATEGY_ANNOTATION = "postrender/strategy"
KEEP_ORIGINAL_ANNOTATION = "postrender/keep-original"
MOUNT_PATH_ANNOTATION = "postrender/mount-path"
ENV_FROM_ANNOTATION = "postrender/env-from"
SYNC_WAVE_ANNOTATION = "argocd.argoproj.io/sync-wave"

ATTACHER_KINDS = frozenset({"ServiceAccount", "Role", "RoleBinding", "Job"})


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


class Template(NamedTuple):
    """One pod template of a workload: where it stands and its data as JSON text."""

    path: Path
    text: str


class Item(NamedTuple):
    """One Kubernetes object of the stream; path and lines count within its document (line from 0).

    content: the whole object for a ConfigMap or Secret, else None; folded: the folded scalars
    of content; workload_ref: what a Rollout takes its pod template from.
    """

    document: int
    path: Path
    line: int
    identity: Identity
    labels: dict[str, str]
    annotations: dict[str, str]
    references: tuple[Reference, ...] = ()
    templates: tuple[Template, ...] = ()
    content: dict[str, Data] | None = None
    folded: tuple[tuple[Path, str], ...] = ()
    workload_ref: tuple[GroupKind, str] | None = None

    @property
    def key(self) -> ItemKey:
        """What tells the object from every other of the stream."""
        return self.document, self.path

    @property
    def has_generated_name(self) -> bool:
        """Tell whether the API server makes the name: the object has no identity yet."""
        return not self.identity.name

    @property
    def is_hook(self) -> bool:
        """Tell whether Helm or Argo CD runs the object as a hook."""
        return any(name in self.annotations for name in HOOK_ANNOTATIONS)

    @property
    def is_attacher(self) -> bool:
        """Tell whether the object is one that a run of ours appended."""
        return self.identity.kind in ATTACHER_KINDS and MANAGED_LABEL in self.labels

    @property
    def is_rewritable(self) -> bool:
        """Tell whether an upgrade may change what the object names."""
        workload = WORKLOAD_KINDS.get(self.identity.group_kind)
        return not self.is_hook and (workload is None or workload.is_mutable)
