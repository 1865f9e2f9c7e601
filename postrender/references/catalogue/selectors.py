"""Kinds that select objects by name, such as the policies of Karmada, KubeFleet and Kyverno.

The object does not read what it selects, so postrender adds the name of the revision, as in a Role:

    kind: PropagationPolicy
    spec:
      resourceSelectors:
        - {apiVersion: v1, kind: ConfigMap, name: web-config}
        - {apiVersion: v1, kind: ConfigMap, name: web-config-4h2mbtbbt6}    # added

A field with one name cannot select a revision too, so postrender keeps the original and reports a
finding:

    kind: Localization
    spec:
      feed: {apiVersion: v1, kind: ConfigMap, name: web-config}
"""

from __future__ import annotations

from postrender.references.catalogue.model import (
    NameCondition,
    Use,
    kinds,
    object_reference,
    selected_names,
    selector,
    written,
)
from postrender.yaml.paths import Json, Path, mapping_at

_KARMADA = "karmada-io/karmada f8fdd02, v1alpha1"
_FLEET = "kubefleet-dev/kubefleet e160c1c, v1 and v1beta1"
_CLUSTERNET = "clusternet/clusternet 19245ba, v1alpha1"
_KYVERNO = "kyverno/kyverno 111e07b"
_GATEKEEPER = "open-policy-agent/gatekeeper dd8507e"

_ONE_NAME = "the field can select only one object"
_CHANGED = "a policy changes the object"
_GENERATED = "Kyverno writes to the object"
_APPLIED_AGAIN = "a ClusterResourceSet can apply the content under a new name again"
_RESOURCE_NAMES = selected_names(
    "spec.matchConstraints.resourceRules[].resourceNames[]", "resources"
)


def _single(path: str) -> Use:
    return object_reference(path, keep=_ONE_NAME)._replace(selects=True)


def _matches(*paths: str) -> tuple[Use, ...]:
    """The names in `match` and `exclude` of Kyverno at these paths."""
    return tuple(
        use
        for path in paths
        for part in ("any[].resources", "all[].resources", "resources")
        for use in (
            *selected_names(f"{path}.{part}.names[]", "kinds"),
            *selected_names(f"{path}.{part}.name", "kinds", _ONE_NAME),
        )
    )


def _mutating(use: Use, name_if: NameCondition | None = None) -> Use:
    """A selector of objects that a program changes in requests to the API server."""
    return written(use)._replace(
        keep=_CHANGED,
        selects=False,
        name_if=lambda data, path: (
            (use.name_if is None or use.name_if(data, path))
            and (name_if is None or name_if(data, path))
        ),
    )


def _is_of_mutation(data: Json, path: Path) -> bool:
    """Whether a name is in a rule of Kyverno that changes objects."""
    return "mutate" in mapping_at(data, path[:3])


def _kyverno_policy() -> tuple[Use, ...]:
    return (
        *(_mutating(use, _is_of_mutation) for use in _matches("spec.rules[].match")),
        written(object_reference("spec.rules[].generate", keep=_GENERATED)),
        written(object_reference("spec.rules[].mutate.targets[]", keep=_GENERATED)),
        *_matches("spec.rules[].match", "spec.rules[].exclude"),
    )


ENTRIES = (
    # Policies that distribute objects to clusters
    # Karmada keeps the copies of objects that a policy no longer selects (pkg/detector/policy.go,
    # removeRBsClaimMetadata).
    *kinds(
        "policy.karmada.io: PropagationPolicy ClusterPropagationPolicy OverridePolicy "
        "ClusterOverridePolicy",
        _KARMADA,
        selector("spec.resourceSelectors[]"),
    ),
    *kinds(
        "placement.kubernetes-fleet.io: ClusterResourcePlacement ResourcePlacement",
        _FLEET,
        selector("spec.resourceSelectors[]", deletes_unselected=True),
    ),
    *kinds(
        "placement.kubernetes-fleet.io: ResourceOverride",
        _FLEET,
        selector("spec.resourceSelectors[]"),
    ),
    *kinds(
        "apps.clusternet.io: Subscription Base",
        _CLUSTERNET,
        selector("spec.feeds[]", deletes_unselected=True),
    ),
    *kinds("apps.clusternet.io: Localization Globalization", _CLUSTERNET, _single("spec.feed")),
    *kinds(
        "addons.cluster.x-k8s.io: ClusterResourceSet",
        "kubernetes-sigs/cluster-api ae7ff04, v1beta1 and v1beta2",
        object_reference("spec.resources[]", keep=_APPLIED_AGAIN),
    ),
    *kinds(
        "core.oam.dev: Application",
        "kubevela/kubevela 5a44b5f, v1beta1",
        selector("spec.components[].properties.objects[]", deletes_unselected=True),
        *selected_names(
            "spec.policies[].properties.rules[].selector.resourceNames[]", "resourceTypes"
        ),
    ),
    # Policies that check or change objects
    *kinds("kyverno.io: Policy ClusterPolicy", f"{_KYVERNO}, v1", *_kyverno_policy()),
    *kinds(
        "kyverno.io: PolicyException CleanupPolicy ClusterCleanupPolicy",
        f"{_KYVERNO}, v2",
        *_matches("spec.match", "spec.exclude"),
    ),
    *kinds(
        "policies.kyverno.io: ValidatingPolicy GeneratingPolicy DeletingPolicy",
        f"{_KYVERNO}, v1",
        *_RESOURCE_NAMES,
    ),
    *kinds(
        "policies.kyverno.io: MutatingPolicy",
        f"{_KYVERNO}, v1",
        *map(_mutating, _RESOURCE_NAMES),
    ),
    *kinds(
        "mutations.gatekeeper.sh: Assign ModifySet",
        f"{_GATEKEEPER}, v1",
        *map(_mutating, selected_names("spec.match.name", "kinds", _ONE_NAME)),
    ),
    *kinds(
        "mutations.gatekeeper.sh: AssignMetadata",
        f"{_GATEKEEPER}, v1",
        *selected_names("spec.match.name", "kinds", _ONE_NAME),
    ),
    # Argo CD
    *(
        entry
        for kind, path in (
            ("Application", "spec.ignoreDifferences[]"),
            ("ApplicationSet", "spec.template.spec.ignoreDifferences[]"),
            ("AppProject", "spec.orphanedResources.ignore[]"),
        )
        for entry in kinds(
            f"argoproj.io: {kind}", "argoproj/argo-cd 37ee009, v1alpha1", selector(path)
        )
    ),
)
