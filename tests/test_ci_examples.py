"""The scripts of examples/ci run in real git repositories, with a real Helm.

The comments are posted to a stand-in, written from the documentation of the APIs of GitHub
(2022-11-28) and GitLab (v4). No test runs on GitHub or GitLab.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.e2e.programs import program
from tests.repositories import commit, git, new_repository, nobody

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "ci"
HELM = shutil.which("helm") or shutil.which(program("helm4"))
MARKER = "<!-- postrender diff -->"
TIMEOUT = 120

needs_helm = pytest.mark.skipif(
    HELM is None, reason="helm is not on PATH: no chart can be rendered"
)

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


# --- the preview ---------------------------------------------------------------------------------


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
        (programs / "helm").symlink_to(str(HELM))
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


@needs_helm
def test_a_branch_that_changes_a_value(checkout: Checkout) -> None:
    commit(checkout.folder, {"chart/values.yaml": "greeting: good day\n"})
    text = checkout.preview()
    assert text.startswith(f"{MARKER}\n")
    for part in ("hello", "good day", "shop-config", "Deployment"):
        assert part in text
    assert checkout.is_tidy()


@needs_helm
def test_values_files_are_read_from_each_commit(checkout: Checkout) -> None:
    commit(checkout.folder, {"chart/values-prod.yaml": "greeting: farewell\n"})
    text = checkout.preview("--values", "chart/values-prod.yaml", "--namespace", "two words")
    assert "welcome" in text
    assert "farewell" in text
    assert "hello" not in text


@needs_helm
def test_a_branch_without_changes_gets_an_empty_preview(checkout: Checkout) -> None:
    commit(checkout.folder, {"README.md": "hello again\n"})
    text = checkout.preview()
    assert text.startswith(f"{MARKER}\n")
    assert "o changes" in text


@needs_helm
def test_later_changes_of_main_are_not_shown(checkout: Checkout) -> None:
    commit(checkout.folder, {"chart/values-prod.yaml": "greeting: farewell\n"})
    git(checkout.folder, "switch", "--quiet", "main")
    commit(checkout.folder, {"chart/templates/web.yaml": DEPLOYMENT.replace("web:1", "web:2")})
    git(checkout.folder, "switch", "--quiet", "change")
    text = checkout.preview("--values", "chart/values-prod.yaml")
    assert "farewell" in text
    assert "web:2" not in text


@needs_helm
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


@needs_helm
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


@needs_helm
def test_a_dependency_in_a_chart_repository(checkout: Checkout, tmp_path: Path) -> None:
    library, charts = tmp_path / "library", tmp_path / "charts"
    for name, text in CHART.items():
        file = library / name.removeprefix("chart/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("shop", "library").replace("hello", "from the repository"))
    charts.mkdir()
    assert checkout.run("helm", "package", str(library), "-d", str(charts)).returncode == 0
    assert checkout.run("helm", "repo", "index", str(charts)).returncode == 0
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(charts))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        url = f"http://127.0.0.1:{server.server_port}"
        needs = f"dependencies: [{{name: library, version: 0.1.0, repository: '{url}'}}]\n"
        own = {"chart/templates/config.yaml": "", "chart/templates/web.yaml": ""}
        commit(checkout.folder, {"chart/Chart.yaml": CHART["chart/Chart.yaml"] + needs, **own})
        text = checkout.preview()
        server.shutdown()
    assert "from the repository" in text
    assert url not in checkout.run("helm", "repo", "list").stdout, "the script left a repository"
    assert checkout.is_tidy()


@needs_helm
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


@needs_helm
def test_a_chart_that_does_not_render_fails_the_job(checkout: Checkout) -> None:
    commit(checkout.folder, {"chart/templates/web.yaml": "{{ fail `no such thing` }}"})
    done = checkout.run(".ci/preview", "main", "change", "shop", "chart")
    assert done.returncode != 0
    assert "no such thing" in done.stderr
    assert not list((checkout.folder / "preview").iterdir())
    assert checkout.is_tidy()


@needs_helm
def test_a_path_that_no_commit_has_is_an_error(checkout: Checkout) -> None:
    done = checkout.run(".ci/preview", "main", "change", "shop", "cahrt")
    assert done.returncode == 1
    assert "error: cahrt renders no manifests at either commit. Check the path" in done.stderr


@needs_helm
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


# --- the comment ---------------------------------------------------------------------------------

TEXT = f"{MARKER}\n# Preview\n"
OURS, THEIRS = "github-actions[bot]", "mallory"
HEAD = "a" * 40


class Service:
    """A stand-in for both APIs, with the comments of one pull request or merge request."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        self.comments: list[dict[str, Any]] = []
        self.requests: list[str] = []
        self.fails = False

    def add(self, body: str, author: str = OURS) -> None:
        """Add a comment."""
        number = len(self.comments) + 1
        user = {"login": author, "id": 7 if author == OURS else 8}
        self.comments.append({"id": number, "body": body, "user": user, "author": user})

    @property
    def bodies(self) -> list[str]:
        """The texts of the comments."""
        return [comment["body"] for comment in self.comments]

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> Any:
        """Return the answer of the API to a request, or None if the resource does not exist."""
        self.requests.append(f"{method} {path}")
        if method == "GET" and path == "/user":
            return {"id": 7}
        if method == "GET" and path == "/repos/o/r/pulls":
            is_open = query["head"] == ["fork:feature/x"] and query["state"] == ["open"]
            return [{"number": 5, "head": {"sha": HEAD}}] if is_open else []
        lists = ("/repos/o/r/issues/5/comments", "/projects/9/merge_requests/5/notes")
        if method == "GET" and path in lists:
            size, page = int(query["per_page"][0]), int(query["page"][0])
            return self.comments[(page - 1) * size : page * size]
        if method == "POST" and path in lists:
            self.add(body["body"])
            return self.comments[-1]
        comment = re.fullmatch(r"(/repos/o/r/issues/comments|/projects/9/.*/5/notes)/(\d+)", path)
        if comment and method == ("PATCH" if "repos" in path else "PUT"):
            self.comments[int(comment[2]) - 1]["body"] = body["body"]
            return {}
        return None

    def post(self, text: str = TEXT, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the script as a job does."""
        (self.folder / "preview.md").write_text(text, encoding="utf-8")
        return subprocess.run(
            [sys.executable, str(EXAMPLES / "comment"), str(self.folder / "preview.md")],
            env={"PATH": os.environ["PATH"], **variables},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )

    def github(self, event: dict[str, Any] | None = None) -> dict[str, str]:
        """Return the variables of a job of GitHub Actions.

        event: the payload of the event that started the job
        """
        file = self.folder / "event.json"
        file.write_text(json.dumps(event or {"pull_request": {"number": 5}}))
        return {
            "GITHUB_TOKEN": "s3cret",
            "GITHUB_API_URL": self.url,
            "GITHUB_REPOSITORY": "o/r",
            "GITHUB_EVENT_PATH": str(file),
        }

    def gitlab(self) -> dict[str, str]:
        """Return the variables of a job of GitLab CI."""
        return {
            "GITLAB_CI": "true",
            "GITLAB_TOKEN": "s3cret",
            "CI_API_V4_URL": self.url,
            "CI_PROJECT_ID": "1",
            "CI_MERGE_REQUEST_PROJECT_ID": "9",
            "CI_MERGE_REQUEST_IID": "5",
        }

    def variables(self, kind: str) -> dict[str, str]:
        """Return the variables of a job of GitHub Actions or GitLab CI."""
        return self.gitlab() if kind == "gitlab" else self.github()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    class Handler(BaseHTTPRequestHandler):
        def do_any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            parts = urlsplit(self.path)
            is_authorised = "s3cret" in (
                self.headers.get("PRIVATE-TOKEN"),
                (self.headers.get("Authorization") or "").removeprefix("Bearer "),
            )
            answer = stand_in.answer(self.command, parts.path, parse_qs(parts.query), body)
            status = 403 if stand_in.fails or not is_authorised else 404 if answer is None else 200
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        do_GET = do_POST = do_PATCH = do_PUT = do_any  # noqa: N815 (names of http.server)

        def log_message(self, format: str, *values: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    stand_in = Service(f"http://127.0.0.1:{server.server_port}", tmp_path)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield stand_in
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_each_push_updates_the_comment(service: Service, kind: str) -> None:
    service.add("Please rename it.", THEIRS)
    first = service.post(**service.variables(kind))
    assert (first.returncode, first.stdout) == (0, "added a comment\n"), first.stderr
    second = service.post(f"{TEXT}ünd now\n", **service.variables(kind))
    assert (second.returncode, second.stdout) == (0, "updated the comment\n"), second.stderr
    assert service.bodies == ["Please rename it.", f"{TEXT}ünd now\n"]


@pytest.mark.parametrize("kind", ["github", "gitlab"])
@pytest.mark.parametrize("before", [99, 100, 250])
def test_the_comment_is_found_after_many_comments(service: Service, kind: str, before: int) -> None:
    for number in range(before):
        service.add(f"Comment {number}", THEIRS)
    service.post(**service.variables(kind))
    service.post(f"{TEXT}again\n", **service.variables(kind))
    assert service.bodies[before:] == [f"{TEXT}again\n"]


@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_a_comment_of_another_author_is_not_updated(service: Service, kind: str) -> None:
    """The author of that comment could replace the preview later."""
    service.add(TEXT, THEIRS)
    service.post(f"{TEXT}ours\n", **service.variables(kind))
    assert service.bodies == [TEXT, f"{TEXT}ours\n"]


def run_of(sha: str = HEAD, branch: str = "feature/x") -> dict[str, Any]:
    repository = {"owner": {"login": "fork"}}
    run = {"head_repository": repository, "head_branch": branch, "head_sha": sha}
    return {"workflow_run": {**run, "pull_requests": []}}


def test_a_pull_request_of_a_fork_is_found_by_its_branch(service: Service) -> None:
    done = service.post(**service.github(run_of()))
    assert done.stdout == "added a comment\n", done.stderr
    assert service.bodies == [TEXT]


@pytest.mark.parametrize("event", [run_of(sha="b" * 40), run_of(branch="gone")])
def test_the_preview_of_an_earlier_push_is_not_posted(
    service: Service, event: dict[str, Any]
) -> None:
    done = service.post(**service.github(event))
    assert done.returncode == 0
    assert done.stdout == "no comment: no open pull request has this commit as its head\n"
    assert service.bodies == []


@pytest.mark.parametrize("text", ["", "hello", f" {TEXT}", TEXT + "x" * 65536])
def test_only_a_preview_is_posted(service: Service, text: str) -> None:
    done = service.post(text, **service.github())
    assert done.returncode == 1
    assert "is not the output of postrender diff --format markdown" in done.stderr
    assert service.requests == []


def test_a_token_without_permission_is_an_error(service: Service) -> None:
    service.fails = True
    done = service.post(**service.github())
    assert done.returncode == 1
    assert done.stderr == f"error: {service.url}/repos/o/r/issues/5/comments: 403 Forbidden\n"


def test_a_missing_variable_is_an_error(service: Service) -> None:
    done = service.post(GITLAB_CI="true")
    assert done.returncode == 1
    assert re.fullmatch(
        r"error: the variable '\w+' is not set. Set the variable in the job\n", done.stderr
    )


def test_an_unreachable_service_is_an_error(service: Service) -> None:
    done = service.post(**{**service.github(), "GITHUB_API_URL": "http://127.0.0.1:1"})
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
