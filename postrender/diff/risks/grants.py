"""Risks of objects that lose a permission: of a ReferenceGrant, or of an AppProject."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from postrender.diff.model import Risk
from postrender.diff.risks.facts import Facts, Object
from postrender.kubernetes.kinds import GroupKind, Identity
from postrender.kubernetes.parts import ROUTES
from postrender.kubernetes.validation.checks import is_placeholder
from postrender.records import grouped
from postrender.text import has_any
from postrender.yaml.paths import (
    Json,
    Path,
    format_path,
    mapping_at,
    mappings_in,
    nested_mappings,
    value_at,
)

_GRANT = "ReferenceGrant"
_DEFAULTS = {"Gateway": "Secret", **dict.fromkeys(ROUTES, "Service")}
_FAILS = "The Gateway does not follow the reference, unless another ReferenceGrant allows it"


def find_missing_grant(facts: Facts) -> Iterator[Risk]:
    """A route or Gateway loses its ReferenceGrant, or an Application what its AppProject permits.

    Source: ReferenceGrant in Gateway API 1.4, and `app_project_types.go` of Argo CD 3.5.
    """
    yield from _of_projects(facts)
    lost = [pair for pair in facts.changes if pair.old and pair.identity.kind == _GRANT]
    words = {space for pair in lost if (space := facts.namespace_of(pair.identity))}
    if not words:
        return
    before, after = (
        grouped(
            facts.objects((_GRANT,), is_new=is_new, words=words),
            lambda grant: facts.namespace_of(grant.identity),
        )
        for is_new in (False, True)
    )
    for item in facts.objects(_DEFAULTS, is_new=True, words=words):
        space = facts.namespace_of(item.identity)
        for path, target, namespace, name in _references(item):
            source = (*item.identity.group_kind, space)
            allowed = [
                any(
                    _allows(grant.data, source, target, name) for grant in grants.get(namespace, ())
                )
                for grants in (before, after)
            ]
            if namespace != space and allowed == [True, False]:
                fact = f"no {_GRANT} of {namespace} allows {target[1]}/{name} any longer"
                yield Risk(item.identity, fact, _FAILS, format_path(path))


def _references(item: Object) -> Iterator[tuple[Path, GroupKind, str, str]]:
    """The references with a namespace. Those to a parent need no grant."""
    for path, around in nested_mappings(item.data.get("spec"), ("spec",)):
        name, namespace = around.get("name"), around.get("namespace")
        if isinstance(name, str) and isinstance(namespace, str) and "parentRefs" not in path:
            kind = str(around.get("kind") or _DEFAULTS[item.identity.kind])
            yield path, (str(around.get("group") or ""), kind), namespace, name


def _allows(
    grant: dict[str, Json], source: tuple[str, str, str | None], target: GroupKind, name: str
) -> bool:
    sources, targets = (mappings_in(value_at(grant, ("spec", end))) for end in ("from", "to"))
    is_source = any(
        (one.get("group"), one.get("kind"), one.get("namespace")) == source for one in sources
    )
    return is_source and any(
        (one.get("group") or "", one.get("kind")) == target and one.get("name") in (None, "", name)
        for one in targets
    )


# The Applications of Argo CD, and the path of their spec.
_APPLICATIONS = {"Application": ("spec",), "ApplicationSet": ("spec", "template", "spec")}
_PROJECT = "AppProject"
_SYNC = "Argo CD reports InvalidSpecError, and does not sync the Application"
_NO_SYNC = "Argo CD does not sync an Application with an object of such a kind"
_MOST_GLOBS = 100  # in one project; each is tried for each Application
# Whether a project permits a text; None if that is not certain.
_Check = Callable[[str], "bool | None"]


def _of_projects(facts: Facts) -> Iterator[Risk]:
    """What a project begins to forbid to an Application of its namespace."""
    changed = [one for one in facts.changes if one.identity.kind in (_PROJECT, *_APPLICATIONS)]
    for pair in changed:
        if pair.both and pair.identity.kind == _PROJECT:
            for text in _narrowed(*(mapping_at(one.data, ("spec",)) for one in pair.both)):
                yield Risk(pair.identity, text, _NO_SYNC)
    words = {one.identity.name for one in changed if one.identity.kind == _PROJECT}
    known: set[tuple[Identity, str]] = set()
    for is_new in (False, True) if changed else ():
        projects = {
            (facts.namespace_of(one.identity), one.identity.name): (
                one.identity,
                _checks(mapping_at(one.data, ("spec",))),
            )
            for one in facts.objects((_PROJECT,), is_new=is_new)
        }
        for item in facts.objects(_APPLICATIONS, is_new=is_new, words=words):
            spec = mapping_at(item.data, _APPLICATIONS[item.identity.kind])
            key = facts.namespace_of(item.identity), str(spec.get("project") or "default")
            if key not in projects:
                continue
            project, checks = projects[key]
            for what in _forbidden(checks, spec):
                if is_new and (item.identity, what) not in known:
                    yield Risk(item.identity, f"{project} does not permit {what}", _SYNC)
                known.add((item.identity, what))


def _narrowed(old: dict[str, Json], new: dict[str, Json]) -> Iterator[str]:
    """The kinds that a project no longer permits."""
    for scope in ("cluster", "namespace"):
        fields = f"{scope}ResourceWhitelist", f"{scope}ResourceBlacklist"
        # Without a list, a project permits all kinds of namespaces, and none of the cluster. An
        # empty list permits none.
        everything: Json = [{"group": "*", "kind": "*"}] if scope == "namespace" else []
        sides = [[mappings_in(side.get(field)) for field in fields] for side in (old, new)]
        listed = [side.get(fields[0]) for side in (old, new)]
        allowed = [mappings_in(everything if one is None else one) for one in listed]
        if max(map(len, (*sides[0], *sides[1]))) > _MOST_GLOBS:
            continue
        lost = [one for one in allowed[0] if not _is_covered(one, allowed[1])]
        denied = [one for one in sides[1][1] if not _is_covered(one, sides[0][1])]
        for field, verb, kinds in (
            (fields[0], "no longer covers all of", lost),
            (fields[1], "begins to deny", denied),
        ):
            names = [f"{one.get('group') or 'core'}/{one.get('kind')}" for one in kinds]
            if names:
                yield f"{field} {verb} {', '.join(names)}"


def _is_covered(one: dict[str, Json], patterns: list[dict[str, Json]]) -> bool:
    return any(
        all(
            _matches_part(str(pattern.get(field) or ""), str(one.get(field) or ""))
            for field in ("group", "kind")
        )
        for pattern in patterns
    )


def _checks(project: dict[str, Json]) -> dict[str, _Check]:
    """The checks of a project: `repoURL` of a source, and `server` or `name` of a destination."""
    patterns, listed = project.get("sourceRepos"), mappings_in(project.get("destinations"))
    urls = [_repository(str(one)) for one in patterns] if isinstance(patterns, list) else []
    checks = {"repoURL": _permits(urls, "/")}
    for field, other in (("server", "name"), ("name", "server")):
        # Only the cluster knows which name belongs to a server.
        if all(one.get(field) and not one.get(other) for one in listed):
            both = [f"{one[field]} {one.get('namespace') or ''}" for one in listed]
            if not any("!" in text for text in both):
                checks[field] = _permits(both, "")
    return checks


def _forbidden(checks: dict[str, _Check], spec: dict[str, Json]) -> Iterator[str]:
    """The repositories and the destination of an Application that a project does not permit."""
    for source in mappings_in(spec.get("sources") or [spec.get("source")]):
        url = source.get("repoURL")
        if isinstance(url, str) and checks["repoURL"](_repository(url)) is False:
            yield f"the repository {url}"
    target = mapping_at(spec, ("destination",))
    space = target.get("namespace") or ""
    for field in ("server", "name"):
        value, check = target.get(field), checks.get(field)
        if check and isinstance(value, str) and check(f"{value} {space}") is False:
            where = f"with the namespace {space}" if space else "without a namespace"
            yield f"the destination {value} {where}"


def _repository(url: str) -> str:
    """A URL or its pattern as Argo CD compares them."""
    denied, text = ("!", url[1:]) if url.startswith("!") else ("", url)
    text = text.strip().lower()
    if "@" in text and "/" not in text.partition("@")[0].partition("://")[0]:
        text = text if "://" in text else text.replace(":", "/", 1)
    return denied + text.removesuffix(".git").removeprefix("ssh://")


def _permits(patterns: Sequence[str], separator: str) -> _Check:
    """The check whether patterns match a text and none denies it."""
    plain = {one for one in patterns if not one.startswith("!") and "*" not in one}
    globs = [one for one in dict.fromkeys(patterns) if one not in plain]
    is_known = len(globs) <= _MOST_GLOBS and not any(
        is_placeholder(one) or has_any(one, "[]{}\\?") for one in patterns
    )

    def check(text: str) -> bool | None:
        if not is_known or is_placeholder(text):
            return None
        is_permitted = text in plain
        for pattern in globs:
            matches = _matches(pattern.removeprefix("!"), text, separator)
            if matches is None or (matches and pattern.startswith("!")):
                return None if matches is None else False
            # As in Argo CD, a pattern that denies something permits everything else.
            is_permitted |= matches or pattern.startswith("!")
        return is_permitted

    return check


def _matches(pattern: str, text: str, separator: str) -> bool | None:
    """Whether a text matches a pattern in which `**`, but not `*`, matches a separator."""
    if pattern == "*":
        return True
    if not separator:
        return _matches_part(re.sub(r"\*+", "*", pattern), text)
    head, stars, tail = pattern.partition("**")
    if stars:
        return text.startswith(head) if not tail and "*" not in head else None
    parts, texts = pattern.split(separator), text.split(separator)
    return len(parts) == len(texts) and all(map(_matches_part, parts, texts))


def _matches_part(pattern: str, text: str) -> bool:
    """Whether a text matches a pattern in which `*` matches everything."""
    first, *rest = pattern.split("*")
    if not rest or not text.startswith(first):
        return pattern == text
    *middle, last = rest
    place = len(first)
    for part in middle:
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return len(text) - place >= len(last) and text.endswith(last)
