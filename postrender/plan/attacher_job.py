"""The Job that is appended to a stream, and the ServiceAccount, Role and RoleBinding it runs with.

In the cluster it runs `postrender attach`. Two forms: a *hook* (of Helm and of Argo CD), and a
plain *job* where a Sync hook would make Argo CD hold the sync until the canary is over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postrender import __version__
from postrender.config.settings import AttacherSettings
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

HOOK, JOB = "hook", "job"

MAX_NAME_LENGTH = 63
# One argument of more than 128 KiB cannot be executed on Linux.
NAMES_AN_ARGUMENT = 100

# Hooks that Argo CD runs before or in the sync (argo-cd 3.2, Helm hooks and its own).
_EARLY_HOOKS = frozenset({"crd-install", "pre-install", "pre-upgrade", "PreSync", "Sync"})

_HOOK_ANNOTATIONS = {
    HELM_HOOK_ANNOTATION: "post-install,post-upgrade,post-rollback",
    HELM_HOOK_DELETE_ANNOTATION: "before-hook-creation",
    ARGO_CD_HOOK_ANNOTATION: "Sync",
    ARGO_CD_HOOK_DELETE_ANNOTATION: "BeforeHookCreation",
}
# Sidecars never end, and with them the Job never would.
_NO_SIDECARS = {"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled"}
_RESOURCES = {
    "requests": {"cpu": "10m", "memory": "64Mi"},
    "limits": {"cpu": "500m", "memory": "256Mi"},
}


class AttachedWorkload(NamedTuple):
    """A workload with the revisions its pod templates name, as (kind, name) in their order."""

    identity: Identity
    render_id: str
    names: tuple[tuple[str, str], ...]
    wave: int


class AttachGroup(NamedTuple):
    """The workloads of one stream in one namespace that have revisions, and all those revisions.

    namespace: as written in the objects, None where absent; emitted: every revision of the set in
    the stream, and the originals that stay beside theirs.
    """

    name: str
    namespace: str | None
    workloads: tuple[AttachedWorkload, ...]
    emitted: tuple[tuple[str, str], ...]


def group_name_for(identity: Identity) -> str:
    """Return the name of the set whose first workload this is: at most 52 characters."""
    name = f"{identity.name.replace('.', '-')}-{identity.kind.lower()}-attach"
    longest = MAX_NAME_LENGTH - HASH_LENGTH - 1
    if len(name) <= longest and "." not in identity.name:
        return name
    digest = sha256(f"{identity.kind}/{identity.name}".encode()).hexdigest()[:8]
    tail = f"-{digest}-attach"
    return name[: longest - len(tail)].rstrip("-") + tail


def wave_of(item: Item) -> int:
    """Return the Argo CD sync wave of an object, 0 where it says none."""
    text = item.annotations.get(SYNC_WAVE_ANNOTATION, "").strip()
    try:
        return int(text)
    except ValueError:
        return 0


def decide_mode(inventory: Inventory, settings: AttacherSettings) -> tuple[str, str]:
    """Return the form of the Job, `hook` or `job`, and why."""
    if settings.mode != "auto":
        return settings.mode, f"attacher.mode is {settings.mode}"
    items = [item for item in inventory.items if not item.is_attacher]
    for item in items:
        early = sorted(_EARLY_HOOKS & set(_hooks(item))) if item.is_hook else []
        if early:
            return JOB, f"{item.identity} is a {early[0]} hook, so a Sync hook would hold the sync"
    waves = {wave_of(item) for item in items if not item.is_hook}
    examined = {item.document for item in inventory.items}
    if any(
        index not in examined and has_content(document.text)
        for index, document in enumerate(inventory.stream.documents)
    ):
        waves.add(0)  # what was never read has no wave
    if len(waves) > 1:
        listed = ", ".join(map(str, sorted(waves)))
        return JOB, f"the stream has the sync waves {listed}, so a Sync hook would hold the sync"
    return HOOK, "the stream has one sync wave and no hook that runs before or in the sync"


def _hooks(item: Item) -> list[str]:
    # Argo CD looks at Helm's annotation only where its own is missing.
    own, helms = ARGO_CD_HOOK_ANNOTATION, HELM_HOOK_ANNOTATION
    text = item.annotations.get(own) or item.annotations.get(helms, "")
    return [hook.strip() for hook in text.split(",")]


def attacher_objects(
    attach_set: AttachGroup, mode: str, settings: AttacherSettings, kinds: Sequence[GroupKind]
) -> list[dict[str, Json]]:
    """Return the objects to append for a set: ServiceAccount, Role, RoleBinding, a Job a wave."""
    waves = sorted({workload.wave for workload in attach_set.workloads})
    account = settings.service_account or attach_set.name
    rules = _rules(mode, SECRET in kinds)
    role_ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": attach_set.name}
    subject = {"kind": "ServiceAccount", "name": account}
    if attach_set.namespace:
        subject["namespace"] = attach_set.namespace
    rbac = "rbac.authorization.k8s.io/v1"
    annotations = _wave_annotation(waves[0])
    own_account = [_object("v1", "ServiceAccount", attach_set, annotations)]
    return [
        *(own_account if settings.creates_service_account else []),
        {**_object(rbac, "Role", attach_set, annotations), "rules": rules},
        {
            **_object(rbac, "RoleBinding", attach_set, annotations),
            "roleRef": role_ref,
            "subjects": [subject],
        },
        *(_job(attach_set, wave, mode, settings, account) for wave in waves),
    ]


def _labels(attach_set: AttachGroup) -> dict[str, Json]:
    return {
        "app.kubernetes.io/name": "postrender",
        "app.kubernetes.io/component": "attacher",
        GROUP_LABEL: attach_set.name,
    }


def _wave_annotation(wave: int) -> dict[str, str]:
    return {SYNC_WAVE_ANNOTATION: str(wave)} if wave else {}


def _object(
    api_version: str, kind: str, attach_set: AttachGroup, annotations: Mapping[str, str]
) -> dict[str, Json]:
    metadata: dict[str, Json] = {"name": attach_set.name}
    if attach_set.namespace:
        metadata["namespace"] = attach_set.namespace
    metadata["labels"] = _labels(attach_set)
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _rules(mode: str, with_secrets: bool) -> Json:
    """Return what the attacher may do: every verb here is one that `postrender attach` uses."""
    watch = ["list", "watch"]
    # A ConfigMap is read whole before it is deleted, to see that nobody has edited it; a Secret
    # never is. Changing owner references may need `delete` (OwnerReferencesPermissionEnforcement).
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
    attach_set: AttachGroup, wave: int, mode: str, settings: AttacherSettings, account: str
) -> dict[str, Json]:
    kept = {key: value for key, value in keep_annotations().items() if key.startswith("argocd.")}
    annotations = {**(_HOOK_ANNOTATIONS if mode == HOOK else kept), **_wave_annotation(wave)}
    job = _object("batch/v1", "Job", attach_set, annotations)
    spec: dict[str, Json] = {
        "backoffLimit": settings.backoff_limit,
        "activeDeadlineSeconds": settings.active_deadline,
    }
    if mode == HOOK:
        spec["ttlSecondsAfterFinished"] = settings.ttl
    template = _pod_template(attach_set, wave, mode, settings, account)
    spec["template"] = merge_patch(template, settings.pod_template)
    job["spec"] = spec
    metadata = job["metadata"]
    if isinstance(metadata, dict):
        unnamed = {**job, "metadata": {key: metadata[key] for key in metadata if key != "name"}}
        metadata["name"] = f"{attach_set.name}-{encode_hash(canonical_json(unnamed))}"
    return job


def _pod_template(
    attach_set: AttachGroup, wave: int, mode: str, settings: AttacherSettings, account: str
) -> dict[str, Json]:
    """Return a pod template that the *restricted* Pod Security Standard lets pass."""
    container: dict[str, Json] = {
        "name": "attach",
        "image": settings.image or default_image(),
        "args": _arguments(attach_set, wave, mode, settings),
        "resources": _RESOURCES,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    if settings.image_pull_policy:
        container["imagePullPolicy"] = settings.image_pull_policy
    labels = {**_labels(attach_set), **_NO_SIDECARS}
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
    """Return the image that the project's Dockerfile builds, which no public registry has."""
    return f"postrender:{__version__}"


def _arguments(
    attach_set: AttachGroup, wave: int, mode: str, settings: AttacherSettings
) -> list[str]:
    workloads = [workload for workload in attach_set.workloads if workload.wave == wave]
    named = {name for workload in workloads for name in workload.names}
    emitted = [f"{kind}/{name}" for kind, name in attach_set.emitted if (kind, name) not in named]
    arguments = ["attach", "--group", attach_set.name]
    if attach_set.namespace:
        arguments += ["--namespace", attach_set.namespace]
    for workload in workloads:
        identity = f"{workload.identity.kind}/{workload.identity.name}@{workload.render_id}"
        names = [f"{kind}/{name}" for kind, name in workload.names]
        for part in _parts(names):
            arguments += ["--workload", f"{identity}={','.join(part)}"]
    for part in _parts(emitted):
        arguments += ["--emitted", ",".join(part)]
    arguments += ["--timeout", f"{settings.timeout}s"]
    arguments += ["--on-failure", "fail" if settings.is_required else "report"]
    return [*arguments, *(["--delete-finished-jobs"] if mode == JOB else [])]


def _parts(names: Sequence[str]) -> list[Sequence[str]]:
    return [names[at : at + NAMES_AN_ARGUMENT] for at in range(0, len(names), NAMES_AN_ARGUMENT)]


def merge_patch(data: Json, patch: Json) -> Json:
    """Return data with a patch merged: mappings by key, lists of named items by name.

    null takes a key away; any other value replaces what is there.
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


def is_workload_attachable(item: Item) -> bool:
    """Tell whether an object's pod templates are seen and waited for by the attacher."""
    workload = WORKLOAD_KINDS.get(item.identity.group_kind)
    is_seen = workload is not None and workload.is_namespaced and bool(item.identity.name)
    return is_seen and item.is_rewritable
