"""The rings of tests: `make test` needs only Python, `make e2e` needs other programs.

pyproject.toml leaves out the folders of the second ring, unless pytest gets a path in them.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.e2e.programs import HERE, folder, present

TESTS = Path(__file__).resolve().parent
IS_MATRIX = "POSTRENDER_E2E_CELL" in os.environ
# At the end of a run, other processes would wait for these tests.
_LONGEST = {"test_no_shape_takes_more_than_n_log_n", "test_a_regular_expression_takes_linear_time"}
# For long variants of tests, of which `make e2e` runs one. `make matrix` runs all of them.
in_matrix = pytest.mark.in_matrix
# A behaviour that does not depend on Helm's version is tested with one of both Helms.
helm_3_in_matrix = pytest.mark.parametrize(
    "release", [pytest.param("helm3", marks=in_matrix), "helm4"], indirect=True
)
helm_4_in_matrix = pytest.mark.parametrize(
    "release", ["helm3", pytest.param("helm4", marks=in_matrix)], indirect=True
)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to run end-to-end tests without their programs."""
    if not present() and any(path.is_relative_to(HERE) for path in _paths(config)):
        raise pytest.UsageError(
            f"the programs of the end-to-end tests are not in {folder()}. Run `make e2e`"
        )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests but no garbage: nearly all objects stay, and looking at them takes long."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the long variants, except in the matrix, and begin with the longest tests."""
    items.sort(key=lambda item: item.name not in _LONGEST)
    if not IS_MATRIX:
        for item in items:
            if item.get_closest_marker(in_matrix.name):
                item.add_marker(pytest.mark.skip(reason="a long test, which make matrix runs"))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print one line for the ring that did not run, and one for each reason of skipped tests."""
    if TESTS in _paths(config):
        terminalreporter.write_line(
            "not run: tests/e2e and tests/browser, which need other programs (`make e2e`)"
        )
    reasons = Counter(map(_reason, terminalreporter.stats.get("skipped", [])))
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"skipped {count}: {reason}")


def _reason(report: pytest.TestReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")


def _paths(config: pytest.Config) -> list[Path]:
    """Return the paths that pytest was given."""
    return [Path(config.invocation_params.dir, arg.split("::")[0]).resolve() for arg in config.args]
