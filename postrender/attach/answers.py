"""The answers of the API server: JSON of any depth, checked to be what the client asked for.

A proxy or a faulty server can answer with success, but with other content, such as `{}`, an HTML
page or a list of another kind. Read as a list, such an answer would have no objects, and attach
would delete revisions that Pods use. Every function here raises ValueError for such an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from postrender.attach.live import Object, text_at
from postrender.attach.request import Resource
from postrender.kubernetes.kinds import WORKLOAD_KINDS

# Below this depth, attach does not read. References are at a depth of at most 20, in a list too.
MAX_DEPTH = 100
_METADATA = "PartialObjectMetadata"
_METADATA_VERSION = "meta.k8s.io/v1"
# A string, or the start or the end of a list or mapping. A string without an end reaches to the end
# of the text, so that the search stays linear.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]|[\]}]', re.DOTALL)


def parse(
    content: bytes | str, read_pairs: Callable[[list[tuple[str, Any]]], Any] | None = None
) -> dict[str, Any]:
    """The JSON object in an answer, without what is below MAX_DEPTH if it is too deep for Python.

    read_pairs: a function that reads the pairs of each mapping, None for a dict.

    The API server permits 10,000 levels, for example in an AnalysisTemplate. The parser of Python
    permits about 1,000 to 10,000, depending on the version.
    """
    text = content if isinstance(content, str) else content.decode()
    try:
        data = json.loads(text, object_pairs_hook=read_pairs)
    except RecursionError:
        data = json.loads(_cut(text), object_pairs_hook=read_pairs)
    if not isinstance(data, dict):
        raise ValueError("the answer is not a JSON object")
    return data


def _cut(text: str) -> str:
    """JSON with null in place of each list and mapping below MAX_DEPTH."""
    parts, depth, start = [], 0, 0
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth == MAX_DEPTH + 1:
                parts += [text[start : token.start()], "null"]
        elif token[0] in "]}":
            depth -= 1
            if depth == MAX_DEPTH:
                start = token.end()
    if depth:
        raise ValueError("the answer is not complete")
    return "".join([*parts, text[start:]])


def check_list(
    data: Object, resource: Resource, namespace: str, name: str, *, has_content: bool
) -> None:
    """Check a page of a list.

    namespace: "" for all namespaces.
    name: the name of the only object that the client asked for, "" for all objects.
    has_content: whether the client asked for whole objects, and not only for their metadata.
    """
    kind = resource.kind if has_content else _METADATA
    version = resource.api_version if has_content else _METADATA_VERSION
    if (data.get("apiVersion"), data.get("kind")) != (version, f"{kind}List"):
        raise ValueError(f"the answer is not a {kind}List of {version}")
    items = data.get("items", ())
    # For metadata, the API server writes null if it has no objects.
    if not isinstance(items, list) and (has_content or items is not None):
        raise ValueError(f"the {kind}List has no items")
    if not text_at(data, "metadata", "resourceVersion"):
        raise ValueError(f"the {kind}List has no resourceVersion")
    for item in items or ():
        # Items of a kind of Kubernetes itself have no kind, and those of a custom kind have one.
        _check(item, resource, namespace, name, ("", kind), has_content=has_content)


def check_object(data: Object, resource: Resource, namespace: str, name: str) -> None:
    """Check a whole object."""
    if data.get("apiVersion") != resource.api_version:
        raise ValueError(f"the answer is not of {resource.api_version}")
    _check(data, resource, namespace, name, (resource.kind,), has_content=True)


def check_write(data: Object, namespace: str, name: str) -> None:
    """Check the answer to a write: the metadata of the object, or for a deletion, a Status.

    name: "" for any name.
    """
    if data.get("kind") == "Status":
        if data.get("status") != "Success":
            raise ValueError("the answer is not the status Success")
    elif data.get("kind") != _METADATA:
        raise ValueError(f"the answer is not {_METADATA}")
    else:
        _check_metadata(data, _METADATA, namespace, name)


def _check(
    data: Any,
    resource: Resource,
    namespace: str,
    name: str,
    kinds: tuple[str, ...],
    *,
    has_content: bool,
) -> None:
    if not isinstance(data, dict) or data.get("kind", "") not in kinds:
        raise ValueError(f"an object in the answer is not a {resource.kind}")
    _check_metadata(data, resource.kind, namespace, name)
    template = WORKLOAD_KINDS.get(resource.group_kind)
    if has_content and template is not None:
        # The API server and the definitions of Argo require this field, such as `spec`. Without the
        # field, an object would have no references.
        field = template[0] if template else "spec"
        if not isinstance(data.get(field), dict):
            raise ValueError(f"a {resource.kind} in the answer has no {field}")


def _check_metadata(data: Object, kind: str, namespace: str, name: str) -> None:
    actual = text_at(data, "metadata", "name")
    if not actual or actual != (name or actual) or not text_at(data, "metadata", "uid"):
        raise ValueError(f"a {kind} in the answer has another name, or no name or uid")
    written = text_at(data, "metadata", "namespace")
    if not written or written != (namespace or written):
        wanted = f"is not of the namespace {namespace}" if namespace else "has no namespace"
        raise ValueError(f"a {kind} in the answer {wanted}")
