"""Cutting a text that is made of sections, until it fits into so many characters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from postrender.startup.records import NamedTuple


class Part(NamedTuple):
    """A part of a section; brief: what may stand in its place, "" where nothing shorter may.

    holds: how many of what parts are called.
    """

    full: str
    brief: str = ""
    holds: int = 1


class Nouns(NamedTuple):
    """What one and what many are called."""

    one: str
    many: str


class Section(NamedTuple):
    """A part of a text that is made of parts itself.

    head and foot: what stands before and after the parts; part: what parts are called in a notice;
    brief: what it says before that when they are brief; whole: what the section itself is called,
    None where only its parts are counted.
    """

    head: str
    parts: tuple[Part, ...]
    foot: str
    part: Nouns
    brief: str = ""
    whole: Nouns | None = None


class Cut:
    """Sections that are cut step by step; once all of it fits, a step does nothing."""

    def __init__(self, sections: Sequence[Section], room: int, for_notice: int) -> None:
        """Take sections, and how many characters there are for them and for a notice if one is."""
        self._sections = sections
        self._kept = [[part.full for part in section.parts] for section in sections]
        self._gone: set[int] = set()
        self._excess = sum(map(_size_of, sections)) - room
        if self._excess > 0:
            self._excess += for_notice

    def shorten(self, numbers: Iterable[int]) -> None:
        """Put parts of these sections in brief: the longest first, of equals the last."""
        gains = [
            (size_of(part.brief) - size_of(part.full), number, at)
            for number in numbers
            if self._excess > 0
            for at, part in enumerate(self._sections[number].parts)
            if part.brief
        ]
        for gain, number, at in sorted(gains, key=lambda each: (each[0], each[1], -each[2])):
            if self._excess <= 0:
                return
            self._kept[number][at] = self._sections[number].parts[at].brief
            self._excess += gain

    def drop(self, number: int) -> None:
        """Take parts from the end of a section, and with its last one the section."""
        section, kept = self._sections[number], self._kept[number]
        is_too_long = self._excess > 0
        while kept and self._excess > 0:
            self._excess -= size_of(kept.pop())
        if is_too_long and not kept:
            self._excess -= size_of(section.head) + size_of(section.foot)
            self._gone.add(number)

    def left_out(self) -> list[str]:
        """Return what is left out, in words."""
        counts: Counter[tuple[str, Nouns]] = Counter()
        for number, (section, kept) in enumerate(zip(self._sections, self._kept, strict=True)):
            if number in self._gone and section.whole:
                counts["", section.whole] += 1
                continue
            pairs = zip(section.parts, kept)  # noqa: B905 (the rest is dropped)
            counts[section.brief, section.part] += sum(
                part.holds for part, text in pairs if text != part.full
            )
            counts["", section.part] += sum(part.holds for part in section.parts[len(kept) :])
        return [
            f"{before}{count:,} {nouns.one if count == 1 else nouns.many}"
            for (before, nouns), count in counts.items()
            if count
        ]

    def text(self) -> str:
        """Return what is left."""
        texts = []
        for number, (section, kept) in enumerate(zip(self._sections, self._kept, strict=True)):
            if number not in self._gone:
                texts += [section.head, *kept, section.foot]
        return "".join(texts)


def size_of(text: str) -> int:
    """Return how many characters a text has; those beyond U+FFFF are two in UTF-16."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _size_of(section: Section) -> int:
    return sum(map(size_of, (section.head, section.foot, *(part.full for part in section.parts))))
