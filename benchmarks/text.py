"""Helpers of the generators: documents as `helm template` writes them, and invented prose."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

_VOCABULARY = """
    access address allowed annotation applied apply backend bound bucket cache certificate change
    client cluster condition configured container controller credentials default defined deletion
    disabled duration empty enabled endpoint every expected expires failure field format generation
    group header identifier ignored image interval key label latest limit list location maximum
    message minimum missing namespace node object observed omitted operator optional order owner
    period policy port priority probe process prefix protocol quota range rate reason recent record
    region replica request required reserved resource response restarted result retention retry
    route rule schedule scope secret selected selector server service shard size snapshot source
    state status storage stream subset target template threshold timeout token topology traffic
    unset update upstream user valid value version volume weight window workload zone
"""
_WORDS = _VOCABULARY.split()
_JOINTS = ("of the", "for each", "must be", "when the", "and the", "is not", "to the", "with a")


def document(source: str, body: str) -> str:
    """Return a document with its marker and the comment in which Helm shows the template."""
    return f"---\n# Source: {source}\n{body.rstrip()}\n"


def indent(text: str, width: int) -> str:
    """Indent every line that is not empty."""
    return textwrap.indent(text, " " * width)


def sentence(rng: random.Random, count: int) -> str:
    """Return a sentence of about `count` words."""
    words = [rng.choice(_JOINTS if position % 3 == 2 else _WORDS) for position in range(count)]
    return " ".join(words).capitalize() + "."


def prose(rng: random.Random, sentences: int) -> str:
    """Return a few sentences on one line."""
    return " ".join(sentence(rng, rng.randint(6, 14)) for _ in range(sentences))


def camel(rng: random.Random, count: int) -> str:
    """Return a name in camel case."""
    first, *rest = (rng.choice(_WORDS) for _ in range(count))
    return first + "".join(word.capitalize() for word in rest)
