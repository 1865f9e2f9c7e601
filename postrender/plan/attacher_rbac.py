"""The objects that give attachers their permissions, if the output has no Role.

A user who may create Roles applies these objects once to a namespace. The objects have no attach
group, so postrender never treats the objects as a part of an earlier output.
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
    """Return the Role and the RoleBinding of attachers.

    The first object is the shared ServiceAccount, if postrender creates this account.
    namespace: "" for objects without a namespace.
    """
    account = settings.service_account or SHARED_ACCOUNT
    # An account with other tasks may already have a Role under the account's own name.
    name = SHARED_ACCOUNT if account == SHARED_ACCOUNT else f"{SHARED_ACCOUNT}-{account}"
    # With the mode auto, each release sets the form of its Job. The Role for JOB suits both forms.
    mode = HOOK if settings.mode == HOOK else JOB
    rules = role_rules(mode, with_secrets)
    objects = role_objects(metadata_of(name, namespace), account, rules)
    if settings.creates_service_account and not settings.service_account:
        objects.insert(0, service_account(metadata_of(account, namespace)))
    return objects
