"""The name of an attach group, and of the objects of its attacher.

The release owner of the revisions is one of these objects. If the name changes, the tool that
applies the manifests replaces the release owner, and Kubernetes can delete revisions. postrender
therefore derives the name from the release name. If the release name is unknown, postrender derives
the name from a workload, and a finding reports the name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from postrender.config.settings import AttacherSettings
from postrender.errors import Finding, Location
from postrender.inventory.model import Item
from postrender.kubernetes.hashing import HASH_LENGTH
from postrender.kubernetes.kinds import MAX_LABEL_LENGTH, Identity
from postrender.startup.digest import sha256
from postrender.startup.patterns import pattern

_INSTANCE_LABEL = "app.kubernetes.io/instance"
# Many charts have objects with the release's name. The suffix prevents name conflicts.
SUFFIX = "-attach"
# A Job's name is the group name, a hyphen and a hash. Kubernetes permits at most 63 characters.
_MAX_LENGTH = MAX_LABEL_LENGTH - HASH_LENGTH - 1
_INVALID = pattern(r"[^a-z0-9-]+")


def release_name(settings: AttacherSettings, workloads: Iterable[Item]) -> str:
    """Return the group or release in the settings, else the release in a label, else "".

    The label is `app.kubernetes.io/instance`. The function ignores the label unless all workloads
    have the same value.
    workloads: the objects of one namespace that reference revisions.
    """
    if settings.group or settings.release:
        return settings.group or settings.release
    instances = {item.labels.get(_INSTANCE_LABEL, "") for item in workloads}
    return instances.pop() if len(instances) == 1 else ""


def group_name_for_release(release: str) -> str:
    """Return a group name of at most 52 characters from the name of a release."""
    return _with_suffix(release.removesuffix(SUFFIX), release)


def group_name_for_workload(identity: Identity) -> str:
    """Return a group name of at most 52 characters from the identity of a workload."""
    kind = identity.kind.lower()
    return _with_suffix(f"{identity.name}-{kind}", f"{identity.kind}/{identity.name}")


def _with_suffix(name: str, hashed: str) -> str:
    """Return a name with the suffix. A name that is too long or invalid also gets a hash.

    hashed: the text that the hash covers.
    """
    full = f"{name}{SUFFIX}"
    is_valid = bool(name) and name == name.strip("-") and not _INVALID.search(name)
    if len(full) <= _MAX_LENGTH and is_valid:
        return full
    digest = sha256(hashed.encode()).hexdigest()[:8]
    tail = f"-{digest}{SUFFIX}"
    valid = _INVALID.sub("-", full.lower()).lstrip("-")
    return (valid[: _MAX_LENGTH - len(tail)].rstrip("-") + tail).lstrip("-")


def group_name_findings(
    derived_names: Sequence[tuple[str, Item]], location: Location
) -> list[Finding]:
    """Return a finding for each group name that postrender derives from a workload.

    derived_names: the value of AttachGroups.derived_names.
    """
    return [
        Finding(
            code="group-name",
            problem=f"postrender derives the name of the attach group ({name}) from "
            f"{item.identity}. If you rename {item.identity}, Kubernetes can delete revisions that "
            "pods use",
            fix="Pass --group with the name of the release, or set attacher.group in "
            "postrender.yaml",
            location=location,
        )
        for name, item in derived_names
    ]
