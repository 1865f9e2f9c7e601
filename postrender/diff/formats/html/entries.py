"""The entries of the HTML page: one element for each thing that changes, which can be folded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from postrender.diff.formats.html.diffs import (
    fields_markup,
    hunks_markup,
    sign_markup,
    values_markup,
)
from postrender.diff.formats.html.markup import Html, escaped, joined, tag
from postrender.diff.model import (
    CHANGED,
    CONFIG,
    ENV,
    IMAGE,
    TEMPLATE,
    Cause,
    ContentChange,
    KeyChange,
    ObjectChange,
    Preview,
    RevisionChange,
    Undecided,
    WorkloadChange,
    change_of,
)
from postrender.diff.wording import wording as words
from postrender.kubernetes.kinds import Identity
from postrender.startup.records import NamedTuple

# A list of more objects that change alike is opened folded.
_OPEN_MEMBERS = 12


class Names(NamedTuple):
    """How objects are called on the page, where their entries stand, what happens to workloads."""

    name: Callable[[Identity], str]
    anchors: dict[Identity, str]
    effects: dict[Identity, str]

    @classmethod
    def of(cls, preview: Preview) -> Names:
        """Return the names of what a preview has entries of."""
        lists = {
            "o": [each.identity for each in preview.objects],
            "c": [each.identity for each in preview.contents],
            "w": [each.identity for each in preview.workloads],
        }
        anchors = {
            identity: f"{letter}{number}"
            for letter, identities in lists.items()
            for number, identity in enumerate(identities)
        }
        effects = {each.identity: each.effect for each in preview.workloads}
        return cls(words.namer(preview), anchors, effects)

    @property
    def style(self) -> words.Style:
        """How sentences are written: names of objects are links, all else that is given is code."""
        return words.Style(_code, escaped, self.link, arrow="→")

    def plain(self, identity: Identity) -> Html:
        """Return the name of an object, with its kind set back."""
        kind = self.name(identity).partition("/")[0]
        parts = [tag("span", f"{kind}/", class_="kind"), tag("code", identity.name)]
        if identity.namespace:
            parts += [tag("span", " in ", class_="kind"), tag("code", identity.namespace)]
        return tag("span", *parts, class_="name")

    def entry(self, identity: Identity) -> tuple[Html, str]:
        """Return the name of an object that has an entry, and where that stands."""
        return self.plain(identity), self.anchors[identity]

    def link(self, identity: Identity) -> Html:
        """Return the name of an object, as a link where it has an entry."""
        anchor, name = self.anchors.get(identity), self.plain(identity)
        return tag("a", name, href=f"#{anchor}") if anchor else name


def section_markup(name: str, number: int, *parts: Html) -> Html:
    """Return a part of the page under its title, with the number of what it tells."""
    count = tag("small", f"{number:,}", class_="count")
    heading = tag("h2", words.TITLES[name], " ", count, id=f"{name}-h")
    return tag("section", heading, *parts, id=name, aria_labelledby=f"{name}-h")


def _code(text: str) -> str:
    return text if isinstance(text, Html) else tag("code", text)


def badge(word: str) -> Html:
    """Return a kind of change or an effect as a small label."""
    return tag("span", word, class_=f"badge {word.replace(' ', '-')}")


class _Member(NamedTuple):
    """An object that an entry is of, mostly the only one; the others change as it does.

    effects: those on workloads that it has to do with, for the filter; own: what is so of it alone.
    """

    name: Html
    anchor: str = ""
    effects: Iterable[str] = ()
    own: Html = Html("")

    @property
    def attributes(self) -> dict[str, str | bool]:
        """Those of the element that stands for it: where it is, and by what it is found."""
        effects = ",".join(sorted(set(self.effects)))
        return {"id": self.anchor or False, "data_effects": effects or False}


class _Line(NamedTuple):
    """What an entry shows beside a name when it is folded: badge, and the rest in brief."""

    change: str
    badge: str
    brief: Html = Html("")


def _entry(members: Sequence[_Member], line: _Line, body: Html, is_open: bool) -> Html:
    """Return an entry that can be folded, or one line where there is nothing to fold."""
    first, *others = members
    title, data = first.name, first.attributes
    if others:
        title = joined(title, " ", tag("span", words.and_more(others), class_="more"))
        body, data = joined(body, _list(members)), {}
    parts = [badge(line.badge), tag("h3", title), tag("span", line.brief, class_="brief")]
    data["data_change"] = line.change
    if not body:
        return tag("div", *parts, class_="entry line", tabindex="-1", **data)
    inside = tag("div", body, class_="body")
    return tag("details", tag("summary", *parts), inside, class_="entry", open=is_open, **data)


def _list(members: Sequence[_Member]) -> Html:
    """Return the objects that change alike, folded where they are many."""
    told = _capital(words.describe_all(members))
    title = tag("summary", told, " ", tag("small", class_="count"))
    is_open = len(members) <= _OPEN_MEMBERS
    items = tag("ul", *map(_item, members))
    return tag("details", title, items, class_="members", open=is_open)


def _item(member: _Member) -> Html:
    own = [": ", tag("span", member.own, class_="own")] if member.own else []
    return tag("li", member.name, *own, class_="member", tabindex="-1", **member.attributes)


def _sentence(text: str) -> Html:
    """Return a clause of ours, which may hold markup, as a sentence."""
    return tag("p", Html(f"{_capital(text)}."))


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def undecided(each: Undecided) -> Html:
    """Return what could not be decided, where, and what to do about it."""
    parts = [
        tag("p", tag("code", each.location)),
        tag("p", each.problem),
        tag("p", tag("b", "What to do: "), each.fix),
    ]
    return tag("div", *parts, class_="entry note", tabindex="-1")


def workloads(group: Sequence[WorkloadChange], names: Names, is_open: bool) -> Html:
    """Return what happens to workloads that change alike, mostly one, and each cause of it."""
    each = group[0]
    means = dict.fromkeys(map(words.describe_effect, group))
    body = [_sentence(escaped(one)) for one in means if one != words.EFFECTS[each.effect][0]]
    if each.via:
        body.append(_sentence(words.describe_via(each, names.style)))
    causes = [_cause(cause, names) for cause in each.causes]
    body += [tag("ul", *causes, class_="causes")] * bool(causes)
    if each.in_place:
        body.append(_sentence(words.describe_in_place(each, names.style)))
    if each.fields:
        body += [tag("h4", "Outside of the pod template"), fields_markup(each.fields)]
    brief = ", ".join(dict.fromkeys(map(_in_brief, each.causes)))
    members = [_Member(*names.entry(one.identity), [one.effect]) for one in group]
    line = _Line(each.change, each.effect, escaped(brief))
    return _entry(members, line, joined(*body), is_open)


def _in_brief(cause: Cause) -> str:
    if cause.kind == CONFIG and cause.subject:
        return cause.subject.name
    return {IMAGE: "image", ENV: "env"}.get(cause.kind, "pod template")


def _cause(cause: Cause, names: Names) -> Html:
    return tag("li", tag("span", cause.kind, class_="cause"), tag("div", *_why(cause, names)))


def _why(cause: Cause, names: Names) -> list[Html]:
    if cause.kind == TEMPLATE and cause.field:
        return [fields_markup((cause.field,))]
    if cause.kind in (IMAGE, ENV):
        variable = joined(tag("code", cause.what), " ") if cause.kind == ENV else Html("")
        container = joined("of ", tag("code", cause.container), " ")
        change = change_of(cause.old, cause.new)
        sign = sign_markup(change) if change != CHANGED else Html("")
        return [sign, variable, container, values_markup(cause.old, cause.new)]
    return [Html(words.describe_cause(cause, names.style))]


def contents(group: Sequence[ContentChange], names: Names, is_open: bool) -> Html:
    """Return what changes in a ConfigMap, key by key; of a Secret only that it does.

    Of several that change alike, what is so of each of them stands beside its name.
    """
    each, *others = group
    tell = words.describe_shared if others else words.describe_content
    facts = _facts(tell(each, names.style))
    body = [tag("p", facts, class_="facts")] if facts else []
    body += [_key(key, each.identity, names, is_open) for key in each.keys]
    if each.fields:
        whose = "their" if others else "its"
        body += [tag("h4", f"Outside of {whose} data"), fields_markup(each.fields)]
    members = [
        _Member(
            *names.entry(one.identity),
            [names.effects[user] for user in one.users if user in names.effects],
            _facts(words.describe_own(one, names.style)),
        )
        for one in group
    ]
    brief = Html(" ".join(_key_name(key) for key in each.keys))
    return _entry(members, _Line(each.change, each.change, brief), joined(*body), is_open)


def _facts(told: Iterable[str]) -> Html:
    return Html(" · ".join(told))


def _key_name(key: KeyChange) -> Html:
    return tag("span", sign_markup(key.change), key.key, class_="key-name")


def _key(key: KeyChange, of: Identity, names: Names, is_open: bool) -> Html:
    title = tag("h4", tag("code", key.key))
    line = [
        badge(key.change),
        title,
        tag("span", words.describe_key(key, names.style), class_="numbers"),
    ]
    if not key.hunks:
        return tag("div", *line, class_="key line")
    pre = tag("pre", hunks_markup(words.shown_hunks(key)))
    label = f"{key.key} of {names.name(of)}"
    diff = tag("div", pre, class_="diff", role="group", tabindex="0", aria_label=label)
    return tag("details", tag("summary", *line), diff, class_="key", open=is_open)


def revision(each: RevisionChange, names: Names) -> Html:
    """Return what becomes of a revision."""
    becomes = words.describe_revision(each)
    parts = [
        badge(each.change),
        tag("span", Html(words.revision_name(each, names.style)), class_="revision"),
        tag("span", becomes if becomes != each.change else "", class_="becomes"),
    ]
    if each.name:
        parts.append(tag("span", names.link(each.identity), class_="base"))
    return tag("div", *parts, class_="entry line", tabindex="-1", data_change=each.change)


def kept(group: Sequence[RevisionChange], names: Names) -> list[Html]:
    """Return revisions that stay as they are, of which there is nothing to tell: together."""
    if len(group) < 2:
        return [revision(each, names) for each in group]
    style = names.style._replace(name=names.plain)
    members = [
        _Member(tag("span", Html(words.revision_name(each, style)), class_="name"))
        for each in group
    ]
    change = group[0].change
    line = _Line(change, change, escaped(words.describe_other_revisions(group)))
    return [_entry(members, line, Html(""), is_open=False)]


def objects(group: Sequence[ObjectChange], names: Names, is_open: bool) -> Html:
    """Return what changes of any other object, or of several that change alike."""
    each = group[0]
    number = len(each.fields)
    brief = escaped(f"{number} field" + "s" * (number != 1)) if number else Html("")
    members = [_Member(*names.entry(one.identity)) for one in group]
    line = _Line(each.change, each.change, brief)
    return _entry(members, line, fields_markup(each.fields), is_open)
