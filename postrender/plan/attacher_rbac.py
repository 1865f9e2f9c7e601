"""The objects that give attachers their permissions, if the output has no Role.

A user who may create Roles applies these objects once to a namespace. The objects have no attach
group, so postrender never treats the objects as a part of an earlier output.
"""

from __future__ import annotations

from postrender.config.settings import SHARED_ACCOUNT, AttacherSettings
from postrender.kubernetes.kinds import RBAC_GROUP
from postrender.plan.attacher_job import (
    HOOK,
    JOB,
    RBAC_VERSION,
    attacher_object,
    role_rules,
    without_token,
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
    subject = {"kind": "ServiceAccount", "name": account}
    if namespace:
        subject["namespace"] = namespace
    role: dict[str, Json] = {
        **attacher_object(RBAC_VERSION, "Role", name=name, namespace=namespace),
        "rules": role_rules(mode, with_secrets),
    }
    binding: dict[str, Json] = {
        **attacher_object(RBAC_VERSION, "RoleBinding", name=name, namespace=namespace),
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "Role", "name": name},
        "subjects": [subject],
    }
    is_shared = settings.creates_service_account and not settings.service_account
    objects = [role, binding]
    if is_shared:
        shared = attacher_object("v1", "ServiceAccount", name=account, namespace=namespace)
        objects.insert(0, without_token(shared))
    return objects
