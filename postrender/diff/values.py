"""The printing of names, values, diffs and counts in every format for readers.

Examples are `spec.replicas: 2 -> 3`, the diff of a key as diff(1) prints it, and `2 Rollouts`. A
Style is what differs between the formats.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from postrender.diff.fields import inner_paths
from postrender.diff.lines import find_hunks
from postrender.diff.model import (
    ADDED,
    CHANGED,
    REMOVED,
    UNCHANGED,
    FieldChange,
    Hunk,
    KeyChange,
    Line,
    Preview,
)
from postrender.diff.redact import NOT_SHOWN
from postrender.diff.texts import compare_texts, folded, word_changes
from postrender.kubernetes.kinds import Identity
from postrender.records import NamedTuple
from postrender.text import visible
from postrender.yaml.paths import Json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


MARKS = {ADDED: "+", REMOVED: "-", CHANGED: "~", UNCHANGED: "="}


def size_of(text: str) -> int:
    """The number of UTF-16 code units in a text, which GitHub and Mermaid count."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


# The notice after an open line, which does not end in a line feed.
NO_NEWLINE = r"\ No newline at end of file"


def describe_key(key: KeyChange, style: Style) -> str:
    """The size of a change: `+2 -1`, `binary, 2,048 bytes, sha256 … -> text, +3`."""
    if key.fields and not key.hunks:
        return counted(len(key.fields), "value")
    signs = [line.sign for hunk in key.hunks for line in hunk.lines]
    counts = [(sign, signs.count(sign)) for sign in "+-"]
    lines = " ".join(f"{sign}{count}" for sign, count in counts if count) or "empty"
    if not key.old_blob and not key.new_blob:
        return lines
    sides = [
        f"binary, {counted(blob.size, 'byte')}, sha256 {blob.digest[:12]}" if blob else ""
        for blob in (key.old_blob, key.new_blob)
    ]
    if key.change == CHANGED:
        return f" {style.arrow} ".join(side or f"text, {lines}" for side in sides)
    return sides[0] or sides[1]


def diff_lines(key: KeyChange) -> list[str]:
    """The unified diff of a key, with escapes for control characters other than tabs."""
    return list(_hunk_lines(shown_hunks(key), has_headers=True))


def _hunk_lines(hunks: Iterable[Hunk], *, has_headers: bool = False) -> Iterator[str]:
    for hunk in hunks:
        if has_headers:
            yield hunk_header(hunk)
        for line, text in seen_lines(hunk):
            yield line.sign + visible(text, keep="\t")
            if has_headers and line.is_open:
                yield NO_NEWLINE


def seen_lines(hunk: Hunk) -> Iterator[tuple[Line, str]]:
    """The lines, in which changed white space is visible: `·` at the end, and `→` for a tab."""
    old, new = (
        {" ".join(line.text.split()) for line in hunk.lines if line.sign == sign} for sign in "-+"
    )
    differs_in_space = old & new
    for line in hunk.lines:
        text = line.text
        if line.sign != " ":
            if " ".join(text.split()) in differs_in_space:
                text = text.replace("\t", "→")
            kept = text.rstrip(" ")
            text = kept + "·" * (len(text) - len(kept))
        yield line, text


def hunk_header(hunk: Hunk) -> str:
    """As in diff(1), the first line of a hunk does not contain a count of 1."""
    old, new = _range(hunk.old, hunk.old_count), _range(hunk.new, hunk.new_count)
    return f"@@ -{old} +{new} @@"


def _range(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"


def shown_hunks(key: KeyChange) -> tuple[Hunk, ...]:
    """The hunks of a key; no line is open if the notice NO_NEWLINE would not be useful."""
    if _is_notice_useful(key):
        return key.hunks
    return tuple(
        hunk._replace(lines=tuple(line._replace(is_open=False) for line in hunk.lines))
        for hunk in key.hunks
    )


def _is_notice_useful(key: KeyChange) -> bool:
    """Whether only one side has an open line, or two lines differ only in the line feed at the end.

    If a side does not have lines, the notice is not useful.
    """
    lines = [line for hunk in key.hunks for line in hunk.lines]
    old = [line for line in lines if line.sign != "+"]
    new = [line for line in lines if line.sign != "-"]
    if not (old and new):
        return False
    if any(line.is_open for line in old) != any(line.is_open for line in new):
        return True

    changed = [line for line in lines if line.sign != " "]
    return any(_differ_in_end(line, other) for line in changed if line.is_open for other in changed)


def _differ_in_end(line: Line, other: Line) -> bool:
    return not other.is_open and line.sign != other.sign and line.text == other.text


# The phrase for a FieldChange without values. Only notation or a revision name differs.
WRITTEN_DIFFERENTLY = "differs only in notation or in a revision name"

# The field with the schema of a version of a custom kind (apiextensions.k8s.io/v1).
_SCHEMA = "schema.openAPIV3Schema"
# The keys of a schema that are not names of properties.
_KEYWORDS = ("", "properties", "items", "additionalProperties")
# The number of properties up to which a schema shows them with more of their path.
_MAX_PROPERTIES = 20

# This pattern matches strings that look like a value of another type, and therefore need quotes.
_OTHER_TYPE = re.compile(
    r"(?:null|~|true|false|yes|no|on|off|[-+]?(?:[0-9_]*\.[0-9]+|[0-9_]*[0-9])(?:e[-+]?[0-9]+)?"
    r"|0x[0-9a-f]+|0o[0-7]+|[\[{\"'].*)?\Z",
    re.IGNORECASE,
)

_OTHER_TYPE_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off"})

_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, default=str).encode


class Description(NamedTuple):
    """A change of a value in words.

    head: a phrase, with both values if they are short.
    parts: a phrase for each part of a longer value.
    diff: the unified diff of a value with several lines, without its header.
    """

    head: str
    parts: tuple[str, ...] = ()
    diff: tuple[str, ...] = ()


def describe_field(field: FieldChange, style: Style, times: int = 1) -> Description:
    """The change of a field: `spec.replicas: 2 -> 3`, `order of spec.containers: …`.

    times: of how many equal changes.
    """
    path = field.path.removesuffix("[]")
    subject = style.code(path) if path == field.path else f"order of {style.code(path)}"
    described = describe_values(subject, field.change, field.old, field.new, style)
    if times > 1:
        return described._replace(head=f"{described.head} ({times:,} times)")
    return described


def describe_values(subject: str, change: str, old: Json, new: Json, style: Style) -> Description:
    """The change of a value: `image: app:1 -> app:2`. An absent value is None.

    A long value is never truncated, because its end can be what matters. It has a part for each
    inner value, or for each difference.
    """
    if old is None and new is None:
        words = WRITTEN_DIFFERENTLY if change == CHANGED else f"{change}: {style.code('null')}"
        return Description(f"{subject} {words}")
    if old == new == NOT_SHOWN:
        return Description(f"{subject}: changed {NOT_SHOWN}")
    if change != CHANGED:
        return _describe_one(subject, change, new if change == ADDED else old, style)
    if _is_short(old, style) and _is_short(new, style):
        before, after = style.code(_text_of(old)), style.code(_text_of(new))
        return Description(f"{subject}: {before} {style.arrow} {after}")
    if isinstance(old, str) and isinstance(new, str):
        return _describe_texts(subject, old, new, style)
    removed, added = (
        _inner_values(value, f"{sign} ", style) for value, sign in ((old, "-"), (new, "+"))
    )
    return Description(f"{subject} changes:", (*removed, *added))


def _is_short(value: Json, style: Style) -> bool:
    has_lines = isinstance(value, str) and "\n" in value.rstrip("\n")
    return not has_lines and len(_text_of(value)) <= style.limit


def _describe_one(subject: str, change: str, value: Json, style: Style) -> Description:
    is_line = isinstance(value, str) and "\n" not in value
    if is_line or _is_short(value, style):
        return Description(f"{subject} {change}: {style.code(_text_of(value))}")
    if isinstance(value, str):
        sign = "+" if change == ADDED else "-"
        lines = value.removesuffix("\n").split("\n")
        diff = tuple(sign + visible(line, keep="\t") for line in lines)
        return Description(f"{subject} {change}:", diff=diff)
    return Description(f"{subject} {change}:", tuple(_inner_values(value, "", style)))


def _describe_texts(subject: str, old: str, new: str, style: Style) -> Description:
    hunks = find_hunks(old, new, 1)
    fields, remark = compare_texts(old, new, hunks)
    note = f" ({remark})" if remark else ""
    if fields:
        return Description(f"{subject} changes in:", tuple(describe_fields(fields, style)))
    if "\n" in old or "\n" in new:
        return Description(f"{subject} changes{note}:", diff=tuple(_hunk_lines(hunks)))
    parts = (
        f"{style.code(before)} {style.arrow} {style.code(after)}"
        for before, after in word_changes(old, new)
    )
    return Description(f"{subject} changes{note} at:", tuple(parts))


def describe_object(fields: Iterable[FieldChange], style: Style) -> Iterator[Description]:
    """The changes of an object's fields, in which each schema of a custom kind is one entry."""
    others, schemas = split_schemas(fields)
    for field in others:
        yield describe_field(field, style)
    for path, changes in schemas.items():
        head = f"{style.code(path)} changes in {counted(len(changes), 'place')}:"
        yield Description(head, tuple(_describe_schema(changes, style)))


def split_schemas(
    fields: Iterable[FieldChange],
) -> tuple[list[FieldChange], dict[str, list[FieldChange]]]:
    """The changes outside of schemas of custom kinds, and those inside, by path of the schema."""
    others: list[FieldChange] = []
    schemas: dict[str, list[FieldChange]] = {}
    for field in fields:
        version, mark, _ = field.path.partition(_SCHEMA)
        group = schemas.setdefault(version + mark, []) if mark else others
        group.append(field)
    return others, schemas


def _describe_schema(changes: Iterable[FieldChange], style: Style) -> Iterator[str]:
    """The properties that change in a schema, with the number of their changes.

    A schema has thousands of lines, most of them descriptions.
    """
    paths = [
        (
            MARKS[field.change],
            [part for part in field.path.partition(_SCHEMA)[2].split(".") if part not in _KEYWORDS],
        )
        for field in changes
    ]
    for depth in (4, 3, 2, 1):
        counts = Counter((mark, ".".join(path[:depth])) for mark, path in paths)
        if len(counts) <= _MAX_PROPERTIES:
            break
    for (mark, path), count in counts.items():
        yield f"{mark} {style.code(path)}" + (f" ({count:,} times)" if count > 1 else "")


def describe_fields(fields: Iterable[FieldChange], style: Style) -> Iterator[str]:
    """The changes of fields in a text, one phrase for equal changes of several list items."""
    for field, times in folded(fields):
        described = describe_field(field, style, times)
        yield from (described.head, *described.parts, *map(style.code, described.diff))


def _count(value: Json) -> int:
    """The number of scalars in a value."""
    count, pending = 0, [value]
    while pending:
        inner = pending.pop()
        if isinstance(inner, dict):
            pending += inner.values()
        elif isinstance(inner, list):
            pending += inner
        else:
            count += 1
    return count


def _inner_values(value: Json, prefix: str, style: Style) -> Iterator[str]:
    """A phrase for each value inside a long value, which is as large as the limit allows."""
    pending: list[tuple[str, Json]] = [("", value)]
    while pending:
        path, inner = pending.pop()
        if path.endswith(_SCHEMA):
            yield f"{prefix}{style.code(path)}: {counted(_count(inner), 'value')}"
        elif inner and isinstance(inner, (dict, list)) and not _is_short(inner, style):
            pending += reversed(list(inner_paths(inner, path)))
        elif path:
            yield f"{prefix}{style.code(path)}: {style.code(_text_of(inner))}"
        else:
            yield f"{prefix}{style.code(_text_of(inner))}"


def _text_of(value: Json) -> str:
    """A value as JSON on one line. A string has quotes only if necessary."""
    if isinstance(value, str):
        is_plain = value.isprintable() and value == value.strip()
        if is_plain and not _looks_like_another_type(value):
            return value
    return _encode(value)


def _looks_like_another_type(text: str) -> bool:
    if text.isascii() and text[:1].isalpha():
        return text.lower() in _OTHER_TYPE_WORDS  # only other texts need the compiled pattern
    return _OTHER_TYPE.match(text) is not None


def name_of(identity: Identity) -> str:
    """The name of an object: `DaemonSet/agent in kube-system`."""
    return f"{identity} in {identity.namespace}" if identity.namespace else str(identity)


class Style(NamedTuple):
    """The form of names, values and sentences in one format.

    code: a function that formats a name, a path or a value.
    prose: a function that formats a sentence with names and values.
    name: a function that returns the name of an object. The module `words` passes this name
    to `code`.
    limit: the maximum number of characters of a value on one line. A longer value has parts.
    arrow: the sign between an old and a new value.
    """

    code: Callable[[str], str] = str
    prose: Callable[[str], str] = str
    name: Callable[[Identity], str] = name_of
    limit: int = 120
    arrow: str = "->"


def namer(preview: Preview) -> Callable[[Identity], str]:
    """A function that returns a unique name for each object of a preview.

    The name includes the API group only if another object would have an equal name. An example is
    an Ingress that moves from `extensions` to `networking.k8s.io`.
    """
    identities = {content.identity for content in preview.contents}
    identities |= {workload.identity for workload in preview.workloads}
    identities |= {change.identity for change in preview.objects}
    identities |= {risk.identity for risk in preview.risks}
    counts = Counter(map(_without_group, identities))

    def name(identity: Identity) -> str:
        if identity.group and counts[_without_group(identity)] > 1:
            identity = identity._replace(kind=f"{identity.kind}.{identity.group}")
        return name_of(identity)

    return name


def _without_group(identity: Identity) -> Identity:
    return identity._replace(group="")


class Terminal(NamedTuple):
    """The number of columns, None if lines have any length, and whether the output has colours."""

    width: int | None = None
    is_coloured: bool = False


def terminal_of(output: TextIO | None, *, is_coloured: bool) -> Terminal:
    """The terminal of an output. A file or pipe has no width, so that grep finds whole lines."""
    if output is None or not output.isatty():
        return Terminal(is_coloured=is_coloured)
    import shutil

    return Terminal(shutil.get_terminal_size().columns, is_coloured)


_MAX_ITEMS = 12


class Forms(NamedTuple):
    """The singular and the plural of a noun or verb."""

    one: str
    many: str

    def of(self, count: int) -> str:
        """The form that fits a count."""
        return self.one if count == 1 else self.many


def counted(count: int, noun: str) -> str:
    """A count with a regular noun: `1 key`, `1,200 keys`, `2 NetworkPolicies`."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith(("cy", "ry", "ty")):
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}" + ("es" if noun.endswith(("s", "x", "ch")) else "s")


def capitalised(clause: str) -> str:
    """A clause with an upper-case first letter, for the beginning of a sentence."""
    return clause[:1].upper() + clause[1:]


def listed(parts: Sequence[str]) -> str:
    """A list such as `a, b, c`, which ends in a count after _MAX_ITEMS items."""
    shown, rest = parts[:_MAX_ITEMS], parts[_MAX_ITEMS:]
    return ", ".join(shown) + (f" {and_more(len(rest))}" if rest else "")


def and_more(count: int) -> str:
    """The end of a list that leaves out `count` items."""
    return f"and {count:,} more"
