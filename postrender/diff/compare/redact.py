"""What must not be shown: what Secrets hold, and whatever it could be guessed from.

An unkeyed hash of a Secret is as good as the Secret where that is short or one of a few. So the
content of Secrets is compared and never shown, and neither are digests in other objects: a
chart's `checksum/secret` annotation is one.
"""

from __future__ import annotations

import re

from postrender.kubernetes.hashing import canonical_json
from postrender.startup.patterns import pattern
from postrender.yaml.paths import Json

SHOWN = "(not shown)"

_DIGEST = pattern(r"(?:[a-z0-9]+[:-])?(?:[0-9a-f]{32,128}|[A-Za-z0-9+/]{43}=|[A-Z2-7]{52,56}=*)\Z")
# Cut short, as charts do with `trunc 8`, it still is one where the key says so.
_SHORT_DIGEST = pattern(r"(?:[0-9a-f]{6,}|[A-Za-z0-9+/_-]{20,}=*)\Z")
_HINT = pattern(r"checksum|sha\d|digest|hash|secret|hmac|md5", re.IGNORECASE)
_CONTENT = ("data", "stringData")


class Hidden(str):
    """A text that is compared like any other and shown as SHOWN."""

    __slots__ = ()


def hide_content(data: dict[str, Json]) -> dict[str, Json]:
    """Return an object; where it is a Secret, wherever it stands, without what it holds.

    The items of a SecretList need not say what they are.
    """
    items = data.get("items")
    if data.get("kind") == "SecretList" and isinstance(items, list):
        own = [hide_content({**item, "kind": "Secret"}) for item in items if isinstance(item, dict)]
        return {**data, "items": own}
    if data.get("kind") != "Secret" or not any(key in data for key in _CONTENT):
        return data
    return {
        key: Hidden(canonical_json(value)) if key in _CONTENT else value
        for key, value in data.items()
    }


def hide_digest(key: str, text: str) -> str:
    """Return the text of a label or annotation, hidden where it is a digest of something."""
    if isinstance(text, Hidden):
        return text
    is_hinted = _HINT.search(key.rpartition("/")[2] or key) or key.startswith("checksum/")
    is_digest = _DIGEST.match(text) or (is_hinted and _SHORT_DIGEST.match(text))
    return Hidden(text) if is_digest else text


def shown(data: Json) -> Json:
    """Return data as it may be shown."""
    if isinstance(data, Hidden):
        return SHOWN
    if isinstance(data, dict):
        return {key: shown(value) for key, value in data.items()}
    if isinstance(data, list):
        return [shown(value) for value in data]
    return data
