"""The list of defences names code and tests that exist. `make fuzz` breaks each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.security.defences import ROOT, Defence, defences


@pytest.mark.parametrize("defence", defences(), ids=lambda defence: defence.test.rpartition(":")[2])
def test_a_defence_is_in_the_code(defence: Defence) -> None:
    assert (ROOT / defence.file).read_text().count(defence.code) == 1
    file, _, name = defence.test.partition("::")
    assert f"def {name}" in Path(ROOT / file).read_text()
    assert defence.code != defence.broken
