"""A pytest plugin that skips the end-to-end tests, or fails, if their programs are not built.

The plugin also reports why tests with a real node are skipped.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.programs import HERE, folder, present

NODE_TESTS = "tests/e2e/node/"


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to run if the tests are required and their programs are not built."""
    if os.environ.get("POSTRENDER_E2E_REQUIRED") == "1" and _is_selected(config) and not present():
        raise pytest.UsageError(f"the programs for the end-to-end tests are not in {folder()}")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Ignore the test modules, so that collection stays fast."""
    if HERE in collection_path.parents and not present():
        return True
    return None


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Report that the tests were skipped."""
    if _is_selected(config) and not present():
        terminalreporter.write_line(
            "end-to-end tests skipped: `make e2e` builds what they run (Go, 20 minutes)"
        )
    skipped = terminalreporter.stats.get("skipped", [])
    for reason in sorted({_reason(report) for report in skipped if NODE_TESTS in report.nodeid}):
        terminalreporter.write_line(reason)


def _reason(report: pytest.TestReport) -> str:
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


def _is_selected(config: pytest.Config) -> bool:
    """Return whether the paths given to pytest include these tests."""
    paths = [
        Path(config.invocation_params.dir, arg.split("::")[0]).resolve() for arg in config.args
    ]
    return any(path == HERE or HERE in path.parents or path in HERE.parents for path in paths)
