"""A NamedTuple that is cheap to define.

Defining a `typing.NamedTuple` compiles a constructor and evaluates every annotation, which takes
0.2 ms. Importing `typing` takes 5 ms. A run defines about sixty records and builds few instances
of most of them. This NamedTuple only stores its fields, and compiles the constructor of a class
that is instantiated often. Type checkers see `typing.NamedTuple`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from operator import itemgetter

    try:
        from _collections import _tuplegetter
    except ImportError:  # only CPython has it

        def _tuplegetter(index, doc):
            return property(itemgetter(index), doc=doc)

    _COMPILE_AFTER = 20
    # Not a class attribute, because setting one would clear Python's method cache of the class.
    _instances = {}
    _new_tuple = tuple.__new__

    class _RecordType(type):
        """A metaclass that turns the annotations of a class into the fields of a tuple."""

        def __new__(mcs, name, bases, namespace):
            fields = tuple(namespace.get("__annotations__", ()))
            defaults = {field: namespace[field] for field in fields if field in namespace}
            for index, field in enumerate(fields):
                namespace[field] = _tuplegetter(index, None)
            namespace["_fields"] = namespace["__match_args__"] = fields
            namespace["_field_defaults"] = defaults
            namespace["_field_set"] = frozenset(fields)
            namespace["__slots__"] = ()
            record = type.__new__(mcs, name, bases, namespace)
            _instances[record] = 0
            return record

    class NamedTuple(tuple, metaclass=_RecordType):
        """A tuple with named fields."""

        def __new__(cls, *values, **named):  # noqa: D102
            _instances[cls] += 1
            if _instances[cls] > _COMPILE_AFTER:
                cls.__new__ = _compiled_constructor(cls)
                return cls.__new__(cls, *values, **named)
            missing = len(cls._fields) - len(values)
            if named or not 0 <= missing <= len(cls._field_defaults):
                values = _complete(cls, values, named)
            elif missing:
                values += tuple(cls._field_defaults.values())[-missing:]
            return _new_tuple(cls, values)

        # Takes an iterable of all values, and is three times as fast as the constructor.
        _make = classmethod(_new_tuple)

        def _replace(self, /, **named):
            if not named.keys() <= self._field_set:
                raise TypeError(f"{type(self).__name__} has the fields {', '.join(self._fields)}")
            values = map(named.get, self._fields, self)
            return _new_tuple(type(self), values)

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            pairs = zip(self._fields, self, strict=True)
            return (
                f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in pairs)})"
            )

        def __getnewargs__(self):
            return tuple(self)

    def _complete(cls, values, named):
        """Return the values of all fields in order, from the arguments of a constructor call."""
        given = dict(zip(cls._fields, values, strict=False))
        complete = {**cls._field_defaults, **given, **named}
        is_valid = (
            len(values) <= len(cls._fields)
            and given.keys().isdisjoint(named)
            and complete.keys() == set(cls._fields)
        )
        if not is_valid:
            raise TypeError(f"{cls.__name__} has the fields {', '.join(cls._fields)}")
        return map(complete.__getitem__, cls._fields)

    def _compiled_constructor(cls):
        """Return a function with the fields as parameters, as collections.namedtuple has."""
        defaults = cls._field_defaults
        parameters = ", ".join(
            f"{field}=_defaults[{field!r}]" if field in defaults else field for field in cls._fields
        )
        items = "".join(f"{field}, " for field in cls._fields)
        scope = {"_new": _new_tuple, "_defaults": defaults, "__builtins__": {}}
        return eval(f"lambda _cls, {parameters}: _new(_cls, ({items}))", scope)


__all__ = ["NamedTuple"]
