"""What a reference rule is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

from postrender.kubernetes.kinds import CONFIG_MAP, GroupKind
from postrender.startup.records import NamedTuple
from postrender.yaml.paths import Json

POD_TEMPLATE = "pod template"
RBAC = "rbac"
OUTSIDE = "outside"


class Rule(NamedTuple):
    """A place where objects of one group and kind name an object of the kind `target`.

    group: None for any (user rules); kind: `*` for any; name: a glob on the referring object;
    family: POD_TEMPLATE (a workload's own), RBAC (names are added, and it is no reason to revise),
    OUTSIDE (anything else); is_word: whether the name is a word within the string;
    only_if: a condition on the object that holds the string (RBAC's `resources`);
    is_reason: whether it is a reason to revise what it names; is_qualified: whether the string
    may be `namespace/name`; origin: the user's rule, for messages.
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
    triggers_rename: bool = True
    origin: str = ""

    def applies_to(self, group_kind: GroupKind, name: str) -> bool:
        """Tell whether a user's rule is about an object of this kind and name."""
        group, kind = group_kind
        return (
            (self.group is None or self.group == group)
            and fnmatchcase(kind, self.kind)
            and fnmatchcase(name, self.name)
        )
