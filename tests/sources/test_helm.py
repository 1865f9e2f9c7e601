"""--previous=helm: against a stand-in that says what Helm says, and what it never should.

The real Helm runs in tests/e2e/test_rollback.py.
"""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.test_processes import (
    COMMAND,
    GOOD,
    TIMEOUT,
    Run,
    assert_refused,
    environment,
    run,
)
from tests.cli.test_processes import folder as folder  # no configuration of this machine's
from tests.reference import normalise

NOT_FOUND = "echo 'Error: release: not found' >&2; exit 1"
# Helm 3.21 with HELM_DEBUG=true.
NOT_FOUND_AND_DEBUG = """cat >&2 <<'END'
history.go:56: [debug] getting history for release app
Error: release: not found
helm.go:92: [debug] release: not found
runtime.goexit
\t/usr/local/go/src/runtime/asm_amd64.s:1771
END
exit 1"""
STORED = 'echo \'[{"revision":1,"status":"superseded"},{"revision":2,"status":"deployed"}]\''
JSON = "a JSON list"


class Helm:
    """A program called helm that runs a shell script for each thing that it is asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = folder / "helm"
        self.program.write_text(f'#!/bin/sh\ncd {shlex.quote(str(folder))}\necho "$*" >> asked\n')
        self.program.chmod(0o755)

    def answer(self, command: str, script: str) -> None:
        """Let a command, which begins so, run a script; what is said first counts."""
        with self.program.open("a") as file:
            file.write(f'case "$*" in {shlex.quote(command)}*)\n{script}\nexit;;\nesac\n')

    def print(self, command: str, text: str) -> None:
        """Let a command print a text."""
        name = command.replace(" ", "-")
        (self.folder / name).write_text(text)
        self.answer(command, f"cat {name}")

    @property
    def variables(self) -> dict[str, str]:
        """What the environment says of it."""
        return {"HELM_BIN": str(self.program)}

    @property
    def asked(self) -> list[str]:
        """The command lines of it so far."""
        path = self.folder / "asked"
        return path.read_text().splitlines() if path.exists() else []

    def render(self, data: str = GOOD, *arguments: str, **variables: str) -> Run:
        """Run postrender with the history of the release app."""
        return run(
            data,
            "--no-attacher",
            "--previous=helm:prod/app",
            *arguments,
            variables={**self.variables, **variables},
        )


@pytest.fixture
def helm(tmp_path: Path) -> Helm:
    (tmp_path / "stand in").mkdir()
    return Helm(tmp_path / "stand in")


def texts(done: Run) -> list[str]:
    """Return what the ConfigMaps of an output say, by their numbers."""
    assert done.code == 0, done.err
    found = [each for each in normalise(done.out.decode()) if each["kind"] == "ConfigMap"]
    found.sort(key=lambda each: int(each["metadata"]["annotations"]["postrender/revision-number"]))
    return [each["data"]["key"] for each in found]


def release(text: str) -> str:
    return GOOD.replace("välue", text)


def test_every_stored_revision_is_asked_for_in_the_namespace_that_is_said(helm: Helm) -> None:
    outputs: list[str] = []
    helm.answer("history", "cat history")
    helm.answer("list", "echo []")
    for number, text in enumerate(["one", "two", "three", "four", "five", "six"], 1):
        entries = [{"revision": each, "status": "superseded"} for each in range(1, number)]
        (helm.folder / "history").write_text(json.dumps(entries))
        done = helm.render(release(text), "--kube-context=far", "--kubeconfig=k")
        outputs.append(done.out.decode())
        helm.print(f"get manifest app --revision {number} ", outputs[-1])
    assert texts(done) == ["one", "two", "three", "four", "five", "six"]
    assert all(line.endswith("--kube-context far --kubeconfig k") for line in helm.asked)
    assert all(" --namespace prod " in line for line in helm.asked if "list" not in line)


@pytest.mark.parametrize("script", [NOT_FOUND, NOT_FOUND_AND_DEBUG, "echo []"])
def test_no_release_is_a_beginning(script: str, helm: Helm) -> None:
    helm.answer("history", script)
    helm.answer("list", "echo []")
    assert texts(helm.render()) == ["välue"]
    assert "list --all-namespaces" in helm.asked[-1]


@pytest.mark.parametrize(
    ("script", "parts"),
    [
        ("echo 'Error: vault says: release: not found' >&2; exit 1", ("vault says",)),
        ("echo 'Error: no' >&2; echo 'at asm.s:1' >&2; exit 1", ("helm:prod/app: Error: no:",)),
        ("exit 7", ("helm history failed", "exit code 7")),
        ("kill -9 $$", ("helm history failed", "exit code -9")),
        ("printf '\\377' >&2; exit 1", ("helm history failed",)),
        ("echo 'WARNING: old'; " + STORED, ("helm history", JSON)),
        (":", ("helm history", JSON)),
        ("echo null", (JSON,)),
        ("echo '{}'", (JSON,)),
        ("echo '[1]'", (JSON,)),
        ("echo '[{}]'", (JSON,)),
        ('echo \'[{"revision": "x", "status": "deployed"}]\'', (JSON,)),
        ("printf '\\377\\376'", (JSON,)),
        # The first revision goes while it is asked for: another upgrade with --history-max.
        (STORED, ("helm get failed", "release: not found", "try again")),
    ],
)
def test_a_helm_that_fails_is_one_sentence(script: str, parts: tuple[str, ...], helm: Helm) -> None:
    helm.answer("history", script)
    helm.answer("get manifest app --revision 1 ", NOT_FOUND)
    helm.answer("get", "echo 'kind: ConfigMap'")
    assert_refused(helm.render(), *parts)


@pytest.mark.parametrize("what", ["get manifest app --revision 1 ", "get hooks"])
def test_what_is_stored_and_cannot_be_read_can_be_got_out_of(what: str, helm: Helm) -> None:
    helm.answer("history", STORED)
    helm.answer(what, "echo 'kind: ConfigMap'; echo 'a: ['")
    helm.answer("get", ":")
    assert_refused(helm.render(), "helm:prod/app", "not valid YAML", "once without --previous")


@pytest.mark.parametrize("program", ["nowhere/helm", "/", "two words", "./no-program"])
def test_a_helm_that_cannot_be_run(program: str, helm: Helm, folder: Path) -> None:
    (folder / "no-program").write_text("x")
    (folder / "no-program").chmod(0o755)
    assert_refused(helm.render(HELM_BIN=program), f"cannot run {program}", "HELM_BIN")


def test_a_context_that_no_command_line_can_hold(helm: Helm, folder: Path) -> None:
    (folder / "postrender.yaml").write_text('history: {kubeContext: "a\\0b"}\n')
    assert_refused(helm.render(), "cannot run", "null byte")


def test_an_object_elsewhere_needs_the_namespace_said_twice(helm: Helm) -> None:
    elsewhere = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: board, namespace: far}\n"
    helm.answer("history", NOT_FOUND)
    helm.answer("list", "echo []")
    assert_refused(helm.render(GOOD + elsewhere), "whose namespace is far", "--namespace prod as")
    done = helm.render(GOOD + elsewhere, "--namespace=prod")
    assert done.code == 0, done.err


def test_no_helm_at_all(helm: Helm) -> None:
    assert_refused(helm.render(HELM_BIN="", PATH="/nonexistent"), "not on PATH", "HELM_BIN")


def test_a_list_that_cannot_be_understood_is_a_finding(helm: Helm) -> None:
    helm.answer("history", NOT_FOUND)
    helm.answer("list", "echo garbage")
    done = helm.render()
    assert texts(done) == ["välue"]
    assert "[history-unchecked]" in done.err


@pytest.mark.parametrize("what", ["history", "get manifest"])
def test_an_interrupt_leaves_no_helm_behind(what: str, helm: Helm) -> None:
    """Sent to postrender alone; a terminal sends it to helm as well."""
    helm.answer(what, f"echo $$ >> pids; exec sleep {TIMEOUT}")
    helm.answer("history", STORED)
    helm.answer("get hooks", ":")
    with subprocess.Popen(
        [*COMMAND, "--previous=helm:prod/app"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**helm.variables),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as child:
        assert child.stdin is not None
        child.stdin.write(GOOD.encode())
        child.stdin.close()
        started = _wait_for_pids(helm.folder / "pids", 1 if what == "history" else 2)
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        assert child.wait(TIMEOUT / 2) == 130
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.read() == b""
        assert child.stderr.read().strip() == b""
    assert not [pid for pid in started if _is_running(pid)]


def _wait_for_pids(path: Path, count: int) -> list[str]:
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        pids = path.read_text().split() if path.exists() else []
        if len(pids) == count:
            return pids
        time.sleep(0.05)
    raise AssertionError("helm was not started")


def _is_running(pid: str) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_without_previous_nothing_of_it_is_imported() -> None:
    code = (
        "import sys; from postrender.cli.main import run; run([]); "
        "names = ('git', 'helm', 'previous', 'release_size'); "
        "late = {f'postrender.{name}' for name in names}; "
        "sys.exit(f'imported: {late & sys.modules.keys()}' if late & sys.modules.keys() else 0)"
    )
    done = run(GOOD, command=(sys.executable, "-c", code))
    assert done.code == 0, done.err
