"""The Pod Security Standards, which a namespace can set as its level.

Source: `staging/src/k8s.io/pod-security-admission/policy` of Kubernetes 1.36. Left out are SELinux,
AppArmor and Windows.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.kubernetes.validation.containers import CONTAINERS, HOST_FIELDS
from postrender.yaml.paths import Json, mapping_at, mappings_in, value_at

_CAPABILITIES = {
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
    *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
}
_VOLUMES = {
    *("name", "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image"),
    *("persistentVolumeClaim", "projected", "secret"),
}
_PROFILE = ("seccompProfile", "type")


def find_violations(pod: dict[str, Json], level: str) -> Iterator[str]:
    """What a level of pod security does not allow in the spec of a pod, as clauses."""
    if level not in ("baseline", "restricted"):
        return
    shared = mapping_at(pod, ("securityContext",))
    yield from (f"{field} is true" for field in HOST_FIELDS if pod.get(field) is True)
    for volume in mappings_in(pod.get("volumes")):
        if "hostPath" in volume or (level == "restricted" and not volume.keys() <= _VOLUMES):
            kind = next((key for key in volume if key not in _VOLUMES), "")
            yield f"the volume {volume.get('name')} is a {kind}"
    if value_at(shared, _PROFILE) == "Unconfined":
        yield "the seccompProfile is Unconfined"
    if level == "restricted" and shared.get("runAsUser") == 0:
        yield "the runAsUser is 0"
    for container in (one for field in CONTAINERS for one in mappings_in(pod.get(field))):
        own = mapping_at(container, ("securityContext",))
        facts = list(_baseline(container, own))
        if level == "restricted":
            facts += _restricted(own, shared)
        yield from (f"the container {container.get('name')} {fact}" for fact in facts)


def _baseline(container: dict[str, Json], own: dict[str, Json]) -> Iterator[str]:
    if own.get("privileged") is True:
        yield "is privileged"
    if added := sorted(_names(own, "add") - _CAPABILITIES):
        yield f"adds the capability {added[0]}"
    if any(port.get("hostPort") for port in mappings_in(container.get("ports"))):
        yield "has a hostPort"
    if own.get("procMount") not in (None, "", "Default"):
        yield "has a procMount"
    if value_at(own, _PROFILE) == "Unconfined":
        yield "has the seccompProfile Unconfined"


def _restricted(own: dict[str, Json], shared: dict[str, Json]) -> Iterator[str]:
    both = {**shared, **own}
    if own.get("allowPrivilegeEscalation") is not False:
        yield "does not set allowPrivilegeEscalation to false"
    if "ALL" not in _names(own, "drop"):
        yield "does not drop the capability ALL"
    if (_names(own, "add") & _CAPABILITIES) - {"NET_BIND_SERVICE"}:
        yield "adds a capability besides NET_BIND_SERVICE"
    if both.get("runAsNonRoot") is not True:
        yield "does not set runAsNonRoot"
    if own.get("runAsUser") == 0:
        yield "has the runAsUser 0"
    if not value_at(both, _PROFILE):
        yield "does not set a seccompProfile"


def _names(context: dict[str, Json], field: str) -> set[str]:
    names = value_at(context, ("capabilities", field))
    return set(map(str, names)) if isinstance(names, list) else set()
