"""Plain scalars are read as the API server's YAML library reads them.

The expected values were printed by sigs.k8s.io/yaml 1.6.
"""

from __future__ import annotations

import pytest

from postrender.errors import Location
from postrender.yaml.nodes import compose
from postrender.yaml.paths import Json
from postrender.yaml.scalars import Scalar, block_text, resolve_plain

EXPECTED: dict[str, Scalar] = {
    "": None, "~": None, "null": None, "Null": None, "nUll": "nUll",
    "y": True, "Y": True, "yes": True, "on": True, "True": True, "tRue": "tRue",
    "n": False, "No": False, "off": False, "FALSE": False,
    "0777": 511, "0o777": 511, "0O7": 7, "08": 8, "0_7": 7, "0777_7": 4095, "+0777": 511,
    "0x1F": 31, "0X1f": 31, "-0x10": -16, "0x": "0x", "0xg": "0xg",
    "0b101": 5, "0B11": 3, "-0b11": -3, "0b2": "0b2", "0b": "0b",
    "1e3": 1000, "1E3": 1000, "1e+3": 1000, "12e03": 12000, "1.0": 1, "1.": 1, "0e0": 0,
    ".5": 0.5, "-.5": -0.5, "+.5": 0.5, "0.1": 0.1, "1_000.5": 1000.5, "1.5e-7": 1.5e-7,
    "+5": 5, "-0": 0, "1_000": 1000, "1__0": 10, "_1": "_1",
    "18446744073709551615": 18446744073709551615,
    "100000000000000000000": 100000000000000000000,
    "123456789012345678901234567890": 1.2345678901234568e29,
    "1e21": 1e21, "1e22": 1e22, "1e400": "1e400", "1e": "1e", "1.2.3": "1.2.3",
    "2001-01-01": "2001-01-01", "1:30": "1:30", "=": "=", "<<": "<<",
    "+": "+", ".": ".", "-.": "-.", "app": "app", "1" * 5000: "1" * 5000,
}  # fmt: skip


@pytest.mark.parametrize("text", EXPECTED)
def test_a_plain_scalar_is_read_as_by_the_api_server(text: str) -> None:
    value = resolve_plain(text)
    assert value == EXPECTED[text]
    assert isinstance(value, bool) == isinstance(EXPECTED[text], bool)


@pytest.mark.parametrize(
    ("text", "value"), [("aGk=", "hi"), ('"é"', "é"), ('"A"', "A"), ('"/w=="', "\ufffd")]
)
def test_a_binary_tag(text: str, value: str) -> None:
    """kubectl rejects values that are not base64, so only its error matters."""
    assert compose(f"a: !!binary {text}\n", Location("document", line=1)).read() == {"a": value}


def test_empty_collections_are_written_in_flow_style() -> None:
    data: Json = {"a": [{}, [], ["b"]], "c": {}, "d": []}
    assert block_text(data).splitlines() == ["a:", "- {}", "- []", "- - b", "c: {}", "d: []"]
