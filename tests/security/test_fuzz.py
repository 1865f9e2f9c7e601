"""A short run of the fuzzer with a fixed seed."""

from __future__ import annotations

from itertools import count
from random import Random

import pytest

from postrender.errors import UserError
from tests.security import fuzz

# A number of inputs, because a fast machine would run more inputs in a fixed time. `make fuzz` runs
# the fuzzer for minutes.
ROUNDS = 300


def test_random_inputs_have_no_finding() -> None:
    # tests/attach/test_faults.py runs the target `answers`, with fewer inputs.
    names = tuple(name for name in fuzz.TARGETS if name != "answers")
    report = fuzz.fuzz(seed=7, names=names, rounds=ROUNDS)
    assert not report.findings
    assert all(report.counts[f"{target} accepted"] for target in names)


@pytest.mark.parametrize(
    ("problem", "error"),
    [("ValueError: no", ValueError("no")), ("", UserError("no", "No")), ("slow", None)],
)
def test_a_finding_is_an_exception_or_a_slow_run(
    problem: str, error: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def target(_: Random) -> None:
        fuzz.remember(b"x")
        if error:
            raise error
        if next(rounds) > 50:
            sum(range(5_000_000))

    rounds = count()
    monkeypatch.setattr(fuzz, "SLOW_SECONDS", 0.01)
    monkeypatch.setattr(fuzz, "TARGETS", {"target": target})
    report = fuzz.fuzz(0.5, seed=1, names=("target",))
    # On a busy machine, any run may also be slow.
    problems = [
        finding.problem
        for finding in report.findings
        if problem == "slow" or not finding.problem.startswith("slow")
    ]
    assert bool(problems) is bool(problem)
    assert all(text.startswith(problem) for text in problems)
