"""The Helm 4 plugin: its installation by Helm, without postrender on PATH, and its failures."""

from __future__ import annotations

import hashlib
import os
import pty
import re
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from postrender.kubernetes.hashing import HASH_SUFFIX
from release.push_plugin import push
from tests.e2e.plugins import Machine, link_plugin, new_machine, packed, write_script
from tests.e2e.programs import program
from tests.e2e.releases import CHART
from tests.rings import in_matrix

# Nothing listens at this address, and without retries pip fails at once.
UNREACHABLE = {
    "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_FIND_LINKS": "",
    "PIP_NO_CACHE_DIR": "1",
    "PIP_RETRIES": "0",
}
THROUGH = ("--post-renderer", "postrender")
FAILING = (*THROUGH, "--post-renderer-args", "--config=nowhere.yaml")
FAULT = "error: nowhere.yaml: postrender cannot read the configuration"
# Modules that Python, `venv` or pip could import.
HOSTILE = ("venv", "pip", "ensurepip", "sysconfig", "types", "subprocess", "logging", "shutil")
HELMS_OWN = 'plugin "postrender" exited with error'


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a machine without any installed program, even without Python."""
    return new_machine(tmp_path / "machine")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Return the archive that `make plugin` creates."""
    return packed(tmp_path)[0]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a copy of the files that the plugin needs from this repository."""
    return packed(tmp_path)[1]


@pytest.fixture
def installed(machine: Machine) -> Machine:
    """Return a machine with postrender on PATH and with the plugin."""
    link_plugin(machine.folder / "data")
    return machine.with_postrender()


@in_matrix
def test_the_plugin_is_installed_and_repaired_after_python_was_removed(
    machine: Machine, archive: Path
) -> None:
    """The only real installation, which downloads postrender's dependencies."""
    machine.with_python()
    done = machine.helm("plugin", "install", "--verify=false", str(archive))
    assert "Installed plugin: postrender" in done.stdout, done.stderr
    venv = machine.plugins / "postrender" / ".plugin" / "venv"
    # The plugin compiles postrender at once: without byte code a start takes three times as long.
    assert list(venv.rglob("site-packages/postrender/yaml/__pycache__/plain.*.pyc"))
    assert "postrender/base-name" in template(machine)

    python = venv / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3")
    broken = machine.helm("template", "app", str(CHART), *THROUGH)
    fix = re.search(r"does not start: .* is missing\. Run (\S+)$", broken.stderr, re.M)
    assert fix, broken.stderr
    assert fix[0] in machine.log.read_text()

    fixed = machine.run([fix[1]])
    assert fixed.returncode == 0, fixed.stderr
    assert "postrender/base-name" in template(machine)

    assert machine.helm("plugin", "uninstall", "postrender").returncode == 0
    assert list(machine.plugins.iterdir()) == []


def template(machine: Machine) -> str:
    done = machine.helm("template", "app", str(CHART), *THROUGH)
    assert done.returncode == 0, done.stderr
    return done.stdout


@in_matrix
def test_a_checkout_is_installed_and_uses_its_own_version(machine: Machine, checkout: Path) -> None:
    """A postrender on PATH is ignored. It can have the same version, and an earlier commit."""
    write_script(machine.folder / "bin" / "postrender", "echo from PATH; exit 1")
    (checkout / "postrender" / "commit.txt").write_text("0123456789ab\n")
    done = machine.with_python().helm("plugin", "install", str(checkout))
    assert "Installed plugin: postrender" in done.stdout, done.stderr
    program = checkout / ".plugin" / "venv" / "bin" / "postrender"
    assert machine.run([str(program), "version"]).stdout.endswith(" (commit 0123456789ab)\n")
    assert "postrender/base-name" in template(machine)
    assert machine.helm("plugin", "uninstall", "postrender").returncode == 0
    assert checkout.exists()


def test_the_plugin_is_installed_from_a_registry(machine: Machine, archive: Path) -> None:
    """The artifact that the release pushes. Helm finds the archive by the title of the layer.

    Python imports no module of the working directory, which can be somebody else's folder.
    """
    proof = machine.folder / "proof"
    for name in HOSTILE:
        (machine.folder / f"{name}.py").write_text(f"open({str(proof)!r}, 'a')\n")
    with registry() as address:
        reference = push(archive, f"{address}/tools")
        options = ("--verify=false", "--plain-http")
        done = machine.with_python().helm("plugin", "install", *options, reference)
    assert "Installed plugin: postrender" in done.stdout, done.stderr
    assert "postrender/base-name" in template(machine)
    assert not proof.exists()


@contextmanager
def registry() -> Iterator[str]:
    """A registry that asks for a login before an upload; yield its address."""
    stored: dict[str, tuple[str, bytes]] = {}

    class Registry(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def answer(self, code: int, body: bytes = b"", **headers: str) -> None:
            self.send_response(code)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def do_GET(self) -> None:
            if self.path.startswith("/token?"):
                self.answer(200, b'{"token": "secret"}')
                return
            name = self.path.rpartition("/")[2]
            if name in stored:
                media_type, body = stored[name]
                digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
                self.answer(200, body, Content_Type=media_type, Docker_Content_Digest=digest)
            else:
                self.answer(200 if self.path == "/v2/" else 404)

        do_HEAD = do_GET  # noqa: N815

        def do_POST(self) -> None:
            if self.headers["Authorization"] == "Bearer secret":
                self.answer(202, Location=f"{self.path}1?state=x")
            else:
                realm = f'Bearer realm="http://{self.headers["Host"]}/token",service="test"'
                self.answer(401, WWW_Authenticate=realm)

        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
            is_blob = "/blobs/" in self.path
            assert not is_blob or self.path.endswith(f"?state=x&{urlencode({'digest': digest})}")
            for name in (digest, *([] if is_blob else [self.path.rpartition("/")[2]])):
                stored[name] = self.headers["Content-Type"], body
            self.answer(201)

    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def test_an_archive_contains_only_the_necessary_files(archive: Path) -> None:
    with tarfile.open(archive) as packed_files:
        files = [name for name in packed_files.getnames() if packed_files.getmember(name).isfile()]
    parts = [Path(name).parts[1:] for name in files]
    assert {part[0] for part in parts} == {
        *("LICENSE", "README.md", "hatch_build.py", "plugin", "plugin.yaml", "postrender"),
        "pyproject.toml",
    }
    suffixes = {Path(name).suffix for name in files}
    documents = {"", ".cmd", ".json", ".md", ".py", ".toml", ".txt", ".typed", ".yaml"}
    assert suffixes == documents | {".css", ".html", ".js"}  # the page of `diff --format html`
    assert not [part for part in parts if "__pycache__" in part]


def test_without_python_the_install_shows_a_fix(machine: Machine, archive: Path) -> None:
    done = machine.helm("plugin", "install", "--verify=false", str(archive))
    assert done.returncode == 1
    assert (
        "error: postrender needs Python 3.10 or later, and PATH has none. Install Python, "
        in done.stderr
    )
    assert f"then run {machine.plugins}/postrender/plugin/install\n" in done.stderr


def test_without_an_index_the_install_shows_a_fix(machine: Machine, archive: Path) -> None:
    machine = machine.with_python().with_variables(**UNREACHABLE)
    done = machine.helm("plugin", "install", "--verify=false", str(archive))
    assert done.returncode == 1
    assert "No matching distribution found" in done.stderr
    assert "Give pip access to PyPI or a mirror (PIP_INDEX_URL), then run " in done.stderr
    assert f"then run {machine.plugins}/postrender/plugin/install\n" in done.stderr
    assert not (machine.plugins / "postrender" / ".plugin").exists()


@in_matrix
@pytest.mark.skipif(not shutil.which("git"), reason="git is not on PATH")
def test_the_plugin_is_installed_from_a_git_url_and_updated(
    machine: Machine, checkout: Path
) -> None:
    machine.with_python()
    (machine.folder / "bin" / "git").symlink_to(str(shutil.which("git")))
    with git_server(checkout) as url:
        done = machine.helm("plugin", "install", "--verify=false", url)
        assert "Installed plugin: postrender" in done.stdout, done.stderr
        (checkout / "README.md").write_text("The next release.\n")
        commit(checkout)
        done = machine.helm("plugin", "update", "postrender")
    assert "Updated plugin: postrender" in done.stdout, done.stderr
    assert (machine.plugins / "postrender.git" / "README.md").read_text() == "The next release.\n"
    assert "postrender/base-name" in template(machine)


@contextmanager
def git_server(checkout: Path) -> Iterator[str]:
    """Serve a folder as a git repository, from its plain files; yield the URL."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    git(checkout, "init", "--quiet", "--initial-branch=main")
    commit(checkout)
    (checkout.parent / "postrender.git").symlink_to(checkout / ".git")
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=str(checkout.parent))
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/postrender.git"
        server.shutdown()


def commit(checkout: Path) -> None:
    git(checkout, "add", "--all")
    who = ("-c", "user.name=test", "-c", "user.email=test@example.com")
    git(checkout, *who, "commit", "--quiet", "--message", "A release")
    git(checkout, "update-server-info")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, timeout=300)


# Failures. Helm itself shows only that the plugin exited with an error.


def test_a_failure_is_shown_in_a_pipe_and_logged(installed: Machine) -> None:
    done = installed.helm("template", "app", str(CHART), *FAILING)
    assert (done.returncode, done.stdout) == (1, "")
    shown = done.stderr.splitlines()
    assert shown[0].startswith(FAULT)
    assert shown[1] == f"(postrender; log: {installed.log})"
    assert HELMS_OWN in shown[2]
    head, entry = installed.log.read_text().splitlines()
    assert re.match(
        r"== \d{4}-\d\d-\d\dT\S+Z exit 2 in .*: postrender --config=nowhere.yaml$", head
    )
    assert entry == shown[0]


def test_a_failure_is_shown_on_a_terminal(installed: Machine) -> None:
    terminal, plugin_end = pty.openpty()
    command = [program("helm4"), "template", "app", str(CHART), *FAILING]
    process = subprocess.Popen(
        command, env=dict(installed.variables), stdout=subprocess.DEVNULL, stderr=plugin_end
    )
    assert process.wait(timeout=300) == 1
    os.close(plugin_end)
    shown = os.read(terminal, 100_000).decode()
    os.close(terminal)
    assert shown.count(FAULT) == 1
    assert shown.index(FAULT) < shown.index(HELMS_OWN)


def test_a_failure_with_stderr_in_a_file_does_not_overwrite_the_file(installed: Machine) -> None:
    """If two programs write to the same open file, they overwrite each other's output."""
    file = installed.folder / "stderr"
    command = [program("helm4"), "template", "app", str(CHART), *FAILING]
    with file.open("w") as stderr:
        subprocess.run(
            command, env=dict(installed.variables), stderr=stderr, check=False, timeout=300
        )
    assert file.read_text().startswith("Error: ")
    assert FAULT in installed.log.read_text()


def test_a_failure_of_a_manual_run_is_shown_once(installed: Machine) -> None:
    run = installed.plugins / "checkout" / "plugin" / "run"
    done = installed.run(["/bin/sh", "-c", f"{run} --config=nowhere.yaml; exit $?"])
    assert done.returncode == 2
    assert done.stderr.count(FAULT) == 1


def test_findings_of_a_successful_release_are_in_the_log(installed: Machine) -> None:
    done = installed.helm("template", "app", str(CHART), *THROUGH)
    assert (done.returncode, done.stderr) == (0, "")
    assert "[group-name]" in installed.log.read_text()


def test_a_release_without_an_image_fails_with_the_cure(installed: Machine) -> None:
    machine = installed.with_variables(POSTRENDER_ATTACHER_IMAGE="")
    done = machine.helm("template", "app", str(CHART), *THROUGH)
    assert done.returncode == 1
    assert "attacher.image is not set" in done.stderr
    assert "Set attacher.image (or pass --attacher-image)" in machine.log.read_text()


def test_a_run_without_findings_does_not_write_a_log(installed: Machine) -> None:
    template(installed.with_variables(POSTRENDER_GROUP="app"))
    assert not installed.log.exists()


def test_the_log_does_not_grow_without_limit(installed: Machine) -> None:
    installed.log.parent.mkdir()
    installed.log.write_text("x" * 1_000_001)
    template(installed)
    assert installed.log.stat().st_size < 10_000
    assert installed.log.with_suffix(".log.old").stat().st_size == 1_000_001


def test_a_log_that_cannot_be_written_does_not_fail_the_run(installed: Machine) -> None:
    installed.log.mkdir(parents=True)
    template(installed)


@pytest.mark.parametrize("home", ["HELM_CACHE_HOME", "XDG_CACHE_HOME", "HOME"])
def test_the_log_is_in_helms_cache_folder(installed: Machine, home: str, tmp_path: Path) -> None:
    variables = {
        name: text for name, text in installed.variables.items() if name != "HELM_CACHE_HOME"
    }
    elsewhere = installed._replace(variables={**variables, home: str(tmp_path / "elsewhere")})
    template(elsewhere)
    folder = elsewhere.helm("env", "HELM_CACHE_HOME").stdout.strip()
    assert folder.startswith(str(tmp_path / "elsewhere"))
    assert "[group-name]" in Path(folder, "postrender.log").read_text()


def test_the_users_variables_reach_postrender(installed: Machine) -> None:
    log_file = installed.folder / "own.log"
    machine = installed.with_variables(
        POSTRENDER_LOG_FILE=str(log_file), POSTRENDER_ATTACHER="false"
    )
    output = template(machine)
    assert "postrender/base-name" in output
    assert "kind: Job" not in output
    failing = machine.helm(
        "template", "app", str(CHART), *THROUGH, "--post-renderer-args=--strict=1"
    )
    assert "--strict" in failing.stderr
    template(machine.with_variables(POSTRENDER_ATTACHER="true"))
    assert "[group-name]" in log_file.read_text()


# The source file of each object.

HOOK = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "migrate", "annotations": {"helm.sh/hook": "pre-upgrade"}},
    "spec": {
        "template": {
            "spec": {"restartPolicy": "Never", "containers": [{"name": "app", "image": "app:1"}]}
        }
    },
}


def test_every_source_line_is_correct(installed: Machine) -> None:
    chart = ("template", "app", str(CHART), "--set-json", f"extra={[HOOK]}".replace("'", '"'))
    plain = sources(installed.helm(*chart).stdout)
    assert plain["Job", "migrate"] != plain["Rollout", "app"]
    done = installed.helm(*chart, *THROUGH)
    rendered = sources(done.stdout)
    ours = {key: file for key, file in rendered.items() if key[1].startswith("app-rollout-attach")}
    assert sorted(kind for kind, _ in ours) == ["Job", "Role", "RoleBinding", "ServiceAccount"]
    assert set(ours.values()) == {"postrender/attacher.yaml"}
    theirs = {key: file for key, file in rendered.items() if key not in ours}
    assert {(kind, without_hash(name)): file for (kind, name), file in theirs.items()} == plain
    assert "postrender-filename" not in done.stdout


def sources(output: str) -> dict[tuple[str, str], str]:
    """Return the source file of each object, by kind and name."""
    files = {}
    for text in re.split(r"^---\n", output, flags=re.M):
        if text.strip():
            file = re.search(r"^# Source: (.+)$", text, re.M)
            kind = re.search(r"^kind: (.+)$", text, re.M)
            name = re.search(r"^  name: (.+)$", text, re.M)
            assert file, text
            assert kind, text
            assert name, text
            files[kind[1], name[1]] = file[1]
    return files


def without_hash(name: str) -> str:
    return re.sub(rf"{HASH_SUFFIX}$", "", name)
