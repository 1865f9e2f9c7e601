"""A preview as a comment; `python -m tests.diff.test_markdown` writes what is expected.

It is rendered by cmark-gfm, which GitHub uses, and what comes out is read again.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given

from postrender.diff.formats import markdown
from postrender.diff.formats.markdown import MARKER, code, prose, render
from postrender.diff.model import (
    ADDED,
    CHANGED,
    CONFIG,
    IMAGE,
    NEW,
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
from postrender.diff.wording.terminal import Terminal
from postrender.diff.wording.truncate import size_of
from postrender.diff.wording.wording import diff_lines, namer, summary_line
from postrender.kubernetes.kinds import Identity
from postrender.text.escapes import visible
from tests.diff.any_previews import ANY, HOSTILE, PREVIEWS, identities_of
from tests.diff.previews import CHART, ROLLOUT, SERVICE, sample
from tests.update_golden import CheckFile

EXPECTED = Path(__file__).parent / "preview" / "sample.md"
GITHUB_TAKES = 65_536


TAGS = {"h3", "p", "strong", "blockquote", "br", "code", "pre", "ul", "li", "details", "summary"}
TAGS |= {"table", "thead", "tbody", "tr", "th", "td"}
UNCLOSED = {"br"}


class Reader(HTMLParser):
    """Reads HTML: complains where tags do not nest, keeps text apart by whether it is code."""

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

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: D102
        assert tag in TAGS, tag
        assert dict(attrs) == ({"lang": "diff"} if tag == "pre" else {}), attrs
        self.tags.append(tag)
        if tag not in UNCLOSED:
            self.open.append(tag)
        if tag == "code":
            (self.blocks if "pre" in self.open else self.codes).append("")

    def handle_endtag(self, tag: str) -> None:  # noqa: D102
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:  # noqa: D102
        if "code" not in self.open:
            self.words += data
        elif "pre" in self.open:
            self.blocks[-1] += data
        else:
            self.codes[-1] += data

    def handle_comment(self, data: str) -> None:  # noqa: D102
        self.comments.append(data)


def rendered(text: str) -> Reader:
    return Reader(cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE))


def comment_of(preview: Preview) -> str:
    return render(preview, Terminal())


def notice_of(comment: str) -> str:
    return next((line for line in comment.splitlines() if line.startswith("> ")), "")


@pytest.mark.golden
def test_the_sample_reads_well(golden_file: CheckFile) -> None:
    golden_file(EXPECTED, comment_of(sample()))


def test_a_job_finds_its_comment_by_the_first_line() -> None:
    assert comment_of(sample()).splitlines()[0] == MARKER == "<!-- postrender diff -->"


def test_without_changes_it_is_a_title_and_a_sentence() -> None:
    assert comment_of(Preview("old.yaml", "new.yaml")) == (
        "<!-- postrender diff -->\n"
        "### What changes from `old.yaml` to `new.yaml`\n"
        "\n"
        "**no changes**\n"
    )


def test_the_sample_renders_as_what_it_holds() -> None:
    preview = sample()
    page = rendered(comment_of(preview))
    assert page.comments == [" postrender diff "]
    assert page.tags.count("details") == page.tags.count("summary") == len(preview.contents) + 3
    assert page.tags.count("table") == 2
    assert page.tags.count("blockquote") == 0
    hostile = page.blocks[-1]
    assert "+</script><script>alert(1)</script><!-- & \"'\n" in hostile
    assert "+````markdown | a table </details> @someone #1\n" in hostile
    assert "+\\x1b[31mred\\x07 \\u202e right to left" in hostile
    assert "+  retries: 3\t# über `all` of them\n" in page.blocks[1]


@pytest.mark.parametrize("text", [*HOSTILE, "`` ` ``", " a ", "a`", "`a", "a\\|b", "\\\\|", "a||b"])
def test_a_code_span_holds_exactly_its_text(text: str) -> None:
    written = visible(text) or " "  # there is no empty code span
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
        ("its name stays, so that nothing rolls", "its name stays, so that nothing rolls"),
        ("names ConfigMap/other (twice): left alone", "names ConfigMap/other (twice): left alone"),
        ("ask @someone about #1", "ask `@someone` about `#1`"),
        ("a_b *c* GH-12 www.example.com", "`a_b` `*c*` `GH-12` `www.example.com`"),
        ("see https://example.com", "see `https://example.com`"),
        ("a\nb", "`a\\nb`"),
    ],
)
def test_a_word_of_a_sentence_is_code_where_it_could_be_more(text: str, written: str) -> None:
    assert prose(text) == written


def test_fences_are_longer_than_any_in_the_content() -> None:
    comment = comment_of(one_key([" ```", "`````"]))
    assert "\n``````diff\n" in comment
    assert rendered(comment).blocks == ["@@ -1,2 +1,2 @@\n  ```\n `````\n"]


def one_key(lines: list[str], name: str = "web-config", key: str = "app.yaml") -> Preview:
    texts = tuple(Line(" ", at, at, text) for at, text in enumerate(lines, 1))
    hunk = Hunk(1, len(lines), 1, len(lines), texts)
    identity = Identity("", "ConfigMap", None, name)
    content = ContentChange(
        identity, CHANGED, "rename", "a", "b", (KeyChange(key, CHANGED, (hunk,)),), (), ()
    )
    return Preview("old.yaml", "new.yaml", (content,))


@ANY
@given(preview=PREVIEWS)
def test_it_renders_as_what_it_holds(preview: Preview) -> None:
    comment = comment_of(preview)
    assert size_of(comment) <= GITHUB_TAKES
    assert all(each.isprintable() or each in "\n\t" for each in comment)
    page = rendered(comment)
    assert page.comments == [" postrender diff "]
    assert not re.search(r"[@#*_`<>\[\]\\|~$!&]|GH-|://|www\.", page.words), page.words
    names = namer(preview)
    for identity in identities_of(preview):
        assert any(visible(names(identity))[:200] in each for each in page.codes)
    diffs = [
        "".join(f"{line}\n" for line in lines)
        for content in preview.contents
        for key in content.keys
        if (lines := diff_lines(key))
    ]
    assert [each for each in page.blocks if each not in diffs] == []
    shown = [each for each in diffs if each in page.blocks]
    assert len(shown) == len(diffs) or all(len(each) > 500 for each in diffs if each not in shown)


@ANY
@given(preview=PREVIEWS)
def test_whatever_is_cut_is_said(preview: Preview) -> None:
    whole = comment_of(preview)
    for limit in (3_000, 6_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(markdown, "LIMIT", limit)
            comment = comment_of(preview)
        title = whole[: whole.index("\n\n")] + f"\n\n**{prose(summary_line(preview))}**\n"
        assert size_of(comment) <= max(limit, size_of(title) + 600)
        assert (comment == whole) == (size_of(whole) <= limit) == (not notice_of(comment))
        page = rendered(comment)
        names = namer(preview)
        for identity in identities_of(preview):
            is_named = any(visible(names(identity))[:200] in each for each in page.codes)
            assert is_named or notice_of(comment)


def numbered(count: int, lines: int = 3) -> Preview:
    """Return a preview of so many workloads, ConfigMaps, revisions, Services and questions."""
    names = [f"web-{number:04}" for number in range(count)]
    maps = [Identity("", "ConfigMap", None, name) for name in names]
    rollouts = [Identity("argoproj.io", "Rollout", None, name) for name in names]
    texts = [f"line {number}" for number in range(lines)]
    what = "its content changes"
    fields = [FieldChange("spec.paused", CHANGED, number, -1) for number in range(count)]
    return Preview(
        "old.yaml",
        "new.yaml",
        tuple(one_key(texts, name).contents[0] for name in names),
        tuple(
            WorkloadChange(
                each,
                CHANGED,
                ROLLS,
                (Cause(CONFIG, about, what=what, keys=("a",)),),
                fields=(field,),
            )
            for each, about, field in zip(rollouts, maps, fields, strict=True)
        ),
        tuple(RevisionChange(each, f"{each.name}-7f89tk7g74", NEW) for each in maps),
        tuple(
            ObjectChange(SERVICE._replace(name=name), CHANGED, (field._replace(path="spec.x"),))
            for name, field in zip(names, fields, strict=True)
        ),
        tuple(Undecided(f"new.yaml:{name}", "names something", "say what") for name in names),
    )


def test_even_5000_workloads_fit() -> None:
    comment = comment_of(numbered(5_000))
    assert size_of(comment) <= GITHUB_TAKES
    assert size_of(comment) > GITHUB_TAKES - 2_000
    rows = re.findall(r"^\| `Rollout/web-(\d+)` \| \*\*rolls\*\* \| config \|$", comment, re.M)
    assert rows == [f"{number:04}" for number in range(len(rows))]
    assert "**5,000 Rollouts roll, 5,000 ConfigMaps change, 5,000 new revisions;" in comment
    assert notice_of(comment) == (
        f"> Cut to fit into a comment; left out: the causes of {len(rows):,} workloads, "
        f"{5_000 - len(rows):,} workloads, 5,000 ConfigMaps, 5,000 workloads outside of their pod "
        "templates, 5,000 revisions, 5,000 other objects, 5,000 undecided things. "
        "`postrender diff --format text` shows everything."
    )


def test_fields_of_other_objects_go_first() -> None:
    comment = comment_of(numbered(133))
    assert notice_of(comment).startswith("> Cut to fit into a comment; left out: the fields of ")
    assert notice_of(comment).count(" of ") == 1
    assert comment.count("- `Service/web-") == 133


def test_long_diffs_go_next_the_longest_first() -> None:
    lengths = (300, 4_000, 200, 3_000)
    contents = [one_key(["x" * 10] * length, f"map-{length}").contents[0] for length in lengths]
    preview = numbered(10)._replace(contents=tuple(contents))
    comment = comment_of(preview)
    assert "left out: the diffs of 1 key, the fields of 10 other objects." in notice_of(comment)
    assert comment.count("changes (empty): the diff is left out") == 1
    assert len(rendered(comment).blocks) == 3
    assert rendered(comment).tags.count("details") == 4 + 3


def test_a_configmap_with_more_keys_than_fit_keeps_its_first_ones() -> None:
    keys = tuple(
        one_key(["some text"] * 3, key=f"key-{number:04}").contents[0].keys[0]
        for number in range(2_000)
    )
    (content,) = one_key([]).contents
    comment = comment_of(Preview("old.yaml", "new.yaml", (content._replace(keys=keys),)))
    blocks = len(rendered(comment).blocks)
    assert 500 < blocks < 2_000
    assert f"left out: {2_000 - blocks:,} keys." in notice_of(comment)
    assert size_of(comment) > GITHUB_TAKES - 2_000


def test_characters_beyond_the_first_plane_count_twice() -> None:
    comment = comment_of(one_key(["\U0001f600" * 500] * 70))
    assert len(comment) < 2_000
    assert "the diffs of 1 key" in notice_of(comment)
    assert len(comment_of(one_key(["\u00e4" * 500] * 70))) > 35_000


def test_a_fence_as_long_as_a_comment_is_cut_with_its_block() -> None:
    comment = comment_of(one_key(["`" * 60_000]))
    assert size_of(comment) <= GITHUB_TAKES
    assert rendered(comment).blocks == []


def test_it_is_the_same_every_time() -> None:
    assert comment_of(numbered(2_000)) == comment_of(numbered(2_000))


def test_an_added_object_is_named_only() -> None:
    preview = Preview("a", "b", objects=(ObjectChange(SERVICE, ADDED),))
    assert "\n- `Service/web` is added\n" in comment_of(preview)


def labelled(count: int) -> Preview:
    """Return a preview of so many of each, which change in the label of a chart alone."""
    preview = numbered(count)
    cause = Cause(TEMPLATE, field=CHART._replace(path=f"spec.template.{CHART.path}"))
    return preview._replace(
        contents=tuple(
            each._replace(keys=(), fields=(CHART,), new_revision="a") for each in preview.contents
        ),
        workloads=tuple(
            each._replace(causes=(cause,), fields=(CHART,)) for each in preview.workloads
        ),
        objects=tuple(each._replace(fields=(CHART,)) for each in preview.objects),
        revisions=(),
        undecided=(),
    )


def test_a_chart_version_in_a_label_of_all_is_told_once() -> None:
    comment = comment_of(labelled(30))
    lines = comment.splitlines()
    change = '`metadata.labels["helm.sh/chart"]`: `shop-1.2.3` → `shop-1.2.4`'
    assert lines.count(f"  - {change}") == 3  # of ConfigMaps, of workloads, of Services
    assert lines.count("  - the same in 29 more:") == 3
    (row,) = [line for line in lines if "**rolls**" in line]
    assert row.count("`Rollout/web-") == 30
    assert row.count("<br>") == 29
    assert (
        "<summary><code>ConfigMap/web-0000</code> and 29 more change outside of their data"
        in comment
    )
    assert "(30)</summary>" in comment
    assert rendered(comment).tags.count("details") == 3


def test_replicas_stand_beside_the_effect_and_nowhere_else() -> None:
    replicas = FieldChange("spec.replicas", CHANGED, 2, 5)
    preview = numbered(1)
    (rollout,) = preview.workloads
    told = "`spec.replicas`: `2` → `5`"
    comment = comment_of(preview._replace(workloads=(rollout._replace(fields=(replicas, CHART)),)))
    assert f"| `Rollout/web-0000` | **rolls**<br>{told} |" in comment
    assert comment.count("spec.replicas") == 1
    assert "Workloads, outside of their pod templates (1)" in comment
    preview = numbered(2_000)
    workloads = tuple(each._replace(fields=(replicas,)) for each in preview.workloads)
    cut = comment_of(preview._replace(workloads=(rollout, *workloads)))
    assert f"| **rolls**<br>{told} | config |" in cut, "not left out with the causes"


def test_what_is_told_once_is_counted_one_by_one_where_it_is_cut() -> None:
    comment = comment_of(labelled(5_000))
    assert size_of(comment) <= GITHUB_TAKES
    assert size_of(comment) > GITHUB_TAKES - 4_000
    shown = comment.count("`Rollout/web-")
    assert 500 < shown < 5_000
    assert f"{5_000 - shown:,} workloads, " in notice_of(comment)
    assert "5,000 workloads outside of their pod templates, 5,000 other objects" in notice_of(
        comment
    )
    assert "5,000 ConfigMaps" in notice_of(comment)
