"""Texts that the C parser rejects, and that Helm and kubectl accept.

The expected values are those that sigs.k8s.io/yaml 1.6.0 (`YAMLToJSON`) returns.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest
from yaml.error import YAMLError

from postrender.errors import Location, UserError
from postrender.yaml.document import parse_document
from postrender.yaml.nodes import compose
from postrender.yaml.parser import (
    MAX_PURE_CHARACTERS,
    YamlNode,
    _c_class,
    _compose,
    parse,
)
from postrender.yaml.paths import Json
from postrender.yaml.plain import MAX_DEPTH, read_plain
from tests.manifests import load

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
LOCATION = Location("document", line=1)


@pytest.mark.parametrize(
    ("flow", "data"),
    [
        (
            "{name: UPSTREAM, value: http://api:8080}",
            {"name": "UPSTREAM", "value": "http://api:8080"},
        ),
        ("[--listen=0.0.0.0:8080, b]", ["--listen=0.0.0.0:8080", "b"]),
        ("{b: x:y}", {"b": "x:y"}),
        ("{b: [c:d], e: f:g}", {"b": ["c:d"], "e": "f:g"}),
        ("[b:c]", ["b:c"]),
        ("[b: c]", [{"b": "c"}]),
        ("[b:c: d]", [{"b:c": "d"}]),
        ("{b: x:}", {"b": "x:"}),
        ("{b: x:, c: d}", {"b": "x:", "c": "d"}),
        ("[b:, c]", ["b:", "c"]),
        ("[b:]", ["b:"]),
        ("{b:c}", {"b:c": None}),
        ("{b:c: d}", {"b:c": "d"}),
        ('{"b":c}', {"b": "c"}),
        ('[b:"c"]', ['b:"c"']),
        ("[b:#c]", ["b:#c"]),
        ("{b: 1:2, c: 12:30:45}", {"b": "1:2", "c": "12:30:45"}),
        ("[12:30, 0x1F:1]", ["12:30", "0x1F:1"]),
    ],
)
def test_a_colon_in_an_unquoted_value_of_a_flow_collection(flow: str, data: Json) -> None:
    text = f"a: {flow}\n"
    assert compose(text, LOCATION).read() == {"a": data}
    assert load(text, pure=True) == [{"a": data}]
    assert parse_document(text, LOCATION).data == {"a": data}


@pytest.mark.parametrize("flow", ["{name: A, value: http://api:8080}", "[--listen=0.0.0.0:8080]"])
def test_the_line_by_line_reader_reads_the_colon(flow: str) -> None:
    assert read_plain(f"a: {flow}\n") is not None


@pytest.mark.parametrize(
    ("flow", "problem"),
    [
        ("{b: c:d: e}", "a { is not closed, or a comma is missing"),
        ("[b:[c]]", "a [ is not closed, or a comma is missing"),
        ("{b: ::1}", "while parsing a flow node did not find expected node content"),
        ("{b: c:d, e: [}", "while parsing a flow node did not find expected node content"),
        ("{b: c:, e: [}", "while parsing a flow node expected the node content, but found '}'"),
    ],
)
def test_a_flow_collection_that_kubectl_rejects(flow: str, problem: str) -> None:
    with pytest.raises(UserError) as error:
        compose(f"a: {flow}\n", LOCATION)
    assert error.value.problem == f"the document is not valid YAML ({problem})"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a:\n\tb: c\n", 2),
        ("a:\n  \tb: c\n", 2),
        ("a: |\n  b\n\tc\n", 3),
        ("a:\n- b\n\t- c: d\n", 3),
        ("\ta: b\n", 1),
    ],
)
def test_a_tab_in_the_indentation_is_named(text: str, line: int) -> None:
    with pytest.raises(UserError) as error:
        compose(text, LOCATION._replace(line=1))
    assert error.value.problem == "the document is not valid YAML (a tab in the indentation)"
    assert error.value.fix == "Replace the tab with spaces"
    assert error.value.location == LOCATION._replace(line=line)


def test_more_brackets_than_libyaml_reads_have_the_limit_of_the_nesting() -> None:
    """libyaml refuses the thousandth bracket before it reports the first one."""
    with pytest.raises(UserError, match=f"more than {MAX_DEPTH} nested levels"):
        compose(f"a: {'[' * 1002}\n", LOCATION)


def description(node: YamlNode) -> object:
    if node is None:
        return None
    start, end = node.start_mark, node.end_mark
    own = (type(node), node.tag, start.index, start.line, start.column, end.index, end.line)
    if isinstance(node.value, str):
        return (*own, node.style or None, node.value)
    parts = (part for item in node.value for part in (item if isinstance(item, tuple) else (item,)))
    return (*own, bool(node.flow_style), [description(part) for part in parts])


def test_both_composers_make_the_same_nodes() -> None:
    """That of libyaml, and that for the texts that libyaml rejects."""
    texts = (path.read_text("utf-8", "replace") for path in FIXTURES.rglob("*.yaml"))
    compared = 0
    for document in {part for text in texts for part in re.split(r"(?m)^---.*\n", text)}:
        with suppress(UserError):
            compose(document, LOCATION)  # refuses an anchor that contains its own alias
            expected = description(parse(document, LOCATION))
            with suppress(YAMLError):
                assert description(_compose(_c_class()(document), LOCATION)) == expected
                compared += 1
    assert compared > 1500


@pytest.mark.parametrize("levels", [MAX_DEPTH - 1, MAX_DEPTH])
def test_an_alias_counts_with_the_levels_of_its_value(levels: int) -> None:
    """The mapping is one more level, and the text itself has about half of them."""
    half = levels // 2
    outer = "[" * (levels - half) + "*a" + "]" * (levels - half)
    text = f"a: &a {'[' * half}{']' * half}\nb: {outer}\n"
    if levels < MAX_DEPTH:
        assert parse_document(text, LOCATION).data is not None
    else:
        with pytest.raises(UserError, match=f"more than {MAX_DEPTH} nested levels"):
            _ = parse_document(text, LOCATION).data


def test_the_slower_parser_has_the_same_limits() -> None:
    nested = "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)
    with pytest.raises(UserError, match=f"more than {MAX_DEPTH} nested levels"):
        compose(f"a: [b:]\nd: {nested}\n", LOCATION)
    with pytest.raises(UserError) as error:
        compose(f"a: [b:]\nd: {'e' * MAX_PURE_CHARACTERS}\n", LOCATION)
    assert error.value.problem == (
        "an unquoted value in [ ] or { } ends in a colon, which postrender reads only in "
        "documents of up to 256 KiB"
    )


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a: &p x\nb: *p\nc: &p w\nd: *p\n", {"a": "x", "b": "x", "c": "w", "d": "w"}),
        # The pure Python parser rejects a tab before a comment or after a colon.
        ('a: &p x\nb: "x"\t# a comment\nc: &p w\n', {"a": "x", "b": "x", "c": "w"}),
        ("a: &p x\nb:\tx\nc: &p w\n", {"a": "x", "b": "x", "c": "w"}),
        ("a: &p x\nb: [c:d, *p]\nc: &p w\n", {"a": "x", "b": ["c:d", "x"], "c": "w"}),
        (
            f"a: &p x\nb: &p w\nc: {'z' * MAX_PURE_CHARACTERS}\n",
            {"a": "x", "b": "w", "c": "z" * MAX_PURE_CHARACTERS},
        ),
    ],
)
def test_an_anchor_that_is_defined_again(text: str, data: Json) -> None:
    assert compose(text, LOCATION).read() == data
    assert parse_document(text, LOCATION).data == data


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a: ! true", {"a": "true"}),
        ("a: [! 1, ! true, !!str yes, ! ~]", {"a": ["1", "true", "yes", "~"]}),
        ("a: ! null", {"a": "null"}),
        ('a: ! "1"', {"a": "1"}),
        ("a: &x ! 1\nb: *x", {"a": "1", "b": "1"}),
        ("a: &x !  # text\n  1", {"a": "1"}),
        ("a: ! [1]", {"a": [1]}),
        ("a: !\nb: 1", {"a": "", "b": 1}),
        ("a: !foo 1", {"a": "1"}),
        ("a: !!int '1'", {"a": 1}),
        ("a: b! 1", {"a": "b! 1"}),
        ("a: |\n  ! 1\nb: 1", {"a": "! 1\n", "b": 1}),
        ("! on: 1", {"on": 1}),
        ("!!str on: 1", {"on": 1}),
        ("&x !!str on: 1", {"on": 1}),
        ("!foo on: 1", {"on": 1}),
        ("!!bool on: 1", {"true": 1}),
        ("!!bool 'on': 1", {"true": 1}),
        ("!!int '0x10': 1", {"16": 1}),
        ("!!float '1e3': 1", {"1000": 1}),
        ("!!str 1.0: 1", {"1.0": 1}),
        ("!!binary aGk=: 1", {"hi": 1}),
        ("a: !!binary aOmp", {"a": "h\ufffd\ufffd"}),
        ("!!merge <<: {a: b}", {"a": "b"}),
        ("! <<: {a: b}", {"a": "b"}),
        ("!!str <<: {a: b}", {"<<": {"a": "b"}}),
    ],
)
def test_tags_of_values_and_keys(text: str, data: Json) -> None:
    assert parse_document(f"{text}\n", LOCATION).data == data
