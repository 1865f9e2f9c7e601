"""Uses that break because the using object itself changes, for the rule broken_reference."""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.kinds import pod_templates_of
from postrender.diff.model import Risk
from postrender.diff.risks.facts import Facts, Object
from postrender.kubernetes.kinds import Identity
from postrender.kubernetes.uses import Use, uses_of
from postrender.yaml.paths import mapping_at, nested_mappings, value_at


def find_changed_uses(facts: Facts) -> Iterator[tuple[Object, Use]]:
    """The objects with a use whose target is not where, or of the kind that, they now name."""
    yield from _left_behind(facts)
    yield from _of_another_kind(facts)


def _left_behind(facts: Facts) -> Iterator[tuple[Object, Use]]:
    """The uses of moved objects whose target is only in the namespace that they leave."""
    key_of = facts.both.resolver.key_of
    moved = [
        (old, new, list(uses_of(new.identity, new.data, templates)))
        for old, new in facts.moved()
        for templates in [pod_templates_of(new.identity.group_kind, new.data)]
    ]
    words = {use.name for _, _, uses in moved for use in uses}
    if not words:
        return
    before, after = (
        {key_of(one.identity) for one in side.objects}
        | {key_of(one.identity) for one in facts.objects((), is_new=is_new, words=words)}
        for side, is_new in ((facts.both.old, False), (facts.both.new, True))
    )
    for old, new, uses in moved:
        for use in {use[:2]: use for use in uses}.values():
            name = facts.both.names.of_all.get(use.name, use.name)
            target = Identity(*use.group_kind, use.namespace, name)
            there = key_of(target._replace(namespace=old.identity.namespace))
            is_own = use.namespace == new.identity.namespace
            if is_own and there in before and key_of(target) not in after:
                fact = f"{target.kind}/{name} is not in the namespace {use.namespace}"
                yield new, use._replace(key="", fact=fact)


def _of_another_kind(facts: Facts) -> Iterator[tuple[Object, Use]]:
    """The uses that keep a name, and change the kind from one that is there to one that is not."""
    changed = []
    for pair in facts.changes:
        if pair.both:
            before, after = (
                {
                    (use.path, use.name): use
                    for use in uses_of(pair.identity, one.data, (), pair.parts)
                    if not use.key
                }
                for one in pair.both
            )
            changed += [
                (Object(pair.identity, pair.both[1].data), before[key], use)
                for key, use in after.items()
                if key in before and before[key].group_kind != use.group_kind
            ]
    kinds = {use.group_kind[1] for _, *uses in changed for use in uses}
    words = {use.name for _, _, use in changed}
    key_of = facts.both.resolver.key_of
    there = {
        key_of(one.identity)
        for one in (facts.objects(kinds, is_new=True, words=words) if changed else ())
    }
    for item, *uses in changed:
        old, new = (key_of(Identity(*use.group_kind, use.namespace, use.name)) for use in uses)
        if old in there and new not in there:
            names = [f"{use.group_kind[1]}/{use.name}" for use in uses]
            fact = f"{names[1]} is not in the new input, and {names[0]} is"
            yield item, uses[1]._replace(fact=fact)


def find_lost_labels(facts: Facts) -> Iterator[Risk]:
    """The labels and annotations that a template loses, and that its variables or files read."""
    for pair in facts.changes:
        old, new = pair.both or (None, None)
        for start, template in (
            pod_templates_of(pair.identity.group_kind, new.data) if old and new else ()
        ):
            lost = {
                f"metadata.{field}['{name}']": f"{field[:-1]} {name}"
                for field in ("labels", "annotations")
                for path in [("metadata", field)]
                for name in mapping_at(old and old.data, (*start, *path))
                if name not in mapping_at(template, path)
            }
            spec = value_at(template, ("spec",)) if lost else None
            for path, around in nested_mappings(spec) if spec else ():
                label = lost.get(str(around.get("fieldPath")))
                is_variable = path[-2:-1] == ("valueFrom",)
                reader = value_at(spec, path[:-2] if is_variable else path[:-1])
                if label and isinstance(reader, dict):
                    name = reader.get("name" if is_variable else "path")
                    noun = "variable" if is_variable else "file"
                    fact = f"the {noun} {name} reads the {label}, which is missing now"
                    yield Risk(pair.identity, fact, f"The {noun} is empty in new pods")
