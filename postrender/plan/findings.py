"""Findings about revisions of the new output that would lose all of their owners.

The owners of a revision include workloads, their ReplicaSets and the release owner. The tool that
applies the new output deletes the owners that the output lacks. Kubernetes then deletes a revision
that has lost all owners. postrender reads the previous owners from the arguments of the previous
attachers.

Findings about originals that a hook reads, but that the output lacks under Helm 3.

postrender never rewrites a hook. If a hook in the stream references an object that postrender
renames, the original stays in the output next to its revision. Helm 4, Argo CD and a pipe from
`helm template` pass hooks to postrender. Helm 3 does not pass hooks, so the output lacks the
original. The pod of the hook then waits for an object that does not exist.

Findings about old pods that can lose the old content of their ConfigMaps and Secrets.

Leftovers: strings that still contain the base name of a renamed object.

A leftover is a mention (see the module `mentions`) of an object whose original is not in the
output. A mention that most likely means a host, a file path, a program or another object is not a
leftover.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from postrender.config.settings import CHECKSUM, RENAME
from postrender.errors import HOOK_ON_HELM_3, UNPROTECTED, Finding, Location
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey
from postrender.inventory.prefilter import root_kind
from postrender.krm.resource_list import is_resource_list
from postrender.kubernetes.annotations import (
    GROUP_LABEL,
    KEEP_ORIGINAL_ANNOTATION,
)
from postrender.kubernetes.hashing import RENDER_ID_LENGTH
from postrender.plan.attacher_job import AttachGroup, lasting_objects, release_owner_of
from postrender.plan.by_name.mentions import Mention
from postrender.plan.groups import SUFFIX
from postrender.plan.history import Previous, PreviousOwners
from postrender.plan.model import PlanContext
from postrender.plan.strategy import StrategyDecision, is_helm_hook
from postrender.records import NamedTuple
from postrender.text import HOST, PATH, forms_of, shown, words_of
from postrender.yaml.stream import Source, read_streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.plan.by_name.signs import Sign

_WORKLOAD = re.compile(
    rf"\b([A-Z][A-Za-z]+)/([a-z0-9.-]+)@[0-9a-f]{{{RENDER_ID_LENGTH}}}=([a-z0-9.,/-]+)"
)
_RELEASE_OWNER = re.compile(r"--release-owner[\s\"',-]+((?:ServiceAccount|Role)/[a-z0-9.-]+)")
_SECRET = re.compile(r"[=,\s]secret/([a-z0-9.-]+)")


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


def find_helm_3_hooks(
    inventory: Inventory, decisions: Sequence[StrategyDecision], signs: Mapping[ItemKey, Sign]
) -> Iterator[Finding]:
    """Return a finding for each original that postrender would not keep under Helm 3.

    decisions: the decisions after apply_signs.
    """
    if inventory.is_from_helm_4 or is_resource_list(inventory.stream):  # kustomize and kpt
        return
    for decision in decisions:
        item, hook = decision.item, decision.helm_hook
        if decision.strategy == RENAME and hook:
            sign = None if decision.is_keep_decided else signs.get(item.key)
            if sign is None or is_helm_hook(sign.source):
                yield _lost_original(inventory, item, hook)


def _lost_original(inventory: Inventory, item: Item, hook: Item) -> Finding:
    return Finding(
        code=HOOK_ON_HELM_3,
        problem=f"Helm 3 does not pass the hook {hook.identity} to postrender. With Helm 3, the "
        f"output therefore lacks the original {item.identity}, which the hook reads",
        fix=f'If you use Helm 3, add the annotation {KEEP_ORIGINAL_ANNOTATION}: "true" to '
        f"{item.identity}",
        location=inventory.location_of(item),
    )


_MAX_LISTED = 3


def find_unprotected(context: PlanContext) -> Iterator[Finding]:
    """Return a finding if the apply of a later output can delete the revisions of this output.

    Helm, Argo CD and Flux delete these revisions only if the attacher is off and --previous is not
    set. If the attacher is off, the revisions do not have the annotations that prevent the
    deletion. If --previous is not set, the next output lacks the revisions.
    """
    settings = context.settings
    if context.names and not (settings.attacher.is_enabled or settings.history.previous):
        yield Finding(
            code=UNPROTECTED,
            problem="the attacher is off and --previous is not set, so the next release can delete "
            "revisions that old pods still use",
            fix="Enable the attacher, or pass the previous output with --previous",
            location=Location(context.inventory.stream.source),
            strict=True,
        )


def find_overwritten(context: PlanContext) -> Iterator[Finding]:
    """Return a note if workloads use objects with the strategy checksum.

    These objects keep their name, so old pods can read new content.
    """
    used = {
        target.key
        for item in context.inventory.items
        if item.is_rewritable
        for target in context.targets(item)
    }
    items = [
        decision.item
        for key, decision in context.decisions.items()
        if decision.strategy == CHECKSUM and key in used
    ]
    if items:
        yield Finding(
            code="checksum",
            problem="with the strategy checksum, a restarted old pod reads the new content of "
            f"{_listed(items)}",
            fix="If old pods need the old content, use the strategy rename",
            location=context.inventory.location_of(items[0]),
        )


def _listed(items: list[Item]) -> str:
    names = [str(item.identity) for item in items]
    if len(names) > _MAX_LISTED:
        names[_MAX_LISTED:] = [f"{len(names) - _MAX_LISTED} more"]
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def find_leftovers(context: PlanContext) -> Iterator[Finding]:
    """Return a finding for each leftover."""
    kept = context.kept_keys
    fixed_names = context.inventory.fixed_names
    for mention in context.mentions:
        targets = [
            target
            for target in mention.targets
            if context.revision_of(target)
            and context.certain_key_of(target.identity, target.base_name) not in kept
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
