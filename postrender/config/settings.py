"""The effective configuration of a run, as immutable records."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType

from postrender.kubernetes.kinds import CONFIG_MAP, SECRET, GroupKind, Identity
from postrender.references.rule import Rule
from postrender.startup.records import NamedTuple
from postrender.yaml.paths import Json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RENAME, CHECKSUM, IGNORE = "rename", "checksum", "ignore"
NOTHING: Mapping[Any, Any] = MappingProxyType({})
HASH, SEQUENCE = "hash", "sequence"
STRATEGIES = (RENAME, CHECKSUM, IGNORE)


class StrategyRule(NamedTuple):
    """One entry of `rules`: the objects that match, and their strategy.

    is_referenced, is_immutable, keep_original: None if the entry does not set the key.
    """

    strategy: str
    kind: str = "*"
    name: str = "*"
    namespace: str = "*"
    labels: Mapping[str, str] = NOTHING
    is_referenced: bool | None = None
    is_immutable: bool | None = None
    keep_original: bool | None = None

    def matches(self, identity: Identity, labels: Mapping[str, str], is_referenced: bool) -> bool:
        """Return whether an object matches the entry."""
        return (
            fnmatchcase(identity.kind, self.kind)
            and fnmatchcase(identity.name, self.name)
            and fnmatchcase(identity.namespace or "", self.namespace)
            and all(labels.get(key) == value for key, value in self.labels.items())
            and self.is_referenced in (None, is_referenced)
        )


class IgnoredLeftover(NamedTuple):
    """One entry of `leftovers.ignore`. kind, name and value are globs; path is a pattern."""

    kind: str = "*"
    name: str = "*"
    path: tuple[str, ...] = ()
    value: str = "*"


class AttacherSettings(NamedTuple):
    """The settings of the appended Job; times are in seconds."""

    is_enabled: bool = True
    image: str = ""
    image_pull_policy: str = ""
    mode: str = "auto"
    timeout: int = 90
    active_deadline: int = 600
    backoff_limit: int = 2
    ttl: int = 3600
    is_required: bool = False
    creates_service_account: bool = True
    service_account: str = ""
    pod_template: Mapping[str, Json] = NOTHING


class HistorySettings(NamedTuple):
    """The location of earlier outputs, and the number of revisions to keep.

    previous: a file or folder, git:REV:PATH, or helm:NAMESPACE/RELEASE.
    keep: the number for each base name, None for the default.
    context, kubeconfig: for helm, "" for the default of helm.
    """

    previous: str = ""
    keep: int | None = None
    context: str = ""
    kubeconfig: str = ""


class Settings(NamedTuple):
    """All settings of a run."""

    namespace: str = ""
    with_secrets: bool = False
    is_strict: bool = False
    keep_original: bool = False
    allow_empty: bool = False
    is_immutable: bool = True
    log_file: str = ""
    rules: tuple[StrategyRule, ...] = ()
    references: tuple[Rule, ...] = ()
    finds_pod_specs: bool = False
    ignored_leftovers: tuple[IgnoredLeftover, ...] = ()
    attacher: AttacherSettings = AttacherSettings()
    history: HistorySettings = HistorySettings()
    naming: str = HASH

    @property
    def active_references(self) -> tuple[Rule, ...]:
        """The user's reference rules whose target is a revised kind."""
        return tuple(rule for rule in self.references if rule.target in self.revisable)

    @property
    def revisable(self) -> tuple[GroupKind, ...]:
        """The kinds that get names with a content hash."""
        return (CONFIG_MAP, SECRET) if self.with_secrets else (CONFIG_MAP,)
