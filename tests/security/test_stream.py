"""The stream on stdin, which a chart author writes, configures nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.security.attack import CONFIG_MAP, PREVIOUS_SECRET, WORKLOAD, Attack

COMMANDS: tuple[list[str], ...] = ([], ["render"], ["explain"], ["check"])


def resource_list(config: Any) -> str:
    """Return a ResourceList with a functionConfig, as a template of a chart can render it."""
    items = "".join(
        f"- {text.strip()}\n".replace("\n", "\n  ").rstrip() + "\n"
        for text in (CONFIG_MAP, WORKLOAD)
    )
    head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
    return f"{head}functionConfig: {json.dumps(config)}\nitems:\n{items}"


def function_config(**spec: Any) -> Any:
    return {"apiVersion": "postrender/v1alpha1", "kind": "Postrender", "spec": spec}


def config_map(**data: str) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s"}, "data": data}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_stream_cannot_append_to_a_file(attack: Attack, command: list[str]) -> None:
    profile = attack.victim / ".bashrc"
    profile.write_text("# mine\n")
    spec = {"logFile": str(profile), "history": {"previous": "helm:$(id>/tmp/x)"}}
    done = attack.run(*command, stdin=resource_list(function_config(**spec)))
    assert profile.read_text() == "# mine\n"
    if command != ["check"]:
        assert (done.code, done.out) == (2, "")
        assert (
            "the input has a functionConfig, but only `postrender fn` reads a functionConfig."
            in done.err
        )


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_stream_cannot_read_another_file(attack: Attack, command: list[str]) -> None:
    secret = attack.victim / "rendered.yaml"
    secret.write_text(PREVIOUS_SECRET)
    spec = {"secrets": True, "history": {"previous": str(secret)}}
    done = attack.run(*command, stdin=resource_list(function_config(**spec)))
    assert "canary" not in done.out + done.err


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_stream_cannot_run_helm(attack: Attack, command: list[str]) -> None:
    history = {"previous": "helm:kube-system/other", "kubeconfig": "./kc.yaml"}
    attack.run(*command, stdin=resource_list(function_config(history=history)))
    assert not attack.trace.exists()


def test_an_explicit_configuration_does_not_open_the_stream(attack: Attack) -> None:
    attack.write("mine.yaml", "strict: false\n")
    log = attack.victim / "log"
    stream = resource_list(function_config(logFile=str(log)))
    done = attack.run("--config", "mine.yaml", stdin=stream)
    assert (done.code, done.out, log.exists()) == (2, "", False)


@pytest.mark.parametrize("config", [None, {}, function_config(), config_map()], ids=str)
def test_a_list_without_settings_is_rendered(attack: Attack, config: Any) -> None:
    done = attack.run("--no-attacher", stdin=resource_list(config))
    assert done.code == 0, done.err
    assert "name: web-config-" in done.out


# postrender fn reads the functionConfig, for the output only.

REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "logFile": ({"logFile": "log"}, "must not write files", "--log-file"),
    "history.previous": (
        {"history": {"previous": "old.yaml"}},
        "must not read files",
        "--previous",
    ),
    "git": ({"history": {"previous": "git:HEAD:old.yaml"}}, "must not run git", "--previous"),
    "helm": ({"history": {"previous": "helm:a/b"}}, "must not run helm", "--previous"),
    "kubeconfig": (
        {"history": {"kubeconfig": "kc.yaml"}},
        "must not choose a kubeconfig",
        "--kubeconfig",
    ),
    "context": (
        {"history": {"kubeContext": "prod"}},
        "must not choose a cluster",
        "--kube-context",
    ),
    "key": ({"secretsHashKeyFile": "key"}, "must not read files", "--secrets-hash-key-file"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_function_config_changes_only_the_output(attack: Attack, name: str) -> None:
    spec, problem, option = REFUSED[name]
    attack.write("old.yaml", PREVIOUS_SECRET)
    done = attack.run("fn", stdin=resource_list(function_config(**spec)))
    assert done.code == 2
    assert f"a functionConfig {problem}" in done.err
    assert f"pass {option} as an argument" in done.err
    assert not attack.trace.exists()
    assert sorted(path.name for path in attack.repository.iterdir()) == [".git", "old.yaml"]


def test_a_function_config_of_kind_config_map_has_the_same_limits(attack: Attack) -> None:
    stream = resource_list(config_map(**{"strict": "true", "history.previous": "helm:a/b"}))
    done = attack.run("fn", stdin=stream)
    assert done.code == 2
    assert 'functionConfig.data["history.previous"]: a functionConfig must not run helm' in done.err
    assert not attack.trace.exists()


def test_a_function_accepts_every_setting_as_an_argument(attack: Attack) -> None:
    attack.write("old.yaml", "")
    stream = resource_list(function_config(attacher={"enabled": False}))
    done = attack.run("fn", "--previous=old.yaml", "--log-file=log", stdin=stream)
    assert done.code == 0, done.err
    assert "postrender/revision-number" in done.out
    assert (attack.repository / "log").exists()


def test_a_function_needs_a_resource_list(attack: Attack) -> None:
    done = attack.run("fn")
    assert (done.code, done.out) == (2, "")
    assert "the input is not a ResourceList. Pass manifests to `postrender render`." in done.err
    head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
    done = attack.run("fn", stdin=f"{head}items: 3\n")
    assert (done.code, done.out) == (2, "")
    assert "<stdin>:3 (document 1) items: the value is a" in done.err
