"""--previous=helm: with a fake helm, which prints what Helm prints, and what it never should.

The real Helm runs in tests/e2e/test_rollback.py.
"""

from __future__ import annotations

import base64
import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

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
from tests.manifests import normalise

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
JSON = "expected a JSON list of Helm. Run helm history --output json"


class Helm:
    """A program called helm that runs a shell script for each helm command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = folder / "helm"
        self.program.write_text(f'#!/bin/sh\ncd {shlex.quote(str(folder))}\necho "$*" >> calls\n')
        self.program.chmod(0o755)

    def answer(self, command: str, script: str) -> None:
        """Run a script for each command line with this prefix; the first match counts."""
        with self.program.open("a") as file:
            file.write(f'case "$*" in {shlex.quote(command)}*)\n{script}\nexit;;\nesac\n')

    def print(self, command: str, text: str) -> None:
        """Print a text for each command line with this prefix."""
        name = command.replace(" ", "-")
        (self.folder / name).write_text(text)
        self.answer(command, f"cat {name}")

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables that make postrender run the program."""
        return {"HELM_BIN": str(self.program)}

    @property
    def calls(self) -> list[str]:
        """The command lines so far."""
        path = self.folder / "calls"
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
    """Return the texts in the ConfigMaps of an output, by revision number."""
    assert done.code == 0, done.err
    objects = normalise(done.out.decode())
    revisions = [data for data in objects if data["kind"] == "ConfigMap"]
    revisions.sort(
        key=lambda data: int(data["metadata"]["annotations"]["postrender/revision-number"])
    )
    return [revision["data"]["key"] for revision in revisions]


def release(text: str) -> str:
    return GOOD.replace("välue", text)


def test_every_stored_revision_is_read_from_the_given_namespace(helm: Helm) -> None:
    outputs: list[str] = []
    helm.answer("history", "cat history")
    helm.answer("list", "echo []")
    for number, text in enumerate(["one", "two", "three", "four", "five", "six"], 1):
        entries = [{"revision": stored, "status": "superseded"} for stored in range(1, number)]
        (helm.folder / "history").write_text(json.dumps(entries))
        done = helm.render(release(text), "--kube-context=far", "--kubeconfig=k")
        outputs.append(done.out.decode())
        helm.print(f"get manifest app --revision {number} ", outputs[-1])
    assert texts(done) == ["one", "two", "three", "four", "five", "six"]
    assert all(line.endswith("--kube-context far --kubeconfig k") for line in helm.calls)
    assert all(" --namespace prod " in line for line in helm.calls if "list" not in line)


@pytest.mark.parametrize("script", [NOT_FOUND, NOT_FOUND_AND_DEBUG, "echo []"])
def test_an_absent_release_is_a_first_install(script: str, helm: Helm) -> None:
    helm.answer("history", script)
    helm.answer("list", "echo []")
    assert texts(helm.render()) == ["välue"]
    assert "list --all-namespaces" in helm.calls[-1]


@pytest.mark.parametrize(
    ("script", "parts"),
    [
        ("echo 'Error: vault says: release: not found' >&2; exit 1", ("vault says",)),
        ("echo 'Error: no' >&2; echo 'at asm.s:1' >&2; exit 1", ("helm:prod/app: no.",)),
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
        # An upgrade with --history-max deletes the first release revision meanwhile.
        (STORED, ("helm get failed", "release: not found", "Try again")),
    ],
)
def test_a_failure_of_helm_is_a_one_line_error(
    script: str, parts: tuple[str, ...], helm: Helm
) -> None:
    helm.answer("history", script)
    helm.answer("get manifest app --revision 1 ", NOT_FOUND)
    helm.answer("get", "echo 'kind: ConfigMap'")
    assert_refused(helm.render(), *parts)


@pytest.mark.parametrize("command", ["get manifest app --revision 1 ", "get hooks"])
def test_a_stored_manifest_that_is_not_yaml_is_an_error_with_a_fix(
    command: str, helm: Helm
) -> None:
    helm.answer("history", STORED)
    helm.answer(command, "echo 'kind: ConfigMap'; echo 'a: ['")
    helm.answer("get", ":")
    assert_refused(
        helm.render(), "helm:prod/app", "not valid YAML", "one upgrade without --previous"
    )


@pytest.mark.parametrize("program", ["nowhere/helm", "/", "two words", "./no-program"])
def test_a_helm_that_cannot_be_run(program: str, helm: Helm, folder: Path) -> None:
    (folder / "no-program").write_text("x")
    (folder / "no-program").chmod(0o755)
    assert_refused(helm.render(HELM_BIN=program), f"postrender cannot start {program}", "HELM_BIN")


def test_a_context_with_a_null_byte_is_an_error(helm: Helm, folder: Path) -> None:
    (folder / "postrender.yaml").write_text('history: {kubeContext: "a\\0b"}\n')
    config = str(folder / "postrender.yaml")
    assert_refused(helm.render(POSTRENDER_CONFIG=config), "cannot start", "null byte")


@pytest.mark.parametrize("release", ["", "app", "/app", "prod/", "prod/a b", "prod/app/1"])
def test_a_release_needs_a_namespace_and_a_name(release: str, helm: Helm) -> None:
    assert_refused(
        helm.render(GOOD, f"--previous=helm:{release}"),
        f"--previous=helm:{release} is not a Helm release, expected helm:NAMESPACE/RELEASE",
    )


def test_an_object_in_another_namespace_needs_an_explicit_release_namespace(helm: Helm) -> None:
    elsewhere = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: board, namespace: far}\n"
    helm.answer("history", NOT_FOUND)
    helm.answer("list", "echo []")
    assert_refused(helm.render(GOOD + elsewhere), "are in far", "add --namespace prod")
    done = helm.render(GOOD + elsewhere, "--namespace=prod")
    assert done.code == 0, done.err


def test_the_release_is_in_another_namespace(helm: Helm) -> None:
    """Helm answers as before a first install, and the output would retain nothing."""
    helm.answer("history", NOT_FOUND)
    helm.answer("list", 'echo \'[{"namespace": "shop"}, {"namespace": "dev"}]\'')
    assert_refused(
        helm.render(),
        "the release app is in the namespace dev and shop, not in prod",
        "Pass --previous=helm:dev/app. For a first install in prod, add --namespace prod",
    )
    assert helm.render(GOOD, "--namespace=prod").code == 0
    in_prod = GOOD.replace("  name: web", "  name: web\n  namespace: prod")
    assert helm.render(in_prod).code == 0
    assert sum(call.startswith("list") for call in helm.calls) == 1


def test_the_namespace_of_a_stored_object_is_enough(helm: Helm) -> None:
    elsewhere = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: board, namespace: far}\n"
    helm.answer("history", STORED)
    helm.print("get manifest", GOOD + elsewhere + "data: {a: b}\n")
    helm.answer("get hooks", ":")
    done = helm.render(GOOD + elsewhere)
    assert done.code == 0, done.err


HOOK = """\
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {helm.sh/hook: pre-upgrade}}
spec: {template: {spec: {containers: [{name: a, envFrom: [{configMapRef: {name: app}}]}]}}}
"""


@pytest.mark.parametrize(("hook", "keeps"), [(HOOK, True), (HOOK.replace(": app", ": x"), False)])
def test_the_original_that_a_stored_hook_reads_is_kept(helm: Helm, hook: str, keeps: bool) -> None:
    """Helm 3 does not pass hooks to a post-renderer, but stores them."""
    helm.answer("history", STORED)
    helm.print("get manifest", output_of(GOOD))
    helm.print("get hooks", hook)
    names = [data["metadata"]["name"] for data in normalise(helm.render().out.decode())]
    assert ("app" in names) == keeps
    done = run(GOOD, "explain", "--previous=helm:prod/app", variables=helm.variables)
    reason = "original kept: Job/migrate, a hook of the previous release, references the ConfigMap"
    assert (reason in done.out.decode()) == keeps


def test_the_hooks_of_the_deployed_and_of_the_newest_revision_are_read(helm: Helm) -> None:
    statuses = ["superseded", "deployed", "failed", "failed"]
    entries = [{"revision": n, "status": status} for n, status in enumerate(statuses, 1)]
    helm.answer("history", f"echo {shlex.quote(json.dumps(entries))}")
    helm.answer("get", ":")
    assert helm.render().code == 0
    calls = sorted(" ".join(call.split()[1:5]) for call in helm.calls if call.startswith("get"))
    assert calls == [
        *(f"hooks app --revision {number}" for number in (2, 4)),
        *(f"manifest app --revision {number}" for number in (1, 2, 3, 4)),
    ]


@pytest.mark.parametrize(("keep", "is_low"), [(1, True), (2, False), (5, False)])
def test_fewer_revisions_than_helm_stores_are_a_finding(
    helm: Helm, folder: Path, keep: int, is_low: bool
) -> None:
    """`helm rollback` to the oldest release revision needs its ConfigMap."""
    (folder / "postrender.yaml").write_text(f"history: {{keep: {keep}}}\n")
    helm.answer("history", STORED)
    helm.print("get manifest", GOOD)
    helm.answer("get hooks", ":")
    done = helm.render(POSTRENDER_CONFIG=str(folder / "postrender.yaml"))
    assert done.code == 0, done.err
    problem = f"history.keep is {keep}, but Helm stores 2 release revisions, so Helm can delete"
    assert (problem in done.err) == ("[history-keep]" in done.err) == is_low


@pytest.mark.parametrize(("size", "is_near"), [(560_000, False), (620_000, True)])
def test_an_output_near_the_limit_of_a_release_is_a_finding(
    helm: Helm, size: int, is_near: bool
) -> None:
    """Helm stores the manifests in a Secret, which has at most 1 MiB."""
    helm.answer("history", NOT_FOUND)
    helm.answer("list", "echo []")
    data = base64.b64encode(Random(1).randbytes(size)).decode()
    text = GOOD.replace("\ndata:", f"\nbinaryData: {{large: {data}}}\ndata:", 1)
    done = helm.render(text)
    assert done.code == 0, done.err
    assert ("[release-size]" in done.err) == is_near
    assert ("the manifests use about " in done.err) == is_near
    assert "Move large data out of the ConfigMaps." in done.err or not is_near


def test_a_large_chart_without_config_maps_is_a_finding(helm: Helm) -> None:
    helm.answer("history", NOT_FOUND)
    helm.answer("list", "echo []")
    data = base64.b64encode(Random(1).randbytes(620_000)).decode()
    done = helm.render(
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\ndata: {{a: {data}}}\n"
    )
    assert done.code == 0, done.err
    assert "which also stores the chart. Move large data out" in done.err


def test_the_largest_retained_revisions_of_a_large_release_are_shown(helm: Helm) -> None:
    helm.answer("history", STORED)
    data = base64.b64encode(Random(1).randbytes(620_000)).decode()
    before = GOOD.replace("\ndata:", f"\nbinaryData: {{large: {data}}}\ndata:", 1)
    helm.print("get manifest", output_of(before))
    helm.answer("get hooks", ":")
    assert (
        ". The base names with the largest retained revisions are app (807 KiB uncompressed). "
        "Lower history.keep, or move large data out of the ConfigMaps."
    ) in helm.render().err


def output_of(text: str) -> str:
    """Return the output for a first release."""
    Path("empty.yaml").touch()
    done = run(text, "--no-attacher", "--previous=empty.yaml")
    assert done.code == 0, done.err
    return done.out.decode()


def test_a_missing_helm_is_an_error(helm: Helm) -> None:
    assert_refused(helm.render(HELM_BIN="", PATH="/nonexistent"), "not on PATH", "HELM_BIN")


def test_a_list_that_is_not_json_is_a_finding(helm: Helm) -> None:
    helm.answer("history", NOT_FOUND)
    helm.answer("list", "echo garbage")
    done = helm.render()
    assert texts(done) == ["välue"]
    assert "[history-unchecked]" in done.err


@pytest.mark.parametrize("command", ["history", "get manifest"])
def test_an_interrupt_ends_helm(command: str, helm: Helm) -> None:
    """The test sends the interrupt to postrender only; a terminal sends it to helm too."""
    helm.answer(command, f"echo $$ >> pids; exec sleep {TIMEOUT}")
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
        started = _wait_for_pids(helm.folder / "pids", 1 if command == "history" else 2)
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


def test_a_failure_ends_helm(helm: Helm) -> None:
    helm.answer("history", STORED)
    both_run = "until [ $(cat pids 2> /dev/null | wc -l) = 2 ]; do sleep 0.05; done"
    helm.answer("get manifest app --revision 1 ", f"{both_run}; exit 1")
    helm.answer("get", f"echo $$ >> pids; exec sleep {TIMEOUT}")
    start = time.monotonic()
    assert_refused(helm.render(), "helm get failed", "exit code 1")
    assert time.monotonic() - start < TIMEOUT / 2
    assert not [pid for pid in _wait_for_pids(helm.folder / "pids", 2) if _is_running(pid)]


def test_at_most_four_helms_run_at_once(helm: Helm) -> None:
    entries = [{"revision": number, "status": "superseded"} for number in range(1, 13)]
    helm.print("history", json.dumps(entries))
    count = "mkdir -p running; touch running/$$; ls running | wc -l >> counts"
    helm.answer("get", f"{count}; sleep 0.1; rm running/$$")
    done = helm.render()
    assert done.code == 0, done.err
    counts = [int(line) for line in (helm.folder / "counts").read_text().split()]
    assert len(counts) == 13
    assert 1 < max(counts) <= 4


def test_without_previous_its_modules_are_not_imported() -> None:
    code = (
        "import sys; from postrender.cli.main import run; run([]); "
        "names = ('sources.git', 'sources.helm', 'sources.previous', 'output.release_size'); "
        "late = {f'postrender.{name}' for name in names}; "
        "sys.exit(f'imported: {late & sys.modules.keys()}' if late & sys.modules.keys() else 0)"
    )
    done = run(GOOD, command=(sys.executable, "-c", code))
    assert done.code == 0, done.err


# ------------------------------------------------------------------------------- a side of diff

HOOK = """\
---
# Source: app/templates/hook.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: report, annotations: {helm.sh/hook: post-upgrade}}
spec: {template: {spec: {containers: [{name: a, image: IMAGE}], restartPolicy: Never}}}
"""


def diff(helm: Helm, new: str, *arguments: str) -> Run:
    """Run diff with the release app as the older side."""
    options = ("--format", "json", *arguments)
    return run(new, "diff", *options, "helm:prod/app", "-", variables=helm.variables)


def stored(helm: Helm, *statuses: str) -> None:
    """Answer with release revisions, of which each has its number in the ConfigMap and hook."""
    entries = [{"revision": number, "status": status} for number, status in enumerate(statuses, 1)]
    (helm.folder / "history").write_text(json.dumps(entries))
    helm.answer("history app", "cat history")
    for number in range(1, len(statuses) + 1):
        helm.print(f"get manifest app --revision {number} ", release(f"text-{number}"))
        helm.print(f"get hooks app --revision {number} ", HOOK.replace("IMAGE", f"a:{number}"))


def test_a_release_is_a_side_of_diff(helm: Helm) -> None:
    """The hooks are a part of it, as in the output of helm template."""
    stored(helm, "superseded", "deployed")
    same = release("text-2") + HOOK.replace("IMAGE", "a:2")
    preview = json.loads(diff(helm, same).out)
    assert not preview["hasChanges"], preview
    assert preview["old"] == "helm:prod/app"
    changed = json.loads(diff(helm, release("text-3") + HOOK.replace("IMAGE", "a:3")).out)
    assert [content["change"] for content in changed["contents"]] == ["changed"]
    assert "hook" in [workload["effect"] for workload in changed["workloads"]]
    assert all(" --namespace prod" in line for line in helm.calls)


@pytest.mark.parametrize(
    ("statuses", "number"),
    [
        (("deployed", "failed"), 1),
        (("superseded", "deployed", "pending-upgrade"), 2),
        (("failed",), 1),
        (("failed", "pending-install"), 2),
    ],
)
def test_the_deployed_release_revision_is_compared(
    helm: Helm, statuses: tuple[str, ...], number: int
) -> None:
    stored(helm, *statuses)
    new = release(f"text-{number}") + HOOK.replace("IMAGE", f"a:{number}")
    assert not json.loads(diff(helm, new).out)["hasChanges"]


def test_a_stored_output_is_compared_as_it_is(helm: Helm) -> None:
    stored(helm, "deployed")
    output = run(release("text-1"), "--no-attacher").out.decode()
    (helm.folder / "get-manifest-app---revision-1-").write_text(output)
    preview = json.loads(diff(helm, output + HOOK.replace("IMAGE", "a:1")).out)
    assert not preview["hasChanges"], preview
    assert run(output, "diff", "-", "helm:prod/app", variables=helm.variables).code == 0


def test_an_unknown_release_is_an_error_of_diff(helm: Helm) -> None:
    helm.answer("history", NOT_FOUND)
    assert_refused(
        diff(helm, GOOD),
        "Helm does not find the release app in the namespace prod",
        "--allow-empty",
    )
    first = json.loads(diff(helm, GOOD, "--allow-empty").out)
    assert [content["change"] for content in first["contents"]] == ["added"]


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (
            "echo 'Error: query: failed to query with labels: secrets is forbidden: User x cannot "
            "list resource' >&2; exit 1",
            "helm history failed for helm:prod/app: query: failed to query with labels: secrets is "
            "forbidden",
        ),
        ("echo 'Error: Kubernetes cluster unreachable' >&2; exit 1", "cluster unreachable"),
        ("echo null", "the output of helm history for helm:prod/app is invalid"),
    ],
)
def test_a_failure_of_helm_is_an_error_of_diff(helm: Helm, script: str, problem: str) -> None:
    helm.answer("history", script)
    assert_refused(diff(helm, GOOD), problem)


@pytest.mark.parametrize("name", ["helm:", "helm:prod", "helm:prod/", "helm:/app", "helm:prod/-x"])
def test_a_side_of_diff_needs_a_namespace_and_a_name(helm: Helm, name: str) -> None:
    done = run(GOOD, "diff", name, "-", variables=helm.variables)
    assert_refused(done, f"{name} is not a Helm release, expected helm:NAMESPACE/RELEASE")
    assert helm.calls == []


def test_diff_without_helm_is_an_error(helm: Helm) -> None:
    helm.program.unlink()
    done = run(GOOD, "diff", "helm:prod/app", "-", variables={"PATH": str(helm.folder)})
    assert_refused(done, "helm:prod/app needs helm, which is not on PATH")


def test_after_two_dashes_a_release_is_a_file(helm: Helm) -> None:
    done = run(GOOD, "diff", "--", "helm:prod/app", "x.yaml", variables=helm.variables)
    assert_refused(done, "./helm:prod/app")
    assert helm.calls == []
