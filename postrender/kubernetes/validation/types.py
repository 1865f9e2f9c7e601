"""Values of a wrong type, mostly because they lack quotes."""

from __future__ import annotations

from collections.abc import Iterator

from postrender.kubernetes.validation.checks import NOT_A_STRING, Check, Problem, needs_quotes
from postrender.text import shown
from postrender.yaml.paths import Json, Parts, Path, parts_at, value_at

# The lists whose items have a string in `value`.
_WITH_VALUES = ("env", "tolerations", "httpHeaders")


def find_wrong_types(root: dict[str, Json], parts: Parts) -> Iterator[Problem]:
    """The values whose type differs from the type of their field, in the parts of an object."""
    name = {"name": value_at(root, ("metadata", "name"))}
    pending: list[tuple[Path, dict[str, Json] | list[Json], Parts]] = [
        (("metadata",), name, parts_at(parts, ("metadata",))),
        ((), root, parts),
    ]
    while pending:
        around, value, within = pending.pop()
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            is_part = within is None or key in within
            if not is_part or inner is None or (key == "metadata" and not around):
                continue
            check = _CHECKS.get(key)
            if key == "value" and len(around) > 1 and around[-2] in _WITH_VALUES:
                check = _string
            if check is None and isinstance(key, str) and (field := _NAMES.get(key.lower())):
                yield (*around, key), f"the field does not exist, and Kubernetes calls it {field}"
            if check:
                yield from (((*around, key), text) for text in check(inner))
            if isinstance(inner, (dict, list)) and check not in _WHOLE:
                pending.append(((*around, key), inner, within and within[key]))


def _string(value: Json) -> Iterator[str]:
    if not isinstance(value, (str, dict, list)):
        yield needs_quotes(value)


def _strings(value: Json) -> Iterator[str]:
    for one in value if isinstance(value, list) else ():
        if not isinstance(one, (str, type(None))):
            yield needs_quotes(one)


def _string_map(value: Json) -> Iterator[str]:
    for one in value.values() if isinstance(value, dict) else ():
        if not isinstance(one, (str, type(None))):
            yield needs_quotes(one)


def _none(_: Json) -> Iterator[str]:
    return iter(())


def _data(value: Json) -> Iterator[str]:
    # The text does not show the value, which can be of a Secret.
    return (f"the value {NOT_A_STRING}" for _ in _string_map(value))


def _number(value: Json) -> Iterator[str]:
    is_number = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if not is_number or isinstance(value, bool):
        yield f"the value {shown(value)} is not a whole number"


def _boolean(value: Json) -> Iterator[str]:
    if not isinstance(value, (bool, dict, list)):
        yield f"the value {shown(value)} is not true or false"


def _list(value: Json) -> Iterator[str]:
    if not isinstance(value, list):
        yield "the value is not a list"


def _mapping(value: Json) -> Iterator[str]:
    if not isinstance(value, dict):
        yield "the value is not a mapping"


def _of(check: Check, names: str) -> dict[Json, Check]:
    return dict.fromkeys(names.split(" "), check)


# The checks that also cover what is in the list or mapping.
_WHOLE = (_strings, _string_map, _data, _none)
# The fields that have one type in every built-in kind and in a Rollout.
_CHECKS = {
    **_of(
        _string,
        "name namespace image serviceAccountName mountPath subPath host schedule key operator "
        "effect claimName secretName storageClassName topologyKey protocol restartPolicy "
        "imagePullPolicy clusterIP path pathType priorityClassName nodeName volumeName "
        "workingDir timeZone",
    ),
    **_of(
        _strings,
        "args command values verbs apiGroups resourceNames nonResourceURLs finalizers "
        "accessModes hosts policyTypes",
    ),
    **_of(_string_map, "annotations matchLabels nodeSelector"),
    **_of(_none, "labels"),  # the rules of labels are with their names
    **_of(_none, "parameters options volumeAttributes limits requests plugins hard"),  # free keys
    **_of(
        _list,
        "containers initContainers env envFrom volumes volumeMounts tolerations imagePullSecrets "
        "hostAliases topologySpreadConstraints volumeClaimTemplates matchExpressions subjects "
        "ports rules tls metrics",
    ),
    **_of(
        _mapping,
        "spec template jobTemplate selector strategy updateStrategy rollingUpdate securityContext "
        "affinity livenessProbe readinessProbe startupProbe lifecycle configMap emptyDir "
        "valueFrom configMapKeyRef secretKeyRef scaleTargetRef roleRef",
    ),
    **_of(_data, "stringData data binaryData"),
    **_of(
        _number,
        "replicas containerPort hostPort nodePort revisionHistoryLimit "
        "terminationGracePeriodSeconds minReplicas maxReplicas completions parallelism "
        "backoffLimit periodSeconds timeoutSeconds failureThreshold successThreshold "
        "initialDelaySeconds minReadySeconds partition runAsUser progressDeadlineSeconds "
        "ttlSecondsAfterFinished activeDeadlineSeconds defaultMode runAsGroup fsGroup number",
    ),
    **_of(
        _boolean,
        "hostNetwork hostPID hostIPC suspend paused readOnly optional immutable privileged stdin "
        "tty allowPrivilegeEscalation readOnlyRootFilesystem runAsNonRoot "
        "automountServiceAccountToken allowVolumeExpansion",
    ),
}
# The names of the fields, by the name in lower case.
_NAMES = {str(name).lower(): name for name in _CHECKS}
