"""The context of a plan: the decisions from which the plan derives the edits of objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from postrender.config.settings import NOTHING, Settings
from postrender.errors import Finding
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey
from postrender.kubernetes.kinds import Identity, ObjectKey
from postrender.plan.by_name.mentions import Mention
from postrender.plan.history import EarlierRevision
from postrender.plan.links import Link, find_rollouts
from postrender.plan.mounts import Mount
from postrender.plan.namespaces import Resolver
from postrender.plan.strategy import StrategyDecision
from postrender.records import NamedTuple

# The values of RetentionDecision.decision, which `explain --output=json` prints.
RETAIN, LAST_TIME, DROP, REPLACED = "retain", "retain for the last time", "drop", "replaced"


class RetentionDecision(NamedTuple):
    """The decision for one object of earlier outputs, and its reason.

    decision: RETAIN, LAST_TIME (the output has the object without `helm.sh/resource-policy: keep`),
        DROP or REPLACED (the stream has an object with the name of the original).
    current: the key of the object to rename, or of the current revision, with the same base name.
        None if the stream does not have one.
    """

    revision: EarlierRevision
    decision: str
    reason: str
    current: ItemKey | None

    @property
    def is_emitted(self) -> bool:
        return self.decision in (RETAIN, LAST_TIME)


# By workload, the objects that its pod templates use, each with the index of the pod template. The
# index None means all pod templates, because of an auto-mount.
WorkloadTargets = Mapping[ItemKey, Sequence[tuple[int | None, Item]]]


class PlanContext(NamedTuple):
    """The decisions, revision names and references of a stream.

    decisions: the decisions, by ConfigMap or Secret.
    names: the revision name of each object to rename.
    revision_names: also the name of each adopted revision (see StrategyDecision).
    links: the resolved references except pins, by the object that has the reference.
    mounts: the auto-mounts, by workload.
    is_proven: whether a reference proves that an absent namespace means the only explicit
        namespace of the stream (see Link.is_proof).
    read_by_name: the objects that programs read by base name (see the package `by_name`).
    orders: the numbers of the new revisions, by original. Empty if postrender has not read earlier
        outputs.
    retained: the decisions about the objects of earlier outputs.
    repeated: the objects of the input that repeat an earlier object of the input.
    findings: the findings about the input, without those about the output.
    """

    inventory: Inventory
    settings: Settings
    resolver: Resolver
    decisions: Mapping[ItemKey, StrategyDecision]
    names: Mapping[ItemKey, str]
    revision_names: Mapping[ItemKey, str]
    links: Mapping[ItemKey, Sequence[Link]]
    mounts: Mapping[ItemKey, Sequence[Mount]]
    workload_targets: WorkloadTargets
    is_proven: bool
    mentions: Sequence[Mention]
    read_by_name: AbstractSet[ItemKey]
    orders: Mapping[ItemKey, int] = NOTHING
    retained: Sequence[RetentionDecision] = ()
    repeated: frozenset[ItemKey] = frozenset()
    findings: tuple[Finding, ...] = ()

    @property
    def retained_names(self) -> dict[ItemKey, list[str]]:
        """The names of retained revisions, newest first, by RetentionDecision.current."""
        names: dict[ItemKey, list[str]] = defaultdict(list)
        for retained in self.retained:
            if retained.current and retained.is_emitted and not retained.revision.is_original:
                names[retained.current].append(retained.revision.identity.name)
        return names

    @property
    def rollouts(self) -> Mapping[ItemKey, Sequence[Item]]:
        """By rewritable workload, the rewritable Rollouts that use the workload's pod template."""
        return find_rollouts(
            [item for item in self.inventory.items if item.is_rewritable], self.resolver
        )

    @property
    def kept_items(self) -> list[Item]:
        """The ConfigMaps and Secrets of the input that the output has under the same name."""
        return [
            decision.item
            for key, decision in self.decisions.items()
            if key not in self.names or decision.keep_reason
        ]

    def kept_keys(self, names: Iterable[str]) -> set[ObjectKey]:
        """The keys of those `kept_items` with one of the names, which can be originals."""
        wanted = set(names)
        kept = [item for item in self.kept_items if item.identity.name in wanted] if wanted else ()
        return {self.certain_key_of(item.identity) for item in kept}

    @property
    def is_kept_by_annotations(self) -> bool:
        """Whether annotations stop Helm, Argo CD and Flux from deleting the revisions.

        Without an attacher, only the outputs that --previous retains protect the revisions.
        """
        return self.settings.attacher.is_enabled or not self.settings.history.previous

    def certain_namespace(self, written: str | None) -> str | None:
        """The namespace that a written or absent namespace certainly means, else None."""
        if self.is_proven:
            return self.resolver.effective_namespace(written)
        return self.resolver.namespace_of(written)

    def certain_key_of(self, identity: Identity, name: str | None = None) -> ObjectKey:
        """The key of an object, or of its namesake `name`, in its certain namespace."""
        namespace = self.certain_namespace(identity.namespace)
        return ObjectKey(identity.group_kind, namespace, identity.name if name is None else name)

    def targets(self, item: Item, template: int | None = None) -> list[Item]:
        """The ConfigMaps and Secrets that one pod template uses, or all of an object."""
        is_any = template is None or len(item.templates) <= 1
        return [
            target
            for number, target in self.workload_targets.get(item.key, ())
            if is_any or number in (None, template)
        ]

    def revision_of(self, item: Item) -> str:
        return revision_of(item, self.revision_names)

    def base_name_of(self, item: Item) -> str:
        decision = self.decisions.get(item.key)
        return decision.base_name if decision else item.base_name


def revision_of(item: Item, names: Mapping[ItemKey, str]) -> str:
    """The name of an object's revision in the output, "" if the object has none."""
    if item.key in names:
        return names[item.key]
    return item.identity.name if item.is_revision and not item.is_hook else ""


def targets_by_workload(
    links: Iterable[Link], mounts: Mapping[ItemKey, Sequence[Mount]]
) -> WorkloadTargets:
    """The objects that pod templates use through references and auto-mounts."""
    targets: dict[ItemKey, dict[tuple[int | None, ItemKey], Item]] = defaultdict(dict)
    for link in links:
        template = link.reference.template
        if template is not None:
            targets[link.source.key][template, link.target.key] = link.target
    for key, workload_mounts in mounts.items():
        for mount in workload_mounts:
            targets[key][None, mount.item.key] = mount.item
    return {
        key: tuple((number, target) for (number, _), target in used.items())
        for key, used in targets.items()
    }


def attached_pins(
    pins: Iterable[Link], targets: WorkloadTargets, names: Mapping[ItemKey, str]
) -> list[Link]:
    """The pins in pod templates of the workloads that have a render ID in the output.

    A workload with a pin can get a render ID because of another reference. If postrender reads
    its own output, the pin looks like a rewritten reference, and the attacher gets the revision.
    postrender must not change its own output, so the attacher of the first run also gets it.
    """
    return [pin for pin in pins if _gets_render_id(pin, targets, names)]


def _gets_render_id(pin: Link, targets: WorkloadTargets, names: Mapping[ItemKey, str]) -> bool:
    workload = pin.source
    if pin.reference.template is None or not workload.templates:
        return False
    used = targets.get(workload.key, ())
    return workload.has_render_id or any(revision_of(target, names) for _, target in used)
