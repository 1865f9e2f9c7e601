"""`pytest --update-golden`: write the output of the program as the expected output.

With the option, only the tests marked `golden` run. Each of them writes its expected output, and
reports the changed case for the summary. A person then reviews the changes as a diff.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PROPERTY = "golden case"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option --update-golden."""
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite the expected output of the golden cases, and run nothing else",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker `golden`."""
    config.addinivalue_line("markers", "golden: compares with a file that --update-golden rewrites")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run only the tests marked `golden` if --update-golden is given."""
    if not config.getoption("--update-golden"):
        return
    selected = [item for item in items if item.get_closest_marker("golden")]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(selected)])
    items[:] = selected


Update = Callable[[str, bool], None]
CheckFile = Callable[[Path, str], None]


@pytest.fixture
def update_golden(
    request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> Update | None:
    """Return a function that reports an updated case, or None without --update-golden."""
    if not request.config.getoption("--update-golden"):
        return None

    def report(name: str, has_changed: bool) -> None:
        if has_changed:
            record_property(PROPERTY, name)

    return report


@pytest.fixture
def golden_file(update_golden: Update | None) -> CheckFile:
    """Return a function that compares a file with a text, or writes the text to the file."""

    def check(file: Path, text: str) -> None:
        expected = file.read_bytes().decode() if file.exists() else None
        if update_golden:
            file.write_bytes(text.encode())
            update_golden(f"{file.parent.name}/{file.name}", text != expected)
        else:
            assert text == expected

    return check


def _changed(reporter: pytest.TerminalReporter) -> Iterator[str]:
    for report in reporter.stats.get("passed", []):
        yield from (str(value) for key, value in report.user_properties if key == PROPERTY)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """List the golden cases that changed."""
    if not config.getoption("--update-golden"):
        return
    names = sorted(set(_changed(terminalreporter)))
    terminalreporter.section(f"{len(names)} golden cases changed")
    for name in names:
        terminalreporter.line(name)
