"""What was applied before: the revisions of earlier outputs, and the live state they left behind.

Pure functions: `sources` brings the manifests. A revision is *current* in an output that was
rendered with its content, and *carried* in later ones, which the annotation
`helm-diff/base-name` tells apart: only a current one has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum

from postrender.config.settings import NOTHING, Settings
from postrender.inventory.examine import examine
from postrender.inventory.model import Item
from postrender.inventory.prefilter import may_hold, root_kind
from postrender.kubernetes.annotations import (
    BASE_NAME_ANNOTATION,
    PAIRING_ANNOTATION,
    RESOURCE_POLICY_ANNOTATION,
)
from postrender.kubernetes.kinds import Identity, ObjectKey
from postrender.startup.records import NamedTuple
from postrender.yaml.paths import Json
from postrender.yaml.stream import Source, has_content, read_streams


class Remains(IntEnum):
    """What may be left of an object in the cluster; the worst case counts."""

    GONE = 0
    UNKEPT = 1
    KEPT = 2


class Manifest(NamedTuple):
    """Manifests that were handed to a tool; is_applied: whether it is known to have finished."""

    name: str
    sources: tuple[Source, ...]
    is_applied: bool = True


class Previous(NamedTuple):
    """Everything that was applied before, oldest first, and the hooks that Helm keeps apart.

    stored: how many revisions of a release Helm stores, 0 for files.
    """

    manifests: tuple[Manifest, ...] = ()
    hooks: tuple[Manifest, ...] = ()
    stored: int = 0


class EarlierRevision(NamedTuple):
    """One ConfigMap or Secret of earlier outputs: a revision, or an original.

    identity: with its namespace as written; order: by which revisions of a base name count up, 0
    where it says none; content: the whole object, as it was last; is_original: whether it bears
    its base name; live: what is left of it; is_tracked: whether the output that was applied last
    has it; last: in which manifest it was current last, -1 for
    none of those that are stored.
    """

    identity: Identity
    base_name: str
    order: int
    content: Mapping[str, Json]
    is_original: bool
    live: Remains
    is_tracked: bool
    last: int


class History(NamedTuple):
    """All that earlier outputs say. is_known: whether there is one at all, even an empty one.

    pasts: what may be carried; hooks: the hook that names each object, where Helm hides it;
    namespaces: those that the objects write.
    """

    is_known: bool = False
    earlier: tuple[EarlierRevision, ...] = ()
    hooks: Mapping[ObjectKey, str] = NOTHING
    stored: int = 0
    namespaces: frozenset[str] = frozenset()


NO_HISTORY = History()


class _Record:
    """One object, followed from manifest to manifest; see Past for what the fields mean."""

    __slots__ = ("item", "last", "live")

    def __init__(self, item: Item) -> None:
        self.item = item
        self.live = Remains.GONE
        self.last = -1


def read_history(
    previous: Previous,
    settings: Settings,
    effective_namespace: Callable[[str | None], str | None] = lambda written: written,
) -> History:
    """Return what earlier outputs say.

    effective_namespace: the namespace that one as written means: a chart may begin to write the
    namespace of the release.
    Raises UserError for manifests that are no YAML.
    """
    records: dict[ObjectKey, _Record] = {}
    namespaces: set[str] = set()
    applied: set[ObjectKey] = set()
    known: dict[str, tuple[Item, ...]] = {}
    for index, manifest in enumerate(previous.manifests):
        items = list(_items(manifest, settings, known))
        namespaces |= {item.identity.namespace for item in items if item.identity.namespace}
        named = {
            item.identity.key_in(effective_namespace(item.identity.namespace)): item
            for item in items
            if item.identity.name
        }
        _follow(records, index, manifest.is_applied, named, applied)
        if manifest.is_applied:
            applied = set(named)
    earlier = tuple(
        _past(record, name in applied) for name, record in records.items() if record.live
    )
    hooks = dict(pair for hook in previous.hooks for pair in _hooked(hook, settings))
    return History(True, earlier, hooks, previous.stored, frozenset(namespaces))


def _items(
    manifest: Manifest, settings: Settings, known: dict[str, tuple[Item, ...]]
) -> Iterator[Item]:
    """Yield the objects of manifests that are of the kinds that are revised.

    known: those of each document by its text, as far as it was read; most stay as they are from
    one revision of a release to the next.
    """
    stream = read_streams(manifest.sources, manifest.name)
    kinds = {kind for _, kind in settings.revisable}
    for index, document in enumerate(stream.documents):
        text = document.text
        if text not in known and has_content(text) and may_hold(text, root_kind(text), kinds):
            location = stream.location_of(document)
            items = examine(index, text, location, settings, set(), is_edited=False).items
            known[text] = tuple(
                item
                for item in items
                if item.content is not None and not (item.is_attacher or item.is_hook)
            )
        yield from known.get(text, ())


def _follow(
    records: dict[ObjectKey, _Record],
    index: int,
    is_applied: bool,
    items: Mapping[ObjectKey, Item],
    applied: set[ObjectKey],
) -> None:
    """Take the next manifest into the records; applied: what the last applied one has.

    Helm deletes what a manifest no longer has, unless the live object is to be kept; of one that
    failed half-way nobody knows what it changed, so that it can only add to what may be there.
    """
    current = {
        item.annotations.get(BASE_NAME_ANNOTATION)
        for item in items.values()
        if PAIRING_ANNOTATION in item.annotations
    }
    for name, item in items.items():
        record = records.setdefault(name, _Record(item))
        live = _live_after(item, record.live, is_tracked=name in applied)
        record.live = live if is_applied else max(record.live, live)
        record.item = item
        # An original is current as long as no revision has taken its place.
        is_original = not item.is_revision and item.identity.name not in current
        if is_original or PAIRING_ANNOTATION in item.annotations:
            record.last = index
    if is_applied:
        for name, record in records.items():
            if name not in items and record.live == Remains.UNKEPT:
                record.live = Remains.GONE


def _live_after(item: Item, before: Remains, *, is_tracked: bool) -> Remains:
    """Return what an object is in the cluster when Helm has applied it.

    is_tracked: whether the manifests before had it; otherwise it is adopted, and Helm 3 takes no
    annotation away (3.21, action/upgrade.go: what it merges from is what it merges to).
    """
    policy = item.annotations.get(RESOURCE_POLICY_ANNOTATION)
    if policy == "keep":
        return Remains.KEPT
    return Remains.UNKEPT if is_tracked or policy else max(before, Remains.UNKEPT)


def _past(record: _Record, is_tracked: bool) -> EarlierRevision:
    item = record.item
    return EarlierRevision(
        item.identity,
        item.base_name,
        item.order,
        item.content or {},
        not item.is_revision,
        record.live,
        is_tracked,
        record.last,
    )


def _hooked(manifest: Manifest, settings: Settings) -> Iterator[tuple[ObjectKey, str]]:
    """Yield what hooks name, each with the hook."""
    stream = read_streams(manifest.sources, manifest.name)
    for index, document in enumerate(stream.documents):
        if not has_content(document.text):
            continue
        location = stream.location_of(document)
        examined = examine(index, document.text, location, settings, None, is_edited=False)
        for item in examined.items:
            if item.is_attacher:
                continue
            for reference in item.references:
                namespace = reference.namespace or item.identity.namespace
                key = ObjectKey(reference.rule.target, namespace, reference.name)
                yield key, str(item.identity)
