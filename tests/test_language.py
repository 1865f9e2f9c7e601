"""Everything that a person reads is written by the rules in tests/language.py."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

from postrender.cli.click_app import app
from tests.language import (
    MAX_SUMMARY,
    ROOT,
    code_texts,
    form_problems,
    message_texts,
    page_texts,
    problems,
    schema_texts,
)

CODE = sorted((ROOT / "postrender").rglob("*.py"))
TESTS = sorted(
    path
    for folder in ("tests", "benchmarks", "docs")
    for path in (ROOT / folder).rglob("*.py")
    if "fixtures" not in path.parts
)
SCHEMAS = sorted((ROOT / "postrender").rglob("*.schema.json"))
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += sorted((ROOT / "benchmarks").rglob("*.md"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("file", CODE, ids=name_of)
def test_code(file: Path) -> None:
    found = chain.from_iterable(map(problems, code_texts(file)))
    assert not list(found)


@pytest.mark.parametrize("file", TESTS, ids=name_of)
def test_tests(file: Path) -> None:
    if file.name in ("language.py", "test_language.py"):
        pytest.skip("the rules themselves")
    found = chain.from_iterable(map(problems, code_texts(file)))
    assert not list(found)


@pytest.mark.parametrize("file", CODE, ids=name_of)
def test_messages(file: Path) -> None:
    texts = list(message_texts(file))
    assert not [line for text in texts for line in (*problems(text), *form_problems(text))]


@pytest.mark.parametrize("file", SCHEMAS, ids=name_of)
def test_schemas(file: Path) -> None:
    assert not list(chain.from_iterable(map(problems, schema_texts(file))))


@pytest.mark.parametrize("file", PAGES, ids=name_of)
def test_pages(file: Path) -> None:
    assert not list(chain.from_iterable(map(problems, page_texts(file))))


def test_summaries_are_not_cut_off() -> None:
    for name, command in app().commands.items():
        summary = (command.help or "").strip().split("\n")[0].split(". ")[0].rstrip(".")
        assert 0 < len(summary) <= MAX_SUMMARY, (name, summary)
