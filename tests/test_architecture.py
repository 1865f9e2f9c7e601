"""The structure of the package: imports run downwards only, and no two modules share a name."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "postrender"

# From the ground up. A package imports only from itself and from the lines above its own.
LAYERS = (
    ("startup",),
    ("errors", "text"),
    ("yaml",),
    ("kubernetes",),
    ("references",),
    ("config",),
    ("inventory",),
    ("krm", "attach"),
    ("plan",),
    ("sources", "output"),
    ("diff",),
    ("explain",),
    ("cli",),
    ("__main__",),
)
LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}

# The same role in every package.
ROLES = {"__init__.py", "model.py", "build.py"}


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def part_of(module: str) -> str:
    """Return the package of a module, or a module of the root, without `postrender`."""
    return [*module.split("."), ""][1]


def imported(path: Path) -> Iterator[str]:
    """Yield the part of the package for each import, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "postrender":
            module = str(node.module)
            names = [f"{module}.{alias.name}" for alias in node.names]
            yield from map(part_of, names if module == "postrender" else [module])
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            yield from (part_of(name) for name in names if name.startswith("postrender."))


def test_every_part_has_a_layer() -> None:
    parts = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in modules()}
    assert parts - {"__init__"} == set(LEVELS)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_downwards(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for part in imported(path):
        if part not in (own, "__version__"):
            assert LEVELS[part] < LEVELS[own], f"{own} imports {part}"


def test_no_two_modules_share_a_name() -> None:
    names = Counter(path.name for path in modules() if path.name not in ROLES)
    assert not [name for name, count in names.items() if count > 1]
