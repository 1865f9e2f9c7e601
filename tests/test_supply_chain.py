"""The workflows of .github, and the program that audits the pinned packages."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PINNED = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}")
# The permissions that each job of a workflow may have.
PERMISSIONS = {
    "ci.yml": {},
    "release.yml": {
        "packages": {"contents": "read"},
        "plugin": {"contents": "read"},
        "sbom": {"contents": "read"},
        "provenance": {"id-token": "write", "attestations": "write"},
        "pypi": {"id-token": "write"},
        "image": {
            "contents": "read",
            "packages": "write",
            "id-token": "write",
            "attestations": "write",
        },
        "plugin-registry": {"contents": "read", "packages": "write"},
        "github": {"contents": "write"},
    },
}


def load(file: Path) -> Any:
    return YAML(typ="safe").load(file.read_text("utf-8"))


def steps(file: Path) -> list[Any]:
    return [step for job in load(file)["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_every_action_has_the_commit_of_a_version(file: Path) -> None:
    for step in steps(file):
        if "uses" in step:
            assert PINNED.fullmatch(step["uses"])
    for line in re.findall(r"uses: .*@[0-9a-f]{40}.*", file.read_text()):
        assert re.search(r" # v\d+\.\d+\.\d+$", line), line


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_a_job_has_only_its_permissions(file: Path) -> None:
    workflow = load(file)
    jobs = workflow["jobs"].items()
    given = {name: job["permissions"] for name, job in jobs if "permissions" in job}
    assert given == PERMISSIONS[file.name]
    assert workflow["permissions"] == ({} if given else {"contents": "read"})
    assert all("timeout-minutes" in job for _, job in jobs)


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_code_of_a_pull_request_does_not_get_a_token_that_can_write(file: Path) -> None:
    workflow = load(file)
    events = set(workflow.get("on", workflow.get(True)))
    assert not events & {"pull_request_target", "workflow_run", "issue_comment"}
    tokens = [workflow["permissions"], *(job.get("permissions", {}) for job in jobs_of(workflow))]
    if "pull_request" in events:
        assert all(value == "read" for token in tokens for value in token.values())
        assert "secrets." not in file.read_text()
    for step in steps(file):
        if "actions/checkout@" in step.get("uses", ""):
            assert step["with"]["persist-credentials"] is False


def jobs_of(workflow: Any) -> list[Any]:
    return list(workflow["jobs"].values())


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_the_text_of_an_event_does_not_become_part_of_a_script(file: Path) -> None:
    assert not [step for step in steps(file) if "${{" in step.get("run", "")]


def test_a_job_that_publishes_to_pypi_does_not_run_code_of_the_repository() -> None:
    job = load(ROOT / ".github/workflows/release.yml")["jobs"]["pypi"]
    assert job["environment"] == "pypi"
    assert [step["uses"].split("@")[0] for step in job["steps"]] == [
        "actions/download-artifact",
        "pypa/gh-action-pypi-publish",
    ]


def test_only_the_job_that_signs_the_plugin_reads_a_secret() -> None:
    jobs = load(ROOT / ".github/workflows/release.yml")["jobs"]
    assert [name for name, job in jobs.items() if "secrets." in str(job)] == ["plugin"]
    assert jobs["plugin"]["environment"] == "plugin"
    readers = [step for step in jobs["plugin"]["steps"] if "secrets." in str(step)]
    assert [step["name"] for step in readers] == ["Pack and sign the plugin"]


def test_the_checks_of_a_pull_request_are_those_of_this_repository() -> None:
    workflow = load(ROOT / ".github/workflows/ci.yml")
    assert workflow["jobs"]["checks"]["steps"][-1] == {"run": ".ci/run"}
    assert workflow["jobs"]["audit"]["steps"][-1] == {"run": "make audit"}


# The audit


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", ROOT / "release/audit.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SAFE = {"name": "a", "version": "1", "vulns": []}
SKIPPED = {"name": "b", "skip_reason": "not found"}
VULNERABLE = {"name": "c", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": ["2"]}]}


@pytest.mark.parametrize(
    ("packages", "code", "text"),
    [
        ([SAFE], 0, "1 packages without a known vulnerability"),
        ([SAFE, SKIPPED], 2, "has no answer for 1 of 2 packages"),
        ([SKIPPED, VULNERABLE], 1, "c 1 has CVE-1. Fixed in: 2."),
    ],
)
def test_an_audit_without_an_answer_is_not_a_success(
    audit: ModuleType, packages: list[Any], code: int, text: str
) -> None:
    actual, lines = audit.judge({"dependencies": packages}, "lock.txt")
    assert actual == code
    assert text in "\n".join(lines)


def test_an_audit_without_a_service_prints_one_line(
    audit: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audit, "audit", lambda lock: (2, [lock]))
    assert audit.main() == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "Give pip-audit access to PyPI." in err
