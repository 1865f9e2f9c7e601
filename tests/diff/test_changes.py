"""What `postrender diff` tells of the changes in tests/changes, in every format.

`pytest --update-golden` rewrites what the formats print, for a person to review. `facts.txt` is
never rewritten: a person writes there what must be reported, one fact a line.
"""

from __future__ import annotations

import functools
import json
import re
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from postrender.diff.formats import format_module, format_names
from tests.diff.change_cases import Case, case_named, cases, diff, rendered
from tests.update_golden import CheckFile

# The expected output of each format: every format that the program has must have one.
FORMATS = {
    f"expected.{import_module(format_module(name)).FILE_SUFFIX}": name for name in format_names()
}
# Of the HTML page, the text that a person reads.
FORMATS["expected.html.txt"] = FORMATS.pop("expected.html")
SCHEMA = Path(__file__).resolve().parents[2] / "postrender" / "diff" / "diff.schema.json"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "preview.md"
# In the page: what stands for a change, and what is printed of it.
SHOWN = re.compile(r"(<!-- change: (\S+) -->\n)(?:\n```text\n.*?^```\n)?", re.M | re.S)
Json = dict[str, Any]

every_case = pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)


def printed(case: Case, name: str, folder: Path | None = None) -> str:
    """Return what a format prints of a case; of a page what a person reads there."""
    done = diff(case, "--format", FORMATS[name], folder=folder)
    assert (done.code, done.stderr) == (0, "")
    return read_page(done.stdout) if name == "expected.html.txt" else done.stdout


# ------------------------------------------------------------------------------------ what is told


def facts_of(preview: Json) -> list[str]:
    """Return what a preview tells, one fact a line, as `facts.txt` has it."""
    found = [
        *(_content(each) for each in preview["contents"]),
        *(_workload(each) for each in preview["workloads"]),
        *(_other(each) for each in preview["objects"]),
        *(_revision(each) for each in preview["revisions"]),
    ]
    undecided = preview["undecided"]
    return sorted([*found, *([f"undecided {len(undecided)}"] if undecided else [])])


def _content(each: Json) -> str:
    keys = [f"{key['key']} {key['change']}" for key in each["keys"]]
    fields = [f"field {field['path']}" for field in each["fields"]]
    is_whole = each["change"] in ("added", "removed")
    return _line("content", each, ", ".join([] if is_whole else [*keys, *fields]))


def _workload(each: Json) -> str:
    parts = [_cause(cause) for cause in each["causes"]]
    parts += [f"in place {_name(target)}" for target in each["inPlace"]]
    parts += [f"field {field['path']}" for field in each["fields"]]
    via = f", via {_name(each['via'])}" if each["via"] else ""
    return _line("workload", each, "; ".join(parts), f", {_words(each['effect'])}{via}")


def _cause(cause: Json) -> str:
    if cause["kind"] == "config":
        return " ".join(["config", _name(cause["object"]), *cause["keys"]])
    if cause["kind"] == "env":
        return f"env {cause['container']} {cause['variable']}"
    if cause["kind"] == "image":
        return f"image {cause['container']}"
    return f"template {cause['field']['path']}"


def _other(each: Json) -> str:
    return _line("object", each, ", ".join(field["path"] for field in each["fields"]))


def _revision(each: Json) -> str:
    is_also = each["isCarried"] and each["change"] != "carried"
    return _line("revision", each, "", ", carried" if is_also else "")


def _line(what: str, each: Json, details: str, more: str = "") -> str:
    text = f"{what} {_name(each['object'])} {each['change']}{more}"
    return f"{text}: {details}" if details else text


def _name(identity: Json) -> str:
    parts = [identity["namespace"], identity["kind"], identity["name"]]
    return "/".join(part for part in parts if part)


def _words(effect: str) -> str:
    return re.sub(r"[A-Z]", lambda found: f" {found[0].lower()}", effect)


def facts(case: Case) -> list[str]:
    """Return what must be told of a case, and nothing else."""
    lines = case.expected("facts.txt").splitlines()
    return sorted(line for line in lines if line and not line.startswith("#"))


def preview_of(case: Case, folder: Path | None = None, swapped: bool = False) -> Any:
    """Return what is told of a case, as data."""
    return json.loads(_json_of(case, folder, swapped))


@functools.cache
def _json_of(case: Case, folder: Path | None, swapped: bool) -> str:
    done = diff(case, "--format", "json", folder=folder, swapped=swapped)
    assert (done.code, done.stderr) == (0, "")
    return done.stdout


@every_case
def test_what_must_be_told_is_told_and_nothing_else(case: Case) -> None:
    preview = preview_of(case)
    assert facts_of(preview) == facts(case)
    jsonschema.validate(preview, json.loads(SCHEMA.read_text("utf-8")))


@pytest.mark.golden
@pytest.mark.parametrize("name", FORMATS)
@every_case
def test_a_format_prints_what_is_expected(case: Case, name: str, golden_file: CheckFile) -> None:
    golden_file(case.folder / name, printed(case, name))


@every_case
def test_the_exit_code_tells_of_changes_only_if_asked(case: Case) -> None:
    has_changes = any(not line.startswith("undecided") for line in facts(case))
    assert diff(case, "--format", "json").code == 0
    assert diff(case, "--format", "json", "--exit-code").code == (4 if has_changes else 0)
    assert preview_of(case)["hasChanges"] is has_changes


# ------------------------------------------------------------------ the same change in other forms

BOTH = ("old", "new")

# The attacher's objects are the manifests' own where they differ.
ATTACHER_IS_TOLD = {
    "a-content-comes-back": "its sides are rendered already, without one",
    "a-namespace-that-only-one-side-writes": "its Job and RoleBinding say the namespace too",
    "another-namespace": "it goes along",
    "earlier-revisions-are-carried": "its sides are rendered already, without one",
}


@pytest.mark.parametrize("attached", [False, True], ids=["alone", "with-attacher"])
@pytest.mark.parametrize("which", [("old",), ("new",), BOTH], ids=lambda which: "-and-".join(which))
@every_case
def test_a_side_that_is_rendered_already_tells_the_same(
    case: Case, which: tuple[str, ...], attached: bool, tmp_path: Path
) -> None:
    if attached and case.name in ATTACHER_IS_TOLD:
        pytest.skip(ATTACHER_IS_TOLD[case.name])
    folder = rendered(case, tmp_path, *which, attached=attached)
    assert without_places(preview_of(case, folder=folder)) == without_places(preview_of(case))


def without_places(preview: Json) -> Json:
    """Return a preview without what a rendered side says in another way.

    That is where something stands, and that only one of the two is rendered.
    """
    undecided = [
        (each["problem"], each["fix"])
        for each in preview["undecided"]
        if not each["problem"].startswith("it is compared as postrender would render it")
    ]
    summary = {**preview["summary"], "undecided": len(undecided)}
    return {**preview, "summary": summary, "undecided": undecided}


@pytest.mark.parametrize("which", [(), BOTH], ids=["plain", "rendered"])
@pytest.mark.parametrize("side", BOTH)
@every_case
def test_a_side_does_not_differ_from_itself(
    case: Case, side: str, which: tuple[str, ...], tmp_path: Path
) -> None:
    folder = rendered(case, tmp_path, *which)
    source = folder / (case.old if side == "old" else case.new)
    for name in (case.old, case.new):
        (folder / name).write_bytes(source.read_bytes())
    told = preview_of(case, folder)
    assert not told["hasChanges"]
    assert not [*told["contents"], *told["workloads"], *told["objects"], *told["graph"]["nodes"]]


@every_case
def test_a_change_looks_at_itself_in_a_mirror(case: Case) -> None:
    if case.name in ("earlier-revisions-are-carried", "a-content-comes-back"):
        pytest.skip("what is carried has no mirror image")
    if case.name == "a-namespace-is-written-and-the-content-changes":
        pytest.skip("the newer side says what objects are called")
    there, back = preview_of(case), preview_of(case, swapped=True)
    assert sorted(map(mirrored, facts_of(there))) == [in_order(line) for line in facts_of(back)]


MIRROR = {
    "added": "removed",
    "removed": "added",
    "new": "superseded",
    "superseded": "new",
    "starts": "ends",
    "ends": "starts",
}


def mirrored(line: str) -> str:
    """Return the fact that the way back must tell for one that the way there tells."""
    return in_order(re.sub(r"\b\w+\b(?=[,:]|$)", lambda at: MIRROR.get(at[0], at[0]), line))


def in_order(line: str) -> str:
    """Return a fact with its details sorted: fields come in the order of the older side."""
    head, colon, details = line.partition(": ")
    separator = "; " if head.startswith("workload") else ", "
    return head + colon + separator.join(sorted(details.split(separator)))


# ---------------------------------------------------------------------------------------- the page


class Reader(HTMLParser):
    """Collects what a person reads on a page: its texts, a line each, and labels in words."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.unread = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Read the labels of an element; from here on nothing, if nobody reads its text."""
        if tag in ("style", "script"):
            self.unread = tag
        self.lines += [text for name, text in attrs if text and name in ("aria-label", "title")]

    def handle_endtag(self, tag: str) -> None:
        """Read on after what nobody reads."""
        if tag == self.unread:
            self.unread = ""

    def handle_data(self, data: str) -> None:
        """Read a text, with its spaces but without its lines' ends."""
        if not self.unread and data.strip():
            self.lines += [line for line in data.splitlines() if line.strip()]


def read_page(page: str) -> str:
    """Return what a person reads on a page."""
    reader = Reader()
    reader.feed(page)
    return "\n".join(reader.lines) + "\n"


# --------------------------------------------------------------------------------- written anew


def test_cases_are_complete() -> None:
    brought = {"options.txt", "postrender.yaml", "dyff.txt", "dyff-rendered.txt"}
    for case in cases():
        names = {path.name for path in case.folder.iterdir()}
        assert names - brought == {case.old, case.new, "facts.txt", *FORMATS}, case.name


def page() -> str:
    """Return docs/preview.md with what is printed of the changes that it shows."""
    return SHOWN.sub(
        lambda found: f"{found[1]}\n```text\n{printed(case_named(found[2]), 'expected.txt')}```\n",
        PAGE.read_text("utf-8"),
    )


@pytest.mark.golden
def test_the_page_shows_what_is_printed(golden_file: CheckFile) -> None:
    assert "```text" in page()
    golden_file(PAGE, page())
