"""The objects of attachers, compared with the objects that postrender would append.

A label marks the objects of an attacher, and anybody can write this label. A preview therefore
leaves out only values that postrender would write for the same manifests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

from postrender.config.settings import Settings
from postrender.diff.pairs import AttacherArguments, AttacherObjects, ComparedObject, Pair, Side
from postrender.diff.redact import NOT_SHOWN
from postrender.inventory.model import ItemKey
from postrender.kubernetes.annotations import JOB_LABEL
from postrender.kubernetes.attach_groups import inventory_arguments
from postrender.kubernetes.hashing import JOB_HASH_LENGTH, canonical_json, encode_hash
from postrender.kubernetes.kinds import CONFIG_MAP, ObjectKey
from postrender.plan.attacher_job import attacher_objects, decide_mode
from postrender.plan.edits import attacher_key, without_tool_annotations
from postrender.plan.groups import find_groups
from postrender.plan.model import PlanContext
from postrender.yaml.edits import copied
from postrender.yaml.paths import Json, mapping_at, value_at

# The options of the attacher's Job for a workload with its revisions, and for all other revisions.
_WORKLOAD, _EMITTED = "--workload", "--emitted"
# The paths of the mappings in which the value of JOB_LABEL is the hash of the Job.
_HASHED_LABELS = (("spec", "selector", "matchLabels"), ("spec", "template", "metadata", "labels"))
_CONTAINERS = ("spec", "template", "spec", "containers")


def expected_attachers(
    context: PlanContext | None, render_ids: Mapping[ItemKey, str], settings: Settings
) -> tuple[AttacherObjects, AttacherArguments]:
    """The attachers that postrender would append to one side; empty without a context.

    render_ids: of each workload that references revisions.
    settings: those of the user; `context` has the settings of the preview.
    """
    objects: dict[ObjectKey, dict[str, Json]] = {}
    arguments: dict[tuple[str | None, str], frozenset[tuple[str, str]]] = {}
    if context is not None:
        mode, _ = decide_mode(context.inventory, settings.attacher)
        for group in find_groups(context, render_ids).groups:
            expected = attacher_objects(group, mode, settings.attacher)
            for data in expected:
                objects[attacher_key(data, group)] = data
            arguments[group.namespace, group.name] = frozenset(
                argument
                for data in expected
                for values in _argument_lists(data)
                for argument in _revision_arguments(values)
            )
    return objects, arguments


def with_group_names(objects: Sequence[ComparedObject]) -> list[ComparedObject]:
    """The objects, with attach groups as the names in the identities of attachers' Jobs.

    The name of a Job ends in a hash, which would make the identities on the two sides differ.
    """
    named = []
    for compared in objects:
        group, identity = compared.attach_group, compared.identity
        if compared.is_attacher and identity.kind == "Job":
            digest = identity.name.removeprefix(f"{group}-")
            if digest != identity.name and len(digest) == JOB_HASH_LENGTH:
                compared = compared._replace(identity=identity._replace(name=group))
        named.append(compared)
    return named


def is_left_out(pair: Pair, old: Side, new: Side) -> bool:
    """Whether a preview leaves out an attacher's object that only one side has.

    If the newer side is an input without the object, it is enough that postrender would append an
    attacher of this group to the older side again. Otherwise, postrender would append exactly this
    object to its side again, and the other side is an input, or would not get this attach group.
    """
    item = pair.newest.item
    # With --first-release, the user applied OLD without postrender, so the attacher is new.
    if item is None or CONFIG_MAP in old.inventory.fixed_kinds:
        return False
    side, other = (new, old) if pair.new else (old, new)
    group, namespace = pair.newest.attach_group, item.identity.namespace
    if pair.new is None and not new.is_rendered:
        return (namespace, group) in old.attacher_arguments
    if (namespace, group) in other.attacher_arguments and other.is_rendered:
        return False
    expected = side.attacher_objects.get(item.identity.key_in(namespace))
    return expected is not None and without_tool_annotations(item) == expected


def comparable_pair(
    pair: tuple[ComparedObject, ComparedObject], old: Side, new: Side
) -> tuple[ComparedObject, ComparedObject]:
    """Both objects of an attacher's pair, without the differences that postrender makes.

    These are the hash of the Job, the arguments for workloads and revisions, and repetitions of the
    object's own namespace. Values that postrender would not write stay.
    """
    both = tuple(map(_without_own_namespaces, pair))
    if both[1].identity.kind not in ("Job", "ConfigMap"):
        return both[0], both[1]
    if all(map(_has_own_hash, pair)):
        both = tuple(_without_hash(compared) for compared in both)
    expected_old, expected_new = (
        side.attacher_arguments.get(
            (compared.identity.namespace, compared.attach_group), frozenset()
        )
        for side, compared in zip((old, new), both, strict=True)
    )
    lists = [list(_argument_lists(compared.data)) for compared in both]
    for values in zip(*lists, strict=False):
        before, after = map(_revision_arguments, values)
        removed, added = before - after, after - before
        if removed <= expected_old - expected_new and added <= expected_new - expected_old:
            for value in values:
                value[:] = _without_arguments(value, removed | added)
    return both[0], both[1]


def _without_own_namespaces(compared: ComparedObject) -> ComparedObject:
    """A copy without the object's own namespace in subjects and arguments.

    In a RoleBinding, a subject without a namespace gets the namespace "", because it would
    otherwise equal a subject in the namespace of the object.
    """
    data = _listed(compared)
    namespace = compared.identity.namespace
    subjects = data.get("subjects")
    for subject in subjects if isinstance(subjects, list) else ():
        if not isinstance(subject, dict):
            continue
        if subject.get("namespace") == namespace:
            subject.pop("namespace", None)
        else:
            subject.setdefault("namespace", "")
    for values in _argument_lists(data):
        for position, value in enumerate(values[:-1]):
            if value == "--namespace" and values[position + 1] == namespace:
                del values[position : position + 2]
                break
    return compared._replace(data=data)


def _listed(compared: ComparedObject) -> dict[str, Json]:
    """A copy of the data of an attacher's object, in which the data of an inventory is a list."""
    data: dict[str, Json] = copied(compared.data)
    if compared.identity.kind == "ConfigMap":
        data["data"] = [*(inventory_arguments(data) or ())]
    return data


def without_hashes(compared: ComparedObject) -> ComparedObject:
    """A copy of an attacher's object without the hashes that cover the names of Secrets.

    These are the hash of the Job, and the render IDs in the arguments.
    """
    copy = _without_hash(compared)
    for values in _argument_lists(copy.data):
        for position, option in enumerate(values[:-1]):
            if option == _WORKLOAD:
                workload, at, rest = str(values[position + 1]).partition("@")
                _, sign, revisions = rest.partition("=")
                values[position + 1] = workload + at + (at and NOT_SHOWN) + sign + revisions
    return copy


def _has_own_hash(compared: ComparedObject) -> bool:
    """Whether the hash in the name and labels of a Job is the hash of the Job's content."""
    if compared.item is None or compared.identity.name == compared.name:
        return False
    data = {**compared.data, "metadata": without_tool_annotations(compared.item).get("metadata")}
    copy = _without_hash(compared._replace(data=data)).data
    metadata, spec = copy.get("metadata"), copy.get("spec")
    if not isinstance(metadata, dict) or not isinstance(spec, dict):
        return False
    metadata = {key: value for key, value in metadata.items() if key != "name"}
    spec = {key: spec[key] for key in spec if key not in ("manualSelector", "selector")}
    digest = encode_hash(
        canonical_json({**copy, "metadata": metadata, "spec": spec}), JOB_HASH_LENGTH
    )
    return compared.name == f"{compared.identity.name}-{digest}" and all(
        mapping_at(compared.data, path).get(JOB_LABEL) == digest for path in _HASHED_LABELS
    )


def _without_hash(compared: ComparedObject) -> ComparedObject:
    data = _listed(compared)
    for path in _HASHED_LABELS:
        mapping_at(data, path).pop(JOB_LABEL, None)
    return compared._replace(data=data, name=compared.identity.name)


def _argument_lists(data: Mapping[str, Json]) -> Iterator[list[Json]]:
    """The arguments of each container that runs `postrender attach`, or of an inventory."""
    inventory = data.get("data") if data.get("kind") == "ConfigMap" else None
    if inventory is not None:
        yield inventory if isinstance(inventory, list) else [*(inventory_arguments(data) or ())]
    containers = value_at(data, _CONTAINERS) if data.get("kind") == "Job" else None
    for container in containers if isinstance(containers, list) else ():
        arguments = container.get("args") if isinstance(container, dict) else None
        if isinstance(arguments, list) and arguments[:1] == ["attach"]:
            yield arguments


def _revision_arguments(arguments: Sequence[Json]) -> AbstractSet[tuple[str, str]]:
    return {
        (str(option), part)
        for option, value in pairwise(arguments)
        for part in _parts(option, value)
    }


def _parts(option: Json, value: Json) -> Sequence[str]:
    if option == _WORKLOAD:
        return (str(value),)
    return str(value).split(",") if option == _EMITTED else ()


def _without_arguments(
    arguments: Sequence[Json], left_out: AbstractSet[tuple[str, str]]
) -> list[Json]:
    """The arguments without some workloads and revisions; an option that loses its value goes too.

    left_out: as the result of _revision_arguments.
    """
    rest: list[Json] = []
    position = 0
    while position < len(arguments):
        option = arguments[position]
        if option in (_WORKLOAD, _EMITTED) and position + 1 < len(arguments):
            parts = _parts(option, arguments[position + 1])
            kept = [part for part in parts if (str(option), part) not in left_out]
            rest += [option, ",".join(kept)] if kept else []
            position += 2
        else:
            rest.append(option)
            position += 1
    return rest
