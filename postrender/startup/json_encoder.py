"""JSON encoders that do not import the json package, because the import takes 0.7 ms.

The json package compiles six patterns on import. The encoders of this module call the same C
function as the json package. Without this C function, the encoders use the json package.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def _reject(value: object) -> object:
    raise TypeError(f"{type(value).__name__} is not a type of JSON")


def json_encoder(
    *,
    item_separator: str,
    key_separator: str,
    sort_keys: bool,
    default: Callable[[object], object] = _reject,
) -> Callable[[object], str]:
    """Return a function that encodes data as JSON on one line.

    The function does not escape characters outside ASCII. The data must not contain cycles.
    default: a function that takes a value of a type that JSON lacks, and returns a replacement
        or raises TypeError. If the caller does not pass `default`, such a value causes TypeError.
    """
    try:
        from _json import encode_basestring, make_encoder
    except ImportError:  # only CPython has the C encoder
        import json

        return json.JSONEncoder(
            ensure_ascii=False,
            check_circular=False,
            separators=(item_separator, key_separator),
            sort_keys=sort_keys,
            default=default,
        ).encode
    # Arguments: markers, default, encoder, indent, separators, sort_keys, skipkeys, allow_nan.
    separators = key_separator, item_separator
    write = make_encoder(
        None, default, encode_basestring, None, *separators, sort_keys, False, True
    )
    return lambda data: "".join(write(data, 0))
