"""A pytest plugin: what happens to the end-to-end tests where their programs were not built."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.programs import HERE, folder, present


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to run where the tests are required, and the programs are not there."""
    if os.environ.get("POSTRENDER_E2E_REQUIRED") == "1" and _concerned(config) and not present():
        raise pytest.UsageError(f"the programs for the end-to-end tests are not in {folder()}")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Pass over the tests' modules, which takes no time at all."""
    if HERE in collection_path.parents and not present():
        return True
    return None


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say that they were passed over."""
    if _concerned(config) and not present():
        terminalreporter.write_line(
            "end-to-end tests skipped: `make e2e` builds what they run (Go, 20 minutes)"
        )


def _concerned(config: pytest.Config) -> bool:
    """Tell whether what pytest was asked for has to do with these tests."""
    asked = [
        Path(config.invocation_params.dir, arg.split("::")[0]).resolve() for arg in config.args
    ]
    return any(path == HERE or HERE in path.parents or path in HERE.parents for path in asked)
