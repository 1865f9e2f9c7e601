"""A preview as text for a terminal."""

from __future__ import annotations

import json
import re
import unicodedata
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given

from postrender.diff.formats.html import hunks_markup
from postrender.diff.formats.text import TextReporter
from postrender.diff.lines import NO_NEWLINE, diff_lines, shown_hunks
from postrender.diff.model import (
    ADDED,
    CHANGED,
    CONFIG,
    DROPPED,
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
    only_sections,
)
from postrender.diff.summary import summary_line
from postrender.diff.texts import find_key_changes
from postrender.diff.values import Terminal, braced, name_of, namer, outlined, terminal_of
from postrender.kubernetes.kinds import Identity
from postrender.text import visible
from postrender.yaml.paths import Json
from tests.diff.any_previews import ANY, PREVIEWS, identities_of, lines_of
from tests.diff.leaves import without_braces
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
COLOUR = re.compile(r"\x1b\[[0-9;]+m")


NOTHING = Preview("old.yaml", "new.yaml")


def text_of(preview: Preview, width: int = 80) -> str:
    return TextReporter().render(preview, Terminal(width))


def content(identity: Identity = CONFIG_MAP, strategy: str = "rename") -> ContentChange:
    """Return a ConfigMap that changes; a Secret has no revision names."""
    is_secret = identity.kind == "Secret"
    return ContentChange(
        identity=identity,
        change=CHANGED,
        strategy=strategy,
        old_revision="" if is_secret else "a",
        new_revision="" if is_secret else "b",
        keys=(),
        fields=(),
        users=(),
    )


def field(old: Json, new: Json, path: str = "spec.x", change: str = CHANGED) -> Preview:
    fields = (FieldChange(path, change, old, new),)
    return NOTHING._replace(objects=(ObjectChange(SERVICE, CHANGED, fields),))


@pytest.mark.golden
@pytest.mark.parametrize("width", WIDTHS)
def test_the_sample_has_the_expected_text(width: int, golden_file: CheckFile) -> None:
    golden_file(EXPECTED / f"sample-{width}.txt", text_of(sample(), width))


def newline_notices(old: str | None, new: str | None) -> int:
    """Return the number of notices about a missing final newline; the page has as many."""
    sides = [{} if text is None else {"key": text} for text in (old, new)]
    (key,) = find_key_changes(sides[0], sides[1], 3)
    count = diff_lines(key).count(NO_NEWLINE)
    assert hunks_markup(shown_hunks(key)).count(NO_NEWLINE) == count
    return count


@pytest.mark.parametrize(
    ("old", "new"), [("EUR", "CHF"), (None, "CHF"), ("EUR", None), ("a\nb", "b\nb"), ("", "a")]
)
def test_a_final_newline_that_both_sides_lack_has_no_notice(
    old: str | None, new: str | None
) -> None:
    assert newline_notices(old, new) == 0


@pytest.mark.parametrize(("old", "new"), [("EUR\n", "EUR"), ("EUR", "CHF\n"), ("a\nb", "a\nc\n")])
def test_a_final_newline_on_one_side_only_has_a_notice(old: str, new: str) -> None:
    assert newline_notices(old, new) == 1


def test_lines_that_differ_only_in_their_end_have_notices() -> None:
    assert newline_notices("a", "a\nb") == 2


@pytest.mark.parametrize("is_coloured", [False, True])
def test_a_pipe_has_lines_of_any_length(is_coloured: bool) -> None:
    assert terminal_of(StringIO(), is_coloured=is_coloured) == Terminal(None, is_coloured)
    value = "word " * 50
    assert f"added: {value}" in TextReporter().render(
        field(None, value.strip(), change=ADDED), Terminal()
    ).replace("\n", " ")


def test_a_text_without_changes_is_one_line() -> None:
    assert text_of(NOTHING) == "no changes\n"


def test_a_text_without_changes_shows_undecided_items() -> None:
    preview = NOTHING._replace(
        revisions=(RevisionChange(CONFIG_MAP, "web-config-7f89tk7g74", REUSED),),
        undecided=(Undecided("new.yaml:3", "the reference is ambiguous", "Set the namespace"),),
    )
    summary = "1 undecided part"
    assert text_of(preview).splitlines() == [
        summary,
        "from old.yaml to new.yaml",
        "",
        "UNDECIDED PARTS",
        "",
        "? new.yaml:3: the reference is ambiguous",
        "    Set the namespace",
    ]


def test_the_summary_is_the_first_line_only() -> None:
    rollouts = (ROLLOUT, ROLLOUT._replace(name="api"))
    preview = NOTHING._replace(
        contents=(
            content(),
            content(SECRET),
        ),
        workloads=tuple(WorkloadChange(rollout, CHANGED, ROLLS) for rollout in rollouts),
        revisions=(
            RevisionChange(CONFIG_MAP, "b", NEW),
            RevisionChange(CONFIG_MAP, "a", SUPERSEDED),
        ),
        objects=(ObjectChange(SERVICE, ADDED), ObjectChange(JOB, REMOVED)),
    )
    lines = text_of(preview, 200).splitlines()
    assert lines.count(lines[0]) == 1
    assert lines[0] == (
        "2 Rollouts roll, 1 ConfigMap and 1 Secret change, 1 new revision; "
        "1 other object is added, 1 is removed"
    )


def test_the_summary_counts_workloads_that_read_new_content() -> None:
    unchanged = WorkloadChange(WORKER, UNCHANGED, STAYS, in_place=(CONFIG_MAP,))
    changed = WorkloadChange(ROLLOUT, CHANGED, STAYS)
    preview = NOTHING._replace(workloads=(unchanged, changed))
    assert summary_line(preview) == (
        "1 Rollout changes but does not roll, 1 Deployment reads new content but does not roll"
    )


def test_the_summary_counts_a_pod_template_with_its_rollout() -> None:
    rollout = WorkloadChange(ROLLOUT, UNCHANGED, ROLLS, via=WORKER)
    template = WorkloadChange(WORKER, CHANGED, NO_PODS)
    preview = NOTHING._replace(workloads=(rollout, template))
    assert summary_line(preview) == "1 Rollout rolls"
    assert "~ Rollout/web rolls\n" in text_of(preview)
    alone = NOTHING._replace(workloads=(template,))
    assert summary_line(alone) == "1 Deployment does not have its own pods"


def test_only_dropped_and_lost_revisions_have_a_line() -> None:
    revisions = (
        RevisionChange(CONFIG_MAP, "web-config-7f89tk7g74", REUSED),
        RevisionChange(BINARY, "web-logo-b27mm5ctgg", REUSED, lost_owners=("Rollout/web",)),
        RevisionChange(BINARY, "web-logo-8cd7tc6dk6", DROPPED),
        RevisionChange(BINARY, "web-logo-2748f727mg", RETAINED),
    )
    preview = NOTHING._replace(contents=(content(),), revisions=revisions)
    for shown in (preview, only_sections(preview, ["revisions"])):
        assert text_of(shown).partition("REVISIONS\n\n")[2].splitlines()[:3] == [
            "  ConfigMap/web-logo-b27mm5ctgg: deleted by Kubernetes while in use, because the",
            "    change deletes all owners (Rollout/web)",
            "  ConfigMap/web-logo-8cd7tc6dk6: earlier revision, dropped from the manifests",
        ]


def test_superseded_revisions_are_in_the_summary_if_nothing_else_changes() -> None:
    revisions = (RevisionChange(CONFIG_MAP, "web-config-m567dfc6df", SUPERSEDED, True),)
    preview = NOTHING._replace(revisions=revisions)
    assert summary_line(preview) == "1 superseded revision"
    added = WorkloadChange(ROLLOUT, CHANGED, ROLLS)
    assert summary_line(preview._replace(workloads=(added,))) == "1 Rollout rolls"


def test_former_users_have_their_own_line() -> None:
    change = content()._replace(users=(ROLLOUT, WORKER), former=(WORKER,))
    text = text_of(NOTHING._replace(contents=(change,)), 200)
    assert f"    referenced by {name_of(ROLLOUT)}\n" in text
    assert f"    no longer referenced by {name_of(WORKER)}\n" in text


def test_rejected_workloads_come_before_those_that_roll() -> None:
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


def test_a_chart_version_in_every_label_is_described_once() -> None:
    services = [Identity("", "Service", None, name) for name in "abc"]
    fields = CHART, FieldChange("spec.type", CHANGED, "ClusterIP", "NodePort")
    objects = [ObjectChange(service, CHANGED, (CHART,)) for service in services]
    alone = ObjectChange(Identity("", "Service", None, "d"), CHANGED, fields)
    added = ObjectChange(Identity("", "Service", None, "e"), ADDED)
    text = text_of(NOTHING._replace(objects=(*objects, alone, added)))
    assert (
        text.partition("OTHER OBJECTS\n\n")[2]
        == """\
+ Service/e is added

~ 4 Services change alike
    besides, in Service/d:
      spec.type: ClusterIP -> NodePort
    in all 4:
      metadata.labels["helm.sh/chart"]: shop-1.2.3 -> shop-1.2.4
    Service/a, Service/b, Service/c, Service/d
"""
    )


def test_workloads_with_the_same_cause_are_a_group() -> None:
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
    assert (
        text_of(preview, 200).partition("WORKLOADS\n\n")[2]
        == """\
~ Job/migrate is rejected by the API server
    spec.template.metadata.labels["helm.sh/chart"]: shop-1.2.3 -> shop-1.2.4

~ 3 workloads roll alike (2 Rollouts, 1 Deployment)
    besides, in Deployment/worker:
      image of app: app:1 -> app:2
    in all 3:
      spec.template.metadata.labels["helm.sh/chart"]: shop-1.2.3 -> shop-1.2.4
    Rollout/web, Rollout/x, Deployment/worker
"""
    )


def test_a_group_needs_exactly_the_same_change() -> None:
    values: tuple[Json, ...] = (True, 1, "1", 1.0)
    objects = [
        ObjectChange(
            Identity("", "Service", None, f"s{number}"),
            CHANGED,
            (FieldChange("spec.x", CHANGED, None, value),),
        )
        for number, value in enumerate(values)
    ]
    assert "alike" not in text_of(NOTHING._replace(objects=tuple(objects)))


def test_secrets_are_never_a_group() -> None:
    secrets = [content(SECRET._replace(name=name), strategy="ignore") for name in "ab"]
    assert "alike" not in text_of(NOTHING._replace(contents=tuple(secrets)))


def test_the_summary_counts_configmaps_that_change_in_labels_only() -> None:
    contents = [
        content(CONFIG_MAP._replace(name=name))._replace(
            old_revision=f"{name}-1",
            new_revision=f"{name}-1",
            fields=(CHART,),
            users=(WORKER,),
        )
        for name in "ab"
    ]
    revisions = tuple(RevisionChange(item.identity, item.new_revision, REUSED) for item in contents)
    text = text_of(NOTHING._replace(contents=tuple(contents), revisions=revisions))
    assert text.startswith("2 ConfigMaps change outside their data\n")
    assert "~ 2 ConfigMaps change alike" in text
    assert "\n    ConfigMap/a, ConfigMap/b\n" in text
    assert "REVISIONS" not in text, "no revision changes"


def test_an_object_that_moves_to_another_group_has_its_group() -> None:
    old, new = (
        Identity(group, "Ingress", None, "web") for group in ("extensions", "networking.k8s.io")
    )
    preview = NOTHING._replace(objects=(ObjectChange(old, REMOVED), ObjectChange(new, ADDED)))
    text = text_of(preview)
    assert "- Ingress.extensions/web is removed" in text
    assert "+ Ingress.networking.k8s.io/web is added" in text


def test_diff_lines_are_not_wrapped() -> None:
    long = "x" * 5_000
    key = KeyChange("a.json", ADDED, (Hunk(0, 0, 1, 1, (Line("+", 0, 1, long),)),))
    change = content()._replace(keys=(key,))
    assert f"    +{long}\n" in text_of(NOTHING._replace(contents=(change,)))


def test_an_empty_key_is_shown_as_empty() -> None:
    change = content()._replace(keys=(KeyChange("a", ADDED),))
    assert "  + a (empty)\n" in text_of(NOTHING._replace(contents=(change,)))


@pytest.mark.parametrize(("sign", "shown"), [("-", 'info -> ""'), ("+", '"" -> info')])
def test_a_key_that_is_empty_on_one_side_shows_both_values(sign: str, shown: str) -> None:
    hunk = Hunk(1, 1, 1, 1, (Line(sign, 1, 1, "info", is_open=True),))
    change = content()._replace(keys=(KeyChange("LEVEL", CHANGED, (hunk,)),))
    assert f"    ~ LEVEL: {shown}\n" in text_of(NOTHING._replace(contents=(change,)))


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        (2, 3, "spec.x: 2 -> 3"),
        (None, None, "spec.x differs only in notation or in a revision name"),
        ("2", 2, 'spec.x: "2" -> 2'),
        ("on", True, 'spec.x: "on" -> true'),
        ("a b", "a\n", r'spec.x: a b -> "a\n"'),
        ("", " a", 'spec.x: "" -> " a"'),
        (None, {"a": [1]}, 'spec.x: null -> {"a": [1]}'),
        (["Käse"], {"ключ": "é"}, 'spec.x: ["Käse"] -> {"ключ": "é"}'),
        ("\u202ea", "1.2.3", r'spec.x: "\u202ea" -> 1.2.3'),
    ],
)
def test_values_are_unambiguous(old: Json, new: Json, shown: str) -> None:
    assert f"    {shown}\n" in text_of(field(old, new))


def test_added_removed_and_reordered_fields() -> None:
    assert "    spec.x added: 1\n" in text_of(field(None, 1, change=ADDED))
    assert "    spec.x removed: 1\n" in text_of(field(1, None, change=REMOVED))
    text = text_of(field(["a", "b"], ["b", "a"], "spec.containers[]"))
    assert '    order of spec.containers: ["a", "b"] -> ["b", "a"]\n' in text


def test_a_long_line_shows_every_difference_and_what_is_around() -> None:
    same = "y " * 500
    old, new = (f"{same}a={number} {same}b={number}" for number in (1, 2))
    changes = text_of(field(old, new), 1_000).partition("spec.x changes at:\n")[2].splitlines()
    assert [line.replace(" y", "").replace("…y", "…").split() for line in changes] == [
        ["…", "a=1…", "->", "…", "a=2…"],
        ["…", "b=1", "->", "…", "b=2"],
    ]
    assert len("".join(changes)) < 200


def test_a_long_line_without_words_is_not_truncated() -> None:
    old, new = "y" * 500, "z" * 500
    assert f"{old} -> {new}" in text_of(field(old, new), 2_000)


def test_many_keys_of_a_cause_are_counted() -> None:
    keys = tuple(f"k{number}" for number in range(500))
    cause = Cause(CONFIG, CONFIG_MAP, reason="its content changes", keys=keys)
    workload = WorkloadChange(ROLLOUT, CHANGED, ROLLS, (cause,))
    text = text_of(NOTHING._replace(workloads=(workload,)), 200)
    assert "k11 and 488 more)" in text
    assert "k12" not in text


def test_colours_do_not_change_the_text() -> None:
    coloured = TextReporter().render(sample(), Terminal(80, is_coloured=True))
    assert COLOUR.sub("", coloured) == text_of(sample())
    for shown in (
        "\x1b[38;5;131m-  timeout: 30s\x1b[0m",
        "\x1b[38;5;29m+  timeout: 5s\x1b[0m",
        "\x1b[1m\x1b[38;5;163m~ Rollout/web\x1b[0m\x1b[1m\x1b[38;5;163m rolls\x1b[0m",
    ):
        assert shown in coloured


def test_a_long_path_is_broken_after_punctuation() -> None:
    cause = Cause(
        TEMPLATE, field=FieldChange("spec.template.spec.hostUsersAndMore.long", CHANGED, 1, 2)
    )
    workload = WorkloadChange(ROLLOUT, CHANGED, ROLLS, (cause,))
    lines = text_of(NOTHING._replace(workloads=(workload,)), 30).splitlines()
    start = lines.index("~ Rollout/web rolls")
    assert lines[start + 1 : start + 3] == [
        "    spec.template.spec.",
        "      hostUsersAndMore.long: 1",
    ]


def test_wide_characters_have_two_columns() -> None:
    for wide, full in (("\u4e2d", "\u6587"), ("\uff21", "\uff22")):
        text = text_of(field(wide * 30, full * 30), 40)
        assert max(map(columns, text.splitlines())) <= 40
        assert text.count(wide) == text.count(full) == 30


def columns(text: str) -> int:
    """Return the number of terminal columns (unicodedata: East Asian Width, UAX 11)."""
    wide = sum(1 for char in text if unicodedata.east_asian_width(char) in ("W", "F"))
    return len(text) + wide - sum(1 for char in text if unicodedata.combining(char))


@ANY
@given(preview=PREVIEWS)
def test_text_never_contains_control_characters(preview: Preview) -> None:
    text = text_of(preview)
    tabs = "\t" if any("\t" in line for _, line in lines_of(preview)) else ""
    assert [char for char in set(text) - {"\n", tabs} if not char.isprintable()] == []
    coloured = TextReporter().render(preview, Terminal(80, is_coloured=True))
    assert COLOUR.sub("", coloured) == text


# The text marks blanks at the end of a changed line, and changed tabs.
_UNMARKED = str.maketrans("·→", " \t")


@ANY
@given(preview=PREVIEWS)
def test_text_contains_every_name_and_line(preview: Preview) -> None:
    text = without_braces(text_of(preview, 100_000)).translate(_UNMARKED)
    name = namer(preview)
    for identity in identities_of(preview):
        shown = visible(f"{name(identity)} ".partition(" in ")[0].rstrip())
        assert shown.translate(_UNMARKED) in text
    lines = text.splitlines()
    for sign, line in lines_of(preview):
        diff_line = f"    {sign}{visible(line, keep=chr(9))}".translate(_UNMARKED)
        assert diff_line in lines or f" {visible(line)}".translate(_UNMARKED) in text


@ANY
@given(preview=PREVIEWS)
def test_all_lines_except_diffs_fit_the_terminal(preview: Preview) -> None:
    for width in WIDTHS:
        diffs = {
            f"    {sign}{visible(line, keep=chr(9))}".translate(_UNMARKED)
            for sign, line in lines_of(preview)
        }
        for line in text_of(preview, width).splitlines():
            assert columns(line) <= width or line.translate(_UNMARKED) in diffs


def test_many_names_that_begin_alike_have_braces() -> None:
    image = Cause("image", container="app", old="app:1", new="app:2")
    workloads = [
        WorkloadChange(WORKER._replace(name=f"orders-{name}"), CHANGED, ROLLS, (image,))
        for name in ("api", "cron", "queue", "web")
    ]
    text = text_of(NOTHING._replace(workloads=tuple(workloads)))
    assert "Deployment/orders-{api, cron, queue, web}\n" in text
    text = text_of(NOTHING._replace(workloads=tuple(workloads[:3])))
    assert "Deployment/orders-api, Deployment/orders-cron, Deployment/orders-queue\n" in text


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ("shop-a shop-b shop-c", "shop-{a, b, c}"),
        ("shop-a shop-b", "shop-a, shop-b"),
        ("app-a app-b app-c", "app-a, app-b, app-c"),
        ("team/web/a team/web/b team/web/ac", "team/web/{a, b, ac}"),
    ],
)
def test_three_names_with_a_long_start_have_braces(names: str, text: str) -> None:
    assert braced(names.split()) == text


@pytest.mark.parametrize(("count", "is_outlined"), [(290, False), (300, True)])
@pytest.mark.parametrize("change", [ADDED, REMOVED])
def test_long_json_of_one_side_is_outlined(change: str, count: int, is_outlined: bool) -> None:
    text = json.dumps({"panels": ["a\u200d\ta"] * count, "title": "\u2588"}, indent="\t")
    old, new = ({}, {"a.json": text}) if change == ADDED else ({"a.json": text}, {})
    [key] = find_key_changes(old, new, 3)
    lines = outlined(key)
    assert (len(lines) == 1) == is_outlined
    start = "+" if change == ADDED else "-"
    whole = (
        f"{start}{{panels: … ({count} values), title: \u2588}} ({len(text):,} characters of JSON)"
    )
    assert lines == ([whole] if is_outlined else diff_lines(key))
