"""Findings about the output: what can go wrong when it is applied, or for the pods that run then.

Each finding has a `find_` function here, which `build` calls. The findings `by-name`, `empty`,
`stale-revision` and others about a single decision are in `strategy`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from postrender.config.settings import CHECKSUM, RENAME
from postrender.errors import HOOK_ON_HELM_3, NEVER_DELETED, Finding, Location
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey
from postrender.krm.input import parsed_list
from postrender.kubernetes.annotations import KEEP_ORIGINAL_ANNOTATION, STRATEGY_ANNOTATION
from postrender.kubernetes.attach_groups import SUFFIX, inventory_name
from postrender.kubernetes.kinds import SECRET
from postrender.plan.attacher_job import AttachGroup, lasting_objects, release_owner_of
from postrender.plan.by_name.mentions import Mention, Sign
from postrender.plan.history import PreviousOwners
from postrender.plan.links import Link
from postrender.plan.model import PlanContext
from postrender.plan.strategy import StrategyDecision, is_helm_hook
from postrender.references.rule import SELECTOR
from postrender.text import HOST, PATH, conjoined, shown, words_of

# The most names that a finding lists.
_MAX_LISTED = 3


def planned_owners(context: PlanContext, groups: Sequence[AttachGroup]) -> PreviousOwners:
    """The owners of revisions, from the new attachers. The field `secrets` is empty."""
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
    """A finding for each revision of the output that would lose all of its owners.

    The owners of a revision include workloads, their ReplicaSets and the release owner. The tool
    that applies the output deletes the owners that the output lacks. Kubernetes then deletes a
    revision that has lost all owners.
    """
    lost_owners = find_lost_owners(context, lasting_titles(context, groups), owners)
    for (kind, name), deleted in lost_owners.items():
        yield Finding(
            code="last-owner",
            problem=f"an apply of this output deletes all owners of {kind}/{name} "
            f"({', '.join(deleted)}). Kubernetes then deletes the {kind}, although the "
            f"output contains the {kind}",
            fix=f"{_keep_release_owner(deleted)}. Alternatively, keep the deleted workload with 0 "
            "replicas for one more release",
            location=Location(context.inventory.stream.source),
        )


def _keep_release_owner(deleted: Sequence[str]) -> str:
    """The first part of the fix, which explains how to keep a release owner.

    The name of a Role is the name of the attach group. A ServiceAccount can have another name.
    """
    for title in deleted:
        kind, _, name = title.partition("/")
        group = name.removesuffix(SUFFIX)
        if kind == "Role":
            return f"To keep {title}, enable the attacher, and pass --group {group}"
        if kind == "ConfigMap":
            group = name.removesuffix(inventory_name(SUFFIX))
            return f"To keep {title}, set attacher.mode to external, and pass --group {group}"
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
    """The objects of the new attachers that can be a release owner, as `Kind/name`."""
    settings = context.settings.attacher
    if not settings.is_enabled:
        return frozenset()
    return frozenset(title for group in groups for title in lasting_objects(settings, group))


def find_lost_owners(
    context: PlanContext, lasting: Iterable[str], owners: PreviousOwners
) -> dict[tuple[str, str], tuple[str, ...]]:
    """The revisions that lose all owners, by kind and name, with these owners.

    The result is empty if a previous release owner is also an object of a new attacher.
    lasting: the objects of the new attachers that can be a release owner, as `Kind/name`.
    """
    lost: dict[tuple[str, str], tuple[str, ...]] = {}
    if not owners.workloads or not owners.release_owners.isdisjoint(lasting):
        return lost
    kinds: dict[str, str] = {}
    for decision in context.decisions.values():
        kind = decision.item.identity.kind
        kinds.setdefault(f"{kind.lower()}/{context.revision_of(decision.item)}", kind)
    refs = {ref: kinds.get(ref, "") for ref in owners.workloads}
    present = _in_stream(
        context, {title for ref in refs if refs[ref] for title in owners.workloads[ref]}
    )
    for ref, kind in refs.items():
        workloads = owners.workloads[ref]
        if kind and present.isdisjoint(workloads):
            deleted = dict.fromkeys((*workloads, *sorted(owners.release_owners)))
            lost[kind, ref.partition("/")[2]] = tuple(deleted)
    return lost


def _in_stream(context: PlanContext, workloads: AbstractSet[str]) -> AbstractSet[str]:
    """Those of the workloads, as `Kind/name`, that the stream has.

    In an unexamined document, the function searches the text for the kind and the field `name`.
    """
    items = context.inventory.items
    found = workloads & {str(item.identity) for item in items}
    kinds = {workload.partition("/")[0] for workload in workloads - found}
    examined = {item.document for item in items}
    for index, text in enumerate(context.inventory.stream.texts if kinds else ()):
        if index not in examined:
            in_text = [kind for kind in kinds if f"kind: {kind}" in text]
            names = _names_in(text) if in_text else ()
            found |= workloads & {f"{kind}/{name}" for kind in in_text for name in names}
    return found


def _names_in(text: str) -> set[str]:
    parts = (line.partition("name:")[2] for line in text.splitlines() if "name:" in line)
    return {name for part in parts for name in words_of(part)[:1]}


def find_helm_3_hooks(
    inventory: Inventory, decisions: Sequence[StrategyDecision], signs: Mapping[ItemKey, Sign]
) -> Iterator[Finding]:
    """A finding for each original that a hook reads, but that the output lacks under Helm 3.

    postrender never rewrites a hook, and keeps the original that a hook references. Helm 4, Argo CD
    and a pipe from `helm template` pass hooks to postrender, but Helm 3 does not. The pod of the
    hook then waits for an object that does not exist.
    decisions: the decisions after apply_signs.
    """
    if inventory.is_from_helm_4 or parsed_list(inventory.stream) is not None:  # kustomize, kpt
        return
    for decision in decisions:
        item, hook = decision.item, decision.helm_hook
        if decision.strategy == RENAME and hook:
            sign = None if decision.is_keep_decided else signs.get(item.key)
            if sign is None or is_helm_hook(sign.source):
                yield _lost_original(inventory, item, hook)


def _lost_original(inventory: Inventory, item: Item, hook: Item) -> Finding:
    reason = f"Helm 3 does not pass the hook {hook.identity} to postrender"
    return Finding(
        code=HOOK_ON_HELM_3,
        reason=reason,
        problem=f"{reason}. With Helm 3, the output therefore lacks the original {item.identity}, "
        "which the hook reads",
        fix=f'If you use Helm 3, add the annotation {KEEP_ORIGINAL_ANNOTATION}: "true" to '
        f"{item.identity}",
        location=inventory.location_of(item),
    )


def find_never_deleted(context: PlanContext) -> Iterator[Finding]:
    """A note if nothing deletes the revisions of this output after their last use."""
    settings = context.settings
    if context.names and not (settings.attacher.is_enabled or settings.history.previous):
        yield Finding(
            code=NEVER_DELETED,
            problem="the attacher is off and --previous is not set, so old revisions stay in the "
            "cluster, also after their last use",
            fix="To delete them, enable the attacher, or pass the previous output with --previous",
            location=Location(context.inventory.stream.source),
        )


def find_unkeyed(context: PlanContext) -> Iterator[Finding]:
    """A note if the revisions of Secrets have names without a hash key."""
    items = [context.decisions[key].item for key in context.names]
    secrets = [item for item in items if item.identity.group_kind == SECRET]
    if secrets and not context.settings.hash_key:
        yield Finding(
            code="no-hash-key",
            problem=f"the names of the revisions of {_listed(secrets)} have hashes without a key, "
            "so anybody who sees a name can check a guess of a short password",
            fix="Create a key with `openssl rand -hex 32`, and set secretsHashKeyFile or the "
            "variable POSTRENDER_SECRETS_HASH_KEY",
            location=context.inventory.location_of(secrets[0]),
        )


def find_overwritten(context: PlanContext) -> Iterator[Finding]:
    """A note if workloads use objects with the strategy checksum.

    These objects keep their name, so old pods can read new content.
    """
    unrenamed = {
        key: decision.item
        for key, decision in context.decisions.items()
        if decision.strategy == CHECKSUM
    }
    used = {
        target.key
        for item in (context.inventory.items if unrenamed else ())
        if item.is_rewritable
        for target in context.targets(item)
    }
    items = [item for key, item in unrenamed.items() if key in used]
    if items:
        yield Finding(
            code="checksum",
            problem="with the strategy checksum, a restarted old pod reads the new content of "
            f"{_listed(items)}",
            fix="If old pods need the old content, use the strategy rename",
            location=context.inventory.location_of(items[0]),
        )


def _listed(items: Sequence[Item]) -> str:
    return conjoined([str(item.identity) for item in items], _MAX_LISTED)


def find_selectors(context: PlanContext, *, is_history_known: bool) -> Iterator[Finding]:
    """A finding for each selector that does not select all revisions that pods use.

    postrender adds the new revision, and with --previous the retained ones, unless the field can
    contain only one name, the object has opted out, or postrender does not know the kind.
    """
    for links in context.links.values():
        for link in links:
            if link.reference.rule.family == SELECTOR and link.target.key in context.names:
                if not link.is_rewritten:
                    yield _unselected(context, link)
                elif link.reference.rule.deletes_unselected and not is_history_known:
                    yield _dropped(context, link)


def _unselected(context: PlanContext, link: Link) -> Finding:
    source, target = link.source.identity, link.target.identity
    return Finding(
        code="selector",
        problem=f"{source} selects {target} by name, but does not select the revision "
        f"{context.names[link.target.key]}, which pods use",
        fix=f"Select {target} by a label, or add the annotation {STRATEGY_ANNOTATION}: ignore to "
        f"{target}",
        strict=True,
        location=context.inventory.location_of_reference(link.source, link.reference),
    )


def _dropped(context: PlanContext, link: Link) -> Finding:
    source, target = link.source.identity, link.target.identity
    return Finding(
        code="selector",
        problem=f"{source} selects {target} by name, so the next output does not select the "
        f"revision {context.names[link.target.key]}. The controller of {source.kind} then deletes "
        "the copies of this revision, although old pods use the copies",
        fix=f"Select {target} by a label. Otherwise, pass the previous output with --previous, or "
        f"add the annotation {STRATEGY_ANNOTATION}: ignore to {target}",
        strict=True,
        location=context.inventory.location_of_reference(link.source, link.reference),
    )


def find_leftovers(context: PlanContext) -> Iterator[Finding]:
    """A finding for each mention of an object that the output lacks by that name."""
    if not context.mentions:
        return
    kept = context.kept_keys(
        target.base_name for mention in context.mentions for target in mention.targets
    )
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
    """Whether a mention most likely means a host, a path, a program or another object."""
    if mention.name in fixed_names or mention.is_program:
        return True
    return mention.forms <= {HOST, PATH}


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
