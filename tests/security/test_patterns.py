"""Every regular expression of the package takes linear time on hostile text.

The inputs are derived from the expressions. Each part that may repeat is repeated many times, and
followed by a text without a match.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections import deque
from collections.abc import Iterator
from functools import cache
from itertools import combinations, product
from pathlib import Path
from time import thread_time
from typing import Any, NamedTuple

import pytest

import postrender
from postrender.diff import workloads
from postrender.kubernetes.kinds import WORKLOAD_KINDS
from postrender.yaml import plain
from tests.effort import IS_FUZZ

if sys.version_info >= (3, 11):
    from re import _parser as sre  # type: ignore[attr-defined]
else:
    import sre_parse as sre

# Methods that try every position of a text as the start of a match. The others try only the first.
SEARCHES = {"search", "sub", "findall", "finditer", "split"}
METHODS = {*SEARCHES, "match", "fullmatch"}
CALLS = {"compile", *METHODS}
# Small sizes grow in small steps, because an exponential expression would not end on large sizes.
SMALL = range(8, 33, 4)
# The lengths of large texts. An expression fails at the first length that takes too long.
LENGTHS = (512, 2048, 8192, *([32_768] if IS_FUZZ else []))
# For 8,192 characters, a linear expression takes a millisecond, a quadratic one 5 to 60.
SUSPECT_SECONDS, EXPONENTIAL_SECONDS = 0.005, 0.1
LINEAR_RATIO = 3.0
ENDS = ["", "\0", "\n", "!", " x", "\x85"] if IS_FUZZ else ["\0", "\n", " x"]
MOST_SAMPLES = 6 if IS_FUZZ else 4
# Functions that make an expression from their parameters, with a sample of the result.
COMPILED_IN_FUNCTIONS = {
    "postrender/yaml/plain.py": 1,
    "postrender/diff/workloads.py": 1,
    "postrender/config/validate.py": 1,
    # The pattern of a schema, with few repetitions and a short text.
    "postrender/kubernetes/validation/schemas.py": 1,
}


class Expression(NamedTuple):
    """A regular expression of the package; is_searched: whether a match may start anywhere."""

    name: str
    text: str | bytes
    flags: int
    is_searched: bool


def expressions() -> Iterator[Expression]:
    """Yield every regular expression of the package, where the package defines it."""
    uses = used_methods()
    for path, tree in trees().items():
        name = module_of(path)
        if name == "postrender.__main__":
            continue
        module = vars(importlib.import_module(name))
        for assigned in sorted(globals_of(tree) & module.keys()):
            value = module[assigned]
            if isinstance(value, re.Pattern):
                yield Expression(
                    name=f"{name}.{assigned}",
                    text=value.pattern,
                    flags=value.flags,
                    is_searched=bool(uses.get((name, assigned), SEARCHES) & SEARCHES),
                )
        for call in calls_in_functions(tree):
            text, method = constant(call.args[0], module), ast.unparse(call.func)[len("re.") :]
            if text is not None:
                yield Expression(
                    name=f"{name}: {method}({text!r})",
                    text=rf"(?:{text})\Z"
                    if method == "fullmatch" and isinstance(text, str)
                    else text,
                    flags=0,
                    is_searched=method in {*SEARCHES, "compile"},
                )
    for template in (plain._ASCII_BODY, plain._WIDE_BODY):
        yield Expression(name=f"body {template}", text=template % 4, flags=0, is_searched=False)
    for kind in WORKLOAD_KINDS:
        for with_parents in (False, True):
            text = workloads._template_fields(kind, with_parents=with_parents).pattern
            name = f"_template_fields of {kind[1]}, {with_parents}"
            yield Expression(name=name, text=text, flags=0, is_searched=False)


def calls_in_functions(tree: ast.Module) -> Iterator[ast.Call]:
    """Yield the calls of the module re, except those that assign a global."""
    for statement in tree.body:
        assigned = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
        for node in ast.walk(statement):
            if not isinstance(node, ast.Call) or node is assigned:
                continue
            match node.func:
                case ast.Attribute(ast.Name("re"), method) if method in CALLS:
                    yield node


def constant(expression: ast.expr, module: dict[str, Any]) -> str | bytes | None:
    """Return the value of an expression of constants and globals, None for any other."""
    try:
        value = eval(ast.unparse(expression), dict(module))
    except NameError:
        return None
    return value if isinstance(value, (str, bytes)) else None


def globals_of(tree: ast.Module) -> set[str]:
    """Return the globals that a module assigns."""
    return {
        target.id
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }


def used_methods() -> dict[tuple[str, str], set[str]]:
    """Return the methods of regular expressions that the package calls, by module and global."""
    methods: dict[tuple[str, str], set[str]] = {}
    for path, tree in trees().items():
        here = module_of(path)
        imported = {
            alias.name: str(node.module)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                name = node.value.id
                methods.setdefault((imported.get(name, here), name), set()).add(node.attr)
    return methods


@cache
def trees() -> dict[str, ast.Module]:
    root = Path(postrender.__file__).parent
    return {
        path.relative_to(root.parent).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in sorted(root.rglob("*.py"))
    }


def module_of(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def samples(tree: Any) -> list[str]:
    """Return texts that a part of an expression matches."""
    parts = [one_of(node) for node in tree]
    return ["".join(part) for _, part in zip(range(MOST_SAMPLES), product(*parts), strict=False)]


def one_of(node: tuple[Any, Any]) -> list[str]:
    """Return texts that one node of a parsed expression matches."""
    kind, value = str(node[0]), node[1]
    if kind == "LITERAL":
        return [chr(value)]
    if kind == "NOT_LITERAL":
        return ["a" if value != ord("a") else "b"]
    if kind == "ANY":
        return ["a", "#"]
    if kind == "IN":
        return [character for character in CANDIDATES if in_set(value, character)][:4] or ["a"]
    if kind == "BRANCH":
        return [sample for branch in value[1] for sample in samples(branch)][:MOST_SAMPLES]
    if kind == "SUBPATTERN":
        return samples(value[-1])
    if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least = max(value[0], 1)
        return [sample * min(least, 60) for sample in samples(value[2])]
    if kind == "ATOMIC_GROUP":
        return samples(value)
    return [""]


CANDIDATES = "a-. #\t\n0A_/,:=@'\"\\[{&!é\u3000"


def in_set(items: Any, character: str) -> bool:
    set_expression = sre.SubPattern(sre.State(), [(sre.IN, items)])
    return re.compile(_text_of_set(set_expression)).match(character) is not None


def _text_of_set(parsed: Any) -> str:
    """Return a set of characters as an expression, from its parsed form."""
    parts = []
    negation = ""
    for kind, value in parsed.data[0][1]:
        if str(kind) == "NEGATE":
            negation = "^"
        elif str(kind) == "LITERAL":
            parts.append(re.escape(chr(value)))
        elif str(kind) == "RANGE":
            parts.append(f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}")
        else:
            category = str(value).removeprefix("CATEGORY_")
            letter = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}[category.removeprefix("NOT_")]
            parts.append("\\" + (letter.upper() if category.startswith("NOT_") else letter))
    return f"[{negation}{''.join(parts)}]"


class Attack(NamedTuple):
    """A hostile text, in which the middle part is repeated."""

    start: str
    pump: str
    end: str

    def text(self, count: int) -> str:
        """Return the text with a number of repetitions."""
        return self.start + self.pump * count + self.end


def attacks(expression: Expression) -> Iterator[Attack]:
    """Yield the hostile texts for an expression."""
    tree = sre.parse(expression.text, expression.flags)
    for start, pump in sorted(set(pumps(list(tree), ""))):
        for end in ENDS:
            yield Attack(start, pump, end)


def pumps(nodes: list[Any], before: str) -> Iterator[tuple[str, str]]:
    """Yield a text to begin with and a text to repeat, for each repetition of an expression."""
    for position, node in enumerate(nodes):
        start = before + (samples(nodes[:position]) or [""])[0]
        kind, value = str(node[0]), node[1]
        if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            inner = list(value[2])
            bodies = samples(inner)
            for body in [*bodies, *map("".join, combinations(bodies, 2))]:
                if body:
                    yield start, body
                    yield "", body
            # The repeated part together with the part before it, as in a text of many lines.
            for prefix in samples(nodes[:position]) or [""]:
                yield "", before + prefix + bodies[0] or " "
            yield from pumps(inner, start)
        elif kind == "SUBPATTERN":
            yield from pumps(list(value[-1]), start)
        elif kind == "BRANCH":
            for branch in value[1]:
                yield from pumps(list(branch), start)
    whole = samples(nodes)
    if whole and whole[0]:
        yield before, whole[0]


def slowness(expression: Expression) -> str:
    """Return the hostile text for which an expression takes too long, "" for none."""
    compiled = re.compile(expression.text, expression.flags)

    def seconds(text: str, rounds: int = 1) -> float:
        """Return the processor time of a match, the best of several rounds."""
        subject: Any = (
            text.encode("latin-1", "replace") if isinstance(expression.text, bytes) else text
        )
        times = []
        for _ in range(rounds):
            start = thread_time()
            if expression.is_searched:
                deque(compiled.finditer(subject), maxlen=0)
            else:
                compiled.match(subject)
            times.append(thread_time() - start)
        return min(times)

    for attack in attacks(expression):
        for count in SMALL:
            if seconds(attack.text(count)) > EXPONENTIAL_SECONDS:
                return f"{count} repetitions in {attack}: exponential time"
        for length in LENGTHS:
            count = max(length // len(attack.pump), 1)
            took = seconds(attack.text(count))
            if took > SUSPECT_SECONDS and took > LINEAR_RATIO * seconds(attack.text(count // 2)):
                quarter, half, whole = (
                    seconds(attack.text(count // part), 3) for part in (4, 2, 1)
                )
                if half / quarter > LINEAR_RATIO and whole / half > LINEAR_RATIO:
                    return f"{count} repetitions in {attack}: {whole / half:.1f} times as long"
    return ""


@pytest.mark.random_inputs
def test_a_regular_expression_takes_linear_time() -> None:
    found = {expression.name: expression for expression in expressions()}
    assert len(found) > 150
    assert not {name: slow for name, item in found.items() if (slow := slowness(item))}


@pytest.mark.parametrize(
    ("text", "is_searched"),
    [
        (r"(?:\s|(?<=\s)#[^\n]*)+\Z", True),  # was in yaml/node_edits.py: exponential
        (r"(?:^|[=/]|--?[\w-]+[ ])name(?:$|[/,;:\s\"'])", True),  # was in text/words.py: quadratic
        (r"(a+)+b", False),
        (r"[0-9_]*[.]?[0-9_]*x", False),
    ],
)
def test_a_slow_expression_is_found(text: str, is_searched: bool) -> None:
    assert slowness(Expression(name="slow", text=text, flags=0, is_searched=is_searched))


def test_the_package_does_not_compile_other_expressions() -> None:
    calls = {}
    for path, tree in trees().items():
        module = vars(importlib.import_module(module_of(path)))
        unknown = [
            call for call in calls_in_functions(tree) if constant(call.args[0], module) is None
        ]
        if unknown:
            calls[path] = len(unknown)
    assert calls == COMPILED_IN_FUNCTIONS
