"""A change as one HTML page that needs nothing else: no network, and no script to be read."""

from __future__ import annotations

import base64
import html
from collections import Counter
from collections.abc import Iterable, Sized
from importlib.resources import files

from postrender import __version__
from postrender.diff.formats.html import entries
from postrender.diff.formats.html.graph_list import graph_markup
from postrender.diff.formats.html.markup import Html, joined, tag
from postrender.diff.model import (
    ADDED,
    CHANGED,
    DROPPED,
    ENDS,
    NEW,
    REMOVED,
    RETAINED,
    REUSED,
    STARTS,
    SUPERSEDED,
    UNCHANGED,
    Preview,
)
from postrender.diff.wording import wording as words
from postrender.diff.wording.grouping import find_alike
from postrender.startup.digest import sha256
from postrender.text.escapes import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.diff.wording.terminal import Terminal

FILE_SUFFIX = "html"

# A page with more than this is opened folded.
_OPEN_LINES = 400
_OPEN_WORKLOADS = 40

# Filters in this order; EFFECTS of words is in that of their weight.
_CHANGES = (ADDED, REMOVED, CHANGED, UNCHANGED, NEW, REUSED, SUPERSEDED, RETAINED, DROPPED)


def render(preview: Preview, terminal: Terminal) -> str:
    """Return a change as a page."""
    style, script = _asset("page.css"), _asset("page.js")
    title = f"What changes from {preview.old} to {preview.new}"
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="generator", content=f"postrender {__version__}"),
        tag("link", rel="icon", href="data:,"),
        tag("title", Html(html.escape(visible(title)))),
        tag("style", style),
        tag("script", script),
    ]
    has_entries = _has_entries(preview)
    columns = (_tools(preview), _main(preview)) if has_entries else (_main(preview),)
    body = [
        tag("a", "Skip to the changes", class_="skip", href="#main"),
        _header(preview),
        tag("div", *columns, class_="columns with-tools" if has_entries else "columns"),
    ]
    page = tag("html", tag("head", *head), tag("body", *body), lang="en")
    return f"<!doctype html>\n{page}\n"


def _has_entries(preview: Preview) -> bool:
    lists = (preview.workloads, preview.contents, preview.objects, preview.revisions)
    return any((*lists, preview.undecided))


def _asset(name: str) -> Html:
    return Html(files("postrender.diff.formats.html").joinpath(name).read_text("utf-8"))


def _policy(style: str, script: str) -> str:
    """Return a policy by which a browser runs our script, uses our style, and loads nothing."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(sha256(text.encode()).digest()).decode()


# ---- what stands above all


def _header(preview: Preview) -> Html:
    sides = [tag("code", preview.old), tag("span", " → ", class_="arrow"), tag("code", preview.new)]
    parts = [
        tag("p", "postrender diff", class_="brand"),
        tag("h1", "What changes ", tag("span", *sides, class_="sides")),
        tag("p", words.summary_line(preview), class_="summary"),
        _tiles(preview),
    ]
    return tag("header", *parts)


def _tiles(preview: Preview) -> Html:
    effects = Counter(each.effect for each in preview.workloads)
    new = sum(1 for each in preview.revisions if each.change == NEW)
    # Nothing but the tile says that these are workloads.
    verbs = {
        **words.EFFECTS,
        STARTS: ("workload is added", "workloads are added"),
        ENDS: ("workload is removed", "workloads are removed"),
    }
    numbers = [(effects[each], forms, "workloads", each) for each, forms in verbs.items()]
    configuration = ("ConfigMap or Secret", "ConfigMaps and Secrets")
    numbers += [
        (len(preview.contents), configuration, "contents", ""),
        (new, ("new revision", "new revisions"), "revisions", ""),
        (len(preview.objects), ("other object", "other objects"), "objects", ""),
        (len(preview.undecided), ("undecided", "undecided"), "undecided", "undecided"),
    ]
    tiles = [_tile(*each) for each in numbers if each[0]]
    return tag("ul", *tiles, class_="tiles") if tiles else Html("")


def _tile(number: int, forms: tuple[str, str], section: str, kind: str) -> Html:
    parts = tag("b", f"{number:,}"), " ", tag("span", forms[number != 1])
    return tag("li", tag("a", *parts, href=f"#{section}", data_kind=kind or False))


# ---- what finds and filters


def _tools(preview: Preview) -> Html:
    lists = (preview.workloads, preview.contents, preview.objects, preview.revisions)
    changes = Counter(each.change for entries in lists for each in entries)
    effects = Counter(each.effect for each in preview.workloads)
    search = tag(
        "p",
        tag("label", "Search", for_="search"),
        tag(
            "input",
            id="search",
            type="search",
            placeholder="name, key or path",
            autocomplete="off",
            spellcheck="false",
            aria_keyshortcuts="/",
        ),
        class_="search",
    )
    filters = tag(
        "details",
        tag("summary", "Filter", tag("span", id="active")),
        _choices("Change", "change", changes, _CHANGES),
        _choices("Effect on workloads", "effect", effects, words.EFFECTS),
        id="filters",
        open=True,
    )
    results = tag("p", id="results", role="status")
    clear = tag("button", "Clear", type="button", id="clear", redacted=True)
    find = tag("search", search, filters, tag("div", results, clear, class_="found"))
    layout = _radios("Diffs", "layout", (("inline", "Inline"), ("split", "Side by side")))
    theme = _radios("Colours", "theme", (("auto", "Auto"), ("light", "Light"), ("dark", "Dark")))
    fold = tag(
        "div",
        tag("button", "Unfold all", type="button", id="unfold"),
        tag("button", "Fold all", type="button", id="fold"),
        class_="buttons",
    )
    keys = tag("details", tag("summary", "Keys"), _keys(), class_="keys")
    look = tag("div", layout, theme, fold, keys, class_="look")
    view = tag("details", tag("summary", "View"), look, id="view", open=True)
    tools = tag("div", find, view, class_="script")
    return tag("aside", _contents(preview), tools, class_="tools", aria_label="Find and view")


def _choices(legend: str, name: str, numbers: Counter[str], order: Iterable[str]) -> Html:
    chips = [
        tag(
            "label",
            tag("input", type="checkbox", name=name, value=each),
            tag("span", each, " ", tag("small", f"{numbers[each]:,}")),
        )
        for each in order
        if numbers[each]
    ]
    return tag("fieldset", tag("legend", legend), *chips, class_="chips") if chips else Html("")


def _radios(legend: str, name: str, options: Iterable[tuple[str, str]]) -> Html:
    context = [
        tag("label", tag("input", type="radio", name=name, value=value), tag("span", label))
        for value, label in options
    ]
    return tag("fieldset", tag("legend", legend), tag("div", *context), class_="switch")


def _keys() -> Html:
    keys = [
        ("/", "search"),
        ("j ↓", "next entry"),
        ("k ↑", "previous entry"),
        ("Enter", "fold or unfold"),
        ("Esc", "clear search and filters"),
    ]
    rows = [tag("li", tag("kbd", key), " ", what) for key, what in keys]
    box = tag("input", type="checkbox", id="letters", checked=True)
    return joined(tag("ul", *rows), tag("label", box, " Use / j k as shortcuts", class_="letters"))


def _contents(preview: Preview) -> Html:
    """Return links to the sections that the page has."""
    sections = [
        ("undecided", preview.undecided),
        ("workloads", preview.workloads),
        ("contents", preview.contents),
        ("graph", preview.graph.nodes),
        ("revisions", preview.revisions),
        ("objects", preview.objects),
    ]
    links = [
        tag("a", words.TITLES[name], " ", tag("small", f"{len(changes):,}"), href=f"#{name}")
        for name, changes in sections
        if changes
    ]
    items = (tag("li", link) for link in links)
    return tag("nav", tag("ul", *items), aria_label="Sections") if links else Html("")


# ---- the sections


def _main(preview: Preview) -> Html:
    names = entries.Names.of(preview)
    lines = sum(
        len(hunk.lines) for each in preview.contents for key in each.keys for hunk in key.hunks
    )
    is_open = lines <= _OPEN_LINES
    groups = words.alike_by_effect(preview.workloads)
    few = len(groups) <= _OPEN_WORKLOADS
    undecided = map(entries.undecided, preview.undecided)
    workloads = (entries.workloads(each, names, few) for each in groups)
    contents = (entries.contents(each, names, is_open) for each in find_alike(preview.contents))
    told, others = words.shown_revisions(preview)
    revisions = [entries.revision(each, names) for each in told]
    for change in (REUSED, RETAINED):
        revisions += entries.kept([each for each in others if each.change == change], names)
    objects = (entries.objects(each, names, few) for each in find_alike(preview.objects))
    sections = [
        _section("undecided", preview.undecided, undecided),
        _section("workloads", preview.workloads, workloads),
        _section("contents", preview.contents, contents),
        graph_markup(preview.graph, names),
        _section("revisions", preview.revisions, revisions),
        _section("objects", preview.objects, objects),
    ]
    empty = tag("p", "Nothing matches.", id="empty", class_="nothing", redacted=True)
    nothing = tag("p", "Nothing changes.", class_="nothing")
    return tag("main", empty, *([*filter(None, sections)] or [nothing]), id="main", tabindex="-1")


def _section(name: str, changes: Sized, shown: Iterable[Html]) -> Html:
    return entries.section_markup(name, len(changes), *shown) if changes else Html("")
