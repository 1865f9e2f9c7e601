"""The printing of names, values, diffs and counts in every format for readers.

Examples are `spec.replicas: 2 -> 3`, the diff of a key as diff(1) prints it, and `2 Rollouts`. A
Style is what differs between the formats.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from postrender.diff.fields import SCHEMA, inner_paths
from postrender.diff.lines import diff_lines, hunk_lines
from postrender.diff.model import (
    ADDED,
    CHANGED,
    REMOVED,
    UNCHANGED,
    FieldChange,
    KeyChange,
    Preview,
)
from postrender.diff.redact import NOT_SHOWN
from postrender.diff.texts import compare_long, folded, word_changes
from postrender.kubernetes.kinds import Identity
from postrender.records import NamedTuple
from postrender.text import common_length, visible, with_visible_end
from postrender.yaml.paths import Json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


MARKS = {ADDED: "+", REMOVED: "-", CHANGED: "~", UNCHANGED: "="}


def size_of(text: str) -> int:
    """The number of UTF-16 code units in a text, which GitHub and Mermaid count."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


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


# The phrase for a FieldChange without values. Only notation or a revision name differs.
WRITTEN_DIFFERENTLY = "differs only in notation or in a revision name"

# The length of a line, and the number of lines, up to which text shows an added or removed key as
# it is.
_LONGEST_LINE, _MOST_LINES = 2_000, 300
# The length of both lines from which the words of a changed line are shown.
_LONG_LINES = 800

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

    def lines(self, style: Style) -> tuple[str, ...]:
        """All phrases, with the lines of the diff as code."""
        return self.head, *self.parts, *map(style.code, self.diff)


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
        return Description(f"{subject}: {style.both(text_of(old), text_of(new))}")
    if isinstance(old, str) and isinstance(new, str):
        return _describe_texts(subject, old, new, style)
    removed, added = (
        inner_values(value, f"{sign} ", style) for value, sign in ((old, "-"), (new, "+"))
    )
    return Description(f"{subject} changes:", (*removed, *added))


def _is_short(value: Json, style: Style) -> bool:
    has_lines = isinstance(value, str) and "\n" in value.rstrip("\n")
    return not has_lines and len(text_of(value)) <= style.limit


def _describe_one(subject: str, change: str, value: Json, style: Style) -> Description:
    is_line = isinstance(value, str) and "\n" not in value
    if is_line or _is_short(value, style):
        return Description(f"{subject} {change}: {style.code(text_of(value))}")
    if isinstance(value, str):
        sign = "+" if change == ADDED else "-"
        lines = value.removesuffix("\n").split("\n")
        diff = tuple(sign + visible(with_visible_end(line), keep="\t") for line in lines)
        return Description(f"{subject} {change}:", diff=diff)
    return Description(f"{subject} {change}:", tuple(inner_values(value, "", style)))


def _describe_texts(subject: str, old: str, new: str, style: Style) -> Description:
    found = compare_long(old, new)
    note = f" ({found.remark})" if found.remark else ""
    if found.fields:
        parts = describe_fields(found.fields, style)
        return Description(f"{subject} changes in:", tuple(parts))
    if found.hunks:
        return Description(f"{subject} changes{note}:", diff=tuple(hunk_lines(found.hunks)))
    parts = (style.both(text_of(before), text_of(after)) for before, after in found.words)
    return Description(f"{subject} changes{note} at:", tuple(parts))


def describe_whole(key: KeyChange, style: Style) -> str:
    """The value on each side, if `whole_values` finds values: `10 -> 40`."""
    values = (value for value in whole_values(key, style.limit) if value is not None)
    return f" {style.arrow} ".join(style.code(value or '""') for value in values)


def whole_values(key: KeyChange, limit: int) -> tuple[str | None, str | None]:
    """The value of a key on each side, if it is a short line or empty; None for an absent value.

    Both are None if the diff of the key says more.
    """
    lines = [line for hunk in key.hunks for line in hunk.lines]
    is_short = all(
        line.is_open and 0 < len(line.text) <= limit and line.text == line.text.strip()
        for line in lines
    )
    if not is_short or key.fields or key.remark or key.old_blob or key.new_blob:
        return None, None
    texts = {line.sign: line.text for line in lines}
    empty = "" if texts and key.change == CHANGED else None
    return texts.get("-", empty), texts.get("+", empty)


def describe_long_line(key: KeyChange, style: Style) -> list[str]:
    """The words that differ if few words of one very long line do, else []."""
    lines = [line for hunk in key.hunks for line in hunk.lines if line.sign != " "]
    length = sum(len(line.text) for line in lines)
    if [line.sign for line in lines] != ["-", "+"] or length < _LONG_LINES:
        return []
    words = list(word_changes(lines[0].text, lines[1].text))
    if sum(len(before) + len(after) for before, after in words) > length / 2:
        return []
    return [style.both(text_of(before), text_of(after)) for before, after in words]


def describe_fields(fields: Iterable[FieldChange], style: Style) -> Iterator[str]:
    """The changes of fields in a text, one phrase for equal changes of several list items."""
    for field, times in folded(fields):
        yield from describe_field(field, style, times).lines(style)


def count_values(value: Json) -> int:
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


def outlined(key: KeyChange) -> list[str]:
    """The diff of a key. Long JSON of an added or removed key becomes one line with counts."""
    lines = diff_lines(key)
    if key.change == CHANGED:
        return lines
    texts = [line.text for hunk in key.hunks for line in hunk.lines]
    whole = _outline("\n".join(texts)) if len(texts) > _MOST_LINES else "\n"
    if "\n" not in whole:
        return [("+" if key.change == ADDED else "-") + visible(whole)]
    return [line[0] + _outline(line[1:]) for line in lines]


def _outline(line: str) -> str:
    """A long text, if it is JSON, with counts in place of the values inside its values."""
    if len(line) <= _LONGEST_LINE:
        return line
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if not isinstance(data, dict):
        return line
    parts = (f"{key}: {_short_text(value)}" for key, value in data.items())
    return f"{{{', '.join(parts)}}} ({len(line):,} characters of JSON)"


def _short_text(value: Json) -> str:
    text = text_of(value)
    return text if len(text) <= 40 else f"… ({counted(count_values(value), 'value')})"


def inner_values(value: Json, prefix: str, style: Style) -> Iterator[str]:
    """A phrase for each value inside a long value, which is as large as the limit allows."""
    pending: list[tuple[str, Json]] = [("", value)]
    while pending:
        path, inner = pending.pop()
        if path.endswith(SCHEMA):
            yield f"{prefix}{style.code(path)}: {counted(count_values(inner), 'value')}"
        elif inner and isinstance(inner, (dict, list)) and not _is_short(inner, style):
            pending += reversed(list(inner_paths(inner, path)))
        elif path:
            yield f"{prefix}{style.code(path)}: {style.code(text_of(inner))}"
        else:
            yield f"{prefix}{style.code(text_of(inner))}"


def text_of(value: Json) -> str:
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

    def both(self, old: str, new: str) -> str:
        """An old and a new name or value: `a -> b`."""
        return f"{self.code(old)} {self.arrow} {self.code(new)}"


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
_MAX_KINDS = 4
# A list of at least so many names with an equal start of at least so many characters has braces.
_MANY_NAMES, _LONG_START = 3, 5


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


def count_kinds(kinds: Counter[str]) -> list[str]:
    """The numbers of objects by kind, the most frequent first: `35 PrometheusRules`."""
    counts = [counted(count, kind) for kind, count in kinds.most_common()]
    rest = len(counts) - _MAX_KINDS
    return [*counts[:_MAX_KINDS], f"{and_more(rest)} kinds"] if rest > 1 else counts


def braced(names: Sequence[str]) -> str:
    """A list of names; if many begin alike, as in a shell: `web-{a, b, c}`."""
    start = names[0][: common_length(min(names), max(names))]
    start = start[: max(map(start.rfind, "-./:")) + 1]
    if len(names) < _MANY_NAMES or len(start) < _LONG_START:
        return ", ".join(names)
    return f"{start}{{{', '.join(name[len(start) :] for name in names)}}}"


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
