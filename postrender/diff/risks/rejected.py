"""Risks of objects and pods that the API server, kubelet or a controller rejects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from postrender.diff.model import REFUSED, Risk
from postrender.diff.pairs import Pair
from postrender.diff.risks.facts import Facts, Object
from postrender.diff.risks.losses import LOSSES
from postrender.diff.secret_fields import is_redacted, with_marks
from postrender.diff.values import capitalised
from postrender.kubernetes.annotations import keeper_of
from postrender.kubernetes.kinds import CRD, GroupKind, Identity, is_built_in
from postrender.kubernetes.uses import INVALID_SPEC
from postrender.kubernetes.validation import find_rejections
from postrender.kubernetes.validation.checks import (
    ANALYSES,
    API_SERVER,
    CONFIG_ERROR,
    IMAGE_NAME,
    MOUNT_ERROR,
    PODS,
    ROLLOUTS,
    SERVER_SIDE,
    START_ERROR,
    STRICT,
    quantity,
)
from postrender.kubernetes.validation.updates import find_rejected_changes, goes_with_type
from postrender.yaml.paths import (
    Json,
    Parts,
    format_path,
    mapping_at,
    mappings_in,
    parts_at,
    readable_path,
    value_at,
)


def find_new_rejections(changes: Iterable[Pair]) -> dict[str, list[tuple[Identity, str, str]]]:
    """What something rejects only on the newer side, by who rejects it.

    Each has the identity of the object, the path, and a clause.
    """

    def found(
        data: dict[str, Json], parts: Parts, *, is_new: bool
    ) -> dict[tuple[str, str, str], None]:
        return {
            (judge, readable_path(data, path), str(text)): None
            for judge, path, text in find_rejections(data, parts, is_new=is_new)
        }

    rejections: dict[str, list[tuple[Identity, str, str]]] = defaultdict(list)
    for pair in changes:
        after = found(pair.new.data, pair.parts, is_new=not pair.old) if pair.new else {}
        before = found(pair.old.data, None, is_new=False) if after and pair.old else {}
        for judge, path, text in after:
            is_dropped = pair.both and goes_with_type(pair.both[0].data, pair.both[1].data, text)
            if (judge, path, text) not in before and not is_dropped:
                rejections[judge].append((pair.identity, path, text))
    return rejections


def rejection(
    facts: Facts,
    identity: Identity,
    fact: str,
    path: str = "",
    *,
    helm: str = "Helm stops with an error",
    fix: str = "",
) -> Risk:
    """The risk of an object that the API server rejects, with what follows for other objects.

    helm, fix: sentences without their periods, about Helm and about what to do.
    """
    others = "all other objects still change"
    content = facts.contents.get(identity)
    if content and content.users:
        is_renamed = content.new_revision != content.old_revision
        others = (
            f"its workloads still roll, towards a {identity.kind} that does not exist"
            if is_renamed
            else "its workloads keep the old content"
        )
    consequence = (
        f"The API server rejects the object. With kubectl apply and Argo CD, {others}. {helm}"
    )
    consequence += f". {fix}" if fix else ""
    return Risk(identity, fact, consequence, path)


_CLAIM = ("", "PersistentVolumeClaim")
CLAIM_SIZE = ("spec", "resources", "requests", "storage")
_EXPAND = "Set allowVolumeExpansion first, if the driver can expand volumes"
_FIX = "Delete or rename the object before the apply"
_KEEP = "Undo the change, because to delete the object deletes data"


def find_immutable_field(facts: Facts) -> Iterator[Risk]:
    """The change sets a field that cannot change, so the API server rejects the object.

    Such are selectors, `roleRef`, the type of a Secret, all of an immutable ConfigMap, fields of
    StatefulSets, Jobs, claims and Services, and the size of a claim without
    `allowVolumeExpansion`.

    Source: the functions `Validate…Update` in `pkg/apis/*/validation` of Kubernetes, and trials
    with an API server of Kubernetes 1.36.
    """
    for workload in facts.workloads:
        if workload.effect == REFUSED:
            fact = "the pod template cannot change"
            yield rejection(facts, workload.identity, fact, fix=_FIX)
    for pair in facts.changes:
        before, after = pair.old, pair.new
        # A changed name makes a new object.
        if not (before and after) or before.name != after.name or after.is_hook:
            continue
        group_kind = pair.identity.group_kind
        for path, fact in find_rejected_changes(group_kind, before.data, after.data, pair.parts):
            fix = _KEEP if group_kind in LOSSES else _FIX
            yield rejection(facts, pair.identity, fact, format_path(path), fix=fix)
        # In an output, revisions are immutable. The records know that of a rendered input too.
        is_fixed = before.is_immutable and before.is_content
        if is_fixed and (before.content != after.content or not after.is_immutable):
            fact = "the object is immutable, and the change does not give it another name"
            yield rejection(facts, pair.identity, fact, fix=_FIX)
    yield from _expansions(facts)


def _expansions(facts: Facts) -> Iterator[Risk]:
    """The claims that grow in a class of the stream that does not let them."""
    grown: dict[Json, list[Identity]] = {}
    for identity, old, new in facts.changed(*CLAIM_SIZE):
        before, after = (quantity(value_at(data, CLAIM_SIZE)) for data in (old, new))
        if identity.group_kind == _CLAIM and before and after and before < after:
            grown.setdefault(value_at(new, ("spec", "storageClassName")), []).append(identity)
    names = [str(name) for name in grown]
    for item in facts.objects(("StorageClass",), is_new=True, words=names) if grown else ():
        if item.data.get("allowVolumeExpansion") is not True:
            for identity in grown.get(item.identity.name, ()):
                fact = f"the claim grows, but {item.identity} does not set allowVolumeExpansion"
                yield rejection(facts, identity, fact, format_path(CLAIM_SIZE), fix=_EXPAND)


_HELM = "Helm 4 stops with an error, and Helm 3 drops the field"


def find_invalid_field(facts: Facts) -> Iterator[Risk]:
    """The new object is invalid, so the API server rejects the object.

    - A name, label or key has a forbidden character, or is too long.
    - A value has a wrong type, such as `true` in an annotation.
    - A ConfigMap or Secret has more than 1,048,576 bytes, a Secret lacks a key of its type.
    - A selector does not match its own pod template.
    - A field does not exist, which only Helm 3 accepts, and drops.
    - A field is missing or wrong.

    Source: `postrender/kubernetes/validation`, which follows `pkg/apis/*/validation` of
    Kubernetes.
    """
    for identity, path, fact in facts.rejections.get(API_SERVER, ()):
        yield rejection(facts, identity, fact, path)
    for identity, path, fact in facts.rejections.get(STRICT, ()):
        yield rejection(facts, identity, fact, path, helm=_HELM)
    for identity, first, _ in facts.shared(("PriorityClass",), _default):
        yield rejection(facts, identity, f"{first} is the global default", "globalDefault")
    for identity, first, (port,) in facts.shared(("Service",), _node_ports):
        yield rejection(facts, identity, f"{first} also has the nodePort {port}", "spec.ports")


def _default(priority: Object) -> set[tuple[str, ...]]:
    return {("globalDefault",)} if priority.data.get("globalDefault") is True else set()


def _node_ports(service: Object) -> set[tuple[str, ...]]:
    return {
        (str(port["nodePort"]),)
        for port in mappings_in(value_at(service.data, ("spec", "ports")))
        if port.get("nodePort")
    }


# A fact about a secret field, because others can contain the value.
_NOT_ALLOWED = "the schema does not allow the value"


def find_invalid_custom_object(facts: Facts) -> Iterator[Risk]:
    """A custom object lacks a required field, or has a value that its definition does not allow.

    The CustomResourceDefinition must be in the input.

    Source: structural schemas, with `CRDValidationRatcheting`.
    """
    changed = [pair for pair in facts.changes if pair.new and not is_built_in(pair.identity.group)]
    kinds = {pair.identity.kind for pair in changed}
    before, after = (_schemas(facts, kinds, is_new=is_new) for is_new in (False, True))
    if not after:
        return
    from postrender.kubernetes.validation.schemas import find_unlike  # rarely needed

    for pair in changed:
        old, new = ((one and one.data) or {} for one in (pair.old, pair.new))
        known = set(find_unlike(old, before.get(_version(old), {})))
        found = list(find_unlike(new, after.get(_version(new), {})))
        marked = with_marks(new) if found else None
        shown = dict.fromkeys(
            (path, _NOT_ALLOWED if is_redacted(marked, path) else fact)
            for path, fact in found
            if (path, fact) not in known and parts_at(pair.parts, path) != {}
        )
        for path, fact in shown:
            yield rejection(facts, pair.identity, fact, readable_path(new, path))


def _version(data: dict[str, Json]) -> tuple[str, str]:
    return str(data.get("apiVersion")), str(data.get("kind"))


def _schemas(
    facts: Facts, kinds: set[str], *, is_new: bool
) -> dict[tuple[str, str], dict[str, Json]]:
    """The schemas of one side by apiVersion and kind."""
    found = {}
    for item in facts.objects((CRD,), is_new=is_new, words=kinds) if kinds else ():
        spec = mapping_at(item.data, ("spec",))
        for version in mappings_in(spec.get("versions")):
            key = (
                f"{spec.get('group')}/{version.get('name')}",
                str(value_at(spec, ("names", "kind"))),
            )
            found[key] = mapping_at(version, ("schema", "openAPIV3Schema"))
    return found


_NO_MATCH = "The apply of the object fails"
# Versions that are gone for all kinds, or for these.
_GONE = {
    **dict.fromkeys(("extensions/v1beta1", "apps/v1beta1", "apps/v1beta2", "batch/v1beta1"), ""),
    **dict.fromkeys(("policy/v1beta1", "autoscaling/v2beta1", "autoscaling/v2beta2"), ""),
    **{
        f"{group}.k8s.io/v1beta1": kinds
        for group, kinds in (
            *(("rbac.authorization", ""), ("apiextensions", ""), ("apiregistration", "")),
            *(("scheduling", ""), ("discovery", ""), ("node", ""), ("coordination", "Lease")),
            ("networking", "Ingress IngressClass"),
            ("storage", "StorageClass CSIDriver CSINode CSIStorageCapacity VolumeAttachment"),
            (
                "admissionregistration",
                "ValidatingWebhookConfiguration MutatingWebhookConfiguration",
            ),
            ("certificates", "CertificateSigningRequest"),
        )
    },
    **{f"flowcontrol.apiserver.k8s.io/v1beta{number}": "" for number in (1, 2, 3)},
}
# All kinds of a version that people write.
_KINDS = {
    "v1": "Binding ConfigMap Endpoints Event LimitRange List Namespace Node PersistentVolume "
    "PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service "
    "ServiceAccount",
    "apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "batch/v1": "CronJob Job",
    "policy/v1": "Eviction PodDisruptionBudget",
    "autoscaling/v2": "HorizontalPodAutoscaler",
    "networking.k8s.io/v1": "IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR",
    "rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "scheduling.k8s.io/v1": "PriorityClass",
}


def find_missing_kind(facts: Facts) -> Iterator[Risk]:
    """The apply of an object fails: `no matches for kind`.

    A CustomResourceDefinition no longer serves its version, or Kubernetes 1.32 lacks the
    version, such as `policy/v1beta1`, or the kind.

    Source: the discovery of the API server, which Helm, kubectl and Argo CD ask before an apply,
    and the deprecated API migration guide of Kubernetes.
    """
    yield from _of_kubernetes(facts)
    lost: dict[GroupKind, tuple[Identity, set[str]]] = {}
    for pair in facts.changes:
        if pair.identity.kind == CRD and pair.old:
            old, new = pair.old.data, pair.new.data if pair.new else {}
            if not (pair.new is None and keeper_of(old)):
                spec = mapping_at(old, ("spec",))
                group_kind = str(spec.get("group")), str(value_at(spec, ("names", "kind")))
                lost[group_kind] = pair.identity, _served(old) - _served(new)
    lost = {kind: one for kind, one in lost.items() if one[1]}
    words = [kind for _, kind in lost]
    for item in facts.objects((), is_new=True, words=words) if lost else ():
        definition, versions = lost.get(item.identity.group_kind, (None, ()))
        version = str(item.data.get("apiVersion")).rpartition("/")[2]
        if definition and version in versions:
            fact = f"{definition} does not serve the version {version} any longer"
            yield Risk(item.identity, fact, _NO_MATCH, "apiVersion")


def _of_kubernetes(facts: Facts) -> Iterator[Risk]:
    for pair in facts.changes:
        version = str(pair.new.data.get("apiVersion")) if pair.new else ""
        if pair.old and pair.old.data.get("apiVersion") == version:
            continue
        kind, gone = pair.identity.kind, _GONE.get(version)
        kinds = _KINDS.get(version, kind).split()
        is_gone = gone is not None and (not gone or kind in gone.split())
        if pair.new and (is_gone or not (kind in kinds or kind.endswith("List"))):
            fact = f"Kubernetes does not serve the kind {kind} in the version {version}"
            yield Risk(pair.identity, fact, _NO_MATCH, "apiVersion")


def _served(definition: dict[str, Json]) -> set[str]:
    versions = mappings_in(value_at(definition, ("spec", "versions")))
    return {str(version.get("name")) for version in versions if version.get("served") is not False}


_SERVER_SIDE = (
    "A server-side apply (Helm 4, or Argo CD with the option ServerSideApply) rejects the object"
)


def find_server_side(facts: Facts) -> Iterator[Risk]:
    """Only a server-side apply rejects the object: Helm 4, or Argo CD with `ServerSideApply=true`.

    - Two items of a list have one key. `kubectl apply` and Helm 3 merge or keep both.
    - A Deployment changes to `Recreate`, and keeps the `rollingUpdate` that the API server
      filled in.

    Source: the list types in the OpenAPI schema of Kubernetes, and trials with Kubernetes 1.36.
    """
    for identity, path, fact in facts.rejections.get(SERVER_SIDE, ()):
        other = "kubectl apply and Helm 3 can lose one of the two"
        yield Risk(identity, fact, f"{_SERVER_SIDE}. {other}", path)
    yield from _strategies(facts)


def _strategies(facts: Facts) -> Iterator[Risk]:
    for identity, *sides in facts.changed("spec", "strategy"):
        if identity.group_kind == ("apps", "Deployment"):
            old, new = (mapping_at(data, ("spec", "strategy")) for data in sides)
            is_new = new.get("type") == "Recreate" != old.get("type")
            is_left = "rollingUpdate" not in new and len(mapping_at(old, ("rollingUpdate",))) < 2
            if is_new and is_left:
                fact = "the strategy changes to Recreate, but the live object has a rollingUpdate"
                other = "kubectl apply and Helm 3 accept the change"
                yield Risk(identity, fact, f"{_SERVER_SIDE}. {other}", "spec.strategy")


NOT_STARTED = {
    PODS: "the API server rejects the new pods",
    **{
        judge: f"new pods do not start ({judge})"
        for judge in (IMAGE_NAME, CONFIG_ERROR, START_ERROR, MOUNT_ERROR)
    },
}


def find_invalid_pod(facts: Facts) -> Iterator[Risk]:
    """New pods do not start, although the API server accepts the workload.

    - An image ends with a blank: the API server rejects pods.
    - An image has two tags or a capital letter: `InvalidImageName`.
    - `runAsNonRoot` with the user 0, or a `resourceFieldRef` to a missing container:
      `CreateContainerConfigError`.
    - A memory limit below 1 MiB, such as `512m`: `StartError`.
    - An `emptyDir` with an unknown medium, such as `memory`: `FailedMount`.

    Source: `validateContainersOnlyForPod` in `pkg/apis/core/validation` of Kubernetes, and
    kubelet.
    """
    for judge, text in NOT_STARTED.items():
        for identity, path, fact in facts.rejections.get(judge, ()):
            yield Risk(identity, fact, capitalised(text), path)


_BY_ROLLOUTS = {
    ROLLOUTS: INVALID_SPEC,
    ANALYSES: "An analysis with this template ends with an error, and the rollout is aborted",
}


def find_invalid_rollout(facts: Facts) -> Iterator[Risk]:
    """Argo Rollouts reports `InvalidSpec` for a Rollout that the API server accepts.

    No pods are replaced. An example is a strategy with both `canary` and `blueGreen`.

    An analysis with an invalid metric, such as a `count` without an `interval`, aborts the
    rollout.

    Source: `pkg/apis/rollouts/validation` of Argo Rollouts 1.10.
    """
    for judge, consequence in _BY_ROLLOUTS.items():
        for identity, path, fact in facts.rejections.get(judge, ()):
            yield Risk(identity, fact, consequence, path)
