"""`Settings` and config.schema.json have the same keys and the same defaults."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from postrender.config.load import defaults
from postrender.config.settings import Settings, settings_from
from postrender.text import CONFIG_SCHEMA, packaged_text

Values = dict[str, Any]

# What an item of a list must have.
REQUIRED = {"references": {"kind": "Widget", "path": "spec.name"}}
# `load` reads this key, and passes the others to `settings_from`.
OF_FILES = "extends"


def another(part: Values) -> Any:
    """A value that is not the default of a key."""
    if "enum" in part:
        return part["enum"][-1]
    match part["type"]:
        case "boolean" | ["boolean", *_]:
            return not part.get("default")
        case "integer" | ["integer", *_]:
            return (part.get("default") or 0) + 1
        case "array":
            return ["other"]
        case "object":
            return {"other": "1"}
    return "other"


def keys(schema: Values, prefix: str = "") -> Iterator[tuple[str, Values, Values]]:
    """Each key, values with another value than the default, and the same values without the key."""
    for name, part in schema["properties"].items():
        key, items = prefix + name, part.get("items", {})
        if name == "podTemplate" or not ("properties" in part or "properties" in items):
            yield key, {name: another(part)}, {}
        elif "properties" in part:
            for inner, given, absent in keys(part, f"{key}."):
                yield inner, {name: given}, {name: absent}
        else:
            required = REQUIRED.get(name, {})
            for inner, given, absent in keys(items, f"{key}[]."):
                yield inner, {name: [required | given]}, {name: [required | absent]}


KEYS = {
    key: values
    for key, *values in keys(json.loads(packaged_text(CONFIG_SCHEMA)))
    if key != OF_FILES
}


@pytest.mark.parametrize("key", KEYS)
def test_each_key_of_the_schema_has_an_effect(key: str) -> None:
    given, absent = KEYS[key]
    assert settings_from(given) != settings_from(absent), (
        f"{key} is not in the tables of keys in config/settings.py"
    )


def test_the_schema_and_the_settings_have_the_same_defaults() -> None:
    assert settings_from(defaults()) == Settings()


def test_the_schema_gives_a_default_for_every_setting() -> None:
    values = defaults()
    assert all(key in values for key in ("strict", "attacher", "history", "naming", "rules"))
    assert values["attacher"]["timeout"] == Settings().attacher.timeout
