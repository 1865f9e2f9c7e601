"""The printing of names, values, diffs and counts in every format for readers.

Examples are `spec.replicas: 2 -> 3`, the diff of a key as diff(1) prints it, and `2 Rollouts`. A
Style is what differs between the formats.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence

from postrender.diff.model import ADDED, CHANGED, FieldChange, Hunk, KeyChange, Line, Preview
from postrender.diff.redact import NOT_SHOWN
from postrender.kubernetes.kinds import Identity
from postrender.records import NamedTuple
from postrender.text import common_length, visible
from postrender.yaml.paths import Json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


def size_of(text: str) -> int:
    """The number of UTF-16 code units in a text, which GitHub and Mermaid count."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


# The notice after an open line, which does not end in a line feed.
NO_NEWLINE = r"\ No newline at end of file"


def describe_key(key: KeyChange, style: Style) -> str:
    """The size of a change: `+2 -1`, `binary, 2,048 bytes, sha256 … -> text, +3`."""
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
    lines = []
    for hunk in shown_hunks(key):
        lines.append(hunk_header(hunk))
        for line in hunk.lines:
            lines.append(line.sign + visible(line.text, keep="\t"))
            if line.is_open:
                lines.append(NO_NEWLINE)
    return lines


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

# The number of equal characters that a truncated value shows before the first difference.
_CONTEXT = 20

# This pattern matches strings that look like a value of another type, and therefore need quotes.
_OTHER_TYPE = re.compile(
    r"(?:null|~|true|false|yes|no|on|off|[-+]?(?:[0-9_]*\.[0-9]+|[0-9_]*[0-9])(?:e[-+]?[0-9]+)?"
    r"|0x[0-9a-f]+|0o[0-7]+|[\[{\"'].*)?\Z",
    re.IGNORECASE,
)

_OTHER_TYPE_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off"})

_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, default=str).encode


def describe_field(field: FieldChange, style: Style) -> str:
    """The change of a field: `spec.replicas: 2 -> 3`, `order of spec.containers: …`."""
    path = field.path.removesuffix("[]")
    subject = style.code(path) if path == field.path else f"order of {style.code(path)}"
    return describe_values(subject, field.change, field.old, field.new, style)


def describe_values(subject: str, change: str, old: Json, new: Json, style: Style) -> str:
    """The change of a value: `image: app:1 -> app:2`. An absent value is None."""
    if old is None and new is None:
        words = WRITTEN_DIFFERENTLY if change == CHANGED else f"{change}: {style.code('null')}"
        return f"{subject} {words}"
    if old == new == NOT_SHOWN:
        return f"{subject}: changed {NOT_SHOWN}"
    if change == CHANGED:
        before, after = _truncated_pair(old, new, style)
        return f"{subject}: {before} {style.arrow} {after}"
    value = new if change == ADDED else old
    return f"{subject} {change}: {_truncated(_text_of(value), 0, style)}"


def _truncated_pair(old: Json, new: Json, style: Style) -> tuple[str, str]:
    """Two values as text. Truncated values can start shortly before the first difference."""
    before, after = _text_of(old), _text_of(new)
    start = 0
    if max(len(before), len(after)) > style.limit:
        common = common_length(before, after)
        start = common - _CONTEXT if common > style.limit // 2 else 0
    return _truncated(before, start, style), _truncated(after, start, style)


def _truncated(text: str, start: int, style: Style) -> str:
    """A text, truncated to the limit of the style; the length of the whole text follows.

    start: the index of the first character in the result.
    """
    if not start and len(text) <= style.limit:
        return style.code(text)
    end = start + style.limit
    shown = ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
    return f"{style.code(shown)} ({counted(len(text), 'character')})"


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
    name: a function that returns the name of an object. The module `phrases` passes this name to
    `code`.
    limit: the maximum number of characters of a value. The module `value_text` truncates longer
    values.
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
    """The number of columns, and whether the output shows colours."""

    width: int = 80
    is_coloured: bool = False


def terminal_of(output: TextIO | None, *, is_coloured: bool) -> Terminal:
    """The terminal of an output; 80 columns if it is None or not a terminal."""
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
    """A count with a regular noun: `1 key`, `1,200 keys`."""
    return f"{count:,} {noun}" + ("s" if count != 1 else "")


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
