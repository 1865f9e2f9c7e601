"""The risks of a change: what it can break or lose.

Each module here that has a function `find` is a rule. The name of the module is the code of its
risks, and the docstring of the module is the documentation of the rule.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module

from postrender.diff.model import Risk
from postrender.diff.pairs import sort_key
from postrender.diff.risks.facts import Facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


# What hurts most comes first: lost data, and pods that stop or cannot restart.
_FIRST = ("data-loss", "pods-stop", "deleted-original", "moved-object")


def importance(risk: Risk) -> tuple[int, str]:
    """What sorts risks."""
    return (_FIRST.index(risk.code) if risk.code in _FIRST else len(_FIRST)), risk.code


def rules() -> Iterator[tuple[str, ModuleType]]:
    """Every rule with its code, in the order of the codes."""
    files = sorted(name for name in os.listdir(__path__[0]) if name.endswith(".py"))
    for name in (file.removesuffix(".py") for file in files if file != "__init__.py"):
        module = import_module(f"{__name__}.{name}")
        if hasattr(module, "find"):
            yield name.replace("_", "-"), module


def find_risks(facts: Facts, *, rejected: bool) -> tuple[Risk, ...]:
    """The risks that the rules find, in the order of the rules and of the objects.

    rejected: whether to run the rules about objects that the API server rejects, or all others,
        which need the effects on workloads.
    """
    return tuple(
        risk._replace(code=code)
        for code, module in rules()
        if getattr(module, "REJECTS", False) == rejected
        for risk in sorted(module.find(facts), key=lambda risk: sort_key(risk.identity))
    )
