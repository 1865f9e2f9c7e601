"""The rules of tests/test_language.py: how the texts of this project are written."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
MAX_WORDS = 22
# click truncates a longer summary in the list of commands.
MAX_SUMMARY = 45

# A word or phrase, and what to write instead.
AVOID = {
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\banew\b": "again",
    r"\bbear(s|ing)?\b|\bborne\b": "have",
    r"\b(is|are) no (?!longer\b|more\b|other\b|one\b)[a-z]+": "is not a …",
    r"\btakes? no\b": "does not take",
    r"\btakes? \w+ for (a|an|its|one|ready)\b": "treat as",
    r"\bstands? (in|twice|beside|there|before|after|on|at|for)\b": "is in",
    r"\bname(s|d)? (it|them)\b|\b(is|are) named by\b|\bthat names\b|\bwhat names\b": "reference",
    r"\btells? (whether|of|from|what)\b|\btold\b": "report, show",
    r"\bspeaks? of\b": "mention",
    r"\ball the same\b": "still",
    r"\bbeside\b": "next to, in addition to",
    r"\blikewise\b": "also",
    r"\bas it is\b": "unchanged",
    r"\b(is|are) to (be|have|become)\b": "must, will",
    r"\bso that it lives\b|\bas long as \w+ lives?\b": "is kept until",
    r"\bcarried along\b|\bcarr(y|ies) along\b": "retain",
    r"\bwhoever\b": "a user who",
    r"\bhence\b|\bthereby\b|\bthereof\b|\bwherein\b": "so",
    r"\bof (its|their|one's) own accord\b": "by itself",
    r"\bgo(es)? before\b": "override, precede",
    r"\bnothing but\b": "only",
    r"\bno such\b(?! (file|release|revision|command|option|host))": "not … that",
}
# No sentence begins with one of these.
OPENINGS = re.compile(
    r"What (?!is |are |does |do |to |happens )|All that|One that|Of (?!course)|Never\b|Nor\b"
    r"|Whether\b"
)
_AVOID = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in AVOID.items()]


class Text(NamedTuple):
    """A text that a person reads, and where it is."""

    file: Path
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}"


def problems(text: Text) -> Iterator[str]:
    """Yield what is wrong with a text, as messages with its location."""
    plain = _without_code(text.text)
    for pattern, instead in _AVOID:
        for found in pattern.finditer(plain):
            yield f"{text}: write {instead!r} instead of {found[0]!r}"
    for sentence in sentences(plain):
        words = [word for word in sentence.split() if re.search(r"\w", word)]
        if len(words) > MAX_WORDS:
            yield f"{text}: {len(words)} words, at most {MAX_WORDS}: {' '.join(words)[:60]} …"
        if OPENINGS.match(sentence):
            yield f"{text}: begin with a noun or a verb: {' '.join(words)[:60]} …"


def sentences(text: str) -> list[str]:
    """Return the sentences of a text; list items, table cells and clauses at `;` count alone."""
    parts = re.split(r"(?<=[.?!])[\"')*]*\s+|;\s|\n\s*\n|\n(?=\s*(?:[-*|#>]|\d+\.)\s)|\|", text)
    return [part.strip(" -*#>\n\t") for part in parts if part.strip(" -*#>\n\t")]


def _without_code(text: str) -> str:
    """Return a text in which every code span and link target is one word."""
    text = re.sub(r"``.+?``|`[^`]*`", "CODE", text, flags=re.S)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return re.sub(r"<[^>]*>|https?://\S+", "CODE", text)


def code_texts(file: Path) -> Iterator[Text]:
    """Yield the docstrings and comments of a Python file, and the names of its tests."""
    source = file.read_text("utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            docstring = ast.get_docstring(node)
            if docstring:
                yield Text(file, getattr(node, "lineno", 1), "docstring", docstring)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            name = node.name.removeprefix("test_").replace("_", " ")
            yield Text(file, node.lineno, "test name", name)
    comment: list[str] = []
    start = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and token.line.strip().startswith("#"):
            start = start if comment else token.start[0]
            comment.append(token.string.lstrip("#").strip())
        elif token.type == tokenize.COMMENT:
            yield Text(file, token.start[0], "comment", token.string.lstrip("# "))
        elif comment and token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            yield Text(file, start, "comment", _prose(comment))
            comment = []


def _prose(lines: list[str]) -> str:
    text = " ".join(lines)
    return "" if re.match(r"(noqa|type:|!|-{3,})", text) else text


MESSAGES = {"UserError": (0, 1), "UsageError": (0, 1), "Finding": (1, 2), "Undecided": (1, 2)}
LOG_CALLS = {"error", "warning", "info", "debug"}


def message_texts(file: Path) -> Iterator[Text]:
    """Yield the problems and fixes of messages in a Python file, and its log lines."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        numbers = MESSAGES.get(name, ())
        named = {"problem": given.get("problem"), "fix": given.get("fix")}
        for number, kind in zip(numbers, named, strict=False):
            value = named[kind]
            if value is None and len(node.args) > number:
                value = node.args[number]
            yield from _literals(file, value, kind)
        is_log = isinstance(node.func, ast.Attribute) and node.func.attr in LOG_CALLS
        if is_log and node.args and "attach" in file.parts:
            yield from _literals(file, node.args[0], "log line")


def _literals(file: Path, value: ast.expr | None, kind: str) -> Iterator[Text]:
    """Yield the texts that an expression can be, with VALUE for what is put in."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield Text(file, value.lineno, kind, value.value)
    elif isinstance(value, ast.JoinedStr):
        parts = (
            str(part.value) if isinstance(part, ast.Constant) else "VALUE" for part in value.values
        )
        yield Text(file, value.lineno, kind, "".join(parts))
    elif isinstance(value, ast.IfExp):
        yield from _literals(file, value.body, kind)
        yield from _literals(file, value.orelse, kind)


def form_problems(text: Text) -> Iterator[str]:
    """Yield what is wrong with the form of a message."""
    if text.kind == "problem" and text.text.endswith("."):
        yield f"{text}: a problem has no final period"
    if text.kind == "fix" and text.text and not re.match(r"[A-Z]|VALUE", text.text):
        yield f"{text}: a fix begins with a capital: {text.text[:50]}"
    if len(re.findall(r":\s", text.text)) > 1:
        yield f"{text}: more than one colon: {text.text[:50]}"
    if re.match(r"(it|that|this|they)\b", text.text):
        yield f"{text}: repeat the noun instead of 'it': {text.text[:50]}"


def schema_texts(file: Path) -> Iterator[Text]:
    """Yield the descriptions of a JSON Schema."""
    source = file.read_text("utf-8")
    for line, text in enumerate(source.splitlines(), 1):
        found = re.match(r'\s*"description": ("(?:[^"\\]|\\.)*")', text)
        if found:
            yield Text(file, line, "description", json.loads(found[1]))


def page_texts(file: Path) -> Iterator[Text]:
    """Yield the paragraphs, list items and table rows of a Markdown page, without code blocks."""
    block: list[str] = []
    start, is_code, is_comment = 0, False, False
    for number, line in enumerate([*file.read_text("utf-8").splitlines(), ""], 1):
        if re.match(r"\s*(```|~~~)", line):
            is_code = not is_code
            line = ""
        is_comment = (is_comment or line.startswith("<!--")) and "-->" not in line
        if is_code or is_comment or line.startswith(("<!--", "    ")):
            line = ""
        begins = re.match(r"\s*([-*|#>]|\d+\.)\s?", line)
        if (not line.strip() or begins) and block:
            yield Text(file, start, "page", "\n".join(block))
            block = []
        if line.strip() and not re.match(r"[|\s:-]+$", line):
            start = start if block else number
            block.append(line)
