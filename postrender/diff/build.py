"""The preview of a change: `compare` compares two streams of manifests, and redacts the result.

If `history.previous` is not empty or the naming is `sequence`, a plan needs the earlier outputs of
postrender. `compare` reads them only from the older stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from postrender.config.settings import NOTHING, SEQUENCE, Settings
from postrender.diff.attachers import with_group_names
from postrender.diff.changes import compare_originals_exactly, find_changes
from postrender.diff.contents import compare_earlier, compare_originals, with_original_notes
from postrender.diff.model import (
    REMOVED,
    ContentChange,
    Preview,
    Undecided,
)
from postrender.diff.normalise import BaseNames
from postrender.diff.pairs import (
    CURRENT,
    ComparedObject,
    Comparison,
    Duplicates,
    Pair,
    Side,
    find_duplicates,
    find_pairs,
    sort_key,
)
from postrender.diff.reads import Reads, find_reads
from postrender.diff.redact import redact
from postrender.diff.replacement import with_replacements, without_invalid
from postrender.diff.revisions import (
    find_revisions,
    lost_owners,
    with_fates,
)
from postrender.diff.risks import OTHERS, REJECTIONS, find_risks, importance
from postrender.diff.risks.facts import Facts
from postrender.diff.risks.rejected import find_new_rejections
from postrender.diff.selection import select_all, select_documents
from postrender.diff.side import is_rendered, preview_settings, read_side
from postrender.diff.undecided import find_adoption, find_undecided
from postrender.diff.usages import find_graph, index_usages
from postrender.errors import Location, UserError
from postrender.inventory.build import take_inventory
from postrender.output import render
from postrender.plan.attacher_objects import has_image
from postrender.plan.build import make_plan
from postrender.plan.history import NO_HISTORY, History, Manifest, Previous, read_history
from postrender.plan.namespaces import Resolver
from postrender.yaml.stream import Source, Stream, has_content, read_streams


def compare(
    old: Stream,
    new: Stream,
    settings: Settings,
    context: int = 3,
    *,
    old_settings: Settings | None = None,
    is_first_release: bool = False,
) -> Preview:
    """The preview of a change from `old` to `new`, each an input or an output of postrender.

    context: the number of unchanged lines before and after each change in a text.
    old_settings: the settings for `old`. If they differ from `settings`, both inputs are rendered
        first, so that the preview has every effect of the change.
    is_first_release: whether the user applied `old` without postrender.
    Raises UserError if postrender rejects an input, if a side has content but no objects, and if
    `old` is an output of postrender in spite of is_first_release.
    """
    is_output = is_rendered(old), is_rendered(new)
    if is_first_release and is_output[0]:
        raise UserError(
            "--first-release is set, but OLD is an output of postrender",
            "Pass the manifests from before the first release as OLD, or remove --first-release",
            Location(old.source),
        )
    old_configuration = None
    adoption: tuple[Undecided, ...] = ()
    if old_settings is not None and not (is_first_release or is_output[0]):
        adoption = find_adoption(old.source, old_settings.configuration, settings.configuration)
    if old_settings is None or _rendering(old_settings) == _rendering(settings):
        old_settings = settings
    else:
        old, new = _output_of(old, old_settings), _output_of(new, settings)
        is_output, old_configuration = (True, True), old_settings.configuration
    attacher = settings.attacher
    if is_first_release and attacher.is_enabled and has_image(attacher):
        new, is_output = _output_of(new, settings), (False, True)  # with the attacher
    sides, history, unread = _read_sides(
        (old, new), (old_settings, settings), is_output, is_plain=is_first_release
    )
    both = _together(*sides, settings, context)._replace(unread=unread)
    preview = _preview(both, settings, history)
    return preview._replace(
        configuration=settings.configuration,
        old_configuration=old_configuration,
        undecided=(*adoption, *preview.undecided),
    )


def _read_sides(
    streams: tuple[Stream, Stream],
    settings: tuple[Settings, Settings],
    is_output: tuple[bool, bool],
    *,
    is_plain: bool,
) -> tuple[tuple[Side, Side], History, Mapping[str, Sequence[int]]]:
    """Both sides, the history of the newer side, and the documents of it that are not read.

    is_plain: whether the user applied the older stream without postrender.
    """
    (old, new), (old_settings, new_settings) = streams, settings
    needs_history = bool(new_settings.history.previous) or new_settings.naming == SEQUENCE
    history = NO_HISTORY
    if needs_history:
        history = _history_of(old, new_settings, is_plain=is_plain or is_output[0])
    # An equal document of an input and of an output can have other revisions.
    if is_plain or needs_history or is_output[0] != is_output[1]:
        in_old, in_new, unread = select_all(old, new)
    else:
        in_old, in_new, unread = select_documents(old, new, new_settings.namespace)
    sides = (
        read_side(old, in_old, old_settings, is_output=is_output[0], is_plain=is_plain),
        read_side(new, in_new, new_settings, history, is_output=is_output[1]),
    )
    _check_objects(sides[0], in_old)
    _check_objects(sides[1], in_new)
    return sides, history, unread


def _rendering(settings: Settings) -> Settings:
    """The settings without those that do not change an output."""
    return settings._replace(file="", configuration="", findings=())


def _output_of(stream: Stream, settings: Settings) -> Stream:
    """The output for an input. An output stays as it is."""
    if is_rendered(stream):
        return stream
    plan = make_plan(take_inventory(stream, settings), settings)
    text = "".join(render(plan)).encode()
    return read_streams([Source(stream.source, text)], stream.source)


def _check_objects(side: Side, selected: Iterable[int]) -> None:
    """Refuse a side that has content but no objects, for example the values of a chart.

    selected: the indexes of the documents that diff compares. Other documents can have objects.
    """
    if side.objects or not side.non_objects:
        return
    texts = side.inventory.stream.texts
    left_out = set(range(len(texts))).difference(selected)
    if not any(has_content(texts[index]) for index in left_out):
        raise UserError(
            "the input does not contain Kubernetes objects",
            "Pass rendered manifests, such as the output of helm template or kustomize build",
            Location(side.inventory.stream.source),
        )


def _history_of(stream: Stream, settings: Settings, *, is_plain: bool) -> History:
    """The history in a stream, which is rendered first if it is an input.

    is_plain: whether the user applied the stream as it is.
    """
    if not is_plain:
        attacher = settings.attacher._replace(is_enabled=False)
        stream = _output_of(stream, settings._replace(attacher=attacher))
    # Each document becomes a source, because a joined text could lack `---` between two files.
    sources = tuple(
        Source(source, text.encode())
        for source, text in zip(stream.sources, stream.texts, strict=True)
    )
    return read_history(Previous((Manifest(stream.source, sources),)), preview_settings(settings))


def _together(old: Side, new: Side, settings: Settings, context: int) -> Comparison:
    """Both sides with the pairs of their objects, and the references of both."""
    resolver = Resolver(settings.namespace)
    duplicates = find_duplicates(old, resolver), find_duplicates(new, resolver)
    pairs = find_pairs(
        with_group_names(_paired_objects(old, duplicates[0])),
        with_group_names(_paired_objects(new, duplicates[1])),
        resolver,
    )
    usages = (
        index_usages(old, new, pairs, is_new=False),
        index_usages(new, old, pairs, is_new=True),
    )
    names = BaseNames(
        of_all={**old.base_names, **new.base_names},
        of_secrets={**old.secret_names, **new.secret_names},
        moves=_moves(old, new, pairs),
    )
    return Comparison(old, new, resolver, pairs, duplicates, usages, names, context)


def _preview(both: Comparison, settings: Settings, history: History) -> Preview:
    """The preview of a comparison, which tells the risks with the effects that they need."""
    reads = find_reads(both)
    changed, workloads, others = find_changes(both, reads)
    contents = _contents(both, changed, reads, settings)
    objects = [*others.values(), *compare_originals_exactly(both, contents)]
    named = [pair for pair in both.pairs if pair.identity.name and not pair.newest.is_attacher]
    differing = [pair for pair in named if pair.parts != {}]
    facts = Facts(
        both,
        pairs=named,
        changes=differing,
        contents={change.identity: change for change in changed.values()},
        rejections=find_new_rejections(differing),
        workloads=tuple(workloads.values()),
    )
    rejections = find_risks(facts, REJECTIONS)
    workloads = with_replacements(workloads, facts, rejections)
    graph, connected = find_graph(both, {**changed, **others, **workloads})
    removes_workload = any(change.change == REMOVED for change in workloads.values())
    lost = lost_owners(both, settings, history) if removes_workload else NOTHING
    revisions = find_revisions(both, connected, lost)
    facts = facts._replace(workloads=tuple(workloads.values()), revisions=revisions)
    risks = [*rejections, *find_risks(facts, OTHERS)]
    workloads = without_invalid(workloads, risks)
    preview = Preview(
        old=both.old.inventory.stream.source,
        new=both.new.inventory.stream.source,
        risks=tuple(sorted(risks, key=importance)),
        contents=tuple(sorted(contents, key=lambda change: sort_key(change.identity))),
        workloads=tuple(workloads.values()),
        revisions=revisions,
        objects=tuple(objects),
        undecided=find_undecided(both, connected),
        graph=graph,
    )
    return redact(preview, both.names.of_secrets, has_base_names=True)


def _contents(
    both: Comparison,
    changed: Mapping[int, ContentChange],
    reads: Reads,
    settings: Settings,
) -> list[ContentChange]:
    """The changes of ConfigMaps and Secrets, also of those that are not current.

    changed: of the current ones, by the index of the pair.
    """
    read_changes = [
        (target, read.change, read.old)
        for (target, name, _), read in reads.items()
        if read and name == read.change.old_revision
    ]
    moved = [item for item in read_changes if item[1].old_revision != item[1].new_revision]
    usual = [(number, change, both.pairs[number].old) for number, change in changed.items()]
    current = with_fates(both, [*usual, *moved], settings)
    return [
        *with_original_notes(both, current),
        *compare_originals(both),
        *compare_earlier(both, [change for _, change, _ in read_changes]),
    ]


def _moves(old: Side, new: Side, pairs: Iterable[Pair]) -> Mapping[str, set[str]] | None:
    """BaseNames.moves, for the pairs of the objects."""
    if all(len(side.base_names) == len({*side.base_names.values()}) for side in (old, new)):
        return None
    moves: dict[str, set[str]] = {}
    for pair in pairs:
        if pair.both and pair.newest.is_content:
            moves.setdefault(pair.both[0].name, set()).add(pair.both[1].name)
    return moves


def _paired_objects(side: Side, duplicates: Duplicates) -> list[ComparedObject]:
    """The CURRENT objects of a side, with only the last definition of each duplicate."""
    replaced = {id(copy) for copies in duplicates.values() for copy in copies[:-1]}
    return [
        candidate
        for candidate in side.by_item.values()
        if candidate.role == CURRENT and id(candidate) not in replaced
    ]
