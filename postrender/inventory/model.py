"""The objects of the input as records."""

from __future__ import annotations

import marshal
import re
from collections.abc import Sequence
from functools import lru_cache

from postrender.errors import Location, UserError
from postrender.kubernetes.annotations import (
    BASE_NAME_ANNOTATION,
    ENV_FROM_ANNOTATION,
    GROUP_LABEL,
    INVENTORY_LABEL,
    MOUNT_PATH_ANNOTATION,
    NUMBER_ANNOTATION,
    RENDER_ID_ANNOTATION,
)
from postrender.kubernetes.kinds import GroupKind, Identity
from postrender.records import NamedTuple
from postrender.references.rule import Rule
from postrender.text import words_of
from postrender.yaml.document import ParsedDocument, parse_document
from postrender.yaml.paths import Json, Path, mapping_at

_MOUNTS = (MOUNT_PATH_ANNOTATION, ENV_FROM_ANNOTATION)
# At most 18 digits fit in 64 bits. Python's int() would refuse thousands of digits.

ItemKey = tuple[int, Path]


class Reference(NamedTuple):
    """A field in which an object references a ConfigMap or Secret.

    path: in the document.
    name: without a namespace. If rule.is_word is set, the whole string, each word of which can be a
        name.
    namespace: in the reference; None for the namespace of the referencing object.
    template: the index of the pod template that contains the field, None outside pod templates.
    items: the list with the item that contains the field, if Rule.adds_names is True. An item is a
        name, or a mapping with a name.
    """

    path: Path
    name: str
    namespace: str | None
    rule: Rule
    template: int | None
    items: Sequence[Json] = ()

    @property
    def names(self) -> list[str]:
        """The words of the string, each of which can be a name, or else its only name."""
        return words_of(self.name) if self.rule.is_word else [self.name]


class Item(NamedTuple):
    """One Kubernetes object of the input.

    key: the index of the document, and the path of the object in the document.
    line: the first line of the object in the document, from 0.
    labels, annotations: the entries of metadata with a string as value.
    is_hook: whether Helm or Argo CD runs the object as a hook.
    is_attacher: whether an earlier run of postrender appended the object for the attacher.
    opt_out: the annotation or the key of the rule that turns off the rewriting of the object's
        references, "" if none does.
    is_rewritable: whether postrender rewrites the references of the object. False if the object is
        a hook, has a generated name, has opted out, or has an immutable kind such as Job.
    templates: the paths of the pod templates in the document, () if `is_rewritable` is False.
    stored: the content (see below) or, to save memory, its text or bytes (see pack); None without
        one.
    folded: the path and the value of each folded block scalar (`>`) in `content`.
    workload_ref: the (group, kind) and the name in the workloadRef of a Rollout.
    history_limit: spec.revisionHistoryLimit, None if absent or not an integer.
    error: the error in an invalid ConfigMap or Secret, raised only if its content is needed.
    """

    key: ItemKey
    line: int
    identity: Identity
    labels: dict[str, str]
    annotations: dict[str, str]
    is_hook: bool
    is_attacher: bool
    opt_out: str
    is_rewritable: bool
    references: tuple[Reference, ...] = ()
    templates: tuple[Path, ...] = ()
    stored: dict[str, Json] | str | bytes | None = None
    folded: tuple[tuple[Path, str], ...] = ()
    workload_ref: tuple[GroupKind, str] | None = None
    history_limit: int | None = None
    error: UserError | None = None

    @property
    def has_content(self) -> bool:
        return self.stored is not None

    @property
    def content(self) -> dict[str, Json]:
        """The whole object if it is revisable (a ConfigMap, or with the setting `secrets` a Secret)
        or `is_attacher` is True, else {}. The caller must not change it.
        """
        stored = self.stored
        return _unpacked(stored) if isinstance(stored, (str, bytes)) else stored or {}

    @property
    def requests_auto_mount(self) -> bool:
        """Whether the object has an annotation that can request an auto-mount."""
        return not self.annotations.keys().isdisjoint(_MOUNTS)

    @property
    def has_render_id(self) -> bool:
        """Whether an earlier run of postrender annotated the workload."""
        return RENDER_ID_ANNOTATION in self.annotations

    @property
    def document(self) -> int:
        return self.key[0]

    @property
    def path(self) -> Path:
        """The path of the object in its document: () unless it is in a List."""
        return self.key[1]

    def target_of(self, reference: Reference) -> Identity:
        """What a reference of the object names, which is in the object's namespace by default."""
        namespace = reference.namespace or self.identity.namespace
        return Identity(*reference.rule.target, namespace, reference.name)

    @property
    def attach_group(self) -> str:
        """The attach group of a revision or of an attacher's object, "" for none."""
        return self.labels.get(GROUP_LABEL, "") or self.labels.get(INVENTORY_LABEL, "")

    @property
    def has_generated_name(self) -> bool:
        """Whether the API server generates the name of the object (generateName)."""
        return not self.identity.name

    @property
    def is_revision(self) -> bool:
        return GROUP_LABEL in self.labels and BASE_NAME_ANNOTATION in self.annotations

    @property
    def base_name(self) -> str:
        """The name that the object has in the chart."""
        return self.annotations[BASE_NAME_ANNOTATION] if self.is_revision else self.identity.name

    @property
    def order(self) -> int:
        """The revision number in the annotations, 0 if it is missing or invalid."""
        number = self.annotations.get(NUMBER_ANNOTATION, "")
        return int(number) if re.fullmatch("[1-9][0-9]{0,17}", number) else 0


def pack(item: Item, document: ParsedDocument) -> Item:
    """The item without its dicts, which take ten times as much memory.

    The text of a document stays in memory anyway, and `plain` reads it nearly as fast as bytes.
    """
    if not item.has_content:
        return item
    is_whole = document.plain is not None and not item.path
    return item._replace(stored=document.text if is_whole else marshal.dumps(item.stored))


@lru_cache(maxsize=1)  # one step asks for many values of one object
def _unpacked(stored: str | bytes) -> dict[str, Json]:
    if isinstance(stored, str):
        return mapping_at(parse_document(stored, Location("")).data, ())
    content: dict[str, Json] = marshal.loads(stored)
    return content
