"""The line-by-line reader and the YAML parser return equal data.

The documents are those of all fixtures and examples, and random mutations of them. Environment
variables change the defaults:

- POSTRENDER_PLAIN_SECONDS: run mutations for at least this time
- POSTRENDER_PLAIN_CHARTS: a folder of rendered charts to add (none)
- POSTRENDER_PLAIN_SEED: the seed of the mutations
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path as FilePath

import pytest

from postrender.errors import Location, UserError
from postrender.yaml.edits import AddAfter, AddItems, AddKeys, Edit, SetScalar
from postrender.yaml.node_edits import locate_in_nodes
from postrender.yaml.nodes import NodeDocument, compose
from postrender.yaml.paths import Json, Path
from postrender.yaml.plain import PlainDocument, read_plain
from postrender.yaml.splice import locate_in_lines
from postrender.yaml.stream import read_stream
from tests.effort import IS_FUZZ
from tests.golden_cases import cases as golden_cases

ROOT = FilePath(__file__).resolve().parents[2]
SECONDS = float(os.environ.get("POSTRENDER_PLAIN_SECONDS", "0"))
MUTATIONS = 400_000 if IS_FUZZ else 10_000
SEED = int(os.environ.get("POSTRENDER_PLAIN_SEED", "12"))
CHARTS = os.environ.get("POSTRENDER_PLAIN_CHARTS", "")
LOCATION = Location("document")

# The tokens that mutations insert: tokens with a meaning in YAML, and tokens that resemble them.
WORDS = r"""
&a *a !!str null yes on 0x1F 0o7 1e3 1_000 012 .5 --- ... '' "" \n \x41 {} [] [a,b]
"""
TOKENS = (
    *"-:?#&*!|>%@`'\"{}[],\\~=<+.0 \t\n\r\x7f\x85\u2028\ufeff\u200bé",
    *WORDS.split(),
    *(": ", " #", "- ", "--- ", "\n\n", "\n  ", "\n    ", "  ", ": |", ": |-", ": >", "<<: "),
    *(
        "? a",
        "{a: b}",
        "{a: {b: c}}",
        "[a, b]",
        "{a: b:c}",
        "[a:b]",
        ":c",
        "name: app",
        "- name: app",
        "key: value # note",
    ),
)


@cache
def documents() -> list[str]:
    """Return the documents of all fixtures, examples and charts, without duplicates."""
    folders = [ROOT / "tests/changes", ROOT / "examples", *([FilePath(CHARTS)] if CHARTS else [])]
    contents = [content for case in golden_cases() for content in case.files.values()]
    for folder in folders:
        paths = sorted([*folder.rglob("*.yaml"), *folder.rglob("*.yml")])
        contents += [path.read_bytes() for path in paths]
    texts: dict[str, None] = {}
    for content in contents:
        try:
            stream = read_stream(content, "a file")
        except UserError:
            continue
        texts.update(dict.fromkeys(stream.texts))
    return [text for text in texts if text.strip()]


def check(text: str) -> int:
    """Compare the two readers; return the number of compared sites, -1 if only the parser reads."""
    plain = read_plain(text)
    if plain is None:
        return -1
    try:
        nodes = compose(text, LOCATION)
        data = nodes.read()
    except UserError as error:
        raise AssertionError(f"only the plain reader accepts {text!r}: {error}") from None
    assert repr(plain.data) == repr(data), text
    return sum(check_value(plain, nodes, path, value) for path, value in values(data, ()))


def values(data: Json, path: Path) -> Iterator[tuple[Path, Json]]:
    yield path, data
    items = enumerate(data) if isinstance(data, list) else ()
    for part, value in data.items() if isinstance(data, dict) else items:
        yield from values(value, (*path, part))


def check_value(plain: PlainDocument, nodes: NodeDocument, path: Path, value: Json) -> int:
    """Compare the line, the style and the edit sites of one value."""
    is_collection = isinstance(value, (dict, list))
    line = plain.line_of(path)
    if line is not None and (value is not None and not (is_collection and not value)):
        assert line == nodes.line_of(path), (nodes.text, path)
    is_literal = None if is_collection else plain.is_literal(path)
    if is_literal is not None:
        assert is_literal == nodes.is_literal(path), (nodes.text, path)
    return sum(check_site(plain, nodes, edit) for edit in edits(path, value))


def edits(path: Path, value: Json) -> Iterator[Edit]:
    """Yield edits of the value at a path, some of which are not possible."""
    if isinstance(value, dict):
        yield AddKeys(path, {"added": ""})
        yield AddKeys((*path, "added", "inside"), {"added": ""})
    elif isinstance(value, list):
        yield AddItems(path, ("added",))
    else:
        yield SetScalar(path, "changed")
    if path and isinstance(path[-1], int):
        yield AddAfter(path, ("added",))


def check_site(plain: PlainDocument, nodes: NodeDocument, edit: Edit) -> int:
    site = locate_in_lines(plain, edit)
    if site is None:
        return 0
    expected = locate_in_nodes(nodes, edit)
    assert site == expected, (nodes.text, edit)
    return 1


def mutated(text: str, chance: random.Random, sources: Sequence[str]) -> str:
    """Return a document with one to three random changes.

    sources: documents from which lines are inserted.
    """
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        lines = text.split("\n")
        number = chance.randrange(len(lines))
        kind = chance.randrange(8)
        if kind == 0:
            del lines[number]
        elif kind == 1:
            lines.insert(number, lines[chance.randrange(len(lines))])
        elif kind == 2:
            lines[number] = " " * chance.randrange(5) + lines[number].lstrip(" ")
        elif kind == 3:
            lines[number] = chance.choice((" ", "  ")) + lines[number]
        elif kind == 4:
            source = chance.choice(sources).split("\n")
            start = chance.randrange(len(source))
            lines[number:number] = source[start : start + chance.randrange(1, 4)]
        else:
            line = lines[number]
            column = chance.randrange(len(line) + 1)
            removed = chance.choice((0, 0, 1, 2))
            lines[number] = line[:column] + chance.choice(TOKENS) + line[column + removed :]
        text = "\n".join(lines)
    return text


def test_unchanged_documents_are_read_equally() -> None:
    counts = Counter(check(text) >= 0 for text in documents())
    # Most documents are plain, although the fixtures contain much unusual YAML.
    assert counts[True] > counts[False] > 0


@pytest.mark.random_inputs
def test_mutated_documents_are_read_equally() -> None:
    chance = random.Random(SEED)
    # Three in four documents are plain before they are mutated.
    texts = [text for text in documents() if len(text) < 20_000]
    plain = [text for text in texts if read_plain(text)]
    end = time.monotonic() + SECONDS
    counts: Counter[bool] = Counter()
    sites = 0
    while counts.total() < MUTATIONS or time.monotonic() < end:
        for text in [*chance.sample(plain, 15), *chance.sample(texts, 5)]:
            compared = check(mutated(text, chance, texts))
            counts[compared >= 0] += 1
            sites += max(compared, 0)
    print(f"{counts[True]} plain and {counts[False]} other mutations, {sites} edit sites")
    assert min(counts[True], counts[False], sites) > 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "- a\n",
        "a\n",
        "a: &x b\n",
        "a: *x\n",
        "a: !!str b\n",
        "<<: {a: b}\n",
        "a: >\n  b\n",
        "a: b\n  c\n",
        'a: "b\n  c"\n',
        'a: "\\x41"\n',
        "a: |2\n   b\n",
        "a:\t b\n",
        "a: b\r\n",
        "a: b\na: c\n",
        "a: {b: {c: d}}\n",
        "a: {b: c, b: d}\n",
        "a:\n- - b\n",
        "? a\n: b\n",
        "%YAML 1.1\n---\na: b\n",
        "--- a: b\n",
        "a: b\n ...\n",
        "a: @b\n",
        "a: b: c\n",
        "a: |\n  b\n \n",
        "a: |\n  b\n # deeper than a\nc: d\n",
        "a: |\n  b",
        "  a: b\n",
        "a: 'b'c\n",
        "a: b\u2028c\n",
    ],
)
def test_other_yaml_is_left_to_the_parser(text: str) -> None:
    assert read_plain(text) is None


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a: b", {"a": "b"}),
        ("--- # note\na: b\n", {"a": "b"}),
        ("a:\nb:\n", {"a": None, "b": None}),
        ("a: b # note\n", {"a": "b"}),
        ("a: b#c\n", {"a": "b#c"}),
        ("a: 'b''c'\n", {"a": "b'c"}),
        ('a: "b\\n\\"c\\""\n', {"a": 'b\n"c"'}),
        ("a: 0o7\nb: 1e3\nc: on\nd: 1_0\n", {"a": 7, "b": 1000, "c": True, "d": 10}),
        ("on: a\n1: b\n", {"true": "a", "1": "b"}),
        ("a:\n- b\n-  c: d\n   e: f\n", {"a": ["b", {"c": "d", "e": "f"}]}),
        ("a:\n  b:\n    c: d\n  e: f\ng: h\n", {"a": {"b": {"c": "d"}, "e": "f"}, "g": "h"}),
        ("a: {b: c, d: 1}\n", {"a": {"b": "c", "d": 1}}),
        ("a: [b, 'c', 1]\n", {"a": ["b", "c", 1]}),
        ("a: |\n  b\n\n   c\nd: |-\n  e\n", {"a": "b\n\n c\n", "d": "e"}),
        ("a: |+\n  b\n\n\nc: d\n", {"a": "b\n\n\n", "c": "d"}),
        ("a: |\n  b\n    \n", {"a": "b\n  \n"}),
        ("a: |\n  é\t#\n  # no comment\nb: c\n", {"a": "é\t#\n# no comment\n", "b": "c"}),
        ("a: http://b:1/#c\n", {"a": "http://b:1/#c"}),
    ],
)
def test_plain_yaml_is_read(text: str, data: Json) -> None:
    plain = read_plain(text)
    assert plain is not None
    assert plain.data == data
    assert check(text) >= 0


def test_an_alias_in_a_text_is_not_an_alias() -> None:
    text = "a: >\n  b & c *d\ne: &f g\n"
    assert not compose(text, LOCATION).has_aliases
    assert compose(f"{text}h: *f\n", LOCATION).has_aliases
