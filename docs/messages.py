"""The error messages of postrender, found in its source code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1] / "postrender"
# The errors, with the positions of the problem and of the fix.
ERRORS = {"UserError": (0, 1), "UsageError": (0, 9)}


class Message(NamedTuple):
    """A problem and its fix, with `…` for each value that is inserted at run time."""

    problem: str
    fix: str


def error_messages() -> list[Message]:
    """Return all messages of errors, sorted, each message once."""
    found = (message for file in PACKAGE.rglob("*.py") for message in _messages(file))
    return sorted({message for message in found if len(message.problem.strip("… ")) > 8})


def _messages(file: Path) -> Iterator[Message]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            numbers = ERRORS.get(node.func.id)
            if numbers:
                keywords = {keyword.arg: keyword.value for keyword in node.keywords}
                problems, fixes = (
                    _texts(keywords.get(name) or _at(node.args, number))
                    for name, number in zip(("problem", "fix"), numbers, strict=True)
                )
                yield from (
                    Message(problem, fix) for problem in problems or [""] for fix in fixes or [""]
                )


def _at(arguments: list[ast.expr], number: int) -> ast.expr | None:
    return arguments[number] if number < len(arguments) else None


def _texts(value: ast.expr | None) -> list[str]:
    """Return the texts that an expression can have."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return [" ".join(value.value.split())]
    if isinstance(value, ast.JoinedStr):
        parts = (
            str(part.value) if isinstance(part, ast.Constant) else "…" for part in value.values
        )
        return [" ".join("".join(parts).split())]
    if isinstance(value, ast.IfExp):
        return [*_texts(value.body), *_texts(value.orelse)]
    return []
