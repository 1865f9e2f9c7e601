"""KRM functions: a ResourceList comes back even on an error, with the error in its results."""

from __future__ import annotations

from postrender.document import compose, read
from postrender.editing.edits import AddKeys, SetScalar
from postrender.editing.rewrite import rewrite_object
from postrender.editing.sites import Site, SiteKey, locate
from postrender.editing.splice import apply_splices, splice
from postrender.errors import Place, UserError
from postrender.paths import Data, value_at
from postrender.stream import has_content, read_stream, stream_texts


def with_result(data: bytes, error: UserError) -> list[str] | None:
    """Return a ResourceList with an error among its results, or None for any other input."""
    try:
        stream = read_stream(data, "")
        full = [document for document in stream.documents if has_content(document.text)]
        if len(full) != 1:
            return None
        composed = compose(full[0].text, Place(""))
        if value_at(read(composed), ("kind",)) != "ResourceList":
            return None
        there = value_at(read(composed), ("results",))
        result: Data = {"severity": "error", "message": str(error)}
        if there is None:
            edit = AddKeys((), {"results": [result]})
            sites: dict[SiteKey, Site | None] = {(AddKeys, ()): locate(composed, edit)}
            made = splice([edit], [edit], sites, stream.newline, lambda _path: composed.place)
            splices = made or [rewrite_object(composed, (), [edit], stream.newline)]
        else:
            everything = [*there, result] if isinstance(there, list) else [result]
            edit_all = SetScalar(("results",), everything)  # type: ignore[arg-type]
            splices = [rewrite_object(composed, (), [edit_all], stream.newline)]
    except UserError:
        return None
    text = apply_splices(full[0].text, splices)
    texts = [text if document is full[0] else document.text for document in stream.documents]
    return stream_texts(stream, texts)
