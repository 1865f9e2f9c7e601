"""Manifests with texts that once became part of a preview, or took quadratic time or more."""

from __future__ import annotations

import contextlib
import json
import re
from time import thread_time

import pytest

from postrender.config.settings import Settings
from postrender.diff.build import compare
from postrender.diff.formats import REPORTERS, Reporter
from postrender.diff.values import Terminal
from postrender.errors import UserError
from postrender.inventory.build import take_inventory
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.yaml.stream import read_stream

# One of these texts took minutes, and most of them hours. A busy machine needs less than a second.
LIMIT_SECONDS = 20

LIST_WITH_A_COMMENT = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: web
    annotations: {{postrender/keep-original: "true"}}
  data: {{a: b}}
  x:
  {comment}
- apiVersion: v1
  kind: Pod
  metadata: {{name: web}}
  spec:
    containers: [{{name: a, envFrom: [{{configMapRef: {{name: web}}}}]}}]
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\ndata:\n  a: b\n"


def rendered(text: str) -> str:
    stream = read_stream(text.encode(), "chart.yaml")
    settings = Settings()
    return "".join(render(make_plan(take_inventory(stream, settings), settings)))


def preview(old: str, new: str, reporter: Reporter = REPORTERS["text"]) -> str:
    sides = [read_stream(side.encode(), "chart.yaml") for side in (old, new)]
    return reporter.render(compare(sides[0], sides[1], Settings()), Terminal(100, False))


@pytest.mark.parametrize("form", REPORTERS)
def test_a_kind_is_not_text_of_the_preview(form: str) -> None:
    """Also where objects that change alike are counted by their kinds."""
    kind = json.dumps("Event\n\n# Approved\u202e <img src=x> \x1b[31m")
    old = "".join(
        f"---\napiVersion: x.io/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {{a: 1}}\n"
        for name in ("one", "two")
    )
    text = preview(old, old.replace("a: 1", "a: 2"), REPORTERS[form])
    assert "two" in text or not REPORTERS[form].is_complete
    assert not re.search(r"^# Approved|\u202e|\x1b", text, re.MULTILINE)
    if form in ("markdown", "html"):
        assert "<img src=x>" not in re.sub("`[^`]*`", "", text)


@pytest.mark.parametrize("comment", ["# " * 200, "# " * 200 + "\n  x", " \t#" * 200, "#\n" * 200])
def test_a_comment_of_many_marks_after_an_object_of_a_list(comment: str) -> None:
    start = thread_time()
    with contextlib.suppress(UserError):
        rendered(LIST_WITH_A_COMMENT.format(comment=comment))
    assert thread_time() - start < LIMIT_SECONDS


@pytest.mark.parametrize(
    "value", ["1" * 50_000 + "x", "_" * 50_000, "1." * 20_000, "-a" * 20_000, "[name=" * 20_000]
)
def test_a_long_value_in_a_preview(value: str) -> None:
    start = thread_time()
    old = f"apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  x: '{value}'\n"
    assert "spec.x" in preview(old, old.replace("x: '", "x: 'y"))
    assert thread_time() - start < LIMIT_SECONDS


@pytest.mark.parametrize("start", ["", "- ", "a: ", "  - a:"])
def test_a_line_of_many_spaces(start: str) -> None:
    begin = thread_time()
    with contextlib.suppress(UserError):
        rendered(f"{CONFIG_MAP}{start}{' ' * 200_000}\x85y\n")
    with contextlib.suppress(UserError):
        rendered(f"{CONFIG_MAP}{start}{' ' * 200_000}@\n")
    assert thread_time() - begin < LIMIT_SECONDS
