"""The structure of the package: layers of imports, and unique module names."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "postrender"

# The layers, lowest first. A package imports only from itself and from lower layers.
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

# Modules with the same role in every package.
ROLES = {"__init__.py", "model.py", "build.py"}


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def part_of(module: str) -> str:
    """Return the part of `postrender` to which a module belongs, such as `yaml` or `errors`."""
    return [*module.split("."), ""][1]


def imported(path: Path) -> Iterator[str]:
    """Yield the part of `postrender` of each import, also of imports inside functions."""
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
    importer = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for part in imported(path):
        if part not in (importer, "__version__"):
            assert LEVELS[part] < LEVELS[importer], f"{importer} imports {part}"


def test_modules_do_not_share_a_name() -> None:
    names = Counter(path.name for path in modules() if path.name not in ROLES)
    assert not [name for name, count in names.items() if count > 1]


def module_name(path: Path) -> str:
    parts = ("postrender", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(part for part in parts if part != "__init__")


def runtime_imports(path: Path, names: Collection[str]) -> set[str]:
    """Return the modules that a module imports, except for names that only type checkers use."""
    tree = ast.parse(path.read_text("utf-8"))
    typing = [
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    ]
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node not in typing:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                found.add(submodule if submodule in names else str(node.module))
    return found & set(names)


def test_modules_do_not_import_each_other() -> None:
    names = {module_name(path): path for path in modules()}
    graph = {name: runtime_imports(path, names) for name, path in names.items()}
    while leaves := [name for name, targets in graph.items() if not targets & graph.keys()]:
        for name in leaves:
            del graph[name]
    assert not graph, "modules in a circle, or above one"
