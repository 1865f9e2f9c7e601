"""The kinds of workloads in a comparison: WORKLOAD_KINDS, and custom kinds.

A custom kind counts as a workload if postrender.references.catalogue has the location of its pod
template. For a custom kind, the catalogue also decides the effect of a new pod template.
"""

from __future__ import annotations

from functools import cache

from postrender.diff.model import NEXT_RUN, ROLLS, STAYS
from postrender.inventory.model import Item
from postrender.kubernetes.kinds import WORKLOAD_KINDS, GroupKind, is_built_in
from postrender.yaml.paths import Json, Path, PatternTree, matches_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.references.catalogue.model import Template


@cache
def template_path(group_kind: GroupKind) -> tuple[str, ...] | None:
    """Return a pattern for the paths of a kind's pod templates, None if the kind is not a workload.

    The pattern of a Pod is ().
    """
    template = _custom_template(group_kind)
    if template:
        return template.path
    workload = WORKLOAD_KINDS.get(group_kind)
    return workload.template if workload else None


@cache
def template_pattern(group_kind: GroupKind) -> PatternTree | None:
    """Return the tree of template_path(), None for a Pod or a kind without pod templates."""
    path = template_path(group_kind)
    if not path:
        return None
    tree = PatternTree()
    tree.add(path, None)
    return tree


def custom_effect(group_kind: GroupKind, data: dict[str, Json]) -> str:
    """Return the effect of a new pod template on an object of a custom kind.

    The result is NEXT_RUN, ROLLS or STAYS. The result is "" for any other kind, and for a kind
    without a pod template in the catalogue.
    """
    template = _custom_template(group_kind)
    if template is None:
        return ""
    if template.is_scheduled:
        return NEXT_RUN
    return ROLLS if template.rolls_if is None or template.rolls_if(data) else STAYS


def is_in_custom_template(item: Item, path: Path) -> bool:
    """Return whether a path of the document is in the pod template of a custom kind."""
    template = _custom_template(item.identity.group_kind)
    if template is None:
        return False
    inner = path[len(item.path) :]
    return len(inner) > len(template.path) and matches_start(inner, template.path)


@cache
def _custom_template(group_kind: GroupKind) -> Template | None:
    """Return the pod template of a custom kind in the catalogue, None for any other kind."""
    if group_kind in WORKLOAD_KINDS or is_built_in(group_kind[0]):
        return None
    # Import the catalogue only here, because most manifests do not have custom kinds.
    from postrender.references.catalogue import entry_of

    entry = entry_of(group_kind)
    return entry.template if entry else None
