"""A discovered postrender.yaml, which a repository author writes, changes only the output."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from postrender.config import find as trust
from postrender.text import CONFIG_SCHEMA, packaged_text
from tests.security.attack import MANIFESTS, PREVIOUS_SECRET, Attack, Done

COMMANDS = (
    ["render"],
    ["explain"],
    ["check"],
    ["diff", "-", "other.yaml"],
    ["config", "show"],
    ["config", "validate"],
)
every_command = pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
# A kubeconfig that starts a program.
KUBECONFIG = """\
users: [{name: x, user: {exec: {command: ./evil, apiVersion: client.authentication.k8s.io/v1}}}]
"""
is_not_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file away"
)
NOBODY = 65534


def run(attack: Attack, command: list[str], *options: str, **more: Any) -> Done:
    attack.write("other.yaml", MANIFESTS)
    return attack.run(*command, *options, **more)


@every_command
def test_a_configuration_cannot_choose_a_kubeconfig(attack: Attack, command: list[str]) -> None:
    attack.write("kc.yaml", KUBECONFIG)
    attack.write("postrender.yaml", "history: {kubeconfig: ./kc.yaml, previous: 'helm:prod/web'}\n")
    done = run(attack, command)
    assert not attack.trace.exists()
    assert (done.code, done.out) == (2, "")
    assert "a postrender.yaml without --config must not run helm. Delete the key" in done.err


@every_command
@pytest.mark.parametrize("key", ["kubeconfig", "kubeContext"])
def test_a_configuration_cannot_choose_a_cluster(
    attack: Attack, command: list[str], key: str
) -> None:
    attack.write("postrender.yaml", f"history: {{{key}: x}}\n")
    done = run(attack, command)
    assert (done.code, done.out) == (2, "")
    assert (
        f"postrender.yaml:1 history.{key}: a postrender.yaml without --config must not choose"
        in done.err
    )


@every_command
def test_a_configuration_cannot_write_a_file(attack: Attack, command: list[str]) -> None:
    profile = attack.victim / ".bashrc"
    attack.write("postrender.yaml", f"strict: true\nlogFile: {profile}\n")
    done = run(attack, command)
    assert not profile.exists()
    assert (done.code, done.out) == (2, "")
    assert (
        "postrender.yaml:2 logFile: a postrender.yaml without --config must not write files"
        in done.err
    )
    assert f"pass --config {attack.repository}/postrender.yaml" in done.err


@every_command
@pytest.mark.parametrize("form", ["absolute", "relative", "link", "link in a folder"])
def test_a_configuration_cannot_read_outside_its_repository(
    attack: Attack, command: list[str], form: str
) -> None:
    outside = attack.victim / "rendered.yaml"
    outside.write_text(PREVIOUS_SECRET)
    if form == "link":
        (attack.repository / "link.yaml").symlink_to(outside)
    (attack.repository / "folder").mkdir()
    (attack.repository / "folder" / "link.yaml").symlink_to(outside)
    previous = {
        "absolute": str(outside),
        "relative": "../victim/rendered.yaml",
        "link": "link.yaml",
        "link in a folder": "folder",
    }[form]
    attack.write("postrender.yaml", f"secrets: true\nhistory: {{previous: {previous}}}\n")
    done = run(attack, command)
    assert "canary" not in done.out + done.err
    assert (done.code, done.out) == (2, "")
    assert "must not read files outside the repository" in done.err


def test_a_configuration_cannot_read_a_device(attack: Attack) -> None:
    attack.write("postrender.yaml", "history: {previous: /dev/zero}\n")
    done = attack.run()
    assert (done.code, done.out) == (2, "")
    assert "must not read files outside the repository" in done.err


@pytest.mark.parametrize("setting", ["history: {previous: pipe}", "secretsHashKeyFile: pipe"])
def test_a_configuration_cannot_wait_for_a_pipe(attack: Attack, setting: str) -> None:
    os.mkfifo(attack.repository / "pipe")
    attack.write("postrender.yaml", f"{setting}\nsecrets: true\n")
    # Without the check, the run would not end.
    end = threading.Timer(20, lambda: os.close(os.open(attack.repository / "pipe", os.O_RDWR)))
    end.start()
    done = attack.run()
    end.cancel()
    assert (done.code, done.out) == (2, "")
    assert "must not read a pipe" in done.err


def test_a_configuration_can_read_its_repository(attack: Attack) -> None:
    attack.write("rendered/last.yaml", "")
    for previous in ("rendered/last.yaml", str(attack.repository / "rendered" / "last.yaml")):
        attack.write("postrender.yaml", f"history: {{previous: {previous}}}\n")
        done = attack.run("--no-attacher")
        assert done.code == 0, done.err
        assert "postrender/revision-number" in done.out


@pytest.mark.parametrize("trust", [[], ["--untrusted"]], ids=["discovered", "untrusted"])
@pytest.mark.parametrize(
    "form", ["absolute", "relative", "link", "linked folder", "git", "not YAML", "link to no YAML"]
)
def test_a_configuration_cannot_extend_a_file_outside_its_repository(
    attack: Attack, trust: list[str], form: str
) -> None:
    outside = attack.victim / "values.yaml"
    outside.write_text("canary: 1\n")
    (attack.repository / "link.yaml").symlink_to(outside)
    (attack.repository / "folder").symlink_to(attack.victim)
    attack.write(".git/values.yaml", "canary: 1\n")
    attack.write("token", "canary: 1\n")
    (attack.repository / "token.yaml").symlink_to("token")
    path = {
        "absolute": str(outside),
        "relative": "../victim/values.yaml",
        "link": "link.yaml",
        "linked folder": "folder/values.yaml",
        "git": ".git/values.yaml",
        "not YAML": "token",
        "link to no YAML": "token.yaml",
    }[form]
    attack.write("postrender.yaml", f"extends: {path}\n")
    done = attack.run(*trust)
    assert (done.code, done.out) == (2, "")
    assert "expected a YAML file in the repository " in done.err
    assert "canary" not in done.err


@pytest.mark.parametrize("trust", [[], ["--untrusted"]], ids=["discovered", "untrusted"])
def test_an_extended_file_has_no_more_rights(attack: Attack, trust: list[str]) -> None:
    attack.write("defaults.yaml", "strict: false\nlogFile: log\n")
    attack.write("postrender.yaml", "extends: defaults.yaml\n")
    done = attack.run(*trust)
    assert (done.code, done.out) == (2, "")
    assert "defaults.yaml:2 logFile: " in done.err
    assert "must not write files" in done.err
    assert not (attack.repository / "log").exists()


@is_not_root
def test_a_configuration_cannot_extend_a_file_of_another_user(attack: Attack) -> None:
    os.chown(attack.write("defaults.yaml", "canary: 1\n"), NOBODY, NOBODY)
    attack.write("postrender.yaml", "extends: defaults.yaml\n")
    done = attack.run()
    assert (done.code, done.out) == (2, "")
    assert "defaults.yaml belongs to another user. If you trust both files, pass" in done.err
    assert "canary" not in done.err
    assert "canary" in attack.run("--config=postrender.yaml").err


def test_a_function_config_cannot_extend_a_file(attack: Attack) -> None:
    config = "{apiVersion: postrender/v1alpha1, kind: Postrender, spec: {extends: defaults.yaml}}"
    attack.write("defaults.yaml", "strict: true\n")
    stream = (
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
        f"functionConfig: {config}\nitems: []\n"
    )
    done = attack.run("fn", stdin=stream)
    assert done.code == 2
    assert "a functionConfig must not extend a file" in done.err


def test_a_function_config_with_many_aliases_is_refused_for_them(attack: Attack) -> None:
    levels = [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)]
    stream = (
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
        "functionConfig:\n  a0: &a0 [x]\n" + "".join(levels)
    )
    done = attack.run("fn", stdin=stream)
    assert done.code == 2
    assert "the YAML aliases expand to more than" in done.err


# --untrusted

RESTRICTED = {
    "rendered/last.yaml": "must not read files",
    "git:HEAD:rendered/last.yaml": "must not run git",
}


@pytest.mark.parametrize("previous", RESTRICTED)
@pytest.mark.parametrize("source", ["option", "variable"])
def test_an_untrusted_configuration_cannot_read_files_or_run_programs(
    attack: Attack, previous: str, source: str
) -> None:
    attack.write("rendered/last.yaml", "")
    attack.write("postrender.yaml", f"history: {{previous: '{previous}'}}\n")
    options = ["--untrusted"] if source == "option" else []
    environment = {} if options else {"POSTRENDER_UNTRUSTED": "true"}
    done = attack.run(*options, environment=environment)
    assert (done.code, done.out) == (2, "")
    problem = f"with --untrusted, a postrender.yaml without --config {RESTRICTED[previous]}"
    assert problem in done.err


def test_an_untrusted_configuration_still_changes_the_output(attack: Attack) -> None:
    attack.write("postrender.yaml", "attacher: {enabled: false}\nrules: [{strategy: ignore}]\n")
    assert attack.run("--untrusted").out == MANIFESTS


def test_untrusted_leaves_options_and_an_explicit_file_alone(attack: Attack) -> None:
    attack.write("rendered/last.yaml", "")
    attack.write("mine.yaml", "logFile: log\nhistory: {previous: rendered/last.yaml}\n")
    for options in (["--config=mine.yaml"], ["--previous=rendered/last.yaml", "--log-file=log"]):
        done = attack.run("--untrusted", "--no-attacher", *options)
        assert done.code == 0, done.err
        assert "postrender/revision-number" in done.out
        (attack.repository / "log").unlink()


# Which file is found


@is_not_root
@every_command
def test_a_file_of_another_user_is_an_error(attack: Attack, command: list[str]) -> None:
    file = attack.write("postrender.yaml", "nonsense: 1\n")
    os.chown(file, NOBODY, NOBODY)
    done = run(attack, command)
    assert (
        f"error: {file}: the file belongs to another user. If you trust the file, pass --config"
        in done.err
    )
    assert "nonsense" not in done.err
    assert (done.code, done.out) == (2, "")
    assert attack.run("--config=/dev/null", "--no-attacher").code == 0


@is_not_root
def test_a_link_of_another_user_is_an_error(attack: Attack) -> None:
    attack.write("real.yaml", "nonsense: 1\n")
    link = attack.repository / "postrender.yaml"
    link.symlink_to("real.yaml")
    os.lchown(link, NOBODY, NOBODY)
    done = attack.run()
    assert done.code == 2
    assert "belongs to another user" in done.err


@is_not_root
def test_a_link_to_a_file_of_another_user_is_an_error(attack: Attack) -> None:
    os.chown(attack.write("real.yaml", "nonsense: 1\n"), NOBODY, NOBODY)
    (attack.repository / "postrender.yaml").symlink_to("real.yaml")
    done = attack.run()
    assert done.code == 2
    assert "belongs to another user" in done.err
    assert "nonsense" not in done.err


@is_not_root
def test_the_files_of_the_user_of_sudo_are_read(attack: Attack) -> None:
    file = attack.write(
        "postrender.yaml", "attacher: {enabled: false}\nrules: [{strategy: ignore}]\n"
    )
    os.chown(file, NOBODY, NOBODY)
    done = attack.run(environment={"SUDO_UID": str(NOBODY)})
    assert (done.out, done.err) == (MANIFESTS, "")


def test_a_link_out_of_the_repository_is_an_error(attack: Attack) -> None:
    passwd = attack.victim / "passwd"
    passwd.write_text("root:x:0:0:canary\n")
    (attack.repository / "postrender.yaml").symlink_to(passwd)
    done = attack.run()
    assert done.code == 2
    assert "canary" not in done.err
    assert "the path is a link to a file outside the repository" in done.err


@pytest.mark.parametrize("target", ["none.yaml", "postrender.yaml", "chart"])
def test_a_link_that_does_not_lead_to_a_file_is_an_error(attack: Attack, target: str) -> None:
    (attack.repository / "chart").mkdir()
    (attack.repository / "postrender.yaml").symlink_to(target)
    done = attack.run(folder="chart")
    assert done.code == 2
    assert "postrender.yaml: the path is a link that does not lead to a file. " in done.err
    done = attack.run("--config", os.devnull, folder="chart")
    assert done.code == 0


def test_a_link_inside_the_repository_is_read(attack: Attack) -> None:
    attack.write("shared.yaml", "attacher: {enabled: false}\nrules: [{strategy: ignore}]\n")
    (attack.repository / "chart").mkdir()
    (attack.repository / "chart" / "postrender.yaml").symlink_to("../shared.yaml")
    assert attack.run(folder="chart").out == MANIFESTS


def test_a_file_above_the_repository_is_ignored(attack: Attack) -> None:
    (attack.repository.parent / "postrender.yaml").write_text("nonsense: 1\n")
    done = attack.run()
    assert done.code == 0
    assert "note: " in done.err
    assert (
        f"the file is outside the repository {attack.repository}, so postrender ignores the file"
        in done.err
    )
    assert "[config-above]" in done.err


def test_the_trust_of_a_file_is_shown(attack: Attack) -> None:
    file = attack.write("postrender.yaml", "strict: true\n")
    labels = {
        (): "the file can change the output and read the repository",
        ("--untrusted",): "the file can change only the output",
        ("--config", str(file)): "the file can set every key",
    }
    for options, label in labels.items():
        first = attack.run("config", "show", *options).out.splitlines()[0]
        assert first == f"# {file} ({label})"


# Completeness

# The settings with a text, which can change only the output.
HARMLESS = {
    "namespace",
    "naming",
    "rules",
    "references",
    "leftovers.ignore",
    "attacher.image",
    "attacher.imagePullPolicy",
    "attacher.mode",
    "attacher.group",
    "attacher.retiredSecrets",
    "attacher.serviceAccount.name",
    "attacher.podTemplate",
}


def texts(schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the path of each setting that can contain a text."""
    for key, part in schema["properties"].items():
        inside = f"{path}.{key}" if path else key
        if part.get("type") == "object" and inside not in HARMLESS:
            yield from texts(part, inside)
        elif part.get("type") not in (
            "boolean",
            "integer",
            ["boolean", "null"],
            ["integer", "null"],
        ):
            yield inside


def test_each_setting_with_a_text_is_harmless_or_needs_trust() -> None:
    guarded = {".".join(path) for path in trust.RESTRICTED_SETTINGS}
    assert set(texts(json.loads(packaged_text(CONFIG_SCHEMA)))) == HARMLESS | guarded


def test_the_home_folder_is_not_searched_for_a_configuration(
    attack: Attack, tmp_path: Path
) -> None:
    (tmp_path / "home" / ".config").mkdir(parents=True)
    (tmp_path / "home" / "postrender.yaml").write_text("nonsense: 1\n")
    (tmp_path / "home" / ".config" / "postrender.yaml").write_text("nonsense: 1\n")
    assert attack.run(environment={"HOME": str(tmp_path / "home")}).code == 0
