"""Which object of one side is which of the other: by kind, namespace and base name.

Never by how much they look alike: of two similar ConfigMaps that swap their values each one
changes, and one that changes altogether is still the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from postrender.diff.compare.side import ComparedObject, Side
from postrender.kubernetes.kinds import Identity
from postrender.startup.records import NamedTuple

# Objects of one side that stand there more than once, by what they are known by.
Repeated = Mapping[Hashable, Sequence[ComparedObject]]


class Pair(NamedTuple):
    """An object before and after; None where there is none."""

    old: ComparedObject | None
    new: ComparedObject | None

    @property
    def identity(self) -> Identity:
        """What it is called: on the newer side, if it is there."""
        return self.newest.identity

    @property
    def newest(self) -> ComparedObject:
        """The newer one that there is."""
        one = self.new or self.old
        if one is None:
            raise ValueError("a pair of nothing")
        return one

    @property
    def both(self) -> tuple[ComparedObject, ComparedObject] | None:
        """Both, if there are two."""
        return (self.old, self.new) if self.old and self.new else None


def find_pairs(
    old: Iterable[ComparedObject], new: Iterable[ComparedObject], namespace: str
) -> list[Pair]:
    """Return every object once, sorted by namespace, kind and name; namespace: the release's.

    First what has the same group, kind, namespace and name; then what was moved to another group of
    the API (`extensions` to `networking.k8s.io`); then, where one side writes the namespace and the
    other does not, what is the only one of its kind and name.
    """

    def exact(each: ComparedObject) -> Hashable:
        return (*_key(each, namespace), _generated(each))

    def in_any_group(each: ComparedObject) -> Hashable:
        identity = each.identity
        return (
            identity.kind,
            identity.namespace or namespace or None,
            identity.name,
            _generated(each),
        )

    def anywhere(each: ComparedObject) -> Hashable:
        return each.identity.group_kind, each.identity.name, _generated(each)

    before, after = list(old), list(new)
    pairs: list[Pair] = []
    for key, is_right in ((exact, None), (in_any_group, _is_only), (anywhere, _is_absent_in_one)):
        more, before, after = _match(before, after, key, is_right)
        pairs += more
    pairs += [Pair(each, None) for each in before] + [Pair(None, each) for each in after]
    return sorted(pairs, key=lambda pair: order_of(pair.identity))


def find_repeated(side: Side, namespace: str) -> Repeated:
    """Return the objects of one side that stand there more than once, by what they are known by.

    ConfigMaps and Secrets are told from each other by a plan. Of others the last one is what
    kubectl and Helm leave in the cluster.
    """
    groups: dict[Hashable, list[ComparedObject]] = defaultdict(list)
    for each in side.main.values():
        if not each.is_content and each.identity.name:
            groups[_key(each, namespace)].append(each)
    return {key: own for key, own in groups.items() if own[1:]}


def order_of(identity: Identity) -> tuple[str, str, str, str]:
    """Return what objects are sorted by, in every list of a preview."""
    return identity.namespace or "", identity.kind, identity.name, identity.group


def _match(
    old: Sequence[ComparedObject],
    new: Sequence[ComparedObject],
    key: Callable[[ComparedObject], Hashable],
    is_right: Callable[[Sequence[ComparedObject], Sequence[ComparedObject]], bool] | None,
) -> tuple[list[Pair], list[ComparedObject], list[ComparedObject]]:
    """Return pairs of what has one key, and what is left of either side.

    is_right: whether those of one key are a pair; without it they are, one after the other.
    """
    groups: dict[Hashable, tuple[list[ComparedObject], list[ComparedObject]]] = defaultdict(
        lambda: ([], [])
    )
    for side, objects in enumerate((old, new)):
        for each in objects:
            groups[key(each)][side].append(each)
    pairs: list[Pair] = []
    left: tuple[list[ComparedObject], list[ComparedObject]] = ([], [])
    for ours, theirs in groups.values():
        common = min(len(ours), len(theirs))
        if is_right and not is_right(ours, theirs):
            common = 0
        pairs += [Pair(one, other) for one, other in zip(ours, theirs, strict=False)][:common]
        left[0].extend(ours[common:])
        left[1].extend(theirs[common:])
    return pairs, left[0], left[1]


def _is_only(old: Sequence[ComparedObject], new: Sequence[ComparedObject]) -> bool:
    return len(old) == len(new) == 1


def _is_absent_in_one(old: Sequence[ComparedObject], new: Sequence[ComparedObject]) -> bool:
    if not _is_only(old, new):
        return False
    return (old[0].identity.namespace is None) != (new[0].identity.namespace is None)


def _key(each: ComparedObject, namespace: str) -> tuple[Hashable, ...]:
    identity = each.identity
    home = identity.namespace or namespace or None
    return identity.group_kind, home, identity.name, _is_hook(each)


def _generated(each: ComparedObject) -> str:
    """Return the beginning of a name that the API server makes, for objects that have no name."""
    if each.identity.name:
        return ""
    metadata = each.data.get("metadata")
    return str(metadata.get("generateName")) if isinstance(metadata, dict) else ""


def _is_hook(each: ComparedObject) -> bool:
    return each.item is not None and each.item.is_hook
