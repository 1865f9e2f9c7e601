"""Files that status reads instead of a cluster, such as a support bundle."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from postrender.attach.answers import parse
from postrender.attach.live import Object, text_at
from postrender.attach.reconcile import GRACE, TIME_FORMAT, parse_time
from postrender.attach.request import Resource
from postrender.errors import Location, UserError
from postrender.kubernetes.kinds import api_group, group_kind_of, roots_of
from postrender.status.snapshot import KINDS_OF_FILES, Snapshot, times_in
from postrender.text import conjoined, shown
from postrender.yaml.document import parse_document
from postrender.yaml.paths import Json, value_at
from postrender.yaml.stream import Stream, has_content

_SHOWN_NAMES = 20


def read_file(stream: Stream, namespace: str | None, now: datetime) -> Snapshot:
    """The objects in the output of `kubectl get … -o yaml` or `-o json`.

    now: the current time. If no time in the file is from the last minutes, the file is old, and
        the status is that of the newest time in the file.
    """
    objects: list[tuple[Resource, Object]] = []
    listed: set[Resource] = set()
    newest = ""
    for root, location in _roots(stream):
        listed.update(_listed_kind(root, location))
        for _, data in roots_of(root):
            if isinstance(data, dict):
                # Objects of other kinds or namespaces, such as Nodes and Leases, have times too.
                times = (time for time in times_in(data) if time <= now.strftime(TIME_FORMAT))
                newest = max((newest, *times))
                group_kind = group_kind_of(data)
                if group_kind in KINDS_OF_FILES:
                    objects.append((KINDS_OF_FILES[group_kind], data))
    namespaces = {text_at(data, "metadata", "namespace") for _, data in objects} - {""}
    if namespace is None and len(namespaces) > 1:
        raise UserError(
            f"the file has objects of {len(namespaces)} namespaces: "
            f"{conjoined(sorted(namespaces)[:_SHOWN_NAMES])}",
            "Pass one of the namespaces with --namespace",
            Location(stream.source),
        )
    written = parse_time(newest) or now
    is_old = now - written > GRACE
    snapshot = Snapshot(
        namespace or next(iter(namespaces), ""),
        written if is_old else now,
        is_file=True,
        is_old=is_old,
    )
    # An empty list does not show its namespace.
    snapshot.read_objects(objects, listed if len(namespaces) < 2 else (), stream.source)
    return snapshot


def _roots(stream: Stream) -> Iterator[tuple[Json, Location]]:
    for index, text in enumerate(stream.texts):
        if has_content(text):
            location = stream.location_of(index)
            yield _read(text, location), location


def _listed_kind(root: Json, location: Location) -> Iterator[Resource]:
    """The kind of a list such as a CronJobList, which can be empty."""
    kind = text_at(root, "kind")
    if not kind and value_at(root, ("items",)) is not None:
        raise UserError(
            "the document has items and no kind, perhaps because the text was cut off",
            "Check the command that wrote the text",
            location,
        )
    if not kind.endswith("List"):
        return
    if text_at(root, "metadata", "continue"):
        raise UserError(
            f"the {kind} is only the first part of a list",
            "Pass the output of kubectl get without a limit",
            location,
        )
    group_kind = api_group(text_at(root, "apiVersion")), kind[: -len("List")]
    if group_kind in KINDS_OF_FILES:
        yield KINDS_OF_FILES[group_kind]


def _read(text: str, location: Location) -> Json:
    if text.lstrip().startswith("{"):
        try:
            return parse(text, _unique)
        except ValueError:
            pass  # YAML can begin with a brace too, and its parser names the line of a mistake
    document = parse_document(text, location)
    data = document.data
    for duplicate in document.duplicate_keys():
        line = location.line + duplicate.key.start_mark.line
        raise UserError(
            f"the key {shown(duplicate.key.value)} is duplicated, so one of the values would be "
            "lost",
            "Write a line --- between two outputs of kubectl get",
            location._replace(line=line),
        )
    return data


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a key is duplicated")
    return data
