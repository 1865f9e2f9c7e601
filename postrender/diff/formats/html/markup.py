"""HTML that is safe by construction: what is not already markup is escaped when it is put in."""

from __future__ import annotations

import html

from postrender.text.escapes import visible

_VOID = frozenset({"input", "link", "meta"})


class Html(str):
    """Text that is markup already, and is not escaped again."""

    __slots__ = ()


def escaped(text: str) -> Html:
    """Return a text as markup, in which characters that are not seen are written out."""
    if text.replace("\t", "").isprintable():
        return Html(html.escape(text))
    return Html("".join(map(_character, text)))


def _character(character: str) -> str:
    shown = visible(character, keep="\t")
    safe = html.escape(shown)
    return safe if shown == character else f'<u class="unseen">{safe}</u>'


def tag(name: str, /, *children: str, **attributes: str | bool) -> Html:
    """Return an element. `class_` is its attribute class, `data_x` data-x; False is for none."""
    start = name + "".join(_attribute(key, value) for key, value in attributes.items())
    return Html(f"<{start}>" if name in _VOID else f"<{start}>{joined(*children)}</{name}>")


def _attribute(name: str, value: str | bool) -> str:
    if value is False:
        return ""
    key = name.rstrip("_").replace("_", "-")
    return f" {key}" if value is True else f' {key}="{html.escape(visible(value))}"'


def joined(*parts: str) -> Html:
    """Return markup and texts one after the other, as markup."""
    return Html("".join(each if isinstance(each, Html) else escaped(each) for each in parts))
