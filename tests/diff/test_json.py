"""The JSON of a preview and of an explanation, and their schemas."""

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

from postrender.config.settings import Settings
from postrender.diff.formats.json import JsonReporter
from postrender.diff.model import CHANGED, Hunk, KeyChange, Line, Preview
from postrender.diff.values import Terminal
from postrender.explain.build import explain
from postrender.explain.reports import JsonReporter as ExplanationReporter
from postrender.inventory.build import take_inventory
from postrender.plan.build import make_plan
from postrender.text import packaged_text
from postrender.yaml.stream import read_stream
from tests.diff.any_previews import ANY, PREVIEWS
from tests.diff.previews import sample

PREVIEW = json.loads(packaged_text("diff/diff.schema.json"))
EXPLAIN = json.loads(packaged_text("explain/explain.schema.json"))
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "rendered"


def closed(schema: Any) -> Any:
    """Return a schema that allows only the properties that it describes."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    return {**inner, "additionalProperties": False} if inner.get("type") == "object" else inner


def validate(document: Any, schema: Any = PREVIEW) -> None:
    jsonschema.Draft202012Validator(closed(schema)).validate(document)


def parsed(preview: Preview) -> Any:
    return json.loads(JsonReporter().render(preview, Terminal()))


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from subschemas(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from subschemas(item)


# --- the schemas ---------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", [PREVIEW, EXPLAIN], ids=["preview", "explain"])
def test_a_schema_is_valid_and_describes_every_property(schema: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"].startswith("urn:postrender:")
    for part in subschemas(schema):
        if part.get("type") == "object":
            assert part["required"] == list(part["properties"])
        for name, value in part.get("properties", {}).items():
            target = schema["$defs"][value["$ref"].split("/")[-1]] if "$ref" in value else {}
            assert {**target, **value}.get("description"), name


@pytest.mark.parametrize("schema", [PREVIEW, EXPLAIN], ids=["preview", "explain"])
def test_a_schema_accepts_properties_that_are_added_later(schema: Any) -> None:
    assert not [part for part in subschemas(schema) if "additionalProperties" in part]
    assert "properties may be added" in schema["description"]


def test_a_property_without_a_description_is_an_error() -> None:
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


def test_the_summary_counts_every_section() -> None:
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


def test_a_workload_has_its_effect_and_its_causes() -> None:
    [web] = [item for item in parsed(sample())["workloads"] if item["object"]["kind"] == "Rollout"]
    assert (web["effect"], web["via"]["name"]) == ("rolls", "web-template")
    config, *_, image, _, token, template = web["causes"]
    assert config["object"]["name"] == "web-config"
    assert config["keys"] == ["LOG_LEVEL", "application.yaml", "feature.json"]
    assert (image["old"], image["new"]) == ("shop/web:1.4.0", "shop/web:1.5.0")
    assert (token["variable"], token["new"]) == ("TOKEN", None)
    assert template["field"]["new"] == 60


def test_patch_accepts_the_diff_of_a_key(tmp_path: Path) -> None:
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


def test_a_secret_has_only_its_base_name() -> None:
    [secret] = [item for item in parsed(sample())["contents"] if item["object"]["kind"] == "Secret"]
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


AUTO_MOUNT = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: app, annotations: {postrender/mount-path: /etc/app}}
data: {key: value}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: app}]}}}
"""


@pytest.mark.parametrize(
    "text",
    [*(path.read_bytes() for path in sorted(EXAMPLES.glob("*.yaml"))), MORE.encode(), b"a: b\n"],
    ids=["v1", "v2", "more", "nothing"],
)
def test_an_explanation_fits_its_schema(text: bytes) -> None:
    validate(explained(text), EXPLAIN)


def explained(text: bytes) -> Any:
    settings = Settings(with_secrets=True)
    plan = make_plan(take_inventory(read_stream(text, "in.yaml"), settings), settings)
    return json.loads(ExplanationReporter().render(explain(plan), Terminal()))


def test_an_explanation_has_the_objects_of_a_preview() -> None:
    assert EXPLAIN["$defs"]["object"]["required"] == PREVIEW["$defs"]["object"]["required"]
    [entry] = explained(MORE.encode())["objects"]
    assert entry["object"] == {"group": "", "kind": "ConfigMap", "namespace": "prod", "name": "app"}
    assert (entry["keepsOriginal"], entry["keepReason"]) == (False, "")
    reference, _ = entry["references"]
    assert reference == {
        "object": {"group": "batch", "kind": "Job", "namespace": "prod", "name": "migrate"},
        "line": 4,
        "path": "spec.template.spec.volumes[0].configMap.name",
        "source": "reference",
        "isRewritten": False,
    }


def test_an_auto_mount_is_a_reference() -> None:
    [entry] = explained(AUTO_MOUNT.encode())["objects"]
    [reference] = entry["references"]
    assert entry["strategy"] == "rename"
    assert reference["object"]["kind"] == "Deployment"
    assert (reference["source"], reference["line"], reference["path"]) == ("auto-mount", 0, "")
    assert reference["isRewritten"]


def test_a_schema_does_not_contain_addresses() -> None:
    for schema in (PREVIEW, EXPLAIN):
        assert not re.findall(r"https?://(?!json-schema\.org/)\S+", json.dumps(schema))
