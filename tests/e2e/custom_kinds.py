"""The definition of custom kinds in a test's control plane."""

from __future__ import annotations

from tests.e2e.api import KINDS, Api, ApiError, Json


def define_kinds(api: Api, *kinds: str) -> None:
    """Define kinds of KINDS without a schema, and wait until the API server serves the kinds."""
    for kind in kinds:
        create_definition(api, _definition(kind))
    paths = [api.path(kind) for kind in kinds]

    def are_served() -> bool:
        return all("items" in api.request("GET", path) for path in paths)

    api.wait_for(are_served, f"{', '.join(kinds)} are served")


def create_definition(api: Api, definition: Json | str) -> None:
    """Create a definition (an object, or YAML text), unless another test has created it."""
    content = "application/yaml" if isinstance(definition, str) else ""
    try:
        api.request("POST", api.path("CustomResourceDefinition"), definition, content)
    except ApiError as error:
        if error.status != 409:
            raise


def _definition(kind: str) -> Json:
    resource = KINDS[kind]
    group, _, version = resource.version.partition("/")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {
        "kind": kind,
        "plural": resource.plural,
        "singular": kind.lower(),
        "listKind": f"{kind}List",
    }
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [served]},
    }
