"""Each command on a page is run by a test, or the page has the reason why not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.pages import PAGES, ROOT, SHELL, Block, blocks_of

BLOCKS = [block for page in PAGES for block in blocks_of(page) if block.language in SHELL]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_a_test_runs_the_commands_or_the_page_has_a_reason(block: Block) -> None:
    recipe = re.match(r"# (.+)\n", block.text)
    if block.page.name == "migrate.md" and block.language == "sh" and recipe:
        source = (ROOT / "tests" / "e2e" / "test_migrate.py").read_text("utf-8")
        assert f'run("{recipe[1]}"' in source
        return
    assert block.run_by or len(block.reason.split()) > 2, block.text
    for reference in filter(None, re.split(r",\s*", block.run_by)):
        module, _, name = reference.partition("#")
        source = (ROOT / module).read_text("utf-8")
        assert re.search(rf"^def {name}\(", source, re.M), reference
        assert block.page.name in source, f"{module} does not read {block.page.name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_code_block_is_fenced_and_has_a_language(page: Path) -> None:
    cmarkgfm = pytest.importorskip("cmarkgfm", reason="not for Python 3.15 yet")
    html = cmarkgfm.github_flavored_markdown_to_html(page.read_text("utf-8"))
    assert "<pre><code>" not in html


def test_every_page_is_in_the_index_and_in_the_menu_of_the_site() -> None:
    docs = ROOT / "docs"
    names = {str(page.relative_to(docs)) for page in docs.rglob("*.md")} - {"index.md"}
    index = (docs / "index.md").read_text("utf-8")
    menu = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert {name for name in names if f"({name}" not in index} == set()
    assert {name for name in names if f": {name}\n" not in menu} == set()
