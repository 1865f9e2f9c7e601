"""Content hashes, revision names and render IDs.

The content hash equals the hash of kustomize (api/hasher, v5), with three exceptions. The hash
differs for a mutable object, for a truncated base name, and with a hash key.
`kubectl create --append-hash` writes another hash, which also covers the name.

A hash with a key is an HMAC-SHA-256, and occurs only in the names of Secrets' revisions. Without a
key, anybody who knows the name of the revision can check a guess of the content.

The algorithms for content hashes and render IDs are a published contract, and change only with a
major version. Another content hash would rename every ConfigMap. Another render ID would roll every
workload.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256

from postrender.kubernetes.annotations import HELM_FILENAME_ANNOTATION, RENDER_ID_ANNOTATION
from postrender.kubernetes.kinds import SECRET, GroupKind
from postrender.yaml.paths import Json, mapping_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from postrender.yaml.paths import Json


# The annotations that do not change the render ID.
IGNORED_ANNOTATIONS = (RENDER_ID_ANNOTATION, HELM_FILENAME_ANNOTATION)
# The hash at the end of a revision's name, in characters.
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
# The revision number and the hash at the end of a name.
_NUMBERED = re.compile(rf"-v([1-9][0-9]{{0,18}})-[a-z0-9]{{{CONTENT_HASH_LENGTH}}}\Z")
# The pattern for the hyphen and the hash at the end of a name.
HASH_SUFFIX = rf"-[2456789bcdfghkmt]{{{CONTENT_HASH_LENGTH}}}"
_SUFFIX = re.compile(rf"{HASH_SUFFIX}\Z")


def canonical_json(data: Json) -> str:
    """Return data as JSON without spaces, with sorted keys, and with the escapes of Go."""
    text = _encode(data)
    for character, escape in _GO_ESCAPES:
        if character in text:
            text = text.replace(character, escape)
    return text


class HashKey:
    """The secret key for the hashes in the names of Secrets' revisions."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        self._key = key

    def hexdigest(self, data: bytes) -> str:
        """Return the HMAC-SHA-256 of data as hex digits."""
        import hmac  # late, because the import is slow

        return hmac.new(self._key, data, "sha256").hexdigest()


def encode_hash(text: str, length: int, key: HashKey | None = None) -> str:
    """Return the first hex digits of the hash of a text, with the replacements in _ALPHABET.

    key: the key of an HMAC-SHA-256, None for a plain SHA-256.
    """
    data = text.encode("utf-8", "surrogatepass")
    digest = key.hexdigest(data) if key else sha256(data).hexdigest()
    return digest[:length].translate(_ALPHABET)


def hashed_content(
    group_kind: GroupKind, data: Mapping[str, Json], is_immutable: bool
) -> dict[str, Json]:
    """Return the part of a ConfigMap or Secret that the content hash covers.

    A mutable object has a different hash than an immutable object with the same data. Otherwise
    a change of `immutable` would keep the name, and the next apply would change the live object.
    data: the whole object.
    is_immutable: whether the revision is immutable.
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
    if values:
        content[second_key] = values
    if not is_immutable:
        content["immutable"] = False
    return content


def _without_nulls(values: Json) -> Json:
    """Return a mapping with "" in place of each null, as the API server does.

    The result is "" for an empty mapping, and for a value that is not a mapping.
    """
    if not isinstance(values, dict) or not values:
        return ""
    return {key: "" if value is None else value for key, value in values.items()}


def revision_name(
    base_name: str, content: dict[str, Json], order: int = 0, key: HashKey | None = None
) -> str:
    """Return `<base name>-<hash>` or `<base name>-v<order>-<hash>`, at most 253 characters.

    If the base name is too long, the result contains only the beginning of the base name. The hash
    then also covers the whole base name, so that long base names with the same beginning get
    different results.
    content: the result of hashed_content().
    order: the revision number, or 0 for a name without a number.
    key: the key of the hash, None for a hash without a key.
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
    """Return whether a name matches the base name and the content of a revision.

    After an edit of the content, the result is False. After an edit that only sets `immutable` to
    false, the result is still True.
    data: the whole object.
    key: the key of the hash, None for a hash without a key.
    """
    numbered = _NUMBERED.search(name)
    return any(
        revision_name(base_name, hashed_content(group_kind, data, is_immutable), order, key) == name
        for is_immutable in ((True, False) if data.get("immutable") is False else (True,))
        for order in (0, *([int(numbered[1])] if numbered else ()))
    )


def without_hash(name: str) -> str:
    """Return a name without the hyphen and the hash at its end, "" for a name without a hash."""
    suffix = _SUFFIX.search(name)
    return name[: suffix.start()] if suffix else ""


def render_id(templates: Sequence[Json], is_list: bool) -> str:
    """Return the render ID of a workload's pod templates, in hex digits.

    templates: the pod templates, with the new names. IGNORED_ANNOTATIONS do not count, nor do
        `metadata.annotations` and `metadata` if they are empty.
    is_list: whether the hash covers a list of templates. True for a kind that can have several
        templates, even if the workload has only one template.
    """
    plain = [_without_ignored_annotations(template) for template in templates]
    text = canonical_json(plain if is_list else plain[0])
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:RENDER_ID_LENGTH]


def _without_ignored_annotations(template: Json) -> Json:
    if not isinstance(template, dict):
        return template
    metadata = mapping_at(template, ("metadata",))
    if metadata and "annotations" not in metadata:
        return template
    annotations = {
        key: value
        for key, value in mapping_at(metadata, ("annotations",)).items()
        if key not in IGNORED_ANNOTATIONS
    }
    metadata = {**metadata, "annotations": annotations}
    if not annotations:
        del metadata["annotations"]
    rest = {key: value for key, value in template.items() if key != "metadata"}
    return {**rest, "metadata": metadata} if metadata else rest
