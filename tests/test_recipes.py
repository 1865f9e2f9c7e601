"""What docs/coming-from.md shows of the recipes is what the end-to-end tests run."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.update_golden import CheckFile

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "coming-from.md"
RECIPES = ROOT / "tests" / "e2e" / "coming"
SHOWN = re.compile(r"^<!-- diff: (\S+) -->\n\n(?:```diff\n(.*?)^```$)?", re.M | re.S)


def changes(title: str) -> str:
    """Return what a recipe changes in the files that there are before and after."""
    return "".join(_changes(RECIPES / title))


def _changes(recipe: Path) -> Iterator[str]:
    for after in sorted((recipe / "after").rglob("*")):
        file = after.relative_to(recipe / "after")
        before = recipe / "before" / file
        if after.is_file() and before.exists() and after.name != "Chart.yaml":
            lines = list(difflib.unified_diff(_lines(before), _lines(after), n=2))[2:]
            shown = ["@@\n" if line.startswith("@@") else line for line in lines]
            yield from [f"# {file}\n", *shown] if shown else []


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines(keepends=True)


@pytest.mark.golden
def test_the_page_shows_what_recipes_change(golden_file: CheckFile) -> None:
    text = PAGE.read_text()
    titles = {path.name for path in RECIPES.iterdir()} - {"pulumi"}
    assert {found[1] for found in SHOWN.finditer(text)} == titles
    golden_file(PAGE, SHOWN.sub(_shown, text))


def _shown(found: re.Match[str]) -> str:
    return f"<!-- diff: {found[1]} -->\n\n```diff\n{changes(found[1])}```"


def test_the_page_shows_the_pulumi_program() -> None:
    program = (RECIPES / "pulumi" / "after" / "Pulumi.yaml").read_text()
    assert f"```yaml\n# Pulumi.yaml\n{program}```" in PAGE.read_text()
