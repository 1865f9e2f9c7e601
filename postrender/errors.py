"""Errors and findings: the messages for the user, with their location.

A UserError or a finding is one line on stderr: `SEVERITY: LOCATION: PROBLEM. FIX.` A UserError may
lack `LOCATION:`. A finding ends with its code in brackets. The problem is a clause such as "X is Y,
expected Z". The fix is an imperative that starts with a capital. Neither ends with a period.
`cli/main.py` reports a UserError that no command catches, and click reports a UsageError
(`cli/click_app.py`).
"""

from __future__ import annotations

from postrender.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ERROR, WARNING, NOTE = "error", "warning", "note"

# The codes that several modules use.
HOOK_ON_HELM_3, NEVER_DELETED = "hook-on-helm-3", "never-deleted"
DUPLICATE_KEY = "duplicate-key"


class Location(NamedTuple):
    """A location in an input, in the configuration or in another file. 0 and "" mean unknown.

    source: the name of the input or file in messages, such as a path or `<stdin>`.
    line, document: the line in the source and the YAML document, from 1.
    template: the chart template in Helm's comment `# Source:`.
    subject: the object as `Kind/name`.
    path: the path of the field inside the object.
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
        details = ", ".join(filter(None, (document, self.template, self.subject)))
        return " ".join(filter(None, (start, f"({details})" if details else "", self.path)))


class UserError(Exception):
    """An error in the input, the configuration or the environment. The exit code is 2.

    others: further errors of the same kind, which are reported after this error.
    """

    others: Sequence[UserError] = ()

    def __init__(self, problem: str, fix: str, location: Location | None = None) -> None:
        self.problem = problem
        self.fix = fix
        self.location = location
        super().__init__(problem, fix, location)

    def __str__(self) -> str:
        return _message(self.location, self.problem, self.fix)


class StrictError(UserError):
    """The end of a run with findings that are errors. The exit code is 1."""


def raise_all(errors: Sequence[UserError]) -> None:
    """Raise the first of several errors, with the others; nothing without an error."""
    first, *others = errors or (None,)
    if first is not None:
        first.others = [other for other in others if other]
        raise first


class UsageError(Exception):
    """An error in the command line or in an environment variable. The exit code is 2."""

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(sentences(problem, fix))


class Finding(NamedTuple):
    """A warning or note about the input.

    code: a key of CODES.
    strict: whether a run with `--strict` fails because of the finding.
    reason: the part of the problem that is true whatever the user does about it, "" if not needed.
    """

    code: str
    problem: str
    fix: str
    location: Location
    strict: bool = False
    reason: str = ""

    @property
    def severity(self) -> str:
        return NOTE if self.code in NOTES else WARNING

    def __str__(self) -> str:
        return f"{_message(self.location, self.problem, self.fix)} [{self.code}]"


def sentences(problem: str, fix: str = "") -> str:
    """A problem and its fix, if there is one, as sentences on one line."""
    parts = (" ".join(part.split()) for part in (problem, fix) if part)
    return " ".join(part if part.endswith((".", "?")) else f"{part}." for part in parts)


def _message(location: Location | None, problem: str, fix: str) -> str:
    start = f"{location}:".split() if location else []
    return " ".join([*start, sentences(problem, fix)])


# The meaning of each code. docs/generate.py writes this table to docs/reference/findings.md.
CODES = {
    "leftover": "a string still contains the base name of a renamed object",
    "by-name": "a program may read or change an object by name, so postrender keeps the original "
    "or the name",
    "selector": "an object selects a ConfigMap or Secret by name, but does not select each "
    "revision",
    "placeholder": "a value is a placeholder that a program may replace after postrender, so "
    "postrender leaves the object unchanged",
    "namespace": "postrender leaves a reference unchanged, because only one of the two objects has "
    "a namespace",
    "unreferenced": "the strategy of an object is rename, but workloads do not reference "
    "the object",
    "empty": "a rule or an annotation requests the rename of an object without data",
    "stale-revision": "the content of a revision does not match the hash in its name",
    "unknown-annotation": "an annotation with the prefix postrender/ is unknown",
    "misplaced-annotation": "an annotation of postrender is in a place where it has no effect",
    "no-hash-key": "the names of revisions of Secrets have hashes without a key",
    NEVER_DELETED: "the attacher is off and --previous is not set, so nothing deletes old "
    "revisions",
    "checksum": "an object has the strategy checksum, so restarted old pods read the new content",
    HOOK_ON_HELM_3: "a hook references a ConfigMap, and with Helm 3 postrender would not keep the "
    "original",
    DUPLICATE_KEY: "a mapping has a key twice",
    "invalid-object": "an object is invalid, so postrender leaves the object unchanged",
    "invalid-field": "a field is invalid or missing, so the API server rejects the object",
    "broken-reference": "a pod uses a key that its ConfigMap or Secret in the input does not have, "
    "or a misspelt name",
    "history-keep": "history.keep is lower than the number of release revisions that Helm stores",
    "history-unchecked": "Helm does not find the release in --previous, and postrender cannot "
    "search other namespaces",
    "release-size": "the output is near the maximum size that Helm can store",
    "last-owner": "an apply of this output deletes all owners of a revision in the output",
    "group-name": "the name of the attach group contains the name of a workload, which a later "
    "release may rename",
    "other-release": "an object references a revision that is not in the input, and that another "
    "release may delete",
    "copied-owners": "an object has owner references, so Kubernetes may delete the object at once",
    "short-ttl": "Kubernetes may delete the attacher Job before Helm sees that the Job is finished",
    "config-unused": "a chart and the working directory, or two charts, have different "
    "configuration files, and the command uses only one of the two",
    "idle-rule": "a rule of the configuration does not match any object of the input",
    "config-above": "a postrender.yaml is above the repository, so postrender ignores the file",
    "no-objects": "the input does not contain Kubernetes objects, usually because the input is "
    "a values file",
}
NOTES = frozenset(
    {
        *("checksum", "history-unchecked", "group-name", "other-release", "copied-owners"),
        *("config-above", "idle-rule", "no-hash-key", NEVER_DELETED),
    }
)
