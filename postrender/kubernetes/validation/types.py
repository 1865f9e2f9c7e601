"""Values of a wrong type, mostly because they lack quotes."""

from __future__ import annotations

from collections.abc import Iterator

from postrender.kubernetes.kinds import DATA_FIELDS
from postrender.kubernetes.validation.checks import NOT_A_STRING, Problem, needs_quotes
from postrender.text import shown
from postrender.yaml.paths import Json, Path, value_at


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split(" "))


# The fields that have one type in every built-in kind and in a Rollout.
_STRINGS = _words(
    "name namespace image serviceAccountName mountPath subPath host schedule key operator "
    "effect claimName secretName storageClassName topologyKey protocol restartPolicy "
    "imagePullPolicy clusterIP path pathType priorityClassName nodeName volumeName "
    "workingDir timeZone"
)
_STRING_LISTS = _words(
    "args command values verbs apiGroups resourceNames nonResourceURLs finalizers "
    "accessModes hosts policyTypes"
)
_STRING_MAPS = _words("labels annotations matchLabels nodeSelector stringData data binaryData")
_NUMBERS = _words(
    "replicas containerPort hostPort nodePort revisionHistoryLimit "
    "terminationGracePeriodSeconds minReplicas maxReplicas completions parallelism "
    "backoffLimit periodSeconds timeoutSeconds failureThreshold successThreshold "
    "initialDelaySeconds minReadySeconds partition runAsUser progressDeadlineSeconds "
    "ttlSecondsAfterFinished activeDeadlineSeconds defaultMode runAsGroup fsGroup number"
)
_BOOLEANS = _words(
    "hostNetwork hostPID hostIPC suspend paused readOnly optional immutable privileged stdin "
    "tty allowPrivilegeEscalation readOnlyRootFilesystem runAsNonRoot "
    "automountServiceAccountToken allowVolumeExpansion"
)
# The lists whose items have a string in `value`.
_WITH_VALUES = ("env", "tolerations", "httpHeaders")


def find_wrong_types(root: dict[str, Json]) -> Iterator[Problem]:
    """The values whose type differs from the type of their field."""
    pending: list[tuple[Path, Json]] = [((key,), root[key]) for key in root if key != "metadata"]
    pending += [(("metadata", "name"), value_at(root, ("metadata", "name")))]
    while pending:
        path, value = pending.pop()
        field = path[-1]
        yield from ((path, text) for text in _type(path, value))
        if isinstance(value, dict) and field not in _STRING_MAPS:
            pending += [((*path, key), inner) for key, inner in value.items()]
        elif isinstance(value, list) and field not in _STRING_LISTS:
            pending += [((*path, number), inner) for number, inner in enumerate(value)]


def _type(path: Path, value: Json) -> Iterator[str]:
    field = path[-1]
    if value is None or not isinstance(field, str):
        return
    scalars = [value] if not isinstance(value, (dict, list)) else []
    is_value = field == "value" and len(path) > 2 and path[-3] in _WITH_VALUES
    if field in _STRINGS or is_value:
        yield from (needs_quotes(one) for one in scalars if not isinstance(one, str))
    elif field in _STRING_LISTS and isinstance(value, list):
        yield from (needs_quotes(one) for one in value if not isinstance(one, (str, type(None))))
    elif field in _STRING_MAPS and isinstance(value, dict) and field not in ("labels",):
        yield from (
            f"the value {NOT_A_STRING}" if field in DATA_FIELDS else needs_quotes(one)
            for one in value.values()
            if not isinstance(one, (str, type(None)))
        )
    elif field in _NUMBERS:
        is_number = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if not is_number or isinstance(value, bool):
            yield f"the value {shown(value)} is not a whole number"
    elif field in _BOOLEANS and scalars and not isinstance(value, bool):
        yield f"the value {shown(value)} is not true or false"
