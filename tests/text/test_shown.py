"""Values in messages."""

from __future__ import annotations

import pytest

from postrender.text import shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", '"text"'),
        ("it's", '"it\'s"'),
        ('a "b" \\', r'"a \"b\" \\"'),
        ("ä\n", r'"ä\n"'),
        ("", '""'),
        (True, "true"),
        (False, "false"),
        (None, "null"),
        (3, "3"),
        (1.5, "1.5"),
        ({"a": 1}, "a mapping"),
        ([1], "a list"),
    ],
)
def test_a_value_is_printed_as_json(value: object, text: str) -> None:
    assert shown(value) == text
