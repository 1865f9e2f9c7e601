"""Random mutations of the test inputs, for the parser, render, preview and attach.

A finding is an exception other than a user error, or an output that another render changes. A run
that takes much longer than usual for its size is a finding too, and so is a run of attach that
loses a revision because of a wrong answer. Run as a program, with the number of seconds:

    python -m tests.security.fuzz 300
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from math import inf
from random import Random
from statistics import median
from time import perf_counter, thread_time
from typing import NamedTuple

from postrender.attach.request import read_request
from postrender.config.settings import AttacherSettings, Settings
from postrender.diff.build import compare
from postrender.diff.formats import REPORTERS
from postrender.diff.values import Terminal
from postrender.errors import UsageError, UserError
from postrender.explain.build import explain
from postrender.inventory.build import take_inventory
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.yaml.document import parse_in
from postrender.yaml.stream import read_stream
from tests.attach.faulty import check_faults
from tests.attach.strange import check_values
from tests.golden_cases import FIXTURES, Case

# A run is slow if it takes this many times the median time for a byte, and at least some seconds.
SLOW_RATIO, SLOW_SECONDS = 200, 2.0
MAX_BYTES = 200_000
RUNS = tuple(
    Settings(with_secrets=with_secrets, attacher=AttacherSettings(image="image:1"))
    for with_secrets in (False, True)
)
PIECES = tuple(
    piece.encode().decode("unicode_escape").encode("latin-1")
    for piece in r"""
\n|---\n|...\n|# | #|- |: |{|}|[|]|'|"|>-\n|&a |*a|<<: *a|!!str |!|? |%YAML 1.1\n|\t|\r|\r\n
null|~|true|1e3|0x1|\xef\xbb\xbf|\xc2\x85|\xe2\x80\xa8|\xe2\x80\xae|\x1b[31m|::error::x|\xff
\xed\xa0\x80|\\ud800|\\u0000|kind: List\nitems:\n- |metadata:\n  name: web\n|kind: Secret\n
postrender/attach-group: x\n|postrender/base-name: web\n|kind: ConfigMap\n|immutable: true\n
configMapRef: {name: web}\n|postrender/keep-original: 'true'\n|postrender/mount-path: /etc\n
namespace: x\n|\x7c\n|\x7c-\n
""".replace("\n", "|").split("|")
    if piece
)
VALUES = (b"{}", b"[]", b"~", b"1", b"true", b"''", b"x", b"{a: b}", b"[{a: b}]", b"[~]", b"[a]")
# An input with one of these is an earlier output that somebody may have damaged.
_MARKS = (b"postrender/attach-group", b"postrender/base-name", b"postrender/render-id")
# A key of a block mapping, up to the colon, and a line with its indentation.
_KEY = re.compile(rb"^([ -]*)[^ \n#:][^ \n:]*:(?=[ \n])", re.M)
_LINE = re.compile(rb"([ ]*)([^\n]*)(?:\n|\Z)")


class Finding(NamedTuple):
    """An input that a target does not handle."""

    target: str
    problem: str
    data: bytes


class Report(NamedTuple):
    """The counts of a run, by target and result, and the findings."""

    counts: Counter[str]
    findings: list[Finding]


@cache
def corpus() -> tuple[bytes, ...]:
    """Return the inputs and outputs of the golden cases."""
    paths = sorted(path for path in FIXTURES.iterdir() if not path.name.startswith("."))
    cases = [Case(path) for path in paths]
    texts = {text for case in cases for text in (case.input, case.expected)}
    return tuple(sorted(text for text in texts if 0 < len(text) < 20_000))


def mutated(random: Random) -> bytes:
    """Return an input of the corpus with a few random changes."""
    data = bytearray(random.choice(corpus()))
    for _ in range(random.choice((0, 1, 1, 2, 3, 5, 8))):
        change(data, random)
    return bytes(data[:MAX_BYTES])


def change(data: bytearray, random: Random) -> None:
    """Change some bytes or lines in place."""
    start = random.randrange(len(data) + 1)
    end = min(len(data), start + random.choice((1, 1, 2, 4, 8, 16, 64, 256)))
    way = random.randrange(12)
    if way == 0:
        del data[start:end]
    elif way == 1:
        data[start:start] = random.choice(PIECES)
    elif way == 2:
        data[start:end] = random.choice(PIECES)
    elif way == 3:
        data[start:start] = random.choice(PIECES) * random.choice((2, 10, 50, 400))
    elif way == 4 and end > start:
        data[start] = random.randrange(256)
    elif way == 5:
        data[start:start] = data[start:end] * random.choice((1, 2, 20))
    elif way < 9:
        move_lines(data, random)
    else:
        replace_value(data, random)


def replace_value(data: bytearray, random: Random) -> None:
    """Replace the value of a key, with all lines of the value, by a value of another type."""
    keys = list(_KEY.finditer(data))
    if not keys:
        return
    key = random.choice(keys)
    indent = len(key[1])
    first, *following = _LINE.finditer(data, key.end())
    end = first.end()
    for line in following:
        is_item = line[2][:1] == b"-" and len(line[1]) == indent
        if line[2] and len(line[1]) <= indent and not is_item:
            break
        end = line.end()
    data[key.end() : end] = b" " + random.choice(VALUES) + b"\n"


def move_lines(data: bytearray, random: Random) -> None:
    """Delete, copy, indent or take over whole lines, so that the result is often valid YAML."""
    other = bytes(data) if random.randrange(2) else random.choice(corpus())
    lines, source = bytes(data).split(b"\n"), other.split(b"\n")
    start, count = random.randrange(len(source)), random.choice((1, 1, 2, 5, 20))
    taken = source[start : start + count]
    if random.randrange(3) == 0:
        shift = random.choice((b" ", b"  ", b"- ", b"# "))
        taken = [shift + line for line in taken]
    position = random.randrange(len(lines) + 1)
    if random.randrange(3):
        lines[position:position] = taken
    else:
        lines[position : position + count] = []
    data[:] = b"\n".join(lines)


def rendered(data: bytes, settings: Settings) -> bytes:
    """Return the output of render; explain is run too."""
    plan = make_plan(take_inventory(read_stream(data, "fuzz"), settings), settings)
    explain(plan)
    return "".join(render(plan)).encode("utf-8", "surrogatepass")


def fuzz_parser(random: Random) -> None:
    """Parse every document of an input."""
    data = mutated(random)
    remember(data)
    stream = read_stream(data, "fuzz")
    for index in range(len(stream.texts)):
        parsed = parse_in(stream, index)
        parsed.data, parsed.nodes.read()


def fuzz_render(random: Random) -> None:
    """Render an input until the output stays the same.

    An input may have parts of an earlier output, such as a revision without its original. The first
    render does not know the rest, so the second render may still change the output.
    """
    data, settings = mutated(random), random.choice(RUNS)
    remember(data)
    output = rendered(data, settings)
    if any(mark in data for mark in _MARKS):
        output = rendered(output, settings)
    if rendered(output, settings) != output:
        raise AssertionError("another render changes the output")


def fuzz_preview(random: Random) -> None:
    """Compare two inputs, and print the preview in every format."""
    new = mutated(random)
    old = random.choice(corpus())
    if random.randrange(2):
        # Mutations of the same input, so that most objects have a pair.
        old = mutated(random)
        grown = bytearray(old)
        for _ in range(random.choice((1, 2, 4))):
            change(grown, random)
        new = bytes(grown[:MAX_BYTES])
    remember(old + b"\n#### new\n" + new)
    sides = [read_stream(side, "fuzz") for side in (old, new)]
    preview = compare(sides[0], sides[1], random.choice(RUNS))
    for reporter in REPORTERS.values():
        text = reporter.render(preview, Terminal(random.choice((20, 80)), False))
        text.encode("utf-8")


ARGUMENTS = (
    "Rollout/web@8396ba243e=configmap/a-m567dfc6df,secret/b-m567dfc6df",
    "Deployment/web=configmap/a",
    "configmap/a,configmap/b",
    *("ServiceAccount/web-attach", "Role/web", "web-attach", "90s", "2m30s"),
    *("\u0663s", "1" * 5000, "/", "=", "@", ",", "\ud800", "\x1b[0m", "x" * 300),
)


WORKLOAD = "Rollout/web@8396ba243e=configmap/web-m567dfc6df"


def fuzz_attach(random: Random) -> None:
    """Read the arguments of attach."""
    parts = random.choices(ARGUMENTS, k=random.randrange(1, 4))
    text = random.choice(("", ",", "=", "/", "@")).join(parts)
    for _ in range(random.choice((0, 0, 1, 3))):
        at = random.randrange(len(text) + 1)
        text = text[:at] + random.choice(ARGUMENTS)[: random.randrange(1, 9)] + text[at + 1 :]
    remember(text.encode("utf-8", "surrogatepass"))
    choices = ("", "web-attach", text)
    read_request(
        random.choice(choices),
        random.choice(((WORKLOAD,), (WORKLOAD,), (text,))),
        random.choice(((), (), (text,))),
        random.choice(("", "", text)),
        random.choice(("", "", text)),
        random.choice(("90s", "90s", text)),
        release_owner=random.choice(choices),
        prunes=True,
        deletes_finished_jobs=False,
    )


def fuzz_answers(random: Random) -> None:
    """Run attach, collect, status and adopt in a cluster with wrong answers."""
    seed = random.randrange(2**32)
    remember(str(seed).encode())
    check_faults(Random(seed))
    check_values(Random(seed))


TARGETS: dict[str, Callable[[Random], None]] = {
    "parser": fuzz_parser,
    "render": fuzz_render,
    "preview": fuzz_preview,
    "attach": fuzz_attach,
    "answers": fuzz_answers,
}
_last_input = b""


def remember(data: bytes) -> None:
    """Remember an input before a target uses it, for the report of a finding."""
    global _last_input
    _last_input = data


def fuzz(
    seconds: float = inf,
    seed: int = 0,
    names: tuple[str, ...] = tuple(TARGETS),
    rounds: int = sys.maxsize,
) -> Report:
    """Run the targets in turn, and return the counts and the findings.

    rounds: the number of inputs for each target, unless the seconds are over before.
    """
    random = Random(seed)
    report = Report(Counter(), [])
    speeds: dict[str, list[float]] = {name: [] for name in names}
    end = perf_counter() + seconds
    for _ in range(rounds):
        if perf_counter() > end:
            break
        for name in names:
            start = thread_time()
            result, problem = "accepted", ""
            try:
                TARGETS[name](random)
            except (UserError, UsageError):
                result = "refused"
            except Exception as error:  # any other exception is a finding
                result, problem = "FAILED", f"{type(error).__name__}: {error}"[:300]
            taken = thread_time() - start
            speed = taken / max(len(_last_input), 1000)
            usual = median(speeds[name][-999:]) if len(speeds[name]) > 30 else speed
            if taken > SLOW_SECONDS and speed > usual * SLOW_RATIO:
                result, problem = "FAILED", f"slow: {taken:.1f} s"
            speeds[name].append(speed)
            report.counts[f"{name} {result}"] += 1
            if problem:
                report.findings.append(Finding(name, problem, _last_input))
    return report


def main() -> int:
    """Fuzz for a number of seconds, and print the counts and the findings."""
    seconds, seed = [
        *map(int, sys.argv[1:]),
        *[300, Random().randrange(2**32)][len(sys.argv) - 1 :],
    ]
    print(f"seed {seed}", flush=True)
    report = fuzz(seconds, seed)
    for name, count in sorted(report.counts.items()):
        print(f"{name}: {count:,}")
    problems = Counter((finding.target, finding.problem) for finding in report.findings)
    for (target, problem), count in problems.most_common(20):
        example = min(
            (f.data for f in report.findings if (f.target, f.problem) == (target, problem)), key=len
        )
        print(f"\nFINDING {target} ({count} times): {problem}\n{example!r}")
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
