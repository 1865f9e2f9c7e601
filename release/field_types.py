"""Write the fields of the built-in kinds and of Rollouts: python -m release.field_types CRD...

The fields of Kubernetes come from kubernetes-validate, which has the schemas of several versions,
and the values of texts from an API server. The CRDs are those of Argo Rollouts, which
`make programs` downloads. Each line of the file has a type and its name. A type is one of

- a word: string, integer, int32, number, boolean, quantity, int-or-string or any;
- the values of a text: `Exact|Prefix`;
- a name: of a mapping, or of a kind, such as `apps/v1 Deployment`;
- a mapping of fields, where `*` is the type of all other keys;
- a list with the type of its items.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml

from tests.e2e.api import Api
from tests.e2e.cluster import Cluster

FOLDER = Path(__file__).resolve().parents[1] / "postrender" / "kubernetes" / "validation"
SCHEMAS = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
WORDS = {
    "Quantity": "quantity",
    "IntOrString": "int-or-string",
    "Time": "string",
    "MicroTime": "string",
}
POD_TEMPLATE = "core.v1.PodTemplateSpec"
# The API server accepts fewer values, or other code knows the values.
OTHER_VALUES = {
    "admissionregistration.v1.MutatingWebhook": "sideEffects",
    "admissionregistration.v1.ValidatingWebhook": "sideEffects",
    "core.v1.PodSpec": "restartPolicy",
    "storage.v1.StorageClass": "reclaimPolicy",
}


def versions() -> list[str]:
    """Return the versions of Kubernetes that have a schema, such as 1.37, oldest first."""
    found = (path.name.removeprefix("v").split(".")[:2] for path in SCHEMAS.glob("v*-local"))
    return [".".join(one) for one in sorted(found, key=lambda one: [int(part) for part in one])]


def kubernetes(names: list[str]) -> tuple[dict, dict]:
    """Return the mapping of each kind and the fields of each mapping, of all these versions."""
    kinds, mappings = {}, {}
    for name in names:
        file = SCHEMAS / f"v{name}.0-local" / "_definitions.json"
        for full_name, schema in json.loads(file.read_text())["$defs"].items():
            fields = schema.get("properties")
            for known in schema.get("x-kubernetes-group-version-kind", ()) if fields else ():
                if not known["kind"].endswith("List") and "metadata" in fields:
                    api = "/".join(filter(None, (known["group"], known["version"])))
                    kinds[f"{api} {known['kind']}"] = short(full_name)
            if fields:
                # The values here are only those of apiVersion and kind.
                types = {key: without_values(type_of(one)) for key, one in fields.items()}
                if "status" in fields:
                    types["status"] = "any"
                mappings.setdefault(short(full_name), {}).update(types)
    return kinds, reachable(kinds, mappings)


def of_server(api: Api) -> dict:
    """Return the fields of each mapping of an API server, with the values of texts."""
    mappings = {}
    for group in api.request("GET", "/openapi/v3")["paths"]:
        schemas = api.request("GET", f"/openapi/v3/{group}").get("components", {})
        for full_name, schema in schemas.get("schemas", {}).items():
            if fields := schema.get("properties"):
                name = short(full_name)
                mappings[name] = {key: type_of(one) for key, one in fields.items()}
                if key := OTHER_VALUES.get(name):
                    mappings[name][key] = without_values(mappings[name][key])
    return mappings


def without_values(one: Any) -> Any:
    """Return a type, with `string` for the values of a text."""
    if isinstance(one, list):
        return [without_values(item) for item in one]
    if isinstance(one, dict):
        return {key: without_values(inner) for key, inner in one.items()}
    return "string" if "|" in one else one


def add_values(mappings: dict, server: dict) -> None:
    """Give the fields the values that the same fields of a server have."""
    for name, fields in server.items():
        known = mappings.get(name, {})
        known |= {key: one for key, one in fields.items() if known.get(key) == without_values(one)}


def short(name: str) -> str:
    return ".".join(name.split(".")[-3:])


def type_of(schema: dict) -> object:
    """Return the type of a schema of Kubernetes or of a CRD."""
    if "$ref" in schema:
        name = short(schema["$ref"])
        return WORDS.get(name.split(".")[-1], name)
    if "allOf" in schema:  # around a reference, in the schemas of an API server
        return type_of(schema["allOf"][0])
    if schema.get("x-kubernetes-int-or-string"):
        return "int-or-string"
    words = schema.get("type", "any")
    word = words if isinstance(words, str) else next(one for one in words if one != "null")
    values = [value for value in schema.get("enum", ()) if value]
    if word == "string" and len(values) > 1:
        return "|".join(values)
    if word == "array":
        return [type_of(schema.get("items", {}))]
    if word != "object":
        return "int32" if schema.get("format") == "int32" else word
    fields = {key: type_of(one) for key, one in schema.get("properties", {}).items()}
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        fields["*"] = type_of(others)
    elif schema.get("x-kubernetes-preserve-unknown-fields") or not fields:
        fields["*"] = "any"
    return fields


def reachable(kinds: dict, mappings: dict) -> dict:
    """Return the mappings that a kind contains. A name of anything else stands for any value."""
    found, pending = {}, list(kinds.values())

    def known(one: object) -> object:
        if isinstance(one, list):
            return [known(item) for item in one]
        if isinstance(one, dict):
            return {key: known(inner) for key, inner in one.items()}
        if "." in one:
            if one not in mappings:
                return "any"
            pending.append(one)
        return one

    while pending:
        name = pending.pop()
        if name not in found:
            found[name] = {}
            found[name] = {key: known(one) for key, one in sorted(mappings[name].items())}
    return dict(sorted(found.items()))


def custom(files: list[str]) -> dict:
    """Return the fields of each kind that a CRD defines."""
    found = {}
    for file in files:
        spec = yaml.safe_load(Path(file).read_text())["spec"]
        for version in spec["versions"]:
            fields = type_of(version["schema"]["openAPIV3Schema"])
            fields |= {"metadata": "meta.v1.ObjectMeta"}
            if "status" in fields:
                fields["status"] = "any"
            if isinstance(fields["spec"].get("template"), dict):
                fields["spec"]["template"] = POD_TEMPLATE
            found[f"{spec['group']}/{version['name']} {spec['names']['kind']}"] = fields
    return found


def lines(values: dict) -> str:
    """Return a mapping as JSON, with one line for each key."""
    texts = (f"{json.dumps(key)}: {json.dumps(one)}" for key, one in values.items())
    return "{\n" + ",\n".join(texts) + "\n}"


def main(files: list[str]) -> None:
    """Write the file."""
    names = versions()
    kinds, mappings = kubernetes(names)
    with tempfile.TemporaryDirectory() as folder, Cluster(Path(folder)) as cluster:
        add_values(mappings, of_server(cluster.plane.api()))
    types = {"versions": names, **dict(sorted((kinds | custom(files)).items())), **mappings}
    (FOLDER / "field_types.json").write_text(lines(types) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
