"""Content hashes, revision names and render IDs: pure functions of plain data.

The content hash is the hash of kustomize (api/hasher, v5). `kubectl create --append-hash` differs,
because its hash also covers the name.

Content hashes and render IDs are a published contract and change only with a major version. A new
content hash would rename every ConfigMap, and a new render ID would restart every workload.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]

from postrender.kubernetes.annotations import HELM_FILENAME_ANNOTATION, RENDER_ID_ANNOTATION
from postrender.kubernetes.kinds import SECRET, GroupKind
from postrender.startup.digest import sha256
from postrender.startup.patterns import pattern
from postrender.yaml.paths import Json, mapping_at

HASH_LENGTH = 10
MAX_NAME_LENGTH = 253

# kustomize replaces digits and vowels that could form a word or be misread.
_ALPHABET = str.maketrans("013ae", "ghkmt")
_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)
_GO_ESCAPES = tuple((character, f"\\u{ord(character):04x}") for character in "<>&\u2028\u2029")
_NUMBERED = pattern(r"-v([1-9][0-9]{0,18})-[a-z0-9]{10}\Z")
# A pattern of the hash at the end of a name.
HASH_SUFFIX = r"-[2456789bcdfghkmt]{10}"
_SUFFIX = pattern(rf"{HASH_SUFFIX}\Z")


def _make_encode() -> Callable[[Json], str]:
    """Return the function of _encoder, which JSONEncoder.encode would create at each call."""
    if c_make_encoder is None:  # only CPython has the C encoder
        return _encoder.encode
    # markers, default, string encoder, indent, separators, sort_keys, skipkeys, allow_nan
    write = c_make_encoder(
        None, _encoder.default, encode_basestring, None, ":", ",", True, False, True
    )
    return lambda data: "".join(write(data, 0))


_encode = _make_encode()


def canonical_json(data: Json) -> str:
    """Return data as Go's encoding/json writes it: compact, keys sorted, `<>&` escaped."""
    text = _encode(data)
    for character, escape in _GO_ESCAPES:
        if character in text:
            text = text.replace(character, escape)
    return text


def encode_hash(text: str) -> str:
    """Return the first ten hex digits of the SHA-256 of a text, in the alphabet of kustomize."""
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return digest[:HASH_LENGTH].translate(_ALPHABET)


def hashed_content(group_kind: GroupKind, data: Mapping[str, Json], is_immutable: bool) -> Json:
    """Return the content of a ConfigMap or Secret that its hash covers.

    The hash of a mutable object differs. With the same name, making the object immutable would
    change the live object.
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
    """Return a mapping of strings as the API server stores it: "" for null, "" without keys."""
    if not isinstance(values, dict) or not values:
        return ""
    return {key: "" if value is None else value for key, value in values.items()}


def revision_name(base_name: str, content: Json, order: int = 0) -> str:
    """Return `<base name>-<hash>` or `<base name>-v<order>-<hash>`, at most 253 characters.

    A base name that is too long is truncated. The hash then also covers the whole base name, so
    that base names with the same beginning get different revision names.
    order: the revision number, or 0 for a name without a number.
    """
    number = f"-v{order}" if order else ""
    max_length = MAX_NAME_LENGTH - HASH_LENGTH - 1 - len(number)
    prefix = base_name
    if len(base_name) > max_length:
        content = {**(content if isinstance(content, dict) else {}), "name": base_name}
        prefix = base_name[:max_length].rstrip("-.")
    return f"{prefix}{number}-{encode_hash(canonical_json(content))}"


def fits_content(
    name: str, base_name: str, group_kind: GroupKind, data: Mapping[str, Json]
) -> bool:
    """Return whether the name of a revision matches its content: the revision was not edited."""
    numbered = _NUMBERED.search(name)
    return any(
        revision_name(base_name, hashed_content(group_kind, data, is_immutable), order) == name
        for is_immutable in (data.get("immutable") is not False, True)
        for order in (0, *([int(numbered[1])] if numbered else ()))
    )


def without_hash(name: str) -> str:
    """Return a name without the hash at its end, or "" for a name without a hash."""
    suffix = _SUFFIX.search(name)
    return name[: suffix.start()] if suffix else ""


def render_id(texts: Sequence[str], is_list: bool) -> str:
    """Return the render ID of a workload's pod templates: ten hex digits.

    texts: the template_text() of each template.
    is_list: whether the kind may have several templates; a list is then hashed, even for one.
    """
    text = f"[{','.join(texts)}]" if is_list else texts[0]
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_LENGTH]


def template_text(template: Json) -> str:
    """Return a pod template as canonical JSON, without annotations that Helm or render adds."""
    return canonical_json(_without_added_annotations(template))


def _without_added_annotations(template: Json) -> Json:
    if not isinstance(template, dict):
        return template
    ignored = (RENDER_ID_ANNOTATION, HELM_FILENAME_ANNOTATION)
    annotations = {
        key: value
        for key, value in mapping_at(template, ("metadata", "annotations")).items()
        if key not in ignored
    }
    metadata = {**mapping_at(template, ("metadata",)), "annotations": annotations}
    if not annotations:
        del metadata["annotations"]
    rest = {key: value for key, value in template.items() if key != "metadata"}
    return {**rest, "metadata": metadata} if metadata else rest
