"""Quantities of Kubernetes, such as `500m` and `10Gi`."""

from __future__ import annotations

import re

from postrender.yaml.paths import Json

_QUANTITY = re.compile(r"(\d{1,20})(?:\.(\d{1,20}))?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?\Z")
_MOST_DIGITS = 20
_UNITS: dict[str, int] = {unit: 1000**power for power, unit in enumerate(("m", "", *"kMGTPE"))}
_UNITS |= {f"{unit}i": 1000 * 1024**power for power, unit in enumerate("KMGTPE", 1)}


def quantity(value: Json) -> int | None:
    """The number of a quantity in units of 10 ** -23, None for anything else."""
    match = _QUANTITY.match(str(value)) if isinstance(value, (str, int)) else None
    if match is None or isinstance(value, bool):
        return None
    whole, part, unit = match[1], match[2] or "", match[3] or ""
    return int(whole + part.ljust(_MOST_DIGITS, "0")) * _UNITS[unit]
