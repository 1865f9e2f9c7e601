"""ServiceAccounts, which attachers run as, their permissions and their kubeconfigs."""

from __future__ import annotations

from functools import partial

from tests.e2e.api import Api, Json
from tests.e2e.cluster import ControlPlane, kubeconfig


def account_kubeconfig(
    plane: ControlPlane, api: Api, account: str, url: str = "", pod: Json | None = None
) -> str:
    """Return the text of a kubeconfig with a new token for an account in the client's namespace.

    url: another address of the API server, plain http.
    pod: the Pod that the token is bound to.
    """
    token_spec: Json = {"expirationSeconds": 3600}
    if pod:
        names = {key: pod["metadata"][key] for key in ("name", "uid")}
        token_spec["boundObjectRef"] = {"kind": "Pod", "apiVersion": "v1", **names}
    path = f"{api.path('ServiceAccount', account)}/token"
    token = api.request("POST", path, {"spec": token_spec})["status"]["token"]
    return kubeconfig(url or plane.url, token, None if url else plane.ca, api.namespace)


def create_account(api: Api, name: str, rules: list[Json]) -> None:
    """Create a ServiceAccount with its own Role, and wait until the Role is in effect."""
    metadata: Json = {"metadata": {"name": name}}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    subject = {"kind": "ServiceAccount", "name": name}
    api.create({"kind": "ServiceAccount", **metadata})
    api.create({"kind": "Role", **metadata, "rules": rules})
    api.create({"kind": "RoleBinding", **metadata, "roleRef": role, "subjects": [subject]})
    for rule in rules:
        access = {
            "verb": rule["verbs"][0],
            "resource": rule["resources"][0],
            "group": rule["apiGroups"][0],
        }
        api.wait_for(partial(is_allowed, api, name, access), f"the permission {access}")


def is_allowed(api: Api, account: str, access: Json) -> bool:
    """Return whether the API server's authorizer, which has a cache, allows an access.

    access: the keys `verb`, `resource` and `group`.
    """
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{api.namespace}:{account}",
            "resourceAttributes": {"namespace": api.namespace, **access},
        },
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    return bool(api.request("POST", path, review)["status"]["allowed"])
