"""Run the tests with each version of each tool; record the results in results.yaml and the docs.

    python -m tests.e2e.matrix [PREFIX ...]     for example helm-4.1, argo-cd, or variants

A cell is one version of one tool, together with the versions of the other tools that CI runs.
versions.yaml has the cells. `make matrix` runs all cells, and `make matrix CELL=helm-4.1` one cell.
`variants` are the long variants of all tests (tests.rings.in_matrix), with the versions of CI.
"""

from __future__ import annotations

import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.e2e.build import BuildError, build, build_defaults
from tests.e2e.programs import ROOT, folder_of, version
from tests.e2e.versions import HERE, Cell, cells, read, selected

RESULTS = HERE / "results.yaml"
HEAD = """\
# The results of the version matrix. `make matrix` writes this file: do not edit it.
# passed, failed, skipped: numbers of tests. seconds: the time of the tests, without the build.
# kubernetes: the version of Kubernetes in the tests.
"""
PASSED, FAILED = "passed", "failed"
VARIANTS = "variants"
# More processes make the tests slower on two cores.
WORKERS = os.environ.get("POSTRENDER_MATRIX_WORKERS", "4")


class MatrixError(Exception):
    """A cell cannot run; the message describes the problem."""


class Result(NamedTuple):
    """The result of one cell."""

    passed: int
    failed: int
    skipped: int
    seconds: int
    date: str
    kubernetes: str

    @property
    def word(self) -> str:
        """The result as one word."""
        return PASSED if self.passed and not self.failed else FAILED


def results() -> dict[str, Result]:
    """Return the recorded results, by the name of the cell."""
    recorded: Mapping[str, Any] = (read(RESULTS) if RESULTS.exists() else None) or {}
    return {name: Result(**entry) for name, entry in recorded.items()}


def record(name: str, result: Result) -> None:
    """Add a result to the file, in the order of the cells."""
    known = {**results(), name: result}
    # JSON is valid YAML, and quotes the texts that YAML reads as dates.
    lines = [
        f"{cell.name}: {json.dumps(known[cell.name]._asdict())}\n"
        for cell in cells()
        if cell.name in known
    ]
    RESULTS.write_text(HEAD + "".join(lines), "utf-8")


def run(cell: Cell) -> Result:
    """Build the program of a cell, and run the tests of the cell."""
    if cell.program:
        build(cell)
        python = Path(sys.executable)
    else:
        python = environment(cell)
    print(f"testing {cell.title} {cell.version} ...", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="postrender-matrix-") as name:
        report, log = Path(name, "report.xml"), folder_of(cell) / "log.txt"
        began = time.monotonic()
        options = ["-n", WORKERS, "--dist", "worksteal", "-q", "-rfE", f"--junit-xml={report}"]
        with log.open("w") as output:
            subprocess.run(
                [str(python), "-m", "pytest", *options, *cell.tests],
                cwd=ROOT,
                env=variables(cell),
                stdout=output,
                stderr=output,
            )
        if not report.exists():
            raise MatrixError(f"pytest wrote no report: see {log}")
        result = summary(cell, report, round(time.monotonic() - began))
    counts = f"{result.passed} passed, {result.failed} failed, {result.skipped} skipped"
    print(f"  {counts}, {result.seconds} s: {log}", file=sys.stderr, flush=True)
    return result


def run_variants() -> int:
    """Run the long variants of all tests with the programs of CI; return 1 if a test failed.

    The list of a cell has only the tests that depend on the version of its tool.
    """
    options = ["-n", WORKERS, "--dist", "worksteal", "-m", "in_matrix"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "tests/e2e"],
        cwd=ROOT,
        env={**os.environ, "POSTRENDER_E2E_CELL": ""},
    )
    return int(done.returncode != 0)


def variables(cell: Cell) -> dict[str, str]:
    """Return the environment of a cell's tests."""
    own = {"POSTRENDER_E2E_CELL": cell.name} if cell.program else {}
    return {**os.environ, **own}


def environment(cell: Cell) -> Path:
    """Return the Python of a virtual environment with the version of a cell."""
    folder = folder_of(cell)
    folder.mkdir(parents=True, exist_ok=True)
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        found = interpreter(cell.version) or debian_python(cell.version, folder / "debian")
        print(f"creating an environment with {found} ...", file=sys.stderr)
        # The pip of this process can be too old for a newer Python.
        subprocess.run([found, "-I", "-m", "venv", str(folder / "venv")], check=True)
        install = ["-I", "-m", "pip", "install", "--quiet", "--editable", ".[dev]"]
        if subprocess.run([str(python), *install], cwd=ROOT).returncode:
            shutil.rmtree(folder / "venv")  # the next run would use it
            raise MatrixError(f"pip cannot install the packages for Python {cell.version}")
    return python


def interpreter(version: str) -> str | None:
    """Return the path of a Python with this version, from pyenv or from PATH."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates = sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))
    return str(candidates[-1]) if candidates else shutil.which(f"python{version}")


def debian_python(version: str, target: Path) -> str:
    """Return the path of a Python from the packages of Debian's next release."""
    done = subprocess.run([str(HERE / "debian-python"), version, str(target)])
    if done.returncode:
        raise MatrixError(f"Python {version} is not installed")
    return str(target / "usr" / "bin" / f"python{version}")


def summary(cell: Cell, report: Path, seconds: int) -> Result:
    """Return the result in a report of pytest."""
    [suite] = ElementTree.parse(report).getroot().iter("testsuite")
    total, skipped, failed = (
        sum(int(suite.get(name, 0)) for name in names)
        for names in (("tests",), ("skipped",), ("failures", "errors"))
    )
    kubernetes = ".".join(map(str, version("kubernetes", cell.name)))
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    return Result(
        passed=total - skipped - failed,
        failed=failed,
        skipped=skipped,
        seconds=seconds,
        date=today,
        kubernetes=kubernetes if cell.program else "",
    )


def main(prefixes: Sequence[str]) -> int:
    """Run the selected cells; return 1 if a test failed or a cell cannot run."""
    chosen = [cell for prefix in prefixes for cell in selected(prefix)]
    chosen = chosen if prefixes else list(cells())
    has_variants = not prefixes or VARIANTS in prefixes
    if not chosen and not has_variants:
        names = ", ".join([VARIANTS, *(cell.name for cell in cells() if cell.tests)])
        print(f"error: no cell has this name. The cells are {names}", file=sys.stderr)
        return 1
    code = 0
    if has_variants or any(cell.program for cell in chosen):
        build_defaults()
    if has_variants:
        code |= run_variants()
    for cell in chosen:
        if not cell.tests:
            continue
        try:
            result = run(cell)
        except (BuildError, MatrixError, subprocess.CalledProcessError) as error:
            print(f"error: {cell.name}: {error}", file=sys.stderr)
            code = 1
            continue
        record(cell.name, result)
        # docs/data/versions.csv has the results too, and a test compares them.
        subprocess.run([sys.executable, "docs/generate.py"], cwd=ROOT, check=True)
        code |= result.word != PASSED
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
