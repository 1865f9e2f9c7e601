"""The output of `make story` in README.md. The values are those that test_story.py finds."""

from __future__ import annotations

from tests.e2e.node.demonstration import table
from tests.e2e.node.story import OWN_WAYS, TITLES, WAYS, Row
from tests.e2e.programs import ROOT


def test_the_readme_shows_the_tables() -> None:
    without = [
        Row(title, release, dict.fromkeys(OWN_WAYS, value))
        for (title, release), value in zip(TITLES.items(), ("v1", "v2", "v2", "v2"), strict=True)
    ]
    rows = [Row(title, release, dict.fromkeys(WAYS, release)) for title, release in TITLES.items()]
    readme = (ROOT / "README.md").read_text("utf-8")
    assert table("Without postrender", without) in readme
    assert table("With postrender", rows) in readme
