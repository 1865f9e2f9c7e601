"""The quick check of the configuration has the same verdicts as jsonschema."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postrender.config.validate import surely_fits
from postrender.text import CONFIG_SCHEMA, packaged_text
from tests.effort import examples

SCHEMA = json.loads(packaged_text(CONFIG_SCHEMA))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 700) | st.floats(0, 2) | st.sampled_from(["", "a"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.just("name"), inner),
    max_leaves=3,
)


def values_of(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that fit a schema, and some that almost fit."""
    fitting = _fitting(schema)
    return st.integers(0, 9).flatmap(lambda drawn: fitting if drawn or not schema else ANYTHING)


def _fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    if "enum" in schema:
        return st.sampled_from([*schema["enum"], "other"])
    kinds = schema.get("type", "string")
    return st.one_of(
        *(_of_type(kind, schema) for kind in (kinds if isinstance(kinds, list) else [kinds]))
    )


def _of_type(kind: str, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    if kind == "object":
        parts = {key: values_of(part) for key, part in schema.get("properties", {}).items()}
        required = set(schema.get("required", ()))
        return st.fixed_dictionaries(
            {key: parts[key] for key in required},
            optional={
                **{key: parts[key] for key in parts if key not in required},
                "unknown": ANYTHING,
            },
        ).map(lambda value: {key: value[key] for key in list(value)[:5]})
    if kind == "array":
        return st.lists(values_of(schema.get("items", {})), max_size=3)
    return {
        "string": st.sampled_from(["", "a", "spec.a[].b", "1"]),
        "boolean": st.booleans(),
        "integer": st.integers(-1, 700) | st.sampled_from([2**31 - 1, 2**31, 10**20]),
        "null": st.none(),
    }[kind]


@pytest.mark.random_inputs
def test_the_verdicts_equal_those_of_jsonschema() -> None:
    counts: Counter[bool] = Counter()

    @settings(max_examples=examples(1200))
    @given(values_of(SCHEMA))
    def check(value: Any) -> None:
        fits = VALIDATOR.is_valid(value)
        counts[fits] += 1
        # To jsonschema, 1.0 is an integer. The quick check leaves floats to jsonschema.
        assert surely_fits(value, SCHEMA) in {fits, False}
        if not _has_floats(value):
            assert surely_fits(value, SCHEMA) == fits

    check()
    assert min(counts.values()) > 20


@pytest.mark.parametrize(
    ("key", "values"),
    [("history.keep", (0, 1)), ("attacher.ttlSecondsAfterFinished", (2**31 - 1, 2**31))],
)
def test_the_verdicts_at_a_bound(key: str, values: tuple[int, int]) -> None:
    mapping, _, name = key.partition(".")
    configurations = [{mapping: {name: value}} for value in values]
    verdicts = [surely_fits(data, SCHEMA) for data in configurations]
    assert verdicts == [VALIDATOR.is_valid(data) for data in configurations]
    assert set(verdicts) == {True, False}


def _has_floats(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_floats, value.values()))
    return any(map(_has_floats, value)) if isinstance(value, list) else isinstance(value, float)


def test_every_keyword_of_the_schema_is_known() -> None:
    assert surely_fits({}, SCHEMA)
    assert not surely_fits("a", {"format": "a"})  # an unknown keyword is left to jsonschema
