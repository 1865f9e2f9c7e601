"""The base class of records: immutable tuples with named fields.

`typing.NamedTuple` would do the same, but converts each annotation and imports typing, which takes
14 ms at every start. For type checkers, NamedTuple is `typing.NamedTuple`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
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


__all__ = ["NamedTuple"]
