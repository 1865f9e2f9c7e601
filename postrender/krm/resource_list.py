"""The ResourceList: the YAML document that a KRM function reads on stdin and writes on stdout.

Its fields are
    kind: ResourceList
    items: []             # the objects of the manifests
    functionConfig: {}    # settings
    results: []           # findings and errors
"""

from __future__ import annotations

from itertools import islice

from postrender.errors import UserError
from postrender.yaml.document import ParsedDocument, parse_document
from postrender.yaml.paths import value_at
from postrender.yaml.stream import Document, Stream, has_content


def is_resource_list(stream: Stream) -> bool:
    """Return whether the only document with content in a stream is a (valid) ResourceList."""
    return parsed_list(stream) is not None


def parsed_list(stream: Stream) -> ParsedDocument | None:
    """Return the ResourceList of a stream, None if is_resource_list() is False."""
    with_content = (document for document in stream.documents if has_content(document.text))
    documents = list(islice(with_content, 2))
    if len(documents) != 1:
        return None
    try:
        parsed = parse_document(documents[0].text, stream.location_of(documents[0]))
    except UserError:
        return None
    return parsed if value_at(parsed.data, ("kind",)) == "ResourceList" else None


def sole_document(stream: Stream) -> Document:
    """Return the ResourceList of a stream for which is_resource_list() is True."""
    return next(document for document in stream.documents if has_content(document.text))
