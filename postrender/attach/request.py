"""What a run of attach is asked to do, and how that is written on its command line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from postrender.attach.resources import BY_KIND, REVISED, Resource
from postrender.startup.records import NamedTuple

# Kind (in lower case) and name of a revision, as the arguments write it: `configmap/app-h2k4`.
RevisionRef = tuple[str, str]

_WORKLOAD = re.compile(
    r"(?P<kind>[A-Za-z]+)/(?P<name>[^@=/]+)(?:@(?P<id>[0-9a-f]+))?=(?P<names>.+)"
)
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_SECONDS = re.compile(r"(?:(\d+)m)?(?:(\d+)s?)?")
_REVISED_KINDS = {resource.kind.lower(): resource.kind for resource in REVISED}


def title(name: RevisionRef) -> str:
    """Return a revision as messages name it: `ConfigMap/app-h2k4`."""
    return f"{_REVISED_KINDS[name[0]]}/{name[1]}"


class WantedWorkload(NamedTuple):
    """A workload and the revisions that its pod templates name.

    render_id: what its templates carry as postrender/render-id, "" where that is not known.
    """

    resource: Resource
    name: str
    render_id: str
    names: tuple[RevisionRef, ...]

    def __str__(self) -> str:
        return f"{self.resource.kind}/{self.name}"


class AttachRequest(NamedTuple):
    """Everything that a run is told; timeout in seconds.

    set_name: whose revisions are looked after, "" for whatever set the given ones bear;
    emitted: other revisions of the applied stream, which are never swept; prunes: whether what is
    unused is marked and deleted; deletes_finished_jobs: superseded finished Jobs of the set;
    is_tolerant: whether a kind that may not be read is only warned of.
    """

    workloads: tuple[WantedWorkload, ...]
    group_name: str = ""
    emitted: frozenset[RevisionRef] = frozenset()
    timeout: float = 90
    prunes: bool = True
    deletes_finished_jobs: bool = False
    is_tolerant: bool = False

    @property
    def given(self) -> tuple[RevisionRef, ...]:
        """The revisions that the workloads name, each once."""
        return tuple(dict.fromkeys(name for work in self.workloads for name in work.names))

    @property
    def in_stream(self) -> frozenset[RevisionRef]:
        """Every revision that the applied stream is known to hold."""
        return self.emitted | set(self.given)

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The kinds of revisions that the run is about."""
        kinds = {kind for kind, _ in (*self.given, *self.emitted)}
        return tuple(resource for resource in REVISED if resource.kind.lower() in kinds)


def parse_workload(text: str) -> WantedWorkload:
    """Return a workload of `Kind/name@RENDERID=configmap/a,secret/b`; the id may be left out.

    Raises ValueError with what is wrong.
    """
    match = _WORKLOAD.fullmatch(text)
    if not match:
        raise ValueError(
            f"{text!r} is not KIND/NAME@RENDERID=configmap/NAME,… as in "
            "Rollout/web@8396ba243e=configmap/web-config-m567dfc6df"
        )
    resource = BY_KIND.get(match["kind"])
    if resource is None:
        raise ValueError(f"{match['kind']} is none of {', '.join(sorted(BY_KIND))}")
    return WantedWorkload(resource, match["name"], match["id"] or "", parse_names(match["names"]))


def parse_names(text: str) -> tuple[RevisionRef, ...]:
    """Return the names of `configmap/a,secret/b`. Raises ValueError with what is wrong."""
    names = []
    for part in filter(None, text.split(",")):
        kind, slash, name = part.strip().partition("/")
        if not slash or not name or kind.lower() not in _REVISED_KINDS:
            raise ValueError(f"{part!r} is not configmap/NAME or secret/NAME")
        names.append((kind.lower(), name))
    return tuple(names)


def parse_group(text: str) -> str:
    """Return the name of a set. Raises ValueError for what no label can hold."""
    if text and not _LABEL_VALUE.fullmatch(text):
        raise ValueError(f"{text!r} is no value of a label, so no name of a set")
    return text


def parse_seconds(text: str) -> float:
    """Return the seconds of `90s`, `90` or `2m30s`. Raises ValueError for anything else."""
    match = _SECONDS.fullmatch(text.strip())
    if not match or not any(match.groups()):
        raise ValueError(f"{text!r} is not a time such as 90s or 2m")
    return int(match[1] or 0) * 60 + int(match[2] or 0)


def merge_workloads(workloads: Iterable[WantedWorkload]) -> tuple[WantedWorkload, ...]:
    """Return the workloads with those that were given in parts put together."""
    merged: dict[tuple[Resource, str, str], WantedWorkload] = {}
    for work in workloads:
        key = work.resource, work.name, work.render_id
        before: Sequence[RevisionRef] = merged[key].names if key in merged else ()
        names = tuple(dict.fromkeys([*before, *work.names]))
        merged[key] = work._replace(names=names)
    return tuple(merged.values())
