"""A preview as one HTML page, readable without a network and without JavaScript.

The page lists the references as text; page.js draws the graph from this list.
"""

from __future__ import annotations

import base64
import html
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from importlib.resources import files

from postrender import __version__
from postrender.diff.formats import Reporter
from postrender.diff.formats.html import Html, entries, joined, tag
from postrender.diff.formats.html.entries import ObjectNames, badge_text, section_markup
from postrender.diff.formats.mermaid import drawn_graph
from postrender.diff.groups import Groups, group_changes
from postrender.diff.model import (
    ADDED,
    CHANGED,
    DROPPED,
    ENDS,
    REMOVED,
    REUSED,
    STARTS,
    UNCHANGED,
    Edge,
    Graph,
    GraphNode,
    Preview,
    RevisionChange,
)
from postrender.diff.summary import (
    group_risks,
    shown_revisions,
    summary_line,
)
from postrender.diff.values import MARKS, Forms
from postrender.diff.words import EFFECTS, NOUNS, TITLES, describe_configuration, mark_of
from postrender.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from postrender.diff.groups import Group
    from postrender.diff.values import Terminal

DOCTYPE = "<!doctype html>"

# When the page opens, ConfigMaps and Secrets are folded if the page has more than _OPEN_LINES diff
# lines. Workloads and other objects are folded if the page has more than _OPEN_GROUPS groups of
# workloads.
_OPEN_LINES = 400
_OPEN_GROUPS = 40

# The order of the filters for changes. The filters for effects are in the order of EFFECTS.
_CHANGES = (ADDED, REMOVED, CHANGED, UNCHANGED, REUSED, DROPPED)


class HtmlReporter(Reporter):
    """The page for a browser."""

    file_suffix = "html"
    escapes = ("&#58;", "&#35;")

    def render(self, preview: Preview, terminal: Terminal) -> str:
        """A preview as a page, which contains its style and its script."""
        style, script = _asset("page.css"), _asset("page.js")
        title = f"Changes from {preview.old} to {preview.new}"
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
        names = ObjectNames(preview)
        groups = group_changes(preview)
        counts = _counts(preview, groups)
        has_entries = any(count for name, count in counts.items() if name != "graph")
        main = _main(preview, groups, counts, names)
        columns = (_tools(preview, counts), main) if has_entries else (main,)
        body = [
            tag("a", "Skip to the changes", class_="skip", href="#main"),
            _header(preview, groups, counts, names),
            tag("div", *columns, class_="columns with-tools" if has_entries else "columns"),
        ]
        root = tag("html", tag("head", *head), tag("body", *body), lang="en")
        return f"{DOCTYPE}\n{root}\n"


def _asset(name: str) -> Html:
    return Html(files("postrender.diff.formats.html").joinpath(name).read_text("utf-8"))


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(sha256(text.encode()).digest()).decode()


# ---- header


def _header(
    preview: Preview, groups: Groups, counts: Mapping[str, int], names: ObjectNames
) -> Html:
    sides = [tag("code", preview.old), tag("span", " → ", class_="arrow"), tag("code", preview.new)]
    used = describe_configuration(preview.configuration, str, preview.old_configuration)
    parts = [
        tag("p", "postrender diff", class_="brand"),
        tag("h1", "Changes ", tag("span", *sides, class_="sides")),
        tag("p", summary_line(preview), class_="summary"),
        *([tag("p", used, class_="summary")] if used else []),
        _risks(preview, names),
        _tiles(groups, counts),
    ]
    return tag("header", *parts)


def _risks(preview: Preview, names: ObjectNames) -> Html:
    if not preview.risks:
        return Html("")
    items = [entries.risk_entry(group, names) for group in group_risks(preview.risks)]
    return section_markup("risks", len(preview.risks), tag("ul", *items))


def _tiles(groups: Groups, counts: Mapping[str, int]) -> Html:
    workloads = (workload for members, *_ in groups.workloads for workload in members)
    effects = Counter(workload.effect for workload in workloads)
    tiles = [
        *(_tile(effects[effect], _effect_words(effect), "workloads", effect) for effect in EFFECTS),
        *(
            _tile(count, NOUNS[name], name, name if name == "undecided" else "")
            for name, count in counts.items()
            if name not in ("risks", "workloads", "graph")
        ),
    ]
    return tag("ul", *tiles, class_="tiles") if any(tiles) else Html("")


def _counts(preview: Preview, groups: Groups) -> dict[str, int]:
    """The number of items in each section, in the order of the page."""
    return {
        "risks": len(preview.risks),
        "undecided": len(preview.undecided),
        "workloads": _count(groups.workloads),
        "contents": _count(groups.contents),
        "graph": len(drawn_graph(preview).nodes),
        "revisions": len(shown_revisions(preview)),
        "objects": _count(groups.objects),
        "labels": _count(groups.labels),
    }


def _count(groups: Iterable[Group[Any]]) -> int:
    return sum(len(members) for members, *_ in groups)


def _effect_words(effect: str) -> Forms:
    noun, verb = NOUNS["workloads"], EFFECTS[effect].verb
    if effect in (STARTS, ENDS):  # the verb alone would not show that the tile counts workloads
        return Forms(f"{noun.one} {verb.one}", f"{noun.many} {verb.many}")
    return verb


def _tile(count: int, forms: Forms, section: str, kind: str = "") -> Html:
    """A count with a link to the section, or "" if it is 0; kind: for the colour in page.css."""
    if not count:
        return Html("")
    parts = tag("b", f"{count:,}"), " ", tag("span", forms.of(count))
    return tag("li", tag("a", *parts, href=f"#{section}", data_kind=kind or False))


# ---- search, filters and view


def _tools(preview: Preview, counts: Mapping[str, int]) -> Html:
    # The lines of view.html are indented, and the page has no blanks between elements.
    view = Html("".join(map(str.strip, _asset("view.html").splitlines())))
    tools = tag("div", _search(preview), view, class_="script")
    links = _section_links(counts)
    return tag("aside", links, tools, class_="tools", aria_label="Find and view")


def _search(preview: Preview) -> Html:
    lists = (preview.workloads, preview.contents, preview.objects, shown_revisions(preview))
    marks = {mark: change for change, mark in MARKS.items()}
    changes = Counter(
        item.change if isinstance(item, RevisionChange) else marks[mark_of(item)]
        for items in lists
        for item in items
    )
    effects = Counter(workload.effect for workload in preview.workloads)
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
        _checkboxes("Change", "change", changes, _CHANGES),
        _checkboxes("Effect on workloads", "effect", effects, EFFECTS),
        id="filters",
        open=True,
    )
    results = tag("p", id="results", role="status")
    clear = tag("button", "Clear", type="button", id="clear", hidden=True)
    return tag("search", search, filters, tag("div", results, clear, class_="found"))


def _checkboxes(legend: str, name: str, counts: Counter[str], order: Iterable[str]) -> Html:
    boxes = [
        tag(
            "label",
            tag("input", type="checkbox", name=name, value=value),
            tag("span", entries.badge_text(value), " ", tag("small", f"{counts[value]:,}")),
        )
        for value in order
        if counts[value]
    ]
    return tag("fieldset", tag("legend", legend), *boxes, class_="chips") if boxes else Html("")


def _section_links(counts: Mapping[str, int]) -> Html:
    links = [
        tag("li", tag("a", TITLES[name], " ", tag("small", f"{count:,}"), href=f"#{name}"))
        for name, count in counts.items()
        if count
    ]
    return tag("nav", tag("ul", *links), aria_label="Sections")


# ---- sections


def _main(preview: Preview, groups: Groups, counts: Mapping[str, int], names: ObjectNames) -> Html:
    keys = (key for _, shared, _ in groups.contents for key in shared.keys)
    lines = sum(len(hunk.lines) for key in keys for hunk in key.hunks)
    is_short = len(groups.workloads) <= _OPEN_GROUPS
    told: list[Group[Any]] = [*groups.workloads, *groups.contents, *groups.objects]
    elsewhere = {change.identity for members, *_ in told for change in members}

    def rows(section: str) -> Iterator[Html]:
        if section == "undecided":
            yield from map(entries.undecided_entry, preview.undecided)
        elif section == "revisions":
            yield from (entries.revision_entry(item, names) for item in shown_revisions(preview))
        else:
            is_open = lines <= _OPEN_LINES if section == "contents" else is_short
            links = elsewhere if section == "labels" else ()
            for group in getattr(groups, section):
                yield entries.change_entry(group, names, is_open=is_open, elsewhere=links)

    sections = [
        graph_markup(drawn_graph(preview), names)
        if name == "graph"
        else entries.section_markup(name, count, *rows(name))
        for name, count in counts.items()
        if count and name != "risks"
    ]
    empty = tag("p", "No matches.", id="empty", class_="nothing", hidden=True)
    nothing = tag("p", "No changes.", class_="nothing")
    return tag("main", empty, joined(*sections) or nothing, id="main", tabindex="-1")


def graph_markup(graph: Graph, names: ObjectNames) -> Html:
    """The section with the graph, "" if the graph is empty."""
    if not graph.nodes:
        return Html("")
    outgoing: dict[int, list[Edge]] = {}
    for edge in graph.edges:
        outgoing.setdefault(edge.source, []).append(edge)
    items = [
        _node(node, outgoing.get(index, []), graph, names) for index, node in enumerate(graph.nodes)
    ]
    return section_markup(
        "graph",
        len(graph.nodes),
        tag("div", id="drawing", class_="drawing script"),
        tag("details", tag("summary", "As text"), tag("ul", *items), id="references", open=True),
    )


def _node(node: GraphNode, outgoing: list[Edge], graph: Graph, names: ObjectNames) -> Html:
    state = badge_text(node.effect or node.change)
    edges = [_edge(edge, graph, names) for edge in outgoing]
    return tag(
        "li",
        names.link(node.identity),
        " ",
        tag("small", state),
        *([" references ", tag("ul", *edges)] if edges else []),
        data_role=node.role,
        data_change=node.change,
        data_state=state,
        data_name=names.name(node.identity),
    )


def _edge(edge: Edge, graph: Graph, names: ObjectNames) -> Html:
    change = f", {edge.change}" if edge.change != UNCHANGED else ""
    return tag(
        "li",
        names.plain(graph.nodes[edge.target].identity),
        f" ({edge.label}{change})",
        data_to=str(edge.target),
        data_label=edge.label,
        data_change=edge.change,
    )
