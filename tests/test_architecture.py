"""The structure of the package: layers of imports, and no circle."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1] / "postrender"

# The layers, lowest first. A package imports only from itself and from lower layers.
LAYERS = (
    ("records",),
    ("errors", "text", "terminal"),
    ("name_parts",),
    ("yaml",),
    ("kubernetes",),
    ("references",),
    ("config",),
    ("inventory",),
    ("krm", "attach"),
    ("plan",),
    ("sources", "output"),
    ("diff",),
    ("explain", "status"),
    ("cli",),
    ("__main__",),
)
LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """Return the nodes of the parsed module."""
    return list(ast.walk(ast.parse(path.read_text("utf-8"))))


def part_of(module: str) -> str:
    """Return the part of `postrender` to which a module belongs, such as `yaml` or `errors`."""
    return [*module.split("."), ""][1]


def imported(path: Path) -> Iterator[str]:
    """Yield the part of `postrender` of each import, also of imports inside functions."""
    for node in nodes_of(path):
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


def test_imports_run_downwards() -> None:
    upwards = [
        f"{path.relative_to(ROOT)} imports {part}"
        for path in modules()
        for importer in [path.relative_to(ROOT).parts[0].removesuffix(".py")]
        for part in imported(path)
        if part not in (importer, "__version__") and LEVELS[part] >= LEVELS[importer]
    ]
    assert not upwards


def module_name(path: Path) -> str:
    parts = ("postrender", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(part for part in parts if part != "__init__")


def runtime_imports(path: Path, names: Collection[str]) -> set[str]:
    """Return the modules that a module imports, except for names that only type checkers use."""
    typing = [
        node
        for block in nodes_of(path)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    ]
    found = set()
    for node in nodes_of(path):
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
