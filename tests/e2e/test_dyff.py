"""The output of dyff 1.12.0 for the pairs with which tests/diff/COMPARISON.md compares dyff."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.diff.change_cases import PAIRS, Case, case_named, rendered
from tests.e2e.programs import program

SIDES = {"dyff.txt": (), "dyff-rendered.txt": ("old", "new")}


def dyff(case: Case, name: str, folder: Path, binary: str = "") -> str:
    """Return dyff's output for a case, from the original or from the rendered files."""
    rendered(case, folder, *SIDES[name])
    command = [binary or program("dyff"), "between", "--omit-header", "--color=off"]
    sides = ["--fixed-width=80", case.old, case.new]
    done = subprocess.run([*command, *sides], cwd=folder, capture_output=True, check=True)
    return done.stdout.decode()


@pytest.mark.parametrize("name", SIDES)
@pytest.mark.parametrize("pair", PAIRS)
def test_dyff_prints_the_documented_output(pair: str, name: str, tmp_path: Path) -> None:
    case = case_named(pair)
    assert dyff(case, name, tmp_path) == case.expected(name)
