"""The labels and annotations of postrender, and the annotations of other tools.

Kubernetes requires that the prefix of an annotation has the syntax of a DNS subdomain. The prefix
`postrender` has this syntax. The prefix is not a domain such as `postrender.dev`, because somebody
else could register the domain. The prefix must not change. With a new prefix, attach would not
recognise the live revisions.
"""

from __future__ import annotations

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
