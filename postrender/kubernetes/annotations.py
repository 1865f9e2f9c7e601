"""The labels and annotations of postrender, and the annotations and placeholders of other tools.

The prefix `postrender` has the syntax of a DNS subdomain, as Kubernetes requires. It is not a
domain such as `postrender.dev`, because somebody else could register the domain. It must not
change: with a new prefix, attach would not recognise the live revisions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from postrender.kubernetes.kinds import SECRET, GroupKind, strings_at
from postrender.text import decoded
from postrender.yaml.paths import Json, mapping_at

PREFIX = "postrender/"

# Users set this annotation to "false" on an object whose references must not change.
REWRITE_ANNOTATION = PREFIX + "rewrite-references"
# Users set these annotations on a ConfigMap or Secret.
STRATEGY_ANNOTATION = PREFIX + "strategy"
KEEP_ORIGINAL_ANNOTATION = PREFIX + "keep-original"
MOUNT_PATH_ANNOTATION = PREFIX + "mount-path"
ENV_FROM_ANNOTATION = PREFIX + "env-from"
MOUNT_IN_ANNOTATION = PREFIX + "mount-in"
CONTAINERS_ANNOTATION = PREFIX + "containers"
USER_ANNOTATIONS = (
    STRATEGY_ANNOTATION,
    KEEP_ORIGINAL_ANNOTATION,
    MOUNT_PATH_ANNOTATION,
    ENV_FROM_ANNOTATION,
    MOUNT_IN_ANNOTATION,
    CONTAINERS_ANNOTATION,
    REWRITE_ANNOTATION,
)

# render sets these on a revision. It also sets GROUP_LABEL on the objects of the attacher, as adopt
# does on a live original.
GROUP_LABEL = PREFIX + "attach-group"
BASE_NAME_ANNOTATION = PREFIX + "base-name"
# Only on a revision that later outputs retain.
NUMBER_ANNOTATION = PREFIX + "revision-number"
# "false" on a revision that the attacher must not delete; adopt copies it to the live original.
SWEEP_ANNOTATION = PREFIX + "sweep"
# Users set this annotation to "false" on live revisions to stop their deletion for now. It is not
# SWEEP_ANNOTATION, because whoever removes it again must not remove a protection by render.
PRUNE_ANNOTATION = PREFIX + "prune"
KEEP_ANNOTATIONS = (PRUNE_ANNOTATION, SWEEP_ANNOTATION)
# KEYED_HASH on the revision of a Secret, if a hash key is configured. Only somebody with the key
# can check the hash in the name. KUSTOMIZE_HASH on a ConfigMap that already had its name, and that
# can be mutable.
HASH_ANNOTATION = PREFIX + "hash"
KEYED_HASH, KUSTOMIZE_HASH = "hmac-sha256", "kustomize"
# On a revision: "true", or BY_INVENTORY if its release has an inventory. A mark removes the
# annotation, so a marked revision with the annotation has been applied again.
APPLIED_ANNOTATION = PREFIX + "applied"
BY_INVENTORY = "external"
# The attach group of an inventory (see the module `inventories`).
INVENTORY_LABEL = PREFIX + "inventory"
# Users set this label to "true" on a ConfigMap of another tool that `collect` may delete.
COLLECT_LABEL = PREFIX + "collect"
# On the Pods of the attacher, and in the selector of the attacher Job.
JOB_LABEL = PREFIX + "attach-job"

# render sets this annotation on a workload. Its controller copies it to each ReplicaSet or
# ControllerRevision. In a pod template, a change of the annotation would roll the workload.
RENDER_ID_ANNOTATION = PREFIX + "render-id"
# render sets this annotation on a pod template.
CHECKSUM_ANNOTATION = PREFIX + "checksum"

# attach sets this annotation on an unused revision, with a time such as 2026-01-31T12:00:00Z.
UNUSED_ANNOTATION = PREFIX + "unused-since"

# helm-diff (3.5.0 and later) compares two objects with the same value of this annotation.
PAIRING_ANNOTATION = "helm-diff/base-name"
# Helm 4 adds annotations with this prefix to the input of a post-renderer (pkg/action/action.go).
# The value of HELM_FILENAME_ANNOTATION is the path of the chart template.
HELM_POSTRENDERER_PREFIX = "postrenderer.helm.sh/"
HELM_FILENAME_ANNOTATION = HELM_POSTRENDERER_PREFIX + "postrender-filename"
# With the value `keep`, Helm does not delete a live object that the new manifests lack.
RESOURCE_POLICY_ANNOTATION = "helm.sh/resource-policy"
HELM_HOOK_ANNOTATION = "helm.sh/hook"
HELM_HOOK_DELETE_ANNOTATION = "helm.sh/hook-delete-policy"
ARGO_CD_HOOK_ANNOTATION = "argocd.argoproj.io/hook"
ARGO_CD_HOOK_DELETE_ANNOTATION = "argocd.argoproj.io/hook-delete-policy"
HOOK_ANNOTATIONS = (HELM_HOOK_ANNOTATION, ARGO_CD_HOOK_ANNOTATION)
SYNC_WAVE_ANNOTATION = "argocd.argoproj.io/sync-wave"
SYNC_OPTIONS_ANNOTATION = "argocd.argoproj.io/sync-options"
COMPARE_OPTIONS_ANNOTATION = "argocd.argoproj.io/compare-options"
FLUX_PRUNE_ANNOTATION = "kustomize.toolkit.fluxcd.io/prune"
# Argo CD adds this annotation to the manifests that a chart renders.
TRACKING_ANNOTATION = "argocd.argoproj.io/tracking-id"
LAST_APPLIED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"

_KNOWN = frozenset(
    {
        *USER_ANNOTATIONS,
        GROUP_LABEL,
        INVENTORY_LABEL,
        JOB_LABEL,
        COLLECT_LABEL,
        BASE_NAME_ANNOTATION,
        NUMBER_ANNOTATION,
        SWEEP_ANNOTATION,
        PRUNE_ANNOTATION,
        HASH_ANNOTATION,
        APPLIED_ANNOTATION,
        RENDER_ID_ANNOTATION,
        CHECKSUM_ANNOTATION,
        UNUSED_ANNOTATION,
    }
)

_KEEP = {
    RESOURCE_POLICY_ANNOTATION: "keep",
    SYNC_OPTIONS_ANNOTATION: "Prune=false",
    COMPARE_OPTIONS_ANNOTATION: "IgnoreExtraneous",
    FLUX_PRUNE_ANNOTATION: "disabled",
}
# The annotations whose value is a comma-separated list of options.
_OPTION_LISTS = (SYNC_OPTIONS_ANNOTATION, COMPARE_OPTIONS_ANNOTATION)


def is_unknown(annotation: str) -> bool:
    """Whether an annotation has the prefix of postrender, but is not one of its annotations."""
    return annotation.startswith(PREFIX) and annotation not in _KNOWN


def keep_annotations() -> dict[str, str]:
    """The annotations that stop Helm, Argo CD and Flux from deleting an object.

    All are set together, so that the output does not depend on the tool. Argo CD needs two:
    `Prune=false` keeps the object, and without `IgnoreExtraneous` the Application would be
    OutOfSync.
    """
    return dict(_KEEP)


def without_keep(annotations: Mapping[str, str]) -> dict[str, str]:
    """Annotations without keep_annotations(), and without these options in lists of options."""
    rest = {key: value for key, value in annotations.items() if value != _KEEP.get(key)}
    for key in _OPTION_LISTS:
        options = _options(rest.get(key, ""))
        others = [option for option in options if option != _KEEP[key]]
        if others:
            rest[key] = ",".join(others)
        elif options:
            del rest[key]
    return rest


def changed_values(current: Mapping[str, str], desired: Mapping[str, str]) -> dict[str, str]:
    """The labels or annotations to write, so that an object has the desired values.

    To a list of options, the desired option is added, and only a contrary one such as `Prune=true`
    is removed.
    """
    merged = {
        key: _with_option(current[key], value) if key in current and key in _OPTION_LISTS else value
        for key, value in desired.items()
    }
    return {key: value for key, value in merged.items() if current.get(key) != value}


def _with_option(text: str, option: str) -> str:
    """Set an option in a comma-separated list: `Prune=false` replaces `Prune=true`."""
    options = _options(text)
    if option in options:
        return text
    name = option.partition("=")[0]
    kept = [part for part in options if part.partition("=")[0] != name]
    return ",".join([*kept, option])


def _options(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


# The program of each annotation that permits or requests copies if it is true. Sources:
# emberstack/kubernetes-reflector README.md
# mittwald/kubernetes-replicator replicate/common/consts.go
_COPY_SWITCHES = {
    "reflector.v1.k8s.emberstack.com/reflection-allowed": "Reflector",
    "reflector.v1.k8s.emberstack.com/reflection-auto-enabled": "Reflector",
    "replicator.v1.mittwald.de/replication-allowed": "kubernetes-replicator",
}
# The program of each annotation that contains the namespaces of the copies.
_NAMESPACES = {
    "replicator.v1.mittwald.de/replicate-to": "kubernetes-replicator",
    "replicator.v1.mittwald.de/replicate-to-matching": "kubernetes-replicator",
}
# The value of this annotation selects namespaces by their labels. "" selects all namespaces.
# Source: config-syncer/config-syncer (formerly appscode/kubed) apis/kubed/v1alpha1/types.go
_KUBED = "kubed.appscode.com/sync"


def copier_of(annotations: Mapping[str, str]) -> tuple[str, str]:
    """The program that can copy an object to other namespaces, and the annotation that lets it.

    A rename would break the copies, because a copy has or references the name of the copied object.
    ("", "") if no annotation permits or requests copies.
    """
    for name, value in annotations.items():
        if name in _COPY_SWITCHES and is_true(value):
            return _COPY_SWITCHES[name], name
        if name in _NAMESPACES and value:
            return _NAMESPACES[name], name
        if name == _KUBED:
            return "kubed", name
    return "", ""


_SERVICE_CA = "the service CA operator of OpenShift"
_GENERATOR = "kubernetes-secret-generator"
# The program of each annotation or label that requests data if it is true. Sources:
# openshift/service-ca-operator pkg/controller/api/api.go
# openshift/cluster-network-operator pkg/names/names.go, pkg/controller/configmap_ca_injector
_FILL_SWITCHES = {
    "service.beta.openshift.io/inject-cabundle": _SERVICE_CA,
    "service.alpha.openshift.io/inject-cabundle": _SERVICE_CA,
    "config.openshift.io/inject-trusted-cabundle": "the network operator of OpenShift",
}
# The same, only for a Secret. Sources:
# bitnami-labs/sealed-secrets pkg/apis/sealedsecrets/v1alpha1/types.go
# isindir/sops-secrets-operator api/v1alpha3/sopssecret_types.go
# external-secrets/external-secrets apis/externalsecrets/v1/externalsecret_types.go
# cyberark/secrets-provider-for-k8s (README.md)
_SECRET_SWITCHES = {
    "sealedsecrets.bitnami.com/managed": "Sealed Secrets",
    "sealedsecrets.bitnami.com/patch": "Sealed Secrets",
    "sopssecret/managed": "sops-secrets-operator",
    "reconcile.external-secrets.io/managed": "External Secrets",
    "conjur.org/managed-by-provider": "the Secrets Provider of Conjur",
}
# Annotations with these prefixes configure the webhook of Bank-Vaults, which replaces placeholders
# in a ConfigMap or Secret. Sources: bank-vaults/secrets-webhook examples,
# bank-vaults/vault-secrets-webhook pkg/common/common.go
_BANK_VAULTS = ("vault.security.banzaicloud.io/", "secrets-webhook.security.bank-vaults.io/")
_SKIPPED = ("vault.security.banzaicloud.io/mutate", "security.bank-vaults.io/mutate")
# The program of each annotation that requests data with any value, such as the name of another
# object. Sources:
# mittwald/kubernetes-replicator replicate/common/consts.go
# emberstack/kubernetes-reflector README.md
_SOURCES = {
    "replicator.v1.mittwald.de/replicate-from": "kubernetes-replicator",
    "reflector.v1.k8s.emberstack.com/reflects": "Reflector",
}
# The same, only for a Secret, and the value can be "". Sources:
# mittwald/kubernetes-secret-generator README.md
# carvel-dev/secretgen-controller pkg/sharing
_SECRET_SOURCES = {
    "secretgen.carvel.dev/image-pull-secret": "secretgen-controller",
    "secret-generator.v1.mittwald.de/autogenerate": _GENERATOR,
    "secret-generator.v1.mittwald.de/type": _GENERATOR,
}


def filler_of(
    kind: GroupKind, annotations: Mapping[str, str], labels: Mapping[str, str]
) -> tuple[str, str]:
    """The program that writes data into an object, and a clause "because of the annotation …".

    The manifest has only a placeholder or a part of the data. The program writes into the object
    with the base name, so a revision would contain only the data of the manifest. ("", "") if no
    annotation or label requests data.
    """
    switches, sources = _FILL_SWITCHES, _SOURCES
    if kind == SECRET:
        switches, sources = {**switches, **_SECRET_SWITCHES}, {**sources, **_SECRET_SOURCES}
    for place, values in (("annotation", annotations), ("label", labels)):
        for name, value in values.items():
            if name in switches and is_true(value):
                return switches[name], f"because of the {place} {name}"
            if name in sources and (value or name in _SECRET_SOURCES):
                return sources[name], f"because of the {place} {name}"
    if not any(annotations.get(name) == "skip" for name in _SKIPPED):
        for name, value in annotations.items():
            if name.startswith(_BANK_VAULTS) and value != "false":
                return _WEBHOOK, f"because of the annotation {name}"
    return "", ""


# Placeholders: values that another program replaces, perhaps after postrender. A webhook replaces
# them in the request to the API server, other programs in the manifests:
#
#     data:
#       password: vault:secret/data/shop#password             # Bank-Vaults
#       token: <path:kv/data/shop#token>                      # argocd-vault-plugin
#       key: ref+vault://kv/shop/key                          # vals
#
# Sources:
# bank-vaults/secrets-webhook pkg/provider/vault/provider.go, pkg/provider/bao/provider.go
# argoproj-labs/argocd-vault-plugin pkg/kube/util.go
# helmfile/vals README.md
_WEBHOOK = "the webhook of Bank-Vaults"
_PLUGIN = "argocd-vault-plugin"
# With this annotation, argocd-vault-plugin also replaces `<key>`.
_PATH_ANNOTATION = "avp.kubernetes.io/path"
_IGNORED_BY_PLUGIN = "avp.kubernetes.io/ignore"


def find_placeholder(
    kind: GroupKind, content: Mapping[str, Json], annotations: Mapping[str, str]
) -> tuple[str, str]:
    """The path of the first value with a placeholder, and the program. ("", "") without one."""
    is_generic = _PATH_ANNOTATION in annotations
    is_ignored = annotations.get(_IGNORED_BY_PLUGIN) == "true"
    for path, value in _texts_in(kind, content):
        program = _program_for(value, is_generic=is_generic)
        if program and not (is_ignored and program == _PLUGIN):
            return path, program
    return "", ""


def _program_for(value: str, *, is_generic: bool) -> str:
    """The program that replaces a placeholder in a value, "" if there is none.

    is_generic: whether `<key>` is a placeholder.
    """
    is_of_a_vault = "vault:" in value or "bao:" in value
    if is_of_a_vault and re.search(r"(?:\A|\$\{)(?:>>)?(?:vault|bao):[^\s#]{1,300}#", value):
        return _WEBHOOK
    if "<path:" in value and re.search(r"<path:[^#<>]+#[^<>]+>", value):
        return _PLUGIN
    if is_generic and re.search(r"<[^<>\s]+>", value):
        return _PLUGIN
    is_of_vals = "ref+" in value and re.search(r"\b(?:secret)?ref\+[a-z0-9]+://\S", value)
    return "vals" if is_of_vals else ""


def _texts_in(kind: GroupKind, content: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for field in ("data", "stringData"):
        for key, value in mapping_at(content, (field,)).items():
            if isinstance(value, str):
                is_encoded = kind == SECRET and field == "data"
                yield f"{field}.{key}", decoded(value) if is_encoded else value


_TRUE = frozenset({"1", "t", "true"})


def is_true(value: str) -> bool:
    """Whether the value of an annotation or label means true. Most programs ignore its case."""
    return value.strip().lower() in _TRUE


def keeper_of(data: dict[str, Json]) -> str:
    """The tool that keeps an object that is no longer in the manifests, "" for none."""
    annotations = strings_at(data, "annotations")
    if annotations.get(RESOURCE_POLICY_ANNOTATION) == "keep":
        return "Helm"
    options = annotations.get(SYNC_OPTIONS_ANNOTATION, "").split(",")
    if "Prune=false" in (option.strip() for option in options):
        return "Argo CD"
    return "Flux" if annotations.get(FLUX_PRUNE_ANNOTATION) == "disabled" else ""
