"""The entries of the HTML page: an element for each change, or for a group of equal changes."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from postrender.diff.formats.html import (
    Html,
    code_markup,
    escaped,
    fields_markup,
    hunks_markup,
    joined,
    sign_markup,
    tag,
    values_markup,
)
from postrender.diff.lines import shown_hunks
from postrender.diff.model import (
    ADDED,
    CHANGED,
    ENV,
    IMAGE,
    REMOVED,
    TEMPLATE,
    Cause,
    ContentChange,
    KeyChange,
    ObjectChange,
    Preview,
    RevisionChange,
    Risk,
    Undecided,
    WorkloadChange,
    change_of,
)
from postrender.diff.values import (
    MARKS,
    Style,
    and_more,
    capitalised,
    counted,
    describe_key,
    namer,
    whole_values,
)
from postrender.diff.words import (
    EFFECTS,
    OUTSIDE_DATA,
    TITLES,
    brief_cause,
    describe_cause,
    describe_facts,
    describe_names,
    describe_rest,
    describe_revision,
    describe_risks,
    describe_shared,
    describe_users,
    explain_change,
    mark_of,
    own_replacement,
    revision_name,
)
from postrender.kubernetes.kinds import Identity
from postrender.text import with_visible_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from postrender.diff.alike import AnyChange
    from postrender.diff.groups import Group

# The page folds a list with more objects than this number.
_OPEN_MEMBERS = 12


class ObjectNames:
    """The names of objects on the page, with links to the entries of the objects.

    style: formats names of objects as links, and other names and values as code.
    """

    __slots__ = ("_anchors", "_effects", "name", "style")

    def __init__(self, preview: Preview) -> None:
        identities = {
            "o": [change.identity for change in preview.objects],
            "c": [content.identity for content in preview.contents],
            "w": [workload.identity for workload in preview.workloads],
        }
        self._anchors = {
            identity: f"{letter}{number}"
            for letter, members in identities.items()
            for number, identity in enumerate(members)
        }
        self._effects = {workload.identity: workload.effect for workload in preview.workloads}
        self.name = namer(preview)
        self.style = Style(code=_code, prose=escaped, name=self.link, arrow="→")

    def plain(self, identity: Identity) -> Html:
        """The name of an object as markup, in which the kind is less prominent."""
        kind = self.name(identity).partition("/")[0]
        parts = [tag("span", f"{kind}/", class_="kind"), code_markup(identity.name)]
        if identity.namespace:
            parts += [tag("span", " in ", class_="kind"), code_markup(identity.namespace)]
        return tag("span", *parts, class_="name")

    def link(self, identity: Identity) -> Html:
        """The name of an object, as a link if the object has an entry."""
        anchor, name = self._anchors.get(identity), self.plain(identity)
        return tag("a", name, href=f"#{anchor}") if anchor else name

    def effects_on(self, identities: Iterable[Identity]) -> list[str]:
        """The effects on those objects that are workloads."""
        return [self._effects[identity] for identity in identities if identity in self._effects]

    def anchor(self, identity: Identity) -> str:
        """The anchor of an object that has an entry."""
        return self._anchors[identity]


def section_markup(name: str, count: int, *parts: Html) -> Html:
    """A section of the page, with its title and the number of its items."""
    number = tag("small", f"{count:,}", class_="count")
    heading = tag("h2", TITLES[name], " ", number, id=f"{name}-h")
    return tag("section", heading, *parts, id=name, aria_labelledby=f"{name}-h")


def badge_text(word: str) -> str:
    """The text of the badge for a change or an effect."""
    return (word in EFFECTS and EFFECTS[word].badge) or word


def _code(text: str) -> str:
    return text if isinstance(text, Html) else code_markup(text)


def _badge(word: str) -> Html:
    return tag("span", badge_text(word), class_=f"badge {word.replace(' ', '-')}")


def _sentence(clause: str) -> Html:
    return tag("p", Html(f"{capitalised(clause)}."))


def risk_entry(group: Sequence[Risk], names: ObjectNames) -> Html:
    """The item of a risk, with the objects that it is about."""
    facts, consequence = describe_risks(group, names.style)
    if facts:
        items = tag("ul", *(tag("li", Html(fact)) for fact in facts))
        return tag("li", Html(consequence), items)
    objects = Html(", ".join(names.link(risk.identity) for risk in group))
    return tag("li", objects, ": ", Html(consequence))


def undecided_entry(item: Undecided) -> Html:
    """The entry of a part of the comparison that diff cannot decide."""
    parts = [
        tag("p", tag("code", item.location)),
        tag("p", item.problem),
        tag("p", tag("b", "Fix: "), item.fix),
    ]
    return tag("div", *parts, class_="entry note", tabindex="-1")


def change_entry(
    group: Group[Any],
    names: ObjectNames,
    *,
    is_open: bool,
    elsewhere: Container[Identity] = (),
) -> Html:
    """The entry of a change, or of a group.

    elsewhere: the objects that have another entry.
    """
    members, shared, rest = group
    clause = explain_change(shared)
    parts = [_sentence(escaped(clause))] if clause else []
    for change in rest:
        title = tag("h4", Html(capitalised(describe_rest(change, names.style))))
        parts.append(tag("div", title, _body(change, names, is_open), class_="rest"))
    if rest:
        parts.append(tag("h4", capitalised(describe_shared(group))))
    parts.append(_body(shared, names, is_open, len(members)))
    change = CHANGED if mark_of(shared) == MARKS[CHANGED] else shared.change
    badge = shared.effect if isinstance(shared, WorkloadChange) else change
    title, attributes = names.plain(members[0].identity), {}
    if len(members) > 1:
        title = joined(title, " ", tag("span", and_more(len(members) - 1), class_="more"))
        parts.append(_member_list(members, shared, names, elsewhere))
    else:
        attributes = _attributes(shared, names, elsewhere)
    attributes["data_change"] = change
    line = [_badge(badge), tag("h3", title), tag("span", _brief((*rest, shared)), class_="brief")]
    if not (body := joined(*parts)):
        return tag("div", *line, class_="entry line", tabindex="-1", **attributes)
    inside = tag("div", body, class_="body")
    return tag("details", tag("summary", *line), inside, class_="entry", open=is_open, **attributes)


def _attributes(
    change: AnyChange, names: ObjectNames, elsewhere: Container[Identity]
) -> dict[str, str | bool]:
    """The HTML attributes for the anchor of an object, and for the filter by effect."""
    identity = change.identity
    users = change.users if isinstance(change, ContentChange) else (identity,)
    return {
        "id": identity not in elsewhere and names.anchor(identity),
        "data_effects": ",".join(sorted(set(names.effects_on(users)))) or False,
    }


def _member_list(
    members: Sequence[AnyChange],
    shared: AnyChange,
    names: ObjectNames,
    elsewhere: Container[Identity],
) -> Html:
    """The objects of a group, with what is true of each; a link if it has another entry."""
    items = []
    for change in members:
        identity = change.identity
        name = (names.link if identity in elsewhere else names.plain)(identity)
        facts: str = own_replacement(change, shared)
        if isinstance(change, ContentChange):
            facts = _facts(
                (*describe_names(change, names.style), *describe_users(change, names.style))
            )
        own = [": ", tag("span", facts, class_="facts")] if facts else []
        attributes = _attributes(change, names, elsewhere)
        items.append(tag("li", name, *own, class_="member", tabindex="-1", **attributes))
    title = f"The same change in {'both' if len(members) == 2 else f'all {len(members):,}'}"
    summary = tag("summary", f"{title} ", tag("small", class_="count"))
    is_open = len(members) <= _OPEN_MEMBERS
    return tag("details", summary, tag("ul", *items), class_="members", open=is_open)


def _brief(changes: Sequence[AnyChange]) -> Html:
    """What changes, for the first line of an entry."""
    *_, last = changes
    if isinstance(last, ObjectChange):
        return escaped(counted(len(last.fields), "field") if last.fields else "")
    causes = (cause for change in changes for cause in getattr(change, "causes", ()))
    keys = {key.key: key for change in changes for key in getattr(change, "keys", ())}
    return joined(
        ", ".join(dict.fromkeys(map(brief_cause, causes))),
        Html(" ".join(_key_name(key) for key in keys.values())),
    )


def _body(change: AnyChange, names: ObjectNames, is_open: bool, count: int = 1) -> Html:
    """The facts of a change; count: of the objects."""
    facts = describe_facts(change, names.style)
    if isinstance(change, WorkloadChange):
        body = [*map(_sentence, facts)]
        causes = [_cause(cause, names) for cause in change.causes]
        body += [tag("ul", *causes, class_="causes")] if causes else []
        title = "" if change.change in (ADDED, REMOVED) else "Outside the pod template"
    elif isinstance(change, ContentChange):
        body = [tag("p", _facts(facts), class_="facts")] if facts else []
        body += [_key(key, change.identity, names, is_open) for key in change.keys]
        title = capitalised(OUTSIDE_DATA.of(count))
    else:
        body, title = [], ""
    if change.fields and title:
        body.append(tag("h4", title))
    return joined(*body, fields_markup(change.fields))


def _cause(cause: Cause, names: ObjectNames) -> Html:
    details = tag("div", *_cause_details(cause, names))
    return tag("li", tag("span", cause.kind, class_="cause"), details)


def _cause_details(cause: Cause, names: ObjectNames) -> list[Html]:
    if cause.kind == TEMPLATE and cause.field:
        return [fields_markup((cause.field,))]
    if cause.kind in (IMAGE, ENV):
        variable = joined(code_markup(cause.variable), " ") if cause.kind == ENV else Html("")
        container = joined("of ", code_markup(cause.container), " ")
        change = change_of(cause.old, cause.new)
        sign = sign_markup(change) if change != CHANGED else Html("")
        return [sign, variable, container, values_markup(cause.old, cause.new)]
    return [Html(describe_cause(cause, names.style).head)]


def _facts(facts: Iterable[str]) -> Html:
    return Html(" · ".join(facts))


def _key_name(key: KeyChange) -> Html:
    return tag("span", sign_markup(key.change), with_visible_end(key.key), class_="key-name")


def _key(key: KeyChange, owner: Identity, names: ObjectNames, is_open: bool) -> Html:
    line = [
        _badge(key.change),
        tag("h4", code_markup(key.key)),
        tag("span", describe_key(key, names.style), class_="numbers"),
    ]
    if key.remark:
        line.append(tag("span", key.remark, class_="remark"))
    values = whole_values(key, names.style.limit)
    if any(values):
        line[-1] = values_markup(*values)
    if not key.hunks or any(values):
        return tag("div", *line, class_="key line")
    pre = tag("pre", hunks_markup(shown_hunks(key)))
    label = f"{key.key} of {names.name(owner)}"
    diff = tag("div", pre, class_="diff", role="group", tabindex="0", aria_label=label)
    if key.fields:
        lines = tag("details", tag("summary", "Lines"), diff, class_="lines")
        diff = joined(fields_markup(key.fields, is_folded=True), lines)
    return tag("details", tag("summary", *line), diff, class_="key", open=is_open)


def revision_entry(revision: RevisionChange, names: ObjectNames) -> Html:
    """The entry of a revision: the status, the base name and, if not redacted, the name."""
    status = describe_revision(revision, names.style)
    parts = [
        _badge(revision.change),
        tag("span", Html(revision_name(revision, names.style)), class_="revision"),
        tag("span", Html(status if status != revision.change else ""), class_="status"),
    ]
    if revision.name:
        parts.append(tag("span", names.link(revision.identity), class_="base"))
    return tag("div", *parts, class_="entry line", tabindex="-1", data_change=revision.change)
