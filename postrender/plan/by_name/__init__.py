"""Signs that a program reads an object by a name that postrender cannot rewrite.

A rule is a function from the evidence to signs. To add a rule, write the function, and add it to
RULES.
"""

from __future__ import annotations

from postrender.inventory.model import ItemKey
from postrender.plan.by_name.built_names import find_built_names
from postrender.plan.by_name.mentions import Evidence, Sign
from postrender.plan.by_name.roles import find_roles, with_writers
from postrender.plan.by_name.strings import (
    find_copies,
    find_embedded_texts,
    find_named_fields,
    find_spring_names,
    find_whole_values,
)

# In the order of their priority.
RULES = (
    find_roles,
    find_copies,
    find_named_fields,
    find_embedded_texts,
    find_spring_names,
    find_whole_values,
    find_built_names,
)


def find_signs(evidence: Evidence) -> dict[ItemKey, Sign]:
    """By object, one sign that a program reads the object by its name.

    A sign with is_write has priority over other signs. Then the order of RULES decides.
    """
    # Of one source, only the first sign for an object can count.
    found: dict[tuple[ItemKey, ItemKey, bool], Sign] = {}
    for sign in (sign for rule in RULES for sign in rule(evidence)):
        found.setdefault((sign.target.key, sign.source.key, sign.is_write), sign)
    signs = with_writers(evidence, list(found.values()))
    first: dict[ItemKey, Sign] = {}
    for sign in sorted(signs, key=lambda sign: not sign.is_write):
        first.setdefault(sign.target.key, sign)
    return first


__all__ = ["Evidence", "Sign", "find_signs"]
