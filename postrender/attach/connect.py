"""Where the cluster is: a Pod's own service account, or a kubeconfig.

lightkube reads both, and brings TLS, tokens that are renewed, and exec plugins of kubeconfigs.
"""

from __future__ import annotations

import os
import ssl
from typing import TYPE_CHECKING

from postrender.errors import UserError
from postrender.startup.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Generator

    from httpx2 import Auth, Request, Response
    from httpx2 import Client as Session
    from lightkube.config.kubeconfig import SingleConfig

CONNECT_SECONDS, ANSWER_SECONDS = 5, 30


class Connection(NamedTuple):
    """An authenticated HTTP session with an API server, and the namespace one is in there."""

    session: Session
    namespace: str


def connect(is_in_cluster: bool | None = None, context: str | None = None) -> Connection:
    """Return a connection; nothing is sent yet.

    is_in_cluster: None takes the service account in a Pod, elsewhere the kubeconfig
    (KUBECONFIG, or ~/.kube/config); context: of the kubeconfig, None for its current one.
    Raises UserError where there is no such configuration.
    """
    try:
        import httpx2
        from lightkube.config.client_adapter import ConnectionParams
    except ImportError as error:
        raise UserError(
            f"the cluster client is not installed ({error.name} is missing)",
            "install postrender with its extra attach: in a checkout, pip install '.[attach]'",
        ) from None
    timeout = httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
    try:
        config = _config(is_in_cluster, context)
        parameters = ConnectionParams(timeout=timeout).httpx_params(config)
        parameters["auth"] = _explained(parameters["auth"])
        # From 3.13 on Python would refuse the authorities of many clusters (EKS among them),
        # which have no key identifiers; kubectl and everything else in Go takes them.
        parameters["verify"].verify_flags &= ~ssl.VERIFY_X509_STRICT
        session = httpx2.Client(**parameters)
    except Exception as error:
        # lightkube lets through whatever a wrong file raises: KeyError, YAMLError, SSLError ...
        raise UserError(
            f"found no usable cluster configuration: {_reason(error)}",
            "check KUBECONFIG (or ~/.kube/config), or in a Pod its service account token",
        ) from None
    return Connection(session, config.namespace)


def _explained(auth: Auth | None) -> Auth | None:
    """Return what logs in, with an error that a user can read where it fails.

    lightkube lets through whatever an exec plugin of the kubeconfig makes it raise.
    """
    import httpx2

    class Explained(httpx2.Auth):
        def sync_auth_flow(self, request: Request) -> Generator[Request, Response, None]:
            assert auth is not None
            try:
                yield from auth.sync_auth_flow(request)
            except (httpx2.HTTPError, GeneratorExit):
                raise
            except Exception as error:
                raise UserError(
                    f"cannot log in to the cluster: {_reason(error)}",
                    "run kubectl with the same kubeconfig to see whether it can",
                ) from None

    return Explained() if auth else None


def _reason(error: Exception) -> str:
    text = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    return text or type(error).__name__


def _config(is_in_cluster: bool | None, context: str | None) -> SingleConfig:
    from lightkube.config.kubeconfig import DEFAULT_KUBECONFIG, KubeConfig

    if is_in_cluster is None and context is None and "KUBERNETES_SERVICE_HOST" in os.environ:
        is_in_cluster = True  # a Pod without a token is told so, not that a file is missing
    if is_in_cluster:
        found = KubeConfig.from_service_account()
    else:
        found = KubeConfig.from_file(os.environ.get("KUBECONFIG") or DEFAULT_KUBECONFIG)
    config = found.get(context)
    if config is None:
        raise LookupError("it has no current context")
    plugin = config.user.exec if config.user else None
    if plugin and plugin.apiVersion == "client.authentication.k8s.io/v1":
        # v1 differs from v1beta1 in nothing that lightkube, which knows only that, reads.
        plugin.apiVersion += "beta1"
    return config
