"""References resolved to objects of the stream, and the edits that rewrite these references.

What a reference of a kind of object does (rename, keep, pin) is a property of Link.

Helm and kustomize sort the objects of a stream differently. The attacher Job must not depend on
the tool, because a changed Job runs again. Where an order matters, it is therefore item_order,
which depends only on the identities of the objects.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from postrender.config.settings import NOTHING
from postrender.errors import Finding
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey, Reference
from postrender.kubernetes.hashing import CONTENT_HASH_LENGTH, canonical_json
from postrender.kubernetes.kinds import is_namespaced_workload
from postrender.plan.namespaces import CLUSTER_SCOPED, Candidates, Resolver
from postrender.records import NamedTuple, grouped
from postrender.references.built_in import is_custom
from postrender.references.rule import OUTSIDE, RBAC
from postrender.text import replace_words
from postrender.yaml.edits import AddAfter, Edit, SetScalar, apply_edits
from postrender.yaml.paths import Json, Path, item_path

# From a name in a custom kind, a controller can derive the name of a volume, or a label.
# Both have at most 63 characters. This leaves ten for what the controller adds.
_LONGEST_IN_CUSTOM_KIND, _LONGEST_LABEL = 53, 63
_TOO_LONG = "the controller may need a short name, for a volume or a label"
# In these fields, the controller passes the name on to a pod, which accepts any name.
_PASSED_ON = frozenset(
    {"configMap", "configMapRef", "configMapKeyRef", "secretRef", "secretKeyRef"}
)


class Link(NamedTuple):
    """A reference that resolves to an object.

    name: the name of the target in the reference. If rule.is_word is set, a word of reference.name.
    """

    source: Item
    reference: Reference
    target: Item
    name: str

    @property
    def triggers_rename(self) -> bool:
        rule = self.reference.rule
        return self.is_rewritten and not rule.adds_names and rule.triggers_rename

    @property
    def permits_rename(self) -> bool:
        """Whether the reference is enough for a rename that the user requests."""
        rule = self.reference.rule
        return self.is_rewritten and not rule.adds_names and not rule.is_written

    @property
    def is_rewritten(self) -> bool:
        return self.source.is_rewritable and not self.reference.rule.keep_reason

    @property
    def keeps_base_name(self) -> bool:
        """Whether postrender leaves the reference unchanged, as in a Job, a Pod or a hook.

        False for RBAC references: `by_name.roles` decides whether the original stays.
        """
        return not self.is_rewritten and self.reference.rule.family != RBAC

    @property
    def is_pin(self) -> bool:
        """Whether a person wrote the name of a revision into a pod template.

        If postrender wrote the name, the workload has a render ID. postrender leaves a pin
        unchanged, and a pin is not a reason to rename an object.
        """
        if self.reference.template is None or not self.target.is_revision:
            return False
        return not (self.source.templates and self.source.has_render_id)

    @property
    def is_proof(self) -> bool:
        """Whether an absent namespace certainly means the only explicit namespace.

        A name in a Role or selector is not proof, because postrender keeps the base name there.
        After the rename, the base name can mean an object in another namespace. A reference with a
        keep_reason is not proof, because the referencing object can be cluster-scoped.
        """
        rule, source = self.reference.rule, self.source.identity
        if rule.adds_names or rule.keep_reason or source.kind in CLUSTER_SCOPED:
            return False
        written = self.reference.namespace or source.namespace
        return (written is None) != (self.target.identity.namespace is None)

    @property
    def is_outside_attach(self) -> bool:
        """Whether postrender rewrites the reference, but the attacher does not read it."""
        is_seen = is_namespaced_workload(self.source.identity.group_kind)
        rule = self.reference.rule
        return self.is_rewritten and not rule.adds_names and (rule.family == OUTSIDE or not is_seen)


def find_links(
    inventory: Inventory, resolver: Resolver, candidates: Candidates
) -> tuple[list[Link], list[Finding]]:
    """The links of references to candidates, and a finding for each ambiguous reference.

    A reference has a link for each object that it means. References in attachers do not count.
    """
    links: list[Link] = []
    findings: list[Finding] = []
    for item in inventory.items:
        if item.is_attacher:
            continue
        for reference in item.references:
            for name in reference.names:
                if _may_become_too_long(item, reference, name):
                    rule = reference.rule._replace(keep_reason=_TOO_LONG)
                    reference = reference._replace(rule=rule)
                same_name = candidates.get((reference.rule.target, name))
                if not same_name:
                    continue
                targets = resolver.find(item, reference, same_name)
                if len(targets) > 1:
                    targets = sorted(targets, key=item_order)
                links += [
                    Link(source=item, reference=reference, target=target, name=name)
                    for target in targets
                ]
                if not targets and resolver.is_ambiguous(item, reference, same_name):
                    given = resolver.release_namespace
                    findings.append(_ambiguous_finding(inventory, item, reference, name, given))
    return links, findings


def _may_become_too_long(item: Item, reference: Reference, name: str) -> bool:
    """Whether a controller that works with the base name may not work with a revision name."""
    rule = reference.rule
    return (
        _LONGEST_IN_CUSTOM_KIND - CONTENT_HASH_LENGTH - 1 < len(name) <= _LONGEST_LABEL
        and rule.family == OUTSIDE
        and not (rule.origin or rule.keep_reason or rule.is_written)
        and is_custom(item.identity.group_kind)
        and _PASSED_ON.isdisjoint(map(str, reference.path[-2:-1]))
    )


def _ambiguous_finding(
    inventory: Inventory, item: Item, reference: Reference, name: str, given: str
) -> Finding:
    reason, fix = ambiguity(item, reference, name, given)
    return Finding(
        code="namespace",
        problem=f"postrender does not rewrite the reference to {reference.rule.target[1]}/{name}, "
        f"because {reason}",
        fix=fix,
        location=inventory.location_of_reference(item, reference),
        strict=bool(given),
    )


def ambiguity(item: Item, reference: Reference, name: str, given: str) -> tuple[str, str]:
    """Why a reference is ambiguous, and the fix. given: the namespace from `--namespace`, or ""."""
    reason = f"only one of {item.identity} and {reference.rule.target[1]}/{name} has a namespace"
    if not given:
        return reason, "Set the namespace of the release with --namespace"
    return (
        f"{reason}, which is not {given}",
        "Correct --namespace, or write the namespace into both objects",
    )


def reference_edits(
    links: Iterable[Link],
    names: Mapping[ItemKey, str],
    retained_names: Mapping[ItemKey, Sequence[str]] = NOTHING,
) -> list[Edit]:
    """The edits that rewrite the references of one object.

    names: by target, the new revision name.
    retained_names: by target, the names of retained revisions. Roles and selectors also get these
        names.
    """
    renames: dict[Path, dict[str, list[str]]] = defaultdict(dict)
    references: dict[Path, Reference] = {}
    for link in links:
        if link.is_rewritten and link.target.key in names:
            path = link.reference.path
            references[path] = link.reference
            new_names = renames[path].setdefault(link.name, [])
            new_names.append(names[link.target.key])
            if link.reference.rule.adds_names:
                new_names += retained_names.get(link.target.key, ())
    # The items of each list with references that get names, by the id() of the list.
    existing: dict[int, set[str]] = {}
    return [
        edit for path in references for edit in _edits(references[path], renames[path], existing)
    ]


def _edits(
    reference: Reference, renames: Mapping[str, list[str]], existing: dict[int, set[str]]
) -> list[Edit]:
    if reference.rule.adds_names:
        path = item_path(reference.path)
        if id(reference.items) not in existing:
            existing[id(reference.items)] = set(map(canonical_json, reference.items))
        added: dict[str, Json] = {}
        for name in (name for names in renames.values() for name in names):
            item = _renamed(reference.items[int(path[-1])], reference.path[len(path) :], name)
            key = canonical_json(item)
            if key not in existing[id(reference.items)]:
                added.setdefault(key, item)
        return [AddAfter(path, tuple(added.values()))] if added else []
    if reference.rule.is_word:
        first = {old: new[0] for old, new in renames.items()}
        return [SetScalar(reference.path, replace_words(reference.name, first))]
    (name,) = (names[0] for names in renames.values())
    is_prefixed = reference.rule.is_qualified and reference.namespace
    prefix = f"{reference.namespace}/" if is_prefixed else ""
    return [SetScalar(reference.path, prefix + name)]


def _renamed(item: Json, path: Path, name: str) -> Json:
    """A copy of a list item, with another name at a path."""
    return apply_edits(item, [SetScalar(path, name)]) if path else name


def find_rollouts(items: Sequence[Item], resolver: Resolver) -> dict[ItemKey, list[Item]]:
    """By workload, the Rollouts that use its pod template (spec.workloadRef)."""
    referring = [(item, item.workload_ref) for item in items if item.workload_ref]
    candidates = grouped(
        items if referring else (), lambda item: (item.identity.group_kind, item.identity.name)
    )
    rollouts: dict[ItemKey, list[Item]] = defaultdict(list)
    for rollout, target in referring:
        for workload in resolver.find_in_namespace(
            rollout.identity.namespace, candidates.get(target, ())
        ):
            rollouts[workload.key].append(rollout)
    return rollouts


def item_order(item: Item) -> tuple[bool, str, str, str, str]:
    """The sort key of an object. Rollouts are first. Then the kind and name decide."""
    identity = item.identity
    is_other = identity.kind != "Rollout"
    namespace = identity.namespace or ""
    return is_other, identity.kind, identity.name, namespace, identity.group
