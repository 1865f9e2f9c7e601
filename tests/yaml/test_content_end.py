"""The end of a node's content, without the comments after it."""

from __future__ import annotations

import re
from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from postrender.yaml.node_edits import _end_without_comments

# The obvious expression, which takes exponential time.
TRAILING = re.compile(r"(?:\s|(?<=\s)#[^\n]*)+\Z")


@given(st.text("a #:\n\t\r", max_size=14))
def test_the_end_is_that_of_the_obvious_expression(text: str) -> None:
    content = f"key:{text}"
    expected = len(TRAILING.sub("", content))
    assert _end_without_comments(f"-  {content}  ", 3, 3 + len(content)) == 3 + expected


def test_many_comments_take_linear_time() -> None:
    text = "key: " + "# " * 50_000 + "\n" + "  # x\n" * 50_000
    start = process_time()
    assert _end_without_comments(text, 0, len(text)) == 4
    assert process_time() - start < 5
