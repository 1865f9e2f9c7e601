"""The status of a namespace, of a release or of workloads, from a snapshot."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from postrender.attach.content import WRONG_BASE_NAME
from postrender.attach.live import Consumer, Object, Owner
from postrender.attach.request import (
    BY_GROUP_KIND,
    CONTROLLER_MADE_KINDS,
    PODS,
    RELEASE_OWNER_KINDS,
    REPLICA_SETS,
    NamedObject,
    RevisionRef,
    named_in,
    title,
)
from postrender.config.settings import RENAME
from postrender.diff.contents import compare_content
from postrender.diff.model import CHANGED, ContentChange, Preview
from postrender.diff.normalise import BaseNames
from postrender.diff.pairs import ComparedObject, Pair
from postrender.diff.texts import content_of
from postrender.errors import UserError
from postrender.kubernetes.attach_groups import group_name_for_release
from postrender.kubernetes.hashing import without_hash
from postrender.kubernetes.kinds import DATA_FIELDS, Identity
from postrender.status.model import (
    ACTIVE,
    CURRENT,
    CURRENT_STATE,
    EARLIER,
    EDITED,
    KEPT,
    MISSING,
    OLD,
    STABLE,
    STATE_OF_PROBLEM,
    UNKNOWN,
    UNUSED,
    USED,
    RevisionStatus,
    Status,
    Template,
    User,
    Workload,
)
from postrender.status.next_run import UNPROVEN, NextRun, Outcome, merged, next_run
from postrender.status.problems import PERMISSION_FIX, find_lacks, find_problems
from postrender.status.snapshot import Snapshot
from postrender.status.workloads import read_workload
from postrender.text import conjoined, similar_words

_OLD_ROLES = (OLD, STABLE, ACTIVE, EARLIER)
_NOTHING = Outcome()
_CONTENT = ("kind", *DATA_FIELDS)
# The unchanged lines around each change.
_CONTEXT = 3
_SHOWN_NAMES = 20


def read_status(
    snapshot: Snapshot,
    targets: Sequence[NamedObject] = (),
    group: str = "",
    *,
    with_difference: bool = False,
) -> Status:
    """The status of workloads, of a release, or of the whole namespace.

    group: the name of a release or of an attach group, "" for all.
    with_difference: whether to compare the revisions of each workload key by key.
    UserError for a workload or a group that does not exist.
    """
    return _Builder(snapshot, targets, group, with_difference=with_difference).status()


def chosen_group(snapshot: Snapshot, group: str) -> str:
    """The attach group that a user means, as in `attach --group`; UserError if unknown."""
    for name in (group, group_name_for_release(group)):
        if snapshot.overview.groups.get(name):
            return name
    names = [name for name in sorted(snapshot.overview.groups) if name]
    raise UserError(
        f"the attach group {group} has no ConfigMap or Secret in namespace {snapshot.namespace}",
        f"The attach groups are {conjoined(names[:_SHOWN_NAMES])}. Fix --group"
        if names
        else "Check --namespace",
    )


class _Builder:
    """Builds one status. Each workload, and each run, is read once."""

    def __init__(
        self,
        snapshot: Snapshot,
        targets: Sequence[NamedObject],
        group: str,
        *,
        with_difference: bool,
    ) -> None:
        self._snapshot = snapshot
        self._with_difference = with_difference
        self._overview = snapshot.overview
        self._workloads: dict[str, Workload] = {}
        self._using: dict[str, defaultdict[RevisionRef, list[Template]]] = {}
        self._naming = _naming_groups(snapshot)
        # The group of each base name. A revision can have lost its label.
        revisions = self._overview.revisions.values()
        self._bases = {
            revision.base: revision.group_name
            for revision in sorted(revisions, key=lambda revision: bool(revision.group_name))
            if revision.base_name
        }
        self._targets = [self._find(target) for target in targets]
        self._group = chosen_group(snapshot, group) if group else ""

    def _find(self, target: NamedObject) -> Consumer:
        found = self._overview.find(target)
        if found:
            return found
        if target.resource in self._overview.unreadable:
            where = "the file has no objects of this kind"
            reason = where if self._snapshot.is_file else "the kind could not be listed"
            fix = f"Add {target.resource.plural} to kubectl get"
            raise UserError(
                f"{target} is unknown, because {reason}",
                fix if self._snapshot.is_file else PERMISSION_FIX,
            )
        consumers = [item for item in self._overview.consumers.values() if not item.controller]
        names = [item.name for item in consumers if item.resource == target.resource]
        hints = [str(item) for item in consumers if item.name == target.name]
        hints += [f"{target.resource.kind}/{name}" for name in similar_words(target.name, names)]
        hint = f"Did you mean {hints[0]}? " if hints else ""
        raise UserError(
            f"{target} does not exist in namespace {self._snapshot.namespace}",
            f"{hint}Check the name and --namespace",
        )

    def status(self) -> Status:
        workloads = tuple(map(self._workload, self._targets))
        refs = self._refs_of(workloads) if workloads else self._all_refs()
        groups = {self._group_of(ref) for ref in refs} - {""}
        groups |= {name for ref in refs for name in self._naming[ref]}
        runs = _next_runs(self._snapshot, groups)
        complete = self._snapshot.if_complete()
        if_complete = _outcomes_of(_next_runs(complete, groups)) if complete else None
        outcomes = _outcomes_of(runs)
        revisions = [self._revision(ref, outcomes, if_complete) for ref in refs]
        revisions.sort(key=_sort_key)
        problems = tuple(find_problems(self._snapshot, revisions, runs, is_whole=not workloads))
        states = {
            ref: state
            for code, state in STATE_OF_PROBLEM.items()
            for problem in problems
            if problem.code == code
            for ref in problem.refs
        }
        revisions = [
            item._replace(state=states.get(item.ref, item.state)) if item.revision else item
            for item in revisions
        ]
        revisions.sort(key=_sort_key)
        return Status(
            namespace=self._snapshot.namespace,
            now=self._snapshot.now,
            is_file=self._snapshot.is_file,
            is_old=self._snapshot.is_old,
            workloads=workloads,
            revisions=tuple(revisions),
            runs=tuple(runs),
            problems=problems,
            unreadable=tuple(self._snapshot.unlisted),
            notes=tuple(find_lacks(self._snapshot, revisions)),
            key_counts=dict(self._key_counts(workloads)),
            differences=tuple(map(self._difference, workloads)) if self._with_difference else (),
        )

    def _workload(self, consumer: Consumer) -> Workload:
        found = self._workloads.get(consumer.uid)
        if found is None:
            found = self._workloads[consumer.uid] = read_workload(self._snapshot, consumer)
            using = self._using[consumer.uid] = defaultdict(list)
            for template in found.templates:
                for ref in template.consumer.references:
                    using[ref].append(template)
        return found

    # Which revisions

    def _all_refs(self) -> list[RevisionRef]:
        revisions = self._overview.revisions.values()
        ours = [
            revision
            for revision in revisions
            if (revision.proven_owners or self._is_ours(revision.key))
            and self._group in ("", self._group_of(revision.key))
        ]
        bases = {revision.base for revision in ours}
        missing = []
        for ref in filter(self._is_lost, self._overview.users):
            groups, base = self._groups_of_users(ref), (ref[0], without_hash(ref[1]))
            # Nothing may be left that tells the group. Then each group shows the loss.
            is_ours = self._group in groups or (
                not groups and (base in bases or base not in self._bases)
            )
            if is_ours or not self._group:
                missing.append(ref)
        return [*(revision.key for revision in ours), *missing]

    def _refs_of(self, workloads: Iterable[Workload]) -> list[RevisionRef]:
        used = {
            ref
            for workload in workloads
            for item in (
                *(entry.consumer for entry in workload.templates),
                *self._overview.below([workload.consumer]).values(),
            )
            for ref in item.references
        }
        found = [ref for ref in used if self._is_ours(ref) or self._is_lost(ref)]
        bases = set(map(self._base, found))
        others = (
            revision.key
            for name in {self._group_of(ref) for ref in found}
            for revision in self._overview.groups.get(name, ())
            if self._base(revision.key) in bases
        )
        return list(dict.fromkeys((*sorted(found), *others)))

    def _is_ours(self, ref: RevisionRef) -> bool:
        revision = self._overview.revisions.get(ref)
        if revision is None:
            return False
        is_loose = (ref[0], without_hash(revision.name)) in self._bases
        content = self._snapshot.contents.get(revision.uid)
        is_squat = bool(content and content.difference) and self._is_used_by_ours(ref)
        return bool(revision.group_name or revision.base_name) or is_loose or is_squat

    def _is_used_by_ours(self, ref: RevisionRef) -> bool:
        users = (user for user in self._overview.users.get(ref, ()) if self._is_alive(user))
        return any(self._overview.top_of(user).render_id for user in users)

    def _is_lost(self, ref: RevisionRef) -> bool:
        """Whether a live object references a revision that does not exist, or is unknown."""
        base_name = without_hash(ref[1])
        if not base_name or ref in self._overview.revisions:
            return False
        if (ref[0], base_name) in self._bases:
            return any(map(self._is_alive, self._overview.users.get(ref, ())))
        return self._is_used_by_ours(ref)

    def _is_alive(self, user: Consumer) -> bool:
        return not self._snapshot.facts[user.uid].is_ended and not user.is_deleting

    def _base_name(self, ref: RevisionRef) -> str:
        revision = self._overview.revisions.get(ref)
        content = self._snapshot.contents.get(revision.uid) if revision else None
        if content and content.difference == WRONG_BASE_NAME:
            return without_hash(ref[1])
        return (revision.base_name if revision else "") or without_hash(ref[1]) or ref[1]

    def _base(self, ref: RevisionRef) -> RevisionRef:
        return ref[0], self._base_name(ref)

    def _group_of(self, ref: RevisionRef) -> str:
        revision = self._overview.revisions.get(ref)
        of_base = self._bases.get((ref[0], without_hash(ref[1])), "")
        if revision and (revision.group_name or of_base):
            return revision.group_name or of_base
        # Two releases can have the same base name.
        return next(iter(self._groups_of_users(ref)), of_base)

    def _groups_of_users(self, ref: RevisionRef) -> list[str]:
        tops = map(self._overview.top_of, self._overview.users.get(ref, ()))
        return list(filter(None, (*map(self._overview.group_of, tops), *self._naming[ref])))

    # One revision

    def _revision(
        self,
        ref: RevisionRef,
        outcomes: Mapping[str, Outcome],
        if_complete: Mapping[str, Outcome] | None,
    ) -> RevisionStatus:
        revision = self._overview.revisions.get(ref)
        users, is_new = self._users(ref)
        uid = revision.uid if revision else ""
        unproven = Outcome(unknown=UNPROVEN) if uid in self._snapshot.unproven else None
        condition = ""
        if if_complete is not None and revision and not users:
            condition = f"if the namespace has no {conjoined(self._snapshot.unlisted, word='or')}"
        return RevisionStatus(
            ref=ref,
            base_name=self._base_name(ref),
            group_name=self._group_of(ref),
            revision=revision,
            created=self._snapshot.created.get(uid),
            state=self._state(ref, is_new=is_new, is_used=bool(users)),
            users=tuple(users),
            owners=tuple((owner, self._exists(owner)) for owner in revision.owners)
            if revision
            else (),
            outcome=outcomes.get(uid, unproven),
            condition=condition,
            if_met=if_complete.get(uid, unproven) if if_complete else unproven,
        )

    def _state(self, ref: RevisionRef, *, is_new: bool, is_used: bool) -> str:
        revision = self._overview.revisions.get(ref)
        if revision is None:
            is_unread = ref[0] == "secret" and not self._snapshot.has_secrets
            return UNKNOWN if is_unread else MISSING
        content = self._snapshot.contents.get(revision.uid)
        if content and content.difference not in ("", WRONG_BASE_NAME):
            return EDITED
        if not is_used:
            return UNKNOWN if self._overview.unreadable else UNUSED
        if is_new:
            return CURRENT_STATE
        consumers = self._overview.consumers
        tops = map(self._overview.top_of, self._overview.users.get(ref, ()))
        is_known = all(not top.controller or top.controller in consumers for top in tops)
        return KEPT if is_known or not self._overview.unreadable else USED

    def _users(self, ref: RevisionRef) -> tuple[list[User], bool]:
        """The uses of a revision, and whether the current template of a workload is one of them."""
        users: defaultdict[str, list[Consumer]] = defaultdict(list)
        tops: dict[str, Consumer] = {}
        for user in self._overview.users.get(ref, ()):
            top = self._overview.top_of(user)
            tops[top.uid] = top
            users[top.uid].append(user)
        found: Counter[str] = Counter()
        without_pods: dict[str, None] = {}
        unknown: set[str] = set()
        is_new = False
        for top in sorted(tops.values(), key=str):
            workload = self._workload(top)
            using = self._using[top.uid][ref]
            columns = [item for item in using if item.role != EARLIER]
            source = self._overview.source_of(top)
            is_new = is_new or bool(source and ref in source.references and not top.controller)
            is_all = len(columns) == len(workload.columns) > 1 and not workload.unread
            for item in columns:
                used = _user(workload, item)
                name = f"{top}, all" if is_all else used.title
                found[name] += used.pods or 0
                if not used.is_known:
                    unknown.add(name)
                elif used.pods is None:
                    without_pods[name] = None
            for item in using:
                if item.role == EARLIER:
                    found[str(item.consumer)] = 0
                    unknown.update([str(item.consumer)] if item.desired is None else [])
            if not using:
                # No pod template shows these users, such as a Pod that an operator creates.
                others = (user for user in users[top.uid] if user != top)
                found.update({str(user): int(user.resource == PODS) for user in others})
            if top.resource not in CONTROLLER_MADE_KINDS and ref in top.references and not columns:
                found[str(top)] += 0
                without_pods[str(top)] = None
        return [
            User(name, None, is_known=False)
            if name in unknown
            else User(name, None if name in without_pods and not count else count)
            for name, count in found.items()
        ], is_new

    def _exists(self, owner: Owner) -> bool:
        resource = BY_GROUP_KIND.get(owner.group_kind)
        if resource:
            consumer = self._overview.consumers.get(owner.uid)
            is_known = resource not in self._overview.unreadable
            return not consumer.is_deleting if consumer else not is_known
        unknown = self._snapshot.unknown_owners
        is_release_owner = any(owner.kind == kind.kind for kind in RELEASE_OWNER_KINDS)
        if not is_release_owner or any(owner.kind == kind.kind for kind in unknown):
            return True
        live = self._snapshot.release_owners.get((owner.kind, owner.name))
        return live is not None and live.uid == owner.uid

    # What differs

    def _key_counts(
        self, workloads: Iterable[Workload]
    ) -> Iterator[tuple[tuple[RevisionRef, RevisionRef], int]]:
        for workload in workloads:
            for old, new in pairwise(workload.columns):
                for pair in self._changed_pairs(old, new):
                    count = self._changed_keys(*pair)
                    if count:
                        yield pair, count

    def _changed_pairs(
        self, old: Template, new: Template
    ) -> Iterator[tuple[RevisionRef, RevisionRef]]:
        """The revisions of each base name that differ between two templates."""
        before = {self._base(ref): ref for ref in sorted(old.consumer.references)}
        for ref in sorted(new.consumer.references):
            earlier = before.get(self._base(ref), ref)
            if earlier != ref:
                yield earlier, ref

    def _difference(self, workload: Workload) -> tuple[str, Preview]:
        """A workload, and what differs between its first and its last column."""
        old, new = workload.columns[:1], workload.columns[-1:]
        names = [f"{item.role} {item.consumer}" for item in (*old, *new)]
        pairs = self._changed_pairs(old[0], new[0]) if old else ()
        contents = tuple(filter(None, (self._content_change(*pair) for pair in pairs)))
        sides = (names[0], names[-1]) if names else ("", "")
        return str(workload.consumer), Preview(*sides, contents=contents)

    def _content_change(self, old: RevisionRef, new: RevisionRef) -> ContentChange | None:
        kind = title(old).partition("/")[0]
        identity = Identity("", kind, None, self._base_name(old))
        sides = [self._compared(identity, ref) for ref in (old, new)]
        if kind == "ConfigMap" and all(sides):
            found = compare_content(Pair(*sides), BaseNames({}, {}, None), _CONTEXT)
            return found[0] if found else None
        lost = [title(ref) for ref in (old, new) if ref not in self._overview.revisions]
        note = "known from the name, because status does not read Secrets"
        if lost:
            note = f"{conjoined(lost)} cannot be read"
        return ContentChange(
            identity=identity,
            change=CHANGED,
            strategy=RENAME,
            old_revision="",
            new_revision="",
            keys=(),
            fields=(),
            users=(),
            note=note,
        )

    def _data(self, ref: RevisionRef) -> Object | None:
        revision = self._overview.revisions.get(ref)
        return self._snapshot.data.get(revision.uid) if revision else None

    def _compared(self, identity: Identity, ref: RevisionRef) -> ComparedObject | None:
        data = self._data(ref)
        if data is None:
            return None
        content = {key: data[key] for key in _CONTENT if key in data}
        return ComparedObject(identity, ref[1], content, None, strategy=RENAME)

    def _changed_keys(self, old: RevisionRef, new: RevisionRef) -> int:
        data = [item for item in (self._data(old), self._data(new)) if item is not None]
        if len(data) < 2 or old[0] != "configmap":
            return 0
        before, after = (content_of(item, is_secret=False) for item in data)
        return sum(before.get(key) != after.get(key) for key in {*before, *after})


def _next_runs(snapshot: Snapshot, groups: Iterable[str]) -> list[NextRun]:
    runs = [next_run(snapshot, name) for name in sorted(groups)]
    return [run for run in runs if run.is_expected]


def _naming_groups(snapshot: Snapshot) -> defaultdict[RevisionRef, list[str]]:
    """The attach groups whose inventory or Job names a revision, of whatever group it is."""
    found: defaultdict[RevisionRef, list[str]] = defaultdict(list)
    for name, inventory in snapshot.inventories.items():
        for ref in inventory.request.in_stream if inventory.request else ():
            found[ref].append(name)
    for name, jobs in snapshot.jobs.items():
        for ref in {ref for job in jobs for ref in named_in(job.arguments)}:
            found[ref].append(name)
    return found


def _outcomes_of(runs: Iterable[NextRun]) -> dict[str, Outcome]:
    """What the next runs do, by uid. The runs of several groups can add owners to a revision."""
    found: dict[str, Outcome] = {}
    for run in runs:
        for uid, outcome in run.outcomes.items():
            if outcome != _NOTHING:
                found[uid] = merged(found[uid], outcome) if uid in found else outcome
    return found


def _user(workload: Workload, template: Template) -> User:
    role = "" if template.role == CURRENT else f" {template.role}"
    has_pods = template.pods or template.consumer.resource in (REPLICA_SETS, PODS)
    name = f"{workload.consumer}{role}"
    if template.desired is None:
        return User(name, None, is_known=False)
    count = len(template.pods) or (template.desired if has_pods else 0)
    is_plain = not has_pods and template.consumer == workload.consumer
    return User(name, None if is_plain else count)


def _sort_key(status: RevisionStatus) -> tuple[str, str, str, bool, float, str]:
    """The revisions of a base name with a problem come first, then the newest."""
    created = status.created.timestamp() if status.created else 0.0
    is_fine = status.state.islower()
    return status.group_name, status.base_name, status.ref[0], is_fine, -created, status.ref[1]
