"""Fixtures of the attacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.security.attack import Attack


@pytest.fixture
def attack(tmp_path: Path) -> Attack:
    """Return a repository of an attacker, in an empty folder."""
    return Attack(tmp_path)
