"""The script examples/ci/comment. tests/e2e/test_ci_preview.py runs the script examples/ci/preview.

The comments are posted to a stand-in, written from the documentation of the APIs of GitHub
(2022-11-28) and GitLab (v4). No test runs on GitHub or GitLab.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "ci"
MARKER = "<!-- postrender diff -->"
TIMEOUT = 120


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
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
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
