"""The base class of records, which are immutable tuples with named fields, groups and graphs.

`typing.NamedTuple` would do the same, but converts each annotation and imports typing, which takes
14 ms at every start. For type checkers, NamedTuple is `typing.NamedTuple`.
"""

from __future__ import annotations

from collections import defaultdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NamedTuple, TypeVar

    Key = TypeVar("Key")
    Value = TypeVar("Value")
else:
    from collections import namedtuple

    class _Record(type):
        def __new__(mcs, name, _bases, own):
            fields = tuple(own.pop("__annotations__", ()))
            defaults = [own.pop(field) for field in fields if field in own]
            record = namedtuple(name, fields, defaults=defaults, module=own.pop("__module__"))
            for key, value in own.items():
                setattr(record, key, value)
            return record

    # Its subclasses are made by the metaclass, and are tuples without NamedTuple as a base class.
    NamedTuple = type.__new__(_Record, "NamedTuple", (), {})


def grouped(values: Iterable[Value], key: Callable[[Value], Key]) -> dict[Key, list[Value]]:
    """The values by their key, in order."""
    groups: dict[Key, list[Value]] = defaultdict(list)
    for value in values:
        groups[key(value)].append(value)
    return dict(groups)


def reachable(first: Iterable[Key], after: Callable[[Key], Iterable[Key]]) -> dict[Key, None]:
    """The first values, and all that come after them directly or indirectly."""
    found = dict.fromkeys(first)
    pending = list(found)
    while pending:
        new = [value for value in after(pending.pop()) if value not in found]
        found.update(dict.fromkeys(new))
        pending += new
    return found


__all__ = ["NamedTuple", "grouped", "reachable"]
