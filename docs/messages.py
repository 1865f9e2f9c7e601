"""The error messages of postrender, found in its source code."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1] / "postrender"
# The errors, with the positions of the problem and of the fix. A UsageError has no fix.
ERRORS = {"UserError": (0, 1), "UsageError": (0, 1)}


class Message(NamedTuple):
    """A problem and its fix, with `…` for values that are inserted at run time.

    fix: `…` if the whole fix is inserted at run time.
    """

    problem: str
    fix: str


def error_messages() -> list[Message]:
    """Return all messages of errors, sorted, each message once."""
    found = (message for file in PACKAGE.rglob("*.py") for message in _messages(file))
    return sorted({message for message in found if len(message.problem.strip("… ")) > 8})


def _messages(file: Path) -> Iterator[Message]:
    module: ModuleType | None = None
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            numbers = ERRORS.get(node.func.id)
            if numbers:
                module = module or _imported(file)
                keywords = {keyword.arg: keyword.value for keyword in node.keywords}
                problems, fixes = (
                    _texts(keywords.get(name) or _at(node.args, number), module)
                    for name, number in zip(("problem", "fix"), numbers, strict=True)
                )
                yield from (Message(problem, fix) for problem in problems for fix in fixes)


def _imported(file: Path) -> ModuleType:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return importlib.import_module(".".join(parts))


def _at(arguments: list[ast.expr], number: int) -> ast.expr | None:
    return arguments[number] if number < len(arguments) else None


def _texts(value: ast.expr | None, module: ModuleType) -> list[str]:
    """Return the texts that an expression can have; [""] for no expression."""
    if value is None:
        return [""]
    if isinstance(value, ast.IfExp):
        return [*_texts(value.body, module), *_texts(value.orelse, module)]
    parts = value.values if isinstance(value, ast.JoinedStr) else [value]
    text = "".join(_text(part, module) for part in parts)
    return [re.sub("…+", "…", " ".join(text.split()))]


def _text(part: ast.expr, module: ModuleType) -> str:
    """Return the text of a constant, or `…` for a value that is inserted at run time."""
    if isinstance(part, ast.FormattedValue):
        part = part.value
    if isinstance(part, ast.Name):
        constant = getattr(module, part.id, None)
        return constant if isinstance(constant, str) else "…"
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "…"
