"""The changed keys of a ConfigMap or Secret: text as hunks, binary values as size and digest."""

from __future__ import annotations

from collections.abc import Mapping

from postrender.diff.fields import find_hunks
from postrender.diff.model import Blob, KeyChange, change_of
from postrender.startup.digest import sha256
from postrender.yaml.paths import Json, mapping_at

Content = Mapping[str, str | bytes]


def content_of(data: Mapping[str, Json], *, is_secret: bool) -> Content:
    """Return the values of a ConfigMap or Secret, by key.

    For a ConfigMap, the values in `data` are text, and the values in `binaryData` are bytes. For a
    Secret, all values are bytes, and `stringData` overrides `data` (core/v1 Secret). If a value
    is not base64, the result has the bytes of the text.
    """
    if is_secret:
        decoded = {key: _decoded(value) for key, value in _strings(data, "data").items()}
        texts = _strings(data, "stringData").items()
        return {**decoded, **{key: value.encode("utf-8", "surrogatepass") for key, value in texts}}
    binary = {key: _decoded(value) for key, value in _strings(data, "binaryData").items()}
    return {**_strings(data, "data"), **binary}


def _strings(data: Mapping[str, Json], field: str) -> dict[str, str]:
    values = mapping_at(data, (field,))
    return {key: "" if value is None else str(value) for key, value in values.items()}


def _decoded(text: str) -> bytes:
    import base64
    import binascii

    try:
        # The API server ignores line breaks, and rejects all other characters outside base64.
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        return text.encode("utf-8", "surrogatepass")  # the API server rejects the object


def find_key_changes(old: Content, new: Content, context: int) -> tuple[KeyChange, ...]:
    """Return the keys that differ, sorted, with `context` unchanged lines around each change."""
    return tuple(
        _key_change(key, old.get(key), new.get(key), context)
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
    )


def _key_change(
    key: str, old: str | bytes | None, new: str | bytes | None, context: int
) -> KeyChange:
    old_text, new_text = (value if isinstance(value, str) else "" for value in (old, new))
    return KeyChange(
        key=key,
        change=change_of(old, new),
        hunks=find_hunks(old_text, new_text, context),
        old_blob=_blob(old),
        new_blob=_blob(new),
    )


def _blob(value: str | bytes | None) -> Blob | None:
    return Blob(len(value), sha256(value).hexdigest()) if isinstance(value, bytes) else None
