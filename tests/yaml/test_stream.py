"""Splitting a stream into documents loses no byte and numbers the documents."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postrender.errors import UserError
from postrender.yaml.stream import has_content, read_stream, stream_texts


def documents(text: str) -> list[str]:
    return list(read_stream(text.encode(), "x").texts)


PIECES = [
    "---",
    "\ufeff",
    "...",
    "\n",
    "\r\n",
    "\r",
    " ",
    "a: b",
    "# c",
    "%YAML 1.2",
    "{",
    "}",
    '{"a": 1}',
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=40))
def test_joined_documents_are_the_stream(text: str) -> None:
    if "\0" in text or (not text.isprintable() and "\ud800" <= max(text, default="") <= "\udfff"):
        return
    stream = read_stream(text.encode(), "x")
    joined = "".join(stream_texts(stream, list(stream.texts)))
    assert joined == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\n---\nb: 2\n", ["a: 1\n", "---\nb: 2\n"]),
        ("---\na: 1\n---\n", ["---\na: 1\n", "---\n"]),
        ("a: |\n  ---\n  b\n--- # c\nd: 1", ["a: |\n  ---\n  b\n", "--- # c\nd: 1"]),
        ("a: 1\n----\nb", ["a: 1\n----\nb"]),
        ("a: 1\n...\nb: 2\n", ["a: 1\n...\n", "b: 2\n"]),
        ("%YAML 1.2\n---\na: 1\n", ["%YAML 1.2\n---\na: 1\n"]),
        ("a: 1\r\n---\r\nb: 2\r\n", ["a: 1\r\n", "---\r\nb: 2\r\n"]),
        ("a: 1\r---\rb: 2\r", ["a: 1\r", "---\rb: 2\r"]),
        ('{"a": 1}{"b": 2}\n', ['{"a": 1}', '{"b": 2}\n']),
        ('{"a": "}{"}\n\n{"b": 2}', ['{"a": "}{"}', '\n\n{"b": 2}']),
        # A byte order mark after a marker is in the text of the marker, as kubectl reads it.
        ("---\n\ufeffa: 1\n", ["---\n\ufeff", "a: 1\n"]),
        ("a: 1\n--- # b\r\n\ufeff---\nb: 2\n", ["a: 1\n", "--- # b\r\n\ufeff", "---\nb: 2\n"]),
        ('---\n\ufeff{"a": 1}{"b": 2}', ["---\n\ufeff", '{"a": 1}', '{"b": 2}']),
        ("---\n# b\n\ufeffa: 1\n", ["---\n# b\n\ufeffa: 1\n"]),
        ("a: 1\n\ufeff---\nb: 2\n", ["a: 1\n\ufeff---\nb: 2\n"]),
        ("---\n\ufeff", ["---\n\ufeff"]),
        ("", [""]),
    ],
)
def test_a_stream_is_split_at_document_markers(text: str, expected: list[str]) -> None:
    assert documents(text) == expected


def test_documents_have_a_number_and_a_line() -> None:
    stream = read_stream(b"# head\n---\na: 1\n---\n\n---\nb: 2\n", "x")
    assert list(zip(stream.numbers, stream.lines, strict=True)) == [
        (0, 1),
        (1, 2),
        (2, 4),
        (3, 6),
    ]


def test_a_byte_order_mark_is_not_a_document() -> None:
    stream = read_stream("a: 1\n---\n\ufeffb: 2\n---\n\ufeff---\nc: 3\n".encode(), "x")
    assert list(zip(stream.numbers, stream.lines, strict=True)) == [
        (1, 1),
        (1, 2),
        (2, 3),
        (2, 4),
        (3, 5),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False),
        ("---\n\ufeff", False),
        ("---\n# a\n\n", False),
        ("--- # a\n", False),
        ("%YAML 1.2\n---\n...\n", False),
        ("--- {a: 1}\n", True),
        ("a", True),
        ("---\n  - a\n", True),
    ],
)
def test_comments_and_markers_are_not_content(text: str, expected: bool) -> None:
    assert has_content(text) is expected


def test_a_byte_order_mark_is_not_part_of_a_document() -> None:
    stream = read_stream(b"\xef\xbb\xbfa: 1\n", "x")
    assert stream.has_bom
    assert stream.texts[0] == "a: 1\n"


@pytest.mark.parametrize(
    ("data", "location"),
    [(b"a: 1\n---\nb: \xff\n", "x:3 (document 2)"), (b"a\0", "x:1 (document 1)")],
)
def test_bytes_that_yaml_does_not_allow_are_an_error(data: bytes, location: str) -> None:
    with pytest.raises(UserError) as caught:
        read_stream(data, "x")
    assert str(caught.value).startswith(location + ": ")


def test_a_wide_character_makes_only_its_own_document_larger() -> None:
    text = "".join(f"---\nkind: A\nname: a{number}\n" for number in range(3))
    narrow = read_stream(text.encode(), "narrow").texts
    wide = read_stream(f"{text}---\n# \N{GRINNING FACE}\n".encode(), "wide").texts
    for narrow_text, wide_text in zip(narrow, wide[:3], strict=True):
        assert sys.getsizeof(narrow_text) == sys.getsizeof(wide_text)
