"""The application of edits to the text of a document, with every other byte unchanged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter

from postrender.errors import Location, UserError
from postrender.records import NamedTuple
from postrender.yaml.edits import Addition, AddKeys, Edit, Remove, SetScalar, Site, SiteKey
from postrender.yaml.emit import block_text, flow_text
from postrender.yaml.paths import Json, Path, format_path
from postrender.yaml.scalars import resolve_plain

# A string that does not need quotes in block or flow style. _is_plain also excludes words such as
# `true`, which YAML does not read as strings.
_PLAIN_ANYWHERE = re.compile(r"[A-Za-z/][A-Za-z0-9._/-]*\Z|[0-9a-f]*[.-][A-Za-z0-9.-]*[A-Za-z]\Z")


class Splice(NamedTuple):
    """A text that replaces the characters from index `start` up to index `end` of a document."""

    start: int
    end: int
    text: str


def apply_splices(text: str, splices: Iterable[Splice]) -> str:
    """Return a text with splices applied.

    The function applies equal splices once. Different splices with the same range keep the order
    of the argument.
    """
    parts, position = [], 0
    for start, end, replacement in sorted(dict.fromkeys(splices), key=attrgetter("start", "end")):
        parts += [text[position:start], replacement]
        position = end
    return "".join([*parts, text[position:]])


def splice(
    edits: Sequence[Edit],
    all_edits: Sequence[Edit],
    sites: Mapping[SiteKey, Site | None],
    newline: str,
    location_of: Callable[[Path], Location],
) -> list[Splice] | None:
    """Return the splices for edits, or None if postrender must write the whole object again.

    The result is None if an edit lacks a site or is a Remove. The result is also None if two edits
    replace the same text differently. For an addition to a value with aliases, the result is None
    unless all_edits has the same addition for each alias.

    edits: the edits of one object.
    all_edits: the edits of all objects of the document.
    sites: the site of each edit, None if `locate` has not found the site.
    newline: the line break of the new text.
    location_of: a function that returns the location of a path, for errors.
    Raises UserError if an edit changes a string with aliases, but all_edits lacks the same change
    at the path of an alias.
    """
    splices: dict[tuple[int, int], list[Splice]] = {}
    edit_keys: set[str] = set()
    for edit in edits:
        site = sites[type(edit), edit.path]
        if site is None or isinstance(edit, Remove):
            return None
        if site.alias_paths and not edit_keys:
            edit_keys = set(map(repr, all_edits))
        for path in site.alias_paths:
            if repr(edit._replace(path=path)) not in edit_keys:
                if isinstance(edit, SetScalar):
                    _refuse_alias(edit, path, location_of(edit.path))
                return None
        new = Splice(site.start, site.end, _new_text(_content(edit, site), site, newline))
        same_site = splices.setdefault((site.start, site.end), [])
        if new not in same_site:
            same_site.append(new)
    if any(len(same_site) > 1 and start < end for (start, end), same_site in splices.items()):
        return None
    return [new for same_site in splices.values() for new in same_site]


def _refuse_alias(edit: SetScalar, alias: Path, location: Location) -> None:
    path, alias_path = format_path(edit.path), format_path(alias)
    raise UserError(
        f"{path} and {alias_path} share one string through a YAML alias, but postrender would "
        "change only the string at the first path",
        "Write the string at both paths, without an alias",
        location,
    )


def _content(edit: SetScalar | Addition, site: Site) -> Json:
    if isinstance(edit, SetScalar):
        return edit.value
    content: Json = dict(edit.entries) if isinstance(edit, AddKeys) else list(edit.items)
    for key in reversed(site.missing):
        content = {str(key): content}
    return content


def _new_text(content: Json, site: Site, newline: str) -> str:
    """Return the text that replaces a site, in the form of the site."""
    form, indent = site.form, " " * site.indent
    if form == "scalar":
        return _scalar(content, site, newline)
    if form == "value":
        return " " + flow_text(content)
    if form == "whole":
        return flow_text(content)
    if form == "flow":
        return flow_text(content)[1:-1] + ", "
    if form == "flow-after":
        return ", " + flow_text(content)[1:-1]
    text = block_text(content, site.indent, newline)
    if form == "block":
        return text + newline + indent
    if form == "block-after":
        return newline + indent + text
    return indent + text + newline


def _scalar(value: Json, site: Site, newline: str) -> str:
    if site.quote == "'" and isinstance(value, str) and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if site.quote in ("|", ">"):
        return flow_text(value) + newline
    if isinstance(value, str) and not site.quote and _is_plain(value):
        return value
    return flow_text(value)


def _is_plain(value: str) -> bool:
    """Return whether a string certainly does not need quotes."""
    return _PLAIN_ANYWHERE.match(value) is not None and resolve_plain(value) == value
