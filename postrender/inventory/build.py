"""The inventory of a stream: the objects, their references, and the sites of possible edits.

A stream is the input, divided into YAML documents. A site is the part of the text that an edit
replaces. ConfigMaps are revisable. If the setting `secrets` is true, Secrets are also revisable.
take_inventory has two steps:

1. Parse the documents that can contain revisable objects, and the documents whose end may be
   missing.
2. If step 1 finds revisable objects, parse the other documents that can use these objects.

The module `prefilter` selects the documents for both steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from postrender.config.settings import Settings
from postrender.errors import Finding, Location, UserError
from postrender.inventory.examine import ExaminedDocument, examine
from postrender.inventory.model import Item
from postrender.inventory.prefilter import is_relevant, may_hold, must_check_end, root_kind
from postrender.kubernetes.annotations import HELM_FILENAME_ANNOTATION
from postrender.kubernetes.kinds import CRD, GroupKind
from postrender.records import NamedTuple
from postrender.text import WordSet
from postrender.yaml.edits import SetScalar, Site, SiteKey
from postrender.yaml.paths import Json, Path, format_path
from postrender.yaml.stream import Stream


class Inventory(NamedTuple):
    """The facts about a stream that the package `plan` needs.

    items: the objects of the parsed documents.
    sites: by document index, the site of each possible edit. None in place of a site means that
        postrender must write the whole object again.
    last_items: by document index, the path of the last item. Only Lists with items have an entry.
    open_ends: by document index, the edit that adds a missing line break after a block scalar at
        the end of the document. postrender applies the edit only if the output gets new objects.
    findings: a finding for each duplicate key.
    fixed_kinds: kinds that postrender does not revise, although Item.content is set. `diff` sets
        this field for Secrets if the setting `secrets` is false.
    """

    stream: Stream
    items: tuple[Item, ...]
    sites: Mapping[int, Mapping[SiteKey, Site | None]]
    last_items: Mapping[int, Path]
    open_ends: Mapping[int, SetScalar]
    findings: tuple[Finding, ...]
    fixed_kinds: frozenset[GroupKind] = frozenset()

    @property
    def fixed_names(self) -> set[str]:
        """The names of the parsed objects that postrender never revises, such as Services.

        The result does not include CustomResourceDefinitions. `diff` parses their documents, but
        `render` does not, and both commands must get the same result.
        """
        return {
            item.identity.name
            for item in self.items
            if (item.content is None and item.identity.kind != CRD)
            or item.identity.group_kind in self.fixed_kinds
        } - {""}

    @property
    def is_from_helm_4(self) -> bool:
        """Return whether Helm 4 wrote the stream."""
        return any(HELM_FILENAME_ANNOTATION in item.annotations for item in self.items)

    def location_of(self, item: Item, path: Path = (), line: int | None = None) -> Location:
        """Return the location of an object, or of a part of the object.

        path: the path of the part in the document.
        line: the line of the part in the document, from 0. None means the first line of the object.
        """
        document = self.stream.documents[item.document]
        location = self.stream.location_of(document, item.line if line is None else line)
        path_in_object = path[len(item.path) :]
        return location._replace(subject=str(item.identity), path=format_path(path_in_object))


def take_inventory(stream: Stream, settings: Settings) -> Inventory:
    """Return the inventory of a stream.

    Raises UserError as `examine` does, and if the input ends in the middle of an object. The error
    of an invalid ConfigMap or Secret is in Item.error instead.
    """
    kinds = {kind for _, kind in settings.revisable}
    root_kinds = [root_kind(document.text) for document in stream.documents]
    holders = {
        index: _examine(stream, index, settings, None)
        for index, document in enumerate(stream.documents)
        if may_hold(document.text, root_kinds[index], kinds) or must_check_end(stream, index)
    }
    items = [item for examined in holders.values() for item in examined.items]
    names = _target_names(items, settings)
    if not names:
        return _inventory(stream, holders)
    has_mounts = any(item.requests_auto_mount for item in items)
    words = WordSet(names)
    referrers = {
        index: _examine(stream, index, settings, names)
        for index, document in enumerate(stream.documents)
        if index not in holders
        and is_relevant(document.text, root_kinds[index], words, has_mounts=has_mounts)
    }
    return _inventory(stream, {**holders, **referrers})


def take_full_inventory(
    stream: Stream, indexes: Iterable[int], settings: Settings
) -> tuple[Inventory, dict[int, Json]]:
    """Return the inventory of the documents at `indexes`, and the data of each document by index.

    postrender does not edit the text of these documents, so the inventory does not have sites. The
    inventory includes references to objects that are not in the stream.
    Raises UserError as take_inventory does, and for an invalid ConfigMap or Secret.
    """
    documents = {
        index: _examine(stream, index, settings, None, is_edited=False) for index in indexes
    }
    inventory = _inventory(stream, documents)
    for item in inventory.items:
        if item.error:
            raise item.error
    return inventory, {index: examined.data for index, examined in documents.items()}


def _examine(
    stream: Stream,
    index: int,
    settings: Settings,
    names: set[str] | None,
    *,
    is_edited: bool = True,
) -> ExaminedDocument:
    document = stream.documents[index]
    location = stream.location_of(document)
    examined = examine(index, document.text, location, settings, names, is_edited=is_edited)
    if stream.may_be_cut(index) and examined.is_fragment:
        raise UserError(
            "the input ends in the middle of an object",
            "Check the exit code of the program that produced the input, and run the program again",
            location,
        )
    return examined


def _inventory(stream: Stream, documents: dict[int, ExaminedDocument]) -> Inventory:
    ordered = sorted(documents.items())
    return Inventory(
        stream=stream,
        items=tuple(item for _, examined in ordered for item in examined.items),
        sites={index: examined.sites for index, examined in ordered},
        last_items={index: examined.last_item for index, examined in ordered if examined.last_item},
        open_ends={index: examined.open_end for index, examined in ordered if examined.open_end},
        findings=tuple(finding for _, examined in ordered for finding in examined.findings),
    )


def _target_names(items: Iterable[Item], settings: Settings) -> set[str]:
    """Return the names and the base names of the revisable objects."""
    names = set()
    for item in items:
        if item.identity.group_kind in settings.revisable:
            names |= {item.identity.name, item.base_name}
    return names - {""}
