"""Leftovers: strings that still contain the base name of a renamed object.

A leftover is a mention (see the module `mentions`) of an object whose original is not in the
output. A mention that most likely means a host, a file path, a program or another object is not a
leftover.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from postrender.errors import Finding
from postrender.inventory.model import Item
from postrender.kubernetes.annotations import KEEP_ORIGINAL_ANNOTATION
from postrender.plan.by_name.mentions import Mention
from postrender.plan.model import PlanContext
from postrender.text.occurrences import HOST, PATH, forms_of
from postrender.text.shown import shown


def find_leftovers(context: PlanContext) -> Iterator[Finding]:
    """Return a finding for each leftover."""
    kept = context.kept_keys
    fixed_names = context.inventory.fixed_names
    for mention in context.mentions:
        targets = [
            target
            for target in mention.targets
            if context.revision_of(target)
            and context.resolver.certain_key_of(target.identity, target.base_name) not in kept
        ]
        if targets and not _has_other_meaning(mention, fixed_names):
            yield _leftover(context, mention, targets[0])


def _has_other_meaning(mention: Mention, fixed_names: AbstractSet[str]) -> bool:
    """Return whether a mention most likely does not mean the ConfigMap or Secret.

    fixed_names: the names of objects that postrender never renames, such as Services.
    """
    if mention.name in fixed_names or mention.is_program:
        return True
    return forms_of(mention.text, mention.name) <= {HOST, PATH}


def _leftover(context: PlanContext, mention: Mention, target: Item) -> Finding:
    item, name = mention.item, mention.name
    verb = "is" if mention.text == name else "contains"
    kind = target.identity.kind
    return Finding(
        code="leftover",
        problem=f"the value {verb} {shown(name)}, but the output contains {kind}/{name} only under "
        "another name",
        fix=f"If a program reads the {kind} by the name {name}, add the annotation "
        f'{KEEP_ORIGINAL_ANNOTATION}: "true" to the {kind}. Otherwise, add the path of the '
        "value to leftovers.ignore in postrender.yaml",
        strict=target.is_revision and target.key in context.read_by_name,
        location=context.inventory.location_of(item, (*item.path, *mention.path), mention.line),
    )
