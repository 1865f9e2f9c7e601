"""The ConfigMaps and Secrets that pods read, if these are not the current ones of both sides.

A reference can lead to an earlier revision, for example after a revert by hand, after the merge of
a rendered branch, or because somebody forged a revision. What pods read then changes although the
current ConfigMap may not change. `find_reads` compares the objects that the references lead to.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from postrender.diff.contents import Compared, compare_content
from postrender.diff.model import CHANGED
from postrender.diff.pairs import (
    CURRENT,
    EARLIER,
    ORIGINAL,
    ComparedObject,
    Comparison,
    Pair,
    sort_key,
)
from postrender.diff.usages import Target, Usage, UsageIndex
from postrender.kubernetes.kinds import Identity

# A revision is compared with this many others, so that the time stays linear. With any other, a
# preview shows the whole content.
_MOST_COMPARISONS = 10

# The usages of one target in the pod templates of a workload, on the older and the newer side.
Usages = tuple[list[Usage], list[Usage]]
_WHOLE = (
    f"NEW references an earlier revision. OLD references more than {_MOST_COMPARISONS}, so "
    "this entry is the whole content"
)
# The target, and the name in the reference on the older and on the newer side.
ReadKey = tuple[Target, str, str]
# The change of each read in which at least one side does not read the current object.
Reads = Mapping[ReadKey, Compared | None]


def template_usages(pair: Pair, indexes: tuple[UsageIndex, UsageIndex]) -> dict[Target, Usages]:
    """The usages in the pod templates of a workload. Targets of the older side only are first."""
    usages: dict[Target, Usages] = {}
    for side, (workload, index) in enumerate(zip((pair.old, pair.new), indexes, strict=True)):
        item = workload.item if workload else None
        for usage in index.by_item.get(item.key, ()) if item else ():
            if usage.is_in_template:
                usages.setdefault(usage.target, ([], []))[side].append(usage)
    return dict(sorted(usages.items(), key=lambda entry: _order(entry[1])))


def _order(usages: Usages) -> tuple[bool, tuple[str, ...]]:
    before, after = usages
    return bool(after), sort_key((after or before)[0].identity)


def paired_usages(usages: Usages) -> list[tuple[Usage, Usage]]:
    """Each usage on the newer side with the one on the older side that it replaces.

    Usages match in the order of the same label, such as `env`.
    """
    before, after = usages
    by_label: defaultdict[str, list[Usage]] = defaultdict(list)
    for usage in before:
        by_label[usage.label].append(usage)
    positions = Counter[str]()
    paired = []
    for usage in after if before else ():
        candidates = by_label.get(usage.label, before)
        paired.append((candidates[min(positions[usage.label], len(candidates) - 1)], usage))
        positions[usage.label] += 1
    return paired


def read_key(before: Usage, after: Usage) -> ReadKey:
    """The key of what two usages lead to."""
    return after.target, before.name, after.name


def find_reads(both: Comparison) -> Reads:
    """What changes in what pods read."""
    all_usages = (usages for index in both.usages for usages in index.by_item.values())
    if not any(map(_is_unusual, chain.from_iterable(all_usages))):
        return {}
    currents = _Currents(both.pairs)
    used: dict[ReadKey, tuple[Usage, Usage]] = {}
    users: defaultdict[ReadKey, dict[Identity, None]] = defaultdict(dict)
    for pair in both.pairs:
        for usages in template_usages(pair, both.usages).values() if pair.both else ():
            for before, after in paired_usages(usages):
                if not currents.are_read(before, after):
                    used[read_key(before, after)] = before, after
                    users[read_key(before, after)][pair.identity] = None
    comparisons = Counter[tuple[bool, Target, str]]()
    reads: dict[ReadKey, Compared | None] = {}
    for key, (before, after) in used.items():
        target, *name_pair = key
        ends = [(bool(side), target, name) for side, name in enumerate(name_pair)]
        if any(comparisons[end] >= _MOST_COMPARISONS for end in ends):
            whole = target, "", after.name
            users[whole].update(users[key])
            content = _compared(both, None, after.used, users[whole])
            if content:
                change = content.change._replace(change=CHANGED, note=_WHOLE)
                reads[whole] = reads[key] = Compared(change, is_rewritten=True)
            continue
        comparisons.update(ends)
        reads[key] = content = _compared(both, before.used, after.used, users[key])
        if content:
            change = content.change._replace(note=content.change.note or _note(before, after))
            reads[key] = content._replace(change=change, old=before.used)
    return reads


def _compared(
    both: Comparison,
    old: ComparedObject | None,
    new: ComparedObject | None,
    users: Iterable[Identity],
) -> Compared | None:
    return compare_content(Pair(old, new), both.names, both.context, None, tuple(users))


def _is_unusual(usage: Usage) -> bool:
    return usage.used is not None and (usage.is_missing or usage.used.role != CURRENT)


class _Currents:
    """The current objects of the pairs, and the originals with the same content."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self._pairs = pairs
        self._equal_originals: dict[int, bool] = {}

    def are_read(self, before: Usage, after: Usage) -> bool:
        """Whether two usages lead to the current objects of a pair, or to no object."""
        if before.used is None or after.used is None:
            return True
        if not isinstance(after.target, int):
            return False
        pair = self._pairs[after.target]
        return self._is_current(before, pair.old) and self._is_current(after, pair.new)

    def _is_current(self, usage: Usage, current: ComparedObject | None) -> bool:
        used = usage.used
        if used is None or current is None or used.role == EARLIER:
            return False
        if used.role == CURRENT:
            return used.name == current.name
        if id(used) not in self._equal_originals:
            self._equal_originals[id(used)] = used.content == current.content
        return self._equal_originals[id(used)]


_ROLES = {CURRENT: "", EARLIER: "an earlier revision", ORIGINAL: "the original"}


def _note(before: Usage, after: Usage) -> str:
    """Which of the referenced objects are not the current ones."""
    phrases = []
    for side, usage in (("OLD", before), ("NEW", after)):
        role = _ROLES[usage.used.role] if usage.used else ""
        if usage.is_missing:
            phrases.append(f"{side} references a revision that {side} does not contain")
        elif role:
            phrases.append(f"{side} references {role}")
    return ", and ".join(phrases)
