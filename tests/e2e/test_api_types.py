"""What postrender knows about the types of the API server.

No field outside of pod templates is blind (`plan.by_name`): each field with a string gets the name
of a ConfigMap, in an object of its own. The values that `check` calls rejected are rejected.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from postrender.kubernetes.kinds import group_kind_of
from postrender.kubernetes.validation import find_invalid
from postrender.kubernetes.validation.field_types import type_of
from postrender.kubernetes.validation.updates import find_rejected_changes
from release import field_types
from tests.blind_fields import NAME, is_safe, open_fields
from tests.e2e.api import MERGE, UNREACHABLE, Api, ApiError, Json
from tests.e2e.programs import definitions
from tests.inventory.test_invalid_fields import ACCEPTED, REJECTED
from tests.kubernetes.mutations import OBJECTS, mutations
from tests.rings import in_matrix

STRICT = "dryRun=All&fieldValidation=Strict"
GROUPS = "x-kubernetes-group-version-kind"
# A definition of a kind references nothing, and in content only the data is searched.
NOT_SEARCHED = {"CustomResourceDefinition", "ConfigMap", "Secret"}
FIXED = {"apiVersion", "kind", "metadata", "status"}
# The types of the CRDs contain the schema of a schema, which refers to itself.
MOST_PARTS = 24
Path = tuple[str | int, ...]


@in_matrix
def test_no_field_of_an_api_type_is_blind(api: Api) -> None:
    seen: dict[str, int] = {}
    blind = []
    for group, item in objects(api):
        fields = open_fields(item, NAME)
        seen[item["kind"]] = seen.get(item["kind"], 0) + len(fields)
        if fields and not is_safe(item):
            blind.append((group, item["kind"], *fields))
    assert not blind
    print(sum(seen.values()), "fields of", len(seen), "kinds")
    # The fields that are searched, at least: so many are not on the list of other names.
    assert seen["Rollout"] > 20
    assert seen["AnalysisTemplate"] > 40
    assert seen["PersistentVolumeClaim"] > 3


def objects(api: Api) -> Iterator[tuple[str, Json]]:
    """Yield the group and an object for each field of each type that charts contain."""
    for group in api.request("GET", "/openapi/v3")["paths"]:
        schemas = api.request("GET", f"/openapi/v3/{group}").get("components", {})
        for schema in schemas.get("schemas", {}).values():
            for kind in schema.get(GROUPS, ()):
                is_object = "metadata" in schema.get("properties", ())
                if not is_object or kind["kind"].endswith("List") or kind["kind"] in NOT_SEARCHED:
                    continue
                version = "/".join(filter(None, (kind["group"], kind["version"])))
                for path in strings(schema, schemas["schemas"], ()):
                    if path[0] not in FIXED:
                        head = {"apiVersion": version, "kind": kind["kind"]}
                        metadata = {"name": "reader"}
                        yield kind["group"], {**head, "metadata": metadata, **nested(path)}


def strings(schema: Json, schemas: Json, path: Path) -> Iterator[Path]:
    """Yield the path of each string of a type. The first item of a list stands for all."""
    if len(path) > MOST_PARTS:
        return
    for part in (schema, *schema.get("allOf", ())):
        reference = part.get("$ref")
        if reference:
            name = reference.rpartition("/")[2]
            if name.endswith("JSONSchemaProps"):
                return
            yield from strings(schemas[name], schemas, path)
        is_open = part.get("type") == "object" and not part.get("properties")
        if part.get("type") == "string" or part.get("x-kubernetes-int-or-string"):
            yield path
        elif is_open and not part.get("additionalProperties"):
            yield (*path, "anything")
        for key, inner in part.get("properties", {}).items():
            yield from strings(inner, schemas, (*path, key))
        for key, step in (("items", 0), ("additionalProperties", "any")):
            inner = part.get(key)
            if isinstance(inner, dict):
                yield from strings(inner, schemas, (*path, step))


def nested(path: Path) -> Any:
    """Return the name, nested at a path."""
    value: Any = NAME
    for part in reversed(path):
        value = [value] if isinstance(part, int) else {part: value}
    return value


@pytest.mark.parametrize("item", [item for item, _ in REJECTED])
def test_the_api_server_rejects_what_check_calls_rejected(api: Api, item: Json) -> None:
    with pytest.raises(ApiError):
        api.request("POST", f"{api.path(item['kind'])}?dryRun=All", item)


def test_the_api_server_accepts_what_check_accepts(api: Api) -> None:
    for item in ACCEPTED:
        api.request("POST", f"{api.path(item['kind'])}?dryRun=All", item)


def test_the_types_of_fields_are_those_of_the_api_server(api: Api) -> None:
    mappings = field_types.of_server(api)
    shared = [name for name in mappings if isinstance(type_of(name), dict)]
    assert len(shared) > 300
    for name in shared:
        types, known = field_types.reachable({"": name}, mappings)[name], type_of(name)
        different = {key for key, one in types.items() if known.get(key) != one}
        assert different <= {"status"}, name
    for kind, fields in field_types.custom([str(file) for file in definitions()]).items():
        assert type_of(kind) == fields


@in_matrix
def test_one_other_value_is_rejected_as_check_says(api: Api) -> None:
    """Each value of objects with many fields, changed alone. `check` does not find everything."""
    resources = resources_of(api)
    false, rejected, found = [], 0, 0

    def judged(mutation: tuple[tuple[Any, ...], Json]) -> tuple[str, list[Any], Any]:
        place, item = mutation
        problems = list(find_invalid(item))
        try:
            api.request("POST", f"{resources[item['kind']]}?{STRICT}", item)
        except ApiError as error:
            return str(error), problems, place
        except UNREACHABLE:  # some mistakes stop a request of Kubernetes 1.36
            return "stopped", problems, place
        return "", problems, place

    for item in OBJECTS:
        with ThreadPoolExecutor(8) as pool:
            for error, problems, place in pool.map(judged, mutations(item)):
                rejected += bool(error)
                found += bool(error and problems)
                if problems and not error and place[-1:] != ("storage",):  # negative limits
                    false.append((item["kind"], place, problems))
    print(found, "of", rejected, "rejections are found")
    assert not false
    assert found > 0.85 * rejected


@in_matrix
def test_one_other_value_of_a_live_object_is_rejected_as_diff_says(api: Api) -> None:
    resources, rejected, accepted = resources_of(api), 0, []
    for item in OBJECTS:
        path = resources[item["kind"]]
        live = f"{path}/{item['metadata']['name']}"
        if item["kind"] == "Namespace":
            continue
        api.request("POST", path, item)
        for place, new in mutations(item):
            kind = group_kind_of(item) or ("", "")
            problems = list(find_rejected_changes(kind, item, new, None))
            patch = merge_patch(item, new)
            if problems and patch and place[:2] != ("metadata", "name"):
                try:
                    api.request("PATCH", f"{live}?{STRICT}", patch, MERGE)
                    accepted.append((live, place, problems))
                except (ApiError, *UNREACHABLE):
                    rejected += 1
        api.request("DELETE", live)
    print(rejected, "changes are rejected")
    assert not accepted


def merge_patch(old: Json, new: Json) -> Json:
    """Return the patch that makes the new object of the old one."""
    changed: Json = {
        key: merge_patch(old[key], value)
        if isinstance(value, dict) and isinstance(old.get(key), dict)
        else value
        for key, value in new.items()
        if old.get(key) != value
    }
    return changed | {key: None for key in old if key not in new}


def resources_of(api: Api) -> dict[str, str]:
    """Return the path of the objects of each kind."""
    groups = api.request("GET", "/apis")["groups"]
    paths = ["/api/v1"]
    paths += [f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups]
    found = {}
    for path in paths:
        for one in api.request("GET", path)["resources"]:
            inside = f"/namespaces/{api.namespace}" if one["namespaced"] else ""
            if "/" not in one["name"]:
                found[one["kind"]] = f"{path}{inside}/{one['name']}"
    return found
