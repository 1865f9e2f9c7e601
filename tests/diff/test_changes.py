"""The output of `postrender diff` for the changes in tests/changes, in every format.

`pytest --update-golden` rewrites the output of the formats, for a person to review. A person
writes `facts.txt`, the facts that must be reported, one in a line. It is never rewritten.
"""

from __future__ import annotations

import functools
import json
import re
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from postrender.diff.formats import REPORTERS
from postrender.diff.values import Terminal
from tests.diff.change_cases import (
    ATTACHER_IMAGE,
    Case,
    case_named,
    cases,
    diff,
    one_comparison,
    rendered,
)
from tests.diff.previews import sample
from tests.effort import IS_FUZZ
from tests.update_golden import CheckFile

# The file with the expected output of each format. A format that shows only a part has these files
# if the cases have them.
FORMATS = {
    file: name
    for name, reporter in REPORTERS.items()
    for file in [f"expected.{reporter.file_suffix}"]
    if reporter.is_complete or any((case.folder / file).exists() for case in cases())
}
# For the HTML page, the file has the text that a reader sees.
FORMATS["expected.html.txt"] = FORMATS.pop("expected.html")
SCHEMA = Path(__file__).resolve().parents[2] / "postrender" / "diff" / "diff.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text("utf-8")))
PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "preview.md"
# In the documentation: the marker for a change, and the output for the change.
SHOWN = re.compile(r"(<!-- change: (\S+) -->\n)(?:\n```text\n.*?^```\n)?", re.M | re.S)
Json = dict[str, Any]

every_case = pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)


def printed(case: Case, name: str, folder: Path | None = None) -> str:
    """Return the output of a format for a case; for HTML, the text that a reader sees."""
    done = diff(case, "--format", FORMATS[name], folder=folder)
    assert (done.code, done.stderr) == (0, "")
    return read_page(done.stdout) if name == "expected.html.txt" else done.stdout


# ------------------------------------------------------------------------------------------- facts


def facts_of(preview: Json) -> list[str]:
    """Return the facts of a preview, one in a line, in the form of `facts.txt`."""
    lines = [
        *map(_risk, preview["risks"]),
        *map(_content, preview["contents"]),
        *map(_workload, preview["workloads"]),
        *map(_other, preview["objects"]),
        *map(_revision, preview["revisions"]),
    ]
    undecided = preview["undecided"]
    return sorted([*lines, *([f"undecided {len(undecided)}"] if undecided else [])])


def _risk(risk: Json) -> str:
    path = f": {risk['path']}" if risk["path"] else ""
    return f"risk {risk['code']} {_name(risk['object'])}{path}"


def _content(content: Json) -> str:
    keys = [f"{key['key']} {key['change']}" for key in content["keys"]]
    fields = [f"field {field['path']}" for field in content["fields"]]
    is_whole = content["change"] in ("added", "removed")
    return _line("content", content, ", ".join([] if is_whole else [*keys, *fields]))


def _workload(workload: Json) -> str:
    parts = [_cause(cause) for cause in workload["causes"]]
    parts += [f"in place {_name(target)}" for target in workload["inPlace"]]
    parts += [f"field {field['path']}" for field in _changed_fields(workload)]
    via = f", via {_name(workload['via'])}" if workload["via"] else ""
    return _line("workload", workload, "; ".join(parts), f", {_words(workload['effect'])}{via}")


def _cause(cause: Json) -> str:
    if cause["kind"] == "config":
        return " ".join(["config", _name(cause["object"]), *cause["keys"]])
    if cause["kind"] == "env":
        return f"env {cause['container']} {cause['variable']}"
    if cause["kind"] == "image":
        return f"image {cause['container']}"
    return f"template {cause['field']['path']}"


def _other(change: Json) -> str:
    return _line("object", change, ", ".join(field["path"] for field in _changed_fields(change)))


def _changed_fields(change: Json) -> list[Json]:
    """Return the fields that change; an added or removed object has all its fields."""
    return change["fields"] if change["change"] in ("changed", "unchanged") else []


def _revision(revision: Json) -> str:
    is_also_retained = revision["isRetained"] and revision["change"] != "retained"
    loses = f"loses {', '.join(revision['lostOwners'])}" if revision["lostOwners"] else ""
    return _line("revision", revision, loses, ", retained" if is_also_retained else "")


def _line(section: str, change: Json, details: str, suffix: str = "") -> str:
    text = f"{section} {_name(change['object'])} {change['change']}{suffix}"
    return f"{text}: {details}" if details else text


def _name(identity: Json) -> str:
    parts = [identity["namespace"], identity["kind"], identity["name"]]
    return "/".join(part for part in parts if part)


def _words(effect: str) -> str:
    return re.sub(r"[A-Z]", lambda match: f" {match[0].lower()}", effect)


def facts(case: Case) -> list[str]:
    """Return the facts that a preview of a case must have."""
    lines = case.expected("facts.txt").splitlines()
    return sorted(line for line in lines if line and not line.startswith("#"))


def preview_of(case: Case, folder: Path | None = None, swapped: bool = False) -> Any:
    """Return the preview of a case as data."""
    return json.loads(_json_of(case, folder, swapped))


@functools.cache
def _json_of(case: Case, folder: Path | None, swapped: bool) -> str:
    options = ["--format", "json", "--attacher-image", ATTACHER_IMAGE]
    done = diff(case, *options, folder=folder, swapped=swapped)
    assert (done.code, done.stderr) == (0, "")
    return done.stdout


@every_case
def test_a_preview_has_exactly_the_expected_facts(case: Case) -> None:
    preview = preview_of(case)
    assert facts_of(preview) == facts(case)
    assert preview["hasChanges"] is bool(facts(case))
    VALIDATOR.validate(preview)


# A case with a risk, one with only a change, and one without a change.
@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("all-pods-stop-at-once", [4, 4]),
        ("only-the-image-changes", [0, 4]),
        ("only-positions-comments-and-quotes-change", [0, 0]),
    ],
)
def test_only_an_option_makes_a_change_an_exit_code(name: str, codes: list[int]) -> None:
    options = (["--fail-on", "risk"], ["--exit-code"])
    assert [diff(case_named(name), *option).code for option in options] == codes


@pytest.mark.golden
@every_case
def test_a_format_prints_the_expected_output(case: Case, golden_file: CheckFile) -> None:
    with one_comparison():
        for name in FORMATS:
            golden_file(case.folder / name, printed(case, name))


# ------------------------------------------------------------------ the same change in other forms

BOTH = ("old", "new")

# The start of the notice that one side is not rendered.
ON_HELM_3 = "Helm 3 does not pass the hook"
UNRENDERED = "OLD is not an output of postrender"

# The case in which an attacher that exists on both sides causes a loss. Without an attacher, a
# revision has no owners to lose. The label of the attach group changes too, if both sides have it.
LOSES = "a-renamed-workload-loses-its-revision"

# The case in which another render changes the input.
CORRECTED = "only-the-render-id-changes"

# The cases in which the attacher's objects differ between the sides.
ATTACHER_DIFFERS = {
    "a-content-is-restored": "the sides are already rendered without an attacher",
    "a-forged-revision": "the sides are already rendered without an attacher",
    "a-namespace-on-one-side-only": "the Job and the RoleBinding have the namespace too",
    "a-reference-leaves-an-earlier-revision": "the sides are already rendered without it",
    "a-reference-moves-to-an-earlier-revision": "the sides are already rendered without it",
    "a-secret-reference-moves-to-an-earlier-revision": "the sides are already rendered without it",
    "an-output-without-numbers-becomes-numbered": "the sides are already rendered without it",
    "another-namespace": "the attacher moves to the other namespace",
    "an-unprotected-revision": "the sides are already rendered without an attacher",
    "earlier-revisions-are-retained": "the sides are already rendered without an attacher",
}


@pytest.mark.parametrize("name", REPORTERS)
def test_a_format_shows_something(name: str) -> None:
    assert REPORTERS[name].render(sample(), Terminal(80, False)).strip()


OLD, NEW = BOTH
# Each side alone, one of them with an attacher, and both. `make fuzz` tries every combination.
RENDERED_SIDES = (
    list(product(((OLD,), (NEW,), BOTH), (False, True)))
    if IS_FUZZ
    else [((OLD,), False), ((NEW,), True), (BOTH, True)]
)


@pytest.mark.random_inputs
@every_case
def test_a_rendered_side_has_the_same_preview(case: Case, tmp_path: Path) -> None:
    if case.name == CORRECTED:
        return
    expected = without_locations(preview_of(case))
    expected_contents = [{**content, "fate": None} for content in expected["contents"]]
    for which, attached in RENDERED_SIDES:
        if attached and case.name in ATTACHER_DIFFERS:
            continue
        if case.name == LOSES and (not attached or which == BOTH):
            continue
        folder = tmp_path / f"{'-'.join(which)}-{attached}"
        folder.mkdir()
        rendered(case, folder, *which, attached=attached)
        found = without_locations(preview_of(case, folder=folder))
        if not attached:  # an output without an attacher decides about its revisions
            found["contents"] = [{**content, "fate": None} for content in found["contents"]]
            assert found == {**expected, "contents": expected_contents}, which
        else:
            assert found == expected, which


def without_locations(preview: Json) -> Json:
    """Return a preview without locations, and without notices about a side that is not rendered.

    A rendered side may differ in nothing else.
    """
    undecided = [
        (re.sub(r"on line \d+", "on line", item["problem"]), item["fix"])
        for item in preview["undecided"]
        if not (item["problem"].startswith(UNRENDERED) or ON_HELM_3 in item["problem"])
    ]
    summary = {**preview["summary"], "undecided": len(undecided)}
    sections = ("contents", "workloads", "objects")
    rest = {key: value for key, value in preview.items() if key != "hasChanges"}
    has_changes = bool(undecided) or any(preview[section] for section in sections)
    return {**rest, "summary": summary, "undecided": undecided, "hasChanges": has_changes}


@every_case
def test_a_side_does_not_differ_from_itself(case: Case, tmp_path: Path) -> None:
    for which, side in product(((), BOTH), BOTH) if IS_FUZZ else (((), OLD), (BOTH, NEW)):
        folder = tmp_path / f"{'-'.join(which)}-{side}"
        folder.mkdir()
        rendered(case, folder, *which)
        source = folder / (case.old if side == "old" else case.new)
        for name in (case.old, case.new):
            (folder / name).write_bytes(source.read_bytes())
        preview = preview_of(case, folder)
        assert not preview["hasChanges"]
        for section in ("contents", "workloads", "objects"):
            assert not preview[section]
        assert not preview["graph"]["nodes"]


# The cases whose reverse has other facts.
NOT_MIRRORED = {
    "a-content-is-restored",  # a retained revision has no mirror image
    "a-forged-revision",  # a retained revision has no mirror image
    "an-output-without-numbers-becomes-numbered",  # a retained revision has no mirror image
    "earlier-revisions-are-retained",  # a retained revision has no mirror image
    "objects-become-invalid",  # the API server accepts the reverse change
    "a-missing-document-marker",  # only the new side can still be corrected
    "keys-are-repeated",  # only the new side can still be corrected
    LOSES,  # the lost owners are those of the old side
    "an-export-of-the-cluster",  # an apply leaves what only the cluster writes
    "a-pod-changes-in-place",  # the API server accepts added tolerations, but not removed ones
    "a-namespace-is-set-and-the-content-changes",  # the namespaces are those of the new side
}


@pytest.mark.parametrize(
    "case",
    [case for case in cases() if case.name not in NOT_MIRRORED],
    ids=lambda case: case.name,
)
def test_the_reverse_of_a_change_has_the_mirrored_facts(case: Case) -> None:
    # A risk has a direction: what a change loses, the reverse change adds.
    forward = {**preview_of(case), "risks": []}
    backward = {**preview_of(case, swapped=True), "risks": []}
    assert sorted(map(mirrored, facts_of(forward))) == [
        in_order(line) for line in facts_of(backward)
    ]


MIRROR = {
    "added": "removed",
    "removed": "added",
    "new": "superseded",
    "superseded": "new",
    "starts": "ends",
    "ends": "starts",
}


def mirrored(line: str) -> str:
    """Return the fact of the reverse change."""
    words = re.sub(r"\b\w+\b(?=[,:]|$)", lambda match: MIRROR.get(match[0], match[0]), line)
    return in_order(words)


def in_order(line: str) -> str:
    """Return a fact with sorted details; a preview has fields in the order of the old side."""
    head, colon, details = line.partition(": ")
    separator = "; " if head.startswith("workload") else ", "
    return head + colon + separator.join(sorted(details.split(separator)))


# ---------------------------------------------------------------------------------------- the page


class Reader(HTMLParser):
    """Collects the texts and labels of a page, one in a line."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.hidden = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the labels of an element; skip the text of a script or style."""
        if tag in ("style", "script"):
            self.hidden = tag
        self.lines += [text for name, text in attrs if text and name in ("aria-label", "title")]

    def handle_endtag(self, tag: str) -> None:
        """Stop skipping after a script or style."""
        if tag == self.hidden:
            self.hidden = ""

    def handle_data(self, data: str) -> None:
        """Collect the lines of a text, without empty lines."""
        if not self.hidden and data.strip():
            self.lines += [line for line in data.splitlines() if line.strip()]


def read_page(page: str) -> str:
    """Return the text that a reader sees on a page."""
    reader = Reader()
    reader.feed(page)
    return "\n".join(reader.lines) + "\n"


# ------------------------------------------------------------------------------------ golden files


def test_cases_are_complete() -> None:
    optional = {"options.txt", "postrender.yaml", "dyff.txt", "dyff-rendered.txt"}
    for case in cases():
        names = {path.name for path in case.folder.iterdir()}
        assert names - optional == {case.old, case.new, "facts.txt", *FORMATS}, case.name


def page() -> str:
    """Return docs/how-to/preview.md with the current output for each change on the page."""
    return SHOWN.sub(
        lambda match: f"{match[1]}\n```text\n{printed(case_named(match[2]), 'expected.txt')}```\n",
        PAGE.read_text("utf-8"),
    )


@pytest.mark.golden
def test_the_documentation_shows_the_current_output(golden_file: CheckFile) -> None:
    assert "```text" in page()
    golden_file(PAGE, page())
