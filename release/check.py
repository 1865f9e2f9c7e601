"""Check everything that a release publishes, and publish nothing: make release-check.

    python -m release.check [--only STEP]...

The steps work in a clean clone of the last commit. Each step prints one line: `ok`, `FAILED`, or
`skipped` with the reason. The exit code is 1 if a step failed. The folder .cache/release keeps the
tools and the base images for the next run, and the whole output of each failed step.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from release import steps
from release.bench import CACHE, PYTHONS, ROOT, Bench, CheckError, SkipError
from release.jobs import JobError

OK, FAILED, SKIPPED = "ok", "FAILED", "skipped"


class Step(NamedTuple):
    """A step: its name, and the function that returns the text of its line."""

    name: str
    run: Callable[[Bench], str]


class Result(NamedTuple):
    """The result of a step."""

    name: str
    outcome: str
    seconds: float
    text: str


STEPS = (
    Step("versions", steps.versions),
    Step("workflows", steps.workflows),
    Step("packages", steps.packages),
    Step("metadata", steps.metadata),
    *(Step(f"python-{version}", steps.installation(version)) for version in PYTHONS),
    Step("windows", steps.windows),
    Step("sbom", steps.sbom),
    Step("image", steps.image),
    Step("image-arm64", steps.image_arm64),
    Step("plugin", steps.plugin),
    Step("formula", steps.formula),
    Step("github-action", steps.github_action),
    Step("gitlab-component", steps.gitlab_component),
)


def run(step: Step, bench: Bench) -> Result:
    """Run a step."""
    started = time.monotonic()
    try:
        outcome, text = OK, step.run(bench)
    except SkipError as reason:
        outcome, text = SKIPPED, str(reason)
    except (CheckError, JobError, OSError, subprocess.SubprocessError) as error:
        outcome, text = FAILED, str(error)
    return Result(step.name, outcome, time.monotonic() - started, text)


def line(result: Result) -> str:
    """Return the line for a result; for a failure, with the last line of the output."""
    lines = result.text.strip().splitlines() or [""]
    text = lines[-1] if result.outcome == FAILED else lines[0]
    return f"{result.outcome:8}{result.name:18}{result.seconds:6.1f} s  {text}"


def summary(results: Sequence[Result]) -> str:
    """Return the last line of the output."""
    outcomes = [result.outcome for result in results]
    return ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in (OK, FAILED, SKIPPED))


def exit_code(results: Sequence[Result]) -> int:
    """Return the exit code: 1 if a step failed."""
    return int(any(result.outcome == FAILED for result in results))


def chosen(only: Sequence[str]) -> list[Step]:
    """Return the steps with these names, or all steps."""
    return [step for step in STEPS if not only or step.name in only]


def main(arguments: Sequence[str]) -> int:
    """Run the steps; return the exit code."""
    parser = argparse.ArgumentParser(prog="release.check", description="Check a release.")
    parser.add_argument("--only", metavar="STEP", action="append", default=[])
    only = parser.parse_args(arguments).only
    unknown = set(only) - {step.name for step in STEPS}
    if unknown:
        names = ", ".join(step.name for step in STEPS)
        parser.error(f"{', '.join(sorted(unknown))} is not a step. Choose from: {names}")
    CACHE.mkdir(parents=True, exist_ok=True)
    if subprocess.check_output(["git", "status", "--short", "--untracked-files=no"], cwd=ROOT):
        print("note: the check ignores changes that are not committed")
    with tempfile.TemporaryDirectory(prefix="release-check-") as work:
        bench = Bench(Path(work))
        results = []
        for step in chosen(only):
            result = run(step, bench)
            results.append(result)
            print(line(result), flush=True)
            log = CACHE / f"{step.name}.log"
            log.unlink(missing_ok=True)
            if result.outcome == FAILED:
                log.write_text(result.text + "\n", "utf-8")
    print(summary(results))
    return exit_code(results)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
