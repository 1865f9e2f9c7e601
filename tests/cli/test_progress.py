"""The line about a long command."""

from __future__ import annotations

import io
import sys

import pytest

from postrender.cli.progress import progress


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_fast_command_writes_nothing(monkeypatch: pytest.MonkeyPatch, is_terminal: bool) -> None:
    stderr = io.StringIO()
    monkeypatch.setattr(stderr, "isatty", lambda: is_terminal, raising=False)
    monkeypatch.setattr(sys, "stderr", stderr)
    with progress("works", after=60):
        pass
    assert stderr.getvalue() == ""
