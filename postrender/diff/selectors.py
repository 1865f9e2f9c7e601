"""Selectors, and the labels that they match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from postrender.yaml.paths import Json, mapping_at, mappings_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Value = TypeVar("Value")

# A namespace, and a label of an object in it. All objects have the empty label.
LabelKey = tuple[str | None, str, str]


def label_keys(namespace: str | None, labels: Mapping[str, Json]) -> Iterator[LabelKey]:
    """The keys under which an index has an object, or a selector finds it."""
    for key, value in {"": "", **labels}.items():
        yield namespace, key, str(value)


def candidates(
    index: Mapping[LabelKey, Sequence[Value]], namespace: str | None, wanted: Mapping[str, Json]
) -> Sequence[Value]:
    """The values of the key that the fewest values have; the selector matches no others."""
    return min((index.get(key, ()) for key in label_keys(namespace, wanted)), key=len)


def words_of(selector: dict[str, Json]) -> Iterator[str]:
    """Words of which a pod template that matches has one. "" is in every text."""
    values = [str(value) for value in mapping_at(selector, ("matchLabels",)).values()]
    yield from values[:1] or [""]


def is_selected(selector: dict[str, Json], labels: Mapping[str, str]) -> bool:
    """Whether a selector matches labels."""
    wanted = mapping_at(selector, ("matchLabels",))
    if any(labels.get(key) != str(value) for key, value in wanted.items()):
        return False
    return all(
        _meets(condition, labels) for condition in mappings_in(selector.get("matchExpressions"))
    )


def _meets(condition: dict[str, Json], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(str(condition.get("key"))), condition.get("values")
    operator, listed = condition.get("operator"), values if isinstance(values, list) else []
    if operator == "In":
        return value in listed
    if operator == "NotIn":
        return value not in listed
    return (value is not None) == (operator == "Exists")
