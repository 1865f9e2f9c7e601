"""Risks that lose something: stored data, an original, a volume or an address."""

from __future__ import annotations

import json
from collections.abc import Iterator

from postrender.config.settings import NOTHING
from postrender.diff.kinds import template_path
from postrender.diff.model import Risk
from postrender.diff.normalise import BaseNames, changed_fields
from postrender.diff.risks.facts import Facts, Object
from postrender.kubernetes.annotations import (
    HELM_HOOK_ANNOTATION,
    HELM_HOOK_DELETE_ANNOTATION,
    keeper_of,
)
from postrender.kubernetes.kinds import GroupKind, Identity, strings_at
from postrender.text import conjoined
from postrender.yaml.paths import Json, Path, value_at

LOSSES = {
    ("apiextensions.k8s.io", "CustomResourceDefinition"): "Kubernetes deletes all objects of this "
    "kind, in every namespace",
    ("", "Namespace"): "Kubernetes deletes all objects in the namespace",
    ("", "PersistentVolumeClaim"): "With the reclaim policy Delete, the storage deletes the volume "
    "and its data",
}
_ALL = "The controller deletes all objects that the object has applied"
# The custom kinds with what they lose, and a text that must be in a field for the loss.
_OWNERS: dict[GroupKind, tuple[str, Path, str]] = {
    ("argoproj.io", "Application"): (_ALL, ("metadata", "finalizers"), "resources-finalizer"),
    ("argoproj.io", "ApplicationSet"): ("Argo CD deletes its Applications", (), ""),
    ("kustomize.toolkit.fluxcd.io", "Kustomization"): (_ALL, ("spec", "prune"), "True"),
    ("helm.toolkit.fluxcd.io", "HelmRelease"): (_ALL, (), ""),
    ("postgresql.cnpg.io", "Cluster"): ("The operator deletes the database", (), ""),
    ("kafka.strimzi.io", "KafkaTopic"): ("The operator deletes the topic", (), ""),
}
# With one of these values, a controller keeps what the object owns.
_KEPT = (
    (("spec", "suspend"), True),
    (("spec", "deletionPolicy"), "Orphan"),
    (("metadata", "annotations", "strimzi.io/managed"), "false"),
)
_CLAIMS = (
    "The retention policy of its claims is Delete, so Kubernetes deletes the claims of all pods"
)
_SCALED = (
    "The retention policy of its claims is Delete, so Kubernetes deletes the claims of the pods "
    "that go"
)
_RETENTION = ("spec", "persistentVolumeClaimRetentionPolicy")
_REPLICAS = ("spec", "replicas")


def find_data_loss(facts: Facts) -> Iterator[Risk]:
    """The change deletes stored data.

    - A CustomResourceDefinition, with all objects of its kind.
    - A Namespace, with its objects.
    - A PersistentVolumeClaim; with the reclaim policy `Delete`, its volume.
    - What an object of Argo CD, Flux, CloudNativePG or Strimzi owns.
    - A StatefulSet with claims and a `persistentVolumeClaimRetentionPolicy`:
      `whenDeleted: Delete`, or `whenScaled: Delete` and fewer replicas.

    An object that Helm (`helm.sh/resource-policy: keep`), Argo CD (`Prune=false`) or Flux
    (`prune: disabled`) keeps is not a risk.

    Source: the reclaim policy of persistent volumes and the StatefulSet controller of
    Kubernetes; cascading deletion of namespaces and custom resources.
    """
    for removed in facts.removed():
        consequence = LOSSES.get(removed.identity.group_kind, "")
        text, path, word = _OWNERS.get(removed.identity.group_kind, ("", (), ""))
        is_owner = text and word in str(value_at(removed.data, path))
        if is_owner and all(value_at(removed.data, one) != value for one, value in _KEPT):
            consequence = text
        if _has_claims(removed, "whenDeleted"):
            consequence = _CLAIMS
        if consequence and not keeper_of(removed.data):
            consequence += _inside(facts, removed.identity)
            yield Risk(removed.identity, "the object is removed", consequence)
    for identity, old, new in facts.changed(*_REPLICAS):
        counts = [value_at(data, _REPLICAS) for data in (old, new)]
        before, after = (1 if count is None else count for count in counts)
        if (
            _has_claims(Object(identity, new), "whenScaled")
            and isinstance(before, int)
            and isinstance(after, int)
            and after < before
        ):
            fact = f"the replicas go from {before} to {after}"
            yield Risk(identity, fact, _SCALED, ".".join(_REPLICAS))


def _inside(facts: Facts, namespace: Identity) -> str:
    """Names an object of the newer side in a removed namespace."""
    if namespace.group_kind != ("", "Namespace"):
        return ""
    others = facts.objects((), is_new=True, words=[namespace.name])
    inside = [str(one.identity) for one in others if one.identity.namespace == namespace.name]
    more = f" and {len(inside) - 1:,} more" if len(inside) > 1 else ""
    return f", also {inside[0]}{more} of the newer manifests" if inside else ""


def _has_claims(item: Object, event: str) -> bool:
    """Whether Kubernetes deletes claims of a StatefulSet at an event."""
    return (
        item.identity.group_kind == ("apps", "StatefulSet")
        and value_at(item.data, (*_RETENTION, event)) == "Delete"
        and bool(value_at(item.data, ("spec", "volumeClaimTemplates")))
    )


_REPLACED = (
    "Tools such as Helm delete the original, although old pods still use it. An old pod that "
    "restarts cannot start. Before the apply, run postrender adopt"
)


def find_deleted_original(facts: Facts) -> Iterator[Risk]:
    """The first release with postrender deletes the originals that old pods still use.

    The new manifests have a revision in place of the original, so Helm, Argo CD with pruning and
    Flux delete the original. An old pod that restarts during the rollout cannot start.
    `postrender adopt` marks the live originals, so that these tools keep them. Then diff still
    reports this risk, except if the older manifests have the mark.

    Source: `postrender/cli/adopt.py`.
    """
    replaced = [
        (pair.both[0], content)
        for pair in facts.pairs
        if pair.both and pair.both[1].is_revised and not pair.both[0].is_revised
        for content in [facts.contents.get(pair.identity)]
        if content
    ]
    if not replaced:
        return
    kept = {facts.both.resolver.key_of(item.identity, item.name) for item in facts.both.new.objects}
    before = {pair.identity: pair.old.data for pair in facts.pairs if pair.old}
    for old, content in replaced:
        # Without the name in the older manifests, the reference is new, and no old pod has it.
        has_pods = any(
            template_path(user.group_kind) is not None
            and f'"{old.name}"' in json.dumps(before.get(user), default=str)
            for user in content.users
        )
        is_left = facts.both.resolver.key_of(content.identity) in kept
        if has_pods and not is_left and not keeper_of(old.data):
            yield Risk(content.identity, "a revision replaces the original", _REPLACED)


_MOST_PATHS = 3
_EMPTY = "The data of the old volumes does not move, and the new volumes are empty"
_PODS = "The old pods are deleted, whether or not the new pods are ready"
_ADDRESS = "Clients that use the old address fail"


def find_moved_object(facts: Facts) -> Iterator[Risk]:
    """An object moves to another namespace: the tool creates a new object and deletes the old one.

    The old pods stop, whether or not new pods are ready. New volumes are empty. Clients of the
    old address of a Service fail.

    Source: the identity of an object, which includes its namespace.
    """
    for old, new in facts.moved():
        if not keeper_of(old.data) and (consequence := _loss_by_move(old)):
            before, after = (facts.namespace_of(one.identity) for one in (old, new))
            names = BaseNames(facts.both.names.of_all, NOTHING)
            paths = [field.path for field in changed_fields(old.data, new.data, names)]
            verb = "changes" if len(paths) == 1 else "change"
            others = f", and {conjoined(paths, most=_MOST_PATHS)} {verb}" if paths else ""
            moves = "moves" if paths else "moves unchanged"
            fact = f"the object {moves} from the namespace {before} to {after}{others}"
            yield Risk(new.identity, fact, consequence)


def _loss_by_move(old: Object) -> str:
    if old.identity.kind == "PersistentVolumeClaim":
        return _EMPTY
    if old.identity.kind == "Service":
        return _ADDRESS
    has_claims = value_at(old.data, ("spec", "volumeClaimTemplates"))
    return (f"{_PODS}. {_EMPTY}" if has_claims else _PODS) if _has_pods(old) else ""


def _has_pods(item: Object) -> bool:
    kind = item.identity.group_kind
    return template_path(kind) is not None and kind[1] not in ("PodTemplate", "AnalysisTemplate")


_LEAVING = {"pre-install", "post-install", "pre-upgrade", "post-upgrade"}
_HOOKS = {*_LEAVING, "pre-delete", "post-delete", "pre-rollback", "post-rollback"}
_HOOKS |= {"test", "test-success"}
_LEFT_OUT = "Helm leaves the object out of the release, and never creates it"
_RUNS_ONCE = ("Job", "Pod")
_DELETED = "After the hook, Helm deletes the object, because the previous release has the object"
_EXISTS = "The upgrade fails, because the hook finds the object of the previous release"
_FAILS = (
    "If the object of the hook is still there, the upgrade fails (invalid ownership metadata). "
    "Delete the object before the upgrade"
)


def find_hook_boundary(facts: Facts) -> Iterator[Risk]:
    """An object becomes a Helm hook, or a hook becomes an object.

    - Helm deletes a new `pre-upgrade` hook, because the previous release has the object.
    - Helm does not import what a former hook left, and the upgrade fails.
    - Helm leaves out an object with an unknown hook.

    Source: `performUpgrade` and `existingResourceConflict` of Helm; tried with Helm 3.22 and
    4.3.
    """
    for pair in facts.changes:
        before, after = (
            _values(one.data, HELM_HOOK_ANNOTATION) - _HOOKS if one else set[str]()
            for one in (pair.old, pair.new)
        )
        for hook in sorted(after - before):
            yield Risk(pair.identity, f"Helm has no hook {hook}", _LEFT_OUT)
        if not pair.both or pair.both[0].name != pair.both[1].name:
            continue
        old, new = (_values(one.data, HELM_HOOK_ANNOTATION) for one in pair.both)
        policy = _values(pair.both[bool(new)].data, HELM_HOOK_DELETE_ANNOTATION)
        if old & _LEAVING and not new and "hook-succeeded" not in policy:
            yield Risk(pair.identity, "the hook becomes an object of the release", _FAILS)
        elif "pre-upgrade" in new and not old and not pair.both[0].is_hook:
            is_replaced = not policy or "before-hook-creation" in policy
            is_lost = not keeper_of(pair.both[1].data) and pair.identity.kind not in _RUNS_ONCE
            if is_lost or not is_replaced:
                consequence = _DELETED if is_replaced else _EXISTS
                yield Risk(pair.identity, "the object becomes a pre-upgrade hook", consequence)


def _values(data: dict[str, Json], annotation: str) -> set[str]:
    text = strings_at(data, "annotations").get(annotation, "")
    return {value.strip().lower() for value in text.split(",") if value.strip()}
