"""A reference of a route or Gateway to another namespace loses its ReferenceGrant.

Source: ReferenceGrant in Gateway API 1.4.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import Risk
from postrender.diff.risks import Facts, Object
from postrender.kubernetes.kinds import GroupKind
from postrender.kubernetes.parts import ROUTES
from postrender.records import grouped
from postrender.yaml.paths import Json, Path, format_path, mappings_in, nested_mappings, value_at

_GRANT = "ReferenceGrant"
_DEFAULTS = {"Gateway": "Secret", **dict.fromkeys(ROUTES, "Service")}
_FAILS = "The Gateway does not follow the reference, unless another ReferenceGrant allows it"


def find(facts: Facts) -> Iterator[Risk]:
    lost = [pair for pair in facts.changes if pair.old and pair.identity.kind == _GRANT]
    namespace_of = facts.both.resolver.namespace_of
    words = {space for pair in lost if (space := namespace_of(pair.identity.namespace))}
    if not words:
        return
    before, after = (
        grouped(
            facts.objects((_GRANT,), is_new=is_new, words=words),
            lambda grant: namespace_of(grant.identity.namespace),
        )
        for is_new in (False, True)
    )
    for item in facts.objects(_DEFAULTS, is_new=True, words=words):
        space = namespace_of(item.identity.namespace)
        for path, target, namespace, name in _references(item):
            source = (*item.identity.group_kind, space)
            allowed = [
                any(
                    _allows(grant.data, source, target, name) for grant in grants.get(namespace, ())
                )
                for grants in (before, after)
            ]
            if namespace != space and allowed == [True, False]:
                fact = f"no {_GRANT} of {namespace} allows {target[1]}/{name} any longer"
                yield Risk(item.identity, fact, _FAILS, format_path(path))


def _references(item: Object) -> Iterator[tuple[Path, GroupKind, str, str]]:
    """The references with a namespace. Those to a parent need no grant."""
    for path, around in nested_mappings(item.data.get("spec"), ("spec",)):
        name, namespace = around.get("name"), around.get("namespace")
        if isinstance(name, str) and isinstance(namespace, str) and "parentRefs" not in path:
            kind = str(around.get("kind") or _DEFAULTS[item.identity.kind])
            yield path, (str(around.get("group") or ""), kind), namespace, name


def _allows(
    grant: dict[str, Json], source: tuple[str, str, str | None], target: GroupKind, name: str
) -> bool:
    sources, targets = (mappings_in(value_at(grant, ("spec", end))) for end in ("from", "to"))
    is_source = any(
        (one.get("group"), one.get("kind"), one.get("namespace")) == source for one in sources
    )
    return is_source and any(
        (one.get("group") or "", one.get("kind")) == target and one.get("name") in (None, "", name)
        for one in targets
    )
