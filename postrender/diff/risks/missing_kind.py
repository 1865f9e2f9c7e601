"""A CustomResourceDefinition no longer serves the version of an object.

The apply of the object fails: `no matches for kind`.

Source: the discovery of the API server, which Helm, kubectl and Argo CD ask before an apply.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import Risk
from postrender.diff.risks.data_loss import is_kept
from postrender.diff.risks.facts import Facts, Object
from postrender.kubernetes.kinds import CRD, GroupKind, Identity
from postrender.yaml.paths import Json, mapping_at, mappings_in, value_at

_CONSEQUENCE = "The apply of the object fails"


def find(facts: Facts) -> Iterator[Risk]:
    lost: dict[GroupKind, tuple[Identity, set[str]]] = {}
    for pair in facts.changes:
        if pair.identity.kind == CRD and pair.old:
            old, new = pair.old.data, pair.new.data if pair.new else {}
            if not (pair.new is None and is_kept(Object(pair.identity, old))):
                spec = mapping_at(old, ("spec",))
                group_kind = str(spec.get("group")), str(value_at(spec, ("names", "kind")))
                lost[group_kind] = pair.identity, _served(old) - _served(new)
    lost = {kind: one for kind, one in lost.items() if one[1]}
    words = [kind for _, kind in lost]
    for item in facts.objects((), is_new=True, words=words) if lost else ():
        definition, versions = lost.get(item.identity.group_kind, (None, ()))
        version = str(item.data.get("apiVersion")).rpartition("/")[2]
        if definition and version in versions:
            fact = f"{definition} does not serve the version {version} any longer"
            yield Risk(item.identity, fact, _CONSEQUENCE, "apiVersion")


def _served(definition: dict[str, Json]) -> set[str]:
    versions = mappings_in(value_at(definition, ("spec", "versions")))
    return {str(version.get("name")) for version in versions if version.get("served") is not False}
