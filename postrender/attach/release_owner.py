"""The release owner: an object that exists until somebody uninstalls the application.

By default, the release owner is the ServiceAccount that `postrender render` adds to the output for
an attach group. If render does not add a ServiceAccount, the release owner is the Role that render
adds. An uninstall with a tool such as Helm deletes the release owner.

attach adds the release owner to every revision, but not to originals. Without a release owner,
Kubernetes would delete a revision with its old workload if the workload gets another name
or kind.
"""

from __future__ import annotations

import base64
import json
import logging

from postrender.attach.client import ApiError, Client
from postrender.attach.live import Owner, text_at
from postrender.attach.request import NamedObject
from postrender.attach.resources import SERVICE_ACCOUNTS
from postrender.records import NamedTuple

# The claim with the account in a projected token (Kubernetes, pkg/serviceaccount/claims.go).
_CLAIM = "kubernetes.io"

_log = logging.getLogger(__name__)


class Account(NamedTuple):
    """The ServiceAccount that a token belongs to."""

    namespace: str
    name: str
    uid: str


def account_of(token: str) -> Account | None:
    """Return the ServiceAccount in the payload of a token, None for a token of another form.

    account_of does not check the signature. The API server checks the token in every request.
    """
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        payload = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return None
    account = Account(
        namespace=text_at(payload, _CLAIM, "namespace"),
        name=text_at(payload, _CLAIM, "serviceaccount", "name"),
        uid=text_at(payload, _CLAIM, "serviceaccount", "uid"),
    )
    return account if all(account) else None


def find_release_owner(
    client: Client, wanted: NamedObject | None, account: Account | None
) -> Owner | None:
    """Return the release owner of a run, None if the run has no release owner.

    If the wanted object does not exist or the API server refuses the request, the function logs a
    warning. If the account is the wanted object, the function does not send a request.
    wanted: the release owner in AttachRequest, None if unknown.
    account: the ServiceAccount of the run, None if unknown.
    Raises ApiError if the API server does not answer.
    """
    if wanted is None:
        return None
    reason = f"{wanted} does not exist"
    fix = f"Apply the manifests that contain {wanted}"
    if (
        account
        and wanted.resource == SERVICE_ACCOUNTS
        and (account.namespace, account.name) == (client.namespace, wanted.name)
    ):
        uid = account.uid
    else:
        try:
            data = client.read(wanted.resource, wanted.name)
        except ApiError as error:
            if not error.is_answer:
                raise
            data, reason, fix = None, error.problem, error.fix
        uid = text_at(data, "metadata", "uid")
    if not uid:
        _log.warning(
            f"attach cannot make {wanted} an owner of the revisions, because {reason}. If a "
            "workload gets another name or kind, Kubernetes deletes the revisions of the workload. "
            f"{fix}."
        )
        return None
    return Owner(
        api_version=wanted.resource.api_version,
        kind=wanted.resource.kind,
        name=wanted.name,
        uid=uid,
    )
