"""Content hashes, revision names and render IDs.

The content hash is a published contract, and changes only with a major version: another hash would
rename every ConfigMap. Another render ID does not roll a workload.

The content hash equals the hash of kustomize (api/hasher, v5), except for a mutable object, for a
truncated base name, for binary data with line breaks, and with a hash key. `kubectl create
--append-hash` writes another hash, which also covers the name.
"""

from __future__ import annotations

import json
import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping, Sequence
from hashlib import sha256

from postrender.kubernetes.annotations import HELM_FILENAME_ANNOTATION
from postrender.kubernetes.kinds import SECRET, GroupKind
from postrender.yaml.paths import Json, mapping_at

# The hash at the end of a revision's name, in characters. It has the length of kustomize's hash, so
# a name that kustomize hashed is not hashed again.
CONTENT_HASH_LENGTH = 10
RENDER_ID_LENGTH = 10
# The hash at the end of the name of an attacher's Job.
JOB_HASH_LENGTH = 10
MAX_NAME_LENGTH = 253

# Like kustomize, replace the vowels and some digits, so that a hash does not contain a bad word.
_ALPHABET = str.maketrans("013ae", "ghkmt")
_encode = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, separators=(",", ":"), sort_keys=True
).encode
_GO_ESCAPES = tuple((character, f"\\u{ord(character):04x}") for character in "<>&\u2028\u2029")
_LINE_BREAKS = dict.fromkeys(map(ord, "\r\n"))
# The revision number and the hash at the end of a name.
_NUMBERED = rf"-v([1-9][0-9]{{0,18}})-[a-z0-9]{{{CONTENT_HASH_LENGTH}}}\Z"
_HASH_CHARACTERS = "2456789bcdfghkmt"
# The pattern for the hyphen and the hash at the end of a name.
HASH_SUFFIX = rf"-[{_HASH_CHARACTERS}]{{{CONTENT_HASH_LENGTH}}}"


def canonical_json(data: Json) -> str:
    """JSON without spaces, with sorted keys, and with the escapes of Go."""
    text = _encode(data)
    for character, escape in _GO_ESCAPES:
        if character in text:
            text = text.replace(character, escape)
    return text


def sha256_hex(text: str) -> str:
    """The SHA-256 of a text in UTF-8, in hex digits."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class HashKey:
    """The secret key for the hashes in the names of Secrets' revisions.

    Without a key, anybody who knows the name of a revision can check a guess of its content.
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        self._key = key

    def hexdigest(self, data: bytes) -> str:
        """The HMAC-SHA-256 of data."""
        import hmac  # late, because the import is slow

        return hmac.new(self._key, data, "sha256").hexdigest()


def encode_hash(text: str, length: int, key: HashKey | None = None) -> str:
    """The first hex digits of a SHA-256, with a key of an HMAC-SHA-256, in _ALPHABET."""
    digest = key.hexdigest(text.encode("utf-8", "surrogatepass")) if key else sha256_hex(text)
    return digest[:length].translate(_ALPHABET)


def hashed_content(
    group_kind: GroupKind, data: Mapping[str, Json], is_immutable: bool
) -> dict[str, Json]:
    """The part of a ConfigMap or Secret that the content hash covers; data: the whole object.

    A mutable object has a different hash than an immutable object with the same data. Otherwise
    a change of `immutable` would keep the name, and the next apply would change the live object.

    The binary data of a ConfigMap counts in the form in which the API server returns it. So anybody
    can compute the hash of a live ConfigMap.
    """
    content: dict[str, Json] = {
        "kind": group_kind[1],
        "name": "",
        "data": _without_nulls(data.get("data")),
    }
    second_key = "binaryData"
    if group_kind == SECRET:
        content["type"] = data.get("type") or ""
        second_key = "stringData"
    values = _without_nulls(data.get(second_key))
    if isinstance(values, dict):
        content[second_key] = (
            {key: _base64_of_api_server(value) for key, value in values.items()}
            if second_key == "binaryData"
            else values
        )
    if not is_immutable:
        content["immutable"] = False
    return content


def _without_nulls(values: Json) -> Json:
    """A mapping with "" for each null, as in the API server; "" for an empty or other value."""
    if not isinstance(values, dict) or not values:
        return ""
    return {key: "" if value is None else value for key, value in values.items()}


def _base64_of_api_server(value: Json) -> Json:
    """Base64 without line breaks, and with zeros in unused bits; any other value as it is."""
    text = value.translate(_LINE_BREAKS) if isinstance(value, str) else ""
    try:
        encoded = b2a_base64(a2b_base64(text), newline=False).decode()
    except ValueError:
        return value
    return encoded if len(encoded) == len(text) else value


def revision_name(
    base_name: str, content: dict[str, Json], order: int = 0, key: HashKey | None = None
) -> str:
    """`<base name>-<hash>` or, for an order, `<base name>-v<order>-<hash>`: at most 253 characters.

    Of a base name that is too long, the name has only the beginning, and the hash also covers the
    whole base name, so that base names with the same beginning differ.
    content: from hashed_content().
    """
    number = f"-v{order}" if order else ""
    max_length = MAX_NAME_LENGTH - CONTENT_HASH_LENGTH - 1 - len(number)
    prefix = base_name
    if len(base_name) > max_length:
        content = {**content, "name": base_name}
        prefix = base_name[:max_length].rstrip("-.")
    return f"{prefix}{number}-{encode_hash(canonical_json(content), CONTENT_HASH_LENGTH, key)}"


def fits_content(
    name: str,
    base_name: str,
    group_kind: GroupKind,
    data: Mapping[str, Json],
    key: HashKey | None = None,
) -> bool:
    """Whether a name matches the base name and the content of a revision; data: the whole object.

    It still matches after an edit that only sets `immutable` to false. A name of kustomize, whose
    hash covers the line breaks of binary data, matches too.
    """
    numbered = re.search(_NUMBERED, name)
    states = (True, False) if data.get("immutable") is False else (True,)
    contents = [hashed_content(group_kind, data, is_immutable) for is_immutable in states]
    if "binaryData" in contents[0]:
        contents.append({**contents[0], "binaryData": _without_nulls(data.get("binaryData"))})
    return any(
        revision_name(base_name, content, order, key) == name
        for content in contents
        for order in (0, *([int(numbered[1])] if numbered else ()))
    )


def without_hash(name: str) -> str:
    """A name without the hyphen and the hash at its end, "" for a name without a hash."""
    base_name, _, end = name.rpartition("-")
    is_hash = len(end) == CONTENT_HASH_LENGTH and not end.strip(_HASH_CHARACTERS)
    return base_name if is_hash else ""


def render_id(templates: Sequence[Json], is_list: bool) -> str:
    """The render ID of a workload, from its pod templates with the new names.

    HELM_FILENAME_ANNOTATION does not count, nor do `metadata.annotations` and `metadata` if they
    are empty.
    is_list: whether the kind can have several templates, even if the workload has only one.
    """
    plain = [_without_file_name(template) for template in templates]
    return sha256_hex(canonical_json(plain if is_list else plain[0]))[:RENDER_ID_LENGTH]


def _without_file_name(template: Json) -> Json:
    if not isinstance(template, dict):
        return template
    metadata = mapping_at(template, ("metadata",))
    if metadata and "annotations" not in metadata:
        return template
    annotations = {
        key: value
        for key, value in mapping_at(metadata, ("annotations",)).items()
        if key != HELM_FILENAME_ANNOTATION
    }
    metadata = {**metadata, "annotations": annotations}
    if not annotations:
        del metadata["annotations"]
    rest = {key: value for key, value in template.items() if key != "metadata"}
    return {**rest, "metadata": metadata} if metadata else rest
