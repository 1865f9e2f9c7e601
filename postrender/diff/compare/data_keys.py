"""What changes in a ConfigMap: key by key, text as hunks, what is no text by size and digest."""

from __future__ import annotations

from collections.abc import Mapping

from postrender.diff.compare.hunks import find_hunks
from postrender.diff.model import Blob, KeyChange, change_of
from postrender.startup.digest import sha256
from postrender.yaml.paths import Json, mapping_at

Content = Mapping[str, str | bytes]


def content_of(data: Mapping[str, Json], *, is_secret: bool) -> Content:
    """Return the keys of a ConfigMap as a volume shows them: `data` as text, `binaryData` as bytes.

    A Secret's are all bytes; `stringData` is written over `data` (core/v1 Secret).
    """
    whole = dict(data)
    if is_secret:
        own = {key: _decoded(value) for key, value in _strings(whole, "data").items()}
        text = _strings(whole, "stringData").items()
        return {**own, **{key: value.encode("utf-8", "surrogatepass") for key, value in text}}
    binary = {key: _decoded(value) for key, value in _strings(whole, "binaryData").items()}
    return {**_strings(whole, "data"), **binary}


def _strings(data: dict[str, Json], field: str) -> dict[str, str]:
    values = mapping_at(data, (field,))
    return {key: "" if value is None else str(value) for key, value in values.items()}


def _decoded(text: str) -> bytes:
    import base64
    import binascii

    try:
        return base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError):
        return text.encode("utf-8", "surrogatepass")  # the API server refuses it


def find_key_changes(old: Content, new: Content, context: int) -> tuple[KeyChange, ...]:
    """Return the keys that differ, sorted; context: lines around each change of text."""
    return tuple(
        _key_change(key, old.get(key), new.get(key), context)
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
    )


def _key_change(
    key: str, old: str | bytes | None, new: str | bytes | None, context: int
) -> KeyChange:
    before, after = old if isinstance(old, str) else "", new if isinstance(new, str) else ""
    hunks = find_hunks(before, after, context)
    return KeyChange(key, change_of(old, new), hunks, _blob(old), _blob(new))


def _blob(value: str | bytes | None) -> Blob | None:
    return Blob(len(value), sha256(value).hexdigest()) if isinstance(value, bytes) else None
