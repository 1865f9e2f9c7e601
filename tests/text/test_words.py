"""The search for names as whole words."""

from __future__ import annotations

import pytest

from postrender.text.words import WordSet

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
    ],
)
def test_words_are_counted(text: str, count: int, others: list[str]) -> None:
    names = WordSet(["app", *others])
    assert names.count_in(text) == count
    assert [names.has_more_than(number, text) for number in range(5)] == [
        count > number for number in range(5)
    ]
