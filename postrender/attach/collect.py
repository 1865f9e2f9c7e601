"""`postrender collect`: the work of attach for every attach group with an inventory, in one pass.

A pass lists each kind once, and decides about each group with the code of attach. If there is
something to delete, it lists everything again just before the deletion, and deletes only what it
would delete in both states.

An apply can use an old revision again while a pass runs: the tool applies the inventory or the
attacher's Job and the revision, and later the workload. Two rules make this safe. What any
inventory or attacher's Job of the namespace names is never marked or deleted. And a marked revision
is deleted only if nobody has applied it since the mark (see the module `reconcile`), so that an
apply of it has begun before the mark, at least GRACE ago, and its inventory exists. A release
without an inventory has only the time, so --older-than counts for the age of its marks too. What a
release with a Job applied last is not marked: the Job can be in a later sync wave, and an apply of
what is not marked changes nothing.

A group whose workloads do not fit its inventory is in the middle of an apply: nothing of it is
marked or deleted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from postrender.attach.client import Client
from postrender.attach.content import (
    CheckedContent,
    Content,
    ContentReader,
    check_content,
    edit_reason,
    find_stuck,
)
from postrender.attach.live import Revision, age_text
from postrender.attach.observe import select_revisions
from postrender.attach.overview import Inventory, Live, read_live
from postrender.attach.reconcile import (
    PAST,
    Patch,
    RunState,
    find_unused,
    parse_time,
    reconcile,
)
from postrender.attach.report import Uids, report_deleted, report_marked
from postrender.attach.request import AttachRequest, RevisionRef
from postrender.attach.run import decide, send
from postrender.attach.sweep import delete, used_again
from postrender.attach.wait import Arrival, check_arrival
from postrender.errors import UserError
from postrender.kubernetes.annotations import BY_INVENTORY, COLLECT_LABEL
from postrender.kubernetes.hashing import without_hash
from postrender.records import NamedTuple

_NO_STATE = RunState((), {})


class Group(NamedTuple):
    """The decisions about the revisions of one attach group, or about ConfigMaps of other tools.

    name: "" for ConfigMaps of other tools.
    unused: unused ConfigMaps and Secrets, each with the reason to keep it, "" for none.
    in_stream: what has a name of the applied stream, whoever created it.
    arrival: None without an inventory.
    """

    name: str
    unused: Sequence[tuple[Revision, str]] = ()
    patches: Sequence[Patch] = ()
    request: AttachRequest = AttachRequest(())
    state: RunState = _NO_STATE
    arrival: Arrival | None = None
    in_stream: tuple[Revision, ...] = ()

    @property
    def uids(self) -> Uids:
        """The uid of each workload of the inventory, "" if the workload does not exist."""
        live = self.arrival.consumers if self.arrival else {}
        return {item: live[item].uid if item in live else "" for item in self.request.workloads}


class Pass:
    """One run of collect.

    client_of, namespace: as in open_clients.
    older_than: the minimum age of what collect deletes without an inventory, None to keep all.
    is_dry: whether to change nothing.
    lines: what collect has done, or would do.
    problems: what makes the exit code 1.
    """

    def __init__(
        self,
        client_of: Callable[[str | None], Client],
        namespace: str | None,
        older_than: timedelta | None = None,
        *,
        is_dry: bool,
    ) -> None:
        self._client_of = client_of
        self._client = client_of(namespace)
        self._older_than = older_than
        self._is_dry = is_dry
        self.lines: list[str] = []
        self.problems: list[UserError] = []

    def run(self) -> None:
        """Read the cluster, and do or report the work.

        Each step reads everything again, and ends before the next one, to save memory.
        """
        doomed = self._reconcile_all()
        deleted = {} if self._is_dry or not doomed else self._delete(doomed)
        if any(deleted.values()):
            self._check_users(deleted)

    def _read(self) -> dict[str, Live]:
        found, problems = read_live(self._client)
        known = set(map(str, self.problems))
        self.problems += [problem for problem in problems if str(problem) not in known]
        return found

    def _reconcile_all(self) -> dict[str, set[RevisionRef]]:
        """Do or report everything but deletions, and return what to delete, by namespace."""
        found = self._read()
        doomed: defaultdict[str, set[RevisionRef]] = defaultdict(set)
        for place, live in sorted(found.items()):
            client = self._client_of(place)
            self._report_inventories(place, live.inventories)
            for group in decide_groups(live, self._older_than, self._client.now()):
                self._reconcile(client, group)
                for revision in self._without_kept(client, group):
                    doomed[place].add(revision.key)
        return doomed

    def _report_inventories(self, place: str, inventories: Sequence[Inventory]) -> None:
        for inventory in inventories:
            if inventory.is_foreign:
                self.lines.append(
                    f"namespace {place}: collect ignores {inventory.owner}, because the name or "
                    "the group does not match its label"
                )
            elif not inventory.request:
                problem = f"collect cannot read {inventory.owner}, so it marks and deletes nothing"
                fix = "Use the version of postrender that has written the inventory"
                self.problems.append(UserError(f"{problem} in namespace {place}", fix))

    def _reconcile(self, client: Client, group: Group) -> None:
        """Send the patches of a group, or report them."""
        content, patches = without_foreign(group, ContentReader(client))
        self.problems += content.problems.values()
        self._report_states(client, group, content)
        if not self._is_dry:
            patches, refusals = send(client, patches)
            self.problems += refusals
            marked = [patch.revision for patch in patches if patch.mark]
            report_marked(client, marked, group.state, group.uids)
        for verb, text in (change for patch in patches for change in patch.changes()):
            self._report(client, verb, text)
        if group.arrival and not group.arrival.is_complete:
            self.lines.append(
                f"namespace {client.namespace}: collect marks and deletes nothing of {group.name}, "
                f"because an apply may be under way: {'; '.join(group.arrival.reasons)}"
            )

    def _report_states(self, client: Client, group: Group, content: CheckedContent) -> None:
        """Report the revisions of the stream that somebody changed or is deleting."""
        place = f"namespace {client.namespace}:"
        self.lines += [f"{place} {change}" for change in content.changes.values()]
        missing = group.arrival.missing if group.arrival else ()  # the reasons name these
        stuck = find_stuck(group.in_stream)
        self.lines += [f"{place} {text}" for ref, text in stuck.items() if ref not in missing]

    def _without_kept(self, client: Client, group: Group) -> Iterator[Revision]:
        """Yield what collect deletes. Report it in a dry run, and report why it keeps the rest."""
        for revision, keep_reason in group.unused:
            base_name = revision.base_name
            if not revision.group_name:  # of another tool
                base_name = without_hash(revision.name) or base_name
            reason = keep_reason or edit_reason(client, revision, base_name)
            if reason:
                self.lines.append(
                    f"namespace {client.namespace}: collect keeps the unused {revision}, because "
                    f"{reason}"
                )
                continue
            if self._is_dry:
                self._report(client, "delete", _with_mark(revision))
            yield revision

    def _delete(self, doomed: Mapping[str, set[RevisionRef]]) -> dict[str, list[Revision]]:
        """Delete and return what is doomed, if a new state of the cluster still allows it."""
        # The writes of this run took time, so the run reads everything again.
        found = self._read()
        deleted: dict[str, list[Revision]] = defaultdict(list)
        for place in sorted(doomed.keys() & found.keys()):
            client, refs = self._client_of(place), doomed[place]
            for group in decide_groups(found[place], self._older_than, self._client.now()):
                still_unused = [
                    revision
                    for revision, reason in group.unused
                    if not reason and revision.key in refs
                ]
                refs -= {revision.key for revision in still_unused}
                gone = [item for item in still_unused if delete(client, item, self.problems)]
                for revision in gone:
                    self._report(client, "delete", _with_mark(revision))
                report_deleted(client, gone, group.state, group.uids)
                deleted[place] += gone
        return deleted

    def _check_users(self, deleted: Mapping[str, Sequence[Revision]]) -> None:
        found = self._read()
        for place, revisions in deleted.items():
            users = found[place].overview.users if place in found else {}
            self.problems += used_again(revisions, users, "collect", f" in namespace {place}")

    def _report(self, client: Client, verb: str, text: str) -> None:
        action = f"would {verb}" if self._is_dry else PAST[verb]
        self.lines.append(f"namespace {client.namespace}: collect {action} {text}")


def decide_groups(live: Live, older_than: timedelta | None, now: datetime) -> Iterator[Group]:
    """The decisions about everything in a namespace."""
    for item in live.inventories:
        if item.request and not item.is_foreign:
            yield decide_group(live, item, item.request, now)
    if live.is_safe:
        yield from _orphans(live, older_than, now)
        yield Group("", list(_others(live, older_than, now)))


def without_foreign(
    group: Group, content_of: Callable[[Revision], Content]
) -> tuple[CheckedContent, list[Patch]]:
    """The patches without those of foreign ConfigMaps, to which attach adds no owners."""
    workloads = group.arrival.consumers.values() if group.arrival else ()
    content = check_content(content_of, group.request, group.in_stream, workloads)
    return content, [patch for patch in group.patches if patch.revision not in content.foreign]


def decide_group(live: Live, inventory: Inventory, request: AttachRequest, now: datetime) -> Group:
    """The decisions about a group; request: of the inventory."""
    overview, owner = live.overview, inventory.owner
    existing = overview.revisions
    candidates, consumers = overview.part_for(request, owner)
    revisions = select_revisions(candidates, request)
    arrival = check_arrival(request, overview, revisions.revisions)
    state, patches = decide(request, arrival, revisions, owner, consumers, overview.unreadable, now)
    patches = [
        patch._replace(mark=None)
        if patch.mark and keep_reason(patch.revision, live, request)
        else patch
        for patch in patches
    ]
    may_delete = request.prunes and arrival.is_complete and live.is_safe
    may_delete = may_delete and not overview.unreadable
    unused = find_unused(state, now) if may_delete else []
    return Group(
        name=inventory.group_name,
        unused=[
            (revision, reason)
            for revision, reason in unused
            if revision.key not in live.named and not _has_other_inventory(revision, live, request)
        ],
        patches=[patch for patch in patches if patch.has_changes],
        request=request,
        state=state,
        arrival=arrival,
        in_stream=tuple(existing[ref] for ref in sorted(request.in_stream) if ref in existing),
    )


def keep_reason(revision: Revision, live: Live, request: AttachRequest) -> str:
    """Why the pass of a group does not mark or delete a revision, "" if it does."""
    if _has_other_inventory(revision, live, request):
        return f"the inventory of {revision.group_name} decides about the revision"
    if not live.is_safe:
        return "collect cannot read each inventory of this namespace"
    if revision.key in live.named_by_jobs:
        return "an attacher's Job names the revision"
    if revision.key in live.named:
        return "an inventory names the revision"
    if revision.applied not in (None, BY_INVENTORY):
        return "a release without an inventory applied the revision last, and could use it again"
    return ""


def _has_other_inventory(revision: Revision, live: Live, request: AttachRequest) -> bool:
    """Whether another inventory decides, such as with --no-prune, of a release with equal names."""
    return revision.group_name != request.group_name and revision.group_name in live.groups


def _orphans(live: Live, older_than: timedelta | None, now: datetime) -> Iterator[Group]:
    """The unused revisions without an owner of each group without an inventory.

    If collect has seen a group, Kubernetes deletes its revisions with the inventory. If the group
    has an attacher Job, the revisions have owners, and the Job looks after them.
    """
    known = {inventory.group_name for inventory in live.inventories}
    found: dict[str, list[Revision]] = defaultdict(list)
    for revision in live.overview.revisions.values():
        if (
            revision.group_name
            and revision.base_name
            and revision.group_name not in known
            and _is_loose(live, revision)
        ):
            found[revision.group_name].append(revision)
    for name, revisions in sorted(found.items()):
        reasons = {item: _age_reason(live, item, older_than, now) for item in revisions}
        young = [
            (item, f"the attach group {name} has no inventory, but {reason}")
            for item, reason in reasons.items()
            if reason
        ]
        old = tuple(item for item, reason in reasons.items() if not reason)
        unreadable = live.overview.unreadable
        state = RunState(old, {}, unreadable, in_stream=live.named, group_name=name)
        unused = [
            (item, reason or _mark_reason(item, older_than, now))
            for item, reason in find_unused(state, now)
        ]
        yield Group(
            name=name,
            unused=[*young, *unused],
            patches=reconcile(state, now),
            state=state,
        )


def _others(
    live: Live, older_than: timedelta | None, now: datetime
) -> Iterator[tuple[Revision, str]]:
    """The unused ConfigMaps of other tools, each with the reason to keep it, "" for none."""
    for revision, tool, may_delete in live.hashed:
        if _is_loose(live, revision):
            reason = revision.keep_reason or _age_reason(live, revision, older_than, now)
            if not may_delete:
                reason = f"{tool} created it, and the label {COLLECT_LABEL} is not true"
                reason += f" ({age_text(live.created.get(revision.uid), now)} old)"
            elif live.overview.unreadable:
                reason = "postrender cannot list every kind of consumer"
            yield revision, reason


def _is_loose(live: Live, revision: Revision) -> bool:
    """Whether nothing uses, names, owns or already deletes an object."""
    is_used = revision.key in live.named or bool(live.overview.users.get(revision.key))
    return not (is_used or revision.owners or revision.is_deleting)


def _age_reason(live: Live, revision: Revision, older_than: timedelta | None, now: datetime) -> str:
    created = live.created.get(revision.uid)
    age = age_text(created, now)
    if older_than is None:
        return f"--older-than is not set ({age} old)"
    is_young = created is None or now - created < older_than
    return f"--older-than is not reached ({age} old)" if is_young else ""


def _mark_reason(revision: Revision, older_than: timedelta | None, now: datetime) -> str:
    """The reason to keep a revision of which neither an inventory nor a Job shows an apply."""
    marked = parse_time(revision.unused_since or "")
    if older_than is None or marked is None or now - marked >= older_than:
        return ""
    return f"--older-than is not reached since the mark ({age_text(marked, now)} ago)"


def _with_mark(revision: Revision) -> str:
    since = revision.unused_since
    return f"{revision}, which has been unused since {since}" if since else str(revision)
