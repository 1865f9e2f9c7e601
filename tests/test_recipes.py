"""What docs/coming-from.md shows of the recipes is what the end-to-end tests run."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    "title", sorted(path.name for path in RECIPES.iterdir() if path.name != "pulumi")
)
def test_the_page_shows_what_a_recipe_changes(title: str) -> None:
    shown = dict(SHOWN.findall(PAGE.read_text()))
    assert shown[title] == changes(title)


def test_the_page_shows_the_pulumi_program() -> None:
    program = (RECIPES / "pulumi" / "after" / "Pulumi.yaml").read_text()
    assert f"```yaml\n# Pulumi.yaml\n{program}```" in PAGE.read_text()


def write() -> None:
    """Write the shown changes anew: `python -m tests.test_recipes`."""
    text = SHOWN.sub(
        lambda found: f"<!-- diff: {found[1]} -->\n\n```diff\n{changes(found[1])}```",
        PAGE.read_text(),
    )
    PAGE.write_text(text)


if __name__ == "__main__":
    write()
