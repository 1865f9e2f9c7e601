"""The labels and annotations of postrender, and the annotations of other tools.

In Kubernetes, the prefix of an annotation must have the syntax of a DNS subdomain, as `postrender`
has. The prefix is not a domain such as `postrender.dev`, which somebody else could register. If the
prefix changed, attach would no longer recognise the live revisions.
"""

from __future__ import annotations

PREFIX = "postrender/"

# Users set this annotation to "false" on an object with references that postrender must not change.
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
# render sets BASE_NAME_ANNOTATION on each revision. render sets NUMBER_ANNOTATION on a revision if
# later outputs retain the revision. render sets SWEEP_ANNOTATION to "false" on a revision that the
# attacher must not delete, and adopt copies SWEEP_ANNOTATION to the live original.
BASE_NAME_ANNOTATION = PREFIX + "base-name"
NUMBER_ANNOTATION = PREFIX + "revision-number"
SWEEP_ANNOTATION = PREFIX + "sweep"
# render sets this annotation on the revision of a Secret if a hash key is configured. Only somebody
# with the key can check the hash in the name.
HASH_ANNOTATION = PREFIX + "hash"
KEYED_HASH = "hmac-sha256"
# render sets this label on the attacher's Pods, which the attacher Job selects by this label.
JOB_LABEL = PREFIX + "attach-job"

# render sets these annotations on a pod template.
RENDER_ID_ANNOTATION = PREFIX + "render-id"
CHECKSUM_ANNOTATION = PREFIX + "checksum"

# attach sets this annotation on a revision without a consumer. The value is the time of the write.
UNUSED_ANNOTATION = PREFIX + "unused-since"

# helm-diff pairs an old and a new object by this annotation (helm-diff 3.5.0 and later).
PAIRING_ANNOTATION = "helm-diff/base-name"
# The prefix of annotations that Helm 4 adds to the objects in the input of a post-renderer
# (pkg/action/action.go). HELM_FILENAME_ANNOTATION has the path of the template.
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
    """Return whether an annotation has the prefix of postrender, but is unknown to postrender."""
    return annotation.startswith(PREFIX) and annotation not in _KNOWN
