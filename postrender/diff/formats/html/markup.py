"""Functions that build safe HTML: they escape every text that is not an Html."""

from __future__ import annotations

import html

from postrender.text.escapes import visible

_VOID = frozenset({"input", "link", "meta"})


class Html(str):
    """A text that is already markup and is not escaped again."""

    __slots__ = ()


def escaped(text: str) -> Html:
    """Return a text as markup, in which characters of HTML and invisible characters are escaped."""
    if text.replace("\t", "").isprintable():
        return Html(html.escape(text))
    return Html("".join(map(_character, text)))


def _character(character: str) -> str:
    shown = visible(character, keep="\t")
    safe = html.escape(shown)
    return safe if shown == character else f'<u class="unseen">{safe}</u>'


def tag(name: str, /, *children: str, **attributes: str | bool) -> Html:
    """Return an element; `class_` becomes class, `data_x` becomes data-x, and False is left out."""
    start = name + "".join(_attribute(key, value) for key, value in attributes.items())
    return Html(f"<{start}>" if name in _VOID else f"<{start}>{joined(*children)}</{name}>")


def _attribute(name: str, value: str | bool) -> str:
    if value is False:
        return ""
    key = name.rstrip("_").replace("_", "-")
    return f" {key}" if value is True else f' {key}="{html.escape(visible(value))}"'


def joined(*parts: str) -> Html:
    """Return the parts, joined as markup. The function escapes the parts that are not markup."""
    return Html("".join(part if isinstance(part, Html) else escaped(part) for part in parts))
