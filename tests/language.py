"""The rules for messages, help and tables, which readers meet in pieces: tests/test_language.py.

Docs and code are read in order, and have no such rules.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]

# One verb per meaning: a word or phrase, and what to write instead.
AVOID = {
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\banew\b": "again",
    r"\bbear(s|ing)?\b|\bborne\b": "have",
    r"\bname(s|d)? (it|them)\b|\b(is|are) named by\b|\bthat names\b|\bwhat names\b": "reference",
    r"\btells? (whether|of|from|what)\b|\btold\b": "report, show",
    r"\bspeaks? of\b": "mention",
    r"\bstands? (in|twice|beside|there|before|after|on|at|for)\b": "is in",
    r"\bcarried along\b|\bcarr(y|ies) along\b": "retain",
    r"\bgo(es)? before\b": "override, precede",
    r"\bas long as \w+ lives?\b": "is kept until",
}
_AVOID = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in AVOID.items()]
_PRONOUN = re.compile(r"(it|they)\b|(this|that) (is|was|has|can|does|may|must|means|will)\b", re.I)
_PYTHON = re.compile(r"\b(NoneType|dict|tuple|str|bool|None|True|False)\b")


class Text(NamedTuple):
    """A text that a person reads, and where it is."""

    file: Path
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}"


def problems(text: Text) -> Iterator[str]:
    """Yield what is wrong with the words of a text, as messages with its location."""
    plain = _without_code(text.text)
    for pattern, instead in _AVOID:
        for found in pattern.finditer(plain):
            yield f"{text}: write {instead!r} instead of {found[0]!r}"
    for sentence in re.split(r"(?<=[.?!])[\"')*]*\s+|\|", plain):
        if _PRONOUN.match(sentence.strip()):
            yield f"{text}: repeat the noun: {sentence.strip()[:60]}"


def form_problems(text: Text) -> Iterator[str]:
    """Yield what is wrong with the form of a message: `PROBLEM. FIX.`."""
    if text.kind == "problem" and text.text.endswith("."):
        yield f"{text}: a problem has no final period"
    if text.kind == "fix" and text.text and not re.match(r"[A-Z]|VALUE", text.text):
        yield f"{text}: a fix begins with a capital: {text.text[:50]}"
    if len(re.findall(r":\s", text.text)) > 1:
        yield f"{text}: more than one colon: {text.text[:50]}"
    if found := _PYTHON.search(_without_code(text.text)):
        yield f"{text}: {found[0]} is a word of Python"


def _without_code(text: str) -> str:
    """Replace every code span and link target by one word."""
    text = re.sub(r"``.+?``|`[^`]*`", "CODE", text, flags=re.S)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return re.sub(r"<[^>]*>|https?://\S+", "CODE", text)


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


def schema_texts(file: Path) -> Iterator[Text]:
    """Yield the descriptions of a JSON Schema."""
    for line, text in enumerate(file.read_text("utf-8").splitlines(), 1):
        if found := re.match(r'\s*"description": ("(?:[^"\\]|\\.)*")', text):
            yield Text(file, line, "description", json.loads(found[1]))


def table_texts(file: Path) -> Iterator[Text]:
    """Yield the table rows of a Markdown page, outside of code blocks."""
    is_code = False
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        is_code ^= bool(re.match(r"\s*(```|~~~)", line))
        if not is_code and re.match(r"\s*\|.*[^|\s:-]", line):
            yield Text(file, number, "table", line)
