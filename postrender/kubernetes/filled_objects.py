"""The annotations and labels because of which a program writes data into a ConfigMap or Secret.

The manifest contains only a placeholder, or only a part of the data. The program writes into the
object with the base name, so a revision would contain only the data of the manifest.
"""

from __future__ import annotations

from postrender.kubernetes.kinds import CONFIG_MAP, SECRET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from postrender.kubernetes.kinds import GroupKind

# The values that mean true, in lower case. Most programs ignore the case of the value.
_TRUE = frozenset({"1", "t", "true"})

_SERVICE_CA = "the service CA operator of OpenShift"
_GENERATOR = "kubernetes-secret-generator"
# The program of each annotation that requests data if the value of the annotation is `true`.
# Source: openshift/service-ca-operator pkg/controller/api/api.go
_FILL_SWITCHES = {
    "service.beta.openshift.io/inject-cabundle": _SERVICE_CA,
    "service.alpha.openshift.io/inject-cabundle": _SERVICE_CA,
}
# Source:
# openshift/cluster-network-operator pkg/names/names.go, pkg/controller/configmap_ca_injector
_TRUSTED_CA_LABEL = "config.openshift.io/inject-trusted-cabundle"
# The program of each annotation that requests data. The annotation can have any value, such as the
# name of another object. Sources:
# mittwald/kubernetes-replicator replicate/common/consts.go
# emberstack/kubernetes-reflector README.md
_SOURCES = {
    "replicator.v1.mittwald.de/replicate-from": "kubernetes-replicator",
    "reflector.v1.k8s.emberstack.com/reflects": "Reflector",
}
# The program of each annotation that requests data only for a Secret. Source:
# mittwald/kubernetes-secret-generator README.md
_SECRET_SOURCES = {
    "secret-generator.v1.mittwald.de/autogenerate": _GENERATOR,
    "secret-generator.v1.mittwald.de/type": _GENERATOR,
}


def filler_of(
    kind: GroupKind, annotations: Mapping[str, str], labels: Mapping[str, str]
) -> tuple[str, str]:
    """Return the program that writes data into an object, and the reason.

    The reason is a clause, such as "because of the annotation …". The result is ("", "") if no
    annotation or label requests data.
    """
    for name, program in _FILL_SWITCHES.items():
        if is_true(annotations.get(name, "")):
            return program, f"because of the annotation {name}"
    if kind == CONFIG_MAP and is_true(labels.get(_TRUSTED_CA_LABEL, "")):
        return "the network operator of OpenShift", f"because of the label {_TRUSTED_CA_LABEL}"
    sources = {**_SOURCES, **_SECRET_SOURCES} if kind == SECRET else _SOURCES
    for name, program in sources.items():
        if annotations.get(name):
            return program, f"because of the annotation {name}"
    return "", ""


def is_true(value: str) -> bool:
    """Return whether the value of an annotation or label means true."""
    return value.strip().lower() in _TRUE
