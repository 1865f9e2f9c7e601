"""The probable cause of a text that is not YAML, in words for its author."""

from __future__ import annotations

import re
from typing import Any

from postrender.records import NamedTuple

FIX = "Fix the YAML near this line, for example the indentation, a colon or a quote"
# What a template engine of Go prints for a value that it does not have.
PRINTED_BY_GO = re.compile(r"<no value>|%![a-zA-Z]\((?:<nil>|MISSING|[\w.]{1,40}=)")
# Lines that helm, kustomize and kubectl print on stderr.
_PRINTED_BY_PROGRAM = re.compile(
    r"(?:[a-z_]{1,40}\.go:\d+: |(?:Error|WARNING|Warning|warning|error): |level=|Pulled: "
    r"|Digest: sha|[IWEF]\d{4} \d\d:\d\d:|Hang tight|Update Complete|Saving \d+ chart|# Warning: )"
)
# Each part of a line has one place, so a search takes linear time.
_KEY = r"\s*(?:- +)*(?:\"[^\"]*\"|'[^']*'|[^\s\"'#:\[\]{},-][^\s#:]*)"
_KEY_AND_VALUE = re.compile(rf"{_KEY}\s*:(?:\s|$)")
_NO_SPACE = re.compile(rf"{_KEY}:[^\s:/]")
_SIGNS = ("while scanning an alias", "while scanning an anchor")
_SECOND_COLON = re.compile(rf"{_KEY}\s*:\s+[^\s\"'\[{{|>].*:(?:\s|$)")
FIX_OF_TEMPLATE = "Set the value, or give the template a default"


def printed_by_go(text: str) -> str:
    """The clause about a match of PRINTED_BY_GO."""
    return f"`{text}`, which a template prints for a missing or wrong value"


class Mistake(NamedTuple):
    """A mistake in a text: the number of its line from 0, the problem and the fix."""

    line: int
    problem: str
    fix: str = FIX


def find_mistake(error: Any, text: str) -> Mistake:
    """The probable cause of a YAMLError of PyYAML or ruamel.yaml about a text.

    The problem shows no value, which can be that of a Secret.
    """
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        return Mistake(0, str(error).split("\n", 1)[0])
    context, problem = error.context or "", error.problem or ""
    start = error.context_mark or mark
    lines = text.split("\n")
    return (
        _stray_text(lines, start.line, mark.line)
        or _syntax(lines, context, problem, start, mark)
        or Mistake(mark.line, " ".join(part for part in (context, problem) if part))
    )


def _stray_text(lines: list[str], first: int, last: int) -> Mistake | None:
    """Text that another program has written."""
    if re.match(r" *\t", _at(lines, last)):
        return Mistake(last, "a tab in the indentation", "Replace the tab with spaces")
    for number in dict.fromkeys((first, last)):
        line = _at(lines, number)
        if _PRINTED_BY_PROGRAM.match(line):
            return Mistake(
                number,
                "a message of a program between the manifests",
                "Pass only the stdout of the program, without 2>&1",
            )
        if match := PRINTED_BY_GO.search(line):
            return Mistake(
                number,
                printed_by_go(match[0]),
                FIX_OF_TEMPLATE,
            )
    return None


def _syntax(lines: list[str], context: str, problem: str, start: Any, mark: Any) -> Mistake | None:
    """The cause of an error of the parser; start: where the parser began, mark: where it failed."""
    line = mark.line
    if context.startswith("while scanning a quoted") and "end of stream" in problem:
        return Mistake(start.line, "a quote that opens here is not closed", "Close the quote")
    if "expected ':'" in problem:
        return _no_colon(_at(lines, start.line), start.line)
    if problem.startswith("mapping values are not allowed"):
        return _unexpected_colon(lines, line)
    if "cannot start any token" in problem or context in _SIGNS:
        first = mark if "token" in problem else start
        character = _at(lines, first.line)[first.column : first.column + 1]
        return Mistake(
            first.line,
            f"an unquoted value cannot begin with {character}",
            "Put the value in quotes",
        )
    if problem.startswith("found undefined alias"):
        return Mistake(
            line,
            "an unquoted value cannot begin with *, and the anchor of this alias is missing",
            "Put the value in quotes, or define the anchor",
        )
    if "'-'" in problem or ("<block end>" in problem and "collection" in context):
        return Mistake(
            line,
            "the line is not an item of the list above",
            "Begin the line with -, or indent the line less",
        )
    if problem.startswith(("did not find expected key", "expected <block end>")):
        if _at(lines, line)[: mark.column].rstrip().endswith(("'", '"')):
            return Mistake(
                line,
                "text after a closing quote, or a quote on a line above that is not closed",
                "Close each quote, and write '' for a quote inside of single quotes",
            )
        return Mistake(
            line,
            "the indentation is neither that of the keys above nor deeper",
            "Indent the line like the other keys of its mapping",
        )
    if context.startswith("while parsing a flow"):
        return _flow(lines, context, problem, mark)
    return None


def _flow(lines: list[str], context: str, problem: str, mark: Any) -> Mistake | None:
    """The cause of an error in [ ] or { }."""
    line = mark.line
    if line >= len(lines) - 1 and not _at(lines, line)[mark.column :].strip():
        while line > 0 and not _at(lines, line).strip():
            line -= 1
        return Mistake(
            line,
            "a [ or { is not closed, perhaps because the text was cut off",
            "Close the bracket, or check the command that wrote the text",
        )
    if "content" in problem:
        return None
    return Mistake(
        line,
        f"a {'[' if 'sequence' in context else '{'} is not closed, or a comma is missing",
        "Add the bracket or the comma",
    )


def _no_colon(line: str, number: int) -> Mistake:
    if re.fullmatch(r"\s*(--|-{4,})\s*", line):
        return Mistake(number, "a line of dashes", "Write three dashes, ---, between two documents")
    if _NO_SPACE.match(line):
        return Mistake(number, "no space after the colon of a key", "Add the space")
    return Mistake(
        number,
        "a key without a colon, or text with too little indentation",
        "Add the colon, or indent the text more than its key",
    )


def _unexpected_colon(lines: list[str], number: int) -> Mistake | None:
    if _SECOND_COLON.match(_at(lines, number)):
        return Mistake(
            number, "an unquoted value contains a colon and a space", "Put the value in quotes"
        )
    above = number - 1
    while above > 0 and not _at(lines, above).strip():
        above -= 1
    if above < 0 or _indent(_at(lines, above)) >= _indent(_at(lines, number)):
        return None
    if _KEY_AND_VALUE.match(_at(lines, above)):
        return Mistake(
            number,
            "the line is indented more than the key above, which has a value already",
            "Indent the line like the key above",
        )
    return Mistake(above, "a key without a colon", "Add the colon")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _at(lines: list[str], number: int) -> str:
    return lines[number] if number < len(lines) else ""
