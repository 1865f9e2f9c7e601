"""The GitHub Actions and the GitLab component: their commands, pins and tokens."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from release.jobs import INPUT, JobError, component, load

ROOT = Path(__file__).resolve().parents[1]
ACTIONS = ("action.yml", "comment/action.yml")
PAGE = ROOT / "docs" / "how-to" / "ci.md"


def action(name: str) -> Any:
    return YAML(typ="safe").load((ROOT / name).read_text("utf-8"))


def step(name: str, title: str) -> Any:
    """Return the step of an action with a title."""
    [found] = [step for step in action(name)["runs"]["steps"] if step.get("name") == title]
    return found


def jobs() -> dict[str, Any]:
    """Return the jobs of the component."""
    given = {"chart": "chart", "release": "shop", "options": "--values chart/values-prod.yaml"}
    return component(ROOT / "templates" / "preview.yml", given)


def test_the_component_uses_exactly_its_inputs() -> None:
    file = ROOT / "templates" / "preview.yml"
    inputs = load(file)[0]["spec"]["inputs"]
    assert set(INPUT.findall(file.read_text("utf-8"))) == inputs.keys()
    with pytest.raises(JobError, match=r"\['charts'\] are unknown, \['chart'\] are missing"):
        component(file, {"charts": "chart", "release": "shop"})


def test_the_component_downloads_only_files_with_hashes() -> None:
    commands = "\n".join(jobs()["postrender-preview"]["before_script"])
    assert commands.count("get.helm.sh") == commands.count("sha256sum --check") == 1
    assert '"$CHECKOUT/plugin/install"' in commands  # tests/test_plugin_manifest.py
    assert "pip install" not in commands
    assert len(jobs()["postrender-preview"]["variables"]["HELM_SHA256"]) == 64


def test_the_install_step_uses_packages_with_hashes() -> None:
    commands = step("action.yml", "Install postrender")["run"]
    for file in re.findall(r"--requirement (\S+)", commands):
        assert "--hash=sha256:" in (ROOT / file).read_text("utf-8")
    assert "--require-hashes" in commands
    assert "--no-deps --no-build-isolation ." in commands


@pytest.mark.parametrize("name", ACTIONS)
def test_other_actions_are_pinned_and_commands_do_not_contain_expressions(name: str) -> None:
    for uses in re.findall(r"uses: (.*)", (ROOT / name).read_text("utf-8")):
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", uses)
    for one in action(name)["runs"]["steps"]:
        assert "${{" not in one.get("run", "")


def test_the_action_that_runs_code_of_the_pull_request_does_not_have_a_token() -> None:
    assert "token" not in str(action("action.yml")["runs"])
    assert "GITLAB_TOKEN" not in str(jobs()["postrender-preview"])


def test_the_jobs_with_a_token_do_not_check_out_the_pull_request() -> None:
    assert "checkout" not in str(action("comment/action.yml"))
    job = jobs()["postrender-comment"]
    assert job["variables"]["GIT_STRATEGY"] == "none"
    assert job["environment"] == {"name": "postrender-comment", "action": "access"}
    for script in (job["script"], [step("comment/action.yml", "Post the comment")["run"]]):
        assert "python3 -I" in " ".join(script)


@pytest.mark.parametrize("kind", ["action", "component"])
@pytest.mark.skipif(os.name == "nt", reason="the jobs run on Linux")
def test_options_on_several_lines_are_passed_as_they_are(kind: str, tmp_path: Path) -> None:
    """A file of the pull request whose name matches an option does not change the option."""
    (tmp_path / "--set=a0=evil").touch()
    script = tmp_path / "examples" / "ci" / "preview"
    script.parent.mkdir(parents=True)
    script.write_text(
        '#!/bin/sh\nprintf "%s\\n" "$@" > given; mkdir preview; : > preview/preview.md\n'
    )
    script.chmod(0o755)
    if kind == "action":
        shell, commands = "bash", step("action.yml", "Render and compare")["run"]
    else:
        shell, commands = "sh", "\n".join(jobs()["postrender-preview"]["script"])
    names = ("BASE", "HEAD", "CI_MERGE_REQUEST_DIFF_BASE_SHA", "CI_COMMIT_SHA", "RELEASE", "CHART")
    folders = ("GITHUB_ACTION_PATH", "CHECKOUT", "RUNNER_TEMP")
    variables = {
        **dict.fromkeys(names, "x"),
        **dict.fromkeys(folders, str(tmp_path)),
        "GITHUB_STEP_SUMMARY": os.devnull,
        "POSTRENDER_NAMESPACE": "prod",
        "OPTIONS": "--set=a[0]=*\n--values  b.yaml\n",
        "PATH": os.environ["PATH"],
    }
    subprocess.run([shell, "-e", "-c", commands], cwd=tmp_path, env=variables, check=True)
    given = (tmp_path / "given").read_text("utf-8").split()
    assert given[4:] == ["--set=a[0]=*", "--values", "b.yaml", "--namespace", "prod"]


def test_the_comment_script_exists() -> None:
    [path] = re.findall(
        r"ACTION_PATH(\S+)\"", step("comment/action.yml", "Post the comment")["run"]
    )
    assert (ROOT / "comment" / path.strip("/")).is_file()


def documented_workflows() -> list[Any]:
    blocks = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    return [YAML(typ="safe").load(block) for block in blocks if "postrender/postrender" in block]


def test_the_documented_workflow_runs_code_of_a_pull_request_without_a_write_token() -> None:
    preview, _, _ = documented_workflows()
    assert preview["on"] == "pull_request"
    assert preview["permissions"] == {"contents": "read"}
    [job] = preview["jobs"].values()
    assert "permissions" not in job
    assert "secrets." not in str(preview)
    assert "token" not in str(preview)
    [checked_out] = [step for step in job["steps"] if "checkout" in step["uses"]]
    assert checked_out["with"]["persist-credentials"] is False


def test_the_documented_job_with_a_write_token_does_not_run_code_of_a_pull_request() -> None:
    _, comment, _ = documented_workflows()
    assert comment["permissions"] == {}
    [job] = comment["jobs"].values()
    assert job["permissions"] == {"actions": "read", "pull-requests": "write"}
    assert [step["uses"].split("@")[0] for step in job["steps"]] == [
        "postrender/postrender/comment"
    ]


def test_the_documented_workflows_use_the_inputs() -> None:
    preview, comment, gitlab = documented_workflows()
    [job] = preview["jobs"].values()
    assert job["steps"][-1]["with"].keys() <= action("action.yml")["inputs"].keys()
    assert comment["on"]["workflow_run"]["workflows"] == [preview["name"]]
    [include] = gitlab["include"]
    assert include["inputs"].keys() <= {"chart", "release", "options", "namespace"}
