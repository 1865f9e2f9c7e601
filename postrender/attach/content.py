"""The content of ConfigMaps under the name of a revision: is it right, and who wrote it?

A ConfigMap with the content that its name stands for proves itself, whoever wrote it. Any other
ConfigMap of the applied stream is

- changed, if the tool of this release wrote it, and an admission webhook or another program
  then changed the content. attach adds owners to it. The sweep never deletes it.
- foreign, if another program or a person created it. attach does not add owners, because
  Kubernetes would delete it with its owners.

The field managers in metadata.managedFields show who wrote an object. The tool of the release is
the manager that wrote the render ID on a workload of the request. If attach has added owners in an
earlier run, the ConfigMap is changed too. Somebody who may create ConfigMaps can write all these
fields, and so have their own ConfigMap count as changed. A run therefore reports every ConfigMap of
both kinds.

A Secret without the label and the annotation of a revision is foreign. attach never reads the
content of a Secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from postrender.attach.client import Client
from postrender.attach.live import Consumer, Object, Revision, managers_of, text_at
from postrender.attach.request import CONFIG_MAPS, AttachRequest, RevisionRef, title
from postrender.errors import UserError
from postrender.kubernetes.annotations import (
    BASE_NAME_ANNOTATION,
    GROUP_LABEL,
    HASH_ANNOTATION,
    KUSTOMIZE_HASH,
)
from postrender.kubernetes.hashing import fits_content, without_hash
from postrender.kubernetes.kinds import strings_at
from postrender.records import NamedTuple
from postrender.text import conjoined

EDITED = "the content does not match the hash in the name"


class CheckedContent(NamedTuple):
    """What check_content() has found.

    foreign: why each foreign object is foreign.
    problems: of these, the errors to report. Until one of its workloads exists, a run cannot tell
        whether a ConfigMap with the marks of a revision is foreign.
    changes: a sentence for each changed ConfigMap.
    """

    foreign: Mapping[Revision, UserError]
    problems: Mapping[RevisionRef, UserError]
    changes: Mapping[RevisionRef, UserError]


def check_content(
    content_of: Callable[[Revision], Content],
    request: AttachRequest,
    revisions: Iterable[Revision],
    workloads: Iterable[Consumer],
) -> CheckedContent:
    """Find the foreign and the changed objects among the revisions of a run.

    content_of: such as ContentReader(client).
    workloads: the live workloads of the request.
    """
    workloads = tuple(workloads)
    # Without an attach group, the names can have the hashes of another tool.
    checked = request.revised | set(request.given) if request.group_name else ()
    appliers = frozenset(name for workload in workloads for name in workload.appliers)
    is_certain = bool(workloads) or not request.workloads
    foreign: dict[Revision, UserError] = {}
    changes: dict[RevisionRef, UserError] = {}
    for revision in revisions:
        # With a finalizer of its creator, an object that is being deleted can stay for ever.
        if revision.key not in checked or (revision.is_deleting and not revision.finalizers):
            continue
        has_marks = _has_our_marks(revision)
        if revision.resource != CONFIG_MAPS:
            if without_hash(revision.name) and not has_marks:
                foreign[revision] = _unmarked(revision)
            continue
        content = content_of(revision)
        creators = content.creators & appliers
        if content.difference and has_marks and (creators or revision.our_owners):
            changes[revision.key] = _change(revision, content, min(creators, default=""))
        elif content.difference:
            foreign[revision] = _mismatch(revision, content)
    problems = {
        revision.key: problem
        for revision, problem in foreign.items()
        if is_certain or not _has_our_marks(revision)
    }
    return CheckedContent(foreign, problems, changes)


def _has_our_marks(revision: Revision) -> bool:
    return bool(revision.group_name and revision.base_name)


def _unmarked(revision: Revision) -> UserError:
    return UserError(
        f"{revision} has the name of a revision, but no label {GROUP_LABEL} or no annotation "
        f"{BASE_NAME_ANNOTATION}, so attach does not add owners",
        f"If a program needs {revision}, copy the content to a new {revision.resource.kind}. "
        f"{_removal(revision)}",
    )


def _mismatch(revision: Revision, content: Content) -> UserError:
    return UserError(
        f"{content.difference} of {revision} does not match the hash in the name, so attach does "
        "not add owners",
        "Apply the manifest that contains the annotation"
        if content.difference == WRONG_BASE_NAME
        else "If a program needs the content, copy the content to a new ConfigMap. "
        f"{_removal(revision)}",
    )


def _removal(revision: Revision) -> str:
    if revision.is_deleting:
        return stuck_fix(revision.key)
    return f"Delete {revision}, then apply the manifests again"


def find_stuck(revisions: Iterable[Revision]) -> dict[RevisionRef, str]:
    """The problem of each revision whose deletion a finalizer delays."""
    return {
        revision.key: f"{revision} is being deleted, but waits for the finalizer "
        f"{', '.join(revision.finalizers)}"
        for revision in revisions
        if revision.is_deleting and revision.finalizers
    }


def stuck_fix(ref: RevisionRef) -> str:
    """The fix for a revision of find_stuck()."""
    return f"Remove the finalizer from {title(ref)}, then apply the manifests again"


class Content(NamedTuple):
    """What a run remembers of a ConfigMap.

    difference: what does not match the hash in the name, "" if everything matches.
    creators: the field managers that set both the content and the annotation postrender/base-name.
    others: the other managers that set content.
    """

    difference: str
    creators: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()


EXPECTED = Content("")
# The difference of a revision whose content is intact.
WRONG_BASE_NAME = f"the annotation {BASE_NAME_ANNOTATION}"


class ContentReader:
    """Reads the content of a ConfigMap, and reads it again only if it can have changed."""

    __slots__ = ("_client", "_read")

    def __init__(self, client: Client) -> None:
        self._client = client
        # By uid: the resourceVersion, "" for an object that cannot change, and the content.
        self._read: dict[str, tuple[str, Content]] = {}

    def __call__(self, revision: Revision) -> Content:
        version, content = self._read.get(revision.uid, ("-", EXPECTED))
        if version in ("", revision.resource_version):
            return content
        data = self._client.read(revision.resource, revision.name)
        if data is None:
            return EXPECTED  # deleted during this run
        content = examine(revision, data)
        version = "" if data.get("immutable") is True else revision.resource_version
        self._read[text_at(data, "metadata", "uid")] = version, content
        return content


def examine(revision: Revision, data: Object) -> Content:
    """What a run remembers of a whole ConfigMap."""
    base_name = f"f:{BASE_NAME_ANNOTATION}"
    describers = frozenset(managers_of(data, "f:metadata", "f:annotations", base_name))
    writers = {*managers_of(data, "f:data"), *managers_of(data, "f:binaryData")}
    return Content(
        difference=_difference(revision, data),
        creators=describers & writers,
        others=frozenset(writers) - describers,
    )


def _difference(revision: Revision, data: Object) -> str:
    base_name = revision.base_name or without_hash(revision.name)
    if not base_name:
        return ""
    # The hash of a mutable revision covers the field `immutable`.
    is_right, is_right_if_mutable = (
        _has_expected_content(revision, base_name, {**data, "immutable": state})
        for state in (True, False)
    )
    if not (is_right or is_right_if_mutable):
        name = without_hash(revision.name)
        is_content_right = (
            bool(name)
            and name != base_name
            and not _difference(revision._replace(base_name=name), data)
        )
        return WRONG_BASE_NAME if is_content_right else "the content"
    is_of_kustomize = strings_at(data, "annotations").get(HASH_ANNOTATION) == KUSTOMIZE_HASH
    if is_of_kustomize or is_right == (data.get("immutable") is True):
        return ""
    return "the field immutable"


def _change(revision: Revision, content: Content, applier: str) -> UserError:
    who = conjoined(sorted(content.others)) or "an admission webhook"
    origin = f"which {applier} applied" if applier else "to which an earlier run added owners"
    what = content.difference
    return UserError(
        f"{who} changed {what} of {revision}, {origin}, so {what} does not match the hash in the "
        "name. Everybody who may create ConfigMaps can imitate such a change. attach adds owners, "
        f"and keeps {revision} as long as an owner exists",
        f"If {what} must not change, exclude {revision} from this program. If you do not know the "
        f"program, compare {revision} with the manifests. If the program fills the content, set "
        f'postrender/strategy to "ignore" on {revision.resource.kind}/{revision.base_name} in the '
        "chart",
    )


def is_edited(revision: Revision, base_name: str, data: Object) -> bool:
    """Whether the content of a whole ConfigMap is not what its name stands for.

    base_name: "" for a name without a hash, such as that of an adopted original.
    """
    return bool(base_name) and not _has_expected_content(revision, base_name, data)


def edit_reason(client: Client, revision: Revision, base_name: str) -> str:
    """The reason to keep an edited ConfigMap, "" if nobody has edited it.

    attach never reads the content of a Secret.
    """
    if revision.resource != CONFIG_MAPS or not base_name:
        return ""
    data = client.read(revision.resource, revision.name)
    return EDITED if data and is_edited(revision, base_name, data) else ""


def _has_expected_content(revision: Revision, base_name: str, data: Object) -> bool:
    return fits_content(revision.name, base_name, revision.resource.group_kind, data)
