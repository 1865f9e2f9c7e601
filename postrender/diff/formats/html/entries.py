"""The entries of the HTML page: an element for each change, or for a group of equal changes."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence

from postrender.diff.formats.html.markup import (
    Html,
    escaped,
    fields_markup,
    hunks_markup,
    joined,
    sign_markup,
    tag,
    values_markup,
)
from postrender.diff.hunks import shown_hunks
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
    describe_content,
    describe_effect,
    describe_names,
    describe_pods,
    describe_rest,
    describe_revision,
    describe_risk,
    describe_shared,
    describe_users,
    mark_of,
    revision_name,
)
from postrender.kubernetes.kinds import Identity
from postrender.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.diff.groups import Change, Group

# The page folds a list with more objects than this number.
_OPEN_MEMBERS = 12
_NO_FACTS = Html("")


class ObjectNames:
    """The names of objects on the page, with links to the entries of the objects.

    effects: the effect on each workload.
    style: formats names of objects as links, and other names and values as code.
    """

    __slots__ = ("_anchors", "effects", "name", "style")

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
        self.effects = {workload.identity: workload.effect for workload in preview.workloads}
        self.name = namer(preview)
        self.style = Style(code=_code, prose=escaped, name=self.link, arrow="→")

    def plain(self, identity: Identity) -> Html:
        """The name of an object as markup, in which the kind is less prominent."""
        kind = self.name(identity).partition("/")[0]
        parts = [tag("span", f"{kind}/", class_="kind"), tag("code", identity.name)]
        if identity.namespace:
            parts += [tag("span", " in ", class_="kind"), tag("code", identity.namespace)]
        return tag("span", *parts, class_="name")

    def link(self, identity: Identity) -> Html:
        """The name of an object, as a link if the object has an entry."""
        anchor, name = self._anchors.get(identity), self.plain(identity)
        return tag("a", name, href=f"#{anchor}") if anchor else name

    def anchor(self, identity: Identity) -> str:
        """The anchor of an object that has an entry."""
        return self._anchors[identity]


class _Member(NamedTuple):
    """An object of an entry, which has several if their changes are equal.

    attributes: the HTML attributes for the anchor of the object and for the filter by effect.
    facts: about this object only.
    """

    name: Html
    attributes: dict[str, str | bool]
    facts: Html = _NO_FACTS


def section_markup(name: str, count: int, *parts: Html) -> Html:
    """A section of the page, with its title and the number of its items."""
    number = tag("small", f"{count:,}", class_="count")
    heading = tag("h2", TITLES[name], " ", number, id=f"{name}-h")
    return tag("section", heading, *parts, id=name, aria_labelledby=f"{name}-h")


def badge_text(word: str) -> str:
    """The text of the badge for a change or an effect."""
    return EFFECTS[word].badge if word in EFFECTS else word


def _code(text: str) -> str:
    return text if isinstance(text, Html) else tag("code", text)


def _badge(word: str) -> Html:
    return tag("span", badge_text(word), class_=f"badge {word.replace(' ', '-')}")


def _member(
    identity: Identity, names: ObjectNames, effects: Iterable[str] = (), facts: Html = _NO_FACTS
) -> _Member:
    attributes: dict[str, str | bool] = {
        "id": names.anchor(identity),
        "data_effects": ",".join(sorted(set(effects))) or False,
    }
    return _Member(names.plain(identity), attributes, facts)


def _entry(
    members: Sequence[_Member],
    body: Html,
    change: str,
    brief: Html,
    *,
    badge: str = "",
    is_open: bool,
) -> Html:
    """An entry of the page.

    change: for the filter by change and, unless the effect is the `badge`, for the first line.
    brief: a summary of the details, for the first line.
    """
    first, *rest = members
    title, attributes = first.name, dict(first.attributes)
    if rest:
        title = joined(title, " ", tag("span", and_more(len(rest)), class_="more"))
        body, attributes = joined(body, _member_list(members)), {}
    parts = [_badge(badge or change), tag("h3", title), tag("span", brief, class_="brief")]
    attributes["data_change"] = change
    if not body:
        return tag("div", *parts, class_="entry line", tabindex="-1", **attributes)
    inside = tag("div", body, class_="body")
    return tag(
        "details", tag("summary", *parts), inside, class_="entry", open=is_open, **attributes
    )


def _member_list(members: Sequence[_Member]) -> Html:
    title = f"The same change in {'both' if len(members) == 2 else f'all {len(members):,}'}"
    summary = tag("summary", f"{title} ", tag("small", class_="count"))
    is_open = len(members) <= _OPEN_MEMBERS
    return tag("details", summary, tag("ul", *map(_item, members)), class_="members", open=is_open)


def _item(member: _Member) -> Html:
    facts = [": ", tag("span", member.facts, class_="facts")] if member.facts else []
    return tag("li", member.name, *facts, class_="member", tabindex="-1", **member.attributes)


def _sentence(clause: str) -> Html:
    return tag("p", Html(f"{capitalised(clause)}."))


def risk_entry(group: Sequence[Risk], names: ObjectNames) -> Html:
    """The item of a risk, with the objects that it is about."""
    objects = Html(", ".join(names.link(risk.identity) for risk in group))
    return tag("li", objects, ": ", Html(describe_risk(group[0], names.style)))


def undecided_entry(item: Undecided) -> Html:
    """The entry of a part of the comparison that diff cannot decide."""
    parts = [
        tag("p", tag("code", item.location)),
        tag("p", item.problem),
        tag("p", tag("b", "Fix: "), item.fix),
    ]
    return tag("div", *parts, class_="entry note", tabindex="-1")


def workload_entry(group: Group[WorkloadChange], names: ObjectNames, *, is_open: bool) -> Html:
    """The entry of a workload or of a group: the effect and each cause."""
    members, shared, rest = group
    effect = describe_effect(shared)
    is_badge = effect == EFFECTS[shared.effect].verb.one
    body = [] if is_badge else [_sentence(escaped(effect))]
    body.append(_bodies(group, names, _workload_body))
    causes = (cause for change in (*rest, shared) for cause in change.causes)
    return _entry(
        [
            _member(
                item.identity,
                names,
                [item.effect],
                escaped("" if item.replacement == shared.replacement else item.replacement),
            )
            for item in members
        ],
        joined(*body),
        CHANGED if mark_of(shared) == MARKS[CHANGED] else shared.change,
        escaped(", ".join(dict.fromkeys(map(brief_cause, causes)))),
        badge=shared.effect,
        is_open=is_open,
    )


def _bodies(
    group: Group[Change], names: ObjectNames, body: Callable[[Change, ObjectNames], Html]
) -> Html:
    """What only some objects of a group have, and then what all of them have."""
    _, shared, rest = group
    parts = []
    for change in rest:
        title = tag("h4", Html(capitalised(describe_rest(change, names.style))))
        parts.append(tag("div", title, body(change, names), class_="rest"))
    if rest:
        parts.append(tag("h4", capitalised(describe_shared(group))))
    return joined(*parts, body(shared, names))


def _workload_body(workload: WorkloadChange, names: ObjectNames) -> Html:
    body = [*map(_sentence, describe_pods(workload, names.style))]
    causes = [_cause(cause, names) for cause in workload.causes]
    if causes:
        body.append(tag("ul", *causes, class_="causes"))
    if workload.fields and workload.change not in (ADDED, REMOVED):
        body.append(tag("h4", "Outside the pod template"))
    return joined(*body, fields_markup(workload.fields))


def _cause(cause: Cause, names: ObjectNames) -> Html:
    details = tag("div", *_cause_details(cause, names))
    return tag("li", tag("span", cause.kind, class_="cause"), details)


def _cause_details(cause: Cause, names: ObjectNames) -> list[Html]:
    if cause.kind == TEMPLATE and cause.field:
        return [fields_markup((cause.field,))]
    if cause.kind in (IMAGE, ENV):
        variable = joined(tag("code", cause.variable), " ") if cause.kind == ENV else Html("")
        container = joined("of ", tag("code", cause.container), " ")
        change = change_of(cause.old, cause.new)
        sign = sign_markup(change) if change != CHANGED else Html("")
        return [sign, variable, container, values_markup(cause.old, cause.new)]
    return [Html(describe_cause(cause, names.style).head)]


def content_entry(group: Group[ContentChange], names: ObjectNames, *, is_open: bool) -> Html:
    """The entry of a ConfigMap or Secret, or of a group.

    The revisions and the users of an object of a group are next to its name.
    """
    members, shared, rest = group

    def body(content: ContentChange, names: ObjectNames) -> Html:
        facts = _facts(describe_content(content, names.style))
        parts = [tag("p", facts, class_="facts")] if facts else []
        parts += [_key(key, content.identity, names, is_open) for key in content.keys]
        if content.fields:
            title = capitalised(OUTSIDE_DATA.of(len(members)))
            parts += [tag("h4", title), fields_markup(content.fields)]
        return joined(*parts)

    listed = [
        _member(
            item.identity,
            names,
            [names.effects[user] for user in item.users if user in names.effects],
            _facts((*describe_names(item, names.style), *describe_users(item, names.style))),
        )
        for item in members
    ]
    keys = {key.key: key for change in (*rest, shared) for key in change.keys}
    brief = Html(" ".join(_key_name(key) for key in keys.values()))
    return _entry(listed, _bodies(group, names, body), shared.change, brief, is_open=is_open)


def _facts(facts: Iterable[str]) -> Html:
    return Html(" · ".join(facts))


def _key_name(key: KeyChange) -> Html:
    return tag("span", sign_markup(key.change), key.key, class_="key-name")


def _key(key: KeyChange, owner: Identity, names: ObjectNames, is_open: bool) -> Html:
    line = [
        _badge(key.change),
        tag("h4", tag("code", key.key)),
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


def object_entry(
    group: Group[ObjectChange],
    names: ObjectNames,
    *,
    is_open: bool,
    elsewhere: Container[Identity] = (),
) -> Html:
    """The entry of an object, or of a group, for the section of other objects.

    elsewhere: the objects that have another entry.
    """
    members, shared, _ = group
    brief = escaped(counted(len(shared.fields), "field")) if shared.fields else Html("")
    body = _bodies(group, names, lambda change, _: fields_markup(change.fields))
    if shared.note:
        body = joined(_sentence(escaped(shared.note)), body)
    listed = [
        _Member(names.link(item.identity), {})
        if item.identity in elsewhere
        else _member(item.identity, names)
        for item in members
    ]
    return _entry(listed, body, shared.change, brief, is_open=is_open)
