"""What a stream holds that a plan needs: objects, references, and the sites of likely edits.

Documents are composed one at a time and dropped again. Those that hold ConfigMaps come first,
because their names tell which of the others matter (postrender.inventory.prefilter).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from postrender.config.settings import Settings
from postrender.errors import Location, UserError
from postrender.inventory.examine import Examined, examine
from postrender.inventory.model import Item
from postrender.inventory.prefilter import is_relevant, may_be_cut, may_hold, root_kind
from postrender.kubernetes.annotations import ENV_FROM_ANNOTATION, MOUNT_PATH_ANNOTATION
from postrender.startup.records import NamedTuple
from postrender.text.words import WordSet
from postrender.yaml.edits import SetScalar
from postrender.yaml.paths import Json, Path, format_path
from postrender.yaml.sites import Site, SiteKey
from postrender.yaml.stream import Stream


class Inventory(NamedTuple):
    """All that a plan needs of a stream.

    sites: by document, what was located while it was composed; last_items: by document that is a
    List, the path of its last item; open_ends: by document that ends in a block scalar without a
    line break, the edit that closes it before anything can follow.
    """

    stream: Stream
    items: tuple[Item, ...]
    sites: Mapping[int, Mapping[SiteKey, Site | None]]
    last_items: Mapping[int, Path]
    open_ends: Mapping[int, SetScalar]

    def location_of(self, item: Item, path: Path = (), line: int | None = None) -> Location:
        """Return the place of an object, or of a path in it."""
        document = self.stream.documents[item.document]
        location = self.stream.location_of(document, item.line if line is None else line)
        inside = path[len(item.path) :]
        return location._replace(subject=str(item.identity), path=format_path(inside))


def take_inventory(stream: Stream, settings: Settings) -> Inventory:
    """Return what a stream holds.

    Raises UserError for documents that must be read and cannot be, and for objects whose shape
    an API server would refuse in a place that matters.
    """
    kinds = {kind for _, kind in settings.revisable}
    root_kinds = [root_kind(document.text) for document in stream.documents]
    holders = {
        index: _examine(stream, index, settings, None)
        for index, document in enumerate(stream.documents)
        if may_hold(document.text, root_kinds[index], kinds) or may_be_cut(stream, index)
    }
    items = [item for examined in holders.values() for item in examined.items]
    names = _names(items, settings)
    if not names:
        return _inventory(stream, holders)
    mounts = any(_mounts_itself(item) for item in items)
    words = WordSet(names)
    others = {
        index: _examine(stream, index, settings, names)
        for index, document in enumerate(stream.documents)
        if index not in holders
        and is_relevant(document.text, root_kinds[index], words, mounts=mounts)
    }
    return _inventory(stream, {**holders, **others})


def take_whole(
    stream: Stream, indexes: Iterable[int], settings: Settings
) -> tuple[Inventory, dict[int, Json]]:
    """Return what these documents of a stream hold, and all of their data by document.

    They are read to be compared, not to be edited: sites are not looked for, and references are
    known too whose targets the stream does not have.
    Raises UserError as take_inventory does.
    """
    documents = {
        index: _examine(stream, index, settings, None, is_edited=False) for index in indexes
    }
    return _inventory(stream, documents), {
        index: examined.data for index, examined in documents.items()
    }


def _examine(
    stream: Stream,
    index: int,
    settings: Settings,
    names: set[str] | None,
    *,
    is_edited: bool = True,
) -> Examined:
    document = stream.documents[index]
    location = stream.location_of(document)
    examined = examine(index, document.text, location, settings, names, is_edited=is_edited)
    if stream.may_be_cut(index) and examined.is_fragment:
        raise UserError(
            "the stream ends in the middle of an object",
            "check that the program that writes it ran to its end",
            location,
        )
    return examined


def _inventory(stream: Stream, documents: dict[int, Examined]) -> Inventory:
    ordered = sorted(documents.items())
    return Inventory(
        stream,
        tuple(item for _, examined in ordered for item in examined.items),
        {index: examined.sites for index, examined in ordered},
        {index: examined.last_item for index, examined in ordered if examined.last_item},
        {index: examined.open_end for index, examined in ordered if examined.open_end},
    )


def _names(items: Iterable[Item], settings: Settings) -> set[str]:
    """Return the names that references of interest may hold."""
    names = set()
    for item in items:
        if item.identity.group_kind in settings.revisable:
            names |= {item.identity.name, item.base_name}
    return names - {""}


def _mounts_itself(item: Item) -> bool:
    return bool({MOUNT_PATH_ANNOTATION, ENV_FROM_ANNOTATION} & item.annotations.keys())
