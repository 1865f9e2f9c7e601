"""Functions that build safe HTML, and escape every text that is not of the class Html."""

from __future__ import annotations

import html

from postrender.text import visible

_VOID = frozenset({"input", "link", "meta"})


class Html(str):
    """A text that is already markup. The functions of this module do not escape the text again."""

    __slots__ = ()


def escaped(text: str) -> Html:
    """Return a text as markup, with escapes for invisible characters and HTML syntax."""
    if text.replace("\t", "").isprintable():
        return Html(html.escape(text))
    return Html("".join(map(_character, text)))


def _character(character: str) -> str:
    shown = visible(character, keep="\t")
    safe = html.escape(shown)
    return safe if shown == character else f'<u class="unseen">{safe}</u>'


def tag(name: str, /, *children: str, **attributes: str | bool) -> Html:
    """Return an element.

    children: the content. The function escapes each text that is not Html.
    attributes: `class_` becomes class, and `data_x` becomes data-x. True means an attribute without
    a value, and False means that the element does not have the attribute.
    """
    start = name + "".join(_attribute(key, value) for key, value in attributes.items())
    return Html(f"<{start}>" if name in _VOID else f"<{start}>{joined(*children)}</{name}>")


def _attribute(name: str, value: str | bool) -> str:
    if value is False:
        return ""
    key = name.rstrip("_").replace("_", "-")
    return f" {key}" if value is True else f' {key}="{html.escape(visible(value))}"'


def joined(*parts: str) -> Html:
    """Return the parts as one markup text. The function escapes the parts that are not markup."""
    return Html("".join(part if isinstance(part, Html) else escaped(part) for part in parts))
