"""`postrender diff` renders each side with the postrender.yaml of the side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from postrender.cli import main
from tests.diff.change_cases import Result, run
from tests.repositories import commit, git, new_repository

MANIFESTS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {a: b}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: w}
spec:
  template:
    spec:
      containers: [{name: w, image: w, envFrom: [{configMapRef: {name: c}}]}]
"""
CHECKSUM = "rules: [{strategy: checksum}]\n"
SECRETS = MANIFESTS.replace("kind: ConfigMap", "kind: Secret").replace("configMapRef", "secretRef")
RENAME = "rules: [{strategy: rename}]\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose first commit has the tag `base` and the strategy checksum."""
    files = {"r/m.yaml": MANIFESTS, "postrender.yaml": CHECKSUM}
    repository = new_repository(tmp_path / "repository", files)
    git(repository, "tag", "base")
    return repository


def diff(folder: Path, *arguments: str) -> Any:
    done = run(["diff", "--format", "json", *arguments], folder)
    assert done.code == 0, done.stderr
    return json.loads(done.stdout)


def failed(folder: Path, *arguments: str) -> Result:
    done = run(["diff", *arguments], folder)
    assert done.code == 2, done
    return done


def strategies(preview: Any) -> tuple[list[str], list[str]]:
    """The names of the ConfigMap, and the effects."""
    contents = preview["contents"]
    names = [f"{content['oldRevision']} {content['newRevision']}" for content in contents]
    return names, [workload["effect"] for workload in preview["workloads"]]


MOVED = ["c c-4h2mbtbbt6"], ["rolls"]
MOVED_BACK = ["c-4h2mbtbbt6 c"], ["rolls"]
SAME: tuple[list[str], list[str]] = [], []


def test_each_commit_has_its_configuration(repository: Path) -> None:
    """Also in a subfolder, and if the other side is on disk."""
    commit(repository, {"postrender.yaml": RENAME, "sub/x": ""})
    for folder in (repository, repository / "sub"):
        prefix = "../" if folder.name == "sub" else ""
        found = diff(folder, "git:base:r", "git:HEAD:r")
        assert strategies(found) == MOVED
        assert found["oldConfiguration"] == "git:base:postrender.yaml"
        assert found["configuration"] == "git:HEAD:postrender.yaml"
        assert strategies(diff(folder, "git:base:r", f"{prefix}r")) == MOVED
        assert strategies(diff(folder, f"{prefix}r", "git:base:r")) == MOVED_BACK
        assert strategies(diff(folder, "git:base:r", "git:base:r")) == SAME


def test_the_working_tree_does_not_count_for_a_commit(repository: Path) -> None:
    (repository / "postrender.yaml").write_text("not: [valid")
    (repository / "r/m.yaml").write_text("")
    assert strategies(diff(repository, "git:base:r", "git:base:r")) == SAME


def test_the_nearest_file_of_the_commit_counts(repository: Path) -> None:
    commit(repository, {"sub/postrender.yaml": RENAME})
    assert strategies(diff(repository / "sub", "git:base:r", "git:HEAD:r")) == MOVED
    assert strategies(diff(repository, "git:base:r", "git:HEAD:r")) == SAME


def test_the_hash_key_is_next_to_the_configuration_in_the_working_tree(repository: Path) -> None:
    """The commit has the path, but never the key."""
    secret = SECRETS.replace("a: b", "a: c")
    config = "extends: conf/base.yaml\nsecrets: true\n"
    files = {"sub/postrender.yaml": config, "sub/conf/base.yaml": "secretsHashKeyFile: ../../key\n"}
    commit(repository, {**files, "r/m.yaml": SECRETS})
    (repository / "r/m.yaml").write_text(secret)
    done = failed(repository / "sub", "git:HEAD:r", "../r")
    path = repository / "key"
    assert f"{path}: postrender cannot read the hash key (No such file" in done.stderr
    path.write_text("a key of at least 16 characters")
    assert strategies(diff(repository / "sub", "git:HEAD:r", "../r"))[1] == ["rolls"]
    commit(repository, {"sub/conf/base.yaml": "secretsHashKeyFile: ../../../key\n"})
    done = failed(repository / "sub", "git:HEAD:r", "git:HEAD:r")
    assert "must not read files outside the repository" in done.stderr


def test_a_chosen_file_wins(repository: Path) -> None:
    commit(repository, {"postrender.yaml": RENAME, "other.yaml": CHECKSUM})
    sides = ("git:base:r", "git:HEAD:r")
    assert strategies(diff(repository, "--config", "postrender.yaml", *sides)) == SAME
    assert strategies(diff(repository, "--old-config", "postrender.yaml", *sides)) == SAME
    options = ("--config", "other.yaml", "--old-config", "postrender.yaml")
    assert strategies(diff(repository, *options, *sides)) == MOVED_BACK


def test_a_commit_without_a_configuration_is_told(repository: Path) -> None:
    """A repository that adopts postrender: NEW has a configuration, and OLD has none."""
    commit(repository, {"postrender.yaml": None})
    git(repository, "tag", "without")
    commit(repository, {"postrender.yaml": CHECKSUM})
    found = diff(repository, "git:without:r", "git:HEAD:r")
    assert strategies(found) == MOVED_BACK
    assert (found["oldConfiguration"], found["configuration"]) == ("", "git:HEAD:postrender.yaml")
    [part] = found["undecided"]
    assert part["fix"].endswith("pass --first-release")
    done = run(["diff", "git:without:r", "git:HEAD:r"], repository)
    assert "Configuration: no file for OLD, git:HEAD:postrender.yaml for NEW" in done.stdout
    assert diff(repository, "--first-release", "git:without:r", "git:HEAD:r")["undecided"] == []
    # A file that does not change the output is told, too.
    commit(repository, {"postrender.yaml": "strict: false\n"})
    assert len(diff(repository, "git:without:r", "git:HEAD:r")["undecided"]) == 1


def test_a_configuration_extends_files_of_its_commit(repository: Path) -> None:
    files = {"postrender.yaml": "extends: conf/a.yaml\n", "conf/a.yaml": "extends: ../b.yml\n"}
    commit(repository, {**files, "b.yml": RENAME})
    git(repository, "tag", "extends")
    (repository / "b.yml").write_text(CHECKSUM)
    assert strategies(diff(repository, "git:base:r", "git:extends:r")) == MOVED


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("../outside.yaml", "expected a YAML file in the commit"),
        ("conf/../../outside.yaml", "expected a YAML file in the commit"),
        ("/etc/passwd.yaml", "expected a YAML file in the commit"),
        ("r/m.txt", "expected a YAML file in the commit"),
        ("missing.yaml", "does not exist"),
        ("postrender.yaml", "leads back to an earlier file"),
        ("link.yaml", "the path is a link to a file outside the repository"),
        ("r", "git:HEAD:r: the path is a git object of type tree, expected a file"),
        ("folder.yaml", "expected a file"),
        ("git:HEAD:r/m.yaml", "does not exist"),
    ],
)
def test_a_commit_extends_no_other_file(repository: Path, value: str, problem: str) -> None:
    (repository.parent / "outside.yaml").write_text(RENAME)
    (repository / "link.yaml").symlink_to("../outside.yaml")
    commit(
        repository, {"postrender.yaml": f"extends: {value}\n", "r/m.txt": "", "folder.yaml/x": ""}
    )
    done = failed(repository, "git:base:r", "git:HEAD:r")
    assert problem in done.stderr
    assert "git:HEAD:" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("target", ["../outside.yaml", "/etc/hostname", "missing", "."])
def test_a_link_out_of_the_commit_is_no_configuration(repository: Path, target: str) -> None:
    (repository / "postrender.yaml").unlink()
    (repository / "postrender.yaml").symlink_to(target)
    commit(repository, {})
    done = failed(repository, "git:base:r", "git:HEAD:r")
    assert done.stderr.startswith("error: git:HEAD:postrender.yaml: ")


def test_a_link_inside_the_commit_is_followed(repository: Path) -> None:
    (repository / "postrender.yaml").unlink()
    (repository / "postrender.yaml").symlink_to("conf.yaml")
    commit(repository, {"conf.yaml": RENAME})
    assert strategies(diff(repository, "git:base:r", "git:HEAD:r")) == MOVED


def test_a_commit_needs_the_trust_of_a_discovered_file(repository: Path) -> None:
    for setting in ("logFile: /tmp/x", "history: {kubeContext: x}", "history: {previous: /etc}"):
        commit(repository, {"postrender.yaml": setting})
        done = failed(repository, "git:base:r", "git:HEAD:r")
        assert "a postrender.yaml without --config must not" in done.stderr
    commit(repository, {"postrender.yaml": "history: {previous: 'git:base:r'}"})
    assert (
        "with --untrusted" in failed(repository, "--untrusted", "git:base:r", "git:HEAD:r").stderr
    )


def test_an_invalid_configuration_names_its_commit(repository: Path) -> None:
    commit(repository, {"postrender.yaml": b"rules: [\n"})
    assert (
        "error: git:HEAD:postrender.yaml:" in failed(repository, "git:base:r", "git:HEAD:r").stderr
    )
    commit(repository, {"postrender.yaml": b"\xff"})
    assert "is not UTF-8" in failed(repository, "git:base:r", "git:HEAD:r").stderr


def test_an_unknown_commit_is_one_error(repository: Path) -> None:
    assert failed(repository, "git:nowhere:r", "r").stderr.count("error:") == 1


def test_old_config_reports_once_and_writes_no_log(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The settings of OLD do not repeat warnings, and do not choose the log file."""
    for side in ("old", "new"):
        (repository / f"{side}.yaml").write_text(f"logFile: {repository / side}.log\n")
    monkeypatch.chdir(repository)
    monkeypatch.setenv("POSTRENDER_NAMESPCE", "x")
    code = main.run(["diff", "--old-config", "old.yaml", "--config", "new.yaml", "r", "r"])
    errors = capfd.readouterr().err
    assert (code, errors.count("POSTRENDER_NAMESPCE")) == (0, 1), errors
    assert [path.name for path in repository.glob("*.log")] == ["new.log"]


@pytest.mark.parametrize("name", ["postrender.yaml", "base.yaml"])
def test_a_configuration_in_a_commit_that_is_not_text_is_an_error(
    repository: Path, name: str
) -> None:
    commit(repository, {"postrender.yaml": "extends: base.yaml\n", name: b"a: \xff\xfe\n"})
    done = failed(repository, "git:base:r", "git:HEAD:r")
    assert done.stderr.startswith(f"error: git:HEAD:{name}: ")
    assert "the file is not UTF-8" in done.stderr
