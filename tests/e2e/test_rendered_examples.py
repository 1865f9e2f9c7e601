"""The files in examples/rendered are the output of Helm for the example chart."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.e2e.programs import ROOT, program

RENDERED = ROOT / "examples" / "rendered"


def without_blank_ends(text: str) -> str:
    """Return a text without the blank line that Helm 4 prints after each document."""
    return re.sub(r"\n+(?=---$)", "\n", text, flags=re.MULTILINE)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_rendered_files_are_up_to_date(version: str) -> None:
    values = f"examples/chart/values-{version}.yaml"
    command = [program("helm4"), "template", "demo", "examples/chart", "-f", values]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stderr
    expected = (RENDERED / f"{version}.yaml").read_text(encoding="utf-8")
    assert without_blank_ends(run.stdout) == without_blank_ends(expected)
