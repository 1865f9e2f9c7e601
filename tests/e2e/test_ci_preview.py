"""The previews of pull requests, in real git repositories and with a real Helm.

They come from the script examples/ci/preview, the GitHub action or the GitLab component. No test
runs on GitHub or GitLab.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.e2e.programs import program
from tests.repositories import commit, git, new_repository, nobody
from tests.test_actions import jobs, step

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "ci"
MARKER = "<!-- postrender diff -->"
TIMEOUT = 300

CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-config
data:
  greeting: {{ .Values.greeting }}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: web:1
          envFrom:
            - configMapRef: {name: "{{ .Release.Name }}-config"}
"""
CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\n",
    "chart/values.yaml": "greeting: hello\n",
    "chart/values-prod.yaml": "greeting: welcome\n",
    "chart/templates/config.yaml": CONFIG,
    "chart/templates/web.yaml": DEPLOYMENT,
}


class Checkout:
    """The checkout of a job: a chart on `main`, a branch `change`, and the scripts."""

    def __init__(self, folder: Path) -> None:
        self.folder = new_repository(folder / "repository", {"README.md": "hello\n", **CHART})
        programs = folder / "programs"
        programs.mkdir()
        (programs / "postrender").write_text(
            f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m postrender "$@"\n'
        )
        (programs / "postrender").chmod(0o755)
        (programs / "helm").symlink_to(program("helm4"))
        (self.folder / ".ci").mkdir()
        for name in ("preview", "comment"):
            shutil.copy(EXAMPLES / name, self.folder / ".ci" / name)
        commit(self.folder, {".gitignore": "preview/\n"})
        git(self.folder, "switch", "--quiet", "--create", "change")
        home = folder / "home"
        home.mkdir()
        self.environment = {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "TMPDIR": str(home),
            **nobody(),
        }

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command as a job does."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )

    def preview(self, *options: str, chart: str = "chart") -> str:
        """Run the script for the branch, and return the Markdown."""
        done = self.run(".ci/preview", "main", "change", "shop", chart, *options)
        assert done.returncode == 0, done.stderr
        assert sorted(path.name for path in (self.folder / "preview").iterdir()) == [
            "preview.html",
            "preview.md",
        ]
        assert "<html" in (self.folder / "preview" / "preview.html").read_text("utf-8")
        return self.markdown()

    def markdown(self) -> str:
        """Return the Markdown that the script wrote."""
        return (self.folder / "preview" / "preview.md").read_text("utf-8")

    def is_tidy(self) -> bool:
        """Return whether the script left no temporary files and worktrees."""
        worktrees = git(self.folder, "worktree", "list").splitlines()
        temporary = list(Path(self.environment["TMPDIR"]).glob("tmp.*"))
        return len(worktrees) == 1 and not temporary and not git(self.folder, "status", "--short")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_a_branch_that_changes_a_value(checkout: Checkout) -> None:
    commit(checkout.folder, {"chart/values.yaml": "greeting: good day\n"})
    text = checkout.preview()
    assert text.startswith(f"{MARKER}\n")
    for part in ("hello", "good day", "shop-config", "Deployment"):
        assert part in text
    assert checkout.is_tidy()


def test_values_files_are_read_from_each_commit(checkout: Checkout) -> None:
    commit(checkout.folder, {"chart/values-prod.yaml": "greeting: farewell\n"})
    text = checkout.preview("--values", "chart/values-prod.yaml", "--namespace", "two words")
    assert "welcome" in text
    assert "farewell" in text
    assert "hello" not in text


def test_a_branch_without_changes_gets_an_empty_preview(checkout: Checkout) -> None:
    commit(checkout.folder, {"README.md": "hello again\n"})
    text = checkout.preview()
    assert text.startswith(f"{MARKER}\n")
    assert "o changes" in text


def test_later_changes_of_main_are_not_shown(checkout: Checkout) -> None:
    commit(checkout.folder, {"chart/values-prod.yaml": "greeting: farewell\n"})
    git(checkout.folder, "switch", "--quiet", "main")
    commit(checkout.folder, {"chart/templates/web.yaml": DEPLOYMENT.replace("web:1", "web:2")})
    git(checkout.folder, "switch", "--quiet", "change")
    text = checkout.preview("--values", "chart/values-prod.yaml")
    assert "farewell" in text
    assert "web:2" not in text


def test_a_new_chart_and_a_removed_chart(checkout: Checkout) -> None:
    moved = {name.replace("chart/", "charts/next/"): text for name, text in CHART.items()}
    commit(checkout.folder, moved)
    text = checkout.preview(chart="charts/next")
    assert "shop-config" in text
    assert "hello" in text
    done = checkout.run(".ci/preview", "change", "main", "shop", "charts/next")
    assert done.returncode == 1  # the merge base is main, which does not have the chart either
    git(checkout.folder, "rm", "-r", "--quiet", "chart")
    commit(checkout.folder, {})
    assert "removed" in checkout.preview().lower()


def test_a_chart_with_a_dependency(checkout: Checkout) -> None:
    library = {name.replace("chart/", "library/"): text for name, text in CHART.items()}
    library["library/Chart.yaml"] = "apiVersion: v2\nname: library\nversion: 0.1.0\n"
    needs = "dependencies: [{name: library, version: 0.1.0, repository: 'file://../library'}]\n"
    parent = {"chart/Chart.yaml": CHART["chart/Chart.yaml"] + needs}
    parent |= {"chart/templates/config.yaml": "", "chart/templates/web.yaml": ""}
    git(checkout.folder, "switch", "--quiet", "main")
    commit(checkout.folder, {**library, **parent})
    git(checkout.folder, "switch", "--quiet", "change")
    git(checkout.folder, "merge", "--quiet", "main")
    commit(checkout.folder, {"library/values.yaml": "greeting: from below\n"})
    text = checkout.preview()
    assert "from below" in text
    assert checkout.is_tidy()


@pytest.mark.parametrize("path", ["charts", "long-" * 20])
@pytest.mark.parametrize("is_known", [False, True])
def test_a_dependency_in_a_chart_repository(
    checkout: Checkout, tmp_path: Path, path: str, is_known: bool
) -> None:
    library, charts = tmp_path / "library", tmp_path / "served" / path
    for name, text in CHART.items():
        file = library / name.removeprefix("chart/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("shop", "library").replace("hello", "from the repository"))
    charts.mkdir(parents=True)
    assert checkout.run("helm", "package", str(library), "-d", str(charts)).returncode == 0
    assert checkout.run("helm", "repo", "index", str(charts)).returncode == 0
    requests: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.headers.get("Authorization", ""))
            super().do_GET()

    handler = functools.partial(Handler, directory=str(charts.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        url = f"http://127.0.0.1:{server.server_port}/{path}"
        needs = f"dependencies: [{{name: library, version: 0.1.0, repository: '{url}'}}]\n"
        own = {"chart/templates/config.yaml": "", "chart/templates/web.yaml": ""}
        commit(checkout.folder, {"chart/Chart.yaml": CHART["chart/Chart.yaml"] + needs, **own})
        if is_known:
            add = ("helm", "repo", "add", "own", url, "--username", "me", "--password", "secret")
            assert checkout.run(*add).returncode == 0
            requests.clear()
        text = checkout.preview()
        server.shutdown()
    assert "from the repository" in text
    listed = checkout.run("helm", "repo", "list", "--output", "json").stdout
    assert listed.count(url) == is_known, "the script left a repository"
    assert all(requests) == is_known, "the script used other credentials"
    assert checkout.is_tidy()


IGNORE = "rules: [{match: {}, strategy: ignore}]\n"


@pytest.mark.parametrize("folder", ["chart/", ""])
def test_the_preview_uses_the_configuration_of_argo_cd(checkout: Checkout, folder: str) -> None:
    git(checkout.folder, "switch", "--quiet", "main")
    commit(checkout.folder, {f"{folder}postrender.yaml": IGNORE})
    git(checkout.folder, "switch", "--quiet", "change")
    git(checkout.folder, "merge", "--quiet", "main")
    commit(checkout.folder, {"chart/values.yaml": "greeting: good day\n"})
    text = checkout.preview()
    assert f"\nConfiguration: `{folder}postrender.yaml`\n" in text
    assert "shop-config-" not in text
    assert f"{folder}postrender.yaml" in (checkout.folder / "preview/preview.html").read_text()
    explicit = checkout.run(
        *(".ci/preview", "main", "change", "shop", "chart"), POSTRENDER_CONFIG=os.devnull
    )
    assert explicit.returncode == 0, explicit.stderr
    assert "shop-config-" in checkout.markdown()
    assert f"\nConfiguration: `{os.devnull}`\n" in checkout.markdown()
    assert checkout.is_tidy()


def test_a_branch_that_changes_the_configuration(checkout: Checkout) -> None:
    assert "\nNo configuration file\n" in checkout.preview()
    commit(checkout.folder, {"chart/postrender.yaml": "# only a comment\n"})
    assert "\nConfiguration: `chart/postrender.yaml`\n" in checkout.preview()
    attacher = "attacher: {image: 'evil:1', podTemplate: {spec: {hostPID: true}}}\n"
    commit(checkout.folder, {"chart/postrender.yaml": attacher})
    text = checkout.preview()
    assert text.startswith(f"{MARKER}\n")
    assert "\nConfiguration: no file for OLD, `chart/postrender.yaml` for NEW\n" in text
    assert "`spec.template.spec.hostPID` added: `true`" in text
    assert "evil:1" in text
    assert checkout.is_tidy()


def test_a_branch_that_repairs_the_configuration(checkout: Checkout) -> None:
    git(checkout.folder, "switch", "--quiet", "main")
    commit(checkout.folder, {"chart/postrender.yaml": "unknown: true\n"})
    git(checkout.folder, "switch", "--quiet", "change")
    git(checkout.folder, "merge", "--quiet", "main")
    commit(checkout.folder, {"chart/postrender.yaml": IGNORE})
    done = checkout.run(".ci/preview", "main", "change", "shop", "chart")
    assert done.returncode == 0, done.stderr
    assert "error: " not in done.stderr
    assert "configuration of postrender at the base commit is invalid" in checkout.markdown()


def test_the_configuration_of_a_branch_cannot_write_files(checkout: Checkout) -> None:
    commit(checkout.folder, {"chart/postrender.yaml": "logFile: log.txt\n"})
    done = checkout.run(".ci/preview", "main", "change", "shop", "chart")
    assert done.returncode == 2
    assert "must not write files" in done.stderr
    assert checkout.is_tidy()


def test_the_title_shows_the_two_commits(checkout: Checkout) -> None:
    commit(checkout.folder, {"chart/values.yaml": "greeting: good day\n"})
    branches = ("main", "change")
    base, head = (git(checkout.folder, "rev-parse", "--short", branch) for branch in branches)
    title = f"from `preview/base-{base.strip()}.yaml` to `preview/head-{head.strip()}.yaml`"
    assert title in checkout.preview()
    done = checkout.run(".ci/preview", "main", "change", "shop", "chart")
    assert done.stderr.splitlines()[-1] == "written: preview/preview.md, preview/preview.html"


def test_without_a_chart_the_script_prints_its_usage(checkout: Checkout) -> None:
    done = checkout.run(".ci/preview", "main", "change")
    assert done.returncode == 2
    assert done.stderr == "usage: .ci/preview BASE HEAD RELEASE CHART [OPTION]...\n"


def test_a_foreign_folder_named_preview_is_not_changed(checkout: Checkout) -> None:
    (checkout.folder / "preview").mkdir()
    (checkout.folder / "preview" / "values.yaml").write_text("greeting: hello\n")
    done = checkout.run(".ci/preview", "main", "change", "shop", "chart")
    assert done.returncode == 1
    assert "error: preview/values.yaml is not a file of this script. Move " in done.stderr
    assert (checkout.folder / "preview" / "values.yaml").read_text("utf-8") == "greeting: hello\n"
    assert checkout.is_tidy()


def test_a_chart_that_does_not_render_fails_the_job(checkout: Checkout) -> None:
    commit(checkout.folder, {"chart/templates/web.yaml": "{{ fail `no such thing` }}"})
    done = checkout.run(".ci/preview", "main", "change", "shop", "chart")
    assert done.returncode != 0
    assert "no such thing" in done.stderr
    assert not list((checkout.folder / "preview").iterdir())
    assert checkout.is_tidy()


def test_a_path_that_no_commit_has_is_an_error(checkout: Checkout) -> None:
    done = checkout.run(".ci/preview", "main", "change", "shop", "cahrt")
    assert done.returncode == 1
    assert "error: cahrt renders no manifests at either commit. Check the path" in done.stderr


def test_the_result_does_not_have_values_of_secrets(checkout: Checkout) -> None:
    secret = "kind: Secret\napiVersion: v1\nmetadata: {name: key}\nstringData: {key: %s}\n"
    git(checkout.folder, "switch", "--quiet", "main")
    commit(checkout.folder, {"chart/templates/secret.yaml": secret % "b3fore"})
    git(checkout.folder, "switch", "--quiet", "change")
    git(checkout.folder, "merge", "--quiet", "main")
    commit(checkout.folder, {"chart/templates/secret.yaml": secret % "aft3r"})
    checkout.preview()
    files = (checkout.folder / "preview").iterdir()
    result = "".join(path.read_text("utf-8") for path in files)
    assert "key" in result
    assert "b3fore" not in result
    assert "aft3r" not in result


def test_the_preview_of_the_action(checkout: Checkout, tmp_path: Path) -> None:
    commit(checkout.folder, {"chart/values-prod.yaml": "greeting: farewell\n"})
    installed = tmp_path / "temp" / "postrender" / "bin"
    installed.mkdir(parents=True)
    (installed / "postrender").symlink_to(tmp_path / "programs" / "postrender")
    summary = tmp_path / "summary.md"
    variables = {
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_STEP_SUMMARY": str(summary),
        "BASE": "main",
        "HEAD": "change",
        "RELEASE": "shop",
        "CHART": "chart",
        "OPTIONS": "--values chart/values-prod.yaml",
        "POSTRENDER_NAMESPACE": "prod",
    }
    preview = step("action.yml", "Render and compare")
    assert preview["env"].keys() == {
        name for name in variables if not name.startswith(("RUN", "GIT"))
    }
    done = checkout.run("bash", "-e", "-o", "pipefail", "-c", preview["run"], **variables)
    assert done.returncode == 0, done.stderr
    assert summary.read_text("utf-8") == checkout.markdown()
    assert "farewell" in checkout.markdown()


def test_the_preview_of_the_component(checkout: Checkout) -> None:
    job = jobs()["postrender-preview"]
    commit(checkout.folder, {"chart/values-prod.yaml": "greeting: farewell\n"})
    variables = {
        **job["variables"],
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": git(checkout.folder, "rev-parse", "main").strip(),
        "CI_COMMIT_SHA": git(checkout.folder, "rev-parse", "HEAD").strip(),
        "POSTRENDER_NAMESPACE": "prod",
    }
    script = "\n".join(["set -e", *job["script"]])
    done = checkout.run("sh", "-c", script, **{**variables, "CHECKOUT": str(ROOT)})
    assert done.returncode == 0, done.stderr
    assert "farewell" in done.stdout
