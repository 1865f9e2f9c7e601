"""The HTML page as text: its content, and that text from manifests never becomes markup."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from postrender.diff import model
from postrender.diff.formats.html import fields_markup, hunks_markup, value_markup
from postrender.diff.formats.html.page import HtmlReporter
from postrender.diff.formats.text import TextReporter
from postrender.diff.model import CHANGED, REMOVED, FieldChange, Hunk, Line, Preview
from postrender.diff.values import Terminal
from postrender.yaml.paths import Json
from tests.browser.large import labelled, large
from tests.diff.change_cases import run
from tests.diff.previews import sample

ROOT = Path(__file__).resolve().parents[2]

# The constants of the model; all other texts are from manifests or from the command line.
OURS = {value for name, value in vars(model).items() if name.isupper() and isinstance(value, str)}
OURS |= {"workload", "config", "other", "+", "-", " ", ""}

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</style><style>*{display:none}</style>",
    "<!-- ",
    "--><img src=x onerror=alert(1)>",
    "]]>",
    "<![CDATA[",
    '" onclick="alert(1)" x=\'',
    "' autofocus onfocus='alert(1)",
    "</details></main><h1>",
    "javascript:alert(1)",
    "&lt;b&gt;&amp;",
    "`${alert(1)}`",
    "\u2028\u2029\x00\x1b[31m",
    "\u202egnp.exe\u202c",
    "\ud800",
]


class Structure(HTMLParser):
    """The elements of a page with their attributes, and the text that a reader sees."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.others: list[str] = []
        self._within = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect an element."""
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self._within = tag

    def handle_endtag(self, _: str) -> None:
        """Leave a script or style."""
        self._within = ""

    def handle_data(self, data: str) -> None:
        """Collect text that is shown."""
        if self._within not in ("script", "style"):
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        """Collect markup that must not occur."""
        self.others.append(data)

    handle_pi = unknown_decl = handle_comment

    @property
    def text(self) -> str:
        """All the text of the page."""
        return "".join(self.texts)

    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """Elements and the names of their attributes, without marks that depend on texts."""
        return [(tag, tuple(attrs)) for tag, attrs in self.elements if tag not in ("u", "b")]

    def values(self, name: str) -> list[str]:
        """All values of an attribute."""
        return [attrs[name] for _, attrs in self.elements if name in attrs]


def page_of(preview: Preview) -> str:
    return HtmlReporter().render(preview, Terminal())


def planted(part: Any, text: str) -> Any:
    """Return a part of a preview, with a suffix on each text that is not ours."""
    if isinstance(part, str):
        return part if part in OURS else part + text
    if isinstance(part, dict):
        return {planted(key, text): planted(value, text) for key, value in part.items()}
    if isinstance(part, tuple):
        items = [planted(item, text) for item in part]
        return type(part)(*items) if hasattr(part, "_fields") else tuple(items)
    return part


@pytest.mark.parametrize("preview", [sample(), labelled(5)], ids=["sample", "alike"])
@pytest.mark.parametrize("text", HOSTILE)
def test_text_from_manifests_never_becomes_markup(text: str, preview: Preview) -> None:
    harmless = Structure(page_of(planted(preview, "x" * len(text))))
    hostile = Structure(page_of(planted(preview, text)))
    assert hostile.shape() == harmless.shape()
    assert not hostile.others


def test_markup_in_a_configmap_is_shown_as_text() -> None:
    assert "+</script><script>alert(1)</script><!-- & \"'\n" in Structure(page_of(sample())).text


def test_invisible_characters_are_escaped() -> None:
    page = page_of(sample())
    assert '<u class="unseen">\\u202e</u>' in page
    assert '<u class="unseen">\\x1b</u>' in page
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", page)


def test_a_page_is_always_valid_utf_8() -> None:
    page_of(planted(sample(), "\ud800")).encode("utf-8")


def test_a_page_is_deterministic() -> None:
    code = (
        "from tests.diff.previews import sample; "
        "from postrender.diff.formats.html.page import HtmlReporter; "
        "from postrender.diff.values import Terminal; "
        "import hashlib; "
        "print(hashlib.sha256(HtmlReporter().render(sample(), Terminal()).encode()).hexdigest())"
    )
    pages = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert pages == {hashlib.sha256(page_of(sample()).encode()).hexdigest() + "\n"}


def test_a_page_has_no_external_references() -> None:
    page = page_of(sample())
    structure = Structure(page)
    assert not structure.values("src")
    assert all(href.startswith("#") or href == "data:," for href in structure.values("href"))
    # The XML namespace of SVG is a name, not a request.
    assert re.findall(r"https?://[^\"' ]*", page) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"@import|url\((?!#)", page)


def test_the_policy_allows_only_the_script_and_style_of_the_page() -> None:
    page = page_of(sample())
    (policy,) = [
        attrs["content"]
        for _, attrs in Structure(page).elements
        if attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for name in ("script", "style"):
        (content,) = re.findall(f"<{name}>(.*?)</{name}>", page, re.S)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[f"{name}-src"] == f"'sha256-{digest}'"
    assert not [attrs for _, attrs in Structure(page).elements if "style" in attrs]


@pytest.mark.parametrize("preview", [sample(), labelled(40)], ids=["sample", "alike"])
def test_headings_ids_and_links_are_consistent(preview: Preview) -> None:
    structure = Structure(page_of(preview))
    levels = [int(tag[1]) for tag, _ in structure.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = structure.values("id")
    assert len(ids) == len({*ids})
    targets = [href[1:] for href in structure.values("href") if href.startswith("#")]
    assert {*targets, *structure.values("for"), *structure.values("aria-labelledby")} <= {*ids}


def test_a_chart_version_in_every_label_is_described_once() -> None:
    page = page_of(labelled(40))
    text = Structure(page).text
    assert text.count("shop-1.2.4") == 4, "rolling and other workloads, ConfigMaps, Services"
    assert "ConfigMap/service-000-config and 38 more" in text
    assert "The same change in all 39" in text
    assert "service-007-config-m567dfc6df · referenced by Rollout/service-007" in text
    assert "ConfigMap/service-039-config and" not in text
    assert re.findall(r'<h2[^>]*>([^<]*) <small class="count">([0-9]+)', page) == [
        ("Workloads", "40"),
        ("ConfigMaps and Secrets", "40"),
        ("References", "80"),
        ("Other objects", "40"),
    ]


def test_labels_that_all_objects_share_are_told_once() -> None:
    page = page_of(labelled(40, is_shared=True))
    text = Structure(page).text
    assert text.count("shop-1.2.4") == 1
    assert "Rollout/service-000 and 116 more" in text
    assert "The same change in all 117" in text
    assert re.findall(r'<h2[^>]*>([^<]*) <small class="count">([0-9]+)', page) == [
        ("Workloads", "20"),
        ("ConfigMaps and Secrets", "1"),
        ("References", "80"),
        ("Other objects", "1"),
        ("Shared labels", "117"),
    ]


def test_a_null_that_is_removed_is_not_a_change_of_notation() -> None:
    fields = (
        FieldChange("spec.a", REMOVED, None, None),
        FieldChange("spec.b", CHANGED, None, None),
    )
    text = Structure(fields_markup(fields)).text
    assert "removed spec.a null" in text
    assert "changed spec.b differs only in notation or in a revision name" in text


def test_an_equal_change_of_several_items_is_told_once(tmp_path: Path) -> None:
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"
    for name, number in (("old", 1), ("new", 2)):
        data = json.dumps([{"name": "a", "size": number}, {"name": "b", "size": number}])
        (tmp_path / name).write_text(config + json.dumps({"data": {"a.json": data}})[1:-1])
    page = run(["diff", "--output=html", "old", "new"], tmp_path).stdout
    assert page.count("<code>[*].size</code>") == 1
    assert "<small> 2 times</small>" in page


@pytest.mark.parametrize("is_shared", [False, True])
def test_every_object_has_an_anchor(is_shared: bool) -> None:
    ids = Structure(page_of(labelled(40, is_shared=is_shared))).values("id")
    assert {*ids} >= {f"{letter}{number}" for letter in "wco" for number in range(40)}
    assert len(ids) == len({*ids})


def test_a_page_has_the_same_groups_as_the_text() -> None:
    preview = labelled(30)
    page = page_of(preview)
    text = TextReporter().render(preview, Terminal())
    groups = [int(count) - 1 for count in re.findall("~ ([0-9]+) .* alike", text)]
    more = re.findall('<span class="more">and ([0-9]+) more</span>', page)
    assert list(map(int, more)) == groups


def test_a_long_list_of_objects_is_folded() -> None:
    lists = 'class="members"( open)?>'
    assert re.findall(lists, page_of(labelled(5))) == [" open"] * 4
    assert re.findall(lists, page_of(labelled(40))) == [""] * 4


@pytest.mark.parametrize(
    ("number", "lines", "is_open"),
    [(40, 10, [True, True]), (40, 11, [True, False]), (41, 5, [False, True])],
)
def test_a_page_of_many_changes_is_folded(number: int, lines: int, is_open: list[bool]) -> None:
    """Contents by the number of their diff lines, and everything else by the groups of workloads.

    The page shows the workloads first, then the contents.
    """
    entries = re.findall(r'<details class="entry"([^>]*)>', page_of(large(number, lines)))
    assert len(entries) == 2 * number
    for half, expected in zip((entries[:number], entries[number:]), is_open, strict=True):
        assert {" open" in entry for entry in half} == {expected}


def test_the_filters_are_open_and_cannot_be_cleared_yet() -> None:
    page = page_of(sample())
    assert '<details id="filters" open>' in page
    assert '<button type="button" id="clear" hidden>' in page


def test_a_secret_has_only_its_base_name() -> None:
    text = Structure(page_of(sample())).text
    assert "Secret/web-database" in text
    assert not re.search(r"web-database-\w", text)


def test_a_page_without_changes_has_a_notice() -> None:
    text = Structure(page_of(Preview("a.yaml", "b.yaml"))).text
    assert "No changes." in text
    assert "a.yaml → b.yaml" in text


def test_the_size_of_a_page_is_linear() -> None:
    small, big = (len(page_of(large(number))) for number in (50, 500))
    assert big < 10 * small
    assert big < 4_500_000


def test_a_page_of_similar_changes_is_short() -> None:
    few, many = (len(page_of(labelled(number))) for number in (50, 500))
    assert (many - few) / 450 < 2_500


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        ("timeout: 30s", "timeout: 5s", ["30s", "5s"]),
        ("level: debug", "level: debugging", ["debug", "debugging"]),
        ("a=1 same b=1", "a=2 same b=2", ["1", "1", "2", "2"]),
        ("url: amqp://queue", "url: amqp://queue/path", ["/path"]),
        ("one two three", "one three", ["two "]),
        ("some text and", "some text and ", ["·"]),
        ("all of this", "is another", []),
        ("", "new", []),
        ("aaa", "aaaa", []),
    ],
)
def test_words_that_differ_are_marked(old: str, new: str, marked: list[str]) -> None:
    lines = (Line("-", 1, 0, old), Line("+", 0, 1, new))
    markup = hunks_markup((Hunk(1, 1, 1, 1, lines),))
    assert re.findall("<b>(.*?)</b>", markup) == marked
    assert Structure(markup).text == f"@@ -1 +1 @@\n-{old}\n+{new}\n".replace(" \n", "·\n")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", "text"),
        ("80", '"80"'),
        (80, "80"),
        ("true", '"true"'),
        (True, "true"),
        ("", '""'),
        (" x", '" x"'),
        ({"ключ": ["é"]}, '{"ключ": ["é"]}'),
        (["é" * 72, "b"], f"[0]: {'é' * 72}\n[1]: b"),
        ("two\nlines", "two\nlines"),
        ("long " * 2000, f'"{"long " * 2000}"'),
    ],
)
def test_a_string_differs_from_a_value_with_the_same_text(value: Json, text: str) -> None:
    assert Structure(value_markup(value)).text == text
