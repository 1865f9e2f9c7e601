"""Fields that make the API server reject an object: wrong values, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator

from postrender.errors import Finding, UserError
from postrender.inventory.build import Inventory
from postrender.kubernetes.hashing import without_hash
from postrender.kubernetes.kinds import (
    CONTENT_KINDS,
    CRD,
    ROLLOUT,
    SECRET,
    GroupKind,
    group_kind_of,
    is_built_in,
    pod_templates,
    roots_of,
)
from postrender.text import shortened, shown
from postrender.yaml.document import ParsedDocument
from postrender.yaml.mistakes import FIX_OF_TEMPLATE, PRINTED_BY_GO, printed_by_go
from postrender.yaml.paths import Json, Path, nested_mappings, value_at

# A problem and its fix at a path of an object.
_Fault = tuple[Path, str, str]
_REJECTED = ", so the API server rejects the object"
_ACCEPTED = ", so only Helm 3 accepts the object"
_NAME = ("metadata", "name")
# An object without a kind has one of these fields, unlike the values of a chart.
_CONTENT = ("spec", "data", "stringData", "binaryData")
# A kubeconfig, and what a program sends to the API server without a name.
_NAMELESS = ("Config", "Binding", "Eviction", "Status", "DeleteOptions")


def find_invalid_fields(inventory: Inventory) -> Iterator[Finding]:
    """A finding for each field that makes the API server reject an object.

    Unlike the rest of postrender, this reads every document of the input. The finding about a
    document that is not valid YAML has no code.
    """
    for index in range(len(inventory.stream.texts)):
        try:
            document = inventory.document(index)
            roots = [*roots_of(document.data)]
        except UserError as error:
            location = error.location or inventory.stream.location_of(index)
            yield Finding("", error.problem, error.fix, location, strict=True)
            continue
        for root_path, root in roots:
            for path, problem, fix in _faults(root) if isinstance(root, dict) else ():
                place = (*root_path, *path)
                while value_at(document.data, place) is None:
                    place = place[:-1]  # the field is missing
                location = document.location_of(place)
                kind, _, name = location.subject.partition("/")
                if kind == SECRET[1] and without_hash(name):  # messages show no hash of a Secret
                    location = location._replace(subject=shortened(f"{kind}/{without_hash(name)}"))
                problem = _as_written(problem, document, place)
                yield Finding("invalid-field", problem, fix, location, strict=True)


def _faults(root: dict[str, Json]) -> Iterator[_Fault]:
    missing = [*_missing_fields(root)]
    yield from missing
    if missing:
        return
    for path, text in _printed_by_go(root):
        yield path, f"the value contains {printed_by_go(text)}", FIX_OF_TEMPLATE
    # These modules take a fifth of the time of a small render, which does not need them.
    from postrender.kubernetes.validation import find_invalid
    from postrender.kubernetes.validation.checks import Missing, NotAString
    from postrender.kubernetes.validation.field_types import UnknownField

    is_patch = _is_patch(root)
    for path, problem in find_invalid(root):
        is_missing = isinstance(problem, Missing)
        if (is_missing and is_patch) or (not is_missing and value_at(root, path) is None):
            continue  # the manifests can be fragments
        fix = "Put the value in quotes" if isinstance(problem, NotAString) else "Correct the field"
        if isinstance(problem, UnknownField):
            yield path, f"{problem}{_ACCEPTED}", "Correct or remove the field"
        else:
            yield path, f"{problem}{_REJECTED}", "Add the field" if is_missing else fix


def _printed_by_go(root: dict[str, Json]) -> Iterator[tuple[Path, str]]:
    """The path and the text of what a template prints for a value that it does not have.

    Content, annotations and custom resources can contain the text for another reason.
    """
    group_kind = group_kind_of(root)
    if group_kind is None or not _is_known(group_kind) or group_kind[1] in (*CONTENT_KINDS, CRD):
        return
    for path, values in nested_mappings(root):
        for key, value in values.items() if "annotations" not in path else ():
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str) and (match := PRINTED_BY_GO.search(text)):
                    yield (*path, key), match[0]


def _missing_fields(root: dict[str, Json]) -> Iterator[_Fault]:
    """What every object needs: apiVersion, kind and metadata.name."""
    group_kind = group_kind_of(root)
    is_named = isinstance(value_at(root, _NAME), str)
    if group_kind is None and is_named:
        absent = [key for key in ("apiVersion", "kind") if not isinstance(root.get(key), str)]
        if len(absent) == 1 or any(key in root for key in _CONTENT):
            for key in absent:
                yield (
                    (key,),
                    f"the field {key} is missing{_REJECTED}",
                    f"Add the field {key} to the document",
                )
    elif group_kind and _needs_name(group_kind) and not is_named:
        names = [value_at(root, ("metadata", key)) for key in ("name", "generateName")]
        if names == [None, None]:
            yield (
                _NAME,
                f"the field metadata.name is missing{_REJECTED}",
                "Add the name of the object",
            )


def _needs_name(group_kind: GroupKind) -> bool:
    kind = group_kind[1]
    return _is_known(group_kind) and kind not in _NAMELESS and not kind.endswith(("List", "Review"))


def _is_known(group_kind: GroupKind) -> bool:
    return is_built_in(group_kind[0]) or group_kind == ROLLOUT


def _is_patch(root: dict[str, Json]) -> bool:
    """Whether a workload is perhaps a patch of kustomize, which lacks what it does not change."""
    group_kind = group_kind_of(root)
    if group_kind is None or not (group_kind == ("", "Pod") or pod_templates(group_kind, root)):
        return True
    needed: Path = {
        "Pod": (),
        "CronJob": ("spec", "schedule"),
        "Job": ("spec", "template", "spec", "restartPolicy"),
    }.get(group_kind[1], ("spec", "selector"))
    return value_at(root, needed) is None


def _as_written(problem: str, document: ParsedDocument, place: Path) -> str:
    """A problem with the text of a value that YAML reads as true or false, such as `n` or `on`."""
    value = value_at(document.data, place)
    start = f"the value {shown(value)} "
    if not isinstance(value, bool) or not problem.startswith(start):
        return problem
    from postrender.yaml.nodes import node_at

    written = str(node_at(document.nodes.root, place).value)
    if written.lower() in ("true", "false"):
        return problem
    return f"the value {written}, which means {shown(value)}, {problem.removeprefix(start)}"
