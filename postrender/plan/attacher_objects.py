"""The Kubernetes objects that every attacher needs: an account, a Role and a pod template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postrender import __version__
from postrender.config.settings import EXTERNAL, AttacherSettings
from postrender.errors import Location, UserError
from postrender.kubernetes.annotations import GROUP_LABEL
from postrender.kubernetes.kinds import RBAC_GROUP
from postrender.yaml.edits import merge_patch
from postrender.yaml.paths import Json, mappings_in, value_at

HOOK, JOB = "hook", "job"
_CONTAINER = "attach"
# These annotations and labels stop the injection of sidecars, because a Job with a sidecar does
# not end.
_NO_SIDECARS = {"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled"}
_RESOURCES = {
    "requests": {"cpu": "10m", "memory": "64Mi"},
    "limits": {"cpu": "500m", "memory": "256Mi"},
}
SECRET_RULE: dict[str, Json] = {
    "apiGroups": [""],
    "resources": ["secrets"],
    "verbs": ["delete", "list", "patch"],
}
_APPS = ["controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"]
_ARGO = ["analysisruns", "analysistemplates", "experiments", "rollouts"]


def labels_of(group_name: str = "") -> dict[str, Json]:
    """The labels of an object of the attacher; group_name: as in metadata_of."""
    labels: dict[str, Json] = {
        "app.kubernetes.io/name": "postrender",
        "app.kubernetes.io/component": "attacher",
    }
    return {**labels, GROUP_LABEL: group_name} if group_name else labels


def metadata_of(name: str, namespace: str | None, group_name: str = "") -> dict[str, Json]:
    """The metadata of an object of the attacher.

    group_name: "" for an object that all attach groups share.
    """
    metadata: dict[str, Json] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    return {**metadata, "labels": labels_of(group_name)}


def service_account(metadata: Mapping[str, Json]) -> dict[str, Json]:
    """A ServiceAccount for attachers.

    Only a Pod with `automountServiceAccountToken: true`, such as the attacher's, gets its token.
    """
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata,
        "automountServiceAccountToken": False,
    }


def role_objects(
    metadata: Mapping[str, Json], account: str, rules: Sequence[Json], scope: str = ""
) -> list[dict[str, Json]]:
    """A Role, and its RoleBinding to the ServiceAccount `account` in the same namespace.

    scope: "Cluster" for a ClusterRole and a ClusterRoleBinding.
    """
    subject: dict[str, Json] = {"kind": "ServiceAccount", "name": account}
    if "namespace" in metadata:
        subject["namespace"] = metadata["namespace"]
    if scope:
        metadata = {key: value for key, value in metadata.items() if key != "namespace"}
    version, role = f"{RBAC_GROUP}/v1", f"{scope}Role"
    return [
        {"apiVersion": version, "kind": role, "metadata": metadata, "rules": rules},
        {
            "apiVersion": version,
            "kind": f"{role}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC_GROUP, "kind": role, "name": metadata["name"]},
            "subjects": [subject],
        },
    ]


def role_rules(mode: str, with_secrets: bool) -> list[Json]:
    """The rules of the Role, which permit only the requests of `postrender attach`.

    The rules for the mode JOB are sufficient for both forms. Those for EXTERNAL are for `collect`.
    """
    watch = ["list"] if mode == EXTERNAL else ["list", "watch"]
    # Before attach changes or deletes a ConfigMap, attach gets the ConfigMap, and compares the
    # content with the hash in the name. attach does not get Secrets. With the admission plugin
    # OwnerReferencesPermissionEnforcement, a change of owner references needs `delete`.
    rules: list[Json] = [
        {"apiGroups": groups, "resources": resources, "verbs": verbs}
        for groups, resources, verbs in (
            (["apps"], _APPS, watch),
            (["batch"], ["cronjobs"], watch),
            (["batch"], ["jobs"], ["delete", "list"] if mode == JOB else ["list"]),
            (["argoproj.io"], _ARGO, watch),
            ([""], ["podtemplates", "replicationcontrollers"], watch),
            ([""], ["pods"], ["list"]),
            ([""], ["configmaps"], ["delete", "get", "list", "patch"]),
            ([""], ["events"], ["create"]),
        )
    ]
    if with_secrets:
        rules.insert(-1, SECRET_RULE)
    return rules


def pod_template(
    labels: Mapping[str, Json], account: str, arguments: Sequence[str], settings: AttacherSettings
) -> Json:
    """The pod template of a Job that runs postrender.

    It meets the *restricted* Pod Security Standard, if attacher.podTemplate does not change this.
    """
    container: dict[str, Json] = {
        "name": _CONTAINER,
        "image": settings.image or default_image(),
        "args": list(arguments),
        "resources": _RESOURCES,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    if settings.image_pull_policy:
        container["imagePullPolicy"] = settings.image_pull_policy
    template: Json = {
        "metadata": {"labels": {**labels, **_NO_SIDECARS}, "annotations": _NO_SIDECARS},
        "spec": {
            "serviceAccountName": account,
            "automountServiceAccountToken": True,
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
    return merge_patch(template, settings.pod_template)


def default_image() -> str:
    """The name of the image that the Dockerfile builds. Public registries lack it.

    A preview has it if the settings have no image.
    """
    return f"postrender:{__version__}"


def has_image(settings: AttacherSettings) -> bool:
    """Whether `attacher.image` or `attacher.podTemplate` sets the image, or none is needed."""
    if settings.is_external:
        return True
    container: Json = {"name": _CONTAINER, "image": settings.image}
    template = merge_patch({"spec": {"containers": [container]}}, settings.pod_template)
    containers = mappings_in(value_at(template, ("spec", "containers")))
    return any(item.get("name") == _CONTAINER and item.get("image") for item in containers)


def check_image(settings: AttacherSettings, location: Location) -> None:
    """Raise UserError without an image, because a Job that cannot start can fail a release."""
    if not has_image(settings):
        raise UserError(
            "attacher.image is not set, and public registries do not have the attacher's image",
            "Set attacher.image (or pass --attacher-image) to your copy of the image, or to "
            f"{default_image()} if the nodes of the cluster have this image. Without a Job, set "
            "attacher.mode to external, or attacher.enabled to false",
            location,
        )
