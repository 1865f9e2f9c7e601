"""The inventory of a stream: the objects and their references.

take_inventory parses the documents that can contain revisable objects (ConfigMaps, and with the
setting `secrets` also Secrets), and those whose end may be missing. If it finds revisable objects,
it then parses the other documents that can use them.

The prefilter is a search of the text that selects the documents to parse. Most documents of a chart
do not reference ConfigMaps. Because only a few of them are parsed, postrender is fast, and unusual
YAML rarely causes an error. With the setting `secrets`, "ConfigMap" means "ConfigMap or Secret" in
the prefilter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, groupby

from postrender.config.settings import Settings
from postrender.errors import Finding, Location, UserError
from postrender.inventory.examine import duplicate_key_findings, examine
from postrender.inventory.model import Item, Reference, pack
from postrender.kubernetes.annotations import HELM_FILENAME_ANNOTATION, HELM_HOOK_ANNOTATION, PREFIX
from postrender.kubernetes.kinds import (
    CRD,
    WORKLOAD_KINDS,
    GroupKind,
    group_kind_of,
    items_of,
    roots_of,
)
from postrender.name_parts import NameParts
from postrender.records import NamedTuple
from postrender.references.rule import DERIVED_SUFFIXES
from postrender.text import WordSet, decoded_values, has_any, shown
from postrender.yaml.document import ParsedDocument, parse_document, parse_in
from postrender.yaml.paths import Json, Path, format_path, value_at
from postrender.yaml.stream import Stream, has_content

# The characters of the documents that stay parsed, where each document counts as some more. Later
# documents are parsed again when needed, and the content of their ConfigMaps is packed, so that a
# large stream takes a third of the memory.
_MAX_KEPT = 4 * 1024 * 1024
_EXTRA = 800

# The start of an action in a Helm template.
_ACTION = "{{"


class Inventory(NamedTuple):
    """The facts about a stream that the package `plan` needs.

    parsed: by index, the documents that were parsed and kept.
    is_read: for each document, whether it was parsed.
    findings: a finding for each duplicate key.
    fixed_kinds: kinds that postrender does not revise, although Item.content is set. `diff` reads
        Secrets even if the setting `secrets` is false.
    is_output: whether the stream is an output that keeps its names. `diff` compares outputs as they
        are.
    """

    stream: Stream
    parsed: Mapping[int, ParsedDocument]
    is_read: bytearray
    items: tuple[Item, ...]
    findings: tuple[Finding, ...]
    fixed_kinds: frozenset[GroupKind] = frozenset()
    is_output: bool = False

    @property
    def fixed_names(self) -> set[str]:
        """The names of the parsed objects that postrender never revises, such as Services.

        CustomResourceDefinitions are left out: `diff` parses their documents, but `render` does
        not, and both commands must get the same result.
        """
        return {
            item.identity.name
            for item in self.items
            if (not item.has_content and item.identity.kind != CRD)
            or item.identity.group_kind in self.fixed_kinds
        } - {""}

    @property
    def is_from_helm_4(self) -> bool:
        return any(HELM_FILENAME_ANNOTATION in item.annotations for item in self.items)

    def items_by_document(self) -> Iterator[tuple[int, list[Item]]]:
        """The items of each document that has some, in order."""
        # All the lists at once would take more memory than the text of small documents.
        for index, items in groupby(self.items, lambda item: item.key[0]):
            yield index, list(items)

    def document(self, index: int) -> ParsedDocument:
        """A document, parsed now if it was not kept."""
        kept = self.parsed.get(index)
        return kept or _parsed_again(self.stream.texts[index], self.stream.location_of(index))

    def template(self, item: Item, number: int) -> Json:
        """The data of one pod template of a workload."""
        return value_at(self.document(item.document).data, item.templates[number])

    def location_of(self, item: Item, path: Path = (), line: int | None = None) -> Location:
        """The location of an object, or of the part at `path`.

        line: of the part in the document, from 0; None for the first line of the object.
        """
        location = self.stream.location_of(item.document, item.line if line is None else line)
        path_in_object = path[len(item.path) :]
        return location._replace(subject=str(item.identity), path=format_path(path_in_object))

    def location_of_reference(
        self, item: Item, reference: Reference, path: Path | None = None
    ) -> Location:
        """The location of a reference; path: to show instead, such as the rule in a Role."""
        line = self.document(item.document).line_of(reference.path)
        return self.location_of(item, reference.path if path is None else path, line)


@lru_cache(maxsize=1)  # one step asks for many values of one document
def _parsed_again(text: str, location: Location) -> ParsedDocument:
    return parse_document(text, location)


def take_inventory(stream: Stream, settings: Settings) -> Inventory:
    """The inventory of a stream.

    UserError for text that is not YAML, for an invalid reference, and if the input ends in the
    middle of an object. The error of an invalid ConfigMap or Secret is in Item.error instead.
    """
    kinds = {kind for _, kind in settings.revisable}
    reader = _Reader(stream, settings)
    for index, text in enumerate(stream.texts):
        if (
            may_hold(text, stream.kinds[index], kinds)
            or must_check_end(stream, index)
            or may_hide_an_object(text, stream.kinds[index])
        ):
            reader.read(index, None)
    # The names can take as much memory as the text.
    is_complete = not any(
        has_content(text)
        for text, is_read in zip(stream.texts, reader.is_read, strict=True)
        if not is_read
    )
    names = set() if is_complete else _target_names(reader.items(), settings)
    if names:
        has_mounts = any(item.requests_auto_mount for item in reader.items())
        words = WordSet(chain(names, _source_names(names)))
        parts = NameParts(names)
        for index, text in enumerate(stream.texts):
            if not reader.is_read[index] and is_relevant(
                text, stream.kinds[index], words, parts, has_mounts=has_mounts
            ):
                reader.read(index, names)
    return reader.inventory()


def take_full_inventory(stream: Stream, indexes: Iterable[int], settings: Settings) -> Inventory:
    """The inventory of the documents at `indexes`, with references to any name.

    An invalid ConfigMap or Secret is a UserError here.
    """
    reader = _Reader(stream, settings, keeps_all=True)
    for index in indexes:
        reader.read(index, None)
    for item in reader.items():
        if item.error:
            raise item.error
    return reader.inventory()


def read_items(
    stream: Stream, index: int, settings: Settings, names: set[str] | None
) -> tuple[Item, ...]:
    """The objects of one document; names: as for `examine`."""
    return examine(index, _parsed(stream, index), settings, names)


class _Reader:
    __slots__ = ("_findings", "_free", "_items", "is_read", "parsed", "settings", "stream")

    def __init__(self, stream: Stream, settings: Settings, *, keeps_all: bool = False) -> None:
        self.stream = stream
        self.settings = settings
        self.parsed: dict[int, ParsedDocument] = {}
        self.is_read = bytearray(len(stream.texts))
        self._free = float("inf") if keeps_all else _MAX_KEPT
        self._items: list[Item] = []
        self._findings: dict[int, tuple[Finding, ...]] = {}

    def read(self, index: int, names: set[str] | None) -> None:
        """Parse and examine a document; names: as for `examine`."""
        parsed = _parsed(self.stream, index)
        self._free -= len(self.stream.texts[index]) + _EXTRA
        is_kept = self._free >= 0
        self.is_read[index] = True
        if is_kept:
            self.parsed[index] = parsed
        _check_markers(parsed)
        items = examine(index, parsed, self.settings, names)
        self._items += items if is_kept else [pack(item, parsed) for item in items]
        # A file on disk or in git is complete, and many complete files lack the newline.
        is_from_pipe = self.stream.sources[index] in self.stream.pipes
        may_be_cut = is_from_pipe and self.stream.lacks_newline(index)
        if may_be_cut and _is_fragment(parsed.data):
            raise UserError(
                "the input ends in the middle of an object",
                "Check the exit code of the program that produced the input, and run the program "
                "again",
                parsed.location,
            )
        findings = duplicate_key_findings(parsed)
        if findings:
            self._findings[index] = findings
        parsed.release()

    def items(self) -> tuple[Item, ...]:
        return tuple(sorted(self._items, key=lambda item: item.key[0]))

    def inventory(self) -> Inventory:
        return Inventory(
            stream=self.stream,
            parsed=self.parsed,
            is_read=self.is_read,
            items=self.items(),
            findings=tuple(
                finding for index in sorted(self._findings) for finding in self._findings[index]
            ),
        )


def _parsed(stream: Stream, index: int) -> ParsedDocument:
    try:
        document = parse_in(stream, index)
        document.data  # noqa: B018 (read now, so that this function raises the errors)
    except UserError as error:
        raise _template_error(error, stream, index) or error from None
    return document


def _template_error(error: UserError, stream: Stream, index: int) -> UserError | None:
    """A better error than that of the YAML parser, if the text looks like a Helm template.

    An action (`{{ … }}`) counts in the line of the error, and in the nearest non-empty line above.
    In any other line, it can be ConfigMap data.
    """
    if _ACTION not in stream.texts[index]:
        return None
    line = error.location.line - stream.lines[index] if error.location else 0
    lines = stream.texts[index].splitlines()
    above = [text_line for text_line in lines[:line] if text_line.strip()]
    if not any(_ACTION in text_line for text_line in (*above[-1:], *lines[line : line + 1])):
        return None
    return _unrendered(error.location)


def _unrendered(location: Location | None) -> UserError:
    return UserError(
        "the document looks like a Helm template that helm has not rendered",
        "Pass the output of: helm template NAME CHART",
        location,
    )


def refuse_templates(inventory: Inventory) -> None:
    """Raise UserError for a Helm template among the documents that the inventory has not read.

    A template without a ConfigMap would otherwise pass unread.
    """
    stream = inventory.stream
    for index in (index for index, text in enumerate(stream.texts) if _ACTION in text):
        try:
            roots = [root for _, root in roots_of(parse_in(stream, index).data)]
        except UserError as error:
            template = _template_error(error, stream, index)
            if template:
                raise template from None
            continue  # the program that applies the manifests reports this error
        names = [str(value_at(root, ("metadata", "name"))) for root in roots]
        if any(_ACTION in name for name in names):
            raise _unrendered(stream.location_of(index))


def _check_markers(document: ParsedDocument) -> None:
    """Refuse `---kind: ConfigMap`: YAML reads one object with the key `---kind`.

    Helm splits a template there, and kubectl refuses the line (kubectl 1.32).
    """
    data = document.data
    for key in data if isinstance(data, dict) else ():
        if str(key).startswith("---"):
            raise UserError(
                f"the key is {shown(key)}, because --- is not alone on its line, and therefore "
                "does not start a new document",
                "Insert a line break after ---",
                document.location_of_key((key,))._replace(subject="", path=""),
            )


def _is_fragment(data: Json) -> bool:
    """Whether a document has `apiVersion` or `kind`, but is incomplete.

    A complete document has both keys, and either `metadata` or the items of a List.
    """
    if not isinstance(data, dict) or not {"apiVersion", "kind"} & data.keys():
        return False
    has_body = isinstance(data.get("metadata"), dict) or items_of(data) is not None
    return group_kind_of(data) is None or not has_body


def _source_names(names: set[str]) -> set[str]:
    """The names of the objects from which programs derive these names."""
    return {
        name.removesuffix(suffix)
        for name in names
        for suffix in DERIVED_SUFFIXES
        if name.endswith(suffix)
    }


def _target_names(items: Iterable[Item], settings: Settings) -> set[str]:
    """The names and the base names of the revisable objects."""
    names: set[str] = set()
    for item in items:
        if item.identity.group_kind in settings.revisable:
            names |= {item.identity.name, item.base_name}
    names.discard("")
    return names


# In a double-quoted scalar.
_NAME_ESCAPE = r"\\(?:x[2-7]|u00[2-7]|U000000[2-7]|\r?\n)"
_WORKLOADS = frozenset(kind for _, kind in WORKLOAD_KINDS)
# In a text that builds the name of a ConfigMap, one of these is part of the kind or of a command.
_KIND_MARKS = (
    *("onfigMap", "onfigmap", "ONFIGMAP", "onfig_map", "ONFIG_MAP", "onfig-map"),
    *("kubectl", "$(", "spring", "bject.metadata"),
    " cm",
)
_ALWAYS_RELEVANT = (PREFIX, HELM_HOOK_ANNOTATION, "argocd.argoproj.io/", "workloadRef")


def may_escape_names(text: str) -> bool:
    """Whether a text can contain names with escapes, which a text search does not find."""
    return "\\" in text and re.search(_NAME_ESCAPE, text) is not None


def may_hold(text: str, kind: str, kinds: set[str]) -> bool:
    """Whether a document of this kind (Stream.kinds) can contain an object of one of the kinds."""
    if kind and not kind.endswith("List"):
        return kind in kinds
    return has_any(text, kinds) or may_escape_names(text)


def must_check_end(stream: Stream, index: int) -> bool:
    """Whether the end of a document could be missing, so that it must be parsed.

    It is JSON without the last bracket, or Stream.lacks_newline returns True.
    """
    body = stream.texts[index].strip()
    if body[:1] in ("{", "[") and body[-1] not in "}]":
        return True
    return stream.lacks_newline(index)


def may_hide_an_object(text: str, kind: str) -> bool:
    """Whether a document of this kind can have two objects, without `---` between them.

    The split into documents leaves `---` in the middle of a text only if it is not a marker.
    """
    if text.rfind("\n---", 1) >= 0 or (text.startswith("---") and not text[3:4].isspace()):
        return True
    if kind:
        return False
    first = 0 if text.startswith("kind:") else text.find("\nkind:")
    return first >= 0 and text.find("\nkind:", first + 1) >= 0


def is_relevant(
    text: str, kind: str, names: WordSet, parts: NameParts, *, has_mounts: bool
) -> bool:
    """Whether a document of this kind (Stream.kinds) must be parsed, after those with ConfigMaps.

    It must be if it can reference a ConfigMap, or can affect the output without a reference, as a
    hook or a Rollout with a workloadRef does.
    names: the names of the ConfigMaps.
    parts: the parts of the names.
    has_mounts: whether any ConfigMap requests an auto-mount.
    """
    if kind == CRD:
        return False
    is_workload = not kind or kind in _WORKLOADS
    if is_workload and (has_mounts or "onfigMap" in text or "namespace" in text):
        return True
    if has_any(text, _ALWAYS_RELEVANT):
        return True
    if names.is_in(text) or may_escape_names(text):
        return True
    if has_any(text, _KIND_MARKS) and parts.possible_in(text):
        return True
    return _is_encoded_in(text, kind, names, parts)


def _is_encoded_in(text: str, kind: str, names: WordSet, parts: NameParts) -> bool:
    """Whether a document can contain a Secret whose data has one of the names in base64."""
    if "Secret" not in text:
        return False
    if kind and kind != "Secret" and not kind.endswith("List"):
        return False  # The text contains another word with `Secret`, such as imagePullSecrets.
    return any(names.is_in(value) or parts.found_in(value) for value in decoded_values(text))
