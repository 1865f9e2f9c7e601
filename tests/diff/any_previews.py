"""Random previews for hypothesis."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from postrender.diff.model import (
    ADDED,
    CHANGED,
    CONFIG,
    DROPPED,
    EFFECTS,
    ENV,
    IMAGE,
    NEW,
    REMOVED,
    RETAINED,
    REUSED,
    SUPERSEDED,
    TEMPLATE,
    UNCHANGED,
    Blob,
    Cause,
    ContentChange,
    Edge,
    FieldChange,
    Graph,
    GraphNode,
    Hunk,
    KeyChange,
    Line,
    ObjectChange,
    Preview,
    RevisionChange,
    Risk,
    Undecided,
    WorkloadChange,
)
from postrender.kubernetes.kinds import Identity
from tests.effort import examples

Record = TypeVar("Record")

# Without the shrink phase, because shrinking a whole preview takes minutes.
ANY = settings(
    max_examples=examples(100),
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)

# Texts that break a label, a string or a block of some format, unless the format escapes them.
HOSTILE = (
    "end",
    "%%{init: {}}%%",
    '"]; x --> y["',
    "</script><img src=x onerror=alert(1)>",
    "line\nbreak\r\n---\n",
    "#quot; #35; &lt; &amp;",
    "style a:b #c; classDef x:y #z;",
    "`**bold** _x_`",
    "1. one",
    "- item",
    "fa:fa-ban",
    "\\",
    '\\"',
    "\\N \\l",
    "\u202eleft \x1b[31m \x00 \u00fc \U0001f600",
    "subgraph",
    "graph TD;A-->B",
    ":::added",
    "a|b|c",
    "$$x^2$$",
    "n" * 253,
    "click a call b()",
    "<!-- x -->",
    "</details>",
    "`",
    "````markdown",
    "\\|",
    "@someone",
    "#1",
    "GH-1",
    "www.example.com https://example.com a@example.com",
    "[link](x) ![image](x)",
    "\x9b2J\t\ufeff\ud800",
    "\u4e2d\u6587 e\u0301",
    "",
    " ",
)


def any_record(
    record: Callable[..., Record], **fields: st.SearchStrategy[object]
) -> st.SearchStrategy[Record]:
    """Return a strategy for records. `st.builds` would also fill the fields that have defaults."""
    return st.fixed_dictionaries(fields).map(lambda values: record(**values))


TEXTS = st.sampled_from(HOSTILE) | st.text(max_size=12) | st.sampled_from(("web", "web-config"))
_CHANGES = st.sampled_from((ADDED, REMOVED, CHANGED))
_ANY_CHANGE = st.sampled_from((ADDED, REMOVED, CHANGED, UNCHANGED))
_EFFECTS = st.sampled_from(EFFECTS)
_REVISIONS = st.sampled_from((NEW, REUSED, SUPERSEDED, RETAINED, DROPPED))
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, width=32) | TEXTS
_DATA = st.recursive(
    _SCALARS.filter(lambda value: value not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
_KINDS = st.sampled_from(("ConfigMap", "Secret", "Rollout", "Deployment", "Job", "Role")) | TEXTS
IDENTITIES = any_record(
    Identity,
    group=st.sampled_from(("", "apps")) | TEXTS,
    kind=_KINDS,
    namespace=st.none() | st.just("shop") | TEXTS.filter(bool),
    name=TEXTS,
)


def _several(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(strategy, max_size=3).map(tuple)


_COUNTS = st.integers(0, 9999)


def _line(signs: str) -> st.SearchStrategy[object]:
    return any_record(
        Line,
        sign=st.sampled_from(signs),
        old=_COUNTS,
        new=_COUNTS,
        text=TEXTS,
        is_open=st.booleans(),
    )


def _hunk_lines() -> st.SearchStrategy[tuple[object, ...]]:
    """Return lines of which at least one has changed, as in every hunk."""
    return st.builds(lambda lines, last: (*lines, last), _several(_line("-+ ")), _line("-+"))


_HUNKS = any_record(
    Hunk, old=_COUNTS, old_count=_COUNTS, new=_COUNTS, new_count=_COUNTS, lines=_hunk_lines()
)
_BLOBS = st.none() | any_record(Blob, size=_COUNTS, digest=st.just("ab" * 32))
_KEYS = any_record(
    KeyChange, key=TEXTS, change=_CHANGES, hunks=_several(_HUNKS), old_blob=_BLOBS, new_blob=_BLOBS
)
_FIELDS = any_record(FieldChange, path=TEXTS, change=_CHANGES, old=_DATA, new=_DATA)
_CAUSES = (
    any_record(Cause, kind=st.just(CONFIG), subject=IDENTITIES, reason=TEXTS, keys=_several(TEXTS))
    | any_record(Cause, kind=st.just(IMAGE), container=TEXTS, old=_SCALARS, new=_SCALARS)
    | any_record(Cause, kind=st.just(ENV), container=TEXTS, variable=TEXTS, old=_DATA, new=_DATA)
    | any_record(Cause, kind=st.just(TEMPLATE), field=_FIELDS)
)
_NODES = any_record(
    GraphNode,
    identity=IDENTITIES,
    role=st.sampled_from(("workload", "config", "other")),
    change=_ANY_CHANGE,
    effect=_EFFECTS,
)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Return a graph of up to eight objects with random references."""
    nodes = draw(st.lists(_NODES, max_size=8))
    numbers = st.integers(0, max(0, len(nodes) - 1))
    change = st.sampled_from((ADDED, REMOVED, UNCHANGED))
    edges = st.lists(
        any_record(Edge, source=numbers, target=numbers, label=TEXTS, change=change),
        max_size=12 if nodes else 0,
    )
    return Graph(tuple(nodes), tuple(draw(edges)))


PREVIEWS = any_record(
    Preview,
    old=TEXTS,
    new=TEXTS,
    contents=_several(
        any_record(
            ContentChange,
            identity=IDENTITIES,
            change=_ANY_CHANGE,
            strategy=st.sampled_from(("rename", "checksum", "ignore")),
            old_revision=TEXTS,
            new_revision=TEXTS,
            keys=_several(_KEYS),
            fields=_several(_FIELDS),
            users=_several(IDENTITIES),
            note=TEXTS,
        )
    ),
    workloads=_several(
        any_record(
            WorkloadChange,
            identity=IDENTITIES,
            change=_ANY_CHANGE,
            effect=_EFFECTS,
            causes=_several(_CAUSES),
            via=st.none() | IDENTITIES,
            in_place=_several(IDENTITIES),
            is_mounted=st.booleans(),
            fields=_several(_FIELDS),
        )
    ),
    revisions=_several(
        any_record(
            RevisionChange,
            identity=IDENTITIES,
            name=TEXTS,
            change=_REVISIONS,
            is_retained=st.booleans(),
            lost_owners=_several(TEXTS),
        )
    ),
    objects=_several(
        any_record(ObjectChange, identity=IDENTITIES, change=_CHANGES, fields=_several(_FIELDS))
    ),
    risks=_several(
        any_record(
            Risk, identity=IDENTITIES, fact=TEXTS, consequence=TEXTS, path=TEXTS, code=st.just("a")
        )
    ),
    undecided=_several(any_record(Undecided, location=TEXTS, problem=TEXTS, fix=TEXTS)),
    graph=graphs(),
)


def lines_of(preview: Preview) -> list[tuple[str, str]]:
    """Return sign and text of each line of each diff."""
    return [
        (line.sign, line.text)
        for content in preview.contents
        for key in content.keys
        for hunk in key.hunks
        for line in hunk.lines
    ]


def identities_of(preview: Preview) -> list[Identity]:
    """Return the identity of each object that changes."""
    return [
        *(change.identity for change in preview.contents),
        *(change.identity for change in preview.workloads),
        *(change.identity for change in preview.objects),
    ]
