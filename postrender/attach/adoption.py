"""`postrender adopt`: before the first release with revisions, keep the originals that it replaces.

The applying tool would delete a ConfigMap that its new manifests lack, under the old pods that
still name it. Marked as render marks revisions it stays, and attach owns and later collects it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from postrender.attach.client import Client
from postrender.attach.live import Object, read_holder
from postrender.attach.request import RevisionRef
from postrender.attach.resources import PODS, REVISED, Resource
from postrender.errors import Location, UserError
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item
from postrender.kubernetes.annotations import BASE_NAME_ANNOTATION, GROUP_LABEL, SWEEP_ANNOTATION
from postrender.kubernetes.kinds import strings_at
from postrender.kubernetes.retention import changed_values, keep_annotations
from postrender.startup.records import NamedTuple
from postrender.yaml.paths import mapping_at

ADOPTED, CANNOT_BE_PROTECTED = "adopted", "cannot be protected"
SHOWN_PODS = 5


class Original(NamedTuple):
    """A base name of the rendered output, of which the output holds a revision.

    stays: whether the output holds an object of that very name, which overwrites the live one;
    labels, annotations: what the live one is to bear.
    """

    resource: Resource
    namespace: str | None
    name: str
    stays: bool
    labels: Mapping[str, str]
    annotations: Mapping[str, str]

    @property
    def key(self) -> RevisionRef:
        """Kind and name, as holders name it."""
        return self.resource.kind.lower(), self.name

    def __str__(self) -> str:
        return f"{self.resource.kind}/{self.name}"


def find_originals(inventory: Inventory) -> list[Original]:
    """Return what the revisions of a rendered output replace.

    Raises UserError where there is no revision.
    """
    present = {item.identity for item in inventory.items}
    originals: dict[tuple[Resource, str | None, str], Original] = {}
    for item in inventory.items:
        base_name = item.annotations.get(BASE_NAME_ANNOTATION)
        if base_name and GROUP_LABEL in item.labels:
            stays = item.identity._replace(name=base_name) in present
            original = _original(item, base_name, stays=stays)
            originals[original[:3]] = original
    if not originals:
        raise UserError(
            "it holds no revision",
            "pipe in what postrender renders: helm template … | postrender | postrender adopt",
            Location(inventory.stream.source),
        )
    return list(originals.values())


def _original(item: Item, base_name: str, *, stays: bool) -> Original:
    resource = next(found for found in REVISED if found.group_kind == item.identity.group_kind)
    annotations = keep_annotations()
    if item.annotations.get(SWEEP_ANNOTATION) == "false":
        annotations[SWEEP_ANNOTATION] = "false"
    labels = {GROUP_LABEL: item.labels[GROUP_LABEL]}
    return Original(resource, item.identity.namespace, base_name, stays, labels, annotations)


def adopt(client: Client, originals: Sequence[Original], *, is_dry: bool) -> list[str]:
    """Mark the live originals of one namespace; return a line about each.

    is_dry: tell, and write nothing. Raises ApiError.
    """
    pods, _ = client.list_all(PODS, partial(read_holder, PODS))
    live = {
        (resource, _name(data)): data
        for resource in dict.fromkeys(original.resource for original in originals)
        for data in client.list_all(resource, _as_it_is)[0]
    }
    lines = []
    for original in originals:
        users = [str(pod) for pod in pods if original.key in pod.names]
        data = live.get((original.resource, original.name))
        state = _adopt_one(client, original, data, is_dry=is_dry)
        lines.append(f"{original}: {state}{_named_by(users)}")
    if not any((original.resource, original.name) in live for original in originals):
        lines.append("none of them is here: check --namespace and --context")
    return lines


def _named_by(users: Sequence[str]) -> str:
    if len(users) > SHOWN_PODS:
        return f", named by {len(users)} Pods such as {users[0]}"
    return f", named by {', '.join(users)}" if users else ""


def _adopt_one(client: Client, original: Original, data: Object | None, *, is_dry: bool) -> str:
    if data is None:
        return "is not in the cluster, nothing to do"
    if original.stays:
        return (
            f"{CANNOT_BE_PROTECTED}: the output holds it under this name and overwrites it (named "
            "by a Job or a hook, or --keep-original), unless --previous carries it along as it is"
        )
    labels = changed_values(strings_at(data, "labels"), original.labels)
    annotations = changed_values(strings_at(data, "annotations"), original.annotations)
    if not labels and not annotations:
        return f"is {ADOPTED} already"
    if is_dry:
        return f"would be {ADOPTED}"
    patch: Object = {"metadata": {"labels": labels, "annotations": annotations}}
    return ADOPTED if client.patch(original.resource, original.name, patch) else "is gone"


def _as_it_is(data: Object) -> Object:
    return data


def _name(data: Object) -> str:
    return str(mapping_at(data, ("metadata",)).get("name"))
