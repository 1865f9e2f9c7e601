"""Marks on the values of an object that a preview does not show."""

from __future__ import annotations

import re

from postrender.kubernetes.hashing import canonical_json
from postrender.yaml.paths import Json, mappings_in

_DIGEST = re.compile(
    r"(?:[a-z0-9]+[:-])?(?:[0-9a-f]{32,128}|[A-Za-z0-9+/]{43}=|[A-Z2-7]{52,56}=*)\Z"
)
# A digest that a chart truncates (`trunc 8`). For this pattern, `mark_digest` also checks the key.
_SHORT_DIGEST = re.compile(r"(?:[0-9a-f]{6,}|[A-Za-z0-9+/_-]{20,}=*)\Z")
_HINT = re.compile(r"checksum|sha\d|digest|hash|secret|hmac|md5", re.IGNORECASE)
_CONTENT = ("data", "stringData")
# A mapping that mark_content changes has one of these keys.
MARKED_KEYS = frozenset({"kind", "stringData", "secretTemplates"})


class Redacted(str):
    """A text that diff compares like any other text, but shows as NOT_SHOWN."""

    __slots__ = ()


class Masked(Redacted):
    """A text that diff shows as the YAML of its data, in which some values are Redacted."""

    __slots__ = ("data",)
    data: Json

    def __new__(cls, text: str, data: Json) -> Masked:
        """A text with the data to show."""
        masked = super().__new__(cls, text)
        masked.data = data
        return masked


def redacted(value: Json) -> Json:
    """A value as Redacted text, unless there is nothing to hide."""
    return value if value in (None, "") else Redacted(canonical_json(value))


def mark_content(data: dict[str, Json]) -> dict[str, Json]:
    """An object, with the content of a Secret or a SecretList as Redacted text.

    Operators create Secrets from mappings without a kind: with `stringData`, which nothing but a
    Secret has, or in `secretTemplates` (SopsSecret).
    """
    templates = data.get("secretTemplates")
    if isinstance(templates, list):
        marked: list[Json] = [
            {**one, **_content_of(one)} if isinstance(one, dict) else one for one in templates
        ]
        data = {**data, "secretTemplates": marked}
    if data.get("kind") == "SecretList":
        secrets = mappings_in(data.get("items"))
        return {**data, "items": [mark_content({**item, "kind": "Secret"}) for item in secrets]}
    is_secret = data.get("kind") == "Secret" or "stringData" in data
    return {**data, **_content_of(data)} if is_secret else data


def _content_of(secret: dict[str, Json]) -> dict[str, Json]:
    return {key: Redacted(canonical_json(secret[key])) for key in _CONTENT if key in secret}


def mark_digest(key: str, text: str) -> str:
    """The text of a label or annotation, as Redacted text if it looks like a digest.

    A text that looks like a truncated digest counts only with a key such as `checksum`.
    """
    if isinstance(text, Redacted):
        return text
    is_hinted = _HINT.search(key.rpartition("/")[2] or key) or key.startswith("checksum/")
    is_digest = _DIGEST.match(text) or (is_hinted and _SHORT_DIGEST.match(text))
    return Redacted(text) if is_digest else text
