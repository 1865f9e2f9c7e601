"""The documents match the program: commands and their output, tables, examples, links."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from docs.generate import DATA, PARTS, generated
from docs.generate import DOCUMENTS as GENERATED
from postrender.cli import report as reporting
from postrender.config.find import explicit_file
from postrender.config.load import load_config
from postrender.config.settings import settings_from
from postrender.diff.formats import REPORTERS
from postrender.errors import Location
from postrender.kubernetes import annotations as known_annotations
from postrender.kubernetes.hashing import (
    CONTENT_HASH_LENGTH,
    RENDER_ID_LENGTH,
    hashed_content,
    render_id,
    revision_name,
)
from postrender.kubernetes.kinds import WORKLOAD_KINDS
from postrender.yaml.document import parse_document

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"
CONTRACTS = ROOT / "postrender" / "kubernetes" / "README.md"
DOCUMENTS = sorted(
    str(path.relative_to(ROOT))
    for folder in (".", "benchmarks", "docs", "examples", "postrender", "tests")
    # In tests/, only documents have names in capitals.
    for path in (ROOT / folder).glob({".": "*.md", "tests": "**/[A-Z]*.md"}.get(folder, "**/*.md"))
)

# In a console block, this line replaces any number of lines of output.
SKIPPED = "…"
BASH = shutil.which("bash")


def blocks(page: Path, language: str) -> list[str]:
    """Return the fenced code blocks of a language on a page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)


def section(page: Path, title: str) -> str:
    """Return the text between a heading of a page and the next heading."""
    text = page.read_text("utf-8")
    return re.split(r"^#+ ", text.split(f"# {title}\n")[1], flags=re.M)[0]


def rows(page: Path, title: str) -> list[list[str]]:
    """Return the cells of the only table of a section, without header and backquotes."""
    lines = [line for line in section(page, title).splitlines() if line.startswith("| ")]
    return [[cell.strip("` ") for cell in line[2:-2].split(" | ")] for line in lines[2:]]


def is_configuration(text: str) -> bool:
    """Return whether a block is a configuration file, and not a function configuration."""
    return text.startswith(("# postrender.yaml\n", "attacher:\n")) and "\nkind: " not in text


def commands() -> list[tuple[str, str]]:
    """Return the commands in console blocks, each with the output below it.

    A command continues on the lines that begin with `> `.
    """
    examples = []
    for block in chain.from_iterable(blocks(ROOT / name, "console") for name in DOCUMENTS):
        for entry in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, output = re.split(r"\n(?!> )", entry, maxsplit=1)
            examples.append((re.sub(r"^> ", "", command, flags=re.M), output))
    return examples


def pattern_of(output: str) -> str:
    """Return the regular expression for an output with skipped lines."""
    return "".join(
        r"(?:.*\n)*?" if line == SKIPPED else re.escape(line) + r"\n"
        for line in output.splitlines()
    )


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """Return an environment with this postrender on PATH, and without the tester's settings."""
    program = tmp_path / "postrender"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m postrender "$@"\n', "utf-8")
    program.chmod(0o755)
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith("POSTRENDER")
    }
    paths = os.pathsep.join([str(tmp_path), variables["PATH"]])
    return {**variables, "PATH": paths, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}


@pytest.mark.skipif(BASH is None, reason="the commands are written for bash, which is not on PATH")
@pytest.mark.parametrize(("command", "output"), commands())
def test_a_command_prints_the_output_below_it(
    command: str, output: str, shell: dict[str, str]
) -> None:
    run = subprocess.run(
        [str(BASH), "-c", command],
        cwd=ROOT,
        env=shell,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert re.fullmatch(pattern_of(output), run.stdout), run.stdout


def test_the_pages_have_commands_to_run() -> None:
    assert len(commands()) >= 5


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150


def test_generated_parts_are_current() -> None:
    texts = {name: (ROOT / name).read_text("utf-8") for name in (*GENERATED, *DATA)}
    assert set(re.findall(r"<!-- generated: (\w+) -->", "".join(texts.values()))) == set(PARTS)
    outdated = [name for name, text in texts.items() if generated(name) != text]
    assert not outdated, "run `make docs`, which writes these pages"


@pytest.mark.parametrize(("content", "suffix"), rows(CONTRACTS, "Content hash"))
def test_content_hash_vectors(content: str, suffix: str) -> None:
    data = json.loads(content)
    is_immutable = data.get("immutable", True)
    hashed = hashed_content(("", data["kind"]), data, is_immutable)
    assert revision_name("app", hashed) == f"app-{suffix}"


@pytest.mark.parametrize(("template", "expected"), rows(CONTRACTS, "Render ID"))
def test_render_id_vectors(template: str, expected: str) -> None:
    data = parse_document(template, Location("README.md")).data
    templates = data if isinstance(data, list) else [data]
    assert render_id(templates, isinstance(data, list)) == expected


def test_exit_codes() -> None:
    codes = [
        int(line.split("|")[1])
        for line in section(REFERENCE / "command-line.md", "Exit codes").splitlines()
        if re.match(r"\| \d+ \|", line)
    ]
    assert codes == [
        reporting.DONE,
        reporting.FOUND,
        reporting.FAULT,
        reporting.BUG,
        reporting.CHANGES,
        reporting.INTERRUPTED,
    ]


@pytest.mark.parametrize(
    "text",
    [text for name in DOCUMENTS for text in blocks(ROOT / name, "yaml") if is_configuration(text)],
)
def test_example_configuration(text: str, tmp_path: Path) -> None:
    file = tmp_path / "postrender.yaml"
    file.write_text(text, "utf-8")
    settings_from(load_config(explicit_file(str(file))))


def test_every_label_and_annotation_is_documented() -> None:
    values = [value for value in vars(known_annotations).values() if isinstance(value, str)]
    names = {value for value in values if re.fullmatch(r"postrender/[a-z-]+", value)}
    assert names
    page = (REFERENCE / "annotations.md").read_text("utf-8")
    assert {name for name in names if f"`{name}" not in page} == set()


def test_every_format_is_documented() -> None:
    page = (ROOT / "docs" / "how-to" / "preview.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \|", page.partition("## Formats")[2], re.MULTILINE)
    assert [name for name in REPORTERS if name not in rows] == []


def test_the_page_about_contracts_has_the_lengths_of_hashes() -> None:
    text = CONTRACTS.read_text("utf-8")
    lengths = re.findall(r"the first (\w+) hex digits", text)
    words = {10: "ten", 12: "twelve"}
    assert lengths == [words[CONTENT_HASH_LENGTH], words[RENDER_ID_LENGTH]]


def test_every_workload_kind_is_documented() -> None:
    text = (REFERENCE / "decisions.md").read_text("utf-8")
    assert [kind for _, kind in WORKLOAD_KINDS if not re.search(rf"\b{kind}\b", text)] == []


def test_the_page_about_speed_has_markers_for_the_measurements() -> None:
    page = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    assert re.search(r"<!-- bench -->\n.*<!-- /bench -->", page, re.S)


def test_every_table_of_data_is_on_a_page_that_links_to_it() -> None:
    texts = [page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md")]
    for file in (ROOT / "docs" / "data").iterdir():
        assert any(
            f"<!-- data: {file.name} -->" in text and f"(../data/{file.name})" in text
            for text in texts
        ), file


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not on PATH")
def test_the_jq_examples(shell: dict[str, str], tmp_path: Path) -> None:
    [text] = blocks(REFERENCE / "json.md", "sh")
    for name, version in (("old", "v1"), ("new", "v2")):
        shutil.copy(ROOT / "examples" / "rendered" / f"{version}.yaml", tmp_path / f"{name}.yaml")
    run = subprocess.run(
        [str(BASH), "-ec", text],
        cwd=tmp_path,
        env=shell,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=True,
    )
    assert "demo-web: " in run.stdout
    assert "demo-web-config-m567dfc6df" in run.stdout
    assert "demo-web-config -> demo-web-config-m567dfc6df" in run.stdout


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links(name: str) -> None:
    file = ROOT / name
    for link in re.findall(r"\]\(([^)]+)\)", file.read_text("utf-8")):
        target, _, heading = link.partition("#")
        if "://" not in link:
            linked = file.parent / target if target else file
            assert linked.exists(), link
            assert not heading or heading in anchors(linked), link


def test_every_statement_about_other_tools_has_a_source() -> None:
    text = (ROOT / "tests" / "e2e" / "BEHAVIOUR.md").read_text("utf-8")
    lines = [line for line in text.splitlines() if re.match(r"\| [^-|]", line)]
    sources = ("](test_", "](node/test_", "source: ")
    assert [
        line for line in lines if not any(source in line.split(" | ")[-1] for source in sources)
    ] == []
    tests = ROOT.glob("tests/e2e/test_behaviour_*.py")
    assert {name for file in tests for name in anchors(file) if f"#{name})" not in text} == set()


def anchors(file: Path) -> set[str]:
    """Return the anchors of a document's headings, or the names of a test module's tests."""
    text = file.read_text("utf-8")
    if file.suffix == ".py":
        return set(re.findall(r"^def (test_\w+)\(", text, re.M))
    return {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)$", text, re.M)
    }
