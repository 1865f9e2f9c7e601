"""Random changes of rendered manifests that a cluster would notice.

Run as a program, this module counts the changes that a preview does not report:

    python -m tests.security.preview_mutations 10000
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any, NamedTuple

from postrender.config.settings import AttacherSettings, Settings
from postrender.diff.build import compare
from postrender.diff.model import Preview
from postrender.errors import UserError
from postrender.inventory.build import take_inventory
from postrender.krm.input import own_annotations
from postrender.kubernetes.kinds import api_group
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.yaml.document import parse_document
from postrender.yaml.emit import block_text
from postrender.yaml.stream import has_content, read_stream
from tests.golden_cases import FIXTURES, Case
from tests.manifests import Obj

RUN = Settings(attacher=AttacherSettings(image="image:1"))
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
    """Return rendered manifests of the golden cases, each with at least one attacher."""
    found = []
    for path in sorted(FIXTURES.glob("*.yaml")):
        case = Case(path)
        try:
            stream = read_stream(case.input, case.name)
            text = "".join(render(make_plan(take_inventory(stream, RUN), RUN)))
            objects = objects_of(text)
            compare_objects(objects, objects)
        except (UserError, RecursionError):
            continue
        if "attach-group" in text:
            found.append((case.name, objects))
    return found


def objects_of(text: str) -> list[Obj]:
    stream = read_stream(text.encode(), "rendered")
    return [
        data
        for document in stream.documents
        if has_content(document.text)
        if isinstance(
            data := parse_document(document.text, stream.location_of(document)).data, dict
        )
    ]


def text_of(objects: list[Obj]) -> str:
    return "".join(f"---\n{block_text(data, 0, chr(10))}\n" for data in objects)


def compare_objects(old: list[Obj], new: list[Obj]) -> Preview:
    sides = [read_stream(text_of(side).encode(), "stream") for side in (old, new)]
    return compare(sides[0], sides[1], Settings())


def mutations(seed: int) -> Iterator[Mutation]:
    """Yield changes without end."""
    random = Random(seed)
    while True:
        name, old = random.choice(bases())
        new = copy.deepcopy(old)
        way = random.randrange(12)
        if way == 0:
            del new[random.randrange(len(new))]
        elif way == 1:
            added = copy.deepcopy(random.choice(new))
            name_of(added, random)
            new.insert(random.randrange(len(new) + 1), added)
        else:
            mutate(random.choice(new), random)
        if applied(old) != applied(new):
            yield Mutation(name, old, new)


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


def applied(objects: list[Obj]) -> list[str]:
    """Return the objects as a cluster stores them, without an order."""
    return sorted(
        {json.dumps(as_stored(item), sort_keys=True) for data in objects for item in items_of(data)}
    )


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
        group = api_group(str(data.get("apiVersion"))) if "kind" in data else "."
        if "." not in group or group.endswith(".k8s.io"):
            rest.pop("status", None)
        return rest
    return [as_stored(value, key) for value in data] if isinstance(data, list) else data


def reported(mutation: Mutation) -> bool:
    """Return whether the preview of a change reports a change, or refuses the manifests."""
    try:
        return compare_objects(mutation.old, mutation.new).has_changes
    except UserError:
        return True


def main() -> None:
    """Count the changes that are not reported, and print them."""
    count, seed = int(sys.argv[1]), int((*sys.argv, "1")[2])
    missed = 0
    for number, mutation in zip(range(count), mutations(seed), strict=False):
        if not reported(mutation):
            missed += 1
            old, new = applied(mutation.old), applied(mutation.new)
            print(f"\n{number} {mutation.name}")
            for sign, lines in (("-", set(old) - set(new)), ("+", set(new) - set(old))):
                for line in sorted(lines):
                    print(sign, line)
    print(f"{count} changes, {missed} not reported")


if __name__ == "__main__":
    main()
