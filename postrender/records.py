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

    class NamedTuple(tuple):
        """A tuple whose fields are the annotations of the subclass."""

        __slots__ = ()

        def __init_subclass__(cls):
            own, fields = vars(cls), tuple(cls.__annotations__)
            defaults = [own[field] for field in fields if field in own]
            base = namedtuple(cls.__name__, fields, defaults=defaults)
            for name, value in vars(base).items():
                if name in fields or name not in own:
                    setattr(cls, name, value)

        def __setattr__(self, name, value):
            raise AttributeError(f"{type(self).__name__} is immutable")


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
