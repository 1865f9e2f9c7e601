"""Signs that a program reads an object by a name that postrender cannot rewrite.

In this package, a rule is a function that finds signs. Each module except `sign` and `text_lines`
has one rule, the function `find`. To add a rule, write a module with `find`, and add `find` to
_rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from postrender.inventory.model import ItemKey
from postrender.plan.by_name import roles
from postrender.plan.by_name.signs import Evidence, Sign
from postrender.plan.readers import copies


def _rules(evidence: Evidence) -> tuple[Callable[[Evidence], Iterator[Sign]], ...]:
    """Return the rules, in the order of their priority."""
    if not evidence.mentions:
        return roles.find, copies.find
    # Imported late, because these rules search only mentions, and most charts lack mentions.
    from postrender.plan.by_name import texts as embedded_texts
    from postrender.plan.by_name import values as whole_values
    from postrender.plan.readers import named_fields, spring

    rules = (named_fields.find, embedded_texts.find, spring.find, whole_values.find)
    return roles.find, copies.find, *rules


def find_signs(evidence: Evidence) -> dict[ItemKey, Sign]:
    """Return, by object, one sign that a program reads the object by its name.

    A sign with is_write has priority over other signs. Otherwise, the sign of the first rule has
    priority.
    Raises UserError if a document with a Role or RoleBinding is not YAML.
    """
    signs = [sign for rule in _rules(evidence) for sign in rule(evidence)]
    signs = roles.with_writers(evidence, signs)
    first: dict[ItemKey, Sign] = {}
    for sign in sorted(signs, key=lambda sign: not sign.is_write):
        first.setdefault(sign.target.key, sign)
    return first


__all__ = ["Evidence", "Sign", "find_signs"]
