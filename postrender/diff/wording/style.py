"""The style in which a format of `postrender diff` writes names, values and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from postrender.diff.model import Preview
from postrender.kubernetes.kinds import Identity
from postrender.records import NamedTuple


def name_of(identity: Identity) -> str:
    """Return the name of an object: `DaemonSet/agent in kube-system`."""
    return f"{identity} in {identity.namespace}" if identity.namespace else str(identity)


class Style(NamedTuple):
    """The form of names, values and sentences in one format.

    code: a function that formats a name, a path or a value.
    prose: a function that formats a sentence with names and values.
    name: a function that returns the name of an object. The module `phrases` passes this name to
    `code`.
    limit: the maximum number of characters of a value. The module `value_text` truncates longer
    values.
    arrow: the sign between an old and a new value.
    """

    code: Callable[[str], str] = str
    prose: Callable[[str], str] = str
    name: Callable[[Identity], str] = name_of
    limit: int = 120
    arrow: str = "->"


def namer(preview: Preview) -> Callable[[Identity], str]:
    """Return a function that returns a unique name for each object of a preview.

    The name includes the API group only if another object would have an equal name. An example is
    an Ingress that moves from `extensions` to `networking.k8s.io`.
    """
    identities = {content.identity for content in preview.contents}
    identities |= {workload.identity for workload in preview.workloads}
    identities |= {change.identity for change in preview.objects}
    counts = Counter(map(_without_group, identities))

    def name(identity: Identity) -> str:
        if identity.group and counts[_without_group(identity)] > 1:
            identity = identity._replace(kind=f"{identity.kind}.{identity.group}")
        return name_of(identity)

    return name


def _without_group(identity: Identity) -> Identity:
    return identity._replace(group="")
