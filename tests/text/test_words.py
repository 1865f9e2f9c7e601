"""The search for names as whole words."""

from __future__ import annotations

import pytest

from postrender.text import WordSet, replace_words, words_of

MANY = [f"web-{number}" for number in range(20)]


@pytest.mark.parametrize("others", [[], MANY], ids=["few names", "many names"])
@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("name: app-config", 0),
        ("name: app\nother: [app, my.app, app_1]", 3),
        ("app app-config app-config", 1),
        ("äappä (app)", 2),
        ('NAME="${NAME:-app}"', 1),
    ],
)
def test_words_are_counted(text: str, count: int, others: list[str]) -> None:
    names = WordSet(["app", *others])
    assert names.count_in(text) == count
    assert [names.has_more_than(number, text) for number in range(5)] == [
        count > number for number in range(5)
    ]


@pytest.mark.parametrize(
    ("text", "words", "replaced"),
    [
        ("${NAME:-app}", ["NAME", "app"], "${NAME:-app-1}"),
        ("cm/${NAME-app}", ["cm", "NAME", "app"], "cm/${NAME-app-1}"),
        # The text in front of a variable and its default value form one name.
        ("my-${NAME:-app}", ["my-", "NAME", "-app"], "my-${NAME:-app}"),
        ("--app app-x :-app", ["--app", "app-x", "-app"], "--app app-x :-app"),
    ],
)
def test_the_default_value_of_a_variable_is_a_word(
    text: str, words: list[str], replaced: str
) -> None:
    assert words_of(text) == words
    assert replace_words(text, {"app": "app-1"}) == replaced
