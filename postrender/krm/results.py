"""The results of a KRM function: findings and errors in the field `results` of a ResourceList.

The KRM Functions Specification v1 defines the field. A result has one of three severities:

- `info`: a note;
- `warning`: a warning;
- `error`: an error that ends the function. With --strict, a finding whose field `strict` is True
  also ends the function, and also has this severity.

After an error, the items on stdout are the items of the input, and the exit code is 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from postrender.errors import NOTE, WARNING, Finding, Location, UserError, sentences
from postrender.krm.resource_list import sole_document
from postrender.krm.tool_annotations import INDEX_ANNOTATIONS, PATH_ANNOTATIONS
from postrender.kubernetes.kinds import roots_of, strings_at
from postrender.yaml.document import parse_document
from postrender.yaml.edits import AddKeys, SetScalar, Site, SiteKey
from postrender.yaml.paths import Json, value_at
from postrender.yaml.rewrite import rewrite_object
from postrender.yaml.sites import locate
from postrender.yaml.splice import Splice, apply_splices, splice
from postrender.yaml.stream import Stream, read_stream, stream_texts

Result = dict[str, Json]
# The severity of a result, by the severity of a finding that is not an error.
_SEVERITIES = {WARNING: "warning", NOTE: "info"}


def with_error(
    stream: Stream, findings: Sequence[Finding], error: UserError, *, is_strict: bool
) -> list[str]:
    """Return the text of the input ResourceList, in parts, with findings and an error as results.

    is_strict: whether --strict is set.
    """
    texts = stream_texts(stream, [document.text for document in stream.documents])
    objects = _Objects(stream)
    results = [objects.result_of(finding, is_strict=is_strict) for finding in findings]
    location = error.location or Location(stream.source)
    # An error in another file, such as the configuration, needs its location in the message.
    text = sentences(error.problem, error.fix) if location.source == stream.source else str(error)
    return _with_results(texts, [*results, objects.result("error", text, location)])


def with_findings(output: Sequence[str], stream: Stream, findings: Sequence[Finding]) -> list[str]:
    """Return the text of the output ResourceList, in parts, with findings as results.

    No finding has severity `error`, because with --strict, a strict finding ends the function
    before this call.
    output: the text of the output ResourceList, in parts.
    stream: the input.
    """
    objects = _Objects(stream)
    results = [objects.result_of(finding, is_strict=False) for finding in findings]
    return _with_results(output, results)


def _with_results(parts: Sequence[str], results: Sequence[Result]) -> list[str]:
    """Return the text of a ResourceList, in parts, with results added to the field `results`.

    The function skips a result that is already in the field.
    parts: the text of the ResourceList, in parts.
    """
    stream = read_stream("".join(parts).encode(), "")
    document = sole_document(stream)
    parsed = parse_document(document.text, Location(""))
    current = value_at(parsed.data, ("results",))
    earlier = current if isinstance(current, list) else []
    added = [result for result in results if result not in earlier]
    splices: list[Splice] = []
    if added and current is None:
        edit = AddKeys((), {"results": added})
        sites: dict[SiteKey, Site | None] = {(AddKeys, ()): locate(parsed, edit)}
        spliced = splice([edit], [edit], sites, stream.newline, lambda _path: parsed.location)
        splices = spliced or [rewrite_object(parsed.nodes, (), [edit], stream.newline)]
    elif added:
        edit_all = SetScalar(("results",), [*earlier, *added])  # type: ignore[arg-type]
        splices = [rewrite_object(parsed.nodes, (), [edit_all], stream.newline)]
    text = apply_splices(document.text, splices)
    texts = [text if part is document else part.text for part in stream.documents]
    return stream_texts(stream, texts)


class _Objects:
    """The objects of a ResourceList. The methods turn messages about the objects into results."""

    def __init__(self, stream: Stream) -> None:
        document = sole_document(stream)
        parsed = parse_document(document.text, stream.location_of(document))
        self.located: list[tuple[Location, dict[str, Json]]] = []
        for path, data in roots_of(parsed.data):
            if isinstance(data, dict):
                # location_of sets the subject only for a path inside an object.
                location = parsed.location_of((*path, ""), fallback=path)
                self.located.append((location, data))

    def result_of(self, finding: Finding, *, is_strict: bool) -> Result:
        """Return a finding as a result."""
        is_error = finding.strict and is_strict
        severity = "error" if is_error else _SEVERITIES[finding.severity]
        text = f"{sentences(finding.problem, finding.fix)} [{finding.code}]"
        return self.result(severity, text, finding.location)

    def result(self, severity: str, message: str, location: Location) -> Result:
        """Return a result with a message and the object at a location.

        If the location is not in an object, the message begins with the path of the location.
        severity: `error`, `warning` or `info`.
        """
        data = self.object_at(location)
        if data is None and location.path:
            message = f"{location.path}: {message}"
        result: Result = {"message": " ".join(message.split()), "severity": severity}
        if data is None:
            return result
        metadata = data.get("metadata")
        namespace = value_at(metadata, ("namespace",))
        result["resourceRef"] = {
            "apiVersion": data.get("apiVersion"),
            "kind": data.get("kind"),
            **({"namespace": namespace} if namespace else {}),
            "name": value_at(metadata, ("name",)),
        }
        if location.path:
            result["field"] = {"path": location.path}
        file = _file_of(data)
        if file:
            result["file"] = file
        return result

    def object_at(self, location: Location) -> dict[str, Json] | None:
        """Return the object at a location, None for a location outside of objects.

        If several objects have the same kind and name, the result is the last object that starts at
        or above the location.
        """
        for start, data in reversed(self.located):
            if start.subject == location.subject != "" and start.line <= location.line:
                return data
        return None


def _file_of(data: dict[str, Json]) -> Result:
    """Return the field `file` of a result, {} if no annotation contains the path of the file."""
    annotations = strings_at(data, "annotations")
    paths = [annotations[name] for name in PATH_ANNOTATIONS if name in annotations]
    if not paths:
        return {}
    numbers = [annotations[name] for name in INDEX_ANNOTATIONS if name in annotations]
    index: Result = {"index": int(numbers[0])} if numbers and numbers[0].isdigit() else {}
    return {"path": paths[0], **index}
