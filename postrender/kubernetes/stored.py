"""A pod template as the API server stores it, so that an equal template is no change.

Source: `pkg/apis/core/v1/defaults.go` of Kubernetes, and the `omitempty` of its fields. A field
behind a pointer, such as `privileged: false`, differs from an absent one, and is not listed here.
"""

from __future__ import annotations

from postrender.kubernetes.quantities import quantity
from postrender.yaml.paths import Json, is_same

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


def are_stored_alike(old: Json, new: Json, field: str = "") -> bool:
    """Whether the API server stores two pod templates in the same way, or two parts of them.

    field: the name of the field that has the values.
    """
    if isinstance(old, list) and isinstance(new, list):
        pairs = zip(old, new, strict=False)
        return len(old) == len(new) and all(are_stored_alike(*pair, field) for pair in pairs)
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return is_same(old, new)
    sides = [_stored(data, field) for data in (old, new)]
    return sides[0].keys() == sides[1].keys() and all(
        are_stored_alike(value, sides[1][key], key) for key, value in sides[0].items()
    )


def _stored(data: dict[str, Json], field: str) -> dict[str, Json]:
    """A mapping without defaults, and with quantities as numbers."""
    if field in ("limits", "requests"):
        return {name: _as_number(value) for name, value in data.items()}
    defaults = _DEFAULTS.get(field, {})
    return {
        key: value
        for key, value in data.items()
        if not (
            (key in defaults and is_same(value, defaults[key]))
            or (key == "imagePullPolicy" and value == _pull_policy(data.get("image")))
        )
    }


def _as_number(value: Json) -> Json:
    number = quantity(value)
    return value if number is None else number


def _pull_policy(image: Json) -> str:
    """The default policy: `Always` for an image without a tag or digest, or with `latest`."""
    name = str(image).rpartition("/")[2]
    is_latest = "@" not in name and name.partition(":")[2] in ("", "latest")
    return "Always" if is_latest else "IfNotPresent"
