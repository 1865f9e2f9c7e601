"""The live objects and the inventories of a namespace, read once for all attach groups.

A run reads the whole namespace for its one group. With many groups, that would be too much work for
each of them. `part_for` therefore returns the part of an Overview on which the decisions about one
group depend.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

from postrender.attach.client import FORBIDDEN, ApiError, Client
from postrender.attach.live import (
    Consumer,
    Object,
    Owner,
    Revision,
    read_consumer,
    read_revision,
    text_at,
)
from postrender.attach.observe import read_consumers, reads_kind
from postrender.attach.reconcile import (
    consumers_by_revision,
    parse_time,
    release_owners_of,
)
from postrender.attach.request import (
    CONFIG_MAPS,
    JOBS,
    REVISED_KINDS,
    SECRETS,
    AttachRequest,
    NamedObject,
    Resource,
    RevisionRef,
    cannot_list,
    named_in,
    plurals,
    request_of_job,
)
from postrender.attach.sweep import read_job
from postrender.errors import UserError
from postrender.kubernetes.annotations import COLLECT_LABEL, GROUP_LABEL, INVENTORY_LABEL
from postrender.kubernetes.attach_groups import inventory_arguments, is_inventory
from postrender.kubernetes.hashing import without_hash
from postrender.kubernetes.kinds import CONFIG_MAP, strings_at
from postrender.records import NamedTuple

# The options in an inventory. With another option, a later version has written the inventory.
_OPTIONS = frozenset(
    {
        "--group",
        "--namespace",
        "--workload",
        "--emitted",
        "--retired",
        "--release-owner",
        "--no-prune",
    }
)
COLLECTOR_FIX = "Compare the permissions with the output of `postrender config collector`"
_TOOL_LABEL = "app.kubernetes.io/managed-by"
# The end of the name of a generated ConfigMap (#ImmutableConfig of Timoni).
_TIMONI = re.compile(r"-[0-9a-f]{8}\Z")
_FLUX_LABEL = "kustomize.toolkit.fluxcd.io/name"


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
        self._names = {item.named: item for item in consumers.values()}
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

    def find(self, target: NamedObject) -> Consumer | None:
        """The live object, None if it does not exist."""
        return self._names.get(target)

    def under(self, controller: Consumer, resource: Resource | None = None) -> list[Consumer]:
        """The objects, or those of a kind, under the control of another object."""
        found = self._under[controller.uid]
        return [item for item in found if resource in (None, item.resource)]

    def with_template_of(self, workload: Consumer) -> list[Consumer]:
        """The Rollouts whose workloadRef references a workload."""
        return self._users_of_template.get(workload.named, [])

    def source_of(self, workload: Consumer) -> Consumer | None:
        """The object with the pod template: the target of workloadRef, or the workload itself."""
        target = workload.template_from
        return self.find(target) if target else workload

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
        found = [self.find(workload.target) for workload in request.workloads]
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


class Inventory(NamedTuple):
    """A live inventory.

    request: None if the arguments are not those of an inventory that this version writes.
    is_foreign: whether the name or the group in the arguments differs from the label. A foreign
        inventory only protects the revisions that it names.
    """

    owner: Owner
    group_name: str
    request: AttachRequest | None
    is_foreign: bool


# A ConfigMap without the label of an attach group, whose name ends in a hash; the tool that created
# it, as far as the labels show; and whether the user has set COLLECT_LABEL.
Hashed = tuple[Revision, str, bool]


class Live:
    """What a pass has read of one namespace.

    hashed: may include ConfigMaps in use.
    created: the creationTimestamp of each ConfigMap and Secret, by uid.
    named_by_jobs: what the attachers' Jobs name.
    named: what any inventory or attacher's Job names.
    groups: the attach groups with an inventory.
    is_safe: False if this version cannot read an inventory, which may name any revision.
    """

    def __init__(
        self,
        overview: Overview,
        inventories: Sequence[Inventory],
        hashed: Sequence[Hashed],
        created: dict[str, datetime | None],
        named_by_jobs: Iterable[RevisionRef],
    ) -> None:
        self.overview, self.inventories, self.hashed = overview, inventories, hashed
        self.created, self.named_by_jobs = created, frozenset(named_by_jobs)
        requests = [inventory.request for inventory in inventories if inventory.request]
        self.named = self.named_by_jobs.union(*(request.in_stream for request in requests))
        self.groups = {item.group_name for item in inventories if not item.is_foreign}
        self.is_safe = all(item.request or item.is_foreign for item in inventories)


def read_live(client: Client) -> tuple[dict[str, Live], list[UserError]]:
    """What a pass reads, by namespace, and the problems.

    A list that fails in another way than by a missing permission raises ApiError.
    """
    problems: list[UserError] = []
    created: defaultdict[str, dict[str, datetime | None]] = defaultdict(dict)
    hashed: defaultdict[str, list[Hashed]] = defaultdict(list)
    revisions: defaultdict[str, list[Revision]] = defaultdict(list)
    inventories: defaultdict[str, list[Inventory]] = defaultdict(list)

    def read(resource: Resource, data: Object) -> tuple[str, Revision, Hashed | None]:
        revision = read_revision(resource, data)
        place = text_at(data, "metadata", "namespace")
        created[place][revision.uid] = parse_time(text_at(data, "metadata", "creationTimestamp"))
        return place, revision, _read_hashed(revision, data)

    def keep(found: Sequence[tuple[str, Revision, Hashed | None]]) -> None:
        for place, revision, other in found:
            revisions[place].append(revision)
            if other:
                hashed[place].append(other)

    keep(client.list_all(CONFIG_MAPS, partial(read, CONFIG_MAPS))[0])
    for place, inventory in client.list_all(
        CONFIG_MAPS, read_inventory, INVENTORY_LABEL, is_whole=True
    )[0]:
        inventories[place].append(inventory)
    requests = [item.request for several in inventories.values() for item in several]
    if any(
        kind == "secret"
        for request in requests
        if request
        for kind, _ in request.in_stream | request.retired
    ):
        try:
            keep(client.list_all(SECRETS, partial(read, SECRETS), GROUP_LABEL)[0])
        except ApiError as error:
            if error.status != FORBIDDEN:
                raise
            problems.append(error)

    # The consumers are listed after the revisions, as in a run of attach.
    consumers: defaultdict[str, dict[str, Consumer]] = defaultdict(dict)
    named_by_jobs: defaultdict[str, set[RevisionRef]] = defaultdict(set)

    def read_user(resource: Resource, data: Object) -> Consumer:
        consumer = read_consumer(resource, data)
        place = text_at(data, "metadata", "namespace")
        consumers[place][consumer.uid] = consumer
        if resource == JOBS and GROUP_LABEL in strings_at(data, "labels"):
            named_by_jobs[place].update(named_in(read_job(data).arguments))
        return consumer

    _, unreadable = read_consumers(client, read_user)
    if unreadable:
        problems.append(
            UserError(
                f"{cannot_list(plurals(unreadable))}, so collect does not delete",
                COLLECTOR_FIX,
            )
        )
    places = {place for place, several in revisions.items() if any(i.group_name for i in several)}
    found = {
        place: Live(
            overview=Overview(revisions[place], consumers[place], unreadable),
            inventories=inventories[place],
            hashed=hashed[place],
            created=created[place],
            named_by_jobs=named_by_jobs[place],
        )
        for place in places | inventories.keys() | hashed.keys()
    }
    return found, problems


def read_inventory(data: Object) -> tuple[str, Inventory]:
    """The namespace and the record of an inventory."""
    name, labels = text_at(data, "metadata", "name"), strings_at(data, "labels")
    group_name = labels.get(INVENTORY_LABEL, "")
    arguments = inventory_arguments(data) or []
    request = request_of_job(arguments)
    options = {word for word in arguments if word.startswith("--")}
    if not options <= _OPTIONS:
        request = None
    is_ours = is_inventory(CONFIG_MAP, name, labels)
    owner = Owner(CONFIG_MAPS.api_version, CONFIG_MAPS.kind, name, text_at(data, "metadata", "uid"))
    return text_at(data, "metadata", "namespace"), Inventory(
        owner=owner,
        group_name=group_name,
        request=request,
        is_foreign=not is_ours or (request is not None and request.group_name != group_name),
    )


def _read_hashed(revision: Revision, data: Object) -> Hashed | None:
    labels = strings_at(data, "labels")
    tool = labels.get(_TOOL_LABEL, "")
    if revision.resource != CONFIG_MAPS or revision.group_name or INVENTORY_LABEL in labels:
        return None
    if not (without_hash(revision.name) or (tool == "timoni" and _TIMONI.search(revision.name))):
        return None
    if _FLUX_LABEL in labels:
        tool = "Flux"
    return revision, tool or "another tool", labels.get(COLLECT_LABEL) == "true"
