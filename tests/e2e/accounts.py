"""The kubeconfig of a ServiceAccount, as whom attachers run."""

from __future__ import annotations

from tests.e2e.api import Api, Json
from tests.e2e.cluster import ControlPlane, kubeconfig


def account_kubeconfig(
    plane: ControlPlane, api: Api, account: str, url: str = "", pod: Json | None = None
) -> str:
    """Return the text of a kubeconfig with a fresh token of an account of the client's namespace.

    url: another address of the API server, plain http; pod: the Pod that the token is bound to.
    """
    wanted: Json = {"expirationSeconds": 3600}
    if pod:
        names = {key: pod["metadata"][key] for key in ("name", "uid")}
        wanted["boundObjectRef"] = {"kind": "Pod", "apiVersion": "v1", **names}
    path = f"{api.path('ServiceAccount', account)}/token"
    token = api.request("POST", path, {"spec": wanted})["status"]["token"]
    return kubeconfig(url or plane.url, token, None if url else plane.ca, api.namespace)
