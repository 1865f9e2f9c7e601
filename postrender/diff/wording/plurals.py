"""Counts and lists in words: `2 Rollouts and 1 Job`, `a, b and 3 more`."""

from __future__ import annotations

from collections.abc import Sequence

from postrender.records import NamedTuple

_MAX_ITEMS = 12


class Forms(NamedTuple):
    """The singular and the plural of a noun or verb."""

    one: str
    many: str

    def of(self, count: int) -> str:
        """Return the form that fits a count."""
        return self.one if count == 1 else self.many


def counted(count: int, noun: str) -> str:
    """Return a count with a regular noun: `1 key`, `1,200 keys`."""
    return f"{count:,} {noun}" + ("s" if count != 1 else "")


def conjoined(parts: Sequence[str]) -> str:
    """Return a list in words, such as `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)


def capitalised(clause: str) -> str:
    """Return a clause with an upper-case first letter, for the beginning of a sentence."""
    return clause[:1].upper() + clause[1:]


def listed(parts: Sequence[str]) -> str:
    """Return a list such as `a, b, c`. A list of more than _MAX_ITEMS items ends in a count."""
    shown, rest = parts[:_MAX_ITEMS], parts[_MAX_ITEMS:]
    return ", ".join(shown) + (f" {and_more(len(rest))}" if rest else "")


def and_more(count: int) -> str:
    """Return the end of a list that leaves out `count` items."""
    return f"and {count:,} more"
