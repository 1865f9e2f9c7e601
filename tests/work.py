"""The work and the memory of a run of postrender, counted and not timed.

The count does not depend on the machine. It covers what a count of calls cannot see: copies and
slices of lists, `in` on a list, and searches in a text. `install` therefore rewrites the modules of
the program when they are imported: each function, loop and call counts one, and each value that an
expression makes or searches counts its length.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import re
import sys
import tempfile
import traceback
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

# The modules to count in. The pure Python modules of ruamel.yaml read what libyaml refuses.
COUNTED = re.compile(r"postrender(\.|$)|difflib$|ruamel\.yaml\.(composer|parser|scanner|reader)$")
_SIZED = (str, bytes, list, tuple, dict, set, frozenset)
# These methods and functions return a value that exists, or take the same time for any length.
_CONSTANT = re.compile(
    "append|add|extend|get|pop|setdefault|popitem|getattr|next|iter|isinstance|len|type|id|hash|"
    "startswith|endswith|zip|map|filter|enumerate|reversed|super|range|partial|cache|items|keys|"
    "values"
)
_SCANS = re.compile(
    "r?find|count|index|r?split|splitlines|replace|translate|r?partition|[lr]?strip|lower|upper|"
    "encode|decode|isascii|isprintable|isalnum|insert|remove|copy|sort|reverse"
)
work = 0


class Run(NamedTuple):
    """What a run took, and how it ended.

    work: the count.
    peak: the largest size of the allocated memory, in bytes.
    """

    work: int
    peak: int
    code: int
    stdout: str
    stderr: str


def _add(count: int) -> None:
    global work
    work += count


@cache
def _is_counted(module: str | None) -> bool:
    return COUNTED.match(module or "") is not None


@cache
def _method(name: str) -> Callable[[Any, Any, Sequence[Any]], None] | None:
    """What adds the work of a call of a method or function that is not counted inside."""
    if _CONSTANT.fullmatch(name):
        return None
    if name in ("match", "fullmatch"):
        return _add_match
    if name in ("find", "rfind", "index", "search"):
        return partial(_add_search, name)
    if name in ("finditer", "findall", "sub", "loads", "dumps"):
        return _add_texts
    return _add_scan if _SCANS.fullmatch(name) else _add_argument


def _count_step() -> bool:
    global work
    work += 1
    return True


def _count_made(value: Any) -> Any:
    global work
    if isinstance(value, _SIZED):
        work += len(value)
    return value


def _count_searched(container: Any) -> Any:
    return _count_made(container) if isinstance(container, (str, bytes, list, tuple)) else container


def _count_called(function: Any, *arguments: Any, **named: Any) -> Any:
    global work
    work += 1
    result = function(*arguments, **named)
    kind = type(function)
    if (kind is FunctionType or kind is MethodType) and _is_counted(function.__module__):
        return result
    add = _method(getattr(function, "__name__", ""))
    if add:
        add(function, result, arguments)
    return result


def _add_match(_function: Any, result: Any, _arguments: Sequence[Any]) -> None:
    _add(result.end() - result.start() if result else 1)


def _add_search(name: str, function: Any, result: Any, arguments: Sequence[Any]) -> None:
    numbers = [part for part in arguments if isinstance(part, int)]
    if not numbers:
        (_add_texts if name == "search" else _add_scan)(function, result, arguments)
        return
    # A search from a start to an end, which can stop before the end.
    owner = getattr(function, "__self__", None)
    text = owner if isinstance(owner, (str, bytes)) else _texts(arguments)[0]
    end = min(len(text), *numbers[1:]) if numbers[1:] else len(text)
    found = result if isinstance(result, int) else result.start() if result else -1
    if name == "rfind":
        _add(max(1, end - max(found, numbers[0])))
    else:
        _add(max(1, (found if found >= numbers[0] else end) - numbers[0]))


def _add_texts(_function: Any, result: Any, arguments: Sequence[Any]) -> None:
    _add(sum(map(len, _texts(arguments))))
    _count_made(result)


def _add_scan(function: Any, result: Any, _arguments: Sequence[Any]) -> None:
    _count_made(getattr(function, "__self__", None))
    _count_made(result)


def _add_argument(function: Any, result: Any, arguments: Sequence[Any]) -> None:
    if arguments and isinstance(function, (type, type(len))):
        _count_searched(arguments[0])
    _count_made(result)


def _texts(arguments: Sequence[Any]) -> list[str | bytes]:
    return [part for part in arguments if isinstance(part, (str, bytes))]


class _Counted(ast.NodeTransformer):
    """Adds the calls of _count_step, _count_made, _count_searched and _count_called to a module."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in (
            "super",
            "locals",
            "vars",
            "globals",
        ):
            return node
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if _CONSTANT.fullmatch(name):
            return ast.BoolOp(ast.And(), [_call("_count_step"), node])
        return _call("_count_called", node.func, *node.args, keywords=node.keywords)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        node.comparators = [
            _call("_count_searched", value) if isinstance(operator, (ast.In, ast.NotIn)) else value
            for operator, value in zip(node.ops, node.comparators, strict=True)
        ]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        is_slice = isinstance(node.slice, ast.Slice) and isinstance(node.ctx, ast.Load)
        return _call("_count_made", node) if is_slice else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return _call("_count_made", node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        node.value = _call("_count_made", node.value)
        return node

    def _display(self, node: Any) -> Any:
        self.generic_visit(node)
        is_load = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        return _call("_count_made", node) if is_load and any(map(_is_starred, node.elts)) else node

    visit_List = visit_Tuple = visit_Set = _display  # noqa: N815

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        self.generic_visit(node)
        return _call("_count_made", node) if None in node.keys else node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        node.ifs.insert(0, _call("_count_step"))
        return node

    def _body(self, node: Any) -> Any:
        self.generic_visit(node)
        has_docstring = isinstance(node.body[0], ast.Expr) and len(node.body) > 1
        node.body.insert(int(has_docstring), ast.Expr(_call("_count_step")))
        return node

    visit_For = visit_While = visit_FunctionDef = _body  # noqa: N815


def _is_starred(node: ast.AST) -> bool:
    return isinstance(node, ast.Starred)


def _call(name: str, *values: ast.expr, keywords: Sequence[ast.keyword] = ()) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(values), list(keywords))


FUNCTIONS = (_count_step, _count_made, _count_searched, _count_called)


def counted(tree: ast.Module) -> ast.Module:
    """A module that calls FUNCTIONS, which must be builtins."""
    module: ast.Module = ast.fix_missing_locations(_Counted().visit(tree))
    return module


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        tree = counted(ast.parse(self.get_data(self.path)))
        return compile(tree, self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if COUNTED.match(fullname) else None
        if spec and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(fullname, spec.loader.path)
        return spec


def install() -> None:
    """Count in all modules of COUNTED that are imported from now on."""
    for function in FUNCTIONS:
        setattr(builtins, function.__name__, function)
    sys.meta_path.insert(0, _Finder())


def run(
    arguments: Sequence[str],
    stdin: str = "",
    files: Mapping[str, str] = {},
    *,
    has_peak: bool = True,
) -> Run:
    """Run postrender in a fork, in a new folder with files, and return what the run took."""
    from postrender.cli import main

    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        paths = [os.path.join(folder, f".{name}") for name in ("in", "out", "err", "counts")]
        with open(paths[0], "w") as file:
            file.write(stdin)
        process = os.fork()
        if not process:
            try:
                os.chdir(folder)
                for number, path in enumerate(paths[:3]):
                    os.dup2(
                        os.open(path, os.O_RDONLY if not number else os.O_WRONLY | os.O_CREAT),
                        number,
                    )
                sys.stdin, sys.stdout, sys.stderr = map(open, range(3), "rww")
                global work
                work = 0
                if has_peak:
                    tracemalloc.start(1)
                code = main.run(arguments)
                peak = tracemalloc.get_traced_memory()[1]
                sys.stdout.flush()
                with open(paths[3], "w") as file:
                    json.dump([work, peak, code], file)
            except BaseException:
                with open(paths[2], "a") as file:
                    file.write(traceback.format_exc())
            os._exit(0)
        os.waitpid(process, 0)
        out, err = (Path(path).read_text() for path in paths[1:3])
        assert os.path.exists(paths[3]), err[-3000:]
        with open(paths[3]) as file:
            count, peak, code = json.load(file)
        return Run(count, peak, code, out, err)
