"""`postrender explain CODE`: each text has an example that a run of postrender confirms."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from postrender.cli import main
from postrender.diff.risks import rules
from postrender.errors import CODES
from postrender.explain.meanings import finding_section

Run = Callable[..., tuple[int, str, str]]
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: web-config}
data: {greeting: hello}
"""
WORKER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: worker}
spec:
  template: {spec: {containers: [{name: worker, envFrom: [{configMapRef: {name: web-config}}]}]}}
"""
# These need a release, a large input, two configuration files, or no objects.
WITHOUT_EXAMPLE = {
    *("history-keep", "history-unchecked", "release-size", "last-owner", "config-unused"),
    *("config-above", "no-objects"),
}
# The commands that report the code; the others report it in `explain`.
COMMANDS = {"broken-reference": "check", "short-ttl": "render"}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Return a function that runs a command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main.run(arguments)
        return code, *capfd.readouterr()

    return call


@pytest.mark.parametrize("code", [code for code in CODES if code not in WITHOUT_EXAMPLE])
def test_the_example_before_has_the_finding_and_the_one_after_does_not(
    code: str, run: Run, tmp_path: Path
) -> None:
    text = finding_section(code)
    [before, after] = re.findall(r"^```yaml\n(.*?)^```$", text, re.M | re.S)
    for is_expected, example in ((True, before), (False, after)):
        objects = [CONFIG_MAP, WORKER]
        if example.startswith("# postrender.yaml\n"):
            (tmp_path / "postrender.yaml").write_text(example)
            example = "" if before.startswith("#") else before
        named_again = "metadata: {name: web-config" in example
        objects = [*objects[named_again:], *filter(None, [example])]
        if not is_expected and code in ("by-name", "hook-on-helm-3", "selector"):
            objects.append(before)  # the fix is in the ConfigMap
        (tmp_path / "app.yaml").write_text("---\n".join(objects))
        err = run(COMMANDS.get(code, "explain"), "app.yaml")[2]
        assert (f"[{code}]" in err) == is_expected, (is_expected, err)


def test_every_code_has_a_text_that_explain_prints(run: Run) -> None:
    for code in (*CODES, *dict(rules())):
        result, out, err = run("explain", code)
        assert (result, err) == (0, "")
        assert out.startswith(f"## {code}\n\n")
    assert run("explain", "broken-reference")[1].count("## broken-reference") == 2


def test_a_misspelt_code_and_a_file_with_the_name_of_a_code(run: Run, tmp_path: Path) -> None:
    code, out, err = run("explain", "by-nam")
    assert (code, out) == (1, "")
    assert "neither a file nor the code of a finding or risk. Write by-name." in err
    (tmp_path / "by-name").write_text(CONFIG_MAP)
    assert "ConfigMap/web-config" in run("explain", "by-name")[1]
