"""The attacher: a Job that runs `postrender attach`, and its ServiceAccount, Role and RoleBinding.

With `attacher.mode: external`, the attacher is only an inventory, for `postrender collect`.
Otherwise the Job has one of two forms, which `attacher.mode` selects. The form *hook* is a hook of
Helm and of Argo CD. The form *job* is an ordinary Job. For some streams, a Sync hook would block
Argo CD's sync until a canary ends, and with Helm 4, a hook whose Pod does not start fails the
release. The mode `auto` selects *job* for these streams, else *hook*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from postrender.config.settings import EXTERNAL, AttacherSettings
from postrender.errors import Finding, Location, UserError
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item
from postrender.kubernetes.annotations import (
    ARGO_CD_HOOK_ANNOTATION,
    ARGO_CD_HOOK_DELETE_ANNOTATION,
    HELM_HOOK_ANNOTATION,
    HELM_HOOK_DELETE_ANNOTATION,
    INVENTORY_LABEL,
    JOB_LABEL,
    SYNC_WAVE_ANNOTATION,
    keep_annotations,
)
from postrender.kubernetes.attach_groups import inventory_arguments, inventory_data, inventory_name
from postrender.kubernetes.hashing import JOB_HASH_LENGTH, canonical_json, encode_hash
from postrender.kubernetes.kinds import MAX_CONTENT_SIZE, RBAC_GROUP, Identity
from postrender.plan.attacher_objects import (
    HOOK,
    JOB,
    SECRET_RULE,
    labels_of,
    metadata_of,
    pod_template,
    role_objects,
    role_rules,
    service_account,
)
from postrender.records import NamedTuple
from postrender.yaml.edits import merge_patch
from postrender.yaml.paths import Json, value_at
from postrender.yaml.stream import has_content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.attach.request import RevisionRef

_ARGUMENTS = ("spec", "template", "spec", "containers", 0, "args")

# Linux cannot execute a program with an argument of more than 128 KiB. 100 names of the maximum
# length take 26 KiB.
_MAX_NAMES_PER_ARGUMENT = 100
# If the TTL is lower, Helm's --wait-for-jobs can miss the end of the Job.
_MIN_TTL_SECONDS = 300

# The hooks of Helm and of Argo CD that Argo CD runs before or during the sync (argo-cd 3.2).
_EARLY_HOOKS = frozenset({"crd-install", "pre-install", "pre-upgrade", "PreSync", "Sync"})
_BLOCKED = "so a Sync hook would block the sync of Argo CD"
# Measured with Helm 4.3.1: a hook Job whose Pod cannot start fails the release with every --wait
# strategy, and with --rollback-on-failure the rollback too. An ordinary Job fails the release only
# with --wait-for-jobs. Helm 3 passes no hooks, and applies an appended hook as an ordinary Job.
_FAILS = "fails a release if the Pod of a hook does not start"

_HOOK_ANNOTATIONS = {
    HELM_HOOK_ANNOTATION: "post-install,post-upgrade,post-rollback",
    HELM_HOOK_DELETE_ANNOTATION: "before-hook-creation",
    ARGO_CD_HOOK_ANNOTATION: "Sync",
    ARGO_CD_HOOK_DELETE_ANNOTATION: "BeforeHookCreation",
}


class AttachedWorkload(NamedTuple):
    """A workload of an attach group, or a Rollout with a workloadRef to a workload of the group.

    Such a Rollout has the render ID and the names of the referenced workload.
    names: the revisions that the pod templates use, sorted by kind and name.
    wave: the Argo CD sync wave.
    """

    identity: Identity
    render_id: str
    names: tuple[RevisionRef, ...]
    wave: int


class AttachGroup(NamedTuple):
    """The revisions of one attach group, and the workloads that use these revisions.

    emitted: the revisions of the group in the output, retained ones included, and the originals
        that stay in the output.
    retired: the revisions of Secrets that the attacher deletes after their last use, because the
        setting `secrets` is now false.
    first_wave: the lowest Argo CD sync wave of the output.
    """

    name: str
    namespace: str | None
    workloads: tuple[AttachedWorkload, ...]
    emitted: tuple[RevisionRef, ...]
    retired: tuple[RevisionRef, ...] = ()
    first_wave: int = 0

    @property
    def has_secrets(self) -> bool:
        return any(kind == "secret" for kind, _ in self.emitted)


def wave_of(item: Item) -> int:
    """The Argo CD sync wave of an object, 0 if the wave is absent or invalid."""
    text = item.annotations.get(SYNC_WAVE_ANNOTATION)
    if not text:
        return 0  # Most objects do not have the annotation.
    try:
        return int(text.strip())
    except ValueError:
        return 0


def decide_mode(inventory: Inventory, settings: AttacherSettings) -> tuple[str, str]:
    """The form of the Job (HOOK or JOB) or EXTERNAL, and the reason as a clause."""
    if settings.mode != "auto":
        return settings.mode, f"attacher.mode is {settings.mode}"
    items = [item for item in inventory.items if not item.is_attacher]
    for item in items:
        early = sorted(_EARLY_HOOKS & set(_hooks(item))) if item.is_hook else []
        if early:
            return JOB, f"{item.identity} is a {early[0]} hook, {_BLOCKED}"
    waves = {wave_of(item) for item in items if not item.is_hook}
    if 0 not in waves:
        examined = {item.document for item in inventory.items}
        if any(
            index not in examined and has_content(text)
            for index, text in enumerate(inventory.stream.texts)
        ):
            waves.add(0)  # Objects in unexamined documents do not set a wave, which means wave 0.
    if len(waves) > 1:
        listed = ", ".join(map(str, sorted(waves)))
        return JOB, f"the input has the sync waves {listed}, {_BLOCKED}"
    if inventory.is_from_helm_4 and not settings.is_required:
        return JOB, f"the input is from Helm 4, which {_FAILS}"
    listed = f"has only the sync wave {min(waves)}" if any(waves) else "does not have sync waves"
    reason = f"the input {listed} of Argo CD, and does not have a hook before or during the sync"
    return HOOK, reason


def _hooks(item: Item) -> list[str]:
    # Argo CD reads Helm's annotation only if Argo CD's own annotation is absent.
    text = item.annotations.get(ARGO_CD_HOOK_ANNOTATION) or item.annotations.get(
        HELM_HOOK_ANNOTATION, ""
    )
    return [hook.strip() for hook in text.split(",")]


def attacher_findings(
    settings: AttacherSettings, mode: str, location: Location
) -> Iterator[Finding]:
    """The findings about the settings of the appended attacher."""
    if mode == HOOK and settings.ttl < _MIN_TTL_SECONDS:
        yield Finding(
            code="short-ttl",
            problem=f"attacher.ttlSecondsAfterFinished is {settings.ttl}, so Kubernetes may "
            "delete the Job while helm --wait-for-jobs still waits for the Job",
            fix=f"Set attacher.ttlSecondsAfterFinished to {_MIN_TTL_SECONDS} or more",
            location=location,
        )


def attacher_objects(
    group: AttachGroup, mode: str, settings: AttacherSettings
) -> list[dict[str, Json]]:
    """The inventory, or the ServiceAccount, the Role, the RoleBinding and a Job for each sync wave.

    The settings `attacher.serviceAccount` and `attacher.rbac` can turn off all but the Jobs.
    """
    if mode == EXTERNAL:
        return [_inventory(group, settings)]
    waves = sorted({workload.wave for workload in group.workloads} or {0})
    account = settings.account_of(group.name)
    metadata = _group_metadata(group, _wave_annotation(waves[0]))
    objects: list[dict[str, Json]] = []
    if settings.appends_service_account:
        objects.append(service_account({**metadata, "name": account}))
    if settings.creates_rbac:
        objects += role_objects(metadata, account, _rules(group, mode, settings))
    return [*objects, *(_job(group, wave, mode, settings) for wave in waves)]


def _wave_annotation(wave: int) -> dict[str, str]:
    return {SYNC_WAVE_ANNOTATION: str(wave)} if wave else {}


def _group_metadata(group: AttachGroup, annotations: Mapping[str, str]) -> dict[str, Json]:
    metadata = metadata_of(group.name, group.namespace, group.name)
    return {**metadata, "annotations": annotations} if annotations else metadata


def lasting_objects(settings: AttacherSettings, group: AttachGroup) -> list[str]:
    """The attacher's objects that exist as long as the release exists, as `Kind/name`.

    Each of these objects can own the revisions of the group. An owner reference contains the uid of
    the owner. The ServiceAccount is first, because the token in the Job's Pod contains its uid. For
    a Role, `attach` must read the uid from the API server.
    """
    if settings.is_external:
        return [f"ConfigMap/{inventory_name(group.name)}"]
    objects = []
    if settings.appends_service_account:
        objects.append(f"ServiceAccount/{settings.account_of(group.name)}")
    if settings.creates_rbac:
        objects.append(f"Role/{group.name}")
    return objects


def release_owner_of(settings: AttacherSettings, group: AttachGroup) -> str:
    """The release owner as `Kind/name`, "" if the settings turn off both objects."""
    return next(iter(lasting_objects(settings, group)), "")


def _rules(group: AttachGroup, mode: str, settings: AttacherSettings) -> list[Json]:
    rules = role_rules(mode, group.has_secrets)
    if group.retired:
        retired: Json = {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": [name for _, name in group.retired],
            "verbs": SECRET_RULE["verbs"],
        }
        rules.insert(-1, retired)
    if not release_owner_of(settings, group).startswith("Role/"):
        return rules
    own_role: Json = {
        "apiGroups": [RBAC_GROUP],
        "resources": ["roles"],
        "resourceNames": [group.name],
        "verbs": ["get"],
    }
    return [*rules, own_role]


def _inventory(group: AttachGroup, settings: AttacherSettings) -> dict[str, Json]:
    name = inventory_name(group.name)
    arguments = _arguments(group, group.workloads, settings)
    arguments += [] if settings.prunes else ["--no-prune"]
    data = inventory_data(arguments)
    if len(str(data)) > MAX_CONTENT_SIZE:
        raise UserError(
            f"ConfigMap/{name}, the inventory of {len(group.emitted)} revisions, is larger than "
            "1 MiB, which Kubernetes does not accept",
            "Lower history.keep, or split the release",
        )
    metadata = metadata_of(name, group.namespace)
    metadata["labels"] = {**labels_of(), INVENTORY_LABEL: group.name}
    if group.first_wave:
        metadata["annotations"] = _wave_annotation(group.first_wave)
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def arguments_of(data: Mapping[str, Json]) -> list[str]:
    """The arguments in an inventory or in an attacher's Job, [] in another object."""
    arguments = inventory_arguments(data) or value_at(data, _ARGUMENTS)
    return list(map(str, arguments)) if isinstance(arguments, list) else []


def _job(group: AttachGroup, wave: int, mode: str, settings: AttacherSettings) -> dict[str, Json]:
    kept = {key: value for key, value in keep_annotations().items() if key.startswith("argocd.")}
    annotations = {**(_HOOK_ANNOTATIONS if mode == HOOK else kept), **_wave_annotation(wave)}
    metadata = _group_metadata(group, annotations)
    spec: dict[str, Json] = {
        "backoffLimit": settings.backoff_limit,
        "activeDeadlineSeconds": settings.active_deadline,
    }
    if mode == HOOK:
        spec["ttlSecondsAfterFinished"] = settings.ttl
    arguments = _job_arguments(group, wave, mode, settings)
    account = settings.account_of(group.name)
    spec["template"] = pod_template(labels_of(group.name), account, arguments, settings)
    job: dict[str, Json] = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": spec,
    }
    unnamed = {key: value for key, value in metadata.items() if key != "name"}
    digest = encode_hash(canonical_json({**job, "metadata": unnamed}), JOB_HASH_LENGTH)
    metadata["name"] = f"{group.name}-{digest}"
    _select_pods(spec, {JOB_LABEL: digest})
    return job


def _select_pods(spec: dict[str, Json], labels: dict[str, Json]) -> None:
    """Set the selector of a Job, and the labels of its Pods.

    The API server would otherwise generate both, and they are immutable. A rollback with Helm 3.22
    would try to remove them from the live Job, and would fail.
    """
    spec["manualSelector"] = True
    spec["selector"] = {"matchLabels": labels}
    spec["template"] = merge_patch(spec["template"], {"metadata": {"labels": labels}})


def _job_arguments(
    group: AttachGroup, wave: int, mode: str, settings: AttacherSettings
) -> list[str]:
    workloads = [workload for workload in group.workloads if workload.wave == wave]
    arguments = ["attach", *_arguments(group, workloads, settings)]
    arguments += ["--timeout", f"{settings.timeout}s"]
    arguments += ["--on-failure", "fail" if settings.is_required else "report"]
    arguments += [] if settings.prunes else ["--no-prune"]
    return [*arguments, *(["--delete-finished-jobs"] if mode == JOB else [])]


def _arguments(
    group: AttachGroup, workloads: Sequence[AttachedWorkload], settings: AttacherSettings
) -> list[str]:
    """The arguments that a Job and an inventory have in common."""
    referenced = {ref for workload in workloads for ref in workload.names}
    arguments = ["--group", group.name]
    if group.namespace:
        arguments += ["--namespace", group.namespace]
    # An object can be in the input twice, with and without its namespace.
    wanted = dict.fromkeys(
        f"{one.identity.kind}/{one.identity.name}@{one.render_id}={ref_list}"
        for one in workloads
        for ref_list in _ref_lists(one.names)
    )
    for text in wanted:
        arguments += ["--workload", text]
    for ref_list in _ref_lists([ref for ref in group.emitted if ref not in referenced]):
        arguments += ["--emitted", ref_list]
    for ref_list in _ref_lists(group.retired):
        arguments += ["--retired", ref_list]
    owner = release_owner_of(settings, group)
    return [*arguments, *(["--release-owner", owner] if owner else [])]


def _ref_lists(refs: Sequence[RevisionRef]) -> list[str]:
    names = [f"{kind}/{name}" for kind, name in refs]
    return [
        ",".join(names[start : start + _MAX_NAMES_PER_ARGUMENT])
        for start in range(0, len(names), _MAX_NAMES_PER_ARGUMENT)
    ]
