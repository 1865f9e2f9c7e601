"""A workload, its pod templates with their roles, and the Pods of each template."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from postrender.attach.live import Consumer
from postrender.attach.request import (
    BY_KIND,
    EXPERIMENTS,
    HISTORY_KINDS,
    JOBS,
    PODS,
    REPLICA_SETS,
    ROLLOUTS,
)
from postrender.records import NamedTuple
from postrender.status.model import (
    ACTIVE,
    CANARY,
    CURRENT,
    EARLIER,
    EXPERIMENT,
    NEWEST,
    OLD,
    PREVIEW,
    RUN,
    STABLE,
    Template,
    Workload,
)
from postrender.status.snapshot import Snapshot
from postrender.yaml.paths import Json

# The roles in the order of the columns.
_ORDER = (EARLIER, OLD, STABLE, ACTIVE, CURRENT, RUN, EXPERIMENT, PREVIEW, CANARY, NEWEST)
# The kind of the objects between a workload and its Pods.
_BETWEEN = {**HISTORY_KINDS, BY_KIND["CronJob"]: JOBS, EXPERIMENTS: REPLICA_SETS}
_OLD_ROLES, _NEW_ROLES = (OLD, STABLE, ACTIVE), (NEWEST, CANARY, PREVIEW)
# The fields of Facts.rollout with the hash of a pod template, and the role of the template.
_CANARY = (("stable", STABLE), ("current", CANARY))
_BLUE_GREEN = (("active", ACTIVE), ("preview", PREVIEW), ("current", PREVIEW))


class _Entry(NamedTuple):
    """An object with a pod template, and the Pods that have the template."""

    consumer: Consumer
    pods: Sequence[Consumer]
    role: str = ""


def read_workload(snapshot: Snapshot, consumer: Consumer) -> Workload:
    """A workload with its pod templates."""
    entries = list(_entries(snapshot, consumer))
    if all(entry.role == EARLIER for entry in entries):
        entries.append(_Entry(consumer, (), CURRENT))
    templates = sorted((_template(snapshot, entry) for entry in entries), key=_sort_key)
    between, unreadable = _BETWEEN.get(consumer.resource), snapshot.overview.unreadable
    unread = between if between in unreadable else None
    if PODS in unreadable and any(template.desired is None for template in templates):
        unread = unread or PODS
    return Workload(
        consumer=consumer,
        group_name=snapshot.overview.group_of(consumer),
        progress=_progress(snapshot, consumer, templates),
        templates=tuple(templates),
        old_starts=tuple(_old_starts(snapshot, entries)),
        unread=unread.plural if unread else "",
    )


def _sort_key(template: Template) -> tuple[int, str, str]:
    created = template.created.isoformat() if template.created else ""
    return _ORDER.index(template.role), created, template.label


def _entries(snapshot: Snapshot, workload: Consumer) -> Iterator[_Entry]:
    overview = snapshot.overview
    history_kind = HISTORY_KINDS.get(workload.resource)
    if history_kind:
        yield from _history(snapshot, workload, overview.under(workload, history_kind))
    for experiment in [workload, *overview.under(workload, EXPERIMENTS)]:
        if experiment.resource == EXPERIMENTS:
            for item in overview.under(experiment, REPLICA_SETS):
                yield _Entry(item, _pods(snapshot, item), EXPERIMENT)
    if workload.resource == PODS:
        yield _Entry(workload, [workload], CURRENT)
    elif not history_kind and workload.resource != EXPERIMENTS:
        for job in overview.under(workload, JOBS):
            pods = _pods(snapshot, job)
            yield _Entry(job, pods, RUN if pods else EARLIER)
        yield _Entry(workload, _pods(snapshot, workload), CURRENT)


def _history(
    snapshot: Snapshot, workload: Consumer, history: Sequence[Consumer]
) -> Iterator[_Entry]:
    """The ReplicaSets or ControllerRevisions of a workload, and the Pods of unknown ones."""
    pods = _pods_by_hash(snapshot, workload)
    facts = snapshot.facts
    entries = []
    for item in history:
        is_replica_set = item.resource == REPLICA_SETS
        own = _pods(snapshot, item) if is_replica_set else pods.pop(item.name, ())
        entries.append(_Entry(item, own))
    entries += [_Entry(group[0], group) for group in pods.values()]
    if workload.resource == ROLLOUTS:
        rollout = facts[workload.uid].rollout
        fields = _BLUE_GREEN if rollout.get("isBlueGreen") else _CANARY
        roles = {rollout[field]: role for field, role in reversed(fields) if rollout.get(field)}
        hashes = {key for entry in entries for key in facts[entry.consumer.uid].hashes}
        current = rollout.get("current")
        if entries and not history and current not in hashes:
            yield _Entry(workload, (), roles.get(str(current), CANARY))
        for entry in entries:
            keys = facts[entry.consumer.uid].hashes
            role = next((roles[key] for key in keys if key in roles), "")
            yield entry._replace(role=role or (OLD if _has_pods(snapshot, entry) else EARLIER))
        return
    newest = max((facts[item.uid].number for item in history), default=0)

    def is_newest(entry: _Entry) -> bool:
        if entry.consumer.resource == PODS:
            return not history and _has_template_of(snapshot, entry.consumer, workload)
        return entry.consumer == workload or facts[entry.consumer.uid].number == newest

    if entries and not any(map(is_newest, entries)):
        entries.append(_Entry(workload, ()))
    has_old = any(_has_pods(snapshot, entry) for entry in entries if not is_newest(entry))
    for entry in entries:
        if is_newest(entry):
            yield entry._replace(role=NEWEST if has_old else CURRENT)
        else:
            yield entry._replace(role=OLD if _has_pods(snapshot, entry) else EARLIER)


def _has_template_of(snapshot: Snapshot, pod: Consumer, workload: Consumer) -> bool:
    """Whether a Pod can have the current template. An admission webhook can add containers."""
    source = snapshot.overview.source_of(workload) or workload
    images, expected = (set(snapshot.facts[item.uid].images) for item in (pod, source))
    return source.references <= pod.references and expected <= images


def _has_pods(snapshot: Snapshot, entry: _Entry) -> bool:
    return bool(entry.pods or snapshot.facts[entry.consumer.uid].replicas)


def _pods(snapshot: Snapshot, controller: Consumer) -> list[Consumer]:
    """The Pods that a controller counts: those that have not ended, and are not being deleted."""
    return [
        pod
        for pod in snapshot.overview.under(controller, PODS)
        if not pod.is_deleting and not snapshot.facts[pod.uid].is_ended
    ]


def _pods_by_hash(snapshot: Snapshot, workload: Consumer) -> dict[str, list[Consumer]]:
    """The Pods directly below a workload, by the name of their ReplicaSet or ControllerRevision.

    The label of a StatefulSet's Pod is the whole name, and that of another Pod only the hash.
    """
    found: dict[str, list[Consumer]] = {}
    start = f"{workload.name}-"
    for pod in _pods(snapshot, workload):
        label = "".join(snapshot.facts[pod.uid].hashes[:1])
        found.setdefault(start + label.removeprefix(start), []).append(pod)
    return found


def _template(snapshot: Snapshot, entry: _Entry) -> Template:
    consumer, pods, role = entry
    facts = snapshot.facts[consumer.uid]
    is_of_history = consumer.resource == PODS and role != CURRENT
    has_hash = (consumer.resource == REPLICA_SETS or is_of_history) and facts.hashes
    ready, desired = _counts(snapshot, entry)
    return Template(
        consumer=consumer,
        role=role,
        label=facts.hashes[0] if has_hash else consumer.name,
        created=facts.created,
        pods=tuple(pod.name for pod in pods),
        ready=ready,
        desired=desired,
        images=facts.images,
    )


def _counts(snapshot: Snapshot, entry: _Entry) -> tuple[int | None, int | None]:
    """How many Pods are ready, and should be, as far as the lists show."""
    consumer, pods, _ = entry
    unreadable, facts = snapshot.overview.unreadable, snapshot.facts[entry.consumer.uid]
    if _BETWEEN.get(consumer.resource) in unreadable and not pods:
        return (0, 0) if _pods(snapshot, consumer) else (None, None)
    if PODS in unreadable:
        return (None, None) if facts.replicas is None else (facts.ready, facts.replicas)
    ready = sum(snapshot.facts[pod.uid].ready for pod in pods)
    return ready, max(facts.replicas or 0, len(pods))


def _old_starts(
    snapshot: Snapshot, entries: Sequence[_Entry]
) -> Iterator[tuple[str, str, datetime]]:
    """The Pods with an old template that started after a Pod with the new one.

    The oldest live Pod with the new template counts, not its ReplicaSet, because a controller can
    reuse an old ReplicaSet.
    """
    starts = [
        (entry.role, pod.name, snapshot.facts[pod.uid].created)
        for entry in entries
        for pod in entry.pods
    ]
    new = [created for role, _, created in starts if role in _NEW_ROLES and created]
    for role, name, created in starts:
        if role in _OLD_ROLES and new and created and created > min(new):
            yield role, name, created


def _progress(snapshot: Snapshot, workload: Consumer, templates: Iterable[Template]) -> str:
    if workload.is_deleting:
        return "being deleted"
    if workload.resource == ROLLOUTS:
        return _rollout_progress(snapshot.facts[workload.uid].rollout)
    if workload.is_paused:
        return "paused"
    if all(template.role != OLD for template in templates):
        return ""
    rollout = snapshot.facts[workload.uid].rollout
    if rollout.get("isOnDelete"):
        return "OnDelete, so a pod gets the new revisions only when you delete the pod"
    partition = rollout.get("partition")
    return f"rolling update, partition {partition}" if partition else "rolling update"


def _rollout_progress(rollout: dict[str, Json]) -> str:
    phase = "aborted" if rollout.get("isAborted") else str(rollout.get("phase") or "").lower()
    if rollout.get("isBlueGreen"):
        return f"blue-green {phase}".strip()
    if rollout.get("stable") == rollout.get("current"):
        return phase
    step, steps, weight = (rollout.get(key) for key in ("step", "steps", "weight"))
    where = f" at step {step} of {steps}" if steps and step is not None else ""
    is_running = weight is not None and phase != "aborted"
    return f"canary {phase}{where}{f', weight {weight} %' if is_running else ''}"
