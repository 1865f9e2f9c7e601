"""A base class of records that is faster to subclass than `typing.NamedTuple`.

Importing `typing` takes 5 ms. For each class, `typing.NamedTuple` compiles a constructor and
converts every annotation, which takes 0.2 ms. `postrender render` imports more than fifty record
classes, and builds few instances of most of these classes. The NamedTuple of this module
therefore compiles a constructor only for a class with many instances. For type checkers, NamedTuple
is `typing.NamedTuple`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from operator import itemgetter

    try:
        from _collections import _tuplegetter
    except ImportError:  # only CPython has _tuplegetter

        def _tuplegetter(index, doc):
            return property(itemgetter(index), doc=doc)

    # Compiling a constructor takes as long as about thirty calls of NamedTuple.__new__.
    _COMPILE_AFTER = 30
    # The counts are not class attributes, because Python clears the method cache of a class at each
    # change of an attribute.
    _instance_counts = {}
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
            _instance_counts[record] = 0
            return record

    class NamedTuple(tuple, metaclass=_RecordType):
        """A tuple with named fields."""

        def __new__(cls, *values, **named):
            _instance_counts[cls] += 1
            if _instance_counts[cls] > _COMPILE_AFTER:
                cls.__new__ = _compiled_constructor(cls)
                return cls.__new__(cls, *values, **named)
            missing = len(cls._fields) - len(values)
            if named or not 0 <= missing <= len(cls._field_defaults):
                values = _complete(cls, values, named)
            elif missing:
                values += tuple(cls._field_defaults.values())[-missing:]
            return _new_tuple(cls, values)

        # _make takes an iterable of all values, and is three times as fast as the constructor.
        _make = classmethod(_new_tuple)

        def _replace(self, /, **named):
            if not named.keys() <= self._field_set:
                raise TypeError(_expected_fields(type(self)))
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
        """Return the values of all fields in order, from the arguments of a constructor call.

        Raises TypeError for wrong arguments.
        """
        fields, count = cls._fields, len(values)
        others = {**cls._field_defaults, **named}
        is_valid = (
            count <= len(fields)
            and cls._field_set.issuperset(named)
            and named.keys().isdisjoint(fields[:count])
        )
        try:
            if is_valid:
                return (*values, *map(others.__getitem__, fields[count:]))
        except KeyError:  # a field has no value
            pass
        raise TypeError(_expected_fields(cls))

    def _expected_fields(cls):
        return f"wrong arguments, expected the fields of {cls.__name__}: {', '.join(cls._fields)}"

    def _compiled_constructor(cls):
        """Return a constructor with the fields as parameters, as collections.namedtuple does."""
        defaults = cls._field_defaults
        parameters = ", ".join(
            f"{field}=_defaults[{field!r}]" if field in defaults else field for field in cls._fields
        )
        items = "".join(f"{field}, " for field in cls._fields)
        scope = {"_new": _new_tuple, "_defaults": defaults, "__builtins__": {}}
        return eval(f"lambda _cls, {parameters}: _new(_cls, ({items}))", scope)


__all__ = ["NamedTuple"]
