"""The probable cause of a text that is not YAML, as both parsers report it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postrender.errors import Location, UserError
from postrender.yaml import parser
from postrender.yaml.nodes import compose

LOCATION = Location("document", line=1)
HEAD = "apiVersion: v1\nkind: ConfigMap\n"

MISTAKES = {
    "a key without a colon": ("metadata\n  name: a\n", 3, "a key without a colon, or text"),
    "a key without a colon in front of another": ("a b\nc: d\n", 3, "a key without a colon, or"),
    "a key without a colon in the last line": ("metadata\n", 3, "a key without a colon, or text"),
    "no space after a colon": ("a:b\nmetadata:\n  name: a\n", 3, "no space after the colon"),
    "text without indentation": ("data:\n  a: |\n  b\n  c: d\n", 5, "or text with too little"),
    "two dashes": ("data: {}\n--\napiVersion: v1\n", 4, "a line of dashes"),
    "an unclosed quote": ('metadata:\n  name: "a\ndata: {}\n', 4, "a quote that opens here"),
    "a quote closed by a later one": ("a: 'b\nc: 'd'\n", 4, "text after a closing quote"),
    "text after a quote": ('a: "b" c\n', 3, "text after a closing quote"),
    "too much indentation": ("metadata:\n  name: a\n   labels: {}\n", 5, "indented more than"),
    "too little indentation": ("metadata:\n    name: a\n  labels: {}\n", 5, "neither that of"),
    "a key in a list": ("a:\n  - b\n  c: d\n", 5, "not an item of the list"),
    "a second colon": ("data:\n  a: see: b\n", 4, "contains a colon and a space"),
    "an unclosed brace": ("metadata: {name: a\ndata: {}\n", 4, "a { is not closed"),
    "an unclosed bracket": ("args: [a\ndata: {}\n", 4, "a [ is not closed"),
    "a bracket at the end": ("args: [\n", 3, "a [ or { is not closed"),
    "an asterisk": ("data:\n  host: *.example.com\n", 4, "cannot begin with *"),
    "an ampersand": ("data:\n  a: & b\n", 4, "cannot begin with &"),
    "an at sign": ("data:\n  a: @b\n", 4, "cannot begin with @"),
    "a percent sign": ("data:\n  a: %b\n", 4, "cannot begin with %"),
    "a tab": ("metadata:\n\tname: a\n", 4, "a tab in the indentation"),
    "a value that a template lacks": ("<no value>\nmetadata: {}\n", 3, "`<no value>`, which"),
    "a number that a template lacks": ("a: b: %!d(string=c)\n", 3, "`%!d(string=`, which"),
    "a warning of helm": ("coalesce.go:289: warning: a for b\n", 3, "a message of a program"),
    "a line of helm pull": ("Pulled: example.com/a: b\n", 3, "a message of a program"),
}


@pytest.mark.parametrize("pure", [False, True], ids=["libyaml", "pure Python"])
@pytest.mark.parametrize("name", MISTAKES)
def test_a_message_names_the_cause_and_its_line(
    name: str, pure: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, line, problem = MISTAKES[name]
    if pure:
        monkeypatch.setattr(parser, "CParser", None)
    with pytest.raises(UserError) as error:
        compose(HEAD + text, LOCATION)
    assert error.value.problem.startswith("the document is not valid YAML (")
    assert problem in error.value.problem
    assert error.value.location == LOCATION._replace(line=line)


def test_a_message_shows_no_value() -> None:
    """The value can be that of a Secret."""
    for text in ('password: "hunter2\n', "password: @hunter2\n", "password: hunter2: b\n"):
        with pytest.raises(UserError) as error:
            compose(text, LOCATION)
        assert "hunter2" not in error.value.problem + error.value.fix


def test_another_mistake_has_the_words_of_the_parser() -> None:
    with pytest.raises(UserError, match="found unknown escape character"):
        compose('a: "\\q"\n', LOCATION)


PARTS = ["a", ": ", " ", "\n", "- ", "\t", *":{[]}\"'*&@|,#?"]


@given(st.lists(st.sampled_from(PARTS), max_size=30).map("".join))
def test_every_text_is_yaml_or_has_a_mistake_on_one_of_its_lines(text: str) -> None:
    for c_parser in (vars(parser)["CParser"], None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parser, "CParser", c_parser)
            location: Location | None = LOCATION
            try:
                compose(text, LOCATION)
            except UserError as error:
                location = error.location
            assert location
            assert 1 <= location.line <= text.count("\n") + 1
