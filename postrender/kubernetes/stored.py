"""A pod template as the API server stores it, so that an equal template is no change.

Source: `pkg/apis/core/v1/defaults.go` of Kubernetes, and the `omitempty` of its fields. A field
behind a pointer, such as `privileged: false`, differs from an absent one, and is not listed here.
"""

from __future__ import annotations

from postrender.kubernetes.quantities import quantity
from postrender.yaml.paths import Json

_CONTAINER: dict[str, Json] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "stdin": False,
    "stdinOnce": False,
    "tty": False,
}
_PROBE: dict[str, Json] = {
    "initialDelaySeconds": 0,
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}
_FILES: dict[str, Json] = {"defaultMode": 0o644}
# The value of an absent field, by the field around. The items of a list are in the list's field.
_DEFAULTS: dict[str, dict[str, Json]] = {
    "spec": {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "hostNetwork": False,
        "hostPID": False,
        "hostIPC": False,
    },
    **dict.fromkeys(("containers", "initContainers"), _CONTAINER),
    **dict.fromkeys(("livenessProbe", "readinessProbe", "startupProbe"), _PROBE),
    **dict.fromkeys(("configMap", "secret", "projected", "downwardAPI"), _FILES),
    "ports": {"protocol": "TCP"},
    "httpGet": {"path": "/", "scheme": "HTTP"},
    "env": {"value": ""},
    "fieldRef": {"apiVersion": "v1"},
    "volumeMounts": {"readOnly": False, "subPath": ""},
    "hostPath": {"type": ""},
    "persistentVolumeClaim": {"readOnly": False},
}


def without_defaults(value: Json, field: str = "") -> Json:
    """A pod template of `as_stored` without defaults, and with quantities as numbers.

    field: the name of the field that has the value.
    """
    if isinstance(value, list):
        return [without_defaults(item, field) for item in value]
    if not isinstance(value, dict):
        return value
    if field in ("limits", "requests"):
        return {name: _as_number(inner) for name, inner in value.items()}
    defaults = _DEFAULTS.get(field, {})
    return {
        key: without_defaults(inner, key)
        for key, inner in value.items()
        if not (
            (key in defaults and inner == defaults[key] and type(inner) is type(defaults[key]))
            or (key == "imagePullPolicy" and inner == _pull_policy(value.get("image")))
        )
    }


def _as_number(value: Json) -> Json:
    number = quantity(value)
    return value if number is None else str(number)


def _pull_policy(image: Json) -> str:
    """The default policy: `Always` for an image without a tag or digest, or with `latest`."""
    name = str(image).rpartition("/")[2]
    is_latest = "@" not in name and name.partition(":")[2] in ("", "latest")
    return "Always" if is_latest else "IfNotPresent"
