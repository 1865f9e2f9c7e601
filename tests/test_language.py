"""Messages, help and tables are written by the rules in tests/language.py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

import click

from postrender.cli.click_app import app
from tests.language import (
    ROOT,
    Text,
    form_problems,
    message_texts,
    problems,
    schema_texts,
    table_texts,
)

PACKAGE = ROOT / "postrender"
# click truncates a longer summary in the list of commands.
MAX_SUMMARY = 45


def test_messages() -> None:
    texts = list(chain.from_iterable(map(message_texts, sorted(PACKAGE.rglob("*.py")))))
    assert len(texts) > 200
    assert [line for text in texts for line in (*problems(text), *form_problems(text))] == []


def test_descriptions_in_schemas() -> None:
    texts = list(chain.from_iterable(map(schema_texts, sorted(PACKAGE.rglob("*.schema.json")))))
    assert len(texts) > 100
    assert list(chain.from_iterable(map(problems, texts))) == []


def test_tables_of_the_docs() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    texts = list(chain.from_iterable(map(table_texts, pages)))
    assert len(texts) > 200
    assert list(chain.from_iterable(map(problems, texts))) == []


def commands(command: click.Command) -> Iterator[click.Command]:
    yield command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), name)
            assert inner
            yield from commands(inner)


def summary(help_text: str) -> str:
    return help_text.strip().split("\n")[0].split(". ")[0].rstrip(".")


def test_help_begins_with_a_short_imperative() -> None:
    for command in commands(app()):
        options = [option for option in command.params if isinstance(option, click.Option)]
        for text in [command.help, *(option.help for option in options)]:
            first = summary(text or "")
            assert 0 < len(first) <= MAX_SUMMARY, (command.name, first)
            assert re.match(r"(?!The |An? )[A-Z][a-z]+(?<![^s]s)[, ]", first), (command.name, first)
            found = problems(Text(ROOT / "help", 0, "help", text or ""))
            assert list(found) == [], command.name
