"""References that name an object of the stream, and the edits that make them name another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from postrender.config.settings import NOTHING
from postrender.errors import Finding
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item, ItemKey, Reference
from postrender.kubernetes.kinds import WORKLOAD_KINDS
from postrender.plan.namespaces import Resolver
from postrender.references.rule import OUTSIDE, RBAC
from postrender.startup.records import NamedTuple
from postrender.text.words import replace_words, words_of
from postrender.yaml.edits import AddAfter, Edit, SetScalar
from postrender.yaml.paths import Path


class Link(NamedTuple):
    """One reference of `source` that names `target` by `name`."""

    source: Item
    reference: Reference
    target: Item
    name: str

    @property
    def is_rewritable(self) -> bool:
        """Tell whether the reference can be made to name a revision, and is a reason to."""
        rule = self.reference.rule
        return self.source.is_rewritable and rule.family != RBAC and rule.triggers_rename

    @property
    def keeps_base_name(self) -> bool:
        """Tell whether the reference will go on naming the base name: a Job, a Pod, a hook."""
        return not self.source.is_rewritable and self.reference.rule.family != RBAC

    @property
    def is_pinned(self) -> bool:
        """Tell whether somebody wrote the name of a revision into a pod template, and no render.

        Such a template bears no render id. It meant nothing in the manifests before that revision
        was made, and means nothing any more when another takes its place: it is left alone.
        """
        at, templates = self.reference.template, self.source.templates
        if at is None or not self.target.is_revision:
            return False
        return not (templates and templates[at].has_render_id)

    @property
    def is_outside_attach(self) -> bool:
        """Tell whether it will name the revision where the attacher does not look."""
        workload = WORKLOAD_KINDS.get(self.source.identity.group_kind)
        is_seen = workload is not None and workload.is_namespaced
        family = self.reference.rule.family
        follows = self.source.is_rewritable and family != RBAC
        return follows and (family == OUTSIDE or not is_seen)


def find_links(inventory: Inventory, resolver: Resolver) -> tuple[list[Link], list[Finding]]:
    """Return every reference to an object of the stream, and findings for those in doubt."""
    links, findings = [], []
    for item in inventory.items:
        if item.is_attacher:
            continue
        for reference in item.references:
            names = words_of(reference.name) if reference.rule.is_word else [reference.name]
            for name in names:
                targets = resolver.find(item, reference, name)
                links += [Link(item, reference, target, name) for target in targets]
                if not targets and resolver.is_ambiguous(item, reference, name):
                    findings.append(_unsettled(inventory, item, reference, name))
    return links, findings


def _unsettled(inventory: Inventory, item: Item, reference: Reference, name: str) -> Finding:
    return Finding(
        "namespace",
        f"names {reference.rule.target[1]}/{name}, which the stream has, but one of the two has a "
        "namespace and the other none: left alone",
        "say which is the release's with --namespace",
        inventory.location_of(item, reference.path, reference.line),
    )


def by_target(links: Iterable[Link]) -> dict[ItemKey, list[Link]]:
    """Group links by the object that they name."""
    groups: dict[ItemKey, list[Link]] = defaultdict(list)
    for link in links:
        groups[link.target.key].append(link)
    return groups


def by_source(links: Iterable[Link]) -> dict[ItemKey, list[Link]]:
    """Group links by the object that holds them."""
    groups: dict[ItemKey, list[Link]] = defaultdict(list)
    for link in links:
        groups[link.source.key].append(link)
    return groups


def follow_edits(
    links: Iterable[Link],
    names: Mapping[ItemKey, str],
    earlier: Mapping[ItemKey, Sequence[str]] = NOTHING,
) -> list[Edit]:
    """Return the edits that make the links of one object name the revisions in `names`.

    earlier: carried revisions of the same objects, which a Role goes on granting.
    """
    renames: dict[Path, dict[str, list[str]]] = defaultdict(dict)
    references: dict[Path, Reference] = {}
    for link in links:
        if link.source.is_rewritable and link.target.key in names:
            path = link.reference.path
            references[path] = link.reference
            own = renames[path].setdefault(link.name, [])
            own.append(names[link.target.key])
            if link.reference.rule.family == RBAC:
                own += earlier.get(link.target.key, ())
    return [edit for path in references for edit in _edits(references[path], renames[path], links)]


def _edits(
    reference: Reference, renames: Mapping[str, list[str]], links: Iterable[Link]
) -> list[Edit]:
    if reference.rule.family == RBAC:
        there = {
            link.reference.name for link in links if link.reference.path[:-1] == reference.path[:-1]
        }
        added = [name for names in renames.values() for name in names if name not in there]
        return [AddAfter(reference.path, tuple(dict.fromkeys(added)))] if added else []
    if reference.rule.is_word:
        first = {old: new[0] for old, new in renames.items()}
        return [SetScalar(reference.path, replace_words(reference.name, first))]
    (name,) = (names[0] for names in renames.values())
    prefix = f"{reference.namespace}/" if reference.namespace else ""
    return [SetScalar(reference.path, prefix + name)]
