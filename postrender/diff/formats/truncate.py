"""The truncation of a text with several sections. `size_of` defines the unit of every size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from postrender.diff.values import Forms, count_kinds, size_of
from postrender.records import NamedTuple


class Cut(NamedTuple):
    """A shorter text for a part.

    stage: cuts of a lower stage come first; in a stage, the largest saving, or the last part.
    text: the shorter text, "" if the cut drops the part.
    lost: what the reader misses, before a count of items, such as `the names of`.
    kinds: of the items that lose something, None for all items of the part.
    """

    stage: int
    text: str = ""
    lost: str = ""
    kinds: Sequence[str] | None = None


class Part(NamedTuple):
    """A part of a section.

    cuts: ever shorter texts, in the order of their stages.
    noun: of the items in the part.
    kinds: of the items; one for each item.
    """

    full: str
    cuts: tuple[Cut, ...]
    noun: Forms
    kinds: Sequence[str] = ("",)


class Section(NamedTuple):
    """A section of a text. It loses its head and foot with its last part."""

    head: str = ""
    parts: Sequence[Part] = ()
    foot: str = ""


def truncate(sections: Sequence[Section], limit: int, notice_size: int) -> tuple[str, list[str]]:
    """The text of sections, and what it leaves out to fit into the limit, as phrases.

    notice_size: how much space to leave for a notice if the sections are larger than the limit.
    """
    parts = [(number, part) for number, section in enumerate(sections) for part in section.parts]
    shown = [part.full for _, part in parts]
    rest = Counter(number for number, _ in parts)
    lost: dict[int, Cut] = {}
    frames = [size_of(section.head) + size_of(section.foot) for section in sections]
    excess = sum(map(size_of, shown)) + sum(frames) - limit
    if excess <= 0:
        return _join(sections, parts, shown), []
    excess += notice_size
    steps = sorted(
        (cut.stage, size_of(cut.text) - size_of(part.full) if cut.text else 0, -index, cut)
        for index, (_, part) in enumerate(parts)
        for cut in part.cuts
    )
    for _, _, index, cut in steps:
        if excess <= 0:
            break
        index, number = -index, parts[-index][0]
        excess += size_of(cut.text) - size_of(shown[index])
        shown[index], lost[index] = cut.text, cut
        if not cut.text:
            rest[number] -= 1
            excess -= 0 if rest[number] else frames[number]
    return _join(sections, parts, shown), _omissions(parts, lost)


def _join(
    sections: Sequence[Section], parts: Iterable[tuple[int, Part]], shown: Iterable[str]
) -> str:
    texts: list[list[str]] = [[] for _ in sections]
    for (number, _), text in zip(parts, shown, strict=True):
        texts[number].append(text)
    return "".join(
        section.head + "".join(kept) + section.foot
        for section, kept in zip(sections, texts, strict=True)
        if any(kept) or not section.parts
    )


def _omissions(parts: Sequence[tuple[int, Part]], lost: dict[int, Cut]) -> list[str]:
    kinds: dict[tuple[str, Forms], Counter[str]] = {}
    for index in sorted(lost):
        part, cut = parts[index][1], lost[index]
        kinds.setdefault((cut.lost, part.noun), Counter()).update(
            part.kinds if cut.kinds is None else cut.kinds
        )
    return [f"{lost} {_counted(counts, noun)}".strip() for (lost, noun), counts in kinds.items()]


def _counted(counts: Counter[str], noun: Forms) -> str:
    """A count of items with their kinds: `12 other objects (10 Services, 2 Secrets)`."""
    total = sum(counts.values())
    named = count_kinds(Counter({kind: count for kind, count in counts.items() if kind}))
    shown = [] if len(named) == 1 and noun.one in counts else named
    return f"{total:,} {noun.of(total)}" + (f" ({', '.join(shown)})" if shown else "")
