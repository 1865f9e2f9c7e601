"""The new object is invalid, so the API server rejects the object.

- A name, a label or a key of a ConfigMap has a character that Kubernetes does not allow, or is too
  long.
- A value has a wrong type, often because it lacks quotes, such as `true` in an annotation or `8080`
  in the value of a variable.
- A ConfigMap or Secret has more than 1,048,576 bytes, a Secret lacks a key of its type.
- A selector does not match the labels of its own pod template.
- Two containers, volumes or ports have one name, or a mount names a volume that does not exist.
- A field is missing, or has a value that its kind does not have: a port above 65,535, a resource
  request above its limit, a `HorizontalPodAutoscaler` with a minimum above its maximum, a path of
  an Ingress without `pathType`.

An object that had the same fault before the change is not a risk of the change.

Source: `postrender/kubernetes/validation.py`, which follows `pkg/apis/*/validation` of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import Risk
from postrender.diff.risks.facts import Facts, rejection
from postrender.kubernetes.validation import find_invalid
from postrender.yaml.paths import Json, Path, format_path, value_at

REJECTS = True


def find(facts: Facts) -> Iterator[Risk]:
    for pair in facts.pairs:
        if pair.new is None or (pair.old and pair.old.data == pair.new.data):
            continue
        problems = dict.fromkeys(_problems(pair.new.data, is_new=not pair.old))
        before = set(_problems(pair.old.data, is_new=False)) if problems and pair.old else ()
        for path, fact in problems:
            if (path, fact) not in before:
                yield rejection(facts, pair.identity, fact, path)


def _problems(data: dict[str, Json], *, is_new: bool) -> Iterator[tuple[str, str]]:
    for path, fact in find_invalid(data, is_new=is_new):
        yield _shown(data, path), fact


def _shown(data: dict[str, Json], path: Path) -> str:
    """A path with the names of list items, which stay the same if items are added."""
    text = ""
    for depth, part in enumerate(path):
        name = value_at(data, (*path[: depth + 1], "name")) if isinstance(part, int) else None
        part_text = f"[name={name}]" if isinstance(name, str) else format_path((part,))
        text += part_text if part_text.startswith("[") or not text else f".{part_text}"
    return text
