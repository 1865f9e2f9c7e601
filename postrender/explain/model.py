"""What `postrender explain` reports, as data: `build` builds it, a format prints it."""

from __future__ import annotations

from postrender.diff.model import Graph
from postrender.errors import Finding
from postrender.startup.records import NamedTuple


class User(NamedTuple):
    """An object that names a ConfigMap: where it stands, and whether its reference follows."""

    identity: str
    location: str
    follows: bool


class Entry(NamedTuple):
    """What happens to one ConfigMap or Secret, and why."""

    identity: str
    namespace: str
    strategy: str
    reason: str
    revision: str
    keeps_original: str
    group_name: str
    users: tuple[User, ...]


class Earlier(NamedTuple):
    """What becomes of one object of earlier outputs, and why; order: 0 for an original."""

    identity: str
    namespace: str
    base_name: str
    order: int
    what: str
    reason: str


class Explanation(NamedTuple):
    """A whole stream explained.

    mode: of the attacher Jobs, with the reason; sets: their names; graph: who names what.
    """

    entries: tuple[Entry, ...]
    earlier: tuple[Earlier, ...]
    sets: tuple[str, ...]
    mode: str
    mode_reason: str
    findings: tuple[Finding, ...]
    graph: Graph = Graph()
