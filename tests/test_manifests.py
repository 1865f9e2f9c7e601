"""Tests of the naive reader of manifests, and of the random streams that it reads."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.effort import examples
from tests.manifests import InputError, go_json, load, normalise
from tests.streams import EVERY_LAYOUT, Stream, styled_streams


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yes", "true"),
        ("y", "true"),
        ("Off", "false"),
        ("~", "null"),
        ("", "null"),
        ("0777", "511"),
        ("0o7", "7"),
        ("0x1F", "31"),
        ("0b11", "3"),
        ("08", "8"),
        ("1_000", "1000"),
        ("+5", "5"),
        ("1e3", "1000"),
        (".5", "0.5"),
        ("1.50", "1.5"),
        ("1e21", "1e+21"),
        ("1e-7", "1e-7"),
        ("18446744073709551615", "18446744073709551615"),
        ("1e400", '"1e400"'),
        ("=", '"="'),
        ("1:30", '"1:30"'),
        ("2001-01-01", '"2001-01-01"'),
        ("0o9", '"0o9"'),
        ("'1'", '"1"'),
        ("!!str 1", '"1"'),
        ("!!int '1'", "1"),
        ('"<\\u2028>"', '"\\u003c\\u2028\\u003e"'),
    ],
)
def test_scalars_are_resolved_as_kubernetes_does(text: str, expected: str) -> None:
    assert go_json(load(f"a: {text}\n", pure=True)[0]["a"]) == expected


def test_keys_and_merges() -> None:
    text = "base: &b {x: 1, y1: 2}\nuse:\n  <<: *b\n  x: 3\non: a\n1: b\n"
    assert load(text)[0] == {
        "base": {"x": 1, "y1": 2},
        "use": {"x": 3, "y1": 2},
        "true": "a",
        "1": "b",
    }


@pytest.mark.parametrize("text", ["a: .nan\n", "a: *b\n", "a: ["])
def test_unreadable_input_is_an_error(text: str) -> None:
    with pytest.raises(InputError):
        load(text)


def test_documents_and_lists() -> None:
    text = (
        "\ufeff# c\n---\n--- # c\nkind: List\nitems:\n- {kind: A}\n- kind: ConfigMapList\n"
        "  items: [{metadata: {name: b}}]\n...\n---\n# only this\n"
    )
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}
    assert normalise(text) == [{"kind": "A"}, item]
    assert normalise('{"kind": "A"}\n{"kind": "B"}') == [{"kind": "A"}, {"kind": "B"}]


@settings(max_examples=examples(200))
@given(styled_streams(EVERY_LAYOUT))
def test_streams_contain_their_objects(stream: Stream) -> None:
    assert list(map(go_json, normalise(stream.text, pure=True))) == list(
        map(go_json, stream.objects)
    )
