"""The graph of who names what in the HTML page: a list for readers, which page.js also draws."""

from __future__ import annotations

from postrender.diff.formats.html.entries import Names, section_markup
from postrender.diff.formats.html.markup import Html, tag
from postrender.diff.model import ADDED, REMOVED, Edge, Graph, GraphNode


def graph_markup(graph: Graph, names: Names) -> Html:
    """Return the section with the graph, "" where there is none."""
    nodes, edges = graph
    if not nodes:
        return Html("")
    leaving: dict[int, list[Edge]] = {}
    for edge in edges:
        leaving.setdefault(edge.source, []).append(edge)
    items = [_node(node, leaving.get(at, []), nodes, names) for at, node in enumerate(nodes)]
    return section_markup(
        "graph",
        len(nodes),
        tag("div", id="drawing", class_="drawing script"),
        tag("details", tag("summary", "As text"), tag("ul", *items), id="names", open=True),
    )


def _node(node: GraphNode, leaving: list[Edge], nodes: tuple[GraphNode, ...], names: Names) -> Html:
    state = node.effect or node.change
    edges = [_edge(edge, nodes, names) for edge in leaving]
    return tag(
        "li",
        names.link(node.identity),
        " ",
        tag("small", state),
        *([" names ", tag("ul", *edges)] if edges else []),
        data_role=node.role,
        data_change=node.change,
        data_state=state,
        data_name=names.name(node.identity),
    )


def _edge(edge: Edge, nodes: tuple[GraphNode, ...], names: Names) -> Html:
    change = {ADDED: ", new", REMOVED: ", no longer"}.get(edge.change, "")
    return tag(
        "li",
        names.plain(nodes[edge.target].identity),
        f" ({edge.label}{change})",
        data_to=str(edge.target),
        data_by=edge.label,
        data_change=edge.change,
    )
