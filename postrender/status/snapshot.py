"""What status knows of a namespace: the live objects as records, each list read once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from datetime import datetime
from functools import cached_property, partial

from postrender.attach.client import Client
from postrender.attach.content import Content, examine, is_edited
from postrender.attach.live import (
    Consumer,
    Object,
    Owner,
    Revision,
    holder_of,
    owners_of,
    read_consumer,
    read_revision,
    text_at,
)
from postrender.attach.observe import read_consumers
from postrender.attach.overview import Inventory, Live, Overview, read_inventory
from postrender.attach.reconcile import MAY_BE_USED, parse_time
from postrender.attach.request import (
    BY_GROUP_KIND,
    CONFIG_MAPS,
    DEPLOYMENTS,
    EVENTS,
    HISTORY_KINDS,
    JOBS,
    PODS,
    REPLICA_SETS,
    REVISED_KINDS,
    ROLES,
    ROLLOUTS,
    SECRETS,
    SERVICE_ACCOUNTS,
    NamedObject,
    Resource,
    RevisionRef,
    named_in,
    plurals,
    request_of_job,
)
from postrender.attach.sweep import AttacherJob, read_job
from postrender.errors import Location, UserError
from postrender.kubernetes.annotations import GROUP_LABEL, INVENTORY_LABEL
from postrender.kubernetes.hashing import without_hash
from postrender.kubernetes.kinds import (
    CONFIG_MAP,
    SECRET,
    pod_templates,
    strings_at,
)
from postrender.records import NamedTuple
from postrender.references.built_in import find_built_in
from postrender.yaml.paths import Json, mapping_at, mappings_in, value_at

_HASH_LABELS = (
    "rollouts-pod-template-hash",
    "pod-template-hash",
    "controller-revision-hash",
    "controller.kubernetes.io/hash",
)
_NUMBERS = ("rollout.argoproj.io/revision", "deployment.kubernetes.io/revision")
_ENDED = ("Succeeded", "Failed")
# The fields with a time of a condition, and of an Event.
_CONDITION = ("lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime")
_EVENT = ("lastTimestamp", "deprecatedLastTimestamp", "eventTime")
# The section with the command that reads all kinds to a file.
ALL_KINDS = "docs/how-to/operate.md#without-access-to-the-cluster"
_LONGEST_NAME = 300
_OWNER_KINDS = {resource.group_kind: resource for resource in (SERVICE_ACCOUNTS, ROLES)}
# The kinds that status reads from a file.
KINDS_OF_FILES = {
    **BY_GROUP_KIND,
    **_OWNER_KINDS,
    **{resource.group_kind: resource for resource in (*REVISED_KINDS, EVENTS)},
    ("events.k8s.io", "Event"): EVENTS,
}


class Facts(NamedTuple):
    """What status shows of a consumer, and attach does not need.

    required: the references without `optional: true`.
    hashes: the labels with the hash of the pod template.
    number: of the pod template, as the controllers count.
    images: the name and the image of each container of the first pod template.
    replicas: spec.replicas, None if absent.
    is_ended: whether a Pod or Job has ended.
    controller_name: the name of the controller, "" for none.
    """

    created: datetime | None
    required: frozenset[RevisionRef]
    hashes: tuple[str, ...]
    number: int
    images: tuple[tuple[str, str], ...]
    replicas: int | None
    ready: int
    is_ended: bool
    controller_name: str
    rollout: Object


class Snapshot:
    """The live objects of a namespace as records, and what status has read of them.

    created: the time of creation of ConfigMaps and Secrets, by uid.
    contents, edited: of the ConfigMaps with the label of a group, by uid: what a run remembers of
        the content, and whether it is not what the name stands for.
    data: whole ConfigMaps by uid, all from a file, and from a cluster those that the targets use.
    jobs: the attachers' Jobs, by group.
    release_owners: the live ServiceAccounts, Roles and ConfigMaps by kind and name.
    unknown_owners: those of these kinds that could not be listed.
    is_file: whether the objects are from a file, which can lack objects.
    unproven: the uids of the ConfigMaps and Secrets of a file whose metadata.managedFields, on
        which a decision depends, are not in the file, because kubectl leaves them out by default.
    deletions: the time and message of each Event about a deletion in a file.
    now: the time of the status. For an old file, it is the newest time in the file.
    is_old: whether the objects are from an old file.
    """

    overview: Overview
    has_secrets = True

    def __init__(
        self, namespace: str, now: datetime, *, is_file: bool = False, is_old: bool = False
    ) -> None:
        self.namespace, self.now, self.is_file, self.is_old = namespace, now, is_file, is_old
        self.facts: dict[str, Facts] = {}
        self.created: dict[str, datetime | None] = {}
        self.contents: dict[str, Content] = {}
        self.edited: set[str] = set()
        self.data: dict[str, Object] = {}
        self.jobs: defaultdict[str, list[AttacherJob]] = defaultdict(list)
        self.release_owners: dict[tuple[str, str], Owner] = {}
        self.unknown_owners: set[Resource] = set()
        self.unproven: set[str] = set()
        self.deletions: list[tuple[str, str]] = []
        # The kinds that a file lacks, although the namespace has such objects.
        self._evident = {PODS}
        self._revisions: list[Revision] = []
        self._inventories: list[Inventory] = []
        self._has_inventory = False
        # Of these revisions, the whole ConfigMap is kept. None means all.
        self._wanted: set[RevisionRef] | None = None

    @cached_property
    def live(self) -> Live:
        """The inventories, and what they need for the decisions of collect."""
        jobs = (job for jobs in self.jobs.values() for job in jobs)
        named = (ref for job in jobs for ref in named_in(job.arguments))
        return Live(self.overview, self._inventories, (), self.created, named)

    @cached_property
    def inventories(self) -> dict[str, Inventory]:
        """By group, without foreign ones."""
        return {item.group_name: item for item in self._inventories if not item.is_foreign}

    @property
    def unlisted(self) -> list[str]:
        """The names of the kinds of possible users that could not be read."""
        return plurals(self.overview.unreadable)

    @property
    def unread_reason(self) -> str:
        """The reason to keep a revision if a file lacks kinds, "" otherwise."""
        if not (self.is_file and self.unlisted):
            return ""
        return (
            f"the file has no {', '.join(self.unlisted)}, and {MAY_BE_USED} (the command in "
            f"{ALL_KINDS} reads all kinds)"
        )

    def read_cluster(self, client: Client, targets: Iterable[NamedObject]) -> None:
        """Only ConfigMaps must be readable."""
        client.list_all(CONFIG_MAPS, partial(self._add_revision, CONFIG_MAPS))
        self.has_secrets = _is_listed(client, SECRETS, self._add_revision)
        self._connect(*read_consumers(client, self._add_consumer))
        overview = self.overview
        live = [item for item in map(overview.find, targets) if item]
        self._wanted = {ref for item in overview.below(live).values() for ref in item.references}
        if overview.groups.keys() - {""}:
            selector = _selector(overview, self._wanted)
            client.list_all(CONFIG_MAPS, self._add_content, selector, is_whole=True)
        if self._has_inventory:
            client.list_all(CONFIG_MAPS, self._add_inventory, INVENTORY_LABEL, is_whole=True)
        # attach compares the content of objects without the label too, if they have the name of a
        # revision that an attacher names or a workload of postrender references.
        for revision in overview.groups[""]:
            users = overview.users.get(revision.key, ())
            is_expected = revision.key in self.live.named or any(
                overview.top_of(user).render_id for user in users
            )
            if revision.resource == CONFIG_MAPS and without_hash(revision.name) and is_expected:
                name = revision.name
                client.list_all(CONFIG_MAPS, self._add_content, name=name, is_whole=True)
        for resource in sorted(self._release_owner_kinds()):
            if not _is_listed(client, resource, self._add_owner):
                self.unknown_owners.add(resource)
        self.now = client.now()

    def if_complete(self) -> Snapshot | None:
        """What the namespace would be without objects of the kinds that a file lacks.

        None if the file has all kinds, or shows that the namespace has such objects.
        """
        lacking = self.overview.unreadable
        if not self.is_file or not lacking or lacking & self._evident:
            return None
        found = copy(self)
        vars(found).pop("live", None)
        found.overview = copy(self.overview)
        found.overview.unreadable = frozenset()
        return found

    def read_objects(
        self, objects: Iterable[tuple[Resource, Object]], listed: Iterable[Resource], source: str
    ) -> None:
        """Read the objects of a file, which need not be of this namespace.

        listed: the kinds of which the file has a list, which can be empty.
        """
        consumers: dict[str, Consumer] = {}
        kinds = set(listed)
        proven: set[str] = set()
        for resource, data in objects:
            if text_at(data, "metadata", "namespace") not in ("", self.namespace):
                continue
            kinds.add(resource)
            if resource == EVENTS:
                self._add_event(data)
                continue
            owners = (BY_GROUP_KIND.get(owner.group_kind) for owner, _ in owners_of(data))
            self._evident.update(filter(None, (*owners, HISTORY_KINDS.get(resource))))
            if value_at(data, ("metadata", "managedFields")):
                proven.add(text_at(data, "metadata", "uid"))
            if not text_at(data, "metadata", "uid"):
                raise UserError(
                    f"a {resource.kind} has no metadata.uid, so its owners are unknown",
                    "Pass the output of kubectl get -o yaml without changes",
                    Location(source),
                )
            if resource.group_kind in _OWNER_KINDS:
                self._add_owner(resource, data)
            elif resource not in REVISED_KINDS:
                consumer = self._add_consumer(resource, data)
                consumers[consumer.uid] = consumer
            else:
                self._add_revision(resource, data)
                if resource == CONFIG_MAPS:
                    self._add_content(data)
                    if INVENTORY_LABEL in strings_at(data, "labels"):
                        self._add_inventory(data)
        if CONFIG_MAPS not in kinds:
            place = f" of the namespace {self.namespace}" if self.namespace else ""
            raise UserError(
                f"the file has no ConfigMap{place}",
                "Pass the output of kubectl get, with configmaps among the kinds",
                Location(source),
            )
        changed = {uid for uid, content in self.contents.items() if content.difference}
        owned = {revision.uid for revision in self._revisions if revision.owners}
        # The managers of the workloads, too, tell whether a changed ConfigMap is foreign.
        self.unproven = (owned | changed) - proven
        self.unproven |= changed if consumers.keys() - proven else set()
        self.has_secrets = SECRETS in kinds
        self.unknown_owners = self._release_owner_kinds() - kinds
        self._connect(consumers, frozenset(BY_GROUP_KIND.values()) - kinds)

    def _add_consumer(self, resource: Resource, data: Object) -> Consumer:
        consumer = read_consumer(resource, data)
        self.facts[consumer.uid] = _read_facts(resource, data, consumer)
        group = strings_at(data, "labels").get(GROUP_LABEL, "")
        if resource == JOBS and group:
            self.jobs[group].append(read_job(data))
        return consumer

    def _add_revision(self, resource: Resource, data: Object) -> None:
        revision = read_revision(resource, data)
        self._revisions.append(revision)
        self.created[revision.uid] = _time(data)
        self._add_owner(resource, data)
        self._has_inventory |= INVENTORY_LABEL in strings_at(data, "labels")

    def _add_event(self, data: Object) -> None:
        if data.get("reason") == "RevisionDeleted":
            texts = (text_at(data, "message"), text_at(data, "note"))
            self.deletions.append((max(times_in(data), default=""), "".join(texts)))

    def _add_inventory(self, data: Object) -> None:
        self._inventories.append(read_inventory(data)[1])

    def _add_owner(self, resource: Resource, data: Object) -> None:
        name, uid = text_at(data, "metadata", "name"), text_at(data, "metadata", "uid")
        self.release_owners[resource.kind, name] = Owner(
            resource.api_version, resource.kind, name, uid
        )

    def _add_content(self, data: Object) -> None:
        revision = read_revision(CONFIG_MAPS, data)
        self.contents[revision.uid] = examine(revision, data)
        if is_edited(revision, revision.base_name, data):
            self.edited.add(revision.uid)
        if self._wanted is None or revision.key in self._wanted:
            self.data[revision.uid] = data

    def _connect(self, consumers: Mapping[str, Consumer], unreadable: frozenset[Resource]) -> None:
        """Set the overview. Without the ReplicaSets, Pods are directly below their workload."""
        if REPLICA_SETS in unreadable:
            workloads = {
                item.name: item.uid
                for resource in (DEPLOYMENTS, ROLLOUTS)
                for item in consumers.values()
                if item.resource == resource
            }
            consumers = {
                uid: item._replace(controller=workloads.get(self._workload_name(item), ""))
                if item.resource == PODS and item.controller not in consumers
                else item
                for uid, item in consumers.items()
            }
        self.overview = Overview(self._revisions, consumers, unreadable)

    def _workload_name(self, pod: Consumer) -> str:
        """The name of a Pod's ReplicaSet without the hash, which is in a label of the Pod."""
        facts = self.facts[pod.uid]
        name, _, end = facts.controller_name.rpartition("-")
        return name if end in facts.hashes else ""

    def _release_owner_kinds(self) -> set[Resource]:
        """The kinds of the release owners. Without an owner, it is a ServiceAccount by default."""
        kinds = {
            _OWNER_KINDS[owner.group_kind]
            for revision in self._revisions
            for owner in revision.owners
            if owner.group_kind in _OWNER_KINDS
        }
        requests = [request_of_job(job.arguments) for jobs in self.jobs.values() for job in jobs]
        owners = [request.release_owner for request in requests if request]
        kinds |= {owner.resource for owner in owners if owner} & set(_OWNER_KINDS.values())
        has_groups = any(revision.group_name for revision in self._revisions)
        return kinds | ({SERVICE_ACCOUNTS} if has_groups else set())


def read_cluster(client: Client, targets: Iterable[NamedObject] = ()) -> Snapshot:
    """The objects of the client's namespace; targets: the workloads that are shown one by one."""
    snapshot = Snapshot(client.namespace, client.now())
    snapshot.read_cluster(client, targets)
    return snapshot


def _selector(overview: Overview, wanted: Iterable[RevisionRef]) -> str:
    """The selector of the ConfigMaps whose content matters: those of one group, or of all.

    wanted: what the targets use. The run of a group can also look after revisions of other groups,
    if they have the same base names.
    """
    groups = {item.group_name for ref in wanted if (item := overview.revisions.get(ref))} - {""}
    if len(groups) != 1:
        return GROUP_LABEL
    [group_name] = groups
    bases = {item.base_name for item in overview.groups[group_name]}
    is_shared = any(
        item.base_name in bases and item.group_name not in ("", group_name)
        for item in overview.revisions.values()
    )
    return GROUP_LABEL if is_shared else f"{GROUP_LABEL}={group_name}"


def _is_listed(
    client: Client, resource: Resource, add: Callable[[Resource, Object], object]
) -> bool:
    """Add all objects of a kind, and return whether the account may list them."""
    return client.list_allowed(resource, partial(add, resource)) is not None


def times_in(data: Object) -> Iterator[str]:
    """The times in an object, in fields that the cluster writes."""
    metadata, status = mapping_at(data, ("metadata",)), mapping_at(data, ("status",))
    fields = [
        metadata.get("creationTimestamp"),
        *(entry.get("time") for entry in mappings_in(metadata.get("managedFields"))),
        *(item.get(key) for item in mappings_in(status.get("conditions")) for key in _CONDITION),
        *(data.get(key) for key in _EVENT),
        value_at(data, ("series", "lastObservedTime")),
        value_at(data, ("spec", "renewTime")),
    ]
    for text in fields:
        # Some times have a fraction of a second.
        whole = f"{text[:19]}Z" if isinstance(text, str) else ""
        if parse_time(whole):
            yield whole


def _time(data: Object) -> datetime | None:
    return parse_time(text_at(data, "metadata", "creationTimestamp"))


def _number(value: Json) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and isinstance(value, int) and 0 <= value < 1 << 63 else None


def _read_facts(resource: Resource, data: Object, consumer: Consumer) -> Facts:
    labels, annotations = strings_at(data, "labels"), strings_at(data, "annotations")
    texts = [annotations[key] for key in _NUMBERS if annotations.get(key, "").isdecimal()]
    number = int(texts[0][:18]) if texts else _number(data.get("revision")) or 0
    conditions = mappings_in(value_at(data, ("status", "conditions")))
    true = {str(one.get("type")) for one in conditions if one.get("status") == "True"}
    is_ended = text_at(data, "status", "phase") in _ENDED or bool({"Complete", "Failed"} & true)
    replicas = _number(value_at(data, ("spec", "replicas")))
    group_kind, holder = holder_of(resource, data)
    return Facts(
        created=_time(data),
        required=_required(group_kind, holder, consumer) if consumer.references else frozenset(),
        hashes=tuple(labels[key] for key in _HASH_LABELS if key in labels),
        number=number,
        images=tuple(_images(group_kind, holder)),
        replicas=replicas,
        ready=int("Ready" in true)
        if replicas is None
        else _number(value_at(data, ("status", "readyReplicas"))) or 0,
        is_ended=is_ended and resource.kind in ("Pod", "Job"),
        controller_name=next((owner.name for owner, controls in owners_of(data) if controls), ""),
        rollout=_rollout_facts(data)
        if resource.kind == "Rollout"
        else {
            "partition": _number(
                value_at(data, ("spec", "updateStrategy", "rollingUpdate", "partition"))
            ),
            "isOnDelete": text_at(data, "spec", "updateStrategy", "type") == "OnDelete",
        },
    )


def _required(
    group_kind: tuple[str, str], data: Object, consumer: Consumer
) -> frozenset[RevisionRef]:
    found = set()
    for path, name, rule in find_built_in(group_kind, (CONFIG_MAP, SECRET), data):
        if isinstance(name, str) and value_at(data, (*path[:-1], "optional")) is not True:
            found.add((rule.target[1].lower(), name))
    return frozenset(found & consumer.references)


def _images(group_kind: tuple[str, str], data: Object) -> Iterator[tuple[str, str]]:
    templates = pod_templates(group_kind, data) or [((), data)]
    for field in ("initContainers", "containers"):
        for container in mappings_in(value_at(templates[0][1], ("spec", field))):
            name, image = text_at(container, "name"), text_at(container, "image")
            if image:
                yield name[:_LONGEST_NAME], image[:_LONGEST_NAME]


def _rollout_facts(data: Object) -> Object:
    """The few fields of a Rollout that describe its progress."""
    status = mapping_at(data, ("status",))
    canary = mapping_at(data, ("spec", "strategy", "canary"))
    blue_green = mapping_at(data, ("spec", "strategy", "blueGreen"))
    steps = mappings_in(canary.get("steps"))[:1000]
    index = _number(status.get("currentStepIndex"))
    weights = [_number(step.get("setWeight")) for step in steps[: (index or 0) + 1]]
    passed = [weight for weight in weights if weight is not None]
    return {
        "isBlueGreen": "blueGreen" in mapping_at(data, ("spec", "strategy")) or bool(blue_green),
        "phase": text_at(status, "phase")[:_LONGEST_NAME],
        "isAborted": status.get("abort") is True,
        "step": index,
        "steps": len(steps),
        "weight": _number(value_at(status, ("canary", "weights", "canary", "weight")))
        if value_at(status, ("canary", "weights")) is not None
        else (passed[-1] if passed else None),
        "stable": text_at(status, "stableRS"),
        "current": text_at(status, "currentPodHash"),
        "active": text_at(status, "blueGreen", "activeSelector"),
        "preview": text_at(status, "blueGreen", "previewSelector"),
    }
