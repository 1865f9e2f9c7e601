"""What the rules about risks read: both sides of a change, and the objects that differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence

from postrender.config.settings import NOTHING
from postrender.diff.kinds import SCALERS, scaled_by
from postrender.diff.model import ContentChange, RevisionChange, WorkloadChange
from postrender.diff.pairs import Comparison, Pair
from postrender.kubernetes.kinds import Identity, group_kind_of, is_namespaced, roots_of
from postrender.records import NamedTuple, grouped
from postrender.text import has_any
from postrender.yaml.document import parse_in
from postrender.yaml.paths import Json, mapping_at, parts_at

# What is around a name or the value of a label.
_SEPARATORS = str.maketrans(dict.fromkeys("{}[],:\"'", " "))
_FEW_WORDS = 8


class Object(NamedTuple):
    """An object of one side.

    data: the whole object. References have the names of revisions, not base names.
    """

    identity: Identity
    data: dict[str, Json]


class Facts(NamedTuple):
    """The facts about a change.

    pairs: of the objects with a name, without the attacher. Objects that are certain to have no
        effect are not among them; see `objects`.
    changes: the pairs of objects that differ, or that only one side has.
    rejections: as find_new_rejections returns them.
    """

    both: Comparison
    pairs: Sequence[Pair]
    changes: Sequence[Pair]
    contents: Mapping[Identity, ContentChange] = NOTHING
    rejections: Mapping[str, Sequence[tuple[Identity, str, str]]] = NOTHING
    workloads: Sequence[WorkloadChange] = ()
    revisions: Sequence[RevisionChange] = ()

    def namespace_of(self, identity: Identity) -> str | None:
        """The namespace of an object, which can be that of the release."""
        return self.both.resolver.namespace_of(identity.namespace)

    def differing(self, kinds: Container[str]) -> Iterator[Object]:
        """The objects of these kinds on the newer side that differ, or that only it has."""
        for pair in self.changes:
            if pair.new and pair.identity.kind in kinds:
                yield Object(pair.identity, pair.new.data)

    def changed(self, *path: str) -> Iterator[tuple[Identity, dict[str, Json], dict[str, Json]]]:
        """The objects that both sides have and that differ at a path, with their data. Hooks are
        left out, because Helm and Argo CD usually delete and re-create them.
        """
        for pair in self.changes:
            if pair.old and pair.new and parts_at(pair.parts, path) != {} and not pair.new.is_hook:
                yield pair.identity, pair.old.data, pair.new.data

    def removed(self) -> Iterator[Object]:
        """The objects that only the older side has, without hooks, which Helm does not delete."""
        for pair in self.changes:
            if pair.old and not pair.new and not pair.old.is_hook:
                yield Object(pair.identity, pair.old.data)

    def moved(self) -> Iterator[tuple[Object, Object]]:
        """The objects that leave one namespace and appear in another, with the new objects."""
        added = (
            Object(pair.identity, pair.new.data)
            for pair in self.changes
            if pair.new and not pair.old and not pair.new.is_hook
        )
        old, new = (
            grouped(items, lambda item: item.identity.key_in(None))
            for items in (self.removed(), added)
        )
        for key, items in old.items():
            if is_namespaced(key.group_kind) and len(items) == len(new.get(key, ())) == 1:
                yield items[0], new[key][0]

    def hooks(self) -> Iterator[Object]:
        """The hooks of the newer side."""
        for pair in self.pairs:
            if pair.new and pair.new.is_hook:
                yield Object(pair.identity, pair.new.data)

    def objects(
        self, kinds: Collection[str], *, is_new: bool, words: Iterable[str] | None = None
    ) -> Iterator[Object]:
        """All objects of these kinds, or of every kind, on one side.

        words: if not None, an object that does not differ counts only if its text has one of them.
            A rule passes what it looks for, so that other documents are not parsed.
        """
        for pair in self.pairs:
            compared = pair.new if is_new else pair.old
            if compared and (not kinds or pair.identity.kind in kinds):
                yield Object(pair.identity, compared.data)
        stream, wanted = self.both.new.inventory.stream, None if words is None else set(words)
        for index in sorted(
            one for kind in kinds or self.both.unread for one in self.both.unread.get(kind, ())
        ):
            if wanted is None or _has_word(stream.texts[index], wanted):
                yield from objects_of(parse_in(stream, index).data)

    def shared(
        self, kinds: Collection[str], values_of: Callable[[Object], set[tuple[str, ...]]]
    ) -> Iterator[tuple[Identity, Identity, tuple[str, ...]]]:
        """The objects of these kinds that begin to have a value of another one, with the other.

        The last part of a value is in the text of the object.
        """
        values = {value for item in self.differing(kinds) for value in values_of(item)}
        owners: dict[tuple[str, ...], list[Identity]] = defaultdict(list)
        for is_new in (False, True) if values else ():
            before, owners = owners, defaultdict(list)
            for item in self.objects(kinds, is_new=is_new, words={one[-1] for one in values}):
                for value in values & values_of(item):
                    owners[value].append(item.identity)
        for value, there in owners.items():
            first, *others = sorted(there, key=lambda one: one not in before[value])
            yield from ((one, first, value) for one in others if one not in before[value])

    def scalers(
        self, names: Iterable[str], *, is_new: bool = True
    ) -> Iterator[tuple[Object, tuple[str | None, str, str]]]:
        """The autoscalers of one side, each with the namespace, kind and name of its target.

        names: of the targets that the rule looks for, as in `objects`.
        """
        for item in self.objects(SCALERS, is_new=is_new, words=names):
            yield item, (self.namespace_of(item.identity), *scaled_by(item.data))


def _has_word(text: str, words: set[str]) -> bool:
    if len(words) <= _FEW_WORDS:
        return has_any(text, words)
    return not words.isdisjoint(text.translate(_SEPARATORS).split())


def objects_of(data: Json) -> Iterator[Object]:
    """The objects of a document, which can be a list."""
    for _, root in roots_of(data):
        if isinstance(root, dict) and (group_kind := group_kind_of(root)):
            yield Object(_identity(group_kind, root), root)


def _identity(group_kind: tuple[str, str], root: dict[str, Json]) -> Identity:
    metadata = mapping_at(root, ("metadata",))
    namespace = metadata.get("namespace")
    return Identity(
        *group_kind,
        namespace if isinstance(namespace, str) else None,
        str(metadata.get("name") or ""),
    )
