"""The attacher: a Job that runs `postrender attach`, with ServiceAccount, Role and RoleBinding.

The Job has two forms. A *hook* is a hook of Helm and of Argo CD. A plain *job* is for streams in
which a Sync hook would block Argo CD's sync until the canary is over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postrender import __version__
from postrender.config.settings import AttacherSettings
from postrender.errors import Finding, Location
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item
from postrender.kubernetes.annotations import (
    ARGO_CD_HOOK_ANNOTATION,
    ARGO_CD_HOOK_DELETE_ANNOTATION,
    GROUP_LABEL,
    HELM_HOOK_ANNOTATION,
    HELM_HOOK_DELETE_ANNOTATION,
    SYNC_WAVE_ANNOTATION,
)
from postrender.kubernetes.hashing import HASH_LENGTH, canonical_json, encode_hash
from postrender.kubernetes.kinds import SECRET, WORKLOAD_KINDS, GroupKind, Identity
from postrender.kubernetes.retention import keep_annotations
from postrender.startup.digest import sha256
from postrender.startup.records import NamedTuple
from postrender.yaml.paths import Json
from postrender.yaml.stream import has_content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.attach.request import RevisionRef

HOOK, JOB = "hook", "job"

MAX_NAME_LENGTH = 63
# Linux cannot execute a program with an argument of more than 128 KiB.
NAMES_AN_ARGUMENT = 100
# With a lower TTL (seconds), Helm's --wait-for-jobs may miss the end of the Job.
_MIN_TTL = 300

# Hooks that Argo CD runs before or during the sync (argo-cd 3.2, Helm hooks and its own).
_EARLY_HOOKS = frozenset({"crd-install", "pre-install", "pre-upgrade", "PreSync", "Sync"})

_HOOK_ANNOTATIONS = {
    HELM_HOOK_ANNOTATION: "post-install,post-upgrade,post-rollback",
    HELM_HOOK_DELETE_ANNOTATION: "before-hook-creation",
    ARGO_CD_HOOK_ANNOTATION: "Sync",
    ARGO_CD_HOOK_DELETE_ANNOTATION: "BeforeHookCreation",
}
# A sidecar never ends, so a Job with a sidecar would not end either.
_NO_SIDECARS = {"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled"}
_RESOURCES = {
    "requests": {"cpu": "10m", "memory": "64Mi"},
    "limits": {"cpu": "500m", "memory": "256Mi"},
}


class AttachedWorkload(NamedTuple):
    """A workload and the revisions that its pod templates reference, sorted by kind and name."""

    identity: Identity
    render_id: str
    names: tuple[RevisionRef, ...]
    wave: int


class AttachGroup(NamedTuple):
    """The workloads of one namespace that use revisions, and all revisions of the group.

    namespace: as written in the objects, None if absent;
    emitted: the revisions of the group in the stream, and the originals that stay next to them.
    """

    name: str
    namespace: str | None
    workloads: tuple[AttachedWorkload, ...]
    emitted: tuple[RevisionRef, ...]


def group_name_for(identity: Identity) -> str:
    """Return the name of the group whose first workload this is: at most 52 characters."""
    name = f"{identity.name.replace('.', '-')}-{identity.kind.lower()}-attach"
    longest = MAX_NAME_LENGTH - HASH_LENGTH - 1
    if len(name) <= longest and "." not in identity.name:
        return name
    digest = sha256(f"{identity.kind}/{identity.name}".encode()).hexdigest()[:8]
    tail = f"-{digest}-attach"
    return name[: longest - len(tail)].rstrip("-") + tail


def wave_of(item: Item) -> int:
    """Return the Argo CD sync wave of an object, 0 if the object sets none."""
    text = item.annotations.get(SYNC_WAVE_ANNOTATION, "").strip()
    try:
        return int(text)
    except ValueError:
        return 0


def decide_mode(inventory: Inventory, settings: AttacherSettings) -> tuple[str, str]:
    """Return the form of the Job, `hook` or `job`, and the reason."""
    if settings.mode != "auto":
        return settings.mode, f"attacher.mode is {settings.mode}"
    items = [item for item in inventory.items if not item.is_attacher]
    for item in items:
        early = sorted(_EARLY_HOOKS & set(_hooks(item))) if item.is_hook else []
        if early:
            return JOB, f"{item.identity} is a {early[0]} hook, so a Sync hook would block the sync"
    waves = {wave_of(item) for item in items if not item.is_hook}
    examined = {item.document for item in inventory.items}
    if any(
        index not in examined and has_content(document.text)
        for index, document in enumerate(inventory.stream.documents)
    ):
        waves.add(0)  # documents that were not examined have no sync wave
    if len(waves) > 1:
        listed = ", ".join(map(str, sorted(waves)))
        return JOB, f"the input has the sync waves {listed}, so a Sync hook would block the sync"
    return HOOK, "the input has one sync wave, and no hook that runs before or during the sync"


def _hooks(item: Item) -> list[str]:
    # Argo CD reads Helm's annotation only if its own annotation is absent.
    text = item.annotations.get(ARGO_CD_HOOK_ANNOTATION) or item.annotations.get(
        HELM_HOOK_ANNOTATION, ""
    )
    return [hook.strip() for hook in text.split(",")]


def is_workload_attachable(item: Item) -> bool:
    """Return whether the attacher can see an object's pod templates and wait for them."""
    workload = WORKLOAD_KINDS.get(item.identity.group_kind)
    is_seen = workload is not None and workload.is_namespaced and bool(item.identity.name)
    return is_seen and item.is_rewritable


def attacher_findings(settings: AttacherSettings, mode: str, location: Location) -> list[Finding]:
    """Return the findings about the settings of an attacher that is appended."""
    findings: list[Finding] = []
    if not settings.image:
        findings.append(
            Finding(
                code="attacher-image",
                problem="attacher.image is not set, and no public registry has the default image "
                f"{default_image()}",
                fix="Build the image and load it into the cluster, "
                "or push it and set attacher.image",
                location=location,
            )
        )
    if mode == HOOK and settings.ttl < _MIN_TTL:
        findings.append(
            Finding(
                code="short-ttl",
                problem=f"attacher.ttlSecondsAfterFinished is {settings.ttl}, so the Job may be "
                "deleted before Helm's --wait-for-jobs sees that the Job is finished",
                fix=f"Set attacher.ttlSecondsAfterFinished to {_MIN_TTL} or more",
                location=location,
            )
        )
    return findings


def attacher_objects(
    group: AttachGroup, mode: str, settings: AttacherSettings, kinds: Sequence[GroupKind]
) -> list[dict[str, Json]]:
    """Return the objects of a group: ServiceAccount, Role, RoleBinding, and a Job for each wave."""
    waves = sorted({workload.wave for workload in group.workloads})
    account = settings.service_account or group.name
    role_ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": group.name}
    subject = {"kind": "ServiceAccount", "name": account}
    if group.namespace:
        subject["namespace"] = group.namespace
    rbac = "rbac.authorization.k8s.io/v1"
    annotations = _wave_annotation(waves[0])
    objects = [
        {**_object(rbac, "Role", group, annotations), "rules": _rules(mode, SECRET in kinds)},
        {
            **_object(rbac, "RoleBinding", group, annotations),
            "roleRef": role_ref,
            "subjects": [subject],
        },
        *(_job(group, wave, mode, settings, account) for wave in waves),
    ]
    if settings.creates_service_account:
        objects.insert(0, _object("v1", "ServiceAccount", group, annotations))
    return objects


def _labels(group: AttachGroup) -> dict[str, Json]:
    return {
        "app.kubernetes.io/name": "postrender",
        "app.kubernetes.io/component": "attacher",
        GROUP_LABEL: group.name,
    }


def _wave_annotation(wave: int) -> dict[str, str]:
    return {SYNC_WAVE_ANNOTATION: str(wave)} if wave else {}


def _object(
    api_version: str, kind: str, group: AttachGroup, annotations: Mapping[str, str]
) -> dict[str, Json]:
    metadata: dict[str, Json] = {"name": group.name}
    if group.namespace:
        metadata["namespace"] = group.namespace
    metadata["labels"] = _labels(group)
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _rules(mode: str, with_secrets: bool) -> Json:
    """Return the rules of the Role: exactly the verbs that `postrender attach` uses."""
    watch = ["list", "watch"]
    # Before a ConfigMap is deleted, it is read whole (`get`) to check that nobody has edited it.
    # A Secret is never read whole. Changing owner references may need `delete`
    # (OwnerReferencesPermissionEnforcement).
    secrets = [([""], ["secrets"], ["delete", "list", "patch"])]
    rules = [
        (["apps"], _APPS, watch),
        (["batch"], ["cronjobs"], watch),
        (["batch"], ["jobs"], ["delete", "list"] if mode == JOB else ["list"]),
        (["argoproj.io"], _ARGO, watch),
        ([""], ["podtemplates", "replicationcontrollers"], watch),
        ([""], ["pods"], ["list"]),
        ([""], ["configmaps"], ["delete", "get", "list", "patch"]),
        *(secrets if with_secrets else []),
        ([""], ["events"], ["create"]),
    ]
    return [
        {"apiGroups": groups, "resources": resources, "verbs": verbs}
        for groups, resources, verbs in rules
    ]


_APPS = ["controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"]
_ARGO = ["analysisruns", "analysistemplates", "experiments", "rollouts"]


def _job(
    group: AttachGroup, wave: int, mode: str, settings: AttacherSettings, account: str
) -> dict[str, Json]:
    kept = {key: value for key, value in keep_annotations().items() if key.startswith("argocd.")}
    annotations = {**(_HOOK_ANNOTATIONS if mode == HOOK else kept), **_wave_annotation(wave)}
    job = _object("batch/v1", "Job", group, annotations)
    spec: dict[str, Json] = {
        "backoffLimit": settings.backoff_limit,
        "activeDeadlineSeconds": settings.active_deadline,
    }
    if mode == HOOK:
        spec["ttlSecondsAfterFinished"] = settings.ttl
    template = _pod_template(group, wave, mode, settings, account)
    spec["template"] = merge_patch(template, settings.pod_template)
    job["spec"] = spec
    metadata = job["metadata"]
    if isinstance(metadata, dict):
        unnamed = {**job, "metadata": {key: metadata[key] for key in metadata if key != "name"}}
        metadata["name"] = f"{group.name}-{encode_hash(canonical_json(unnamed))}"
    return job


def _pod_template(
    group: AttachGroup, wave: int, mode: str, settings: AttacherSettings, account: str
) -> dict[str, Json]:
    """Return a pod template that meets the *restricted* Pod Security Standard."""
    container: dict[str, Json] = {
        "name": "attach",
        "image": settings.image or default_image(),
        "args": _arguments(group, wave, mode, settings),
        "resources": _RESOURCES,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    if settings.image_pull_policy:
        container["imagePullPolicy"] = settings.image_pull_policy
    labels = {**_labels(group), **_NO_SIDECARS}
    return {
        "metadata": {"labels": labels, "annotations": _NO_SIDECARS},
        "spec": {
            "serviceAccountName": account,
            "restartPolicy": "Never",
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65532,
                "runAsGroup": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
        },
    }


def default_image() -> str:
    """Return the image that the project's Dockerfile builds; no public registry has it."""
    return f"postrender:{__version__}"


def _arguments(group: AttachGroup, wave: int, mode: str, settings: AttacherSettings) -> list[str]:
    workloads = [workload for workload in group.workloads if workload.wave == wave]
    referenced = {ref for workload in workloads for ref in workload.names}
    arguments = ["attach", "--group", group.name]
    if group.namespace:
        arguments += ["--namespace", group.namespace]
    for workload in workloads:
        title = f"{workload.identity.kind}/{workload.identity.name}@{workload.render_id}"
        for listed in _listed(workload.names):
            arguments += ["--workload", f"{title}={listed}"]
    for listed in _listed([ref for ref in group.emitted if ref not in referenced]):
        arguments += ["--emitted", listed]
    arguments += ["--timeout", f"{settings.timeout}s"]
    arguments += ["--on-failure", "fail" if settings.is_required else "report"]
    return [*arguments, *(["--delete-finished-jobs"] if mode == JOB else [])]


def _listed(refs: Sequence[RevisionRef]) -> list[str]:
    """Return revisions as lists that are short enough for one argument each."""
    names = [f"{kind}/{name}" for kind, name in refs]
    return [
        ",".join(names[start : start + NAMES_AN_ARGUMENT])
        for start in range(0, len(names), NAMES_AN_ARGUMENT)
    ]


def merge_patch(data: Json, patch: Json) -> Json:
    """Return data with a patch merged in: mappings by key, lists of named items by name.

    null removes a key; every other value replaces the existing value.
    """
    if isinstance(data, dict) and isinstance(patch, Mapping):
        merged = {key: merge_patch(data.get(key), value) for key, value in patch.items()}
        both = {**data, **merged}
        return {key: value for key, value in both.items() if patch.get(key, "") is not None}
    if _are_named(data) and _are_named(patch):
        return _merge_named(data, patch)
    if isinstance(patch, Mapping):
        return {key: value for key, value in patch.items() if value is not None}
    return patch


def _are_named(data: Json) -> bool:
    return isinstance(data, list) and all(
        isinstance(item, dict) and "name" in item for item in data
    )


def _merge_named(data: Json, patch: Json) -> list[Json]:
    patches = {item["name"]: item for item in _dicts(patch)}
    merged = [merge_patch(item, patches.pop(item["name"], {})) for item in _dicts(data)]
    return [*merged, *patches.values()]


def _dicts(data: Json) -> list[dict[str, Json]]:
    return [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []
