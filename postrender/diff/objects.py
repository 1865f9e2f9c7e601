"""The changes of a whole object: labels, and the schema of a custom kind, are one line each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from postrender.diff.fields import SCHEMA
from postrender.diff.model import ADDED, CHANGED, FieldChange
from postrender.diff.texts import without_items
from postrender.diff.values import MARKS, Description, Style, braced, describe_field, text_of
from postrender.yaml.paths import Json

# The keys of a schema that are not names of properties.
_KEYWORDS = ("", "properties", "items", "additionalProperties")
# The number of characters up to which a schema shows its properties with more of their paths, and
# the number of properties up to which it shows more than the first part.
_LONGEST_SCHEMA, _MAX_PROPERTIES = 250, 30

_LABELS = "metadata.labels"
# A value whose start braces can share.
_WORD = re.compile(r"[^\s,{}]+\Z")
# From this number on, added or removed fields of list items are one entry.
_MANY_FIELDS = 4
_SHORT_VALUE = 120


def describe_object(fields: Iterable[FieldChange], style: Style) -> Iterator[Description]:
    """The changes of an object's fields, in which each schema of a custom kind is one entry."""
    others, schemas = split_schemas(fields)
    labels: dict[str, list[FieldChange]] = {}
    alike: dict[tuple[str, str], list[FieldChange]] = {}
    for field in others:
        start, mark, label = field.path.partition(_LABELS)
        if mark and label:
            labels.setdefault(start + mark, []).append(field)
        else:
            alike.setdefault((field.change, without_items(field).path), []).append(field)
    for (change, path), group in alike.items():
        values = [field.new if change == ADDED else field.old for field in group]
        if len(group) < _MANY_FIELDS or change == CHANGED or not all(map(_is_scalar, values)):
            yield from (describe_field(field, style) for field in group)
            continue
        head = f"{style.code(path)} {change} ({len(group):,} times):"
        texts = [text_of(value) for value in values]
        if all(map(_WORD.match, texts)):
            yield Description(head, (style.code(braced(texts)),))
        else:
            yield Description(head, (", ".join(map(style.code, texts)),))
    for path, changes in schemas.items():
        yield Description(f"{style.code(path)}: {_describe_schema(changes, style)}")
    for path, group in labels.items():
        yield _describe_labels(path, group, style)


def _describe_labels(path: str, fields: Sequence[FieldChange], style: Style) -> Description:
    """All labels in one line, because nearly every chart release changes some."""
    if len(fields) == 1:
        return describe_field(fields[0], style)
    names = (field.path.removeprefix(path) for field in fields)
    named = (name[2:-2] if name.startswith('["') else name[1:] for name in names)
    heads = [
        describe_field(field._replace(path=name), style).head
        for name, field in zip(named, fields, strict=True)
    ]
    return Description(f"{style.code(path)}: {'; '.join(heads)}")


def _is_scalar(value: Json) -> bool:
    return value is not None and not isinstance(value, (dict, list))


def split_schemas(
    fields: Iterable[FieldChange],
) -> tuple[list[FieldChange], dict[str, list[FieldChange]]]:
    """The changes outside of schemas of custom kinds, and those inside, by path of the schema.

    A few small changes of a schema count as outside.
    """
    others: list[FieldChange] = []
    schemas: dict[str, list[FieldChange]] = {}
    for field in fields:
        version, mark, _ = field.path.partition(SCHEMA)
        group = schemas.setdefault(version + mark, []) if mark else others
        group.append(field)
    for path, changes in list(schemas.items()):
        values = (value for field in changes for value in (field.old, field.new))
        if len(changes) < _MANY_FIELDS and all(len(text_of(one)) <= _SHORT_VALUE for one in values):
            others += schemas.pop(path)
    return others, schemas


def _describe_schema(changes: Iterable[FieldChange], style: Style) -> str:
    """The properties that change in a schema, with the number of their changes.

    A schema has thousands of lines, most of them descriptions.
    """
    paths = [
        (
            MARKS[field.change],
            [part for part in field.path.partition(SCHEMA)[2].split(".") if part not in _KEYWORDS],
        )
        for field in changes
    ]
    for depth in (4, 3, 2):
        counts = Counter((mark, ".".join(path[:depth])) for mark, path in paths)
        if sum(len(path) for _, path in counts) <= _LONGEST_SCHEMA:
            break
    if len(counts) > _MAX_PROPERTIES:
        counts = Counter((mark, ".".join(path[:1])) for mark, path in paths)
    by_mark: dict[str, list[str]] = {}
    for (mark, path), count in counts.items():
        by_mark.setdefault(mark, []).append(f"{path} ({count:,} times)" if count > 1 else path)
    return "; ".join(f"{mark} {style.code(braced(names))}" for mark, names in by_mark.items())
