"""The labels and annotations of postrender, and the annotations of other tools.

Kubernetes requires that the prefix of an annotation has the syntax of a DNS subdomain. The prefix
`postrender` has this syntax. The prefix is not a domain such as `postrender.dev`, because somebody
else could register the domain. The prefix must not change. With a new prefix, attach would not
recognise the live revisions.

Annotations that stop Helm, Argo CD and Flux from deleting objects that the manifests lack.

Argo CD needs two annotations. With `Prune=false`, Argo CD does not delete the object. Without
`IgnoreExtraneous`, the object would make the Application OutOfSync. postrender sets the
annotations of all tools together, so that the output does not depend on the tool.

Annotations that let a program copy a ConfigMap or Secret to other namespaces.

A rename would break the copies, because a copy has or references the name of the copied object.

The annotations and labels because of which a program writes data into a ConfigMap or Secret.

The manifest contains only a placeholder, or only a part of the data. The program writes into the
object with the base name, so a revision would contain only the data of the manifest.
"""

from __future__ import annotations

from collections.abc import Mapping

from postrender.kubernetes.kinds import CONFIG_MAP, SECRET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from postrender.kubernetes.kinds import GroupKind


PREFIX = "postrender/"

# Users set this annotation to "false" on an object. postrender then does not change the references
# of the object.
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

# `postrender render` sets this label on a revision and on the objects of the attacher. `postrender
# adopt` sets this label on a live original.
GROUP_LABEL = PREFIX + "attach-group"
# render sets this annotation on each revision.
BASE_NAME_ANNOTATION = PREFIX + "base-name"
# render sets this annotation on a revision that later outputs retain.
NUMBER_ANNOTATION = PREFIX + "revision-number"
# render sets this annotation to "false" on a revision that the attacher must not delete. adopt
# copies the annotation to the live original.
SWEEP_ANNOTATION = PREFIX + "sweep"
# If a hash key is configured, render sets this annotation to KEYED_HASH on the revision of a
# Secret. Only somebody with the key can check the hash in the name.
HASH_ANNOTATION = PREFIX + "hash"
KEYED_HASH = "hmac-sha256"
# render sets this label on the Pods of the attacher, and in the selector of the attacher Job.
JOB_LABEL = PREFIX + "attach-job"

# render sets these annotations on a pod template.
RENDER_ID_ANNOTATION = PREFIX + "render-id"
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
LAST_APPLIED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"

_KNOWN = frozenset(
    {
        *USER_ANNOTATIONS,
        GROUP_LABEL,
        JOB_LABEL,
        BASE_NAME_ANNOTATION,
        NUMBER_ANNOTATION,
        SWEEP_ANNOTATION,
        HASH_ANNOTATION,
        RENDER_ID_ANNOTATION,
        CHECKSUM_ANNOTATION,
        UNUSED_ANNOTATION,
    }
)


def is_unknown(annotation: str) -> bool:
    """Return whether an annotation has the prefix of postrender, but is not in _KNOWN."""
    return annotation.startswith(PREFIX) and annotation not in _KNOWN


_KEEP = {
    RESOURCE_POLICY_ANNOTATION: "keep",
    SYNC_OPTIONS_ANNOTATION: "Prune=false",
    COMPARE_OPTIONS_ANNOTATION: "IgnoreExtraneous",
    FLUX_PRUNE_ANNOTATION: "disabled",
}
# The annotations whose value is a comma-separated list of options.
_OPTION_LISTS = (SYNC_OPTIONS_ANNOTATION, COMPARE_OPTIONS_ANNOTATION)


def keep_annotations() -> dict[str, str]:
    """Return the annotations that stop Helm, Argo CD and Flux from deleting an object."""
    return dict(_KEEP)


def without_keep(annotations: Mapping[str, str]) -> dict[str, str]:
    """Return annotations without the annotations in keep_annotations().

    If the value is a list of options, the function removes only the option in keep_annotations().
    """
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
    """Return the labels or annotations to write, so that an object has the desired values.

    If the value is a list of options, the function adds an option, and removes only a contrary
    option such as `Prune=true`.
    current: the labels or annotations of the object.
    """
    merged = {
        key: _with_option(current[key], value) if key in current and key in _OPTION_LISTS else value
        for key, value in desired.items()
    }
    return {key: value for key, value in merged.items() if current.get(key) != value}


def _with_option(text: str, option: str) -> str:
    """Return a comma-separated list with an option set: `Prune=false` replaces `Prune=true`."""
    options = _options(text)
    if option in options:
        return text
    name = option.partition("=")[0]
    kept = [part for part in options if part.partition("=")[0] != name]
    return ",".join([*kept, option])


def _options(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


# The program of each annotation that permits or requests copies with the value `true`. Sources:
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
    """Return the program that can copy an object, and the annotation that lets it copy the object.

    The result is ("", "") if no annotation permits or requests copies.
    """
    for name, value in annotations.items():
        if name in _COPY_SWITCHES and is_true(value):
            return _COPY_SWITCHES[name], name
        if name in _NAMESPACES and value:
            return _NAMESPACES[name], name
        if name == _KUBED:
            return "kubed", name
    return "", ""


# The values that mean true, in lower case. Most programs ignore the case of the value.
_TRUE = frozenset({"1", "t", "true"})

_SERVICE_CA = "the service CA operator of OpenShift"
_GENERATOR = "kubernetes-secret-generator"
# The program of each annotation that requests data if the value of the annotation is `true`.
# Source: openshift/service-ca-operator pkg/controller/api/api.go
_FILL_SWITCHES = {
    "service.beta.openshift.io/inject-cabundle": _SERVICE_CA,
    "service.alpha.openshift.io/inject-cabundle": _SERVICE_CA,
}
# Source:
# openshift/cluster-network-operator pkg/names/names.go, pkg/controller/configmap_ca_injector
_TRUSTED_CA_LABEL = "config.openshift.io/inject-trusted-cabundle"
# The program of each annotation that requests data. The annotation can have any value, such as the
# name of another object. Sources:
# mittwald/kubernetes-replicator replicate/common/consts.go
# emberstack/kubernetes-reflector README.md
_SOURCES = {
    "replicator.v1.mittwald.de/replicate-from": "kubernetes-replicator",
    "reflector.v1.k8s.emberstack.com/reflects": "Reflector",
}
# The program of each annotation that requests data only for a Secret. Source:
# mittwald/kubernetes-secret-generator README.md
_SECRET_SOURCES = {
    "secret-generator.v1.mittwald.de/autogenerate": _GENERATOR,
    "secret-generator.v1.mittwald.de/type": _GENERATOR,
}


def filler_of(
    kind: GroupKind, annotations: Mapping[str, str], labels: Mapping[str, str]
) -> tuple[str, str]:
    """Return the program that writes data into an object, and the reason.

    The reason is a clause, such as "because of the annotation …". The result is ("", "") if no
    annotation or label requests data.
    """
    for name, program in _FILL_SWITCHES.items():
        if is_true(annotations.get(name, "")):
            return program, f"because of the annotation {name}"
    if kind == CONFIG_MAP and is_true(labels.get(_TRUSTED_CA_LABEL, "")):
        return "the network operator of OpenShift", f"because of the label {_TRUSTED_CA_LABEL}"
    sources = {**_SOURCES, **_SECRET_SOURCES} if kind == SECRET else _SOURCES
    for name, program in sources.items():
        if annotations.get(name):
            return program, f"because of the annotation {name}"
    return "", ""


def is_true(value: str) -> bool:
    """Return whether the value of an annotation or label means true."""
    return value.strip().lower() in _TRUE
