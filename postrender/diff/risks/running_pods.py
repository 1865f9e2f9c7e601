"""Risks for pods that run: they stop, restart, read new content, block drains, or do not scale."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from math import inf

from postrender.config.settings import IGNORE
from postrender.diff.kinds import SCALERS, scaled_by, template_path
from postrender.diff.model import CHANGED, CONFIG, ENDS, ROLLS, STARTS, UNCHANGED, Preview, Risk
from postrender.diff.risks.connections import LabelIndex, pod_labels, words_of
from postrender.diff.risks.facts import Facts, Object
from postrender.kubernetes.kinds import ROLLOUT, Identity
from postrender.plan.readers import find_reloads
from postrender.text import conjoined
from postrender.yaml.paths import Json, mapping_at, mappings_in, parts_at, value_at

_LOST = "Kubernetes deletes the revision while pods use it. A pod that restarts cannot start"


def find_pods_stop(facts: Facts) -> Iterator[Risk]:
    """All pods of a workload stop at the same time, or before new pods are ready.

    - The strategy is `Recreate`, or `maxUnavailable` is 100 % or all of several replicas.
    - The replicas go to 0, or leave the manifest: `kubectl apply` and Helm then set 1, also
      with an autoscaler.
    - The kind of a workload changes, such as from Deployment to Rollout.
    - A revision loses all owners and is deleted.

    Source: the Deployment and DaemonSet controllers and the garbage collector of Kubernetes.
    """
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
    added = {
        (facts.namespace_of(workload.identity), workload.identity.name): workload
        for workload in facts.workloads
        if workload.effect == STARTS
    }
    for workload in facts.workloads:
        if workload.effect != ENDS or template_path(workload.identity.group_kind) is None:
            continue
        key = facts.namespace_of(workload.identity), workload.identity.name
        other = added.get(key)
        is_finite = workload.identity.kind in _FINITE
        if other and not is_finite and other.identity.group_kind != workload.identity.group_kind:
            fact = f"the workload is replaced by a {other.identity.kind} of the same name"
            consequence = "All its pods are deleted, whether or not the new pods are ready"
            yield Risk(workload.identity, fact, consequence)


# The pods of these kinds end by themselves.
_FINITE = ("Job", "CronJob")
_READ_NOW = (
    "Running pods read the new content now, in mounted files, and otherwise when they restart"
)


def find_in_place(facts: Facts) -> Iterator[Risk]:
    """A ConfigMap that opts out of revisions changes under pods that run.

    With the strategy `ignore`, the ConfigMap keeps its name, so the workload does not roll.
    Running pods read mounted files again within about two minutes: every pod at once, without a
    canary or a way back. A sidecar that reloads is no risk.

    Source: the documentation of mounted ConfigMaps in Kubernetes.
    """
    read = [
        (workload.identity, identity)
        for workload in facts.workloads
        if workload.identity.kind not in _FINITE
        for identity in workload.in_place
    ]
    context = facts.both.new.context if read else None
    reloads = find_reloads(context, context.decisions) if context else {}
    in_place = {target for user, target in read if target not in reloads.get(user, ())}
    for content in facts.contents.values():
        is_fixed = content.identity.group_kind in facts.both.new.inventory.fixed_kinds
        is_changed = content.change == CHANGED and content.identity in in_place
        if is_changed and content.strategy == IGNORE and not is_fixed:
            fact = "the content changes, but the name stays (strategy ignore)"
            yield Risk(content.identity, fact, _READ_NOW)


_RELOADS = (
    "With a revision, each change restarts the pods. To keep the reload, set postrender/strategy: "
    "ignore"
)


def find_lost_reload(facts: Facts) -> Iterator[Risk]:
    """A workload that reloads a file itself gets new pods.

    An example is Prometheus with the sidecar `configmap-reload`. Keep the reload in the
    ConfigMap:

    ```yaml
    metadata: { annotations: { postrender/strategy: ignore } }
    ```
    """
    replaced = {
        pair.identity
        for pair in facts.pairs
        if pair.both and pair.both[1].is_revised and not pair.both[0].is_revised
    }
    new = facts.both.new
    if not (replaced and new.context):
        return
    # The references of an output name the revisions.
    base = {
        revision.item.identity: revision.identity for revision in new.revisions if revision.item
    }
    for user, targets in find_reloads(new.context, new.context.decisions).items():
        for target in dict.fromkeys(base.get(target, target) for target in targets):
            if target in replaced:
                yield Risk(user, f"the workload reloads {target} without a restart", _RELOADS)


_BUDGET = ("PodDisruptionBudget",)
_SCALED = ("Deployment", "StatefulSet", "ReplicaSet", "Rollout")
_WAITS = "The API server refuses to evict the pods, so drains of nodes wait"
_PATHS = (("spec", "replicas"), ("spec", "template", "metadata"))
_LEAST = {"HorizontalPodAutoscaler": "minReplicas", "ScaledObject": "minReplicaCount"}


def find_blocked_eviction(facts: Facts) -> Iterator[Risk]:
    """A PodDisruptionBudget begins to block every eviction, so drains of nodes wait.

    - It has `maxUnavailable: 0`, or a `minAvailable` of all replicas, or of an autoscaler's
      minimum.
    - A second budget selects the same pods.

    Source: `registry/core/pod/rest/eviction.go` of Kubernetes, and its disruption controller.
    """
    words = set(_words(facts))
    if words:
        before, after = (_blocked(facts, words, is_new=is_new) for is_new in (False, True))
        for (identity, path), fact in after.items():
            if (identity, path) not in before:
                yield Risk(identity, fact, _WAITS, path)


def _words(facts: Facts) -> Iterator[str]:
    """Words of which each budget has one that can begin to block."""
    for pair in facts.changes:
        kind, data = pair.identity.kind, pair.new.data if pair.new else {}
        if kind in _BUDGET and data:
            yield from words_of(_selector(data))
        elif kind in _SCALED and any(parts_at(pair.parts, path) != {} for path in _PATHS):
            for labels, _ in pod_labels(pair.identity.group_kind, data):
                yield from labels.values()
        elif kind in SCALERS and data:
            yield scaled_by(data)[1]


def _blocked(
    facts: Facts, words: Collection[str], *, is_new: bool
) -> dict[tuple[Identity, str], str]:
    """Why the budgets of one side refuse evictions, by the budget and the path of the reason."""
    budgets = list(facts.objects(_BUDGET, is_new=is_new, words=words))
    pods = _pods(facts, {word for one in budgets for word in words_of(_selector(one.data))}, is_new)
    found: dict[tuple[Identity, str], str] = {}
    first: dict[Identity, Identity] = {}
    by_selector: dict[tuple[str | None, str], tuple[list[Identity], float]] = {}
    for identity, data in budgets:
        selector, space = _selector(data), facts.namespace_of(identity)
        key = space, repr(selector)
        if key not in by_selector:
            selected, is_all = pods.find(space, selector)
            count = sum(replicas for _, replicas in selected) if is_all else inf
            by_selector[key] = [workload for workload, _ in selected], count
            for workload in by_selector[key][0]:
                first.setdefault(workload, identity)
        workloads, count = by_selector[key]
        path, fact = _reason(mapping_at(data, ("spec",)), count)
        if fact:
            found[identity, path] = fact
        shared = next((workload for workload in workloads if first[workload] != identity), None)
        if shared:
            found[identity, "spec.selector"] = f"{first[shared]} also selects the pods of {shared}"
    return found


def _pods(facts: Facts, words: Collection[str], is_new: bool) -> LabelIndex:
    """The workloads of one side with the numbers of their pods."""
    workloads = list(facts.objects(_SCALED, is_new=is_new, words=words)) if words else []
    names = {one.identity.name for one in workloads}
    least = {
        target: value_at(item.data, ("spec", _LEAST[item.identity.kind]))
        for item, target in (facts.scalers(names, is_new=is_new) if names else ())
    }
    found = LabelIndex()
    for identity, data in workloads:
        space = facts.namespace_of(identity)
        replicas = value_at(data, ("spec", "replicas"))
        replicas = least.get((space, identity.kind, identity.name), replicas)
        for labels, _ in pod_labels(identity.group_kind, data):
            found.add(space, labels, (identity, replicas if isinstance(replicas, int) else 1))
    return found


def _selector(budget: dict[str, Json]) -> dict[str, Json]:
    return mapping_at(budget, ("spec", "selector"))


def _reason(spec: dict[str, Json], pods: float) -> tuple[str, str]:
    """The path and the fact of a budget that leaves no pod to evict; "" for any other."""
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if pods and least == "100%":
        return "spec.minAvailable", "minAvailable is 100%"
    if pods and isinstance(least, int) and least >= pods:
        return "spec.minAvailable", f"minAvailable is {least}, and there are {pods} replicas"
    if pods and most in (0, "0%"):
        return "spec.maxUnavailable", f"maxUnavailable is {most}"
    return "", ""


_AMBIGUOUS = "Autoscalers of the same pods do not scale (AmbiguousSelector)"


def find_shared_claim(facts: Facts) -> Iterator[Risk]:
    """Pods begin to share a claim that one pod, or one node, can use.

    Source: the scheduler (VolumeRestrictions) and the attach controller of Kubernetes.
    """
    begun: dict[tuple[str | None, str], list[tuple[Identity, str]]] = defaultdict(list)
    for pair in facts.changes:
        if pair.new and pair.identity.group_kind in _SHARING:
            before = _shared(pair.old.data) if pair.old else {}
            for name, reason in _shared(pair.new.data, is_new=not pair.old).items():
                if name not in before:
                    place = facts.namespace_of(pair.identity), name
                    begun[place].append((pair.identity, reason))
    names = {name for _, name in begun}
    for claim in (
        facts.objects(("PersistentVolumeClaim",), is_new=True, words=names) if begun else ()
    ):
        modes = value_at(claim.data, ("spec", "accessModes"))
        only = {str(mode) for mode in modes} if isinstance(modes, list) else set()
        mode = only.pop() if len(only) == 1 else ""
        place = facts.namespace_of(claim.identity), claim.identity.name
        for identity, reason in begun.get(place, ()) if mode in _MODES else ():
            yield Risk(identity, f"{reason} {claim.identity} ({mode})", _MODES[mode])


_SHARING = (("apps", "Deployment"), ("apps", "StatefulSet"), ROLLOUT)
_MODES = {
    "ReadWriteOncePod": "The second pod does not start before the first pod is gone",
    "ReadWriteOnce": "On another node, the second pod does not start before the first is gone",
}


def _shared(data: dict[str, Json], *, is_new: bool = False) -> dict[str, str]:
    """The claims that two pods of a workload use at once, each with the reason.

    is_new: whether the workload has no pods yet, so that no rollout is under way.
    """
    spec, reason = mapping_at(data, ("spec",)), ""
    replicas = 1 if spec.get("replicas") is None else spec["replicas"]
    if isinstance(replicas, int) and replicas > 1:
        reason = f"the {replicas} replicas use"
    elif replicas == 1 and not is_new and data.get("kind") != "StatefulSet" and _surges(spec):
        reason = "a rollout starts a new pod first, and both pods use"
    volumes = mappings_in(value_at(spec, ("template", "spec", "volumes"))) if reason else ()
    claims = (value_at(volume, ("persistentVolumeClaim", "claimName")) for volume in volumes)
    return {str(name): reason for name in claims if name}


def _surges(spec: dict[str, Json]) -> bool:
    """Whether a rollout of one replica starts the new pod before it stops the old one."""
    strategy = mapping_at(spec, ("strategy",))
    rolling = mapping_at(strategy, ("rollingUpdate",)) or mapping_at(strategy, ("canary",))
    most = rolling.get("maxUnavailable")  # a percentage of one pod is rounded down
    makes_room = most == "100%" or (isinstance(most, int) and most > 0)
    is_surge = rolling.get("maxSurge") not in (0, "0", "0%")
    return is_surge and not makes_room and strategy.get("type") != "Recreate"


def find_two_autoscalers(facts: Facts) -> Iterator[Risk]:
    """A second autoscaler, also of KEDA, targets a workload, so neither scales.

    Source: the horizontal controller of Kubernetes 1.27 and later.
    """

    def target(scaler: Object) -> set[tuple[str, ...]]:
        return {(facts.namespace_of(scaler.identity) or "", *scaled_by(scaler.data))}

    for identity, first, (_, kind, name) in facts.shared(SCALERS, target):
        fact = f"{first} also scales {kind}/{name}"
        yield Risk(identity, fact, _AMBIGUOUS, "spec.scaleTargetRef")


_VALUES = (
    "two equal renders of the chart differ here",
    "A value is random, or contains the time. Each helm upgrade changes the value, except if the "
    "chart keeps the value with lookup. Argo CD changes the value each time it renders the chart",
)
_TEMPLATES = (
    "two equal renders of the chart have different pod templates",
    "Each helm upgrade, and each render of Argo CD, then starts new pods",
)


def find_unstable_render(preview: Preview) -> Iterator[Risk]:
    """Two renders of a chart differ, so each release starts new pods.

    Only `try` finds this risk: a password from `randAlphaNum`, a certificate from
    `genSignedCert`, a time from `now`.

    - `helm upgrade` makes a new value in each release, unless the chart keeps the first one with
      `lookup`, which `try` does not see.
    - Argo CD does so with each commit, and daily, and the Application is `OutOfSync`.

    Set such a value in a values file, or in a Secret of your own.

    Source: the preview of two renders of one chart with the same values.
    """
    for identity in _changed_objects(preview):
        yield Risk(identity, *_VALUES, code="unstable-render")
    for change in preview.workloads:
        if change.effect == ROLLS:
            yield Risk(change.identity, *_TEMPLATES, code="unstable-render")


def _changed_objects(preview: Preview) -> Iterator[Identity]:
    """The objects that differ themselves, and not only in the name of a revision."""
    for content in preview.contents:
        if content.change != UNCHANGED:
            yield content.identity
    for workload in preview.workloads:
        if workload.fields or any(cause.kind != CONFIG for cause in workload.causes):
            yield workload.identity
    yield from (change.identity for change in preview.objects)
