"""The parts of a comparison that diff cannot decide."""

from __future__ import annotations

import json
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from postrender.diff.model import Undecided
from postrender.diff.pairs import ComparedObject, Comparison, Duplicates, Pair, Side
from postrender.diff.usages import UsageIndex
from postrender.errors import DUPLICATE_KEY, HOOK_ON_HELM_3, Finding, Location
from postrender.kubernetes.kinds import Identity
from postrender.plan.links import ambiguity
from postrender.text import conjoined, replace_words
from postrender.yaml.document import ParsedDocument
from postrender.yaml.paths import is_same, mapping_at


def find_undecided(both: Comparison, connected: AbstractSet[int]) -> tuple[Undecided, ...]:
    """The parts of a comparison that diff cannot decide, and that can be changes.

    connected: the indexes of the pairs that the graph shows.
    """
    old, new, pairs = both.old, both.new, both.pairs
    identities = {pairs[number].identity for number in connected}
    undecided = [
        *_non_objects(old, new),
        *_unrendered(old, new),
        *(item for pair in pairs for item in _without_name(old, new, pair)),
        *_namespaces(both),
        *_duplicates(old, new, *both.duplicates),
        *_ambiguous_references(old, identities),
        *_ambiguous_references(new, identities),
        *_missing_templates(both),
        *_findings(old, new),
    ]
    return tuple(dict.fromkeys(undecided))


def _unrendered(old: Side, new: Side) -> Iterator[Undecided]:
    """If only the newer side is an output, diff cannot know whether OLD was applied as it is."""
    if not old.is_rendered and old.revisions and new.is_rendered:
        yield Undecided(
            location=old.inventory.stream.source,
            problem="OLD is not an output of postrender, so diff first renders OLD. If you "
            "applied OLD without postrender, every workload that uses a renamed object rolls",
            fix="If you applied an output of postrender, pass that output as OLD. Otherwise, pass "
            "--first-release",
        )


def find_adoption(source: str, old_file: str | None, file: str | None) -> tuple[Undecided, ...]:
    """If only the newer side has a configuration file, it can be the first use of postrender.

    source: the name of the older stream, which is an input.
    """
    if old_file or not file:
        return ()
    part = Undecided(
        location=source,
        problem=f"NEW has the configuration {file}, and OLD does not have a configuration. diff "
        "first renders OLD without a configuration",
        fix="If you applied OLD without postrender, pass --first-release",
    )
    return (part,)


def _without_name(old: Side, new: Side, pair: Pair) -> Iterator[Undecided]:
    if pair.identity.name:
        return
    if pair.both and is_same(pair.both[0].data, pair.both[1].data):
        return
    side = new if pair.new else old
    kind = pair.identity.kind
    metadata = mapping_at(pair.newest.data, ("metadata",))
    fix = f"Give the {kind} a name, or compare the {kind} by hand"
    if metadata.get("generateName"):
        fault = "has a generateName instead of a name"
    elif metadata.get("name") in (None, ""):
        fault = "does not have a name"
    else:
        fault = f"has the name {json.dumps(metadata['name'])}, which YAML does not read as a text"
        fix = "Write the name in quotes"
    yield Undecided(
        location=str(_location(side, pair.newest)),
        problem=f"the {kind} {fault}, so diff does not compare the {kind} with the other side",
        fix=fix,
    )


def _non_objects(old: Side, new: Side) -> Iterator[Undecided]:
    old_values, new_values = ([value for value, _ in side.non_objects] for side in (old, new))
    if is_same(old_values, new_values):
        return
    for _, location in (*old.non_objects, *new.non_objects):
        yield Undecided(
            location=str(location),
            problem="the content is not a Kubernetes object, so diff does not compare the content",
            fix="Remove the content from the manifests, or compare the content by hand",
        )


def _namespaces(both: Comparison) -> Iterator[Undecided]:
    """The objects to which only one side gives a namespace, by side and namespace."""
    old, new, resolver = both.old, both.new, both.resolver
    moved: dict[tuple[bool, str], list[Pair]] = {}
    for pair in both.pairs:
        if pair.both is None:
            continue
        before, after = (compared.identity.namespace for compared in pair.both)
        if resolver.effective_namespace(before) != resolver.effective_namespace(after):
            moved.setdefault((bool(after), after or before or ""), []).append(pair)
    for (is_new, namespace), group in moved.items():
        # render gives an attacher the namespace of its revisions.
        group = [pair for pair in group if not pair.newest.is_attacher] or group
        side = ("NEW", "OLD")[not is_new]
        names = [f"{pair.identity.kind}/{pair.identity.name}" for pair in group]
        first = group[0].new if is_new else group[0].old
        yield Undecided(
            location=str(_location(new if is_new else old, first or group[0].newest)),
            problem=f"only {side} sets the namespace {namespace} of {conjoined(names)}. If the "
            "release is in another namespace, the change deletes and re-creates the "
            f"{'object' if len(group) == 1 else 'objects'} (risk moved-object)",
            fix="Set the release namespace with --namespace",
        )


def _duplicates(old: Side, new: Side, before: Duplicates, after: Duplicates) -> Iterator[Undecided]:
    """Each object that a side defines several times with different content, if the sides differ."""
    sides = (old, before), (new, after)
    for (side, duplicates), others in (sides, sides[::-1]):
        for key, objects in duplicates.items():
            data = [side.written_data(compared) for compared in objects]
            if all(is_same(data[0], copy) for copy in data):
                continue
            other, other_duplicates = others
            other_objects = other_duplicates.get(key, ())
            if is_same(data, [other.written_data(compared) for compared in other_objects]):
                continue
            yield Undecided(
                location=str(_location(side, objects[-1])),
                problem=f"the manifests define {objects[-1].identity} {len(objects)} times. diff "
                "compares the last definition, but the tool that applies the manifests may use "
                "another definition",
                fix="Remove or rename the other definitions",
            )


def _ambiguous_references(side: Side, identities: AbstractSet[Identity]) -> Iterator[Undecided]:
    """Each reference from or to an object of the graph of which only one end has a namespace."""
    if side.context is None:
        return
    resolver = side.context.resolver
    names = {identity.name for identity in identities}
    documents: dict[int, ParsedDocument] = {}
    for compared in side.by_item.values():
        item = compared.item
        for reference in item.references if item else ():
            base_name = side.base_names.get(reference.name, reference.name)
            if item is None or not (compared.identity in identities or base_name in names):
                continue
            candidates = resolver.candidates.get((reference.rule.target, reference.name), ())
            if resolver.find(item, reference, candidates):
                continue
            if resolver.is_ambiguous(item, reference, candidates):
                number = item.document
                if number not in documents:
                    documents[number] = side.inventory.document(number)
                line = documents[number].line_of(reference.path)
                location = side.inventory.location_of(item, reference.path, line)
                given = resolver.release_namespace
                reason, fix = ambiguity(item, reference, reference.name, given)
                yield Undecided(
                    location=str(location),
                    problem=f"the reference to {reference.rule.target[1]}/{reference.name} is "
                    f"ambiguous, because {reason}",
                    fix=fix,
                )


def _missing_templates(both: Comparison) -> Iterator[Undecided]:
    """Each Rollout with a missing pod template that can change."""
    usages = both.usages
    for pair in both.pairs:
        if pair.new is None:
            continue
        for side, compared, index in (
            (both.new, pair.new, usages[1]),
            (both.old, pair.old, usages[0]),
        ):
            source = index.missing_source(compared) if compared else None
            if compared and source and not _is_unchanged_without_template(pair, usages):
                kind, name = source
                yield Undecided(
                    location=str(_location(side, compared)),
                    problem=f"{compared.identity} uses the pod template of {kind[1]}/{name}, which "
                    "is not in these manifests, so diff cannot predict whether the "
                    f"{compared.identity.kind} rolls",
                    fix="Compare manifests that have both objects",
                )
                break


def _is_unchanged_without_template(pair: Pair, usages: tuple[UsageIndex, UsageIndex]) -> bool:
    return (
        pair.both is not None
        and is_same(pair.both[0].data, pair.both[1].data)
        and all(
            index.missing_source(compared)
            for index, compared in zip(usages, pair.both, strict=True)
        )
    )


def _findings(old: Side, new: Side) -> Iterator[Undecided]:
    """What only the newer side has: originals that Helm 3 would lose, and duplicate keys."""
    before, after = _findings_of(old), _findings_of(new)
    yield from (as_undecided(after[key]) for key in after if key not in before)


def _findings_of(side: Side) -> dict[tuple[str, str, str], Finding]:
    """The findings that count, by code, object and path.

    Two objects without `---` between them repeat all their keys, of which `kind` is strict.
    """
    findings = [
        finding
        for finding in (*side.findings, *side.inventory.findings)
        if finding.code in (HOOK_ON_HELM_3, DUPLICATE_KEY)
    ]
    merged = {finding.location.document for finding in findings if finding.strict}
    return {
        (finding.code, replace_words(place.subject, side.base_names), place.path): finding
        for finding in findings
        for place in [finding.location]
        if finding.strict or place.document not in merged
    }


def as_undecided(finding: Finding) -> Undecided:
    """A finding as an undecided part of a preview."""
    return Undecided(location=str(finding.location), problem=finding.problem, fix=finding.fix)


def _location(side: Side, compared: ComparedObject) -> Location:
    if compared.item:
        return side.inventory.location_of(compared.item)
    return Location(side.inventory.stream.source)
