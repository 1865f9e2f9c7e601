"""A preview as a comment, rendered by cmark-gfm, which GitHub uses."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given

from postrender.diff.formats import markdown
from postrender.diff.formats.markdown import MARKER, MarkdownReporter, code, prose
from postrender.diff.lines import diff_lines
from postrender.diff.model import (
    ADDED,
    CHANGED,
    CONFIG,
    DROPPED,
    IMAGE,
    ROLLS,
    TEMPLATE,
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
from postrender.diff.summary import summary_line
from postrender.diff.values import (
    Style,
    Terminal,
    describe_field,
    namer,
    size_of,
    whole_values,
)
from postrender.kubernetes.kinds import Identity
from postrender.text import visible, with_visible_end
from tests.diff.any_previews import ANY, HOSTILE, PREVIEWS, identities_of
from tests.diff.previews import CHART, ROLLOUT, SERVICE, sample
from tests.update_golden import CheckFile

cmarkgfm = pytest.importorskip("cmarkgfm", reason="not for Python 3.15 yet")

EXPECTED = Path(__file__).parent / "preview" / "sample.md"
GITHUB_LIMIT = 65_536


TAGS = {"h3", "p", "strong", "blockquote", "br", "code", "pre", "ul", "li", "details", "summary"}
TAGS |= {"table", "thead", "tbody", "tr", "th", "td"}
UNCLOSED = {"br"}
_OPEN: dict[str, dict[str, None]] = {"details": {"open": None}}


class Reader(HTMLParser):
    """Reads HTML: checks that tags are nested, and separates code from other text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.comments: list[str] = []
        self.codes: list[str] = []
        self.blocks: list[str] = []
        self.words = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        assert dict(attrs) in ({"lang": "diff"} if tag == "pre" else {}, _OPEN.get(tag)), attrs
        self.tags.append(tag)
        if tag not in UNCLOSED:
            self.open.append(tag)
        if tag == "code":
            (self.blocks if "pre" in self.open else self.codes).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "code" not in self.open:
            self.words += data
        elif "pre" in self.open:
            self.blocks[-1] += data
        else:
            self.codes[-1] += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def rendered(text: str) -> Reader:
    return Reader(
        cmarkgfm.github_flavored_markdown_to_html(text, cmarkgfm.cmark.Options.CMARK_OPT_UNSAFE)
    )


def comment_of(preview: Preview) -> str:
    return MarkdownReporter().render(preview, Terminal())


def notice_of(comment: str) -> str:
    return next((line for line in comment.splitlines() if line.startswith("> This ")), "")


@pytest.mark.golden
def test_the_sample_has_the_expected_comment(golden_file: CheckFile) -> None:
    golden_file(EXPECTED, comment_of(sample()))


def test_the_first_line_is_the_marker() -> None:
    assert comment_of(sample()).splitlines()[0] == MARKER == "<!-- postrender diff -->"


def test_a_comment_without_changes_is_a_title_and_a_sentence() -> None:
    assert comment_of(Preview("old.yaml", "new.yaml")) == (
        "<!-- postrender diff -->\n### Changes from `old.yaml` to `new.yaml`\n\n**no changes**\n"
    )


def test_the_sample_renders_without_loss() -> None:
    preview = sample()
    page = rendered(comment_of(preview))
    assert page.comments == [" postrender diff "]
    assert page.tags.count("details") == page.tags.count("summary") == len(preview.contents) + 3
    assert page.tags.count("table") == 2
    assert page.tags.count("blockquote") == 1  # the risks
    hostile = page.blocks[-1]
    assert "+</script><script>alert(1)</script><!-- & \"'\n" in hostile
    assert "+````markdown | a table </details> @someone #1\n" in hostile
    assert "+\\x1b[31mred\\x07 \\u202e right to left" in hostile
    assert "+  retries: 3\t# über `all` of them\n" in page.blocks[1]


@pytest.mark.parametrize("text", [*HOSTILE, "`` ` ``", " a ", "a`", "`a", "a\\|b", "\\\\|", "a||b"])
def test_a_code_span_contains_exactly_its_text(text: str) -> None:
    written = visible(with_visible_end(text)) or " "  # Markdown has no empty code span
    assert rendered(code(text)).codes == [written]
    cause = Cause(IMAGE, container=text, old="old", new="new")
    in_table = Preview("", "", workloads=(WorkloadChange(ROLLOUT, CHANGED, ROLLS, (cause,)),))
    fields = (FieldChange(text, CHANGED, 1, 2),)
    in_list = Preview("", "", objects=(ObjectChange(SERVICE, CHANGED, fields),))
    for preview in (in_table, in_list, one_key(["text"], key=text)):
        assert written in rendered(comment_of(preview)).codes


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("its name is unchanged, so nothing rolls", "its name is unchanged, so nothing rolls"),
        (
            "references ConfigMap/other (twice): ignored",
            "references ConfigMap/other (twice): ignored",
        ),
        ("ask @someone about #1", "ask `@someone` about `#1`"),
        ("a_b *c* GH-12 www.example.com", "`a_b` `*c*` `GH-12` `www.example.com`"),
        ("see https://example.com", "see `https://example.com`"),
        ("a\nb", "`a\\nb`"),
        ("1. one, 2. two", "`1.` one, 2. two"),
        ("- one", "`-` one"),
    ],
)
def test_a_word_that_markdown_could_interpret_is_code(text: str, written: str) -> None:
    assert prose(text) == written


def test_fences_are_longer_than_those_in_the_content() -> None:
    comment = comment_of(one_key([" ```", "`````"]))
    assert "\n``````diff\n" in comment
    assert rendered(comment).blocks == ["@@ -1,2 +1,2 @@\n  ```\n `````\n"]


def one_key(
    lines: list[str], name: str = "web-config", key: str = "app.yaml", sign: str = " "
) -> Preview:
    texts = tuple(Line(sign, number, number, text) for number, text in enumerate(lines, 1))
    hunk = Hunk(1, len(lines), 1, len(lines), texts)
    content = ContentChange(
        identity=Identity("", "ConfigMap", None, name),
        change=CHANGED,
        strategy="rename",
        old_revision="a",
        new_revision="b",
        keys=(KeyChange(key, CHANGED, (hunk,)),),
        fields=(),
        users=(),
    )
    return Preview("old.yaml", "new.yaml", (content,))


@ANY
@given(preview=PREVIEWS)
def test_any_preview_renders_without_loss(preview: Preview) -> None:
    comment = comment_of(preview)
    assert size_of(comment) <= GITHUB_LIMIT
    assert all(char.isprintable() or char in "\n\t" for char in comment)
    page = rendered(comment)
    assert page.comments == [" postrender diff "]
    words = page.words.replace("[!CAUTION]", "", 1) if preview.risks else page.words
    assert not re.search(r"[@#*_`<>\[\]\\|~$!&]|GH-|://|www\.", words), words
    names = namer(preview)
    for identity in identities_of(preview):
        name = visible(with_visible_end(names(identity)))
        assert any(name[:200] in code_span for code_span in page.codes)
    diffs = [
        "".join(f"{line}\n" for line in lines)
        for content in preview.contents
        for key in content.keys
        if (lines := diff_lines(key)) and not any(whole_values(key, 200))
    ]
    plain = Style(code=str, prose=str, name=str)
    fields = [field for content in preview.contents for field in content.fields]
    fields += [field for it in (*preview.objects, *preview.workloads) for field in it.fields]
    of_fields = [
        "".join(f"{line}\n" for line in describe_field(field, plain).diff) for field in fields
    ]
    assert [block for block in page.blocks if block not in (*diffs, *of_fields)] == []
    omitted = [diff for diff in diffs if diff not in page.blocks]
    assert all(len(diff) > 500 for diff in omitted)


@ANY
@given(preview=PREVIEWS)
def test_a_truncated_comment_has_a_notice(preview: Preview) -> None:
    complete = comment_of(preview)
    for limit in (3_000, 6_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(markdown, "LIMIT", limit)
            comment = comment_of(preview)
        title = complete[: complete.index("\n\n")] + f"\n\n**{prose(summary_line(preview))}**\n"
        assert size_of(comment) <= max(limit, size_of(title) + 600)
        assert (comment == complete) == (size_of(complete) <= limit) == (not notice_of(comment))
        page = rendered(comment)
        names = namer(preview)
        for identity in identities_of(preview):
            name = visible(with_visible_end(names(identity)))[:200]
            assert any(name in code_span for code_span in page.codes) or notice_of(comment)


def numbered(count: int, lines: int = 3) -> Preview:
    """Return a preview of so many workloads, ConfigMaps, Services and undecided parts."""
    names = [f"web-{number:04}" for number in range(count)]
    maps = [Identity("", "ConfigMap", None, name) for name in names]
    rollouts = [Identity("argoproj.io", "Rollout", None, name) for name in names]
    fields = [FieldChange("spec.paused", CHANGED, number, -1) for number in range(count)]
    return Preview(
        "old.yaml",
        "new.yaml",
        tuple(
            one_key([f"line {number}-{line}" for line in range(lines)], name, sign="+").contents[0]
            for number, name in enumerate(names)
        ),
        tuple(
            WorkloadChange(
                rollout,
                CHANGED,
                ROLLS,
                (Cause(CONFIG, configmap, reason="content changes", keys=(f"a{number}",)),),
                fields=(field,),
            )
            for number, (rollout, configmap, field) in enumerate(
                zip(rollouts, maps, fields, strict=True)
            )
        ),
        tuple(RevisionChange(item, f"{item.name}-7f89tk7g74", DROPPED) for item in maps),
        tuple(
            ObjectChange(SERVICE._replace(name=name), CHANGED, (field._replace(path="spec.x"),))
            for name, field in zip(names, fields, strict=True)
        ),
        tuple(
            Undecided(f"new.yaml:{name}", "the reference is ambiguous", "Set the namespace")
            for name in names
        ),
    )


def test_5000_workloads_fit() -> None:
    comment = comment_of(numbered(5_000))
    assert size_of(comment) <= GITHUB_LIMIT
    assert size_of(comment) > GITHUB_LIMIT - 2_000
    rows = re.findall(r"^\| `Rollout/web-(\d+)` \| \*\*rolls\*\* \| config \|$", comment, re.M)
    assert rows == [f"{number:04}" for number in range(len(rows))]
    assert "**5,000 Rollouts roll, 5,000 ConfigMaps change, 5,000 dropped revisions;" in comment
    counts = f"{len(rows):,}", f"{5_000 - len(rows):,}"
    assert notice_of(comment) == (
        f"> This comment leaves out the causes of {counts[0]} workloads ({counts[0]} Rollouts), "
        f"{counts[1]} workloads ({counts[1]} Rollouts), 5,000 ConfigMaps, "
        "5,000 keys, 5,000 workloads that change outside their pod templates (5,000 Rollouts), "
        "5,000 revisions, 5,000 other objects (5,000 Services), 5,000 undecided parts, "
        "because a comment has a maximum length. `postrender diff --format text` shows the whole "
        "preview."
    )


def test_fields_of_other_objects_are_left_out_first() -> None:
    comment = comment_of(numbered(121))
    assert notice_of(comment).startswith("> This comment leaves out the fields of ")
    assert notice_of(comment).count(" of ") == 1
    assert comment.count("- `Service/web-") == 121


def test_the_longest_diffs_are_left_out_next() -> None:
    lengths = (300, 4_000, 200, 3_000)
    contents = [
        one_key(["x" * 10] * length, f"map-{length}", sign="+").contents[0] for length in lengths
    ]
    preview = numbered(10)._replace(contents=tuple(contents))
    comment = comment_of(preview)
    assert "leaves out the diffs of 1 key, the fields of 10 workloads" in notice_of(comment)
    assert comment.count("changes (+4000): the diff is left out") == 1
    assert len(rendered(comment).blocks) == 3
    assert rendered(comment).tags.count("details") == 4 + 3


def test_the_last_keys_of_a_large_configmap_are_left_out() -> None:
    keys = tuple(
        one_key(["some text"] * 3, key=f"key-{number:04}").contents[0].keys[0]
        for number in range(2_000)
    )
    (content,) = one_key([]).contents
    comment = comment_of(Preview("old.yaml", "new.yaml", (content._replace(keys=keys),)))
    blocks = len(rendered(comment).blocks)
    assert 500 < blocks < 2_000
    assert f"leaves out {2_000 - blocks:,} keys," in notice_of(comment)
    assert size_of(comment) > GITHUB_LIMIT - 2_000


def test_characters_beyond_the_first_plane_count_twice() -> None:
    comment = comment_of(one_key(["\U0001f600" * 500] * 70))
    assert len(comment) < 2_000
    assert "the diffs of 1 key" in notice_of(comment)
    assert len(comment_of(one_key(["\u00e4" * 500] * 70))) > 35_000


def test_a_block_with_a_very_long_fence_is_left_out() -> None:
    comment = comment_of(one_key(["`" * 60_000]))
    assert size_of(comment) <= GITHUB_LIMIT
    assert rendered(comment).blocks == []


def test_a_comment_is_deterministic() -> None:
    assert comment_of(numbered(2_000)) == comment_of(numbered(2_000))


def test_an_added_object_has_only_its_name() -> None:
    preview = Preview("a", "b", objects=(ObjectChange(SERVICE, ADDED),))
    assert "\n- `Service/web` is added\n" in comment_of(preview)


def labelled(count: int) -> Preview:
    """Return a preview of so many objects of each kind; only the label of the chart changes."""
    preview = numbered(count)
    cause = Cause(TEMPLATE, field=CHART._replace(path=f"spec.template.{CHART.path}"))
    return preview._replace(
        contents=tuple(
            content._replace(keys=(), fields=(CHART,), new_revision="a")
            for content in preview.contents
        ),
        workloads=tuple(
            workload._replace(causes=(cause,), fields=(CHART,)) for workload in preview.workloads
        ),
        objects=tuple(change._replace(fields=(CHART,)) for change in preview.objects),
        revisions=(),
        undecided=(),
    )


def test_a_chart_version_in_every_label_is_described_once() -> None:
    comment = comment_of(labelled(30))
    lines = comment.splitlines()
    change = '`metadata.labels["helm.sh/chart"]`: `shop-1.2.3` → `shop-1.2.4`'
    assert comment.count("shop-1.2.4") == 1
    assert lines.count(f"  - {change}") == 1
    start = (
        "- 90 objects change alike (30 Rollouts, 30 ConfigMaps, 30 Services): `Rollout/web-0000`"
    )
    assert sum(line.startswith(start) for line in lines) == 1
    (row,) = [line for line in lines if "**rolls**" in line]
    assert row.count("`Rollout/web-") == 30
    assert row.startswith("| 30 Rollouts<br>`Rollout/web-0000`, ")
    assert row.endswith(" | shared labels of the pod template: `helm.sh/chart` |")
    assert "<summary>Shared labels (90)</summary>" in comment
    assert rendered(comment).tags.count("details") == 1


def test_replicas_are_in_the_table_only() -> None:
    replicas = FieldChange("spec.replicas", CHANGED, 2, 5)
    preview = numbered(1)
    (rollout,) = preview.workloads
    replicas_text = "`spec.replicas`: `2` → `5`"
    comment = comment_of(preview._replace(workloads=(rollout._replace(fields=(replicas, CHART)),)))
    assert f"| `Rollout/web-0000` | **rolls**<br>{replicas_text} |" in comment
    assert comment.count("spec.replicas") == 1
    assert "Workloads, outside their pod templates (1)" in comment
    preview = numbered(2_000)
    workloads = tuple(workload._replace(fields=(replicas,)) for workload in preview.workloads)
    truncated = comment_of(preview._replace(workloads=(rollout, *workloads)))
    assert f"| **rolls**<br>{replicas_text} | config |" in truncated


def test_the_names_of_groups_are_left_out_first() -> None:
    preview = labelled(5_000)
    odd = ObjectChange(
        SERVICE, CHANGED, (CHART, FieldChange("spec.type", CHANGED, "ClusterIP", "NodePort"))
    )
    comment = comment_of(preview._replace(objects=(*preview.objects, odd)))
    assert size_of(comment) <= GITHUB_LIMIT
    assert comment.count("`Rollout/web-") == 200, "with the cause, and with the label"
    assert "- `Service/web` changes\n  - `spec.type`: `ClusterIP` → `NodePort`\n" in comment
    notice = notice_of(comment)
    assert "the names of 4,900 workloads (4,900 Rollouts), the names of 14,901 objects" in notice
    assert "(5,001 Services, 5,000 ConfigMaps, 4,900 Rollouts)" in notice


def test_dangerous_objects_are_left_out_last() -> None:
    role = Identity("rbac.authorization.k8s.io", "ClusterRole", None, "every-secret")
    field = FieldChange("rules", CHANGED, None, ["secrets"])
    preview = numbered(5_000)
    comment = comment_of(
        preview._replace(objects=(*preview.objects, ObjectChange(role, ADDED, (field,))))
    )
    assert '- `ClusterRole/every-secret` is added\n  - `rules`: `null` → `["secrets"]`' in comment
    assert "5,000 other objects (5,000 Services)" in notice_of(comment)
