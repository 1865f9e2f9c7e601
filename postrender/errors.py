"""Messages for the user: a location in the input, an error that ends the run, a finding.

Every message is one line: `SEVERITY: LOCATION: PROBLEM. FIX.` The problem is a clause such as
"X is Y, expected Z"; the fix is an imperative that starts with a capital. Both come without
a final period. Every error is raised as UserError or UsageError and caught in `cli/main.py`.
"""

from __future__ import annotations

from postrender.startup.records import NamedTuple

ERROR, WARNING, NOTE = "error", "warning", "note"


class Location(NamedTuple):
    """A location in the input.

    source: the file, or `<stdin>`; line and document count from 1, 0 where unknown;
    template: the chart's template as Helm reports it; subject: `Kind/name`; path: in the object.
    """

    source: str
    line: int = 0
    document: int = 0
    template: str = ""
    subject: str = ""
    path: str = ""

    def __str__(self) -> str:
        start = f"{self.source}:{self.line}" if self.line else self.source
        document = f"document {self.document}" if self.document else ""
        inside = ", ".join(part for part in (document, self.template, self.subject) if part)
        return " ".join(
            part for part in (start, f"({inside})" if inside else "", self.path) if part
        )


class UserError(Exception):
    """The input, the configuration or the machine is at fault; the exit code is 1."""

    def __init__(self, problem: str, fix: str, location: Location | None = None) -> None:
        self.problem = problem
        self.fix = fix
        self.location = location
        super().__init__(problem, fix, location)

    def __str__(self) -> str:
        return _message(self.location, self.problem, self.fix)

    def at(self, location: Location) -> UserError:
        """Return the same error with a location, unless the error has one."""
        return self if self.location else UserError(self.problem, self.fix, location)


class UsageError(Exception):
    """The options contradict each other or cannot be read; the exit code is 2."""


class Finding(NamedTuple):
    """A warning or note about the input; the run goes on.

    code: one of CODES; strict: whether `--strict` turns the finding into an error.
    """

    code: str
    problem: str
    fix: str
    location: Location
    strict: bool = False

    @property
    def severity(self) -> str:
        """WARNING or NOTE."""
        return NOTE if self.code in NOTES else WARNING

    def __str__(self) -> str:
        return f"{_message(self.location, self.problem, self.fix)} [{self.code}]"


def sentences(problem: str, fix: str) -> str:
    """Return a problem and its fix as two sentences on one line."""
    parts = (" ".join(part.split()) for part in (problem, fix) if part)
    return " ".join(part if part.endswith((".", "?")) else f"{part}." for part in parts)


def _message(location: Location | None, problem: str, fix: str) -> str:
    start = f"{location}: " if location else ""
    return " ".join(start.split()) + (" " if start else "") + sentences(problem, fix)


# The meaning of each code. The reference in the docs is generated from this table.
CODES = {
    "leftover": "a string still holds the base name of a renamed object",
    "namespace": "a reference may mean an object of the stream, but the namespaces leave it open",
    "unreferenced": "an object is marked for renaming, but no workload references it",
    "empty": "a revised object has no data; programs often fill such an object at run time",
    "stale-revision": "the content of a revision no longer matches its name",
    "attacher-image": "attacher.image is not set, and the default image is not published",
    "history-keep": "history.keep is below the number of revisions that Helm stores",
    "history-unchecked": "Helm knows no such release, and may not look into other namespaces",
    "release-size": "the output is near the largest size that Helm can store",
    "short-ttl": "the attacher Job may be deleted before Helm has seen its end",
}
NOTES = frozenset({"history-unchecked"})
