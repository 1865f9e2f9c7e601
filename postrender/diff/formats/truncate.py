"""The truncation of a text with several sections. `size_of` defines the unit of every size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from postrender.diff.values import Forms, size_of
from postrender.records import NamedTuple


class Part(NamedTuple):
    """A part of a section: its text, a shorter text or "", and the number of items in it."""

    full: str
    brief: str = ""
    items: int = 1


class Section(NamedTuple):
    """A section of a text.

    noun: for the items of the parts, in the notice about omissions.
    brief_prefix: the phrase before the count of abbreviated items in the notice.
    section_noun: for the section itself, None if the notice counts only its items.
    """

    head: str
    parts: tuple[Part, ...]
    foot: str
    noun: Forms
    brief_prefix: str = ""
    section_noun: Forms | None = None


class Truncation:
    """Shortens the sections of a text to a limit."""

    __slots__ = ("_dropped", "_excess", "_kept", "_sections")

    def __init__(self, sections: Sequence[Section], limit: int, notice_size: int) -> None:
        """Leave space for a notice if the sections are larger than the limit."""
        self._sections = sections
        self._kept = [[part.full for part in section.parts] for section in sections]
        self._dropped: set[int] = set()
        self._excess = sum(map(_section_size, sections)) - limit
        if self._excess > 0:
            self._excess += notice_size

    def abbreviate(self, numbers: Iterable[int]) -> None:
        """Abbreviate parts of sections until the text fits, the largest saving first."""
        deltas = [
            (size_of(part.brief) - size_of(part.full), number, position)
            for number in numbers
            if self._excess > 0
            for position, part in enumerate(self._sections[number].parts)
            if part.brief
        ]
        for delta, number, position in sorted(
            deltas, key=lambda item: (item[0], item[1], -item[2])
        ):
            if self._excess <= 0:
                return
            self._kept[number][position] = self._sections[number].parts[position].brief
            self._excess += delta

    def drop(self, number: int) -> None:
        """Drop parts from the end of a section, and then its head and foot, until the text fits."""
        section, kept = self._sections[number], self._kept[number]
        is_too_long = self._excess > 0
        while kept and self._excess > 0:
            self._excess -= size_of(kept.pop())
        if is_too_long and not kept:
            self._excess -= size_of(section.head) + size_of(section.foot)
            self._dropped.add(number)

    def omissions(self) -> list[str]:
        """The counts of abbreviated items, dropped items and dropped sections as phrases."""
        counts: Counter[tuple[str, Forms]] = Counter()
        for number, (section, kept) in enumerate(zip(self._sections, self._kept, strict=True)):
            if number in self._dropped and section.section_noun:
                counts["", section.section_noun] += 1
                continue
            pairs = zip(section.parts, kept)  # noqa: B905 (`kept` may be shorter)
            counts[section.brief_prefix, section.noun] += sum(
                part.items for part, text in pairs if text != part.full
            )
            counts["", section.noun] += sum(part.items for part in section.parts[len(kept) :])
        return [
            f"{prefix}{count:,} {noun.of(count)}"
            for (prefix, noun), count in counts.items()
            if count
        ]

    def text(self) -> str:
        """The truncated text."""
        texts = []
        for number, (section, kept) in enumerate(zip(self._sections, self._kept, strict=True)):
            if number not in self._dropped:
                texts += [section.head, *kept, section.foot]
        return "".join(texts)


def _section_size(section: Section) -> int:
    return sum(map(size_of, (section.head, section.foot, *(part.full for part in section.parts))))
