"""What a run reads from its namespace: revisions, their content, consumers, the release owner."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from postrender.attach.client import FORBIDDEN, ApiError, Client
from postrender.attach.connect import Account
from postrender.attach.live import (
    Consumer,
    Object,
    Owner,
    Revision,
    managers_of,
    read_consumer,
    read_revision,
    text_at,
)
from postrender.attach.reconcile import RunState, find_related
from postrender.attach.request import (
    CONFIG_MAPS,
    CONSUMER_KINDS,
    REVISED_KINDS,
    SERVICE_ACCOUNTS,
    AttachRequest,
    NamedObject,
    Resource,
    RevisionRef,
)
from postrender.errors import UserError
from postrender.kubernetes.annotations import (
    BASE_NAME_ANNOTATION,
    GROUP_LABEL,
    HASH_ANNOTATION,
    KUSTOMIZE_HASH,
    SWEEP_ANNOTATION,
)
from postrender.kubernetes.attach_groups import group_name_for_release
from postrender.kubernetes.hashing import fits_content, without_hash
from postrender.kubernetes.kinds import strings_at
from postrender.records import NamedTuple
from postrender.text import conjoined

_log = logging.getLogger(__name__)


class GroupRevisions(NamedTuple):
    """The live revisions that a run reads.

    revisions: the given revisions (AttachRequest.given), and those of the run's attach group.
    others: the revisions of other attach groups, if the attach group of the run is known, and what
        has a name of AttachRequest.revised without a label. For a request without a group, also the
        ConfigMaps without a label to which attach added owners.
    group_name: the attach group of the run, "" if unknown.
    base_names: of the live revisions in AttachRequest.in_stream, with the kinds.
    """

    revisions: tuple[Revision, ...]
    others: tuple[Revision, ...]
    group_name: str
    base_names: frozenset[RevisionRef]


def read_revisions(client: Client, request: AttachRequest) -> GroupRevisions:
    """The live revisions of a run.

    If the request has no attach group, the group is the label of the given revisions. If no given
    revision has a label, or if the labels differ, the group is unknown. The attach group of a
    request is a label, or a name as in `render --group`.
    """
    candidates: list[Revision] = []
    for resource in REVISED_KINDS:
        if reads_kind(resource, request):
            candidates += _read_kind(client, resource, request)
        else:
            candidates += _read_retired(client, resource, request)
    return select_revisions(candidates, request)


def reads_kind(resource: Resource, request: AttachRequest) -> bool:
    """Whether a run lists all objects of a kind, and not only those in AttachRequest.retired."""
    kinds = {kind for kind, _ in request.in_stream}
    return resource == CONFIG_MAPS or resource.kind.lower() in kinds


def select_revisions(candidates: Sequence[Revision], request: AttachRequest) -> GroupRevisions:
    """The revisions of a run among live ConfigMaps and Secrets, as in read_revisions."""
    given, in_stream = set(request.given), request.in_stream
    labels = {revision.group_name for revision in candidates if revision.key in given} - {""}
    group_name = labels.pop() if len(labels) == 1 else ""
    if request.group_name:
        existing = {revision.group_name for revision in candidates}
        derived = group_name_for_release(request.group_name)
        group_name = derived if request.group_name not in existing else request.group_name
    only_emitted = request.emitted - given
    revised = request.revised if request.group_name else ()
    revisions, others = [], []
    for revision in candidates:
        if revision.key in given or revision.group_name == group_name != "":
            is_only_emitted = revision.key in only_emitted
            revisions.append(_protected(revision) if is_only_emitted else revision)
        elif (
            (group_name and revision.group_name)
            or revision.key in revised
            or (not (request.group_name or revision.group_name) and revision.proven_owners)
        ):
            others.append(revision)
    return GroupRevisions(
        revisions=tuple(revisions),
        others=tuple(others),
        group_name=group_name,
        base_names=frozenset(
            revision.base
            for revision in candidates
            if revision.key in in_stream and revision.base_name
        ),
    )


def _protected(revision: Revision) -> Revision:
    """Protect an original of the applied stream that the request does not give as a revision.

    `postrender adopt` may have labelled the original, but a tool such as Helm manages it. If a
    consumer were its only owner, Kubernetes would delete the original with the consumer.
    """
    if revision.base_name:
        return revision
    return revision._replace(keep_annotations=(SWEEP_ANNOTATION,), is_original_in_stream=True)


def _read_kind(client: Client, resource: Resource, request: AttachRequest) -> list[Revision]:
    """The objects of a kind with the label of any attach group.

    The result has all objects of the kind if the request has no attach group, or if a revision of
    the applied stream is not among the objects with a label.
    """
    selector = GROUP_LABEL if request.group_name else ""
    revisions, _ = client.list_all(resource, partial(read_revision, resource), selector)
    kind = resource.kind.lower()
    wanted = {name for ref_kind, name in {*request.given, *request.revised} if ref_kind == kind}
    if selector and not wanted <= {revision.name for revision in revisions}:
        # A revision does not exist, or somebody created an object without a label under its name.
        revisions, _ = client.list_all(resource, partial(read_revision, resource))
    return revisions


def _read_retired(client: Client, resource: Resource, request: AttachRequest) -> list[Revision]:
    """The live revisions in AttachRequest.retired of a kind.

    The applied stream has no revision of this kind. The attacher's Role therefore permits only
    requests with the name of a retired revision. If the Role forbids even such a request, attach
    keeps the revision.
    """
    revisions: list[Revision] = []
    for kind, name in sorted(request.retired):
        if kind == resource.kind.lower():
            try:
                found, _ = client.list_all(resource, partial(read_revision, resource), name=name)
                revisions += found
            except ApiError as error:
                if error.status != FORBIDDEN:
                    raise
                _log.warning(f"attach keeps {resource.kind}/{name}, because {error}")
    return revisions


def updated(
    state: RunState,
    group: GroupRevisions,
    consumers: Mapping[str, Consumer],
    unreadable: frozenset[Resource],
) -> RunState:
    """A state with what a run has read now.

    consumers, unreadable: from read_consumers, listed after the revisions. In the other order, an
        owner that was created between the lists would count as deleted.
    """
    state = state._replace(revisions=group.revisions, consumers=consumers, unreadable=unreadable)
    related = find_related(state, group.others)
    return state._replace(revisions=(*group.revisions, *related))


def read_consumers(
    client: Client, read: Callable[[Resource, Object], Consumer] = read_consumer
) -> tuple[dict[str, Consumer], frozenset[Resource]]:
    """Every possible consumer by uid, and the kinds that the Role forbids to list."""
    consumers: dict[str, Consumer] = {}
    unreadable = set()
    for resource in CONSUMER_KINDS:
        items = client.list_allowed(resource, partial(read, resource))
        if items is None:
            unreadable.add(resource)
        consumers.update((consumer.uid, consumer) for consumer in items or ())
    return consumers, frozenset(unreadable)


def find_release_owner(
    client: Client, wanted: NamedObject | None, account: Account | None
) -> Owner | None:
    """The release owner of a run, None (with a warning) if it does not exist."""
    if wanted is None:
        return None
    reason = f"{wanted} does not exist"
    fix = f"Apply the manifests that contain {wanted}"
    namespace, name, uid = account or ("", "", "")
    if (wanted.resource, client.namespace, wanted.name) != (SERVICE_ACCOUNTS, namespace, name):
        try:
            data = client.read(wanted.resource, wanted.name)
        except ApiError as error:
            if not error.is_answer:
                raise
            data, reason, fix = None, error.problem, error.fix
        uid = text_at(data, "metadata", "uid")
    if not uid:
        _log.warning(
            f"attach cannot make {wanted} an owner of the revisions, because {reason}. If a "
            "workload gets another name or kind, Kubernetes deletes the revisions of the workload. "
            f"{fix}."
        )
        return None
    return Owner(
        api_version=wanted.resource.api_version,
        kind=wanted.resource.kind,
        name=wanted.name,
        uid=uid,
    )


class ContentCheck:
    """The search for objects under the name of a revision that render did not write.

    A ConfigMap with the content that its name stands for proves itself, whoever wrote it. Any other
    ConfigMap of the applied stream is

    - changed, if the tool of this release wrote it, and an admission webhook or another program
      then changed the content. attach adds owners to it. The sweep never deletes it.
    - foreign, if another program or a person created it. attach does not add owners, because
      Kubernetes would delete it with its owners.

    The field managers in metadata.managedFields show who wrote an object. The tool of the release
    is the manager that wrote the render ID on a workload of the request. If attach has added owners
    in an earlier run, the ConfigMap is changed too. Somebody who may create ConfigMaps can write
    all these fields, and so have their own ConfigMap count as changed. A run therefore reports
    every ConfigMap of both kinds.

    A Secret without the label and the annotation of a revision is foreign. attach never reads the
    content of a Secret.

    content_of: such as ContentReader(client).
    changes: a sentence for each changed ConfigMap that the run has accepted.
    """

    __slots__ = (
        "_checked",
        "_content_of",
        "_foreign",
        "_has_no_workloads",
        "_is_certain",
        "changes",
    )

    def __init__(self, content_of: Callable[[Revision], Content], request: AttachRequest) -> None:
        self._content_of = content_of
        # Without an attach group, the names can have the hashes of another tool.
        checked = request.revised | set(request.given) if request.group_name else ()
        self._checked = frozenset(checked)
        self._foreign: dict[Revision, UserError] = {}
        # Until one of its workloads exists, the run cannot tell whether a ConfigMap is foreign.
        self._is_certain = self._has_no_workloads = not request.workloads
        self.changes: dict[RevisionRef, UserError] = {}

    def accepted(
        self, revisions: Iterable[Revision], workloads: Iterable[Consumer]
    ) -> tuple[Revision, ...]:
        """All revisions except foreign objects; workloads: the live workloads of the request."""
        workloads = tuple(workloads)
        self._is_certain = self._has_no_workloads or bool(workloads)
        appliers = frozenset(name for workload in workloads for name in workload.appliers)
        revisions = tuple(revisions)
        problems = {item: self._problem(item, appliers) for item in revisions}
        self._foreign = {item: problem for item, problem in problems.items() if problem}
        return tuple(item for item in revisions if item not in self._foreign)

    def accepted_in(self, group: GroupRevisions, workloads: Iterable[Consumer]) -> GroupRevisions:
        """What a run has read, without the foreign objects."""
        accepted = set(self.accepted((*group.revisions, *group.others), workloads))
        return group._replace(
            revisions=tuple(item for item in group.revisions if item in accepted),
            others=tuple(item for item in group.others if item in accepted),
        )

    def problems(self) -> dict[RevisionRef, UserError]:
        """An error for each foreign object that the latest call of `accepted` left out."""
        return {
            revision.key: problem
            for revision, problem in self._foreign.items()
            if self._is_certain or not _has_our_marks(revision)
        }

    def _problem(self, revision: Revision, appliers: frozenset[str]) -> UserError | None:
        """Why a revision is foreign, None if it is not; a change is added to `changes`."""
        has_marks = _has_our_marks(revision)
        # With a finalizer of its creator, an object that is being deleted can stay for ever.
        if revision.key not in self._checked or (revision.is_deleting and not revision.finalizers):
            return None
        if revision.resource != CONFIG_MAPS:
            return None if has_marks or not without_hash(revision.name) else _unmarked(revision)
        content = self._content_of(revision)
        if not content.difference:
            return None
        creators = content.creators & appliers
        if not has_marks or not (creators or revision.our_owners):
            return UserError(
                f"{content.difference} of {revision} does not match the hash in the name, so "
                "attach does not add owners",
                "Apply the manifest that contains the annotation"
                if content.difference == WRONG_BASE_NAME
                else "If a program needs the content, copy the content to a new ConfigMap. Delete "
                f"{revision}, then apply the manifests again",
            )
        self.changes[revision.key] = _change(revision, content, min(creators, default=""))
        return None


def _has_our_marks(revision: Revision) -> bool:
    return bool(revision.group_name and revision.base_name)


def _unmarked(revision: Revision) -> UserError:
    return UserError(
        f"{revision} has the name of a revision, but no label {GROUP_LABEL} or no annotation "
        f"{BASE_NAME_ANNOTATION}, so attach does not add owners",
        f"If a program needs {revision}, copy the content to a new {revision.resource.kind}. "
        f"Delete {revision}, then apply the manifests again",
    )


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
        has_expected_content(revision, base_name, {**data, "immutable": state})
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


def has_expected_content(revision: Revision, base_name: str, data: Object) -> bool:
    """Whether the content of a whole ConfigMap is what its name stands for."""
    return fits_content(revision.name, base_name, revision.resource.group_kind, data)
