"""The site of an edit: where in the text of a document the edit is made."""

from __future__ import annotations

from postrender.yaml.document import ParsedDocument
from postrender.yaml.edits import Edit, Site
from postrender.yaml.line_sites import locate_in_lines


def locate(document: ParsedDocument, edit: Edit) -> Site | None:
    """Return the site of an edit, or None if the object must be written again."""
    site = locate_in_lines(document.plain, edit) if document.plain else None
    if site is not None:
        return site
    from postrender.yaml.node_sites import locate_in_nodes

    return locate_in_nodes(document.nodes, edit)
