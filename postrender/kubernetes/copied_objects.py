"""Annotations that let a program copy a ConfigMap or Secret to other namespaces.

A rename would break the copies, because a copy has or references the name of the copied object.
"""

from __future__ import annotations

from postrender.kubernetes.filled_objects import is_true

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# The program of each annotation that permits or requests copies with the value `true`. Sources:
# emberstack/kubernetes-reflector README.md
# mittwald/kubernetes-replicator replicate/common/consts.go
_COPY_SWITCHES = {
    "reflector.v1.k8s.emberstack.com/reflection-allowed": "Reflector",
    "reflector.v1.k8s.emberstack.com/reflection-auto-enabled": "Reflector",
    "replicator.v1.mittwald.de/replication-allowed": "kubernetes-replicator",
}
# The program of each annotation that contains the namespaces of the copies.
_NAMESPACES = {
    "replicator.v1.mittwald.de/replicate-to": "kubernetes-replicator",
    "replicator.v1.mittwald.de/replicate-to-matching": "kubernetes-replicator",
}
# The value of this annotation selects namespaces by their labels. "" selects all namespaces.
# Source: config-syncer/config-syncer (formerly appscode/kubed) apis/kubed/v1alpha1/types.go
_KUBED = "kubed.appscode.com/sync"


def copier_of(annotations: Mapping[str, str]) -> tuple[str, str]:
    """Return the program that can copy an object, and the annotation that lets it copy the object.

    The result is ("", "") if no annotation permits or requests copies.
    """
    for name, value in annotations.items():
        if name in _COPY_SWITCHES and is_true(value):
            return _COPY_SWITCHES[name], name
        if name in _NAMESPACES and value:
            return _NAMESPACES[name], name
        if name == _KUBED:
            return "kubed", name
    return "", ""
