"""The ResourceList: the only document on stdin of a KRM function, with all objects as items."""

from __future__ import annotations

from itertools import islice

from postrender.errors import Location, UserError
from postrender.yaml.document import parse_document
from postrender.yaml.paths import value_at
from postrender.yaml.stream import Document, Stream, has_content


def is_resource_list(stream: Stream) -> bool:
    """Return whether a stream has exactly one document with content, which is a ResourceList."""
    with_content = (document for document in stream.documents if has_content(document.text))
    documents = list(islice(with_content, 2))
    if len(documents) != 1:
        return False
    try:
        data = parse_document(documents[0].text, Location("")).data
    except UserError:
        return False
    return value_at(data, ("kind",)) == "ResourceList"


def check_items(stream: Stream) -> None:
    """Raise UserError if `items` is not a list, for a stream for which is_resource_list is True."""
    document = sole_document(stream)
    parsed = parse_document(document.text, stream.location_of(document))
    items = value_at(parsed.data, ("items",))
    if items is not None and not isinstance(items, list):
        raise UserError(
            "the value is not a list", "Pass the objects as a list", parsed.location_of(("items",))
        )


def sole_document(stream: Stream) -> Document:
    """Return the ResourceList of a stream for which is_resource_list is True."""
    return next(document for document in stream.documents if has_content(document.text))
