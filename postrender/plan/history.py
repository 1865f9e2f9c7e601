"""The history: the revisions and originals of earlier outputs, their owners, and their state in the
cluster.

The package `sources` reads the manifests of these outputs. A revision is *current* in an output if
the chart had the revision's content when postrender wrote the output. The other revisions in the
output are *retained*. Only current revisions have the annotation `helm-diff/base-name`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from postrender.config.settings import NOTHING, Settings
from postrender.inventory.build import may_hold, read_items
from postrender.inventory.model import Item
from postrender.kubernetes.annotations import (
    BASE_NAME_ANNOTATION,
    GROUP_LABEL,
    INVENTORY_LABEL,
    PAIRING_ANNOTATION,
    RESOURCE_POLICY_ANNOTATION,
)
from postrender.kubernetes.kinds import Identity, ObjectKey
from postrender.records import NamedTuple
from postrender.yaml.paths import Json
from postrender.yaml.stream import Source, has_content, read_streams

# The arguments of an attacher, in the text of an output, which another version can have written.
_WORKLOAD = r"\b([A-Z][A-Za-z]+)/([a-z0-9.-]+)@[0-9a-f]+=([a-z0-9.,/-]+)"
_RELEASE_OWNER = r"--release-owner[\s\"',-]+((?:ServiceAccount|Role|ConfigMap)/[a-z0-9.-]+)"
_SECRET = r"[=,\s]secret/([a-z0-9.-]+)"


class LiveState:
    """The states of an object in the cluster. KEEP stands for `helm.sh/resource-policy: keep`.

    If several states are possible, the state with the highest number counts. The states are plain
    integers, because the definition of an enum takes a hundred times as long as this definition.
    """

    ABSENT = 0
    WITHOUT_KEEP = 1
    WITH_KEEP = 2


class Manifest(NamedTuple):
    """The manifests of one earlier apply, with their name in messages.

    is_applied: whether the apply certainly succeeded.
    """

    name: str
    sources: tuple[Source, ...]
    is_applied: bool = True


class Previous(NamedTuple):
    """The manifests of earlier applies, oldest first.

    hooks: the hooks that Helm stores apart from the manifests.
    stored: the number of release revisions that Helm stores, 0 if the manifests are not from Helm.
    """

    manifests: tuple[Manifest, ...] = ()
    hooks: tuple[Manifest, ...] = ()
    stored: int = 0


class PreviousOwners(NamedTuple):
    """The owners of revisions, from the arguments of the previous attachers.

    workloads: by revision (`configmap/name`), the workloads that own the revision (`Kind/name`).
    release_owners: the ServiceAccount or Role of each attacher, as `Kind/name`.
    secrets: the names of Secrets' revisions, from the arguments of all earlier attachers.
    """

    workloads: Mapping[str, Sequence[str]] = NOTHING
    release_owners: frozenset[str] = frozenset()
    secrets: frozenset[str] = frozenset()


class EarlierRevision(NamedTuple):
    """A ConfigMap or Secret of earlier outputs: a revision or an original.

    item: the object, from the newest manifest that has it.
    order: the revision number, 0 if absent.
    is_tracked: whether the newest manifest with `is_applied` has the object.
    last_current: the index, in Previous.manifests, of the newest manifest in which the object was
        current, -1 if there is none.
    """

    item: Item
    order: int = 0
    live_state: int = LiveState.ABSENT
    is_tracked: bool = False
    last_current: int = -1

    @property
    def identity(self) -> Identity:
        return self.item.identity

    @property
    def base_name(self) -> str:
        return self.item.base_name

    @property
    def content(self) -> dict[str, Json]:
        return self.item.content

    @property
    def is_original(self) -> bool:
        return not self.item.is_revision


class History(NamedTuple):
    """The history of earlier outputs.

    is_known: whether postrender has read earlier outputs. False only for NO_HISTORY.
    earlier: the revisions and originals that are possibly still in the cluster.
    hooks: by object, the identity of a hook that references the object.
    stored: as in Previous.
    namespaces: the explicit namespaces of the revisable objects in the manifests.
    """

    is_known: bool = False
    earlier: tuple[EarlierRevision, ...] = ()
    hooks: Mapping[ObjectKey, str] = NOTHING
    stored: int = 0
    namespaces: frozenset[str] = frozenset()
    owners: PreviousOwners = PreviousOwners()


NO_HISTORY = History()


def read_history(
    previous: Previous,
    settings: Settings,
    effective_namespace: Callable[[str | None], str | None] = lambda written: written,
) -> History:
    """The history of earlier outputs. The field `owners` is empty.

    effective_namespace: Resolver.effective_namespace of the new stream, which decides what an
        absent namespace in the earlier manifests means.
    Raises UserError for an invalid manifest.
    """
    revisions: dict[ObjectKey, EarlierRevision] = {}
    namespaces: set[str] = set()
    applied: set[ObjectKey] = set()
    examined: dict[str, tuple[Item, ...]] = {}
    for index, manifest in enumerate(previous.manifests):
        items = list(_revisable_items(manifest, settings, examined))
        namespaces |= {item.identity.namespace for item in items if item.identity.namespace}
        by_key = {
            item.identity.key_in(effective_namespace(item.identity.namespace)): item
            for item in items
            if item.identity.name
        }
        _add_manifest(revisions, index, manifest.is_applied, by_key, applied)
        if manifest.is_applied:
            applied = set(by_key)
    return History(
        is_known=True,
        earlier=tuple(
            revision._replace(is_tracked=key in applied)
            for key, revision in revisions.items()
            if revision.live_state
        ),
        hooks=dict(
            pair for manifest in previous.hooks for pair in _hook_references(manifest, settings)
        ),
        stored=previous.stored,
        namespaces=frozenset(namespaces),
    )


def _revisable_items(
    manifest: Manifest, settings: Settings, examined: dict[str, tuple[Item, ...]]
) -> Iterator[Item]:
    """The revisable objects of a manifest except hooks, invalid objects and attachers.

    examined: a cache of the objects in a document, by the document's text, because most documents
        are the same in several manifests.
    """
    stream = read_streams(manifest.sources, manifest.name)
    kinds = {kind for _, kind in settings.revisable}
    for index, text in enumerate(stream.texts):
        if (
            text not in examined
            and has_content(text)
            and may_hold(text, stream.kinds[index], kinds)
        ):
            examined[text] = tuple(
                item
                for item in read_items(stream, index, settings, set())
                if item.has_content
                and item.error is None
                and not (item.is_attacher or item.is_hook)
            )
        yield from examined.get(text, ())


def _add_manifest(
    revisions: dict[ObjectKey, EarlierRevision],
    index: int,
    is_applied: bool,
    items: Mapping[ObjectKey, Item],
    applied: set[ObjectKey],
) -> None:
    """Add the objects of the next manifest to the revisions.

    Helm deletes an object that the new manifest lacks, unless the live object has `keep`. After a
    failed apply, it is unknown which objects changed, so a state then never becomes lower.
    applied: the keys of the objects in the newest applied manifest before this manifest.
    """
    revised_base_names = {
        item.annotations.get(BASE_NAME_ANNOTATION)
        for item in items.values()
        if PAIRING_ANNOTATION in item.annotations
    }
    for key, item in items.items():
        before = revisions.get(key, EarlierRevision(item))
        live_state = _live_state_after(item, before.live_state, is_tracked=key in applied)
        # An original is current only if the manifest lacks a current revision of the base name.
        is_revised = item.is_revision or item.identity.name in revised_base_names
        is_current = not is_revised or PAIRING_ANNOTATION in item.annotations
        revisions[key] = before._replace(
            item=item,
            order=item.order,
            live_state=live_state if is_applied else max(before.live_state, live_state),
            last_current=index if is_current else before.last_current,
        )
    if is_applied:
        for key, revision in revisions.items():
            if key not in items and revision.live_state == LiveState.WITHOUT_KEEP:
                revisions[key] = revision._replace(live_state=LiveState.ABSENT)


def _live_state_after(item: Item, before: int, *, is_tracked: bool) -> int:
    """The state of an object in the cluster after Helm has applied the object.

    If the previous applied manifest lacks an existing object, Helm 3 does not remove `keep` from
    the object. Helm 3 then uses the new manifest also as the old manifest of the three-way merge
    (3.21, action/upgrade.go).
    is_tracked: whether the previous applied manifest has the object.
    """
    policy = item.annotations.get(RESOURCE_POLICY_ANNOTATION)
    if policy == "keep":
        return LiveState.WITH_KEEP
    return LiveState.WITHOUT_KEEP if is_tracked or policy else max(before, LiveState.WITHOUT_KEEP)


def _hook_references(manifest: Manifest, settings: Settings) -> Iterator[tuple[ObjectKey, str]]:
    """The key of each object that a hook references, and the identity of the hook."""
    stream = read_streams(manifest.sources, manifest.name)
    for index, text in enumerate(stream.texts):
        if not has_content(text):
            continue
        for item in read_items(stream, index, settings, None):
            if item.is_attacher:
                continue
            for reference in item.references:
                namespace = reference.namespace or item.identity.namespace
                key = ObjectKey(reference.rule.target, namespace, reference.name)
                yield key, str(item.identity)


def read_previous_owners(previous: Previous) -> PreviousOwners:
    """The owners of revisions, from the arguments of the previous attachers.

    The workloads and release owners are from the newest manifest and from the hooks. The names of
    Secrets are from all manifests and hooks.
    """
    owners = read_owners(
        source.data.decode(errors="replace")
        for manifest in (*previous.manifests[-1:], *previous.hooks)
        for source in manifest.sources
    )
    secrets = [
        name
        for manifest in (*previous.manifests, *previous.hooks)
        for source in manifest.sources
        if b"secret/" in source.data
        for name in _secrets_in(source)
    ]
    return owners._replace(secrets=frozenset(secrets))


def _secrets_in(source: Source) -> Iterator[str]:
    stream = read_streams([source], source.name)
    for text, kind in zip(stream.texts, stream.kinds, strict=True):
        is_job = GROUP_LABEL in text and kind == "Job"
        if is_job or INVENTORY_LABEL in text:
            yield from re.findall(_SECRET, text)


def read_owners(texts: Iterable[str]) -> PreviousOwners:
    """The owners in the attachers of some outputs. The field `secrets` is empty."""
    workloads: dict[str, list[str]] = {}
    release_owners: set[str] = set()
    for text in texts:
        release_owners.update(re.findall(_RELEASE_OWNER, text))
        for kind, name, refs in re.findall(_WORKLOAD, text):
            for ref in refs.split(","):
                workloads.setdefault(ref, []).append(f"{kind}/{name}")
    return PreviousOwners(workloads, frozenset(release_owners))
