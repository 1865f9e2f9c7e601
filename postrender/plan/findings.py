"""Findings about revisions of the new output that would lose all of their owners.

The owners of a revision include workloads, their ReplicaSets and the release owner. The tool that
applies the new output deletes the owners that the output lacks. Kubernetes then deletes a revision
that has lost all owners. postrender reads the previous owners from the arguments of the previous
attachers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from postrender.errors import Finding, Location
from postrender.inventory.prefilter import root_kind
from postrender.kubernetes.annotations import GROUP_LABEL
from postrender.plan.attacher_job import AttachGroup, lasting_objects, release_owner_of
from postrender.plan.group_names import SUFFIX
from postrender.plan.history import Previous, PreviousOwners
from postrender.plan.model import PlanContext
from postrender.records import NamedTuple
from postrender.startup.patterns import pattern
from postrender.text.words import words_of
from postrender.yaml.stream import Source, read_streams

_WORKLOAD = pattern(r"\b([A-Z][A-Za-z]+)/([a-z0-9.-]+)@[0-9a-f]{10}=([a-z0-9.,/-]+)")
_RELEASE_OWNER = pattern(r"--release-owner[\s\"',-]+((?:ServiceAccount|Role)/[a-z0-9.-]+)")
_SECRET = pattern(r"[=,\s]secret/([a-z0-9.-]+)")


class LostOwners(NamedTuple):
    """A revision of the new output that loses all of its owners.

    kind: the kind of the revision, such as `ConfigMap`.
    name: the name of the revision.
    owners: the owners that the apply deletes, as `Kind/name`.
    """

    kind: str
    name: str
    owners: tuple[str, ...]


def read_previous_owners(previous: Previous) -> PreviousOwners:
    """Return the owners of revisions, from the arguments of the previous attachers.

    The workloads and release owners are from the newest manifest and from the hooks. The names of
    Secrets are from all manifests and hooks.
    """
    owners = read_owners(
        source.data.decode(errors="replace")
        for manifest in (*previous.manifests[-1:], *previous.hooks)
        for source in manifest.sources
    )
    secrets = [
        name
        for manifest in (*previous.manifests, *previous.hooks)
        for source in manifest.sources
        if b"secret/" in source.data
        for name in _secrets_in(source)
    ]
    return owners._replace(secrets=frozenset(secrets))


def _secrets_in(source: Source) -> Iterator[str]:
    """Return the names of Secrets' revisions in the arguments of attachers."""
    for document in read_streams([source], source.name).documents:
        if GROUP_LABEL in document.text and root_kind(document.text) == "Job":
            yield from _SECRET.findall(document.text)


def read_owners(texts: Iterable[str]) -> PreviousOwners:
    """Return the owners of revisions, from the attachers in some texts. `secrets` is empty.

    texts: the texts of outputs of postrender.
    """
    workloads: dict[str, list[str]] = {}
    release_owners: set[str] = set()
    for text in texts:
        release_owners.update(_RELEASE_OWNER.findall(text))
        for kind, name, refs in _WORKLOAD.findall(text):
            for ref in refs.split(","):
                workloads.setdefault(ref, []).append(f"{kind}/{name}")
    return PreviousOwners(workloads, frozenset(release_owners))


def planned_owners(context: PlanContext, groups: Sequence[AttachGroup]) -> PreviousOwners:
    """Return the owners of revisions, from the new attachers. The field `secrets` is empty.

    If the attacher is off, all fields are empty.
    """
    settings = context.settings.attacher
    if not settings.is_enabled:
        return PreviousOwners()
    workloads: dict[str, list[str]] = {}
    for group in groups:
        for workload in group.workloads:
            for kind, name in workload.names:
                workloads.setdefault(f"{kind}/{name}", []).append(str(workload.identity))
    release_owners = {release_owner_of(settings, group) for group in groups} - {""}
    return PreviousOwners(workloads, frozenset(release_owners))


def find_last_owners(
    context: PlanContext, groups: Sequence[AttachGroup], owners: PreviousOwners
) -> Iterator[Finding]:
    """Return a finding for each revision of the output that would lose all of its owners."""
    for lost in find_lost_owners(context, lasting_titles(context, groups), owners):
        yield Finding(
            code="last-owner",
            problem=f"an apply of this output deletes all owners of {lost.kind}/{lost.name} "
            f"({', '.join(lost.owners)}). Kubernetes then deletes the {lost.kind}, although the "
            f"output contains the {lost.kind}",
            fix=f"{_keep_release_owner(lost)}. Alternatively, keep the deleted workload with 0 "
            "replicas for one more release",
            location=Location(context.inventory.stream.source),
        )


def _keep_release_owner(lost: LostOwners) -> str:
    """Return the first part of the fix, which explains how to keep a release owner.

    The name of a Role is the name of the attach group. A ServiceAccount can have another name.
    """
    for title in lost.owners:
        kind, _, name = title.partition("/")
        group = name.removesuffix(SUFFIX)
        if kind == "Role":
            return f"To keep {title}, enable the attacher, and pass --group {group}"
        if kind == "ServiceAccount":
            return (
                f"To keep {title}, enable the attacher. Then pass --group {group}, or set "
                f"attacher.serviceAccount.name to {name}"
            )
    return (
        "In one release, set attacher.serviceAccount.name, and do not set "
        "attacher.serviceAccount.create to false. Remove the owners in a later release"
    )


def lasting_titles(context: PlanContext, groups: Sequence[AttachGroup]) -> frozenset[str]:
    """Return the objects of the new attachers that can be a release owner, as `Kind/name`.

    The result is empty if the attacher is off.
    """
    settings = context.settings.attacher
    if not settings.is_enabled:
        return frozenset()
    return frozenset(title for group in groups for title in lasting_objects(settings, group))


def find_lost_owners(
    context: PlanContext, lasting: Iterable[str], owners: PreviousOwners
) -> Iterator[LostOwners]:
    """Return each revision of the new output that would lose all of its owners.

    The function does not yield revisions if a release owner is also an object of a new attacher.
    lasting: the objects of the new attachers that can be a release owner, as `Kind/name`.
    owners: the owners of revisions, from the arguments of the previous attachers.
    """
    if not owners.release_owners.isdisjoint(lasting):
        return
    for ref, workloads in owners.workloads.items():
        kind, _, name = ref.partition("/")
        items = [
            decision.item
            for decision in context.decisions.values()
            if decision.item.identity.kind.lower() == kind
            and context.revision_of(decision.item) == name
        ]
        if items and not any(_is_in_stream(context, workload) for workload in workloads):
            deleted = dict.fromkeys((*workloads, *sorted(owners.release_owners)))
            yield LostOwners(kind=items[0].identity.kind, name=name, owners=tuple(deleted))


def _is_in_stream(context: PlanContext, workload: str) -> bool:
    """Return whether the stream has a workload.

    In an unexamined document, the function searches the text for the kind and the field `name`.
    """
    kind, _, name = workload.partition("/")
    if any(
        (item.identity.kind, item.identity.name) == (kind, name) for item in context.inventory.items
    ):
        return True
    examined = {item.document for item in context.inventory.items}
    return any(
        f"kind: {kind}" in document.text and _has_name(document.text, name)
        for index, document in enumerate(context.inventory.stream.documents)
        if index not in examined
    )


def _has_name(text: str, name: str) -> bool:
    """Return whether a text has a field `name` with this value."""
    lines = (line for line in text.splitlines() if name in line)
    return any(words_of(line.partition("name:")[2])[:1] == [name] for line in lines)
