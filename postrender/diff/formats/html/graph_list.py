"""The reference graph in the HTML page, as a list. page.js draws the graph from this list."""

from __future__ import annotations

from postrender.diff.formats.html.entries import ObjectNames, badge_text, section_markup
from postrender.diff.formats.html.markup import Html, tag
from postrender.diff.model import UNCHANGED, Edge, Graph, GraphNode


def graph_markup(graph: Graph, names: ObjectNames) -> Html:
    """Return the section with the graph, "" if the graph is empty."""
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
