"""What a user is told: a place in the input, an error that stops the run, a finding that does not.

Every message is one line, `place: what: remedy`. All errors are of the one class UserError and
are caught in one place, `postrender.cli.main`.
"""

from __future__ import annotations

from postrender.startup.records import NamedTuple


class Place(NamedTuple):
    """Where something stands in the input.

    source: the file, or `<stdin>`; line and document count from 1, 0 where unknown;
    template: the chart's template as Helm names it; subject: `Kind/name`; path: inside the object.
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
    """The input, the configuration or the machine is at fault; the run ends with exit code 1."""

    def __init__(self, what: str, remedy: str, place: Place | None = None) -> None:
        self.what = what
        self.remedy = remedy
        self.place = place
        super().__init__(what, remedy, place)

    def __str__(self) -> str:
        parts = [str(self.place)] if self.place else []
        return " ".join(": ".join([*parts, self.what, self.remedy]).split())

    def at(self, place: Place) -> UserError:
        """Return the same error with a place, unless it has one."""
        return self if self.place else UserError(self.what, self.remedy, place)


class UsageError(Exception):
    """The values of options do not go together, or cannot be read; the exit code is 2."""


class Finding(NamedTuple):
    """Something a user should know that does not stop the run.

    code: one of CODES; strict: whether `--strict` turns it into a failure.
    """

    code: str
    what: str
    remedy: str
    place: Place
    strict: bool = False

    def __str__(self) -> str:
        return " ".join(f"{self.place}: {self.what}: {self.remedy} [{self.code}]".split())


# Every code, with what it means; the reference in the docs is made of it.
CODES = {
    "leftover": "a string still holds the old name of a revised object",
    "namespace": "a reference may name an object of the stream; their namespaces do not settle it",
    "unreferenced": "an object is to be renamed, but nothing that can be rewritten names it",
    "empty": "an object without data is revised; programs often fill such a one at run time",
    "stale-revision": "the content of a revision no longer fits its name",
    "attacher-image": "the attacher's image is the default, which no public registry has",
    "history-keep": "history.keep is below the number of revisions that Helm stores",
    "history-unchecked": "Helm knows no such release, and may not look into other namespaces",
    "release-size": "the output is near the size that Helm can store",
    "short-ttl": "the attacher Job may be gone before Helm has seen it end",
}
