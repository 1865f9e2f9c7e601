"""The recipes in docs/how-to/migrate.md are those that the end-to-end tests run."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.update_golden import CheckFile

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "how-to" / "migrate.md"
RECIPES = ROOT / "tests" / "e2e" / "migrations"
SHOWN = re.compile(r"^<!-- diff: (\S+) -->\n\n(?:```diff\n(.*?)^```$)?", re.M | re.S)


def changes(title: str) -> str:
    """Return the diff of a recipe, of the files that exist both before and after."""
    return "".join(_changes(RECIPES / title))


def _changes(recipe: Path) -> Iterator[str]:
    for after in sorted((recipe / "after").rglob("*")):
        file = after.relative_to(recipe / "after")
        before = recipe / "before" / file
        if after.is_file() and before.exists() and after.name != "Chart.yaml":
            lines = list(difflib.unified_diff(_lines(before), _lines(after), n=2))[2:]
            diff = ["@@\n" if line.startswith("@@") else line for line in lines]
            yield from [f"# {file}\n", *diff] if diff else []


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines(keepends=True)


@pytest.mark.golden
def test_the_page_shows_the_diff_of_each_recipe(golden_file: CheckFile) -> None:
    text = PAGE.read_text()
    titles = {path.name for path in RECIPES.iterdir()} - {"pulumi"}
    assert {match[1] for match in SHOWN.finditer(text)} == titles
    golden_file(PAGE, SHOWN.sub(_shown, text))


def _shown(match: re.Match[str]) -> str:
    return f"<!-- diff: {match[1]} -->\n\n```diff\n{changes(match[1])}```"


def test_the_page_shows_the_pulumi_program() -> None:
    program = (RECIPES / "pulumi" / "after" / "Pulumi.yaml").read_text()
    assert f"```yaml\n# Pulumi.yaml\n{program}```" in PAGE.read_text()
