"""The names of workloads on the command line, as in kubectl, such as `deploy/web`."""

from __future__ import annotations

from postrender.attach.request import (
    CONSUMER_KINDS,
    REVISED_KINDS,
    NamedObject,
    Resource,
)
from postrender.errors import UsageError
from postrender.text import shown

# The short names of kubectl and of Argo Rollouts.
_SHORT = {
    "Rollout": ("ro",),
    "Deployment": ("deploy",),
    "StatefulSet": ("sts",),
    "DaemonSet": ("ds",),
    "CronJob": ("cj",),
    "ReplicationController": ("rc",),
    "ReplicaSet": ("rs",),
    "Pod": ("po",),
    "Experiment": ("exp",),
    "AnalysisRun": ("ar",),
    "AnalysisTemplate": ("at",),
}


def _names(resource: Resource) -> list[str]:
    return [resource.kind.lower(), resource.plural, *_SHORT.get(resource.kind, ())]


_REVISED = {name for resource in REVISED_KINDS for name in _names(resource)} | {"cm"}
_BY_NAME = {name: resource for resource in CONSUMER_KINDS for name in _names(resource)}


def is_target(text: str) -> bool:
    """Whether a text has the form of a workload, such as `deploy/web`."""
    kind, _, name = text.partition("/")
    return kind.lower().partition(".")[0] in _BY_NAME and bool(name)


def parse_target(text: str) -> NamedObject:
    """The workload in `KIND/NAME`; UsageError for another text."""
    kind, slash, name = text.partition("/")
    short, _, group = kind.lower().partition(".")
    resource = _BY_NAME.get(short)
    is_known = resource and group in ("", resource.group_kind[0], _versioned(resource))
    if short in _REVISED and slash:
        raise UsageError(
            f"the argument is {shown(text)}, which is not a workload",
            "Run postrender status without an argument for the list of revisions. "
            "docs/how-to/operate.md#who-deleted-it says how to find out who deleted one",
        )
    if resource is None or not is_known or not slash or not name or "/" in name:
        kinds = ", ".join(sorted(resource.kind.lower() for resource in CONSUMER_KINDS))
        raise UsageError(
            f"the argument is {shown(text)}, expected KIND/NAME, a file or -",
            f"Write a workload such as deploy/web. The kinds are {kinds}",
        )
    return NamedObject(resource, name)


def _versioned(resource: Resource) -> str:
    """The version and the group, as in `deployments.v1.apps`."""
    group, _, version = resource.api_version.rpartition("/")
    return f"{version}.{group}" if group else version
