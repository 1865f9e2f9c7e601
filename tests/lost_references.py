"""The promise to every reference: it finds the same content after a rendering as before.

The search knows no rules. It follows every field that looks like a reference, in every kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.manifests import Obj, annotation, go_json, kind_of, name_of, namespace_of

FIELDS = {
    "configMap": "ConfigMap",
    "configMapRef": "ConfigMap",
    "configMapKeyRef": "ConfigMap",
    "secret": "Secret",
    "secretName": "Secret",
    "secretRef": "Secret",
    "secretKeyRef": "Secret",
    "nodePublishSecretRef": "Secret",
}


def lost_references(before: list[Obj], after: list[Obj], namespace: str = "") -> list[str]:
    """Return the contents that an object references before a rendering, but not after it.

    namespace: the value of --namespace. Without it, absent and explicit namespaces differ.
    """
    found_before, found_after = (contents(objects, namespace) for objects in (before, after))
    # A reference in the data of a ConfigMap may also be rewritten.
    names = {name_of(item): annotation(item, "postrender/base-name") for item in after}
    lost = with_base_names(found_before, names) - with_base_names(found_after, names)
    return [" -> ".join(key) for key in lost]


def contents(objects: list[Obj], namespace: str) -> Counter[tuple[str, str]]:
    """Count what each object references, as (object, content)."""
    by_name = {
        (kind_of(item), name_of(item), namespace_of(item) or namespace): go_json(
            {key: stored(item.get(key)) for key in ("kind", "data", "binaryData", "stringData")}
        )
        for item in objects
    }
    return Counter(
        (f"{kind_of(item)}/{name_of(item)} in {home}", by_name[kind, name, home])
        for item in objects
        for home in [namespace_of(item) or namespace]
        for kind, name in references(item)
        # The definition of a kind references nothing.
        if (kind, name, home) in by_name and kind_of(item) != "CustomResourceDefinition"
    )


def stored(values: Any) -> Any:
    """Return data as the API server stores it, with "" for a null."""
    if not isinstance(values, dict):
        return values
    return {key: "" if value is None else value for key, value in values.items()}


def references(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the kind and name in each field with the name of a reference, at any depth."""
    for key, child in value.items() if isinstance(value, dict) else enumerate(value):
        name = child.get("name") if isinstance(child, dict) else child
        if key in FIELDS and isinstance(name, str):
            yield FIELDS[key], name
        if isinstance(child, dict | list):
            yield from references(child)


def with_base_names(
    found: Counter[tuple[str, str]], names: dict[str, str]
) -> Counter[tuple[str, str]]:
    result: Counter[tuple[str, str]] = Counter()
    for (owner, content), count in found.items():
        for name, base_name in names.items():
            content = content.replace(name, base_name) if base_name else content
        result[owner, content] += count
    return result
