"""The annotations and labels that let another program write the data of a ConfigMap or Secret.

The data in the manifest is a placeholder, or a part of the data. A revision would keep only this
data, because the program writes to the object under its base name.
"""

from __future__ import annotations

from postrender.kubernetes.kinds import CONFIG_MAP, SECRET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from postrender.kubernetes.kinds import GroupKind

# The values that turn a switch on, in lower case. Most programs ignore the case of the value.
_TRUE = frozenset({"1", "t", "true"})

_SERVICE_CA = "the service CA operator of OpenShift"
_GENERATOR = "kubernetes-secret-generator"
# The program of each annotation with the value `true`. Source:
# openshift/service-ca-operator pkg/controller/api/api.go
_SWITCHES = {
    "service.beta.openshift.io/inject-cabundle": _SERVICE_CA,
    "service.alpha.openshift.io/inject-cabundle": _SERVICE_CA,
}
# openshift/cluster-network-operator pkg/names/names.go, pkg/controller/configmap_ca_injector
_TRUSTED_CA_LABEL = "config.openshift.io/inject-trusted-cabundle"
# The program of each annotation with another value, such as the name of an object. Sources:
# mittwald/kubernetes-replicator replicate/common/consts.go
# emberstack/kubernetes-reflector README.md
_SOURCES = {
    "replicator.v1.mittwald.de/replicate-from": "kubernetes-replicator",
    "reflector.v1.k8s.emberstack.com/reflects": "Reflector",
}
# mittwald/kubernetes-secret-generator README.md
_SECRET_SOURCES = {
    "secret-generator.v1.mittwald.de/autogenerate": _GENERATOR,
    "secret-generator.v1.mittwald.de/type": _GENERATOR,
}


def filler_of(
    kind: GroupKind, annotations: Mapping[str, str], labels: Mapping[str, str]
) -> tuple[str, str]:
    """Return the program that writes the data of an object, and the clause "because of …".

    The clause has the annotation or label. The function returns ("", "") for any other object.
    """
    for name, program in _SWITCHES.items():
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
    """Return whether the value of an annotation or label turns a switch on."""
    return value.strip().lower() in _TRUE
