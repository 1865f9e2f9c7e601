"""The connection to a cluster, with the service account of a Pod or with a kubeconfig.

lightkube reads the service account or the kubeconfig. It also provides TLS, renews tokens, and runs
the exec plugins of kubeconfigs.
"""

from __future__ import annotations

import base64
import json
import os
import re
import ssl
from collections.abc import Iterable
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING

from postrender.attach.live import text_at
from postrender.errors import Location, UsageError, UserError
from postrender.records import NamedTuple
from postrender.text import shown
from postrender.yaml.document import parse_document

if TYPE_CHECKING:
    from collections.abc import Generator

    from httpx2 import Auth, Request, Response
    from httpx2 import Client as Session
    from lightkube.config.kubeconfig import KubeConfig, SingleConfig

# The maximum times for the connection, and for each wait for data.
CONNECT_SECONDS, ANSWER_SECONDS = 5, 30
# The claim with the account in a projected token (Kubernetes, pkg/serviceaccount/claims.go).
_CLAIM = "kubernetes.io"


# The namespace, the name and the uid of a ServiceAccount.
Account = tuple[str, str, str]


class Connection(NamedTuple):
    """An authenticated HTTP session with an API server.

    namespace: the namespace of the Pod or of the kubeconfig's context.
    account: the ServiceAccount of the session's token, None if unknown.
    """

    session: Session
    namespace: str
    account: Account | None


def connect(in_cluster: bool | None, context: str | None, kubeconfig: str | None) -> Connection:
    """Connect to a cluster, without sending a request.

    in_cluster: whether to use the service account of the Pod. None means True if the process
        runs in a Pod, and neither a context nor a kubeconfig is passed.
    context: None for the current context.
    kubeconfig: None for $KUBECONFIG, which can be a list of files, or ~/.kube/config.
    """
    import httpx2
    from lightkube.config.client_adapter import ConnectionParams

    timeout = httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
    uses_pod = _uses_pod(in_cluster, context, kubeconfig)
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


def account_of(token: str) -> Account | None:
    """The ServiceAccount in the payload of a token, None for a token of another form.

    The signature is not checked. The API server checks it in every request.
    """
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        payload = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return None
    account = (
        text_at(payload, _CLAIM, "namespace"),
        text_at(payload, _CLAIM, "serviceaccount", "name"),
        text_at(payload, _CLAIM, "serviceaccount", "uid"),
    )
    return account if all(account) else None


def is_in_cluster() -> bool | None:
    """The variable IS_IN_CLUSTER, None if unset or empty; UsageError if invalid."""
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


def _uses_pod(in_cluster: bool | None, context: str | None, kubeconfig: str | None) -> bool:
    is_chosen = context is not None or kubeconfig is not None
    if in_cluster is None:
        # In a Pod, an error is then about the token, not about a kubeconfig.
        return not is_chosen and "KUBERNETES_SERVICE_HOST" in os.environ
    return in_cluster


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
    """Raise UserError where lightkube raises other errors, as for an exec plugin that fails."""
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
    cause = error.__cause__ or error
    if isinstance(cause, OSError) and cause.strerror:
        return f"{cause.filename}: {cause.strerror}" if cause.filename else cause.strerror
    if isinstance(error, UserError):
        # The parser can quote the text, which can be a token.
        place = error.location
        line = f"{place.source}, line {place.line}: " if place else ""
        return line + re.sub(r"'.*'", "...", error.problem)
    if isinstance(error, (TypeError, AttributeError)):
        return "a value has another type than in a kubeconfig"
    # The message of a KeyError is only the missing key.
    text = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    return text or type(error).__name__


def _config(context: str | None, kubeconfig: str | None, *, uses_pod: bool) -> SingleConfig:
    from lightkube.config.kubeconfig import DEFAULT_KUBECONFIG, KubeConfig

    if uses_pod:
        configs = KubeConfig.from_service_account()
    else:
        names = [kubeconfig] if kubeconfig else os.environ.get("KUBECONFIG", "").split(os.pathsep)
        configs = _read_files(list(filter(None, names)) or [DEFAULT_KUBECONFIG])
    config = configs.get(context)
    if config is None:
        raise LookupError("the kubeconfig has no current context")
    plugin = config.user.exec if config.user else None
    if plugin and plugin.apiVersion == "client.authentication.k8s.io/v1":
        # lightkube rejects v1. The fields that lightkube reads are the same in v1beta1 and v1.
        plugin.apiVersion += "beta1"
    return config


def _read_files(names: list[str]) -> KubeConfig:
    """Merge kubeconfigs as kubectl does: files can be absent, and the first entry of a name counts.

    lightkube would show the text of a file that is not valid YAML, which can have a token.
    """
    from lightkube.config.kubeconfig import KubeConfig

    paths = [Path(name).expanduser() for name in names]
    files = [path for path in paths if path.is_file()]
    if not files:
        raise LookupError(f"the file {' or '.join(map(str, paths))} is not found")
    merged = KubeConfig(clusters={}, contexts={}, users={})
    for path in reversed(files):
        data = parse_document(path.read_text("utf-8"), Location(str(path), line=1)).data
        if data is None and len(files) == 1:
            raise LookupError(f"the file {path} is empty")
        if not isinstance(data, (dict, NoneType)):
            raise TypeError
        fields = {key: value for key, value in (data or {}).items() if value is not None}
        found = KubeConfig.from_dict({"clusters": [], "contexts": [], **fields})
        _make_absolute(found.clusters.values(), ["certificate_auth"], path)
        _make_absolute(found.users.values(), ["client_cert", "client_key"], path)
        for field in ("clusters", "contexts", "users"):
            getattr(merged, field).update(getattr(found, field))
        merged.current_context = found.current_context or merged.current_context
    return merged


def _make_absolute(entries: Iterable[object], fields: Iterable[str], path: Path) -> None:
    """Resolve the relative paths in entries of a kubeconfig, which begin at its folder."""
    for entry in entries:
        for field in fields:
            name = getattr(entry, field)
            if name:
                setattr(entry, field, str(path.absolute().parent / name))
