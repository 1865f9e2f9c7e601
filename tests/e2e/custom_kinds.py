"""The definition of custom kinds in a test's control plane."""

from __future__ import annotations

from tests.e2e.api import JSON_TYPE, KINDS, Api, ApiError, Json

# Asks the API server for all groups with their kinds in one response.
GROUPS = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def define_kinds(api: Api, *kinds: str) -> None:
    """Define kinds of KINDS without a schema, and wait until programs can use the kinds."""
    for kind in kinds:
        create_definition(api, _definition(kind))
    wait_until_served(api, *kinds)


def wait_until_served(api: Api, *kinds: str) -> None:
    """Wait until programs can use kinds of KINDS."""
    api.wait_for(lambda: are_served(api, *kinds), f"{', '.join(kinds)} are served")


def are_served(api: Api, *kinds: str) -> bool:
    """Return whether the API server answers requests for kinds of KINDS, and lists the kinds.

    Helm and kubectl look a kind up in the list. A busy API server completes the list later.
    """
    answers = (api.request("GET", api.path(kind)) for kind in kinds)
    return _listed_kinds(api) >= {(KINDS[kind].version, kind) for kind in kinds} and all(
        "items" in answer for answer in answers
    )


def _listed_kinds(api: Api) -> set[tuple[str, str]]:
    """Return the version and the kind of each custom or built-in resource with a group."""
    groups = api.request("GET", "/apis", accept=GROUPS)["items"]
    return {
        (f"{group['metadata']['name']}/{version['version']}", resource["responseKind"]["kind"])
        for group in groups
        for version in group["versions"]
        for resource in version.get("resources", ())
    }


def create_definition(api: Api, definition: Json | str) -> None:
    """Create a definition (an object, or YAML text), unless another test has created it."""
    content = "application/yaml" if isinstance(definition, str) else JSON_TYPE
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
