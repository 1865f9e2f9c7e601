"""Random changes of rendered manifests that a cluster would notice.

Run as a program, this module counts the changes that a preview does not report:

    python -m tests.security.preview_mutations 10000
"""

from __future__ import annotations

import copy
import json
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from random import Random
from typing import Any, NamedTuple

from postrender.config.settings import AttacherSettings, Settings
from postrender.diff.build import compare
from postrender.diff.model import Preview
from postrender.errors import UserError
from postrender.inventory.build import take_inventory
from postrender.krm.input import own_annotations
from postrender.kubernetes.hashing import without_hash
from postrender.kubernetes.kinds import api_group
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.yaml.document import parse_in
from postrender.yaml.scalars import block_text
from postrender.yaml.stream import Source, has_content, read_stream, read_streams
from tests.golden_cases import FIXTURES, Case
from tests.manifests import Obj

RUN = Settings(attacher=AttacherSettings(image="image:1"))
# The hashes of retained and forged revisions.
HASHES = ("mmmmmmmmmm", "7f89tk7g74", "m567dfc6df")
TEXTS = ("x", "web", "evil:1", "", "cluster-admin", "keep", "true", "postrender", "0")
# Fields that the API server ignores in a request, and the status of its own kinds.
IGNORED = ("creationTimestamp", "generation", "selfLink")


class Mutation(NamedTuple):
    """A change of rendered manifests: the objects of both sides."""

    name: str
    old: list[Obj]
    new: list[Obj]


@cache
def bases() -> list[tuple[str, list[Obj]]]:
    """Return rendered manifests of the golden cases, each with an attacher.

    Half of them have revisions of Secrets.
    """
    found = []
    for number, path in enumerate(sorted(FIXTURES.glob("*.yaml"))):
        case = Case(path)
        settings = RUN._replace(with_secrets=number % 2 == 0)
        try:
            stream = read_stream(case.input, case.name)
            text = "".join(render(make_plan(take_inventory(stream, settings), settings)))
            objects = objects_of(text)
            assert not compare_objects(objects, objects).has_changes, case.name
        except (UserError, RecursionError):
            continue
        if "attach-group" in text:
            found.append((case.name, objects))
    return found


def objects_of(text: str) -> list[Obj]:
    stream = read_stream(text.encode(), "rendered")
    return [
        data
        for index, document in enumerate(stream.texts)
        if has_content(document)
        if isinstance(data := parse_in(stream, index).data, dict)
    ]


def text_of(objects: list[Obj]) -> str:
    return "".join(f"---\n{block_text(data, 0, chr(10))}\n" for data in objects)


def compare_objects(old: list[Obj], new: list[Obj]) -> Preview:
    sides = [read_streams(files_of(side), "stream") for side in (old, new)]
    return compare(sides[0], sides[1], Settings())


def files_of(objects: list[Obj]) -> list[Source]:
    """Two files with objects."""
    middle = len(objects) // 2
    parts = objects[:middle], objects[middle:]
    return [Source(f"{n}.yaml", text_of(part).encode()) for n, part in enumerate(parts)]


def mutations(seed: int) -> Iterator[Mutation]:
    """Yield changes without end: of one to three objects, in one or several namespaces.

    A side can define an object several times, and can have retained and forged revisions.
    """
    random = Random(seed)
    while True:
        name, old = random.choice(bases())
        old = copy.deepcopy(old)
        for _ in range(random.choice((0, 0, 1, 2))):
            random.choice((duplicate, duplicate, retain, move))(old, random)
        new = copy.deepcopy(old)
        for _ in range(random.choice((1, 1, 2, 3))):
            change(new, random)
        if random.random() < 0.2:
            old, new = new, old
        if untold_parts(old, new, None):
            yield Mutation(name, old, new)


def change(objects: list[Obj], random: Random) -> None:
    """Change, add, remove or move something, in place."""
    way = random.randrange(16)
    if way == 0 and len(objects) > 1:
        del objects[random.randrange(len(objects))]
    elif way == 1:
        added = copy.deepcopy(random.choice(objects))
        name_of(added, random)
        objects.insert(random.randrange(len(objects) + 1), added)
    elif way == 2:
        duplicate(objects, random)
    elif way == 3:
        retain(objects, random)
    elif way in (4, 5):
        refer(objects, random)
    elif way == 6:
        move(objects, random)
    elif way == 7:
        random.shuffle(objects)
    else:
        mutate(random.choice(objects), random)


def duplicate(objects: list[Obj], random: Random) -> None:
    """Define an object once more, mostly with other content."""
    added = copy.deepcopy(random.choice(objects))
    if random.random() < 0.7 and isinstance(added.get("spec"), dict):
        mutate(added["spec"], random)
    objects.insert(random.randrange(len(objects) + 1), added)


def retain(objects: list[Obj], random: Random) -> None:
    """Add an earlier revision of a ConfigMap or Secret, with other content or the same."""
    revisions = revisions_in(objects)
    if not revisions:
        return
    added = copy.deepcopy(random.choice(revisions))
    metadata = added["metadata"]
    metadata["name"] = f"{metadata['annotations']['postrender/base-name']}-{random.choice(HASHES)}"
    metadata["annotations"].pop("helm-diff/base-name", None)
    fields = [field for field in ("data", "stringData") if isinstance(added.get(field), dict)]
    for field in fields if random.random() < 0.8 else ():
        added[field] = {**added[field], "key": random.choice(TEXTS)}
    objects.append(added)


def refer(objects: list[Obj], random: Random) -> None:
    """Let an object name another revision of the same ConfigMap or Secret, once or everywhere."""
    revisions = revisions_in(objects)
    if not revisions:
        return
    one = random.choice(revisions)["metadata"]
    base = one["annotations"]["postrender/base-name"]
    others = [
        revision["metadata"]["name"]
        for revision in revisions
        if revision["metadata"]["annotations"]["postrender/base-name"] == base
    ]
    target = random.choice([*others, f"{base}-{random.choice(HASHES)}"])
    users = [data for data in objects if data.get("kind") not in ("ConfigMap", "Secret")]
    for data in random.sample(users, min(1, len(users))):
        places = [
            (parent, key)
            for parent, key in places_in(data)
            if isinstance(parent[key], str) and one["name"] in parent[key]
        ]
        for parent, key in places if random.random() < 0.5 else places[:1]:
            parent[key] = parent[key].replace(one["name"], target)


def revisions_in(objects: list[Obj]) -> list[Obj]:
    return [
        data
        for data in objects
        if data.get("kind") in ("ConfigMap", "Secret")
        and isinstance(data.get("metadata"), dict)
        and isinstance(data["metadata"].get("annotations"), dict)
        and isinstance(data["metadata"]["annotations"].get("postrender/base-name"), str)
        and isinstance(data["metadata"].get("name"), str)
    ]


def move(objects: list[Obj], random: Random) -> None:
    """Give some objects a namespace."""
    namespace = random.choice(("elsewhere", "shop"))
    for data in random.sample(objects, random.randrange(1, min(4, len(objects)) + 1)):
        if isinstance(data.get("metadata"), dict):
            data["metadata"]["namespace"] = namespace


def name_of(data: Obj, random: Random) -> None:
    """Give a copied object another name, another namespace, or other content."""
    metadata = data.setdefault("metadata", {})
    way = random.randrange(3)
    if way == 0:
        metadata["name"] = f"{metadata.get('name', '')}-x"
    elif way == 1:
        metadata["namespace"] = "elsewhere"
    else:
        metadata["name"] = f"{metadata.get('name', '')}-{random.randrange(10)}"
        mutate(data, random)


def mutate(data: Any, random: Random) -> None:
    """Change, add or remove one value anywhere in an object, in place."""
    places = list(places_in(data))
    if not places:
        return
    parent, key = random.choice(places)
    value = parent[key]
    way = random.randrange(6)
    if way == 0 or (way < 3 and isinstance(value, (dict, list))):
        del parent[key]
    elif way < 4 and not isinstance(value, (dict, list)):
        parent[key] = other_scalar(value, random)
    elif isinstance(parent, dict):
        added = random.choice(
            [
                "x",
                "hostPID",
                "uid",
                "ownerReferences",
                "finalizers",
                "status",
                "postrender/unused-since",
                "postrender/sweep",
                "namespace",
                "resourceVersion",
                "managedFields",
                "immutable",
                "args",
                "helm.sh/resource-policy",
                "postrender/render-id",
            ]
        )
        parent[added] = random.choice(
            [True, "x", 1, None, {}, [], {"x": "y"}, ["x"], [{"name": "x"}]]
        )
    else:
        parent.insert(random.randrange(len(parent) + 1), random.choice([*TEXTS, value]))


def places_in(data: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the container and the key of every value, several times for deep values."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in list(pairs):
        yield data, key
        if isinstance(value, (dict, list)):
            yield from places_in(value)


def other_scalar(value: Any, random: Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + random.choice([-1, 1])
    text = str(value or "")
    return random.choice([*TEXTS, None, text + "x", text[1:], text.swapcase(), text + " "])


def applied(objects: list[Obj]) -> dict[tuple[str, str, str], tuple[str, ...]]:
    """Return the definitions of each object as a cluster stores them, by kind, namespace and name.

    The order of different definitions counts, because the last one usually wins.
    """
    found: dict[tuple[str, str, str], list[str]] = {}
    for data in objects:
        for item in items_of(data):
            text = json.dumps(as_stored(item), sort_keys=True)
            definitions = found.setdefault(key_of(item), [])
            if key_of(item)[0] in ("ConfigMap", "Secret") and _NULL.sub("", text) in {
                _NULL.sub("", definition) for definition in definitions
            }:
                continue  # render drops a repeated definition, and does not see nulls
            if text in definitions:
                definitions.remove(text)
            definitions.append(text)
    return {key: tuple(definitions) for key, definitions in found.items()}


def key_of(item: Any) -> tuple[str, str, str]:
    """Return kind, namespace and name; "" for what an object does not have."""
    data = item if isinstance(item, dict) else {}
    metadata = data.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    is_object = isinstance(data.get("apiVersion"), str) and isinstance(data.get("kind"), str)
    kind = data["kind"] if is_object else ""
    return kind, str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


def untold_parts(
    old: list[Obj], new: list[Obj], preview: Preview | None
) -> list[tuple[str, str, str]]:
    """Return each object that differs and that the preview does not name; all without a preview."""
    before, after = applied(old), applied(new)
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    if preview is None:
        return keys
    named = [
        *(change.identity for change in preview.contents),
        *(change.identity for change in preview.workloads),
        *(change.identity for change in preview.objects),
        *(revision.identity for revision in preview.revisions if revision.is_changed),
    ]
    names: dict[str, set[str]] = {}
    for identity in named:
        names.setdefault(identity.kind, set()).add(identity.name)
    for change in preview.contents:
        names[change.identity.kind] |= {change.old_revision, change.new_revision}
    for revision in preview.revisions:
        names.setdefault(revision.identity.kind, set()).add(revision.name)
    undecided = " ".join(f"{part.location} {part.problem}" for part in preview.undecided)
    return [
        key
        for key in keys
        if not _is_named(key, names, undecided)
        and not _base_names(before, after, key) & names.get(key[0], set())
        and not (preview.has_changes and is_of_render(before.get(key, ()), after.get(key, ())))
    ]


def _base_names(*sides_and_key: Any) -> set[str]:
    """Return the base names in the annotations of an object."""
    *sides, key = sides_and_key
    texts = (text for side in sides for text in side.get(key, ()))
    return {match[1] for text in texts if (match := _BASE_NAME.search(text))}


_NULL = re.compile(r', "[^"]*": null')
_BASE_NAME = re.compile(r'"postrender/base-name": "([^"]*)"')
_NAMESPACE = re.compile(r', "namespace": "[^"]*"')


@cache
def attachers() -> frozenset[str]:
    """Return the objects that render appends to the golden cases, without namespaces."""
    texts = {
        _NAMESPACE.sub("", text)
        for _, objects in bases()
        for definitions in applied(objects).values()
        for text in definitions
    }
    return frozenset(text for text in texts if '"app.kubernetes.io/component": "attacher"' in text)


def is_of_render(before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    """Return whether an object is an attacher that render appends to one side only."""
    texts = {_NAMESPACE.sub("", text) for text in before or after}
    return not (before and after) and texts <= attachers()


def _is_named(key: tuple[str, str, str], names: Mapping[str, set[str]], undecided: str) -> bool:
    kind, _, name = key
    if not kind or not name:
        return bool(names or undecided)
    possible = {name, without_hash(name) or name}
    return bool(possible & names.get(kind, set())) or any(one in undecided for one in possible)


def items_of(data: Any) -> list[Any]:
    """Return the objects of a List and of the Lists in it, as kubectl applies them."""
    items = data.get("items") if isinstance(data, dict) else None
    is_list = isinstance(items, list) and str(data.get("kind")).endswith("List")
    if not is_list or items is None:
        return [data]
    return [applied_object for item in items for applied_object in items_of(item)]


def as_stored(data: Any, key: str = "") -> Any:
    if isinstance(data, dict):
        stored = {name: as_stored(value, name) for name, value in data.items()}
        rest = {
            name: value
            for name, value in stored.items()
            if not (name in IGNORED and value is None) and not (value == {} and data[name])
        }
        if key == "subjects" and rest.get("namespace", "") is None:
            del rest["namespace"]  # the API server replaces the list of subjects as a whole
        if key == "annotations":
            rest = own_annotations(rest)
        if isinstance(rest.get("resourceNames"), list):
            rest["resourceNames"] = list(dict.fromkeys(map(str, rest["resourceNames"])))
        if "kind" in data and isinstance(rest.get("metadata"), dict):
            metadata = rest["metadata"]
            if not metadata.get("annotations"):  # Helm and kubectl write annotations there
                metadata.pop("annotations", None)
        if key == "metadata":
            rest = {name: value for name, value in rest.items() if name not in IGNORED}
            if rest.get("namespace") == "":
                del rest["namespace"]
        group = api_group(str(data.get("apiVersion"))) if "kind" in data else "."
        if "." not in group or group.endswith(".k8s.io"):
            rest.pop("status", None)
        return rest
    return [as_stored(value, key) for value in data] if isinstance(data, list) else data


def untold(mutation: Mutation) -> list[tuple[str, str, str]]:
    """Return the objects that differ and that a preview does not name; [] for a refused input."""
    try:
        preview = compare_objects(mutation.old, mutation.new)
    except UserError:
        return []
    return untold_parts(mutation.old, mutation.new, preview)


def main() -> None:
    """Count the changes with an object that is not named, and print them."""
    count, seed = int(sys.argv[1]), int((*sys.argv, "1")[2])
    missed = 0
    for number, mutation in zip(range(count), mutations(seed), strict=False):
        parts = untold(mutation)
        if parts:
            missed += 1
            print(f"\n{number} {mutation.name}")
            old, new = applied(mutation.old), applied(mutation.new)
            for part in parts:
                print(part)
                print(*("- " + text for text in old.get(part, ())), sep="\n")
                print(*("+ " + text for text in new.get(part, ())), sep="\n")
    print(f"{count} changes, {missed} not told")


if __name__ == "__main__":
    main()
