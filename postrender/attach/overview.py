"""The live objects of a namespace, read once, for the decisions about all attach groups.

A run reads the whole namespace for its one group. With many groups, that would be too much work for
each of them. `part_for` therefore returns the part of an Overview on which the decisions about one
group depend.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from postrender.attach.live import Consumer, Owner, Revision
from postrender.attach.observe import reads_kind
from postrender.attach.reconcile import (
    consumers_by_revision,
    release_owners_of,
)
from postrender.attach.request import (
    REVISED_KINDS,
    AttachRequest,
    NamedObject,
    Resource,
    RevisionRef,
)
from postrender.kubernetes.hashing import without_hash


class Overview:
    """The live objects of a namespace.

    revisions: all ConfigMaps and Secrets.
    consumers: by uid.
    unreadable: the kinds that could not be listed.
    """

    def __init__(
        self,
        revisions: Iterable[Revision],
        consumers: Mapping[str, Consumer],
        unreadable: frozenset[Resource] = frozenset(),
    ) -> None:
        self.revisions = {revision.key: revision for revision in revisions}
        self.consumers = consumers
        self.unreadable = unreadable
        self.users = consumers_by_revision(consumers)
        # The names with a hash that objects use, and that are of no group, by base name.
        self.loose: defaultdict[RevisionRef, list[RevisionRef]] = defaultdict(list)
        self.groups: defaultdict[str, list[Revision]] = defaultdict(list)
        self._names = {(item.resource, item.name): item for item in consumers.values()}
        # The answers of top_of and group_of, by uid. A tenant can write a long chain.
        self._tops: dict[str, Consumer] = {}
        self._groups_of: dict[str, str] = {}
        self._under: defaultdict[str, list[Consumer]] = defaultdict(list)
        self._owned: defaultdict[str, list[Revision]] = defaultdict(list)
        self._bases: defaultdict[tuple[RevisionRef, frozenset[str]], list[Revision]]
        self._bases = defaultdict(list)
        self._users_of_template: defaultdict[NamedObject, list[Consumer]] = defaultdict(list)
        for consumer in consumers.values():
            if consumer.template_from:
                self._users_of_template[consumer.template_from].append(consumer)
            if consumer.controller:
                self._under[consumer.controller].append(consumer)
        for revision in self.revisions.values():
            self.groups[revision.group_name].append(revision)
            for uid in revision.our_owners:
                self._owned[uid].append(revision)
            if revision.group_name and revision.base_name:
                self._bases[revision.base, release_owners_of(revision)].append(revision)
        for kind, name in list(self.users):
            found = self.revisions.get((kind, name))
            base_name = without_hash(name)
            if base_name and not (found and found.group_name):
                self.loose[kind, base_name].append((kind, name))

    def find(self, resource: Resource, name: str) -> Consumer | None:
        """The object with a name, None if it does not exist."""
        return self._names.get((resource, name))

    def under(self, controller: Consumer, resource: Resource | None = None) -> list[Consumer]:
        """The objects, or those of a kind, under the control of another object."""
        found = self._under[controller.uid]
        return [item for item in found if resource in (None, item.resource)]

    def with_template_of(self, workload: Consumer) -> list[Consumer]:
        """The Rollouts whose workloadRef references a workload."""
        return self._users_of_template.get(NamedObject(workload.resource, workload.name), [])

    def source_of(self, workload: Consumer) -> Consumer | None:
        """The object with the pod template: the target of workloadRef, or the workload itself."""
        target = workload.template_from
        return self.find(target.resource, target.name) if target else workload

    def below(self, controllers: Iterable[Consumer]) -> dict[str, Consumer]:
        """Objects, the objects under their control, and so on, by uid."""
        found: dict[str, Consumer] = {}
        pending = list(controllers)
        while pending:
            item = pending.pop()
            if item.uid not in found:
                found[item.uid] = item
                pending += self._under[item.uid]
        return found

    def top_of(self, consumer: Consumer) -> Consumer:
        """The object that controls a consumer directly or indirectly, such as its Rollout."""
        path = {consumer.uid: consumer}
        while consumer.uid not in self._tops:
            controller = self.consumers.get(consumer.controller)
            if controller is None or controller.uid in path:
                break
            path[controller.uid] = consumer = controller
        top = self._tops.get(consumer.uid, consumer)
        self._tops.update(dict.fromkeys(path, top))
        return top

    def group_of(self, workload: Consumer) -> str:
        """The attach group of the revisions that a workload uses, or else owns; "" if unknown."""
        if workload.uid not in self._groups_of:
            self._groups_of[workload.uid] = self._find_group_of(workload)
        return self._groups_of[workload.uid]

    def _find_group_of(self, workload: Consumer) -> str:
        refs = (ref for item in self.below([workload]).values() for ref in sorted(item.references))
        used = (self.revisions[ref] for ref in refs if ref in self.revisions)
        found = (*used, *self._owned.get(workload.uid, ()))
        return next(filter(None, (revision.group_name for revision in found)), "")

    def part_for(
        self, request: AttachRequest, release_owner: Owner | None
    ) -> tuple[list[Revision], dict[str, Consumer]]:
        """The part for a run: the candidates for select_revisions, and the consumers by uid."""
        found = [self.find(workload.resource, workload.name) for workload in request.workloads]
        workloads = [item for item in found if item]
        related = self.below(workloads)
        refs = {ref for item in related.values() for ref in item.references}
        in_stream = request.in_stream
        given = [self.revisions[ref] for ref in in_stream | refs if ref in self.revisions]
        candidates = [*self.groups[request.group_name], *given]
        for workload in workloads:
            candidates += self._owned[workload.uid]
        # A run looks after the revisions of these base names, if no other release owns them.
        bases = {revision.base for revision in given if revision.key in in_stream}
        allowed = {frozenset[str](), frozenset({release_owner.uid} if release_owner else ())}
        for base in bases:
            for owners in allowed:
                candidates += self._bases.get((base, owners), ())
        # Whether another release looks after a group depends on all revisions of the group.
        names = {revision.group_name for revision in candidates} - {"", request.group_name}
        candidates += [revision for name in names for revision in self.groups[name]]
        unique = {revision.uid: revision for revision in candidates}
        kinds = {resource for resource in REVISED_KINDS if reads_kind(resource, request)}
        read = [
            revision
            for revision in unique.values()
            if revision.resource in kinds or revision.key in request.retired
        ]
        return read, self._consumers_for(read, related)

    def _consumers_for(
        self, revisions: Iterable[Revision], related: Mapping[str, Consumer]
    ) -> dict[str, Consumer]:
        found = dict(related)
        pending = [user for revision in revisions for user in self.users.get(revision.key, ())]
        owners = (owner.uid for revision in revisions for owner in revision.owners)
        pending += [self.consumers[uid] for uid in owners if uid in self.consumers]
        while pending:
            item = pending.pop()
            if item.uid not in found:
                found[item.uid] = item
            controller = self.consumers.get(item.controller)
            if controller and controller.uid not in found:
                pending.append(controller)
        return found
