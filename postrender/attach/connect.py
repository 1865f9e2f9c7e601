"""The connection to a cluster, with the service account of a Pod or with a kubeconfig.

lightkube reads the service account or the kubeconfig. lightkube also provides TLS, renews tokens,
and runs the exec plugins of kubeconfigs.
"""

from __future__ import annotations

import os
import ssl
from typing import TYPE_CHECKING

from postrender.attach.reconcile import Account, account_of
from postrender.errors import UsageError, UserError
from postrender.records import NamedTuple
from postrender.text import shown

if TYPE_CHECKING:
    from collections.abc import Generator

    from httpx2 import Auth, Request, Response
    from httpx2 import Client as Session
    from lightkube.config.kubeconfig import SingleConfig

# The maximum times for the connection, and for each wait for data.
CONNECT_SECONDS, ANSWER_SECONDS = 5, 30


class Connection(NamedTuple):
    """An authenticated HTTP session with an API server.

    namespace: the namespace of the Pod or of the kubeconfig's context.
    account: the ServiceAccount of the session's token, None if unknown.
    """

    session: Session
    namespace: str
    account: Account | None


def connect(is_in_cluster: bool | None, context: str | None, kubeconfig: str | None) -> Connection:
    """Return a connection. The function does not send a request.

    is_in_cluster: whether to use the service account of the Pod. None means True if the process
        runs in a Pod, and neither a context nor a kubeconfig is passed.
    context: a context of the kubeconfig, None for the current context.
    kubeconfig: the path of a file, None for $KUBECONFIG or ~/.kube/config.
    Raises UserError if postrender's extra `attach` is not installed, or if the configuration is
    missing or cannot be used.
    """
    try:
        import httpx2
        from lightkube.config.client_adapter import ConnectionParams
    except ImportError as error:
        raise UserError(
            f"postrender cannot connect to a cluster, because the Python module {error.name} is "
            "missing",
            "In a checkout, run pipx install --force '.[attach]', or pip install '.[attach]' in a "
            "virtual environment",
        ) from None
    timeout = httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
    uses_pod = _uses_pod(is_in_cluster, context, kubeconfig)
    try:
        config = _config(context, kubeconfig, uses_pod=uses_pod)
        parameters = ConnectionParams(timeout=timeout).httpx_params(config)
        parameters["auth"] = _with_readable_errors(parameters["auth"])
        # The certificate authority of many clusters (such as EKS) has no key identifier. Python
        # 3.13 and later refuse this authority, but kubectl and other Go programs do not.
        parameters["verify"].verify_flags &= ~ssl.VERIFY_X509_STRICT
        session = httpx2.Client(**parameters)
    except Exception as error:
        # For a bad file, lightkube raises errors of many classes, such as KeyError or SSLError.
        raise _configuration_error(error, uses_pod=uses_pod) from None
    token = config.user.token if config.user else None
    return Connection(session, config.namespace, account_of(token) if token else None)


def is_in_cluster() -> bool | None:
    """Return the variable IS_IN_CLUSTER, None if unset or empty. Raise UsageError if invalid."""
    value = os.environ.get("IS_IN_CLUSTER", "")
    text = value.lower()
    if text in ("", "1", "t", "true"):
        return True if text else None
    if text in ("0", "f", "false"):
        return False
    raise UsageError(
        f"the variable IS_IN_CLUSTER is {shown(value)}, expected true or false",
        "Set IS_IN_CLUSTER to true in a Pod, or unset IS_IN_CLUSTER",
    )


def _uses_pod(is_in_cluster: bool | None, context: str | None, kubeconfig: str | None) -> bool:
    """Return whether to use the service account of the Pod, for the arguments of connect()."""
    is_chosen = context is not None or kubeconfig is not None
    if is_in_cluster is None:
        # In a Pod, the result is True, so that an error is about the token, not about a kubeconfig.
        return not is_chosen and "KUBERNETES_SERVICE_HOST" in os.environ
    return is_in_cluster


def _configuration_error(error: Exception, *, uses_pod: bool) -> UserError:
    if uses_pod:
        return UserError(
            f"postrender cannot use the ServiceAccount of the Pod ({_reason(error)})",
            "Check that the Pod mounts the token and the ca.crt of the ServiceAccount",
        )
    return UserError(
        f"postrender cannot use the kubeconfig ({_reason(error)})",
        "Check the path and the content of the kubeconfig, and the context",
    )


def _with_readable_errors(auth: Auth | None) -> Auth | None:
    """Return an authentication that raises UserError if the login fails.

    Without this function, lightkube would raise other errors, for example if an exec plugin of the
    kubeconfig fails. The result is None if `auth` is None.
    """
    import httpx2

    class ReadableAuth(httpx2.Auth):
        def sync_auth_flow(self, request: Request) -> Generator[Request, Response, None]:
            assert auth is not None
            try:
                yield from auth.sync_auth_flow(request)
            except (httpx2.HTTPError, GeneratorExit):
                raise
            except Exception as error:
                raise UserError(
                    f"the login to the cluster failed ({_reason(error)})",
                    "Log in again, and check that kubectl works with the same kubeconfig",
                ) from None

    return ReadableAuth() if auth else None


def _reason(error: Exception) -> str:
    """Return the message of an error, or the name of its class if the message is empty.

    A KeyError has only the missing key as its message.
    """
    cause = error.__cause__ or error
    if isinstance(cause, OSError) and cause.strerror:
        return f"{cause.filename}: {cause.strerror}" if cause.filename else cause.strerror
    text = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    return text or type(error).__name__


def _config(context: str | None, kubeconfig: str | None, *, uses_pod: bool) -> SingleConfig:
    """Return the configuration for the arguments of connect().

    uses_pod: the result of _uses_pod().

    Raises LookupError if the kubeconfig has no current context. Also raises errors of lightkube.
    """
    from lightkube.config.kubeconfig import DEFAULT_KUBECONFIG, KubeConfig

    if uses_pod:
        configs = KubeConfig.from_service_account()
    else:
        configs = KubeConfig.from_file(
            kubeconfig or os.environ.get("KUBECONFIG") or DEFAULT_KUBECONFIG
        )
    config = configs.get(context)
    if config is None:
        raise LookupError("the kubeconfig has no current context")
    plugin = config.user.exec if config.user else None
    if plugin and plugin.apiVersion == "client.authentication.k8s.io/v1":
        # lightkube rejects v1. The fields that lightkube reads are the same in v1beta1 and v1.
        plugin.apiVersion += "beta1"
    return config
