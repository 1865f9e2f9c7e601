"""Edits made in the text of a document, with every other byte left as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from postrender.errors import Location, UserError
from postrender.startup.patterns import pattern
from postrender.startup.records import NamedTuple
from postrender.yaml.edits import Addition, AddKeys, Edit, Remove, SetScalar
from postrender.yaml.emit import block_text, flow_text
from postrender.yaml.paths import Json, Path, format_path
from postrender.yaml.sites import Site, SiteKey

_PLAIN_ANYWHERE = pattern(r"[A-Za-z/][A-Za-z0-9._/-]*\Z|[0-9a-f]*[.-][A-Za-z0-9.-]*[A-Za-z]\Z")


class Splice(NamedTuple):
    """Characters start to end of a text are to be replaced by another text."""

    start: int
    end: int
    text: str


def apply_splices(text: str, splices: Iterable[Splice]) -> str:
    """Return text with all splices made; several at one point keep their order."""
    parts, position = [], 0
    for splice_ in sorted(dict.fromkeys(splices), key=lambda splice_: (splice_.start, splice_.end)):
        parts += [text[position : splice_.start], splice_.text]
        position = splice_.end
    return "".join([*parts, text[position:]])


def splice(
    edits: Sequence[Edit],
    all_edits: Sequence[Edit],
    sites: Mapping[SiteKey, Site | None],
    newline: str,
    location_of: Callable[[Path], Location],
) -> list[Splice] | None:
    """Return the splices that make edits, or None where one has no plain site.

    all_edits: those of the whole document, among which an alias must find its own; place: of a
    path, asked for only where an error needs it.
    Raises UserError where an alias reads a string that only one of its places may change.
    """
    splices: dict[tuple[int, int], list[Splice]] = {}
    wanted: set[tuple[str, Path, str]] = set()
    for edit in edits:
        site = sites[type(edit), edit.path]
        if site is None or isinstance(edit, Remove):
            return None
        if site.others and not wanted:
            wanted = set(map(_key_of, all_edits))
        for other in site.others:
            if _key_of(edit._replace(path=other)) not in wanted:
                if isinstance(edit, SetScalar):
                    _refuse_alias(edit, other, location_of(edit.path))
                return None
        made = _splice(edit, site, newline)
        at = splices.setdefault((site.start, site.end), [])
        if made not in at:
            at.append(made)
    if any(len(at) > 1 and at[0].end > at[0].start for at in splices.values()):
        return None
    return [made for at in splices.values() for made in at]


def _key_of(edit: Edit) -> tuple[str, Path, str]:
    """Return what two equal edits have in common; an edit itself may hold unhashable data."""
    return type(edit).__name__, edit.path, repr(edit[1:])


def _refuse_alias(edit: SetScalar, other: Path, location: Location) -> None:
    raise UserError(
        f"{format_path(edit.path)} is to become {edit.value!r}, but {format_path(other)} shares "
        "its text through an alias and is to stay as it is",
        "write the string out at one of the two places",
        location,
    )


def _splice(edit: SetScalar | Addition, site: Site, newline: str) -> Splice:
    return Splice(site.start, site.end, _FORMS[site.form](_content(edit, site), site, newline))


def _content(edit: SetScalar | Addition, site: Site) -> Json:
    if isinstance(edit, SetScalar):
        return edit.value
    content: Json = dict(edit.entries) if isinstance(edit, AddKeys) else list(edit.items)
    for key in reversed(site.missing):
        content = {str(key): content}
    return content


def _scalar(value: Json, site: Site, newline: str) -> str:
    if site.quote == "'" and isinstance(value, str) and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if site.quote in ("|", ">"):
        return flow_text(value) + newline
    if isinstance(value, str) and not site.quote and _PLAIN_ANYWHERE.match(value):
        return value
    return flow_text(value)


def _block(content: Json, site: Site, newline: str) -> str:
    return block_text(content, site.indent, newline) + newline + " " * site.indent


def _block_after(content: Json, site: Site, newline: str) -> str:
    return newline + " " * site.indent + block_text(content, site.indent, newline)


def _value(content: Json, _site: Site, _newline: str) -> str:
    return " " + flow_text(content)


def _whole(content: Json, _site: Site, _newline: str) -> str:
    return flow_text(content)


def _flow(content: Json, _site: Site, _newline: str) -> str:
    return flow_text(content)[1:-1] + ", "


def _flow_after(content: Json, _site: Site, _newline: str) -> str:
    return ", " + flow_text(content)[1:-1]


def _lines_of(content: Json, site: Site, newline: str) -> str:
    return " " * site.indent + block_text(content, site.indent, newline) + newline


_FORMS: dict[str, Callable[[Json, Site, str], str]] = {
    "scalar": _scalar,
    "value": _value,
    "whole": _whole,
    "flow": _flow,
    "flow-after": _flow_after,
    "block": _block,
    "block-after": _block_after,
    "lines": _lines_of,
}
