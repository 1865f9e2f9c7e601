"""A preview as text for a terminal."""

from __future__ import annotations

import re
import unicodedata
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given

from postrender.diff.compare.data_keys import find_key_changes
from postrender.diff.formats.html.diffs import hunks_markup
from postrender.diff.formats.text import render as to_text
from postrender.diff.model import (
    ADDED,
    CHANGED,
    CONFIG,
    NEW,
    NEXT_RUN,
    NO_PODS,
    REFUSED,
    REMOVED,
    RETAINED,
    REUSED,
    ROLLS,
    STAYS,
    SUPERSEDED,
    TEMPLATE,
    UNCHANGED,
    Cause,
    ContentChange,
    FieldChange,
    Hunk,
    KeyChange,
    Line,
    ObjectChange,
    Preview,
    RevisionChange,
    Undecided,
    WorkloadChange,
)
from postrender.diff.sections import only_sections
from postrender.diff.wording.terminal import Terminal, terminal_of
from postrender.diff.wording.wording import (
    NO_NEWLINE,
    diff_lines,
    name_of,
    namer,
    shown_hunks,
    summary_line,
)
from postrender.kubernetes.kinds import Identity
from postrender.text.escapes import visible
from postrender.yaml.paths import Json
from tests.diff.any_previews import ANY, PREVIEWS, identities_of, lines_of
from tests.diff.previews import (
    BINARY,
    CHART,
    CONFIG_MAP,
    JOB,
    ROLLOUT,
    SECRET,
    SERVICE,
    WORKER,
    sample,
)
from tests.update_golden import CheckFile

EXPECTED = Path(__file__).parent / "preview"
WIDTHS = (40, 80, 200)
COLOUR = re.compile(r"\x1b\[[0-9]+m")


NOTHING = Preview("old.yaml", "new.yaml")


def text_of(preview: Preview, width: int = 80) -> str:
    return to_text(preview, Terminal(width))


def field(old: Json, new: Json, path: str = "spec.x", change: str = CHANGED) -> Preview:
    fields = (FieldChange(path, change, old, new),)
    return NOTHING._replace(objects=(ObjectChange(SERVICE, CHANGED, fields),))


@pytest.mark.golden
@pytest.mark.parametrize("width", WIDTHS)
def test_the_sample_reads_well(width: int, golden_file: CheckFile) -> None:
    golden_file(EXPECTED / f"sample-{width}.txt", text_of(sample(), width))


def ends_said(old: str | None, new: str | None) -> int:
    """Return how often it is said that a text has no line end, by the lines and by the page."""
    sides = [{} if each is None else {"key": each} for each in (old, new)]
    (key,) = find_key_changes(sides[0], sides[1], 3)
    said = diff_lines(key).count(NO_NEWLINE)
    assert hunks_markup(shown_hunks(key)).count(NO_NEWLINE) == said
    return said


@pytest.mark.parametrize(
    ("old", "new"), [("EUR", "CHF"), (None, "CHF"), ("EUR", None), ("a\nb", "b\nb"), ("", "a")]
)
def test_a_line_end_that_no_side_has_is_not_missed(old: str | None, new: str | None) -> None:
    assert ends_said(old, new) == 0


@pytest.mark.parametrize(("old", "new"), [("EUR\n", "EUR"), ("EUR", "CHF\n"), ("a\nb", "a\nc\n")])
def test_a_line_end_that_only_one_side_has_is_told(old: str, new: str) -> None:
    assert ends_said(old, new) == 1


def test_two_lines_that_differ_only_in_their_end_are_told_apart() -> None:
    assert ends_said("a", "a\nb") == 2


@pytest.mark.parametrize(
    ("variables", "is_coloured"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_a_pipe_has_colours_only_if_asked(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], is_coloured: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert terminal_of(StringIO()) == Terminal(is_coloured=is_coloured)


def test_without_changes_it_is_one_line() -> None:
    assert text_of(NOTHING) == "no changes\n"


def test_without_changes_what_is_undecided_is_told() -> None:
    preview = NOTHING._replace(
        revisions=(RevisionChange(CONFIG_MAP, "web-config-7f89tk7g74", REUSED),),
        undecided=(Undecided("new.yaml:3", "names something", "say what"),),
    )
    summary = "no changes; 1 thing undecided"
    assert text_of(preview).splitlines() == [
        summary,
        "from old.yaml to new.yaml",
        "",
        "UNDECIDED",
        "",
        "? new.yaml:3: names something",
        "    say what",
        "",
        summary,
    ]


def test_the_summary_is_the_first_line_and_the_last() -> None:
    rollouts = (ROLLOUT, ROLLOUT._replace(name="api"))
    preview = NOTHING._replace(
        contents=(
            ContentChange(CONFIG_MAP, CHANGED, "rename", "a", "b", (), (), ()),
            ContentChange(SECRET, CHANGED, "rename", "", "", (), (), ()),
        ),
        workloads=tuple(WorkloadChange(each, CHANGED, ROLLS) for each in rollouts),
        revisions=(
            RevisionChange(CONFIG_MAP, "b", NEW),
            RevisionChange(CONFIG_MAP, "a", SUPERSEDED),
        ),
        objects=(ObjectChange(SERVICE, ADDED), ObjectChange(JOB, REMOVED)),
    )
    lines = text_of(preview, 200).splitlines()
    assert lines[0] == lines[-1]
    assert lines[0] == (
        "2 Rollouts roll, 1 ConfigMap and 1 Secret change, 1 new revision; "
        "1 other object is added, 1 is removed"
    )


def test_a_workload_that_only_reads_other_content_is_counted_as_such() -> None:
    unchanged = WorkloadChange(WORKER, UNCHANGED, STAYS, in_place=(CONFIG_MAP,))
    changed = WorkloadChange(ROLLOUT, CHANGED, STAYS)
    preview = NOTHING._replace(workloads=(unchanged, changed))
    assert summary_line(preview) == (
        "1 Rollout changes without a restart, 1 Deployment reads new content in place"
    )


def test_a_pod_template_is_counted_with_the_workload_that_has_the_pods() -> None:
    rollout = WorkloadChange(ROLLOUT, UNCHANGED, ROLLS, via=WORKER)
    template = WorkloadChange(WORKER, CHANGED, NO_PODS)
    preview = NOTHING._replace(workloads=(rollout, template))
    assert summary_line(preview) == "1 Rollout rolls"
    assert "~ Rollout/web rolls\n" in text_of(preview)
    alone = NOTHING._replace(workloads=(template,))
    assert summary_line(alone) == "1 Deployment has no pods of its own"


def test_revisions_of_what_does_not_change_are_only_counted() -> None:
    revisions = (
        RevisionChange(CONFIG_MAP, "web-config-7f89tk7g74", REUSED),
        RevisionChange(BINARY, "web-logo-b27mm5ctgg", REUSED),
        RevisionChange(BINARY, "web-logo-8cd7tc6dk6", RETAINED),
    )
    content = ContentChange(CONFIG_MAP, CHANGED, "rename", "a", "b", (), (), ())
    text = text_of(NOTHING._replace(contents=(content,), revisions=revisions))
    assert "  ConfigMap/web-config-7f89tk7g74: reused, its content is there already\n" in text
    assert "  2 other revisions stay as they are\n" in text
    assert "web-logo" not in text


def test_a_content_that_comes_back_is_told_where_only_revisions_are_asked_for() -> None:
    revisions = (
        RevisionChange(CONFIG_MAP, "web-config-7f89tk7g74", REUSED),
        RevisionChange(CONFIG_MAP, "web-config-m567dfc6df", SUPERSEDED, True),
    )
    content = ContentChange(CONFIG_MAP, CHANGED, "rename", "a", "b", (), (), ())
    preview = NOTHING._replace(contents=(content,), revisions=revisions)
    text = text_of(only_sections(preview, ["revisions"]))
    assert "  ConfigMap/web-config-7f89tk7g74: reused, its content is there already\n" in text


def test_who_names_it_no_more_is_told_apart() -> None:
    change = ContentChange(CONFIG_MAP, CHANGED, "rename", "a", "b", (), (), (ROLLOUT, WORKER))
    text = text_of(NOTHING._replace(contents=(change._replace(former=(WORKER,)),)), 200)
    assert f"    named by {name_of(ROLLOUT)}\n" in text
    assert f"    no longer named by {name_of(WORKER)}\n" in text


def test_what_is_refused_stands_before_what_rolls() -> None:
    workloads = (
        WorkloadChange(WORKER, CHANGED, NEXT_RUN),
        WorkloadChange(ROLLOUT, CHANGED, ROLLS),
        WorkloadChange(JOB, CHANGED, REFUSED),
    )
    text = text_of(NOTHING._replace(workloads=workloads), 200)
    starts = [line for line in text.splitlines() if line.startswith("~ ")]
    assert [start.split()[1] for start in starts] == [
        "Job/migrate",
        "Rollout/web",
        "Deployment/worker",
    ]


def test_a_chart_version_in_a_label_of_all_is_told_once() -> None:
    named = [Identity("", "Service", None, name) for name in "abc"]
    more = CHART, FieldChange("spec.type", CHANGED, "ClusterIP", "NodePort")
    objects = [ObjectChange(each, CHANGED, (CHART,)) for each in named]
    alone = ObjectChange(Identity("", "Service", None, "d"), CHANGED, more)
    added = ObjectChange(Identity("", "Service", None, "e"), ADDED)
    text = text_of(NOTHING._replace(objects=(*objects, alone, added)))
    assert (
        text.partition("OTHER OBJECTS\n\n")[2]
        == """\
~ Service/d changes
    metadata.labels["helm.sh/chart"]: shop-1.2.3 -> shop-1.2.4
    spec.type: ClusterIP -> NodePort
+ Service/e is added

~ Service/a changes
    metadata.labels["helm.sh/chart"]: shop-1.2.3 -> shop-1.2.4
  the same in 2 more:
~ Service/b changes
~ Service/c changes

4 other objects change, 1 is added
"""
    )


def test_workloads_that_roll_because_of_the_same_are_told_together() -> None:
    label = Cause(TEMPLATE, field=CHART._replace(path="spec.template." + CHART.path))
    image = Cause("image", container="app", old="app:1", new="app:2")
    preview = NOTHING._replace(
        workloads=(
            WorkloadChange(ROLLOUT, CHANGED, ROLLS, (label,)),
            WorkloadChange(WORKER, CHANGED, ROLLS, (image, label)),
            WorkloadChange(ROLLOUT._replace(name="x"), CHANGED, ROLLS, (label,)),
            WorkloadChange(JOB, CHANGED, REFUSED, (label,)),
        )
    )
    names = [line.split()[1] for line in text_of(preview).splitlines() if line.startswith("~")]
    job, worker, first, second = names
    assert (job, worker) == (str(JOB), str(WORKER)), "those alone first, of each effect"
    assert (first, second) == (str(ROLLOUT), "Rollout/x")
    assert f"-> shop-1.2.4\n  the same in 1 more:\n~ {second}" in text_of(preview, 200)


def test_what_is_told_once_is_exactly_the_same() -> None:
    values: tuple[Json, ...] = (True, 1, "1", 1.0)
    objects = [
        ObjectChange(
            Identity("", "Service", None, f"s{number}"),
            CHANGED,
            (FieldChange("spec.x", CHANGED, None, value),),
        )
        for number, value in enumerate(values)
    ]
    assert "more:" not in text_of(NOTHING._replace(objects=tuple(objects)))


def test_secrets_are_never_called_the_same() -> None:
    secrets = [
        ContentChange(SECRET._replace(name=name), CHANGED, "ignore", "", "", (), (), ())
        for name in "ab"
    ]
    assert "more:" not in text_of(NOTHING._replace(contents=tuple(secrets)))


def test_configmaps_that_change_in_labels_alone_are_counted_as_such() -> None:
    own = [
        ContentChange(
            CONFIG_MAP._replace(name=name),
            CHANGED,
            "rename",
            f"{name}-1",
            f"{name}-1",
            (),
            (CHART,),
            (WORKER,),
        )
        for name in "ab"
    ]
    revisions = tuple(RevisionChange(each.identity, each.new_revision, REUSED) for each in own)
    text = text_of(NOTHING._replace(contents=tuple(own), revisions=revisions))
    assert text.startswith("2 ConfigMaps change outside of their data\n")
    assert "  the same in 1 more:\n~ ConfigMap/b" in text
    assert "b-1\n    named by" in text, "what is its own is told of each"
    assert "REVISIONS" not in text, "no revision comes or goes"


def test_one_that_goes_to_another_group_is_told_apart() -> None:
    old, new = (
        Identity(group, "Ingress", None, "web") for group in ("extensions", "networking.k8s.io")
    )
    preview = NOTHING._replace(objects=(ObjectChange(old, REMOVED), ObjectChange(new, ADDED)))
    text = text_of(preview)
    assert "- Ingress.extensions/web is removed" in text
    assert "+ Ingress.networking.k8s.io/web is added" in text


def test_diff_lines_are_shown_whole() -> None:
    long = "x" * 5_000
    key = KeyChange("a.json", ADDED, (Hunk(0, 0, 1, 1, (Line("+", 0, 1, long),)),))
    content = ContentChange(CONFIG_MAP, CHANGED, "rename", "a", "b", (key,), (), ())
    assert f"    +{long}\n" in text_of(NOTHING._replace(contents=(content,)))


def test_an_empty_key_is_called_empty() -> None:
    content = ContentChange(CONFIG_MAP, CHANGED, "rename", "", "", (KeyChange("a", ADDED),), (), ())
    assert "  + a (empty)\n" in text_of(NOTHING._replace(contents=(content,)))


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        (2, 3, "spec.x: 2 -> 3"),
        ("2", 2, 'spec.x: "2" -> 2'),
        ("on", True, 'spec.x: "on" -> true'),
        ("a b", "a\nb", r'spec.x: a b -> "a\nb"'),
        ("", " a", 'spec.x: "" -> " a"'),
        (None, {"a": [1]}, 'spec.x: null -> {"a": [1]}'),
        ("\u202ea", "1.2.3", r'spec.x: "\u202ea" -> 1.2.3'),
    ],
)
def test_values_cannot_be_mistaken(old: Json, new: Json, shown: str) -> None:
    assert f"    {shown}\n" in text_of(field(old, new))


def test_fields_that_come_and_go_and_change_their_order() -> None:
    assert "    spec.x added: 1\n" in text_of(field(None, 1, change=ADDED))
    assert "    spec.x removed: 1\n" in text_of(field(1, None, change=REMOVED))
    text = text_of(field(["a", "b"], ["b", "a"], "spec.containers[]"))
    assert '    order of spec.containers: ["a", "b"] -> ["b", "a"]\n' in text


def test_long_values_begin_shortly_before_they_differ() -> None:
    same = "y" * 1_000
    text = text_of(field(f"{same}OLD{same}", f"{same}NEW{same}"), 1_000)
    (line,) = (line for line in text.splitlines() if "spec.x" in line)
    assert re.search(r"…y{20}OLDy+… \(2,003 characters\) -> …y{20}NEWy+… \(2,003 ch", line)
    assert len(line) < 700


def test_many_keys_of_a_cause_are_counted() -> None:
    keys = tuple(f"k{number}" for number in range(500))
    cause = Cause(CONFIG, CONFIG_MAP, what="its content changes", keys=keys)
    workload = WorkloadChange(ROLLOUT, CHANGED, ROLLS, (cause,))
    text = text_of(NOTHING._replace(workloads=(workload,)), 200)
    assert "k11 and 488 more)" in text
    assert "k12" not in text


def test_colours_say_nothing_that_text_does_not() -> None:
    coloured = to_text(sample(), Terminal(80, is_coloured=True))
    assert COLOUR.sub("", coloured) == text_of(sample())
    for shown in (
        "\x1b[31m-  timeout: 30s\x1b[0m",
        "\x1b[32m+  timeout: 5s\x1b[0m",
        "\x1b[1m\x1b[33m~ Rollout/web\x1b[0m\x1b[1m\x1b[33m rolls\x1b[0m",
    ):
        assert shown in coloured


def test_a_path_that_is_wider_than_the_terminal_is_parted_at_a_joint() -> None:
    cause = Cause(
        TEMPLATE, field=FieldChange("spec.template.spec.hostUsersAndMore.long", CHANGED, 1, 2)
    )
    workload = WorkloadChange(ROLLOUT, CHANGED, ROLLS, (cause,))
    lines = text_of(NOTHING._replace(workloads=(workload,)), 30).splitlines()
    at = lines.index("~ Rollout/web rolls")
    assert lines[at + 1 : at + 3] == ["    spec.template.spec.", "      hostUsersAndMore.long: 1"]


def test_wide_characters_take_two_columns() -> None:
    for wide, full in (("\u4e2d", "\u6587"), ("\uff21", "\uff22")):
        text = text_of(field(wide * 30, full * 30), 40)
        assert max(map(columns, text.splitlines())) <= 40
        assert text.count(wide) == text.count(full) == 30


def columns(text: str) -> int:
    """Return how many columns a terminal needs (unicodedata: East Asian Width, UAX 11)."""
    wide = sum(1 for each in text if unicodedata.east_asian_width(each) in ("W", "F"))
    return len(text) + wide - sum(1 for each in text if unicodedata.combining(each))


@ANY
@given(preview=PREVIEWS)
def test_nothing_writes_to_the_terminal(preview: Preview) -> None:
    text = text_of(preview)
    tabs = "\t" if any("\t" in line for _, line in lines_of(preview)) else ""
    assert [each for each in set(text) - {"\n", tabs} if not each.isprintable()] == []
    coloured = to_text(preview, Terminal(80, is_coloured=True))
    assert COLOUR.sub("", coloured) == text


@ANY
@given(preview=PREVIEWS)
def test_everything_is_told(preview: Preview) -> None:
    text = text_of(preview, 100_000)
    name = namer(preview)
    for identity in identities_of(preview):
        assert visible(name(identity)) in text
    lines = text.splitlines()
    for sign, line in lines_of(preview):
        assert f"    {sign}{visible(line, keep=chr(9))}" in lines


@ANY
@given(preview=PREVIEWS)
def test_all_but_diffs_fits_the_terminal(preview: Preview) -> None:
    for width in WIDTHS:
        diffs = {f"    {sign}{visible(line, keep=chr(9))}" for sign, line in lines_of(preview)}
        for line in text_of(preview, width).splitlines():
            assert columns(line) <= width or line in diffs
