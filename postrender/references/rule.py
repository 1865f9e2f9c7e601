"""The record of a reference rule.

This rule makes the value of `secretName` a reference to a Secret:

    Rule(
        group="networking.k8s.io",
        kind="Ingress",
        pattern=parse_pattern("spec.tls[].secretName"),
        target=SECRET,
    )
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

from postrender.kubernetes.kinds import CONFIG_MAP, GroupKind
from postrender.records import NamedTuple
from postrender.yaml.paths import Json, Path, mapping_at

POD_TEMPLATE = "pod template"
RBAC = "rbac"
SELECTOR = "selector"

# What programs add to the name of an object, for the name of an object to which they write. The
# manifests do not contain the whole name.
DERIVED_SUFFIXES = ("-outputs", "-module-outputs", "-user-credentials", "-scram-credentials")
OUTSIDE = "outside"


class Rule(NamedTuple):
    """A field in which some objects reference objects of the kind `target`.

    group: the API group of the object with the field, None for any group.
    kind, name: of the object with the field, as globs.
    family: POD_TEMPLATE, RBAC, SELECTOR for a field that selects objects by name, or OUTSIDE for
        all other fields.
    is_word: whether the field is text that contains the referenced name as a whole word.
    only_if: the condition on the object and the path of the string.
    is_qualified: whether the string can have the form `namespace/name`.
    namespace_key: the key with the referenced object's namespace, in the mapping with the string.
    kind_key: the key with the referenced object's kind, in the mapping with the string. The string
        is not a reference if the kind there is not that of `target`. "" for no such key.
    triggers_rename: whether the reference is a reason to rename the referenced object; ignored for
        the families RBAC and SELECTOR. A request of the user needs no reason.
    keep_reason: a clause with the reason why postrender never rewrites the reference, "" if it can.
    is_written: whether the object with the field makes a program write to the referenced object.
    is_guess: whether only the shape of the field, or its name, suggests the reference.
    deletes_unselected: whether a program can delete copies of the objects that a selector no longer
        selects, such as copies in other clusters.
    origin: the name of the user's rule in messages, "" for a built-in rule.
    """

    group: str | None
    kind: str
    pattern: tuple[str, ...]
    target: GroupKind = CONFIG_MAP
    family: str = OUTSIDE
    name: str = "*"
    is_word: bool = False
    only_if: Callable[[Json, Path], bool] | None = None
    is_qualified: bool = False
    namespace_key: str = ""
    kind_key: str = ""
    triggers_rename: bool = True
    keep_reason: str = ""
    is_written: bool = False
    is_guess: bool = False
    deletes_unselected: bool = False
    origin: str = ""

    @property
    def adds_names(self) -> bool:
        """Whether postrender adds the new name next to the old name, which stays."""
        return self.family in (RBAC, SELECTOR)

    def applies_to(self, group_kind: GroupKind, name: str) -> bool:
        group, kind = group_kind
        return (
            (self.group is None or self.group == group)
            and fnmatchcase(kind, self.kind)
            and fnmatchcase(name, self.name)
        )

    def fits(self, path: Path, data: Json) -> bool:
        """Whether the string at a path of an object is a reference; data: the object."""
        if self.only_if and not self.only_if(data, path):
            return False
        kind = mapping_at(data, path[:-1]).get(self.kind_key) if self.kind_key else None
        return kind is None or str(kind).lower() == self.target[1].lower()
