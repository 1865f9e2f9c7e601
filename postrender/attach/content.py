"""The check that the content of a ConfigMap matches the hash in its name.

The name of a revision ends in a hash of its content. A *foreign* ConfigMap has the name of a
revision, but other content, because another program or a person created the ConfigMap. attach does
not add owners to a foreign ConfigMap.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from postrender.attach.client import Client
from postrender.attach.live import Object, Revision
from postrender.attach.request import AttachRequest
from postrender.attach.resources import CONFIG_MAPS
from postrender.errors import UserError
from postrender.kubernetes.hashing import fits_content, without_hash

_log = logging.getLogger(__name__)


class ContentCheck:
    """The check of the given ConfigMaps (see AttachRequest.given) in one run of attach.

    The check reads a ConfigMap once, and again if the ConfigMap changes during the run. The check
    skips Secrets, ConfigMaps that are being deleted, and ConfigMaps to which attach has already
    added owners.
    """

    __slots__ = ("_client", "_foreign", "_given", "_verdicts")

    def __init__(self, client: Client, request: AttachRequest) -> None:
        self._client = client
        # If the request has no attach group, the names can have the hashes of another tool, so the
        # check skips all ConfigMaps.
        self._given = frozenset(request.given if request.group_name else ())
        self._verdicts: dict[tuple[str, str], bool] = {}
        self._foreign: tuple[Revision, ...] = ()

    def accepted(self, revisions: Iterable[Revision]) -> tuple[Revision, ...]:
        """Return all revisions except the foreign ConfigMaps among the given ConfigMaps.

        An edited revision stays in the result, but the method logs a warning. Raises ApiError.
        """
        revisions = tuple(revisions)
        self._foreign = tuple(item for item in revisions if self._is_excluded(item))
        return tuple(item for item in revisions if item not in self._foreign)

    def problems(self) -> Iterator[UserError]:
        """Return an error for each revision that the latest call of `accepted` excluded."""
        for revision in self._foreign:
            yield UserError(
                f"the content of {revision} does not match the hash in the name, so attach does "
                "not add owners",
                "If a program needs the content, copy the content to a new ConfigMap. Delete "
                f"{revision}, then apply the manifests again",
            )

    def _is_excluded(self, revision: Revision) -> bool:
        """Return whether a revision is a foreign ConfigMap among the given ConfigMaps.

        Raises ApiError.
        """
        needs_no_check = bool(revision.our_owners) or revision.is_deleting
        if revision.resource != CONFIG_MAPS or revision.key not in self._given or needs_no_check:
            return False
        key = revision.uid, revision.resource_version
        if key not in self._verdicts:
            data = self._client.read(revision.resource, revision.name)
            self._verdicts[key] = data is not None and _is_foreign(revision, data)
        return self._verdicts[key]


def _is_foreign(revision: Revision, data: Object) -> bool:
    """Return whether a ConfigMap is foreign. Log a warning if somebody edited a revision.

    data: the whole object.
    """
    base_name = revision.base_name or without_hash(revision.name)
    if not base_name or has_expected_content(revision, base_name, data):
        return False
    # If postrender created the object, somebody edited the content later. Nobody can edit the
    # content of an immutable object, so an immutable object with other content is foreign.
    is_ours = bool(revision.group_name and revision.base_name)
    if not is_ours or data.get("immutable") is True:
        return True
    _log.warning(
        f"somebody edited {revision}, so the content does not match the hash in the name. "
        "Restore the content from the manifests."
    )
    return False


def has_expected_content(revision: Revision, base_name: str, data: Object) -> bool:
    """Return whether the content of a ConfigMap matches the hash in its name.

    The result is also True for an immutable ConfigMap with binaryData, because the hash can differ
    without an edit.
    """
    if fits_content(revision.name, base_name, revision.resource.group_kind, data):
        return True
    # The API server removes line breaks from base64, but the hash includes the line breaks. Nobody
    # can edit an immutable object, so a mismatch does not show an edit.
    return data.get("immutable") is True and bool(data.get("binaryData"))
