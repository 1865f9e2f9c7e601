"""A status as text: a matrix for a workload, and a list by base name for a release or namespace."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import zip_longest

from postrender.attach.live import age_text
from postrender.attach.reconcile import GRACE, TIME_FORMAT, parse_time
from postrender.attach.request import (
    CONTROLLER_REVISIONS,
    REPLICA_SETS,
    RevisionRef,
    title,
)
from postrender.diff.formats import Reporter
from postrender.diff.formats import text as diff_text
from postrender.diff.model import Preview
from postrender.diff.values import Forms, Terminal, counted
from postrender.errors import sentences
from postrender.kubernetes.annotations import GROUP_LABEL, PRUNE_ANNOTATION
from postrender.records import NamedTuple
from postrender.status.model import (
    EDITED,
    LOST,
    MISSING,
    NO_OWNER,
    STATES,
    UNKNOWN,
    UNUSED,
    RevisionStatus,
    Status,
    Template,
    User,
    Workload,
)
from postrender.status.next_run import Outcome
from postrender.terminal import BOLD, END, RED, columns_of, wrap
from postrender.text import conjoined, visible

# With more pod templates, the list replaces the matrix.
_MOST_COLUMNS = 3
_MIN_WIDTH = 40
# The narrowest column that wraps.
_NARROWEST = 12
_GAP = "  "
_SHOWN_PODS = 3
# What a Rollout reports in an ordinary canary.
_NO_PROBLEMS = ("Paused: ", "Progressing: ", "Healthy: ")
_DOES = Forms("has", "have")
_ALARMS = re.compile(rf"\b({'|'.join(filter(str.isupper, STATES))}|UNKNOWN)\b")
_ALARM = rf"{RED}\1{END}"
_GRACE_MINUTES = int(GRACE.total_seconds() // 60)

Row = Sequence[str]


class _Page(NamedTuple):
    status: Status
    terminal: Terminal

    @property
    def width(self) -> int | None:
        return max(self.terminal.width, _MIN_WIDTH) if self.terminal.width else None

    def lines(self, text: str, colour: str = "") -> Iterator[str]:
        for line in wrap(visible(text), self.width, "", _GAP):
            yield f"{colour}{line}{END}" if colour and self.terminal.is_coloured else line

    def table(
        self, rows: Sequence[Row], right: Sequence[int] = (), *, has_head: bool = False
    ) -> Iterator[str]:
        """Rows as lines. Cells wrap if the page is too narrow.

        right: the columns to align on the right.
        has_head: whether the first row is bold.
        """
        rows = [[visible(cell) for cell in row] for row in rows]
        natural = [max(map(columns_of, column)) for column in zip(*rows, strict=True)]
        widths = _fitting(natural, self)
        for number, row in enumerate(rows):
            cells = [wrap(cell, width, "", "") for cell, width in zip(row, widths, strict=True)]
            for parts in zip_longest(*cells, fillvalue=""):
                padded = (
                    _padded(part, width, is_right=index in right)
                    for index, (part, width) in enumerate(zip(parts, widths, strict=True))
                )
                line = _GAP.join(padded).rstrip()
                if self.terminal.is_coloured:
                    is_head = has_head and not number
                    line = f"{BOLD}{line}{END}" if is_head else _ALARMS.sub(_ALARM, line)
                yield line


def _fitting(widths: list[int], page: _Page) -> list[int]:
    """The widths of columns, of which the widest are reduced until the table fits on the page."""
    if page.width is None:
        return widths
    room = page.width - len(_GAP) * (len(widths) - 1)
    for limit in range(max(widths), _NARROWEST, -1):
        if sum(widths) <= room:
            break
        widths = [min(width, limit) for width in widths]
    return widths


def _padded(text: str, width: int, *, is_right: bool) -> str:
    spaces = " " * max(0, width - columns_of(text))
    return spaces + text if is_right else text + spaces


class TextReporter(Reporter):
    """The text for a terminal."""

    file_suffix = "txt"

    def render(self, status: Status, terminal: Terminal) -> str:
        """A status as text."""
        page = _Page(status, terminal)
        return "".join(f"{line}\n" for line in _lines(page))


def _lines(page: _Page) -> Iterator[str]:
    status = page.status
    yield from _problems(page)
    running = list(_running(page))
    yield from running
    if status.is_old:
        yield from page.lines(
            f"The newest time in the file is {status.now.strftime(TIME_FORMAT)}. Ages count until "
            "this time, so if the file is newer, the objects are older."
        )
    if status.problems or running or status.is_old:
        yield ""
    if not status.workloads:
        yield from _list(page, status.revisions)
    for number, item in enumerate(status.workloads):
        if number:
            yield ""
        yield from _workload(page, item)
    yield from _unused(page)
    if status.revisions:
        yield ""
        yield from page.lines(_summary(status))
    for note in status.notes:
        yield from page.lines(note)
    if status.diff_command and status.key_counts:
        yield from page.lines(f"To see the values that differ: {status.diff_command}")
    for workload, preview in status.differences:
        yield from _difference(page, workload, preview)


def _problems(page: _Page) -> Iterator[str]:
    for problem in page.status.problems:
        yield from page.lines(f"error: {sentences(problem.problem, problem.fix)}", RED)


def _running(page: _Page) -> Iterator[str]:
    """The Jobs that delete revisions now, and how to stop them."""
    for run in page.status.runs:
        count = sum(item.is_deleted and bool(item.job) for item in run.outcomes.values())
        if count:
            # A Job of Argo CD has a finalizer, so its Pod would outlive a deletion of the Job.
            yield from page.lines(
                f"Job/{run.running_job} {_runs(page.status)}, and deletes "
                f"{counted(count, 'revision')}. To stop it: kubectl annotate configmap,secret "
                f"--namespace {page.status.namespace} -l {GROUP_LABEL}={run.group_name} "
                f"--overwrite {PRUNE_ANNOTATION}=false"
            )


# ---------------------------------------------------------------------------- the list of revisions


def _list(page: _Page, revisions: Iterable[RevisionStatus]) -> Iterator[str]:
    rows: list[Row] = [("GROUP", "BASE NAME", "REVISION", "AGE", "USED BY", "PODS", "STATE")]
    before: tuple[str, ...] = ("", "")
    for revision in revisions:
        group = revision.group_name or "-"
        kind = "" if revision.ref[0] == "configmap" else "Secret/"
        names = group, f"{kind}{revision.base_name}"
        shown = ("", "") if names == before else ("" if group == before[0] else group, names[1])
        before = names
        age = age_text(revision.created, page.status.now)
        users = [(user.title, _count(user)) for user in revision.users] or [("-", "-")]
        rows.append((*shown, suffix_of(revision), age, *users[0], _state(revision)))
        rows += [("", "", "", "", *user, "") for user in users[1:]]
    if len(rows) > 1:
        yield from page.table(rows, right=(3, 5), has_head=True)
    else:
        where = page.status.namespace
        yield from page.lines(
            f"Namespace {where} has no revision of postrender. Check --namespace."
        )


def _count(user: User) -> str:
    unknown = "-" if user.is_known else "?"
    return unknown if user.pods is None else str(user.pods)


def _state(revision: RevisionStatus) -> str:
    outcome = revision.if_met if revision.condition else revision.outcome
    if revision.state == UNKNOWN and revision.users:
        return revision.state.upper()
    if revision.state == UNUSED and outcome and outcome.stays:
        return "stays"
    return revision.state


def suffix_of(revision: RevisionStatus) -> str:
    """The part of a revision's name after the base name, such as the hash."""
    name = revision.ref[1]
    if name == revision.base_name:
        return "original"
    return name.removeprefix(f"{revision.base_name}-")


# ------------------------------------------------------------------------- the matrix of a workload


def _workload(page: _Page, workload: Workload) -> Iterator[str]:
    by_ref = {revision.ref: revision for revision in page.status.revisions}
    group = f" of group {workload.group_name}" if workload.group_name else ""
    head = f"{workload.consumer}{group}"
    yield from page.lines(f"{head}: {workload.progress}" if workload.progress else head)
    problems = workload.consumer.status_problems
    if problems and not problems.startswith(_NO_PROBLEMS):
        yield from page.lines(problems)
    yield ""
    columns = workload.columns
    shown = {ref for template in columns for ref in template.consumer.references}
    if len(columns) > _MOST_COLUMNS:
        yield from _list(page, _of_workload(page, workload))
        return
    yield from page.table(list(_matrix(page, columns, by_ref)), has_head=True)
    if workload.unread:
        lack = "not in the file" if page.status.is_file else "not readable"
        is_unknown = any(template.desired is None for template in columns)
        shown_by = "The pods are unknown" if is_unknown else "The columns show only running pods"
        yield from page.lines(f"{shown_by}, because {workload.unread} are {lack}.")
    starts = workload.old_starts
    if starts:
        now = page.status.now
        names = [f"{name} ({age_text(started, now)} ago)" for _, name, started in starts]
        more = f" and {len(names) - _SHOWN_PODS:,} more" if len(names) > _SHOWN_PODS else ""
        yield from page.lines(
            f"Started while {columns[-1].role} pods ran, with the {starts[0][0]} revisions: "
            f"{', '.join(names[:_SHOWN_PODS])}{more}"
        )
    older = [item for item in _of_workload(page, workload) if item.ref not in shown]
    if older:
        yield ""
        yield from page.lines("Other revisions, and why they exist")
        yield from page.table(
            [
                (item.ref[1], age_text(item.created, page.status.now), _why(item, page.status))
                for item in older
            ]
        )


def _of_workload(page: _Page, workload: Workload) -> list[RevisionStatus]:
    """The revisions with a base name that a pod template of a workload uses."""
    known = {revision.ref: revision for revision in page.status.revisions}
    bases = {
        (ref[0], known[ref].base_name)
        for consumer in (*(item.consumer for item in workload.templates), workload.consumer)
        for ref in consumer.references
        if ref in known
    }
    return [
        revision
        for revision in page.status.revisions
        if (revision.ref[0], revision.base_name) in bases
        and revision.group_name in ("", workload.group_name)
    ]


def _matrix(
    page: _Page, columns: Sequence[Template], known: dict[RevisionRef, RevisionStatus]
) -> Iterator[Row]:
    yield ("", *(template.role.upper() for template in columns), "")
    yield (_label_title(columns), *(template.label for template in columns), "")
    yield ("pods", *(_pods(template, page.status.now) for template in columns), "")
    images: defaultdict[str, dict[int, str]] = defaultdict(dict)
    rows: defaultdict[tuple[str, str], dict[int, RevisionRef]] = defaultdict(dict)
    for number, template in enumerate(columns):
        for container, image in template.images:
            images[container][number] = image
        for ref in sorted(template.consumer.references):
            if ref in known:
                rows[ref[0], known[ref].base_name][number] = ref
    numbers = range(len(columns))
    for container, by_number in images.items():
        cells = _short_images([by_number.get(number, "-") for number in numbers])
        yield (f"image {container}", *cells, "differs" if len(set(cells)) > 1 else "")
    for (kind, base_name), refs in sorted(rows.items(), key=lambda item: item[0]):
        cells = [_cell(refs.get(number), known) for number in numbers]
        name = base_name if kind == "configmap" else f"Secret/{base_name}"
        yield (name, *cells, _differs(refs, numbers, page.status))


def _label_title(columns: Sequence[Template]) -> str:
    resource, *others = {template.consumer.resource for template in columns}
    if resource in (REPLICA_SETS, CONTROLLER_REVISIONS) and not others:
        return resource.kind
    is_named = all(template.label == template.consumer.name for template in columns)
    return "object" if is_named and not others else "template"


def _pods(template: Template, now: datetime) -> str:
    age = age_text(template.created, now)
    if template.desired is None:
        return f"unknown, {age}"
    count = f"{template.ready} of {template.desired} ready" if template.desired else "0 pods"
    return f"{count}, {age}"


def _short_images(images: Sequence[str]) -> list[str]:
    """Images without registry and path, unless only these differ."""
    parts = (image.rpartition("/")[2].partition("@") for image in images)
    short = [f"{name}{at}{digest[:19]}" for name, at, digest in parts]
    return short if len(set(short)) == len(set(images)) else list(images)


def _cell(ref: RevisionRef | None, known: dict[RevisionRef, RevisionStatus]) -> str:
    if ref is None:
        return "-"
    revision = known[ref]
    state = _state(revision)
    return f"{suffix_of(revision)} {state}" if state.isupper() else suffix_of(revision)


def _differs(refs: dict[int, RevisionRef], numbers: range, status: Status) -> str:
    distinct = list(dict.fromkeys(refs.get(number) for number in numbers))
    if len(distinct) < 2:
        return ""
    old, new = distinct[0], distinct[-1]
    count = status.key_counts.get((old, new)) if old and new else None
    return f"differs ({counted(count, 'key')})" if count else "differs"


def _why(revision: RevisionStatus, status: Status) -> str:
    if revision.state == MISSING:
        return "MISSING: " + conjoined([user.title for user in revision.users])
    if revision.users:
        users = [
            f"{user.title}, for a rollback" if _is_for_rollback(user) else user.title
            for user in revision.users[:_SHOWN_PODS]
        ]
        rest = len(revision.users) - len(users)
        state = f"{_state(revision)}: " if _state(revision).isupper() else ""
        return state + "; ".join([*users, *([f"{rest:,} more"] if rest else [])])
    return describe_unused(revision, status)


def _is_for_rollback(user: User) -> bool:
    """Whether a user is a ReplicaSet or ControllerRevision without Pods."""
    kind, _, _ = user.title.partition("/")
    return user.pods == 0 and kind in (REPLICA_SETS.kind, CONTROLLER_REVISIONS.kind)


# ------------------------------------------------------------------------------ unused revisions


def describe_unused(revision: RevisionStatus, status: Status) -> str:
    """Why a revision without a user still exists, and what the next run of the attacher does."""
    live, outcome = revision.revision, revision.outcome
    if live and live.is_deleting:
        return "Kubernetes is deleting it"
    mark = parse_time((live.unused_since if live else None) or "")
    since = f"unused since {_time(mark, status)}, " if mark else ""
    if revision.condition:
        is_known = not (revision.if_met and revision.if_met.unknown)
        start = f"{revision.condition}, " if is_known else "no user found, "
        return f"{since}{start}{_fate(revision.if_met, status)}"
    if revision.state == UNKNOWN:
        return f"{since}no user found, but some kinds were not read"
    return f"{since or 'unused, '}{_fate(outcome, status)}"


def _fate(outcome: Outcome | None, status: Status) -> str:
    """What the next run does with an unused revision."""
    if outcome and outcome.unknown:
        return f"unknown what the next run does, because {outcome.unknown}"
    if outcome is None or not outcome.is_unused:
        return "no attacher looks after it"
    run = "the next run"
    if outcome.job:
        run = f"Job/{outcome.job}, which {_runs(status)},"
    if outcome.is_deleted:
        return f"{run} deletes it"
    if outcome.mark and not outcome.keep_reason:
        return f"{run} marks it, and a run {_GRACE_MINUTES} minutes later deletes it"
    if outcome.deletable_from and not outcome.mark:
        whole = outcome.deletable_from + timedelta(seconds=59)  # a time is shown without seconds
        return f"a run after {_time(whole, status)} deletes it"
    verb = "marks and keeps" if outcome.mark else "keeps"
    return f"{run} {verb} it, because {outcome.keep_reason}"


def _runs(status: Status) -> str:
    return "ran when the file was written" if status.is_file else "runs now"


def _time(time: datetime, status: Status) -> str:
    """A time for a sentence, without the date if it is today."""
    is_today = time.date() == status.now.date() and not status.is_old
    return f"{time:%H:%M} UTC" if is_today else f"{time:%Y-%m-%d %H:%M} UTC"


def _unused(page: _Page) -> Iterator[str]:
    """The next runs: for a list, what they do with each unused revision, and what this assumes."""
    status = page.status
    unused = [item for item in status.revisions if item.revision and not item.users]
    if not unused:
        return
    if not status.workloads:
        yield ""
        yield from page.lines("Unused revisions, and what the next run of the attacher does")
        yield from page.table([(title(item.ref), describe_unused(item, status)) for item in unused])
    uids = {item.revision.uid for item in unused if item.revision and item.state != UNKNOWN}
    runs = [run for run in status.runs if not uids.isdisjoint(run.outcomes)]
    if runs:
        yield ""
    for run in runs:
        basis = f"this assumes the workloads and revisions that {run.source} names."
        if not run.source:
            basis = f"{run.reason}, so this assumes that the next release has the live workloads."
        running = f" Job/{run.running_job} {_runs(status)}." if run.running_job else ""
        waits = f" It would first wait: {'; '.join(run.waits)}." if run.waits else ""
        yield from page.lines(f"For {run.group_name}, {basis}{waits}{running}")
    if runs:
        yield from page.lines("A release that contains a revision again keeps it.")


# ------------------------------------------------------------------------------ the last lines


def _summary(status: Status) -> str:
    used = [item for item in status.revisions if item.users and item.revision]
    owned = sum(any(exists for _, exists in item.owners) for item in used)
    counts = dict.fromkeys((MISSING, LOST, NO_OWNER, EDITED, UNUSED, UNKNOWN), 0)
    for item in status.revisions:
        counts[item.state] = counts.get(item.state, 0) + 1
    have = f"{owned} of {counted(len(used), 'revision')} in use {_DOES.of(owned)} owners."
    if not used:
        have = "No object uses a revision."
        if counts[MISSING]:
            have = "No revision in use exists."
        elif _is_incomplete(status):
            have = "No user found."
    broken = [f"{counts[state]} {state}" for state in counts if state.isupper() and counts[state]]
    has_secrets = any(item.ref[0] == "secret" and item.revision for item in status.revisions)
    secrets = " Secrets are not checked for edits." if has_secrets else ""
    found = "No revision in the lists that status could read is missing or edited."
    clear = found if _is_incomplete(status) else "No revision is missing or edited."
    state = f" {conjoined(broken)}." if broken else f" {clear}"
    state += secrets
    if status.workloads:
        return have + state
    groups = len({item.group_name for item in status.revisions if item.group_name})
    rollback = sum(bool(item.users) and all(map(_is_for_rollback, item.users)) for item in used)
    parts = [f"{len(used) - rollback} used"]
    parts += [f"{rollback} for rollbacks"] if rollback or not status.unreadable else []
    parts += [f"{counts[state]} {state}" for state in (UNUSED, UNKNOWN) if counts[state]]
    total = counted(len(status.revisions), "revision")
    return f"{counted(groups, 'group')}, {total}: {', '.join(parts)}. {have}{state}"


def _is_incomplete(status: Status) -> bool:
    """Whether a missing revision, or a user, can be in a list that could not be read."""
    return bool(status.unreadable) or any(
        item.state == UNKNOWN and item.users for item in status.revisions
    )


def _difference(page: _Page, workload: str, preview: Preview) -> Iterator[str]:
    yield ""
    if preview.old == preview.new:
        yield from page.lines(f"{workload} has one pod template, so there is nothing to compare.")
    elif not preview.contents:
        yield from page.lines(f"{preview.old} and {preview.new} use the same revisions.")
    else:
        yield from diff_text.TextReporter().render(preview, page.terminal).splitlines()
