"""Previews of any shape for property tests, with names and values that mean something elsewhere."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from postrender.objects import Identity
from postrender.paths import Data
from postrender.preview.model import (
    ADDED,
    CARRIED,
    CHANGED,
    CONFIG,
    DROPPED,
    ENDS,
    ENV,
    HOOK,
    IMAGE,
    NEW,
    NEXT_PODS,
    NEXT_RUN,
    NO_PODS,
    REFUSED,
    REMOVED,
    REUSED,
    ROLLS,
    STARTS,
    STAYS,
    SUPERSEDED,
    TEMPLATE,
    UNCHANGED,
    Blob,
    Cause,
    ContentChange,
    FieldChange,
    Hunk,
    KeyChange,
    Line,
    ObjectChange,
    Preview,
    RevisionChange,
    Undecided,
    WorkloadChange,
)

ANY = settings(
    max_examples=50,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)

HOSTILE = (
    "<script>alert(1)</script>",
    "</details>",
    "<!-- x -->",
    "-->",
    "`",
    "```",
    "````markdown",
    "|",
    "\\",
    "\\|",
    "@someone",
    "#1",
    "GH-1",
    "www.example.com",
    "https://example.com",
    "a@example.com",
    ":smile:",
    "**bold**",
    "_low_",
    "[link](x)",
    "![image](x)",
    "&amp;",
    "/close",
    "- item",
    "1. item",
    "# title",
    "---",
    "\x1b[31m",
    "\x1b]0;title\x07",
    "\x9b2J",
    "\x00",
    "\r",
    "\n",
    "\t",
    "\u202e",
    "\u2028",
    "\ufeff",
    "\ud800",
    "\U000e0041",
    "\u4e2d\u6587",
    "e\u0301",
    "\U0001f600",
    " ",
    "  ",
    "~",
    "$x$",
    "x" * 90,
)
WORDS = ("web", "app-config", "spec.template", "v1.2.3", "true", "12", "its name stays", "a b c")

TEXTS = st.lists(st.sampled_from(HOSTILE + WORDS), min_size=1, max_size=4).map("".join)
LINES = TEXTS.map(lambda text: text.replace("\n", ""))
NAMES = st.one_of(TEXTS, st.sampled_from(["web", "web-config", "worker", "agent"]))
SPACES = st.sampled_from([None, None, "shop", "<b>"])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-9, 99), st.floats(), TEXTS)
VALUES: st.SearchStrategy[Data] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=4,
)

CONTENT_KINDS = [("", "ConfigMap"), ("", "ConfigMap"), ("", "Secret")]
WORKLOAD_KINDS = [("argoproj.io", "Rollout"), ("apps", "Deployment"), ("batch", "Job"), ("", "Pod")]
OTHER_KINDS = [("", "Service"), ("extensions", "Ingress"), ("networking.k8s.io", "Ingress")]
CHANGES = st.sampled_from([ADDED, REMOVED, CHANGED])


def identities(kinds: list[tuple[str, str]]) -> st.SearchStrategy[Identity]:
    return st.builds(
        lambda kind, space, name: Identity(*kind, space, name),
        st.sampled_from(kinds),
        SPACES,
        NAMES,
    )


CONTENTS, WORKLOADS = identities(CONTENT_KINDS), identities(WORKLOAD_KINDS)
OTHERS = identities([*OTHER_KINDS, ("example.com", "<b>@kind</b>")])


def tuples(of: st.SearchStrategy[object], most: int = 3) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(of, max_size=most).map(tuple)


@st.composite
def hunks(draw: st.DrawFn) -> Hunk:
    signs = draw(st.lists(st.sampled_from("-+ "), min_size=1, max_size=6))
    old = new = 1
    lines = []
    for sign in signs:
        at = (0 if sign == "+" else old, 0 if sign == "-" else new)
        lines.append(Line(sign, *at, draw(LINES), draw(st.booleans())))
        old, new = old + (sign != "+"), new + (sign != "-")
    return Hunk(1, old - 1, 1, new - 1, tuple(lines))


BLOBS = st.one_of(st.none(), st.builds(Blob, st.integers(0, 10**6), st.just("0f" * 32)))
KEYS = st.builds(KeyChange, TEXTS, CHANGES, tuples(hunks(), 2), BLOBS, BLOBS)
FIELDS = st.builds(FieldChange, st.one_of(TEXTS, st.just("spec.list[]")), CHANGES, VALUES, VALUES)
CAUSES = st.one_of(
    st.builds(Cause, st.just(CONFIG), CONTENTS, what=TEXTS, keys=tuples(TEXTS, 20)),
    st.builds(Cause, st.just(IMAGE), container=TEXTS, old=TEXTS, new=TEXTS),
    st.builds(Cause, st.just(ENV), container=TEXTS, what=TEXTS, old=VALUES, new=VALUES),
    st.builds(Cause, st.just(TEMPLATE), field=FIELDS),
)
CONTENT_CHANGES = st.builds(
    ContentChange,
    CONTENTS,
    st.sampled_from([ADDED, REMOVED, CHANGED, UNCHANGED]),
    st.sampled_from(["rename", "checksum", "ignore"]),
    TEXTS,
    TEXTS,
    tuples(KEYS),
    tuples(FIELDS),
    tuples(WORKLOADS),
    st.one_of(st.just(""), TEXTS),
)
EFFECTS = [ROLLS, STARTS, ENDS, NEXT_RUN, NEXT_PODS, HOOK, REFUSED, NO_PODS, STAYS]
WORKLOAD_CHANGES = st.builds(
    WorkloadChange,
    WORKLOADS,
    st.sampled_from([ADDED, REMOVED, CHANGED, UNCHANGED]),
    st.sampled_from(EFFECTS),
    tuples(CAUSES, 14),
    st.one_of(st.none(), WORKLOADS),
    tuples(CONTENTS),
    tuples(FIELDS),
)
REVISIONS = st.builds(
    RevisionChange,
    CONTENTS,
    st.one_of(st.just(""), TEXTS),
    st.sampled_from([NEW, REUSED, SUPERSEDED, CARRIED, DROPPED]),
    st.booleans(),
)

PREVIEWS: st.SearchStrategy[Preview] = st.builds(
    Preview,
    TEXTS,
    TEXTS,
    tuples(CONTENT_CHANGES),
    tuples(WORKLOAD_CHANGES),
    tuples(REVISIONS),
    tuples(st.builds(ObjectChange, OTHERS, CHANGES, tuples(FIELDS))),
    tuples(st.builds(Undecided, TEXTS, TEXTS, TEXTS), 2),
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
    """Return what each object that changes is called."""
    return [
        *(each.identity for each in preview.contents),
        *(each.identity for each in preview.workloads),
        *(each.identity for each in preview.objects),
    ]
