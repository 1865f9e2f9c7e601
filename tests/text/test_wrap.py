"""Texts on a terminal with few columns."""

from __future__ import annotations

import pytest

from postrender.terminal import wrap


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a bb", ["a bb"]),
        ("a bbb cc", ["a bbb", "cc"]),
        ("a b/cccc", ["a", "b/cccc"]),  # a word that fits on a line is not broken
        ("a b/ccccc", ["a b/", "ccccc"]),
        ("aaaaaaaaa", ["aaaaaa", "aaa"]),
        ("日本語日", ["日本語", "日"]),
    ],
)
def test_a_text_fits_in_six_columns(text: str, lines: list[str]) -> None:
    assert wrap(text, 6, "", "") == lines
