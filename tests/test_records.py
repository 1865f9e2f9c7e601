"""Records are built with keyword arguments from four fields on, never sliced, and have few methods.

The type checker does not notice two swapped texts in a positional call. A slice of a record changes
its meaning when a field is added.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "postrender").rglob("*.py"))
MOST_POSITIONAL = 3
MOST_METHODS = 2
# Names that hold records all over the package.
SLICE = re.compile(r"\b(identity|base|edit|location|reference|item|revision)\[-?\d*:-?\d*\]")


def is_record(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id == "NamedTuple" for base in node.bases)


def records() -> dict[str, int]:
    """Return the number of fields of every record with four or more fields, by class name."""
    counts: dict[str, int] = {}
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and is_record(node):
                fields = [part for part in node.body if isinstance(part, ast.AnnAssign)]
                counts[node.name] = len(fields)
    return {name: count for name, count in counts.items() if count > MOST_POSITIONAL}


RECORDS = records()


def positional_calls(file: Path) -> Iterator[str]:
    """Yield the calls of records with too many positional arguments."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            arguments = [part for part in node.args if not isinstance(part, ast.Starred)]
            if node.func.id in RECORDS and len(arguments) > MOST_POSITIONAL:
                yield f"{file.relative_to(ROOT)}:{node.lineno} {node.func.id}"


def test_the_package_has_records() -> None:
    assert RECORDS["Identity"] == 4


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_records_are_built_with_keyword_arguments(file: Path) -> None:
    assert not list(positional_calls(file))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_records_are_not_sliced(file: Path) -> None:
    assert not SLICE.findall(file.read_text("utf-8"))


def methods(node: ast.ClassDef) -> list[str]:
    """Return the methods of a class, without its properties, class methods and special methods."""
    functions = [part for part in node.body if isinstance(part, ast.FunctionDef)]
    return [
        function.name
        for function in functions
        if not function.decorator_list and not function.name.startswith("__")
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_records_with_many_methods_are_plain_classes(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ClassDef) and is_record(node):
            assert len(methods(node)) <= MOST_METHODS, f"{node.name} is not a record"
