"""The effective configuration of postrender, as immutable records made from *values*.

A key of postrender.yaml is a field of a record, and an entry in the table with the keys of the
record. An absent key has the default of the field, which is the default in config.schema.json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType

from postrender.errors import Finding, UserError
from postrender.kubernetes.hashing import HashKey
from postrender.kubernetes.kinds import CONFIG_MAP, SECRET, GroupKind, Identity
from postrender.records import NamedTuple
from postrender.references.rule import Rule
from postrender.text import is_image, shown
from postrender.yaml.paths import Json, format_path, parse_pattern, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    Record = TypeVar("Record")

# Nested mappings with the keys of postrender.yaml.
Values = dict[str, "Any"]

RENAME, CHECKSUM, IGNORE = "rename", "checksum", "ignore"
NOTHING: Mapping[Any, Any] = MappingProxyType({})
HASH, SEQUENCE = "hash", "sequence"
# The value of attacher.mode for an inventory instead of the attacher Job.
EXTERNAL = "external"
# The ServiceAccount that all attachers of a namespace share, if attacher.rbac.create is false and
# attacher.serviceAccount.name is not set.
SHARED_ACCOUNT = "postrender-attach"
STRATEGIES = (RENAME, CHECKSUM, IGNORE)

_SPECIAL = frozenset("*?[")


class StrategyRule(NamedTuple):
    """An item of `rules`: conditions on an object, and the settings of a matching object.

    strategy: one of STRATEGIES, "" in a rule about references.
    rewrites_references: whether postrender rewrites the references of a matching object, None in a
        rule about ConfigMaps and Secrets.
    kind, name, namespace: globs. The namespace of an object without a namespace is "".
    labels, annotations: those that the object must have.
    is_referenced: whether the object must be referenced, None if it does not matter.
    is_immutable, keep_original: settings for a matching object, None if the rule does not set them.
    """

    strategy: str = ""
    kind: str = "*"
    name: str = "*"
    namespace: str = "*"
    labels: Mapping[str, str] = NOTHING
    annotations: Mapping[str, str] = NOTHING
    is_referenced: bool | None = None
    is_immutable: bool | None = None
    keep_original: bool | None = None
    rewrites_references: bool | None = None

    def matches(
        self,
        identity: Identity,
        labels: Mapping[str, str],
        annotations: Mapping[str, str],
        is_referenced: bool = False,
    ) -> bool:
        """Whether an object meets all conditions of the rule.

        is_referenced: whether a reference or an auto-mount is a reason to rename the object.
        """
        return (
            _matches(identity.kind, self.kind)
            and _matches(identity.name, self.name)
            and _matches(identity.namespace or "", self.namespace)
            and all(labels.get(key) == value for key, value in self.labels.items())
            and all(annotations.get(key) == value for key, value in self.annotations.items())
            and self.is_referenced in (None, is_referenced)
        )


def _matches(text: str, glob: str) -> bool:
    if glob == "*":
        return True
    if _SPECIAL.isdisjoint(glob):
        return text == glob
    return fnmatchcase(text, glob)


class IgnoredLeftover(NamedTuple):
    """An item of `leftovers.ignore`: conditions on a leftover.

    kind, name: globs for the object that contains the string.
    path: the path pattern of the string, or of a field that contains the string. () for every path.
    value: a glob for the base name in the string.
    """

    kind: str = "*"
    name: str = "*"
    path: tuple[str, ...] = ()
    value: str = "*"


class AttacherSettings(NamedTuple):
    """The settings of the attacher. Times are in seconds.

    Fields without a description here have the meaning of the keys of `attacher` in
    config.schema.json.
    image, image_pull_policy, service_account: "" for the default.
    mode: auto, hook, job or EXTERNAL.
    group: the name of the attach group without the suffix -attach, "" if not set.
    release: the name of the Helm release in --previous, or else of the Argo CD application. "" if
        unknown. This field does not have a key in the configuration.
    retired_secrets: the names of earlier revisions of Secrets. The attacher deletes these revisions
        after their last use, even if the setting `secrets` is false.
    """

    is_enabled: bool = True
    image: str = ""
    image_pull_policy: str = ""
    mode: str = "auto"
    timeout: int = 90
    active_deadline: int = 600
    backoff_limit: int = 2
    ttl: int = 3600
    is_required: bool = False
    prunes: bool = True
    creates_service_account: bool = True
    service_account: str = ""
    creates_rbac: bool = True
    pod_template: Mapping[str, Json] = NOTHING
    group: str = ""
    release: str = ""
    retired_secrets: tuple[str, ...] = ()

    @property
    def is_external(self) -> bool:
        return self.mode == EXTERNAL

    def account_of(self, group_name: str) -> str:
        return self.service_account or (group_name if self.creates_rbac else SHARED_ACCOUNT)

    @property
    def appends_service_account(self) -> bool:
        """Whether postrender appends the attacher's ServiceAccount to the output.

        postrender never appends SHARED_ACCOUNT, because several releases can use this account.
        `postrender config rbac` prints the manifest of this account.
        """
        return self.creates_service_account and (self.creates_rbac or bool(self.service_account))


class HistorySettings(NamedTuple):
    """The source of the earlier outputs, and the number of revisions to keep.

    previous: a file, a folder, git:REF:PATH, or helm:NAMESPACE/RELEASE. "" if not set.
    keep: the number of revisions for each base name. If None, the number depends on the workloads,
        and on the number of release revisions that Helm stores.
    context, kubeconfig: --kube-context and --kubeconfig for helm, "" for the default of helm.
    """

    previous: str = ""
    keep: int | None = None
    context: str = ""
    kubeconfig: str = ""


class Settings(NamedTuple):
    """All settings of postrender.

    Fields without a description here have the meaning of the keys in config.schema.json.
    namespace, log_file, hash_key_file: "" if not set.
    keep_original: True keeps all originals, and False keeps only originals that an object or a
        program needs. None means True for Secrets, and False for ConfigMaps.
    naming: HASH or SEQUENCE.
    file: the configuration file, "" if postrender does not use a file.
    configuration: the configuration file as reports show it, "" for none; None in no report.
    findings: the findings of the search for the configuration file.
    has_all_hooks: whether postrender runs in the plugin of Argo CD, in which `helm template` passes
        hooks also with Helm 3. This field does not have a key in the configuration.
    hash_key: the hash key for Secrets, None for hashes without a key.
    """

    namespace: str = ""
    with_secrets: bool = False
    is_strict: bool = False
    keep_original: bool | None = None
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
    file: str = ""
    configuration: str | None = None
    findings: tuple[Finding, ...] = ()
    has_all_hooks: bool = False
    hash_key_file: str = ""
    hash_key: HashKey | None = None

    def hash_key_of(self, identity: Identity) -> HashKey | None:
        """The hash key for the name of an object, None for a hash without a key.

        The result is always None for a ConfigMap.
        """
        return self.hash_key if identity.group_kind == SECRET else None

    @property
    def active_references(self) -> tuple[Rule, ...]:
        """The user's reference rules. If `with_secrets` is False, without the rules for Secrets."""
        return tuple(rule for rule in self.references if rule.target in self.revisable)

    @property
    def revisable(self) -> tuple[GroupKind, ...]:
        """The kinds of objects that postrender can rename."""
        return (CONFIG_MAP, SECRET) if self.with_secrets else (CONFIG_MAP,)


# The fields of each record, by the path of their keys.
_SETTINGS = {
    "namespace": "namespace",
    "secrets": "with_secrets",
    "strict": "is_strict",
    "keepOriginal": "keep_original",
    "allowEmpty": "allow_empty",
    "immutable": "is_immutable",
    "logFile": "log_file",
    "embeddedPodSpecs": "finds_pod_specs",
    "naming": "naming",
    "secretsHashKeyFile": "hash_key_file",
}
_HISTORY = {
    "previous": "previous",
    "keep": "keep",
    "kubeContext": "context",
    "kubeconfig": "kubeconfig",
}
_ATTACHER = {
    "enabled": "is_enabled",
    "image": "image",
    "imagePullPolicy": "image_pull_policy",
    "mode": "mode",
    "timeout": "timeout",
    "activeDeadlineSeconds": "active_deadline",
    "backoffLimit": "backoff_limit",
    "ttlSecondsAfterFinished": "ttl",
    "required": "is_required",
    "prune": "prunes",
    "serviceAccount.create": "creates_service_account",
    "serviceAccount.name": "service_account",
    "rbac.create": "creates_rbac",
    "podTemplate": "pod_template",
    "group": "group",
}
_RULE = {
    "strategy": "strategy",
    "match.kind": "kind",
    "match.name": "name",
    "match.namespace": "namespace",
    "match.labels": "labels",
    "match.annotations": "annotations",
    "match.referenced": "is_referenced",
    "immutable": "is_immutable",
    "keepOriginal": "keep_original",
    "rewriteReferences": "rewrites_references",
}
_REFERENCE = {"group": "group", "name": "name"}
_LEFTOVER = {"kind": "kind", "name": "name", "value": "value"}

# postrender compares each entry of these lists with many objects. The limit bounds this product.
_COMPARED_LISTS = (("rules",), ("references",), ("leftovers", "ignore"))
_MAX_ENTRIES = 1000


def settings_from(values: Values) -> Settings:
    """The settings for valid values; UserError for too many entries in a list of conditions."""
    for path in _COMPARED_LISTS:
        entries = value_at(values, path)
        if isinstance(entries, list) and len(entries) > _MAX_ENTRIES:
            raise UserError(
                f"the configuration has {len(entries):,} entries in {format_path(path)}, expected "
                f"at most {_MAX_ENTRIES:,}",
                "Replace several entries with one that has globs, such as web-*",
            )
    attacher = values.get("attacher", {})
    settings = _record(
        Settings,
        _SETTINGS,
        values,
        rules=tuple(_record(StrategyRule, _RULE, rule) for rule in values.get("rules", ())),
        references=tuple(_references(values.get("references", ()))),
        ignored_leftovers=tuple(map(_leftover, values.get("leftovers", {}).get("ignore", ()))),
        attacher=_record(
            AttacherSettings,
            _ATTACHER,
            attacher,
            retired_secrets=tuple(attacher.get("retiredSecrets", ())),
        ),
        history=_record(HistorySettings, _HISTORY, values.get("history", {})),
    )
    if not is_namespace(settings.namespace):
        raise UserError(
            f"the namespace is {shown(settings.namespace)}, expected at most 63 lower-case "
            'letters, digits and "-", with a letter or digit at both ends',
            "Correct the key namespace, --namespace or POSTRENDER_NAMESPACE",
        )
    if not _is_group(settings.attacher.group):
        raise UserError(
            f"the attach group is {shown(settings.attacher.group)}, expected letters, digits, "
            '"-", "_" and ".", with a letter or digit at both ends',
            "Correct the key attacher.group, --group or POSTRENDER_GROUP",
        )
    if not is_image(settings.attacher.image):
        raise UserError(
            f"attacher.image is {shown(settings.attacher.image)}, {EXPECTED_IMAGE}",
            "Correct attacher.image, --attacher-image or POSTRENDER_ATTACHER_IMAGE",
        )
    return settings


def _record(
    record: Callable[..., Record], keys: Mapping[str, str], values: Values, **others: Any
) -> Record:
    """A record from the values of keys, and from other fields. A null is an absent key."""
    given = {field: value_at(values, tuple(key.split("."))) for key, field in keys.items()}
    present = {field: value for field, value in given.items() if value is not None}
    return record(**{**others, **present})


def _references(entries: Sequence[Values]) -> Iterator[Rule]:
    for number, entry in enumerate(entries):
        path = entry["path"]
        yield _record(
            Rule,
            _REFERENCE,
            entry,
            group=None,
            kind=entry["kind"],
            pattern=parse_pattern(path),
            target=SECRET if entry.get("target") == "Secret" else CONFIG_MAP,
            is_word=entry.get("match") == "word",
            # The key with the kind next to a name, as in `{kind: Secret, name: web-tls}`.
            kind_key=entry.get("kindKey", "kind" if path.endswith(".name") else ""),
            origin=f"references[{number}] ({path})",
        )


def _leftover(entry: Values) -> IgnoredLeftover:
    path = parse_pattern(entry["path"]) if "path" in entry else ()
    return _record(IgnoredLeftover, _LEFTOVER, entry, path=path)


EXPECTED_IMAGE = "expected the name of an image, such as registry.example.com/postrender:0.1.0"
_DNS_LABEL = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_GROUP_SIGNS = _DNS_LABEL | set("ABCDEFGHIJKLMNOPQRSTUVWXYZ._")


def _is_group(text: str) -> bool:
    """Whether a text is "", or a name as in the schema."""
    ends = text[:1] + text[-1:]
    return not text or (ends.isalnum() and text.isascii() and _GROUP_SIGNS.issuperset(text))


def is_namespace(text: str) -> bool:
    """Whether a text is "", a placeholder as for is_image, or a name that Kubernetes accepts."""
    is_name = len(text) < 64 and text[:1] != "-" != text[-1:] and _DNS_LABEL.issuperset(text)
    return is_name or "<" in text
