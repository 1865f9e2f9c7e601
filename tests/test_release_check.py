"""The release check: its list of steps, its output, and the parts that only read text."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from postrender import __version__
from release import check, jobs, steps
from release.bench import Bench, CheckError, SkipError, path_without_postrender

ROOT = Path(__file__).resolve().parents[1]
RELEASING = (ROOT / "RELEASING.md").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


# The page


def test_the_page_mentions_only_targets_and_files_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.M))
    mentioned = set(re.findall(r"\bmake ([a-z-]+)", RELEASING))
    assert mentioned >= {"release-check", "image-requirements", "audit"}
    assert mentioned <= targets
    files = set(re.findall(r"(?:[a-z0-9-]+/)*[\w-]+\.(?:py|toml|yaml|md|cmd)\b", RELEASING))
    # Files of other repositories, and of a release.
    files -= {"catalog.json", "release.yml", "postrender.yaml"}
    assert {name for name in files if not (ROOT / name).is_file()} == set()


def test_the_page_lists_every_step() -> None:
    [table] = re.findall(r"^\| step \| check \|\n((?:\|.*\n)+)", RELEASING, re.M)
    listed = set(re.findall(r"`([\w.-]+)`", "\n".join(re.findall(r"^\| ([^|]+) \|", table, re.M))))
    between = {f"python-3.{minor}" for minor in range(11, 15)}
    assert listed | between == {step.name for step in check.STEPS}


def test_every_published_file_of_the_workflow_is_on_the_page() -> None:
    workflow = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    environments = set(re.findall(r"^    environment: (\w+)", workflow, re.M))
    assert environments == {"plugin", "pypi", "ghcr"}
    for name in environments:
        assert RELEASING.count(f"`{name}`") > 1
    for secret in re.findall(r"secrets\.(\w+)", workflow):
        assert f"`{secret}`" in RELEASING


# The output


def outcome_of(error: Exception | None, tmp_path: Path) -> check.Result:
    def run(_: Bench) -> str:
        if error:
            raise error
        return "two builds are equal"

    return check.run(check.Step("packages", run), Bench(tmp_path))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (None, "ok      packages             0.0 s  two builds are equal"),
        (SkipError("Go is not installed. Install Go"), "skipped packages             0.0 s  Go is"),
        (CheckError("make\nfirst\nlast line\n"), "FAILED  packages             0.0 s  last line"),
        (jobs.JobError("a job"), "FAILED  packages             0.0 s  a job"),
        (OSError("no space"), "FAILED  packages             0.0 s  no space"),
    ],
)
def test_a_step_prints_one_line(error: Exception | None, expected: str, tmp_path: Path) -> None:
    text = check.line(outcome_of(error, tmp_path))
    assert text.startswith(expected)
    assert "\n" not in text


def test_only_a_failed_step_fails_the_check(tmp_path: Path) -> None:
    results = [outcome_of(error, tmp_path) for error in (None, SkipError("no program"))]
    assert check.exit_code(results) == 0
    failed = [*results, outcome_of(CheckError("differs"), tmp_path)]
    assert check.exit_code(failed) == 1
    assert check.summary(failed) == "1 ok, 1 FAILED, 1 skipped"


def test_a_step_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert [step.name for step in check.chosen(["image", "formula"])] == ["image", "formula"]
    assert check.chosen([]) == list(check.STEPS)
    with pytest.raises(SystemExit):
        check.main(["--only", "imgae"])
    assert "imgae is not a step. Choose from: versions, " in capsys.readouterr().err


# The steps


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("image: registry.example.com/postrender:1.2.3\n", {"1.2.3"}),
        ("    helm plugin install postrender-1.2.3.tgz\n", {"1.2.3"}),
        ("uses: postrender/postrender/comment@v1.2.3\n", {"1.2.3"}),
        ("    rev: v1.2.3 # a tag or a commit\n", {"1.2.3"}),
        ("name: postrender\nversion: 1.2.3\n", {"1.2.3"}),
        ("ARG VERSION=1.2.3\n", {"1.2.3"}),
        ("      description: The commit or tag of postrender\n      default: v1.2.3\n", {"1.2.3"}),
        ("name: shop\nversion: 1.4.0\n", set()),
        ("      default: v4.2.4\n", set()),
    ],
)
def test_the_versions_of_postrender_in_a_text(text: str, expected: set[str]) -> None:
    assert steps.stated_versions(text) == expected


def test_the_changelog_has_a_section_for_the_version_and_for_later_changes() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert steps.released_versions(text)[0] == __version__
    assert text.index("## Unreleased") < text.index(f"## {__version__} ")


FORMULA = """\
  resource "click" do
    url "https://files.example.com/click-8.1.tar.gz"
    sha256 "{digest}"
  end
"""
DIGEST = "a" * 64


@pytest.mark.parametrize(
    ("lock", "unknown"),
    [
        (f"click==8.1 \\\n    --hash=sha256:{DIGEST}\n", []),
        (f"click==8.2 \\\n    --hash=sha256:{DIGEST}\n", ["click"]),
        (f"click==8.1 \\\n    --hash=sha256:{'b' * 64}\n", ["click"]),
    ],
)
def test_a_package_of_the_formula_must_be_locked(lock: str, unknown: list[str]) -> None:
    assert steps.unlocked(FORMULA.format(digest=DIGEST), lock) == unknown


def test_a_formula_has_each_package_that_its_python_needs() -> None:
    lock = (
        "attrs==26.1 \\\nclick==8.1 \\\ntyping-extensions==4.1 ; python_full_version < '3.13' \\\n"
        "jsfetch==1 ; python_full_version >= '3.12' and sys_platform == 'emscripten' \\\n"
    )
    assert steps.missing(FORMULA.format(digest=DIGEST), lock) == ["attrs"]


def test_path_without_an_installed_postrender(tmp_path: Path) -> None:
    (tmp_path / "with").mkdir()
    (tmp_path / "with" / "postrender").touch()
    path = os.pathsep.join([str(tmp_path / "with"), "/usr/bin"])
    assert path_without_postrender(path) == "/usr/bin"


# The commands of jobs

ACTION = """\
inputs:
  text: {required: true}
  other: {default: "${{ github.event.number }}"}
runs:
  using: composite
  steps:
    - shell: bash
      env:
        TEXT: ${{ inputs.text }} ${{ inputs.other }}
      run: |
        mkdir result
        echo "$TEXT" > result/text
    - uses: actions/upload-artifact@0123
      with: {name: result, path: result/}
    - uses: actions/download-artifact@0123
      with: {name: result, path: "${{ runner.temp }}/copy"}
"""


def run_action(tmp_path: Path, action: str, given: dict[str, str]) -> Path:
    (tmp_path / "action.yml").write_text(action)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    contexts: dict[str, Any] = {"github": {"event": {"number": 5}}, "runner": {"temp": tmp_path}}
    machine = jobs.Machine(workspace, tmp_path / "artifacts", jobs.plain_environment())
    jobs.run_action(tmp_path, given, contexts, machine)
    return tmp_path / "copy" / "text"


def test_an_action_runs_with_its_inputs_and_artifacts(tmp_path: Path) -> None:
    assert run_action(tmp_path, ACTION, {"text": "$(id)"}).read_text() == "$(id) 5\n"


@pytest.mark.parametrize(
    ("action", "given", "problem"),
    [
        (ACTION, {}, r"\['text'\] are missing"),
        (ACTION, {"text": "a", "txet": "b"}, r"\['txet'\] are unknown"),
        (ACTION.replace("mkdir", "false; mkdir"), {"text": "a"}, "false; mkdir result …"),
        (ACTION.replace("> result/text", ""), {"text": "a"}, "no files for the artifact result"),
        (ACTION.replace("download-artifact", "cache"), {"text": "a"}, "the action actions/cache"),
    ],
)
def test_a_fault_of_an_action_is_an_error(
    action: str, given: dict[str, str], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(jobs.JobError, match=problem):
        run_action(tmp_path, action, given)
