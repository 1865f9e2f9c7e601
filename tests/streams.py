"""Random streams of manifests, as text in every style that YAML allows.

Hypothesis draws the objects, and an emitter writes them in a style. The style of a stream comes
from a drawn set of features and a drawn seed. Therefore a failing example shrinks to the fewest
features. The empty set of features writes the plainest YAML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.reference import InputError, Obj, content_hash, name_of, resolve_plain

# ----------------------------------------------------------------------------------------- features

FEATURES = (
    "anchor names again",
    "anchors",
    "bom",
    "comments",
    "crlf",
    "document ends",
    "empty documents",
    "escapes",
    "explicit keys",
    "flow",
    "json",
    "lists",
    "literals",
    "markers",
    "merge keys",
    "multiline",
    "newline values",
    "no final newline",
    "odd scalars",
    "quotes",
    "resource list",
    "shifted",
    "sources",
    "tabs",
    "tags",
)
# Features that PyYAML or libyaml read differently from the API server, or not at all.
ODD_FEATURES = frozenset({"anchor names again", "odd scalars", "tabs"})

COMMENTS = (
    "# a comment",
    "#",
    "# name: app-config",
    "# - configMapRef: {name: app",
    "# it's \"quoted",
    "# --- no marker",
    "# *alias &anchor !tag",
    "#!shebang: |",
    "# äöü 🙂",
)


@dataclass
class Styler:
    """A random choice of styles, limited to some features."""

    random: Random
    features: frozenset[str]

    def chance(self, feature: str, percent: int) -> bool:
        """Return True in `percent` of the cases, and never without the feature."""
        return feature in self.features and self.random.randrange(100) < percent

    def pick(self, feature: str, plain: str, *others: str) -> str:
        """Return the plain form, or with the feature any of the forms."""
        return self.random.choice((plain, *others)) if feature in self.features else plain


# ---------------------------------------------------------------------------------- writing scalars

AMBIGUOUS = re.compile(r"(?i:y|n|yes|no|on|off|true|false|null|~)")
INNER = r"[^\W\d_]|[0-9A-Za-z_./+=~$()<>@%*&!'|\\-]"
PLAIN_BLOCK = re.compile(rf"(?:[A-Za-z_/$(])(?:{INNER}|\"|[,\[\]{{}}]|:(?=\S)| (?=[A-Za-z0-9(]))*")
PLAIN_FLOW = re.compile(rf"(?:[A-Za-z_/$(])(?:{INNER}| (?=[A-Za-z0-9(]))*")
ODD_BLOCK = re.compile(rf"=|[0-9](?:{INNER}|:(?=\S))*")
ODD_FLOW = re.compile(rf"=|[0-9](?:{INNER})*")


def is_special(character: str) -> bool:
    """Return whether a character needs an escape: controls, line separators, byte order mark."""
    code = ord(character)
    is_control = code < 0x20 and character not in "\t\n"
    return is_control or 0x7F <= code < 0xA0 or code in (0x2028, 0x2029, 0xFEFF)


def plain_ok(text: str, flow: bool, odd: bool) -> bool:
    """Return whether a string can be written without quotes."""
    try:
        if resolve_plain(text) != text or AMBIGUOUS.fullmatch(text):
            return False
    except InputError:
        return False
    if (PLAIN_FLOW if flow else PLAIN_BLOCK).fullmatch(text):
        return True
    return odd and bool((ODD_FLOW if flow else ODD_BLOCK).fullmatch(text))


def single_ok(text: str) -> bool:
    return not any(is_special(c) for c in text) and "\n" not in text


def literal_ok(text: str, tabs: bool) -> bool:
    """Return whether a literal block scalar preserves a string."""
    lines = text.split("\n")
    if any(is_special(c) for c in text) or not text.strip():
        return False
    if any(line and not line.strip() for line in lines):
        return False
    return tabs or not any(line.startswith("\t") for line in lines)


def folded_ok(text: str) -> bool:
    """Return whether a folded block scalar preserves a string; empty lines are excluded."""
    return literal_ok(text, False) and all(text.rstrip("\n").split("\n"))


def double_quoted(text: str, style: Styler) -> str:
    return '"' + "".join(escaped(character, style) for character in text) + '"'


SHORT_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\x85": "\\N", "\u2028": "\\L"}


def escaped(character: str, style: Styler) -> str:
    code = ord(character)
    if character in SHORT_ESCAPES:
        return SHORT_ESCAPES[character]
    if not is_special(character) and not style.chance("escapes", 6):
        return character
    if code < 0x100:
        return style.pick("escapes", f"\\x{code:02x}", f"\\u{code:04x}", f"\\U{code:08x}")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def with_line_break(text: str, indent: str, style: Styler) -> str:
    """Return a plain or quoted scalar, maybe with a line break for a space between two letters."""
    if not style.chance("multiline", 30):
        return text
    offsets = [match.start() for match in re.finditer(r"(?<=[A-Za-z]) (?=[A-Za-z])", text)]
    if not offsets:
        return text
    offset = style.random.choice(offsets)
    return text[:offset] + "\n" + indent + text[offset + 1 :]


def number_text(value: int | float, style: Styler) -> str:
    """Return a number in one of its spellings."""
    if "odd scalars" not in style.features or isinstance(value, float) or value < 0:
        return repr(value)
    forms = [str(value), hex(value), f"0o{value:o}", f"{value:_}", f"+{value}"]
    forms.append(f"0{value:o}" if value else "0")
    if value and value % 1000 == 0:
        forms += [f"{value // 1000}e3", f"{value // 1000}.0E+3", f"{value}.0"]
    return style.random.choice(forms)


def other_text(value: Any, style: Styler) -> str:
    """Return the text of a scalar that is not a string."""
    if value is None:
        return style.pick("quotes", "null", "~", "Null")
    if value is True:
        return style.pick("odd scalars", "true", "True", "yes", "on", "y", "TRUE")
    if value is False:
        return style.pick("odd scalars", "false", "False", "no", "off", "n", "NO")
    return number_text(value, style)


def inline_text(text: str, flow: bool, indent: str | None, style: Styler) -> str:
    """Return a string as a plain or quoted scalar.

    indent: the indent of further lines, None if the scalar must have one line.
    """
    forms = []
    if plain_ok(text, flow, "odd scalars" in style.features):
        forms += ["plain", "plain"]
    if single_ok(text):
        forms.append("single")
    form = forms[0] if forms and not style.chance("quotes", 50) else ""
    form = form or style.random.choice([*forms, "double", "double"])
    if form == "plain":
        result = text
    elif form == "single":
        result = "'" + text.replace("'", "''") + "'"
    else:
        result = double_quoted(text, style)
    if indent is not None:
        result = with_line_break(result, indent, style)
    if indent is not None and form == "double":
        result = with_escaped_line_break(result, indent, style)
    return result


def with_escaped_line_break(text: str, indent: str, style: Styler) -> str:
    """Return a double-quoted scalar, maybe with an escaped line break between two letters."""
    offsets = [match.start() for match in re.finditer(r"(?<=[g-w][g-w])(?=[g-w][g-w])", text)]
    if not offsets or not style.chance("multiline", 20):
        return text
    offset = style.random.choice(offsets)
    # The break must not be inside an escape such as \x61.
    if "\\" in text[max(0, offset - 10) : offset]:
        return text
    return text[:offset] + "\\\n" + indent + text[offset:]


def block_scalar(text: str, column: int, style: Styler) -> tuple[str, list[str]]:
    """Return the header and the lines of a literal or folded scalar."""
    step = style.random.randint(1, 4)
    core = text.rstrip("\n")
    ending = len(text) - len(core)
    lines = core.split("\n")
    is_folded = folded_ok(text) and style.random.random() < 0.5
    if is_folded:
        lines = folded_lines(lines, style)
    first = next(line for line in lines if line)
    indicator = str(step) if first[0] in " \t" or style.random.random() < 0.1 else ""
    chomp = "-" if ending == 0 else "" if ending == 1 else "+"
    indent = " " * (column + step)
    body = [indent + line if line else "" for line in lines] + [""] * max(0, ending - 1)
    header = (">" if is_folded else "|") + style.random.choice(
        (indicator + chomp, chomp + indicator)
    )
    return header, body


def folded_lines(lines: list[str], style: Styler) -> list[str]:
    """Return lines that fold to the given lines.

    A folded scalar needs two line breaks for one line break, except next to an indented line.
    """
    result: list[str] = []
    for number, line in enumerate(lines):
        if number and not line.startswith(" ") and not lines[number - 1].startswith(" "):
            result.append("")
        if line.startswith(" "):
            result.append(line)
        else:
            result += with_line_break(line, "", style).split("\n")
    return result


# -------------------------------------------------------------------------------- writing an object

# Equal values of these keys may share an anchor, because postrender edits them alike.
SHARED = {
    "labels": "labels",
    "matchLabels": "labels",
    "env": "env",
    "envFrom": "envFrom",
    "image": "text",
    "mountPath": "text",
    "value": "text",
}


@dataclass
class Emitter:
    """A writer of one object, whose anchors are not used in other objects."""

    style: Styler
    anchors: list[tuple[str, str, Any]] = field(default_factory=list)
    count: int = 0
    # True if the last line belongs to a block scalar that keeps its trailing empty lines.
    keeping: bool = False

    # Anchors, aliases, tags

    def alias(self, group: str, value: Any) -> str:
        """Return an alias for an equal node of the same group, or ""."""
        names = [name for name, *node in self.anchors if node == [group, value]]
        return f"*{names[0]}" if group and names and self.style.chance("anchors", 70) else ""

    def properties(self, group: str, value: Any) -> str:
        """Return the properties of a node: ` &anchor` and ` !!tag`, both or one or none."""
        result = ""
        is_shared = bool(group) and value not in ({}, [], None)
        if self.style.chance("anchors", 60 if is_shared else 3):
            self.count += 1
            result += f" &{self.style.random.choice(('a', 'x-', 'A_'))}{self.count}"
        if isinstance(value, str) and self.style.chance("tags", 10):
            result += " !!str"
        return result

    def remember(self, properties: str, group: str, value: Any) -> None:
        """Record an anchor, so that aliases after its node can use the anchor."""
        for word in properties.split():
            if word.startswith("&"):
                self.anchors.append((word[1:], group, value))

    # Comments

    def trailing(self) -> str:
        """Return a comment after a node, or ""."""
        if not self.style.chance("comments", 8):
            return ""
        return "  " + self.style.random.choice(COMMENTS)

    def between(self, column: int) -> list[str]:
        """Return comments and empty lines between two entries, with at most their indent."""
        lines = []
        if self.style.chance("comments", 8):
            indent = self.style.random.choice((0, column, column // 2))
            lines.append(" " * indent + self.style.random.choice(COMMENTS))
            self.keeping = False
        if not self.keeping and self.style.chance("comments", 4):
            lines.append("")
        return lines

    # Block style

    def mapping(self, value: Obj, column: int, parent: str) -> list[str]:
        """Return the lines of a mapping in block style."""
        lines = []
        rest = dict(value)
        merged = self.merge_key(value, parent)
        if merged:
            name, labels = merged
            lines.append(" " * column + f"<<: *{name}")
            rest = {key: child for key, child in value.items() if key not in labels}
        for key, child in rest.items():
            lines += self.between(column)
            lines += self.pair(key, child, column, parent)
        return lines

    def merge_key(self, value: Obj, parent: str) -> tuple[str, Obj] | None:
        """Return an anchored mapping that is a part of a mapping of labels."""
        if SHARED.get(parent) != "labels" or not self.style.chance("merge keys", 60):
            return None
        for name, group, labels in self.anchors:
            if group == "labels" and labels and labels.items() <= value.items():
                return name, labels
        return None

    def pair(self, key: str, value: Any, column: int, parent: str) -> list[str]:
        """Return the lines of a key and its value."""
        indent = " " * column
        group = SHARED.get(key, "text" if parent in ("data", "binaryData") else "")
        name = inline_text(key, False, None, self.style)
        if self.style.chance("explicit keys", 4):
            return [f"{indent}? {name}", *self.entry(f"{indent}:", value, column, key, group)]
        space = " " if self.style.chance("quotes", 3) else ""
        return self.entry(f"{indent}{name}{space}:", value, column, key, group)

    def sequence(self, value: list[Any], column: int, _: str) -> list[str]:
        """Return the lines of a list in block style."""
        lines = []
        for child in value:
            lines += self.between(column)
            lines += self.entry(" " * column + "-", child, column, "", "")
        return lines

    def entry(self, prefix: str, value: Any, column: int, key: str, group: str) -> list[str]:
        """Return the lines of a prefix (a key or a dash), and of the value after the prefix."""
        alias = self.alias(group, value)
        if alias:
            return self.last(f"{prefix} {alias}{self.trailing()}")
        properties = self.properties(group, value)
        lines = self.node(prefix + properties, value, column, key)
        self.remember(properties, group, value)
        return lines

    def node(self, prefix: str, value: Any, column: int, key: str) -> list[str]:
        """Return the lines of a value that is not an alias."""
        if isinstance(value, dict | list) and (not value or self.style.chance("flow", 12)):
            text = self.flow(value, " " * (column + 2), key)
            return self.last(f"{prefix} {text}{self.trailing()}")
        if isinstance(value, dict | list):
            return self.block(prefix, value, column, key)
        return self.scalar(prefix, value, column)

    def last(self, text: str) -> list[str]:
        """Return the lines of a text that does not end in a block scalar."""
        self.keeping = False
        return text.split("\n")

    def block(self, prefix: str, value: Any, column: int, key: str) -> list[str]:
        """Return the lines of a collection below its key or dash."""
        step = self.style.random.randint(1, 4) if "shifted" in self.style.features else 2
        # A list may start in the column of its key.
        if isinstance(value, list) and key and not prefix.lstrip().startswith(":"):
            step = self.style.random.choice((0, step))
        write = self.mapping if isinstance(value, dict) else self.sequence
        self.keeping = False
        # A collection may start on the line of a bare dash.
        if prefix == " " * column + "-" and self.style.random.random() < 0.8:
            width = step or 2
            lines = write(value, column + width, key)
            first = lines[0].lstrip(" ")
            if first and not first.startswith(("#", "<<")):
                return (
                    [prefix + " " * (width - 1) + first, *lines[1:]]
                    if width > 1
                    else [
                        prefix,
                        *lines,
                    ]
                )
            return [prefix, *lines]
        return [prefix + self.trailing(), *write(value, column + step, key)]

    def scalar(self, prefix: str, value: Any, column: int) -> list[str]:
        """Return the lines of a scalar in any style."""
        tabs = "tabs" in self.style.features
        if isinstance(value, str) and literal_ok(value, tabs) and self.wants_block(value):
            header, lines = block_scalar(value, column, self.style)
            self.keeping = "+" in header
            return [f"{prefix} {header}{self.trailing()}", *lines]
        if value is None and self.style.chance("quotes", 50):
            return self.last(prefix + self.trailing())
        indent = " " * (column + self.style.random.randint(1, 3))
        if isinstance(value, str):
            text = inline_text(value, False, indent, self.style)
        else:
            text = other_text(value, self.style)
        if self.style.chance("newline values", 6):
            between = [indent + "# below"] if self.style.chance("comments", 30) else []
            return [prefix + self.trailing(), *between, *self.last(indent + text + self.trailing())]
        return self.last(f"{prefix} {text}{self.trailing()}")

    def wants_block(self, value: str) -> bool:
        """Return whether to write a literal or folded scalar."""
        return self.style.chance("literals", 80 if "\n" in value else 5)

    # Flow style

    def flow(self, value: Any, indent: str, key: str, group: str = "") -> str:
        """Return the text of a node in flow style. All lines after the first have the indent."""
        alias = self.alias(group, value)
        if alias:
            return alias + " "
        properties = self.properties(group, value) if group else ""
        text = (properties + " ").lstrip() + self.flow_node(value, indent, key)
        self.remember(properties, group, value)
        return text

    def flow_node(self, value: Any, indent: str, key: str) -> str:
        """Return the text of a node in flow style, without its anchor."""
        if isinstance(value, dict):
            parts = [self.flow_pair(name, child, indent, key) for name, child in value.items()]
            return self.joined("{", parts, "}", indent)
        if isinstance(value, list):
            parts = [self.flow(child, indent + " ", "") for child in value]
            return self.joined("[", parts, "]", indent)
        if isinstance(value, str):
            return inline_text(value, True, indent, self.style)
        return other_text(value, self.style)

    def flow_pair(self, name: str, value: Any, indent: str, parent: str) -> str:
        """Return the text of a key and its value in flow style."""
        group = SHARED.get(name, "text" if parent in ("data", "binaryData") else "")
        text = self.flow(value, indent + " ", name, group)
        return f"{inline_text(name, True, None, self.style)}: {text}"

    def joined(self, opening: str, parts: list[str], closing: str, indent: str) -> str:
        """Return the text of a flow collection, on one line or on several lines."""
        if not parts:
            return opening + self.style.pick("flow", "", " ") + closing
        comma = "," if self.style.chance("flow", 10) else ""
        if not self.style.chance("multiline", 40):
            space = self.style.pick("flow", "", " ")
            return opening + space + ", ".join(parts) + comma + space + closing
        lines = [opening + self.trailing()]
        for number, part in enumerate(parts):
            end = "," if number < len(parts) - 1 else comma
            lines.append(f"{indent}{part}{end}{self.trailing()}")
        return "\n".join([*lines, indent + closing])


def json_document(value: Any, style: Styler) -> str:
    """Return JSON that is also YAML, with escaped line separators."""
    indent = style.random.choice((None, 1, 2, 4))
    compact = (",", ":") if indent is None and style.random.random() < 0.5 else None
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=compact)
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff]", lambda match: f"\\u{ord(match[0]):04x}", text)


def emit(value: Obj, style: Styler) -> str:
    """Return a document without its marker, ending in a line break."""
    if style.chance("json", 15):
        return json_document(value, style) + "\n"
    emitter = Emitter(style)
    if style.chance("flow", 10):
        # The objects of a List must not share an anchor, because their edits may differ.
        if is_list(value):
            emitter.style = Styler(style.random, style.features - {"anchors"})
        return emitter.flow(value, "  ", "") + "\n"
    column = style.random.randint(0, 3) if style.chance("shifted", 20) else 0
    write = emit_list(value, column, emitter) if is_list(value) else None
    lines = write or emitter.mapping(value, column, "")
    return "\n".join(lines) + "\n"


def is_list(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("items"), list)


def emit_list(value: Obj, column: int, emitter: Emitter) -> list[str]:
    """Return the lines of a List in block style. Items do not share anchors."""
    head = {key: child for key, child in value.items() if key != "items"}
    lines = emitter.mapping(head, column, "")
    lines.append(" " * column + "items:" + (" []" if not value["items"] else ""))
    for item in value["items"]:
        inner = column + emitter.style.random.choice((2, 3))
        write = emit_list(item, inner, emitter) if is_list(item) else None
        # With the feature, items reuse the names of anchors, which PyYAML rejects.
        count = 0 if "anchor names again" in emitter.style.features else emitter.count
        item_emitter = Emitter(emitter.style, count=count)
        lines += [" " * column + "-", *(write or item_emitter.mapping(item, inner, ""))]
        emitter.count = max(emitter.count, item_emitter.count)
        emitter.keeping = False
    return lines


# --------------------------------------------------------------------------------- writing a stream


@dataclass(frozen=True)
class Stream:
    """A stream as text, with its objects, flattened and in order."""

    text: str
    objects: list[Obj]
    features: frozenset[str]


def grouped(objects: list[Obj], style: Styler) -> list[Obj]:
    """Return the documents of a stream: a ResourceList, or single objects and Lists."""
    if style.chance("resource list", 50):
        version = "config.kubernetes.io/v1"
        return [{"apiVersion": version, "kind": "ResourceList", "items": objects}]
    documents: list[Obj] = []
    rest = list(objects)
    while rest:
        size = style.random.randint(1, 3) if style.chance("lists", 30) else 0
        if not size:
            documents.append(rest.pop(0))
            continue
        part, rest = rest[:size], rest[size:]
        items = [list_of(part[:1]), *part[1:]] if style.chance("lists", 30) else part
        documents.append(list_of(items))
    return documents


def list_of(objects: list[Obj]) -> Obj:
    return {"apiVersion": "v1", "kind": "List", "items": objects}


EMPTY = ("", "# nothing here\n", "\n", "# Source: demo/templates/empty.yaml\n", "\n# a\n\n")


def stream_text(documents: list[Obj], style: Styler) -> str:
    parts: list[str] = []
    body = ""
    for number, document in enumerate(documents):
        while style.chance("empty documents", 15):
            parts.append(marker(style) + style.random.choice(EMPTY))
        body = emit(document, style)
        same_line = body.startswith("{") and style.chance("markers", 30)
        bare = number == 0 and not parts and style.chance("markers", 50)
        head = "" if bare else "--- " if same_line else marker(style)
        if style.chance("sources", 60) and not same_line:
            head += f"# Source: demo/templates/{number}.yaml\n"
        parts.append(head + body + ending(style))
    text = maybe_without_final_newline("".join(parts), body.startswith("{"), style)
    text = text.replace("\n", "\r\n") if style.chance("crlf", 100) else text
    return "\ufeff" + text if style.chance("bom", 100) else text


def marker(style: Styler) -> str:
    return style.pick("markers", "---", "--- ", "--- # a comment", "--- # ---", "---  ") + "\n"


def ending(style: Styler) -> str:
    if not style.chance("document ends", 30):
        return ""
    return style.random.choice(("...\n", "... # end\n", "...\n# after the end\n"))


def maybe_without_final_newline(text: str, is_flow: bool, style: Styler) -> str:
    """Return a stream, perhaps without its final line break.

    After block style, the stream ends in a comment, because a block scalar would change.
    """
    if not style.chance("no final newline", 100):
        return text
    return text[:-1] if is_flow else text + "# the end"


# ------------------------------------------------------------------------------ drawing the objects

CONFIG_NAMES = ("app", "app-config", "app-config.v2", "123", "1e3", "web", "settings", "null")
SECRET_NAMES = ("app", "token", "tls")
WORKLOAD_NAMES = ("app", "web", "worker", "app-config", "42")
LAYOUTS = ("absent", "one", "two")
KINDS = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "ReplicationController": "v1",
    "Rollout": "argoproj.io/v1alpha1",
    "Experiment": "argoproj.io/v1alpha1",
    "AnalysisTemplate": "argoproj.io/v1alpha1",
    "CronJob": "batch/v1",
    "Job": "batch/v1",
    "Pod": "v1",
    "PodTemplate": "v1",
}
OTHER_KINDS = ("Service", "Role", "Widget", "Secret", "ClusterRole", "CustomResourceDefinition")

VALUES = (
    "",
    "true",
    "8080",
    "1e3",
    "=",
    "null",
    "x",
    "hello there world",
    "2001-01-01",
    " leading and trailing ",
    "key=value\nother=app-config\n",
    "server:\n  port: 8080\n  name: app\n",
    "a folded line of words\n  more indented\nback again\n",
    "two\n\n\nparts",
    "trailing lines\n\n\n",
    "\nleading line\n",
    "<a href='x'>&amp;</a>\n",
    "back\\slash \"quoted\" 'single' # no comment",
    "- list\n- like: {a: [1, 2]}\n",
    "tab\tinside\n\tand first\n",
    "äöü 🙂 \u2028\u2029\x85",
    "# only a comment\n",
    "a: b: c",
    "--- \n---\n...\n",
    "*star &amp !bang %per @at `tick",
    "\x01\x7f\ufeff",
    "line with spaces   \nnext\n",
    "  \n",
)
LETTERS = st.text(alphabet="ab:#-'\"\\ \n\t<&é🙂{}[],|>*!%@`=~?0", max_size=12)
TEXTS = st.one_of(st.sampled_from(VALUES), st.sampled_from(VALUES), LETTERS)
DATA_KEYS = ("a", "app.properties", "on", "1", "config.yaml", "KEY", "nested.name")

# The annotations by which other programs write to an object, or copy an object.
SYNC_ANNOTATIONS: tuple[Obj, ...] = (
    {"service.beta.openshift.io/inject-cabundle": "true"},
    {"service.beta.openshift.io/inject-cabundle": "false"},
    {"replicator.v1.mittwald.de/replicate-from": "other/source"},
    {"secret-generator.v1.mittwald.de/autogenerate": "password"},
    {"kubed.appscode.com/sync": "", "kubed.appscode.com/sync-contexts": "other"},
    {"replicator.v1.mittwald.de/replicate-to": "other-.*"},
    {"replicator.v1.mittwald.de/replication-allowed": "false"},
    {
        "reflector.v1.k8s.emberstack.com/reflection-allowed": "true",
        "reflector.v1.k8s.emberstack.com/reflection-allowed-namespaces": "other",
        "note": "app-config is here",
    },
)


@dataclass
class Plan:
    """The names and namespaces from which the objects of a stream are drawn."""

    namespaces: list[str | None]
    configs: list[str]
    waves: bool
    hooks: bool
    used: set[tuple[str, str, str | None]] = field(default_factory=set)


Draw = Callable[[st.SearchStrategy[Any]], Any]


def one_of(draw: Draw, *values: Any) -> Any:
    return draw(st.sampled_from(values))


def metadata(
    draw: Draw,
    plan: Plan,
    kind: str,
    names: tuple[str, ...],
    namespaces: tuple[str | None, ...] = (),
) -> Obj | None:
    """Return metadata with an unused identity, or None if every name is taken."""
    choices = namespaces or plan.namespaces
    namespace = None if kind.startswith("Cluster") else one_of(draw, *choices)
    free = [name for name in names if (kind, name, namespace) not in plan.used]
    if not free:
        return None
    name = one_of(draw, *free)
    plan.used.add((kind, name, namespace))
    result: Obj = {"name": name}
    if namespace is not None:
        result["namespace"] = namespace
    labels = one_of(draw, "absent", "absent", {"app": "web"}, {"app": "web", "tier": "a"}, {}, None)
    annotations = one_of(draw, "absent", "absent", {"note": "app-config is here"}, {}, None)
    if kind in ("ConfigMap", "Secret") and one_of(draw, *[False] * 5, True):
        annotations = one_of(draw, *SYNC_ANNOTATIONS)
    if labels != "absent":
        result["labels"] = labels
    if annotations != "absent":
        result["annotations"] = dict(annotations) if annotations else annotations
    return result


def annotate(meta: Obj, key: str, value: str) -> None:
    if not isinstance(meta.get("annotations"), dict):
        meta["annotations"] = {}
    meta["annotations"][key] = value


@st.composite
def config_data(draw: Draw) -> Obj:
    """Return the content of a ConfigMap."""
    result: Obj = {}
    form = one_of(draw, "data", "data", "data", "data", "binary", "both", "empty", "none", "null")
    if form in ("data", "both"):
        keys = draw(st.lists(st.sampled_from(DATA_KEYS), min_size=1, max_size=3, unique=True))
        result["data"] = {key: draw(TEXTS) for key in keys}
        if one_of(draw, *[False] * 9, True):
            result["data"][keys[0]] = None
    if form in ("binary", "both"):
        result["binaryData"] = {"logo.png": one_of(draw, "iVBORw0KGgo=", "AAEC", "")}
    if form == "empty":
        result["data"] = {}
    if form == "null":
        result["data"] = None
    return result


def config_map(draw: Draw, plan: Plan, name: str, namespace: str | None) -> Obj | None:
    meta = metadata(draw, plan, "ConfigMap", (name,), (namespace,))
    if meta is None:
        return None
    obj: Obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **draw(config_data())}
    strategy = one_of(draw, *[None] * 6, "checksum", "ignore", "rename")
    immutable = one_of(draw, *[None] * 6, True, False)
    if strategy is not None:
        annotate(meta, "postrender/strategy", strategy)
    # Checksums of postrender and of tests/reference.py can differ if `immutable` is set.
    if immutable is not None and strategy != "checksum":
        obj["immutable"] = immutable
    extra = one_of(draw, *[None] * 8, "keep", "hook", "options", "kustomize", "generate")
    if extra is not None:
        vary_config(plan, obj, meta, extra)
    return obj


def vary_config(plan: Plan, obj: Obj, meta: Obj, extra: str) -> None:
    if extra == "keep":
        annotate(meta, "postrender/keep-original", "true")
    elif extra == "hook":
        annotate(meta, "helm.sh/hook", "post-install")
    elif extra == "options":
        annotate(meta, "argocd.argoproj.io/sync-options", "Replace=false")
        annotate(meta, "argocd.argoproj.io/compare-options", "IgnoreExtraneous")
    elif extra == "kustomize":
        meta["name"] = f"{name_of(obj)}-{content_hash(obj)}"
        plan.configs.append(meta["name"])
        plan.used.add(("ConfigMap", meta["name"], meta.get("namespace")))
    elif extra == "generate":
        meta["generateName"] = f"{meta.pop('name')}-"


def config_name(draw: Draw, plan: Plan) -> str:
    """Return a name for a reference, mostly of a ConfigMap in the stream."""
    return str(one_of(draw, *plan.configs, *plan.configs, "absent-config", "web"))


def env_list(draw: Draw, plan: Plan) -> list[Obj]:
    def env() -> Obj:
        kind = one_of(draw, "config", "config", "value", "secret", "field")
        if kind == "config":
            ref: Obj = {"name": config_name(draw, plan), "key": one_of(draw, "a", "on")}
            if one_of(draw, False, False, True):
                ref["optional"] = True
            return {"name": "A", "valueFrom": {"configMapKeyRef": ref}}
        if kind == "value":
            return {"name": "B", "value": one_of(draw, "app-config", "1e3", "--config=app", "")}
        if kind == "secret":
            ref = {"name": one_of(draw, *SECRET_NAMES), "key": "k"}
            return {"name": "C", "valueFrom": {"secretKeyRef": ref}}
        return {"name": "D", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}

    return [env() for _ in range(one_of(draw, 1, 1, 2))]


def env_from(draw: Draw, plan: Plan) -> list[Obj]:
    first: Obj = {"configMapRef": {"name": config_name(draw, plan)}}
    form = one_of(draw, "config", "prefix", "two", "secret", "null")
    if form == "prefix":
        return [{"prefix": "P_", **first}]
    if form == "two":
        return [first, {"configMapRef": {"name": config_name(draw, plan), "optional": False}}]
    if form == "secret":
        return [{"secretRef": {"name": one_of(draw, *SECRET_NAMES)}}, first]
    return [first]


def container(draw: Draw, plan: Plan, name: str) -> Obj:
    result: Obj = {"name": name, "image": "registry.example/app:1.2.3"}
    form = one_of(draw, "env", "from", "both", "from", "none", "args")
    if form in ("env", "both"):
        result["env"] = env_list(draw, plan)
    if form in ("from", "both"):
        result["envFrom"] = env_from(draw, plan)
    if form == "none":
        result["env"] = one_of(draw, None, [])
    if form == "args":
        result["args"] = ["--config", "app-config", "-v=2"]
    return result


def volume(draw: Draw, plan: Plan, number: int) -> Obj:
    result: Obj = {"name": f"v{number}"}
    form = one_of(draw, "config", "config", "projected", "secret", "empty")
    if form == "config":
        result["configMap"] = {"name": config_name(draw, plan)}
        if one_of(draw, False, True):
            result["configMap"]["items"] = [{"key": "a", "path": "app-config"}]
            result["configMap"]["defaultMode"] = 420
    elif form == "projected":
        sources = [{"configMap": {"name": config_name(draw, plan)}}, {"downwardAPI": {"items": []}}]
        sources.append({"secret": {"name": one_of(draw, *SECRET_NAMES)}})
        result["projected"] = {"sources": sources}
    elif form == "secret":
        result["secret"] = {"secretName": one_of(draw, *SECRET_NAMES)}
    else:
        result["emptyDir"] = {}
    return result


def pod_spec(draw: Draw, plan: Plan) -> Obj:
    spec: Obj = {}
    volumes = one_of(draw, 0, 1, 1, 2)
    if volumes:
        spec["volumes"] = [volume(draw, plan, number) for number in range(volumes)]
    spec["containers"] = [container(draw, plan, "main")]
    extra = one_of(draw, "", "", "init", "ephemeral", "twin", "sidecar", "settings")
    if extra == "init":
        spec["initContainers"] = [container(draw, plan, "init")]
    elif extra == "ephemeral":
        spec["ephemeralContainers"] = [container(draw, plan, "debug")]
    elif extra == "twin":
        # Equal lists, which may share an anchor.
        spec["containers"].append({**spec["containers"][0], "name": "twin"})
    elif extra == "sidecar":
        spec["containers"].append(container(draw, plan, "sidecar"))
    elif extra == "settings":
        spec.update(hostNetwork=False, terminationGracePeriodSeconds=2000)
        spec["securityContext"] = {"runAsUser": 493, "runAsNonRoot": True}
    return spec


def pod_template(draw: Draw, plan: Plan) -> Obj:
    form = one_of(
        draw, "labels", "labels", "absent", "null", "empty", "null notes", "no notes", "notes"
    )
    labels = {"app": "web", "tier": one_of(draw, "a", "b")}
    forms: dict[str, Any] = {
        "labels": {"labels": labels},
        "null": None,
        "empty": {},
        "null notes": {"labels": labels, "annotations": None},
        "no notes": {"annotations": {}, "labels": labels},
        "notes": {"labels": labels, "annotations": {"note": one_of(draw, "yes", "app")}},
    }
    result: Obj = {} if form == "absent" else {"metadata": forms[form]}
    result["spec"] = pod_spec(draw, plan)
    return result


def workload_spec(draw: Draw, plan: Plan, kind: str) -> Obj:
    """Return the parts of a workload other than apiVersion, kind and metadata."""
    if kind == "Pod":
        return {"spec": pod_spec(draw, plan)}
    template = pod_template(draw, plan)
    if kind == "PodTemplate":
        return {"template": template}
    if kind == "CronJob":
        inner = {"spec": {"template": template}}
        return {"spec": {"schedule": "*/5 * * * *", "jobTemplate": inner}}
    if kind == "Job":
        return {"spec": {"backoffLimit": 0, "template": template}}
    if kind == "Experiment":
        parts: list[Obj] = [{"name": "baseline", "template": template}]
        if one_of(draw, False, True):
            parts.append({"name": "canary", "template": pod_template(draw, plan)})
        return {"spec": {"templates": parts}}
    if kind == "AnalysisTemplate":
        web: Obj = {"name": "web", "provider": {"web": {"url": "http://app-config/x"}}}
        job: Obj = {"name": "job", "provider": {"job": {"spec": {"template": template}}}}
        return {"spec": {"metrics": one_of(draw, [web, job], [job], [job, web])}}
    selector: Obj = {"matchLabels": {"app": "web"}}
    return {"spec": {"replicas": 3, "selector": selector, "template": template}}


def workload(draw: Draw, plan: Plan) -> list[Obj]:
    kind = str(one_of(draw, *KINDS, "Deployment", "Rollout", "Rollout"))
    meta = metadata(draw, plan, kind, WORKLOAD_NAMES)
    if meta is None:
        return []
    obj = {"apiVersion": KINDS[kind], "kind": kind, "metadata": meta}
    obj.update(workload_spec(draw, plan, kind))
    if plan.waves and one_of(draw, False, True):
        annotate(meta, "argocd.argoproj.io/sync-wave", one_of(draw, "1", "-1", "0"))
    if plan.hooks and kind in ("Job", "Pod", "Deployment") and one_of(draw, False, True):
        key, value = one_of(
            draw,
            ("helm.sh/hook", "pre-install,pre-upgrade"),
            ("helm.sh/hook", "test"),
            ("argocd.argoproj.io/hook", "PreSync"),
            ("argocd.argoproj.io/hook", "PostSync"),
        )
        annotate(meta, key, value)
        meta["annotations"].pop("argocd.argoproj.io/sync-wave", None)
    if one_of(draw, *[False] * 7, True):
        annotate(meta, "postrender/rewrite-references", one_of(draw, "false", "false", "true"))
    if kind == "Job" and one_of(draw, False, False, False, True):
        meta["generateName"] = f"{meta.pop('name')}-"
    with_ref = kind == "Deployment" and one_of(draw, False, False, True)
    return [obj, *rollouts_for_deployment(plan, meta)] if with_ref else [obj]


def rollouts_for_deployment(plan: Plan, meta: Obj) -> list[Obj]:
    """Return a Rollout that runs a Deployment's template."""
    namespace = meta.get("namespace")
    identity = ("Rollout", meta["name"], namespace)
    if identity in plan.used:
        return []
    plan.used.add(identity)
    rollout_meta = {"name": meta["name"]} | ({"namespace": namespace} if namespace else {})
    ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": meta["name"]}
    version = KINDS["Rollout"]
    spec = {"replicas": 2, "workloadRef": ref}
    return [{"apiVersion": version, "kind": "Rollout", "metadata": rollout_meta, "spec": spec}]


def rbac_rules(draw: Draw, plan: Plan) -> list[Obj]:
    names = draw(st.lists(st.sampled_from(plan.configs), min_size=1, max_size=2, unique=True))
    resources = one_of(draw, ["configmaps"], ["configmaps"], ["pods", "configmaps"], ["secrets"])
    rule = {"apiGroups": [""], "resources": resources, "resourceNames": names, "verbs": ["get"]}
    others: list[Any] = [[], [{"apiGroups": ["apps"], "resources": ["*"], "verbs": ["*"]}]]
    return [*one_of(draw, *others), rule]


def other_object(draw: Draw, plan: Plan) -> Obj | None:
    kinds = [kind for kind in OTHER_KINDS if kind != "ClusterRole" or len(plan.namespaces) == 1]
    kind = str(one_of(draw, *kinds))
    meta = metadata(draw, plan, kind, SECRET_NAMES if kind == "Secret" else WORKLOAD_NAMES)
    if meta is None:
        return None
    if kind == "Service":
        spec = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}]}
        return {"apiVersion": "v1", "kind": kind, "metadata": meta, "spec": spec}
    if kind in ("Role", "ClusterRole"):
        version = "rbac.authorization.k8s.io/v1"
        rules = rbac_rules(draw, plan)
        return {"apiVersion": version, "kind": kind, "metadata": meta, "rules": rules}
    if kind == "Secret":
        data = {"k": one_of(draw, "c2VjcmV0", "eA==")}
        return {"apiVersion": "v1", "kind": kind, "metadata": meta, "type": "Opaque", "data": data}
    free: Obj = {"configMap": config_name(draw, plan), "size": 0.5, "names": ["a", None, True, 10]}
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": meta, "spec": free}


@st.composite
def object_lists(draw: Draw, *, layouts: tuple[str, ...] = LAYOUTS) -> list[Obj]:
    """Return the objects of one stream, flat and in order."""
    layout = draw(st.sampled_from(layouts))
    namespaces: dict[str, list[str | None]] = {
        "absent": [None],
        "one": ["blue"],
        "two": ["blue", "green"],
        "mixed": [None, "blue"],
    }
    configs = draw(st.lists(st.sampled_from(CONFIG_NAMES), min_size=1, max_size=3, unique=True))
    waves, hooks = one_of(draw, False, False, True), one_of(draw, False, True)
    plan = Plan(namespaces[layout], configs, waves, hooks)
    objects: list[Obj] = []
    for namespace in plan.namespaces:
        for name in configs:
            obj = config_map(draw, plan, name, namespace)
            # A few names belong to ConfigMaps outside of the stream.
            if obj is not None and one_of(draw, *[True] * 7, False):
                objects.append(obj)
    for _ in range(draw(st.integers(1, 5))):
        objects += workload(draw, plan)
    for _ in range(draw(st.integers(0, 2))):
        objects += [obj for obj in [other_object(draw, plan)] if obj is not None]
    order: list[int] = draw(st.permutations(range(len(objects))))
    return [objects[index] for index in order]


FEATURE_SETS = st.one_of(
    st.just(frozenset[str]()),
    st.frozensets(st.sampled_from(FEATURES), max_size=4),
    st.lists(st.booleans(), min_size=len(FEATURES), max_size=len(FEATURES)).map(
        lambda states: frozenset(name for name, on in zip(FEATURES, states, strict=True) if on)
    ),
    st.just(frozenset(FEATURES) - {"resource list", "json"}),
)


@st.composite
def styled_streams(draw: Draw, *, odd: bool = True, layouts: tuple[str, ...] = LAYOUTS) -> Stream:
    """Return a strategy for streams with their objects.

    odd: whether YAML parsers may read the text differently
    layouts: the layouts of namespaces; with "mixed" some objects have a namespace and others none
    """
    objects = draw(object_lists(layouts=layouts))
    features: frozenset[str] = draw(FEATURE_SETS)
    features = features if odd else features - ODD_FEATURES
    style = Styler(Random(draw(st.integers(0, 2**16))), features)
    return Stream(stream_text(grouped(objects, style), style), objects, features)


def streams(*, odd: bool = True, layouts: tuple[str, ...] = LAYOUTS) -> st.SearchStrategy[str]:
    """Return a strategy for streams as text."""
    return styled_streams(odd=odd, layouts=layouts).map(lambda stream: stream.text)
