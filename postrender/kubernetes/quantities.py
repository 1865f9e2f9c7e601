"""Quantities of Kubernetes, such as `500m` and `10Gi`."""

from __future__ import annotations

import re
from fractions import Fraction

from postrender.yaml.paths import Json

_QUANTITY = re.compile(r"(\d{1,20})(?:\.(\d{1,20}))?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?\Z")
_UNITS = {"": Fraction(1), "m": Fraction(1, 1000)}
_UNITS |= {unit: Fraction(1000) ** power for power, unit in enumerate("kMGTPE", 1)}
_UNITS |= {f"{unit}i": Fraction(1024) ** power for power, unit in enumerate("KMGTPE", 1)}


def quantity(value: Json) -> Fraction | None:
    """The number of a quantity, None for anything else."""
    match = _QUANTITY.match(str(value)) if isinstance(value, (str, int)) else None
    if match is None or isinstance(value, bool):
        return None
    whole, part, unit = match[1], match[2] or "", match[3] or ""
    return Fraction(int(whole + part), 10 ** len(part)) * _UNITS[unit]
