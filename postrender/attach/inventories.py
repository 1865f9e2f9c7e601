"""What a pass of `postrender collect` reads: the inventories, and everything that attach reads."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
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
from postrender.attach.observe import read_consumers
from postrender.attach.overview import Overview
from postrender.attach.reconcile import parse_time
from postrender.attach.request import (
    CONFIG_MAPS,
    JOBS,
    SECRETS,
    AttachRequest,
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
