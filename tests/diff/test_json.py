"""What programs get of a preview and of an explanation, and the schemas that promise it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from postrender.config.schemas import schema_text
from postrender.config.settings import Settings
from postrender.diff.formats.json import render
from postrender.diff.model import CHANGED, Hunk, KeyChange, Line, Preview
from postrender.diff.wording.terminal import Terminal
from postrender.explain.as_json import render as render_explanation
from postrender.explain.build import explain
from postrender.inventory.build import take_inventory
from postrender.plan.build import make_plan
from postrender.yaml.stream import read_stream
from tests.diff.any_previews import ANY, PREVIEWS
from tests.diff.previews import sample

PREVIEW = json.loads(schema_text("diff/diff.schema.json"))
EXPLAIN = json.loads(schema_text("explain/explain.schema.json"))
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "rendered"


def closed(schema: Any) -> Any:
    """Return a schema that allows only what it describes, so that nothing is printed unpromised."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    return {**inner, "additionalProperties": False} if inner.get("type") == "object" else inner


def validate(document: Any, schema: Any = PREVIEW) -> None:
    jsonschema.Draft202012Validator(closed(schema)).validate(document)


def parsed(preview: Preview) -> Any:
    return json.loads(render(preview, Terminal()))


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from subschemas(value)
    elif isinstance(schema, list):
        for each in schema:
            yield from subschemas(each)


# --- the schemas ---------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", [PREVIEW, EXPLAIN], ids=["preview", "explain"])
def test_a_schema_is_one_and_describes_every_property(schema: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"].startswith("urn:postrender:")
    for part in subschemas(schema):
        if part.get("type") == "object":
            assert part["required"] == list(part["properties"])
        for name, each in part.get("properties", {}).items():
            target = schema["$defs"][each["$ref"].split("/")[-1]] if "$ref" in each else {}
            assert {**target, **each}.get("description"), name


@pytest.mark.parametrize("schema", [PREVIEW, EXPLAIN], ids=["preview", "explain"])
def test_a_reader_with_an_older_schema_takes_what_was_added_since(schema: Any) -> None:
    assert not [part for part in subschemas(schema) if "additionalProperties" in part]
    assert "properties may be added" in schema["description"]


def test_a_property_that_the_schema_lacks_is_noticed() -> None:
    document = parsed(sample())
    document["contents"][0]["keys"][0]["more"] = 1
    with pytest.raises(jsonschema.ValidationError):
        validate(document)


# --- a preview -----------------------------------------------------------------------------------


@pytest.mark.parametrize("preview", [sample(), Preview("a", "b")], ids=["sample", "empty"])
def test_a_preview_fits_its_schema(preview: Preview) -> None:
    validate(parsed(preview))


@ANY
@given(PREVIEWS)
def test_any_preview_fits_its_schema(preview: Preview) -> None:
    validate(parsed(preview))


def test_the_counts_say_how_much_there_is_of_what() -> None:
    document = parsed(sample())
    summary = document["summary"]
    assert summary["contents"] == {"added": 1, "removed": 1, "changed": 4, "unchanged": 0}
    assert summary["workloads"]["rolls"] == 2
    assert summary["workloads"]["nextRun"] == 1
    assert summary["revisions"]["reused"] == 1
    assert summary["undecided"] == 1
    for part in ("contents", "workloads", "revisions", "objects"):
        assert sum(summary[part].values()) == len(document[part])
    assert document["hasChanges"] is True


def test_a_program_learns_what_rolls_and_why() -> None:
    [web] = [each for each in parsed(sample())["workloads"] if each["object"]["kind"] == "Rollout"]
    assert (web["effect"], web["via"]["name"]) == ("rolls", "web-template")
    config, *_, image, _, token, template = web["causes"]
    assert config["object"]["name"] == "web-config"
    assert config["keys"] == ["LOG_LEVEL", "application.yaml", "feature.json"]
    assert (image["old"], image["new"]) == ("shop/web:1.4.0", "shop/web:1.5.0")
    assert (token["variable"], token["new"]) == ("TOKEN", None)
    assert template["field"]["new"] == 60


def test_the_diff_of_a_key_is_one_that_patch_takes(tmp_path: Path) -> None:
    lines = (
        Line(" ", 1, 1, "a"),
        Line("-", 2, 0, "b\u2028c"),
        Line("+", 0, 2, "d"),
        Line("-", 3, 0, "- last", is_open=True),
        Line("+", 0, 3, "+ last", is_open=True),
    )
    key = KeyChange("app.txt", CHANGED, (Hunk(1, 3, 1, 3, lines),))
    content = sample().contents[0]._replace(keys=(key,))
    [contents] = parsed(Preview("a", "b", contents=(content,)))["contents"]
    file = tmp_path / "app.txt"
    file.write_text("a\nb\u2028c\n- last", "utf-8")
    command = ["patch", "--quiet", str(file)]
    subprocess.run(command, input=contents["keys"][0]["diff"], encoding="utf-8", check=True)
    assert file.read_text("utf-8") == "a\nd\n+ last"


def test_nothing_of_a_secret_but_its_base_name_is_told() -> None:
    [secret] = [each for each in parsed(sample())["contents"] if each["object"]["kind"] == "Secret"]
    assert (secret["object"]["name"], secret["change"]) == ("web-database", "changed")
    assert (secret["oldRevision"], secret["newRevision"], secret["keys"]) == ("", "", [])


# --- an explanation ------------------------------------------------------------------------------

MORE = """\
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: prod}
spec: {template: {spec: {volumes: [{name: v, configMap: {name: app}}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: app, namespace: prod}
data: {key: value, other: app}
---
apiVersion: v1
kind: Pod
metadata: {name: app}
spec: {volumes: [{name: v, configMap: {name: app}}]}
"""


@pytest.mark.parametrize(
    "text",
    [*(path.read_bytes() for path in sorted(EXAMPLES.glob("*.yaml"))), MORE.encode(), b"a: b\n"],
    ids=["v1", "v2", "more", "nothing"],
)
def test_an_explanation_fits_its_schema(text: bytes) -> None:
    settings = Settings(with_secrets=True)
    plan = make_plan(take_inventory(read_stream(text, "in.yaml"), settings), settings)
    validate(json.loads(render_explanation(explain(plan), Terminal())), EXPLAIN)


def test_words_of_the_schema_hold_no_registry_or_folder() -> None:
    for schema in (PREVIEW, EXPLAIN):
        assert not re.findall(r"https?://(?!json-schema\.org/)\S+", json.dumps(schema))
