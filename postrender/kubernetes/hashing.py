"""Content hashes, revision names and render IDs.

The content hash equals the hash of kustomize (api/hasher, v5), with three exceptions. The hash
differs for a mutable object, for a truncated base name, and with a hash key.
`kubectl create --append-hash` writes another hash, which also covers the name.

A hash with a key is an HMAC-SHA-256, and occurs only in the names of Secrets' revisions. Without a
key, anybody who knows the name of the revision can check a guess of the content.

The algorithms for content hashes and render IDs are a published contract, and change only with a
major version. Another content hash would rename every ConfigMap. Another render ID would roll every
workload.

Lists of a pod template in which each item has a name, such as `containers` and `env`.

A pod template as text, split at the names of its references.

The render ID is a hash of the template's canonical JSON with the new names in all references.
read_pod_template encodes the JSON once, and splits the text at the references. The package `plan`
inserts the new names later. With plain data instead of text, a template would take five times the
memory, and postrender would encode each template twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256

from postrender.kubernetes.annotations import HELM_FILENAME_ANNOTATION, RENDER_ID_ANNOTATION
from postrender.kubernetes.kinds import SECRET, GroupKind
from postrender.records import NamedTuple
from postrender.yaml.paths import Json, mapping_at, mappings_in, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from postrender.yaml.paths import Json, Path


# The annotations that do not change the render ID.
IGNORED_ANNOTATIONS = (RENDER_ID_ANNOTATION, HELM_FILENAME_ANNOTATION)
HASH_LENGTH = 10
MAX_NAME_LENGTH = 253

# Like kustomize, replace the vowels and some digits, so that a hash does not contain a bad word.
_ALPHABET = str.maketrans("013ae", "ghkmt")
_encode = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, separators=(",", ":"), sort_keys=True
).encode
_GO_ESCAPES = tuple((character, f"\\u{ord(character):04x}") for character in "<>&\u2028\u2029")
# The revision number and the hash at the end of a name.
_NUMBERED = re.compile(r"-v([1-9][0-9]{0,18})-[a-z0-9]{10}\Z")
# The pattern for the hyphen and the hash at the end of a name.
HASH_SUFFIX = r"-[2456789bcdfghkmt]{10}"
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


def encode_hash(text: str, key: HashKey | None = None) -> str:
    """Return the first ten hex digits of the hash of a text, with the replacements in _ALPHABET.

    key: the key of an HMAC-SHA-256, None for a plain SHA-256.
    """
    data = text.encode("utf-8", "surrogatepass")
    digest = key.hexdigest(data) if key else sha256(data).hexdigest()
    return digest[:HASH_LENGTH].translate(_ALPHABET)


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
    max_length = MAX_NAME_LENGTH - HASH_LENGTH - 1 - len(number)
    prefix = base_name
    if len(base_name) > max_length:
        content = {**content, "name": base_name}
        prefix = base_name[:max_length].rstrip("-.")
    return f"{prefix}{number}-{encode_hash(canonical_json(content), key)}"


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
    # To save time, compile the pattern only for a name that can have a hash.
    suffix = _SUFFIX.search(name) if name[-HASH_LENGTH - 1 : -HASH_LENGTH] == "-" else None
    return name[: suffix.start()] if suffix else ""


def render_id(texts: Sequence[str], is_list: bool) -> str:
    """Return the render ID of a workload's pod templates: ten hex digits.

    texts: the template_text() of each template.
    is_list: whether the hash covers a list of templates. True for a kind that can have several
        templates, even if the workload has only one template.
    """
    text = f"[{','.join(texts)}]" if is_list else texts[0]
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_LENGTH]


def template_text(template: Json) -> str:
    """Return a pod template as canonical JSON, without IGNORED_ANNOTATIONS.

    The function also removes `metadata.annotations` and `metadata` if these fields are empty.
    """
    return canonical_json(_without_ignored_annotations(template))


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


def merge_by_name(base: Json, own: Json, merge: Callable[[Json, Json], Json]) -> list[Json] | None:
    """Return the items of two lists, merged by name. The items of `base` are first.

    The result is None if `base` or `own` is not a list, or if an item does not have a name.
    merge: the function that merges two items with the same name, first the item of `base`.
    """
    if not (_are_all_named(base) and _are_all_named(own)):
        return None
    items = {item["name"]: item for item in mappings_in(own)}
    merged = [
        merge(item, items.pop(item["name"])) if item["name"] in items else item
        for item in mappings_in(base)
    ]
    return [*merged, *items.values()]


def _are_all_named(items: Json) -> bool:
    return isinstance(items, list) and all(
        isinstance(item, dict) and isinstance(item.get("name"), str) for item in items
    )


_ANNOTATIONS = ("metadata", "annotations")
_IGNORED_PATHS = frozenset((*_ANNOTATIONS, annotation) for annotation in IGNORED_ANNOTATIONS)
# Shared by all templates without annotations.
_NO_ANNOTATIONS: dict[str, Json] = {}
# The mark for the position of a name. JSON does not escape DEL, and templates rarely contain DEL.
_MARK = "\x7f"


class PodTemplate(NamedTuple):
    """One pod template of a workload.

    path: the path of the template in the document.
    parts: the text of template_text(), split at the references.
    references: the path and name of each reference in the text, in the order of the text; () if
        the text is not split.
    annotations: all annotations of the template.
    has_render_id: whether the template in the input already has a render ID.
    """

    path: Path
    parts: tuple[str, ...]
    references: tuple[tuple[Path, str], ...]
    annotations: dict[str, Json]
    has_render_id: bool

    @property
    def data(self) -> Json:
        """The template in the input, as plain data."""
        import json  # late, because few charts need the decoded data

        data: dict[str, Any] = json.loads(self.text({}))
        if self.annotations:
            data.setdefault("metadata", {})["annotations"] = dict(self.annotations)
        return data

    def text(self, names: Mapping[Path, str]) -> str:
        """Return the text of template_text() with new names.

        names: the new names, by the path of the reference. All other references keep their names.
            The method ignores a path that is not in self.references.
        """
        texts = [self.parts[0]]
        for (path, old_name), part in zip(self.references, self.parts[1:], strict=True):
            name = names.get(path, old_name)
            texts += [canonical_json(name), part]
        return "".join(texts)


def read_pod_template(path: Path, data: Json, references: Iterable[Path]) -> PodTemplate:
    """Return the pod template at a path of a document.

    data: the template as plain data.
    references: the paths of the template's references in the document.
    """
    annotations = mapping_at(data, _ANNOTATIONS)
    names: dict[Path, str] = {}
    marked = data
    for reference in references:
        in_template = reference[len(path) :]
        name = value_at(data, in_template)
        if isinstance(name, str) and reference not in names and in_template not in _IGNORED_PATHS:
            marked = _replaced(marked, in_template, f"{_MARK}{len(names)}{_MARK}")
            names[reference] = name
    parts = template_text(marked).split(_MARK)
    paths = list(names)
    if len(parts) == 2 * len(paths) + 1:
        ordered_paths = [paths[int(number)] for number in parts[1::2]]
        texts = _without_quotes(parts[::2])
    else:  # the template contains _MARK
        ordered_paths = []
        texts = (template_text(data),)
    return PodTemplate(
        path=path,
        parts=texts,
        references=tuple((reference, names[reference]) for reference in ordered_paths),
        annotations=annotations or _NO_ANNOTATIONS,
        has_render_id=annotations.get(RENDER_ID_ANNOTATION) is not None,
    )


def _replaced(data: Any, path: Path, value: Json) -> Any:
    """Return a copy of data with another value at a path. The copy shares all other values."""
    if not path:
        return value
    copy = data.copy()
    copy[path[0]] = _replaced(copy[path[0]], path[1:], value)
    return copy


def _without_quotes(parts: list[str]) -> tuple[str, ...]:
    """Return the parts without the quotes around names, because text() adds names with quotes."""
    last = len(parts) - 1
    return tuple(
        part[(1 if number else 0) : (-1 if number < last else None)]
        for number, part in enumerate(parts)
    )
