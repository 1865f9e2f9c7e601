"""The Homebrew formula, and the texts for other registries."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RELEASING = (ROOT / "RELEASING.md").read_text("utf-8")
URL = "https://files.example.com/postrender-0.1.0.tar.gz"
CLICK = "https://packages.example.com/click-8.5.1.tar.gz"
LOCK = f"""\
lock-version = "1.0"

[[packages]]
name = "click"
version = "8.5.1"
sdist = {{ url = "{CLICK}", size = 1, hashes = {{ sha256 = "{"c" * 64}" }} }}
"""


def test_the_formula_has_the_hash_of_the_sdist(tmp_path: Path) -> None:
    sdist = tmp_path / "postrender-0.1.0.tar.gz"
    sdist.write_bytes(b"sdist")
    program = str(ROOT / "homebrew" / "formula.py")
    command = [sys.executable, program, str(sdist), URL]
    text = subprocess.check_output(command, input=LOCK, encoding="utf-8")
    assert f'  resource "click" do\n    url "{CLICK}"\n    sha256 "{"c" * 64}"\n  end\n' in text
    assert f'  url "{URL}"\n  sha256 "{hashlib.sha256(b"sdist").hexdigest()}"\n' in text
    assert len(re.findall(r"^ *(?:class|def|test do|resource .* do$)", text, re.M)) == len(
        re.findall(r"^ *end$", text, re.M)
    )


def test_the_formula_checks_an_output_of_the_program(tmp_path: Path) -> None:
    text = (ROOT / "homebrew" / "formula.py").read_text("utf-8")
    [manifest] = re.findall(r"<<~YAML\n(.*?)    YAML", text, re.S)
    [expected] = re.findall(r'assert_match "(.*?)"', text)
    (tmp_path / ".git").mkdir()
    file = tmp_path / "app.yaml"
    file.write_text(re.sub(r"^ {6}", "", manifest, flags=re.M).format())
    command = [sys.executable, "-m", "postrender", "explain", "app.yaml"]
    variables = {"PYTHONPATH": str(ROOT)}
    assert expected in subprocess.check_output(
        command, cwd=tmp_path, env=variables, encoding="utf-8"
    )


def test_the_formula_has_a_place_for_every_dependency() -> None:
    """Homebrew cannot ask for an extra, so `adopt` needs the client among the dependencies."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    [extras] = re.findall(r"^\[project.optional-dependencies\]\n(.*?)^\[", project, re.M | re.S)
    assert re.findall(r"^(\w+) = \[", extras, re.M) == ["dev"]


def test_the_entry_of_schema_store_matches_the_configuration() -> None:
    [block] = re.findall(r"^```json\n(.*?)^```$", RELEASING, re.M | re.S)
    entry = json.loads(block)
    assert entry.keys() == {"name", "description", "fileMatch", "url"}
    assert any(fnmatchcase("postrender.yaml", pattern) for pattern in entry["fileMatch"])
    assert entry["url"].endswith("/postrender/config/config.schema.json")
    assert (ROOT / "postrender" / "config" / "config.schema.json").is_file()
