"""All pods of a workload stop at the same time, or before new pods are ready.

- The strategy is `Recreate`, or `maxUnavailable` is 100 % or all of several replicas.
- The replicas go to 0, or leave the manifest: `kubectl apply` and Helm then set 1, also
  with an autoscaler.
- The kind of a workload changes, such as from Deployment to Rollout.
- A revision loses all owners and is deleted.

Source: the Deployment and DaemonSet controllers and the garbage collector of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.kinds import template_path
from postrender.diff.model import ENDS, ROLLS, STARTS, Risk
from postrender.diff.risks import Facts
from postrender.text import conjoined
from postrender.yaml.paths import Json, mapping_at, value_at

_LOST = "Kubernetes deletes the revision while pods use it. A pod that restarts cannot start"


def find(facts: Facts) -> Iterator[Risk]:
    rolls = {workload.identity for workload in facts.workloads if workload.effect == ROLLS}
    for pair in facts.pairs:
        if pair.old and pair.new and pair.identity in rolls:
            fact = _stops_all(mapping_at(pair.new.data, ("spec",)))
            if fact:
                consequence = "All pods stop at once, before new pods are ready"
                yield Risk(pair.identity, fact, consequence)
    yield from _fewer(facts)
    yield from _kind_changes(facts)
    for revision in facts.revisions:
        if revision.lost_owners:
            fact = (
                f"the change deletes all owners of a revision ({conjoined(revision.lost_owners)})"
            )
            yield Risk(revision.identity, fact, _LOST)


def _stops_all(spec: dict[str, Json]) -> str:
    if value_at(spec, ("strategy", "type")) == "Recreate":
        return "the workload rolls with the strategy Recreate"
    canary, replicas = mapping_at(spec, ("strategy", "canary")), spec.get("replicas")
    for around in (
        mapping_at(spec, ("strategy", "rollingUpdate")),
        mapping_at(spec, ("updateStrategy", "rollingUpdate")),
        {} if canary.get("steps") else canary,  # with steps, it replaces only the pods of each step
    ):
        most = around.get("maxUnavailable")
        if most == "100%":
            return "the workload rolls with a maxUnavailable of 100%"
        if isinstance(most, int) and isinstance(replicas, int) and 1 < replicas <= most:
            return f"the workload rolls with a maxUnavailable of {most} of {replicas} replicas"
    return ""


def _fewer(facts: Facts) -> Iterator[Risk]:
    path = ("spec", "replicas")
    for identity, *sides in facts.changed(*path):
        before, after = (value_at(data, path) for data in sides)
        if not isinstance(before, int) or template_path(identity.group_kind) is None:
            continue
        if before > 1 and after is None:
            fact = f"the replicas go from {before} to the default, 1"
            consequence = "The other pods stop at once, also if an autoscaler starts them again"
            yield Risk(identity, fact, consequence, ".".join(path))
        elif before and after == 0:
            fact = f"the replicas go from {before} to 0"
            yield Risk(identity, fact, "All pods stop", ".".join(path))


def _kind_changes(facts: Facts) -> Iterator[Risk]:
    namespace_of = facts.both.resolver.namespace_of
    added = {
        (namespace_of(workload.identity.namespace), workload.identity.name): workload
        for workload in facts.workloads
        if workload.effect == STARTS
    }
    for workload in facts.workloads:
        if workload.effect != ENDS or template_path(workload.identity.group_kind) is None:
            continue
        key = namespace_of(workload.identity.namespace), workload.identity.name
        other = added.get(key)
        if other and other.identity.group_kind != workload.identity.group_kind:
            fact = f"the workload is replaced by a {other.identity.kind} of the same name"
            consequence = "All its pods are deleted, whether or not the new pods are ready"
            yield Risk(workload.identity, fact, consequence)
