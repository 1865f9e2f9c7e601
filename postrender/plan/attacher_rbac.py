"""The objects that give attachers their permissions, if `attacher.rbac.create` is false.

A user with permission to create Roles applies these objects once to a namespace. The objects do
not have a group label, so postrender does not treat the objects as a part of an earlier output.
"""

from __future__ import annotations

from postrender.config.settings import SHARED_ACCOUNT, AttacherSettings
from postrender.plan.attacher_job import (
    HOOK,
    JOB,
    metadata_of,
    role_objects,
    role_rules,
    service_account,
)
from postrender.yaml.paths import Json


def rbac_objects(
    settings: AttacherSettings, namespace: str, *, with_secrets: bool
) -> list[dict[str, Json]]:
    """Return a ServiceAccount, a Role and a RoleBinding for all attachers of a namespace.

    The result lacks the ServiceAccount if `attacher.serviceAccount` sets a name, or turns off the
    creation of ServiceAccounts.
    namespace: the namespace in the objects, "" for objects without a namespace.
    with_secrets: whether the Role also permits access to Secrets.
    """
    account = settings.service_account or SHARED_ACCOUNT
    # An account with other tasks can already have a Role with the name of the account.
    name = SHARED_ACCOUNT if account == SHARED_ACCOUNT else f"{SHARED_ACCOUNT}-{account}"
    # With the mode `auto`, the Job's form differs by release. The Role for JOB suits both forms.
    mode = HOOK if settings.mode == HOOK else JOB
    rules = role_rules(mode, with_secrets)
    objects = role_objects(metadata_of(name, namespace), account, rules)
    if settings.creates_service_account and not settings.service_account:
        objects.insert(0, service_account(metadata_of(account, namespace)))
    return objects
