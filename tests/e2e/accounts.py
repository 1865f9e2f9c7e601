"""A kubeconfig for a ServiceAccount, which attachers run as."""

from __future__ import annotations

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
