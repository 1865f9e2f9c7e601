"""A KRM function's results: what a user should know, in the ResourceList that goes back.

KRM Functions Specification v1. Findings are results with severity `warning`, and errors with
severity `error`; those come with the items as they came in, and with exit code 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from postrender.errors import Finding, Location, UserError, sentences
from postrender.krm.tool_annotations import INDEX_ANNOTATIONS, PATH_ANNOTATIONS
from postrender.kubernetes.kinds import roots_of, strings_at
from postrender.yaml.document import parse_document
from postrender.yaml.edits import AddKeys, SetScalar
from postrender.yaml.paths import Json, value_at
from postrender.yaml.rewrite import rewrite_object
from postrender.yaml.sites import Site, SiteKey, locate
from postrender.yaml.splice import Splice, apply_splices, splice
from postrender.yaml.stream import Document, Stream, has_content, read_stream, stream_texts

Result = dict[str, Json]


def is_resource_list(stream: Stream) -> bool:
    """Tell whether a stream is a ResourceList and nothing else."""
    full = [document for document in stream.documents if has_content(document.text)]
    if len(full) != 1:
        return False
    try:
        data = parse_document(full[0].text, Location("")).data
    except UserError:
        return False
    return value_at(data, ("kind",)) == "ResourceList"


def failed(
    stream: Stream, findings: Sequence[Finding], error: UserError, *, is_strict: bool
) -> list[str]:
    """Return the ResourceList of a stream as it came in, with an error and the findings before it.

    is_strict: whether the findings that `--strict` turns into failures are errors too.
    """
    texts = stream_texts(stream, [document.text for document in stream.documents])
    where = _Objects(stream)
    results = [where.result_of(finding, is_strict=is_strict) for finding in findings]
    location = error.location or Location(stream.source)
    # What is wrong elsewhere, as in a configuration, needs to say where.
    text = sentences(error.problem, error.fix) if location.source == stream.source else str(error)
    return _with_results(texts, [*results, where.result("error", text, location)])


def with_findings(output: Sequence[str], stream: Stream, findings: Sequence[Finding]) -> list[str]:
    """Return the ResourceList of an output, in parts, with the findings about the input."""
    where = _Objects(stream)
    results = [where.result_of(finding, is_strict=False) for finding in findings]
    return _with_results(output, results)


def _with_results(parts: Sequence[str], results: Sequence[Result]) -> list[str]:
    stream = read_stream("".join(parts).encode(), "")
    document = sole_document(stream)
    parsed = parse_document(document.text, Location(""))
    there = value_at(parsed.data, ("results",))
    earlier = there if isinstance(there, list) else []
    more = [result for result in results if result not in earlier]
    if not more:
        splices: list[Splice] = []
    elif there is None:
        edit = AddKeys((), {"results": more})
        sites: dict[SiteKey, Site | None] = {(AddKeys, ()): locate(parsed, edit)}
        made = splice([edit], [edit], sites, stream.newline, lambda _path: parsed.location)
        splices = made or [rewrite_object(parsed.nodes, (), [edit], stream.newline)]
    else:
        edit_all = SetScalar(("results",), [*earlier, *more])  # type: ignore[arg-type]
        splices = [rewrite_object(parsed.nodes, (), [edit_all], stream.newline)]
    text = apply_splices(document.text, splices)
    texts = [text if each is document else each.text for each in stream.documents]
    return stream_texts(stream, texts)


def sole_document(stream: Stream) -> Document:
    """Return the document that is the ResourceList."""
    return next(document for document in stream.documents if has_content(document.text))


class _Objects:
    """The objects of a ResourceList with their places, to be found by those of messages."""

    def __init__(self, stream: Stream) -> None:
        document = sole_document(stream)
        parsed = parse_document(document.text, stream.location_of(document))
        self.found: list[tuple[Location, dict[str, Json]]] = []
        for path, data in roots_of(parsed.data):
            if isinstance(data, dict):
                # The place of a key inside it names the object.
                location = parsed.location_of((*path, ""), instead=path)
                self.found.append((location, data))

    def result_of(self, finding: Finding, *, is_strict: bool) -> Result:
        severity = "error" if finding.strict and is_strict else "warning"
        text = f"{sentences(finding.problem, finding.fix)} [{finding.code}]"
        return self.result(severity, text, finding.location)

    def result(self, severity: str, message: str, location: Location) -> Result:
        data = self.at(location)
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
        file = _file_of(data)
        return {
            **result,
            **({"field": {"path": location.path}} if location.path else {}),
            **({"file": file} if file else {}),
        }

    def at(self, location: Location) -> dict[str, Json] | None:
        """Return the object of a place: the last of its kind and name that begins before it."""
        return next(
            (
                data
                for there, data in reversed(self.found)
                if there.subject == location.subject != "" and there.line <= location.line
            ),
            None,
        )


def _file_of(data: dict[str, Json]) -> Result:
    """Return the file of an object, and its number there, as its annotations tell."""
    annotations = strings_at(data, "annotations")
    paths = [annotations[name] for name in PATH_ANNOTATIONS if name in annotations]
    if not paths:
        return {}
    numbers = [annotations[name] for name in INDEX_ANNOTATIONS if name in annotations]
    index: Result = {"index": int(numbers[0])} if numbers and numbers[0].isdigit() else {}
    return {"path": paths[0], **index}
