"""The revisions of the newer side that lose all owners. Kubernetes deletes these revisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from postrender.config.settings import Settings
from postrender.diff.side import is_rendered
from postrender.inventory.build import take_inventory
from postrender.plan.build import Plan, make_plan
from postrender.plan.findings import find_lost_owners, lasting_titles, planned_owners, read_owners
from postrender.plan.history import NO_HISTORY, History, PreviousOwners
from postrender.yaml.stream import Stream

# The kind and the name of a revision, such as `ConfigMap` and `web-config-4h2mbtbbt6`.
RevisionTitle = tuple[str, str]


def lost_owners(
    old: Stream, new: Stream, settings: Settings, history: History
) -> Mapping[RevisionTitle, tuple[str, ...]]:
    """Return the deleted owners, by kind and name of each revision that loses all owners.

    If the older side is an output of postrender, the arguments of its attachers contain the owners.
    If the older side is an input, a plan decides the owners.
    history: the earlier outputs of postrender, for the plan of the newer side.
    """
    owners = _owners(old, settings)
    if not owners.workloads:
        return {}
    plan = _plan(new, settings, history)
    if plan.context is None:
        return {}
    if is_rendered(new):
        lasting = read_owners(_texts(new)).release_owners
        if not lasting and not is_rendered(old):
            # Only a plan decided the owners of the older side. Because the newer side is an output
            # without a release owner, the cluster probably does not have these owners.
            return {}
    else:
        lasting = lasting_titles(plan.context, plan.groups)
    return {
        (lost.kind, lost.name): lost.owners
        for lost in find_lost_owners(plan.context, lasting, owners)
    }


def _owners(stream: Stream, settings: Settings) -> PreviousOwners:
    if is_rendered(stream):
        return read_owners(_texts(stream))
    plan = _plan(stream, settings)
    return planned_owners(plan.context, plan.groups) if plan.context else PreviousOwners()


def _plan(stream: Stream, settings: Settings, history: History = NO_HISTORY) -> Plan:
    return make_plan(take_inventory(stream, settings), settings, history)


def _texts(stream: Stream) -> Iterator[str]:
    return (document.text for document in stream.documents)
