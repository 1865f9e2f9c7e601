"""`make demo`: short, without the tools for development, and with values that pods would read."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "examples" / "demo.py"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the lines of the demo, and write its page."""
    page = tmp_path_factory.mktemp("demo") / "demo.html"
    done = subprocess.run(
        [sys.executable, DEMO, page],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_the_demo_fits_sixty_lines(demo: list[str]) -> None:
    assert len(demo) <= 60
    assert max(map(len, demo)) <= 100


def test_the_demo_has_the_problem_the_preview_and_the_page(demo: list[str]) -> None:
    text = "\n".join(demo)
    assert text.startswith("1. The problem")
    assert "Rollout/demo-web rolls" in text
    page = Path(text.rpartition("as a page: ")[2].splitlines()[0])
    assert page.read_text("utf-8").startswith("<!doctype html>")


def test_an_old_pod_reads_new_content_only_without_postrender(demo: list[str]) -> None:
    rows = [re.split(r"  +", line.strip()) for line in demo if " pod, " in line and "s (" in line]
    assert [(row[0], row[1].split()[0], row[2].split()[0]) for row in rows] == [
        ("old pod, before the release", "5s", "5s"),
        ("new pod, the canary", "1500ms", "1500ms"),
        ("old pod, after a restart", "1500ms", "5s"),
    ]


def test_the_demo_imports_only_libraries_of_the_program() -> None:
    names = set()
    for node in ast.walk(ast.parse(DEMO.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module).split(".")[0])
    assert names - sys.stdlib_module_names == {"ruamel"}


def test_the_environment_of_the_demo_does_not_have_tools_for_development() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    [recipe] = re.findall(r"^\$\(CACHE\)/demo/\.ready:.*?\n\n", makefile, re.M | re.S)
    [install] = [line for line in recipe.splitlines() if "pip install" in line]
    assert install.endswith(" --editable .")
