"""A pytest plugin that skips the end-to-end tests, or fails, if their programs are not built."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.programs import HERE, folder, present


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


def _is_selected(config: pytest.Config) -> bool:
    """Return whether the paths given to pytest include these tests."""
    paths = [
        Path(config.invocation_params.dir, arg.split("::")[0]).resolve() for arg in config.args
    ]
    return any(path == HERE or HERE in path.parents or path in HERE.parents for path in paths)
