"""The commands of a composite GitHub Action and of a GitLab component, run on this machine.

This module sets the variables that GitHub and GitLab document. Instead of an upload or download of
an artifact, this module copies a folder. Any other action in a step is an error.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

SECONDS = 600
EXPRESSION = re.compile(r"\$\{\{ *([\w.]+) *\}\}")
INPUT = re.compile(r"\$\[\[ *inputs\.(\w+) *\]\]")


class JobError(Exception):
    """A command of a job failed; the message has its output."""


class Machine(NamedTuple):
    """The folders and variables of a job.

    workspace: the working directory of the commands
    artifacts: the folder with the artifacts of all jobs
    variables: the environment of the commands
    """

    workspace: Path
    artifacts: Path
    variables: Mapping[str, str]


def load(file: Path) -> list[Any]:
    """Return the documents of a YAML file."""
    return list(YAML(typ="safe").load_all(file.read_text("utf-8")))


# GitHub


def expand(value: object, contexts: Mapping[str, Any]) -> str:
    """Return a text in a step; each expression is replaced by its value."""

    def text_of(match: re.Match[str]) -> str:
        result: Any = contexts
        for name in match[1].split("."):
            result = result[name]
        return str(result)

    return EXPRESSION.sub(text_of, str(value))


def action_inputs(
    action: Any, given: Mapping[str, str], contexts: Mapping[str, Any]
) -> dict[str, str]:
    """Return the value of each input of an action, from the caller or from its default."""
    inputs = action.get("inputs", {})
    unknown = given.keys() - inputs.keys()
    missing = {name for name, entry in inputs.items() if entry.get("required")} - given.keys()
    if unknown or missing:
        raise JobError(f"inputs: {sorted(unknown)} are unknown, {sorted(missing)} are missing")
    return {
        name: given[name] if name in given else expand(entry.get("default", ""), contexts)
        for name, entry in inputs.items()
    }


def run_action(
    folder: Path, given: Mapping[str, str], contexts: Mapping[str, Any], machine: Machine
) -> None:
    """Run the steps of the composite action in a folder."""
    [action] = load(folder / "action.yml")
    contexts = {**contexts, "inputs": action_inputs(action, given, contexts)}
    variables = {**machine.variables, "GITHUB_ACTION_PATH": str(folder)}
    for step in action["runs"]["steps"]:
        if "uses" in step:
            settings = {name: expand(text, contexts) for name, text in step["with"].items()}
            _copy_artifact(step["uses"].split("@")[0], settings, machine)
        else:
            extra = {name: expand(text, contexts) for name, text in step.get("env", {}).items()}
            # GitHub runs `shell: bash` with these options.
            command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            _run(command, machine._replace(variables={**variables, **extra}))


def _copy_artifact(action: str, settings: Mapping[str, str], machine: Machine) -> None:
    artifact = machine.artifacts / settings["name"]
    folder = machine.workspace / settings["path"]
    if action == "actions/upload-artifact":
        if not any(folder.glob("*")):
            raise JobError(f"{settings['path']} has no files for the artifact {settings['name']}")
        shutil.copytree(folder, artifact)
    elif action == "actions/download-artifact":
        shutil.copytree(artifact, folder)
    else:
        raise JobError(f"release/jobs.py cannot run the action {action}")


# GitLab


def component(file: Path, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the jobs of a component, with the values of its inputs."""
    head, jobs = load(file)
    inputs = head["spec"]["inputs"]
    unknown = given.keys() - inputs.keys()
    missing = {name for name, entry in inputs.items() if "default" not in entry} - given.keys()
    if unknown or missing:
        raise JobError(f"inputs: {sorted(unknown)} are unknown, {sorted(missing)} are missing")
    values = {name: given.get(name, (entry or {}).get("default")) for name, entry in inputs.items()}

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: filled(item) for key, item in value.items()}
        if isinstance(value, list):
            return [filled(item) for item in value]
        if isinstance(value, str):
            return INPUT.sub(lambda match: str(values[match[1]]), value)
        return value

    result: dict[str, Any] = filled(jobs)
    return result


def run_job(name: str, job: Any, machine: Machine) -> str:
    """Run the commands of a job of GitLab CI, store its artifacts, and return its output."""
    for needed in job.get("needs", ()):
        shutil.copytree(machine.artifacts / needed, machine.workspace, dirs_exist_ok=True)
    variables = {**job.get("variables", {}), **machine.variables}
    # GitLab joins the lines, and the shell stops at the first line that fails.
    script = "\n".join(["set -e", *job.get("before_script", ()), *job["script"]])
    output = _run(["sh", "-c", script], machine._replace(variables=variables))
    for path in job.get("artifacts", {}).get("paths", ()):
        if not (machine.workspace / path).is_dir():
            raise JobError(f"{path} does not exist, so {name} has no artifact")
        shutil.copytree(machine.workspace / path, machine.artifacts / name / path)
    return output


def _run(command: list[str], machine: Machine) -> str:
    done = subprocess.run(
        command,
        cwd=machine.workspace,
        env=dict(machine.variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        raise JobError(f"{command[-1].splitlines()[0]} …: {done.stdout}{done.stderr}")
    return done.stdout


def plain_environment(**variables: str) -> dict[str, str]:
    """Return the environment of a job: these variables, PATH, and the settings that pip needs."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "PATH" or name.startswith(("PIP_", "SSL_")) or name.lower().endswith("_proxy")
    }
    return {**kept, "CI": "true", **variables}


# The services


class Service:
    """A stand-in for the APIs of GitHub and GitLab, and for a server of files.

    folder: the folder of the files
    head: the commit of the open pull request
    """

    def __init__(self, folder: Path, head: str = "") -> None:
        self.folder = folder
        self.head = head
        self.comments: list[str] = []

    def answer(self, path: str) -> object:
        """Return the answer of the API to GET, or None for the address of a file."""
        if path == "/user":
            return {"id": 7}
        if path == "/repos/o/r/pulls":
            return [{"number": 5, "head": {"sha": self.head}}]
        return [] if path.endswith(("/issues/5/comments", "/merge_requests/5/notes")) else None

    @contextlib.contextmanager
    def serve(self) -> Iterator[str]:
        """Serve until the end of the block; yield the address."""
        service = self

        class Handler(SimpleHTTPRequestHandler):
            def __init__(self, *values: Any) -> None:
                super().__init__(*values, directory=str(service.folder))

            def do_GET(self) -> None:
                answer = service.answer(self.path.partition("?")[0])
                if answer is None:
                    super().do_GET()
                else:
                    self.reply(answer)

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                service.comments.append(json.loads(self.rfile.read(length))["body"])
                self.reply({})

            def reply(self, answer: object) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, *_: Any) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_port}"
            server.shutdown()
