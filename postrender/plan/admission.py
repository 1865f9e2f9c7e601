"""The objects with which a cluster administrator limits or grants what attachers may do, and the
CronJob that does their work for releases with an inventory.

The Role of an attacher permits changes to every ConfigMap of the namespace. The
ValidatingAdmissionPolicy permits only the changes that an attacher needs; the messages in
_VALIDATIONS describe the limits. The policy needs Kubernetes 1.30.

If `attacher.rbac.create` is false, a user with permission to create Roles applies rbac_objects
once to a namespace. These objects have no group label, so postrender does not take them for a
part of an earlier output.
"""

from __future__ import annotations

import json

from postrender.config.settings import EXTERNAL, SHARED_ACCOUNT, AttacherSettings
from postrender.kubernetes.annotations import (
    APPLIED_ANNOTATION,
    COLLECT_LABEL,
    GROUP_LABEL,
    PRUNE_ANNOTATION,
    SWEEP_ANNOTATION,
    UNUSED_ANNOTATION,
)
from postrender.kubernetes.attach_groups import SUFFIX
from postrender.plan.attacher_objects import (
    HOOK,
    JOB,
    labels_of,
    metadata_of,
    pod_template,
    role_objects,
    role_rules,
    service_account,
)
from postrender.yaml.paths import Json

# The name of the CronJob that runs `postrender collect`, and of its account.
COLLECTOR = "postrender-collect"
VERSION = "admissionregistration.k8s.io/v1"
POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"

# dyn() turns off CEL's type check, because the kinds in `_RULES` have different fields. The API
# server evaluates a variable only if an expression uses the variable. CEL limits the cost of an
# expression, so the expressions do not compare every pair of items from two lists.
_VARIABLES = {
    "old": "dyn(oldObject)",
    "new": "dyn(object)",
    "isRevision": "request.resource.resource in ['configmaps', 'secrets']",
    "isUpdate": "variables.isRevision && request.operation == 'UPDATE'",
    "isDelete": "request.operation == 'DELETE'",
    "oldLabels": "variables.old.metadata.?labels.orValue({})",
    # A ConfigMap of another tool that the user lets `postrender collect` delete.
    "isReleased": f"variables.isDelete && variables.oldLabels[?'{COLLECT_LABEL}'] "
    "== optional.of('true')",
    "oldAnnotations": "variables.old.metadata.?annotations.orValue({})",
    "newAnnotations": "variables.new.metadata.?annotations.orValue({})",
    "oldOwners": "variables.old.metadata.?ownerReferences.orValue([])",
    "newOwners": "variables.new.metadata.?ownerReferences.orValue([])",
}
_FIELDS = ("?data", "?binaryData", "?stringData", "?immutable", "?type")
_METADATA = ("metadata.?labels", "metadata.?finalizers")
_SAME_FIELDS = "\n  && ".join(
    f"variables.new.{path} == variables.old.{path}" for path in (*_FIELDS, *_METADATA)
)
# The message and the condition of each validation.
_VALIDATIONS = {
    f"an attacher may change and delete only objects with the label {GROUP_LABEL}": (
        f"request.operation == 'CREATE' || '{GROUP_LABEL}' in variables.oldLabels\n"
        "  || variables.isReleased"
    ),
    f"an attacher may change only owner references and the annotation {UNUSED_ANNOTATION}": (
        f"!variables.isUpdate || ({_SAME_FIELDS})"
    ),
    f"an attacher must not change annotations other than {UNUSED_ANNOTATION}": (
        "!variables.isUpdate || (variables.newAnnotations.all(key,\n"
        f"    key == '{UNUSED_ANNOTATION}'\n"
        "    || variables.oldAnnotations[?key] == optional.of(variables.newAnnotations[key]))\n"
        "  && variables.oldAnnotations.all(key,\n"
        f"    key in ['{UNUSED_ANNOTATION}', '{APPLIED_ANNOTATION}']\n"
        "    || key in variables.newAnnotations))"
    ),
    "an attacher must not add an owner that is a controller or blocks deletions": (
        "!variables.isUpdate || ["
        "'controller', 'blockOwnerDeletion'].all(field,\n"
        "    variables.newOwners.filter(owner, owner[?field] == optional.of(true)).size()\n"
        "    <= variables.oldOwners.filter(owner, owner[?field] == optional.of(true)).size())"
    ),
    f"an attacher may delete a revision only if it has the annotation {UNUSED_ANNOTATION}, and if "
    f"neither {PRUNE_ANNOTATION} nor {SWEEP_ANNOTATION} is false": (
        "!(variables.isRevision && variables.isDelete)\n"
        f"  || ((variables.isReleased || '{UNUSED_ANNOTATION}' in variables.oldAnnotations)\n"
        f"    && !['{PRUNE_ANNOTATION}', '{SWEEP_ANNOTATION}'].exists(key,\n"
        "      variables.oldAnnotations[?key] == optional.of('false')))"
    ),
    "an attacher may delete only finished Jobs": (
        "!(request.resource.resource == 'jobs' && variables.isDelete)\n"
        "  || variables.old.?status.?conditions.orValue([]).exists(item,\n"
        "    item.type in ['Complete', 'Failed'] && item.status == 'True')"
    ),
    "an attacher may create Events only as the component postrender": (
        "request.operation != 'CREATE'\n"
        "  || variables.new.?source.?component == optional.of('postrender')"
    ),
}
_RULES: list[Json] = [
    {"apiGroups": [group], "apiVersions": ["v1"], "operations": operations, "resources": resources}
    for group, operations, resources in (
        ("", ["UPDATE", "DELETE"], ["configmaps", "secrets"]),
        ("", ["CREATE"], ["events"]),
        ("batch", ["DELETE"], ["jobs"]),
    )
]


def policy_objects(settings: AttacherSettings, namespace: str) -> list[dict[str, Json]]:
    """The policy and a binding.

    namespace: the namespace of the attachers, "" for the attachers of all namespaces.
    """
    binding: dict[str, Json] = {"policyName": SHARED_ACCOUNT, "validationActions": ["Deny"]}
    name = SHARED_ACCOUNT
    if namespace:
        name = f"{name}-{namespace}"
        labels: Json = {"kubernetes.io/metadata.name": namespace}
        binding["matchResources"] = {"namespaceSelector": {"matchLabels": labels}}
    return [
        _cluster_object(POLICY, SHARED_ACCOUNT, _spec(settings)),
        _cluster_object(BINDING, name, binding),
    ]


def _cluster_object(kind: str, name: str, spec: Json) -> dict[str, Json]:
    return {"apiVersion": VERSION, "kind": kind, "metadata": metadata_of(name, None), "spec": spec}


def _spec(settings: AttacherSettings) -> dict[str, Json]:
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": _RULES},
        "matchConditions": [{"name": "attacher", "expression": _condition(settings)}],
        "variables": [
            {"name": name, "expression": expression} for name, expression in _VARIABLES.items()
        ],
        "validations": [
            {"expression": expression, "message": message, "reason": "Forbidden"}
            for message, expression in _VALIDATIONS.items()
        ],
    }


def _condition(settings: AttacherSettings) -> str:
    """The CEL condition that selects the requests of attachers, by ServiceAccount.

    The condition selects every account with the suffix SUFFIX, and those of collectors. It also
    selects the account in attacher.serviceAccount.name if releases create it. An account that a
    user creates could have other tasks.
    """
    user = "request.userInfo.username"
    suffixes = [SUFFIX, f":{COLLECTOR}"]
    if settings.service_account and settings.creates_service_account:
        suffixes.append(f":{settings.service_account}")
    # Each JSON string is also a CEL string, so a name cannot inject CEL.
    ends = " || ".join(f"{user}.endsWith({json.dumps(suffix)})" for suffix in suffixes)
    return f"{user}.startsWith('system:serviceaccount:') && ({ends})"


def rbac_objects(
    settings: AttacherSettings, namespace: str, *, with_secrets: bool
) -> list[dict[str, Json]]:
    """A ServiceAccount, a Role and a RoleBinding for all attachers of a namespace.

    The ServiceAccount is missing if `attacher.serviceAccount` names or turns off the account.
    namespace: "" for objects without a namespace.
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


# What an uninstall has left is at least this old before the CronJob marks it.
_LEFTOVER_AGE = "1d"


def collector_objects(
    settings: AttacherSettings, namespace: str, *, is_cluster_wide: bool, with_secrets: bool
) -> list[dict[str, Json]]:
    """A CronJob that runs `postrender collect`, its ServiceAccount, and what it may do.

    namespace: of the CronJob, and if is_cluster_wide is False, of the releases. "" for objects
        without a namespace.
    """
    metadata = metadata_of(COLLECTOR, namespace)
    rules = role_rules(EXTERNAL, with_secrets)
    arguments = ["collect", "--yes", "--older-than", _LEFTOVER_AGE]
    arguments += ["--all-namespaces"] if is_cluster_wide else []
    job: Json = {
        "backoffLimit": 0,
        "activeDeadlineSeconds": 3600,
        "template": pod_template(labels_of(), COLLECTOR, arguments, settings),
    }
    schedule: Json = {
        "schedule": "17 * * * *",
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": 600,
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {"spec": job},
    }
    return [
        service_account(metadata),
        *role_objects(metadata, COLLECTOR, rules, "Cluster" if is_cluster_wide else ""),
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": schedule},
    ]
