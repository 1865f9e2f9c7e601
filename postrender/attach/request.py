"""The request of a run of attach: what the command line asks for, and the kinds it can name.

Each run belongs to one output of postrender, the applied stream.

To add a kind of consumer, add an entry to CONSUMER_KINDS, and a rule to the Role in
plan/attacher_objects.py. A kind with pod templates also needs an entry in kubernetes/kinds.py.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from postrender.errors import UsageError
from postrender.kubernetes.hashing import without_hash
from postrender.kubernetes.kinds import RBAC_GROUP, GroupKind, api_group
from postrender.records import NamedTuple
from postrender.text import conjoined, shown


class Resource(NamedTuple):
    """A kind in the Kubernetes API.

    plural: the name in paths, such as `replicasets`.
    """

    api_version: str
    kind: str
    plural: str

    @property
    def group_kind(self) -> GroupKind:
        return api_group(self.api_version), self.kind

    @property
    def path(self) -> str:
        """The path of the API version on the API server, such as `/apis/apps/v1`."""
        root = "/apis" if "/" in self.api_version else "/api"
        return f"{root}/{self.api_version}"


CONFIG_MAPS = Resource("v1", "ConfigMap", "configmaps")
SECRETS = Resource("v1", "Secret", "secrets")
EVENTS = Resource("v1", "Event", "events")
SERVICE_ACCOUNTS = Resource("v1", "ServiceAccount", "serviceaccounts")
ROLES = Resource(f"{RBAC_GROUP}/v1", "Role", "roles")
PODS = Resource("v1", "Pod", "pods")
JOBS = Resource("batch/v1", "Job", "jobs")
ROLLOUTS = Resource("argoproj.io/v1alpha1", "Rollout", "rollouts")
DEPLOYMENTS = Resource("apps/v1", "Deployment", "deployments")
STATEFUL_SETS = Resource("apps/v1", "StatefulSet", "statefulsets")
DAEMON_SETS = Resource("apps/v1", "DaemonSet", "daemonsets")
REPLICA_SETS = Resource("apps/v1", "ReplicaSet", "replicasets")
CONTROLLER_REVISIONS = Resource("apps/v1", "ControllerRevision", "controllerrevisions")
EXPERIMENTS = Resource("argoproj.io/v1alpha1", "Experiment", "experiments")
ANALYSIS_RUNS = Resource("argoproj.io/v1alpha1", "AnalysisRun", "analysisruns")

REVISED_KINDS = (CONFIG_MAPS, SECRETS)
# The possible kinds of a release owner (see the module `reconcile`).
RELEASE_OWNER_KINDS = (SERVICE_ACCOUNTS, ROLES, CONFIG_MAPS)

# The kinds of possible consumers, in the order of the list requests. The kind of a controlling
# object precedes the kinds of the objects under its control. If a controller creates an object too
# late for a list, attach has already read the references in the controlling object.
CONSUMER_KINDS = (
    ROLLOUTS,
    DEPLOYMENTS,
    STATEFUL_SETS,
    DAEMON_SETS,
    Resource("batch/v1", "CronJob", "cronjobs"),
    Resource("v1", "PodTemplate", "podtemplates"),
    Resource("v1", "ReplicationController", "replicationcontrollers"),
    Resource("argoproj.io/v1alpha1", "AnalysisTemplate", "analysistemplates"),
    EXPERIMENTS,
    ANALYSIS_RUNS,
    REPLICA_SETS,
    CONTROLLER_REVISIONS,
    JOBS,
    PODS,
)
BY_GROUP_KIND = {resource.group_kind: resource for resource in CONSUMER_KINDS}
BY_KIND = {resource.kind: resource for resource in CONSUMER_KINDS}

# The kind of the objects with the current and earlier pod templates of a workload.
HISTORY_KINDS = {
    ROLLOUTS: REPLICA_SETS,
    DEPLOYMENTS: REPLICA_SETS,
    STATEFUL_SETS: CONTROLLER_REVISIONS,
    DAEMON_SETS: CONTROLLER_REVISIONS,
}

# The kinds of objects that a controller creates and deletes. Such an object, with a controller,
# owns a revision only while it is or controls a consumer. All other workloads remain owners until
# somebody deletes them.
CONTROLLER_MADE_KINDS = frozenset(
    {REPLICA_SETS, CONTROLLER_REVISIONS, JOBS, PODS, EXPERIMENTS, ANALYSIS_RUNS}
)


# The kind (in lower case) and name of a revision, as in the argument `configmap/app-h2k4`.
RevisionRef = tuple[str, str]

_WORKLOAD = re.compile(
    r"(?P<kind>[A-Za-z]+)/(?P<name>[^@=/]+)(?:@(?P<id>[0-9a-f]+))?=(?P<references>.+)"
)
_SEPARATORS = re.compile("[=,]")
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_SWITCHES = frozenset({"no-prune", "delete-finished-jobs"})
# No timer of the operating system waits for more digits.
_SECONDS = re.compile(r"(?:([0-9]{1,6})m)?(?:([0-9]{1,6})s?)?")
_KIND_TITLES = {resource.kind.lower(): resource.kind for resource in REVISED_KINDS}


def title(ref: RevisionRef) -> str:
    """The text for a revision in a message, such as `ConfigMap/app-h2k4`."""
    return f"{_KIND_TITLES[ref[0]]}/{ref[1]}"


def plurals(resources: Iterable[Resource]) -> list[str]:
    """The names of kinds, sorted."""
    return sorted(resource.plural for resource in resources)


def cannot_list(names: Sequence[str]) -> str:
    """The start of a message about kinds that may not be listed, by their names."""
    return f"postrender cannot list {conjoined(names)} (HTTP status 403)"


class NamedObject(NamedTuple):
    """An object in the namespace of the run."""

    resource: Resource
    name: str

    def __str__(self) -> str:
        return f"{self.resource.kind}/{self.name}"


class WantedWorkload(NamedTuple):
    """A workload of the request, and the revisions that its pod templates reference.

    render_id: the expected value of postrender/render-id on the workload, "" if unknown.
    """

    target: NamedObject
    render_id: str
    references: tuple[RevisionRef, ...]

    def __str__(self) -> str:
        return str(self.target)


class AttachRequest(NamedTuple):
    """All parameters of a run.

    group_name: the attach group. The command line of configmap-attacher has no groups. Without a
        name, a run uses the label of the given revisions, does not check their content, because
        the names can have the hashes of another tool, only warns of kinds that it may not list, and
        also marks and deletes ConfigMaps without a label (see reconcile.RunState).
    emitted: revisions and originals in the applied stream, which a run never deletes.
    timeout: the maximum time of the wait, in seconds.
    prunes: whether to mark and delete unused revisions.
    deletes_finished_jobs: whether to delete the finished Jobs that the Job of this run supersedes.
    release_owner: see the module `reconcile`; None if unknown.
    retired: earlier revisions of Secrets, if the applied stream has no revision of a Secret. A run
        marks and deletes them like other unused revisions.
    """

    workloads: tuple[WantedWorkload, ...]
    group_name: str = ""
    emitted: frozenset[RevisionRef] = frozenset()
    timeout: float = 90
    prunes: bool = True
    deletes_finished_jobs: bool = False
    release_owner: NamedObject | None = None
    retired: frozenset[RevisionRef] = frozenset()

    @property
    def given(self) -> tuple[RevisionRef, ...]:
        """The revisions that the workloads of the request reference, without duplicates."""
        return tuple(
            dict.fromkeys(ref for workload in self.workloads for ref in workload.references)
        )

    @property
    def in_stream(self) -> frozenset[RevisionRef]:
        """The given and the emitted revisions, which are all in the applied stream."""
        return self.emitted | set(self.given)

    @property
    def revised(self) -> frozenset[RevisionRef]:
        """The names in the applied stream that render wrote, and not those of originals.

        An original can have a name with a hash, too. Then the stream also has its revision.
        """
        bases = {(kind, without_hash(name)) for kind, name in self.in_stream}
        bases |= {(kind, name.rpartition("-v")[0]) for kind, name in bases}
        hashed = {ref for ref in self.in_stream if without_hash(ref[1])}
        return frozenset(hashed - bases)


def read_request(
    group_name: str,
    workloads: Sequence[str],
    emitted: Sequence[str],
    rollout: str,
    config_maps: str,
    timeout: str,
    *,
    release_owner: str = "",
    retired: Sequence[str] = (),
    prunes: bool,
    deletes_finished_jobs: bool,
) -> AttachRequest:
    """The request that the options describe; UsageError for an invalid option."""
    requested = _workloads_of_configmap_attacher(rollout, config_maps)
    try:
        requested = [*map(parse_workload, workloads), *requested]
        emitted_refs = _all_revision_refs(emitted, "--emitted")
        retired_refs = _all_revision_refs(retired, "--retired")
        seconds = parse_seconds(timeout)
        check_group(group_name)
        owner = parse_release_owner(release_owner)
    except ValueError as error:
        raise UsageError(str(error), "Fix this option") from None
    if not requested and not (group_name and emitted_refs):
        raise UsageError(
            "the options do not set a workload",
            "Pass --workload. Or pass --rollout and --configmaps, or --group and --emitted",
        )
    return AttachRequest(
        workloads=merge_workloads(requested),
        group_name=group_name,
        emitted=emitted_refs,
        timeout=seconds,
        prunes=prunes,
        deletes_finished_jobs=deletes_finished_jobs,
        release_owner=owner,
        retired=retired_refs - emitted_refs,
    )


def request_of_job(arguments: Sequence[str]) -> AttachRequest | None:
    """The request in the arguments of a Job or inventory, None if they are not those of render."""
    values: defaultdict[str, list[str]] = defaultdict(list)
    words = iter([word for word in arguments[:1] if word != "attach"] + [*arguments[1:]])
    for word in words:
        option, has_value, value = word.removeprefix("--").partition("=")
        if option in _SWITCHES:
            values[option].append("")
        else:
            values[option].append(value if has_value else next(words, ""))
    try:
        return read_request(
            "".join(values["group"][-1:]),
            values["workload"],
            values["emitted"],
            "",
            "",
            "".join(values["timeout"][-1:]) or "90s",
            release_owner="".join(values["release-owner"][-1:]),
            retired=values["retired"],
            prunes="no-prune" not in values,
            deletes_finished_jobs="delete-finished-jobs" in values,
        )
    except UsageError:
        return None


def named_in(arguments: Iterable[str]) -> Iterator[RevisionRef]:
    """The revisions that arguments name, also those of a later version of postrender."""
    for argument in arguments:
        for word in _SEPARATORS.split(argument):
            kind, _, name = word.partition("/")
            if name and kind in _KIND_TITLES:
                yield kind, name


def _workloads_of_configmap_attacher(rollout: str, config_maps: str) -> list[WantedWorkload]:
    """The workload in the options --rollout and --configmaps of configmap-attacher.

    config_maps: names, separated by commas.
    """
    if bool(rollout) != bool(config_maps):
        given, missing = ("rollout", "configmaps") if rollout else ("configmaps", "rollout")
        raise UsageError(f"--{given} is set without --{missing}", f"Pass --{missing} too")
    if not rollout:
        return []
    names = (name.strip() for name in config_maps.split(","))
    references = tuple(("configmap", name) for name in names if name)
    return [WantedWorkload(NamedObject(ROLLOUTS, rollout), "", references)]


def parse_workload(text: str) -> WantedWorkload:
    """The workload in `Kind/name@RENDERID=configmap/a,secret/b`. `@RENDERID` is optional.

    Like all parsers below, raise ValueError, with a message, for an invalid text.
    """
    match = _WORKLOAD.fullmatch(text)
    if not match:
        raise ValueError(
            f"--workload is {shown(text)}, expected KIND/NAME@ID=configmap/NAME,… such as "
            "Rollout/web@8396ba243e=configmap/web-config-m567dfc6df"
        )
    resource = BY_KIND.get(match["kind"])
    if resource is None:
        raise ValueError(
            f"--workload has the kind {shown(match['kind'])}, expected one of "
            f"{', '.join(sorted(BY_KIND))}"
        )
    return WantedWorkload(
        target=NamedObject(resource, match["name"]),
        render_id=match["id"] or "",
        references=parse_revision_refs(match["references"], "--workload"),
    )


def parse_revision_refs(text: str, option: str) -> tuple[RevisionRef, ...]:
    """The revisions in `configmap/a,secret/b`, the text of an option."""
    refs = []
    for part in filter(None, text.split(",")):
        kind, _, name = part.strip().partition("/")
        if not name or kind.lower() not in _KIND_TITLES:
            raise ValueError(
                f"{option} has the revision {shown(part)}, expected configmap/NAME or secret/NAME"
            )
        refs.append((kind.lower(), name))
    return tuple(refs)


def _all_revision_refs(texts: Sequence[str], option: str) -> frozenset[RevisionRef]:
    return frozenset(ref for text in texts for ref in parse_revision_refs(text, option))


def parse_release_owner(text: str) -> NamedObject | None:
    """The object in a text such as `ServiceAccount/name`, None for ""."""
    if not text:
        return None
    kind, _, name = text.partition("/")
    for resource in RELEASE_OWNER_KINDS:
        if resource.kind == kind and name:
            return NamedObject(resource, name)
    raise ValueError(
        f"--release-owner is {shown(text)}, expected ServiceAccount/NAME, Role/NAME or "
        "ConfigMap/NAME"
    )


def check_group(name: str) -> None:
    """Accept "" and any valid label value."""
    if name and not _LABEL_VALUE.fullmatch(name):
        raise ValueError(
            f'--group is {shown(name)}, expected at most 63 letters, digits, "-", "_" and ".", '
            "with a letter or digit at both ends"
        )


def parse_seconds(text: str) -> float:
    """The seconds in a text such as `90s` or `2m30`."""
    match = _SECONDS.fullmatch(text.strip())
    if not match or not any(match.groups()):
        raise ValueError(f"--timeout is {shown(text)}, expected a time such as 90s or 2m")
    return int(match[1] or 0) * 60 + int(match[2] or 0)


def merge_workloads(workloads: Iterable[WantedWorkload]) -> tuple[WantedWorkload, ...]:
    """One entry, with all references, for each pair of workload and render ID."""
    merged: dict[WantedWorkload, list[RevisionRef]] = defaultdict(list)
    for workload in workloads:
        merged[workload._replace(references=())] += workload.references
    return tuple(
        workload._replace(references=tuple(dict.fromkeys(references)))
        for workload, references in merged.items()
    )
