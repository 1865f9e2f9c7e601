"""The names of attach groups, which are the values of the label postrender/attach-group."""

from __future__ import annotations

import re
from hashlib import sha256

from postrender.kubernetes.hashing import JOB_HASH_LENGTH
from postrender.kubernetes.kinds import MAX_LABEL_LENGTH, Identity

# Many charts have objects with the release's name. The suffix prevents name conflicts.
SUFFIX = "-attach"
# A Job's name is the group name, a hyphen and a hash. Kubernetes permits at most 63 characters.
_MAX_LENGTH = MAX_LABEL_LENGTH - JOB_HASH_LENGTH - 1
_INVALID = "[^a-z0-9-]+"


def group_name_for_release(release: str) -> str:
    """A group name of at most 52 characters from the name of a release."""
    return _with_suffix(release.removesuffix(SUFFIX), release)


def group_name_for_workload(identity: Identity) -> str:
    """A group name of at most 52 characters from the identity of a workload."""
    kind = identity.kind.lower()
    return _with_suffix(f"{identity.name}-{kind}", f"{identity.kind}/{identity.name}")


def _with_suffix(name: str, hashed: str) -> str:
    """A name with the suffix. A name that is too long or invalid gets a hash of `hashed`."""
    full = f"{name}{SUFFIX}"
    is_valid = bool(name) and name == name.strip("-") and not re.search(_INVALID, name)
    if len(full) <= _MAX_LENGTH and is_valid:
        return full
    digest = sha256(hashed.encode()).hexdigest()[:8]
    tail = f"-{digest}{SUFFIX}"
    valid = re.sub(_INVALID, "-", full.lower()).lstrip("-")
    return (valid[: _MAX_LENGTH - len(tail)].rstrip("-") + tail).lstrip("-")
