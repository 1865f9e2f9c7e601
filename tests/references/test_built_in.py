"""The registry of the modules with reference rules."""

from __future__ import annotations

import pkgutil

import postrender.references
from postrender.references import BUILT_IN, rules_in


def test_the_registry_lists_every_kind_with_rules() -> None:
    modules = {module.name for module in pkgutil.iter_modules(postrender.references.__path__)}
    others = {"catalogue", "custom", "embedded", "pods", "rule"}
    assert set(BUILT_IN.values()) == modules - others
    kinds = {
        (rule.group, rule.kind): module for module in modules - others for rule in rules_in(module)
    }
    assert kinds == BUILT_IN
