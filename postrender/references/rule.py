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

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

from postrender.kubernetes.kinds import CONFIG_MAP, GroupKind
from postrender.records import NamedTuple
from postrender.yaml.paths import Json

POD_TEMPLATE = "pod template"
RBAC = "rbac"
OUTSIDE = "outside"


class Rule(NamedTuple):
    """A field in which some objects reference objects of the kind `target`.

    group: the API group of the object with the field, None for any group.
    kind, name: of the object with the field, as globs.
    family: POD_TEMPLATE, RBAC, or OUTSIDE for all other fields.
    is_word: whether the field is text that contains the referenced name as a whole word.
    only_if: the condition on the mapping two levels above the string, such as an RBAC policy rule.
    is_qualified: whether the string can have the form `namespace/name`.
    namespace_key: the key with the referenced object's namespace, in the mapping with the string.
    triggers_rename: whether the reference is a reason to rename the referenced object; ignored for
        the family RBAC.
    permits_rename: whether the reference is enough for a rename that an annotation or a rule
        requests, even if it does not trigger one.
    keep_reason: a clause with the reason why postrender never rewrites the reference, "" if it can.
    is_written: whether the object with the field makes a program write to the referenced object.
    origin: the name of the user's rule in messages, "" for a built-in rule.
    """

    group: str | None
    kind: str
    pattern: tuple[str, ...]
    target: GroupKind = CONFIG_MAP
    family: str = OUTSIDE
    name: str = "*"
    is_word: bool = False
    only_if: Callable[[Mapping[str, Json]], bool] | None = None
    is_qualified: bool = False
    namespace_key: str = ""
    triggers_rename: bool = True
    permits_rename: bool = False
    keep_reason: str = ""
    is_written: bool = False
    origin: str = ""

    def applies_to(self, group_kind: GroupKind, name: str) -> bool:
        group, kind = group_kind
        return (
            (self.group is None or self.group == group)
            and fnmatchcase(kind, self.kind)
            and fnmatchcase(name, self.name)
        )
