"""The labels and annotations of postrender, and those of other tools that postrender uses.

The prefix `postrender/` is a valid DNS subdomain, which Kubernetes requires, but not a domain.
The project owns no domain, and somebody else could register an unowned one. A later change of the
prefix would orphan every live revision.
"""

from __future__ import annotations

PREFIX = "postrender/"

# Written by users, on a ConfigMap or Secret.
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
)

# Written by render, on a revision.
GROUP_LABEL = PREFIX + "attach-group"
BASE_NAME_ANNOTATION = PREFIX + "base-name"
NUMBER_ANNOTATION = PREFIX + "revision-number"
SWEEP_ANNOTATION = PREFIX + "sweep"

# Written by render, on a pod template and on the workload that has it.
RENDER_ID_ANNOTATION = PREFIX + "render-id"
CHECKSUM_ANNOTATION = PREFIX + "checksum"

# Written by attach: the time at which attach first found no consumer of the revision.
UNUSED_ANNOTATION = PREFIX + "unused-since"

# helm-diff pairs the revisions of two releases by this annotation (helm-diff 3.5.0 and later).
PAIRING_ANNOTATION = "helm-diff/base-name"
# Helm 4 adds the template's path to the input of a post-renderer (pkg/action/action.go).
HELM_POSTRENDERER_PREFIX = "postrenderer.helm.sh/"
HELM_FILENAME_ANNOTATION = HELM_POSTRENDERER_PREFIX + "postrender-filename"
# Helm leaves a live object with `keep` unchanged when the new manifests lack the object.
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
        BASE_NAME_ANNOTATION,
        NUMBER_ANNOTATION,
        SWEEP_ANNOTATION,
        RENDER_ID_ANNOTATION,
        CHECKSUM_ANNOTATION,
        UNUSED_ANNOTATION,
    }
)


def is_unknown(annotation: str) -> bool:
    """Return whether an annotation has the prefix of postrender but is not one of its own."""
    return annotation.startswith(PREFIX) and annotation not in _KNOWN
