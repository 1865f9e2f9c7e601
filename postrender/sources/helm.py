"""Helm itself, asked for what it stores of a release: every revision's manifests, and its hooks.

A post-renderer is not told which release it works for, so that the namespace and the name must be
given. Each Helm reads the releases of the other (Helm 3.21, Helm 4.2).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from postrender.errors import UserError
from postrender.plan.history import Manifest, Previous
from postrender.startup.patterns import pattern
from postrender.startup.records import NamedTuple
from postrender.yaml.stream import Source

PREFIX = "helm:"

_NAME = pattern(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?\Z")
# Statuses of a revision that Helm has finished applying.
_APPLIED = frozenset({"deployed", "superseded"})
_IN_ANY_STATUS = (
    *("--deployed", "--failed", "--pending", "--superseded", "--uninstalled", "--uninstalling"),
    *("--max", "0"),
)
_AT_ONCE = 4


class Release(NamedTuple):
    """A release, and where Helm looks for it; nothing where Helm's own default counts."""

    namespace: str
    name: str
    context: str = ""
    kubeconfig: str = ""

    def __str__(self) -> str:
        return f"{PREFIX}{self.namespace}/{self.name}"


class HelmError(UserError):
    """Helm could not answer; the message is its own."""


class NotFoundError(HelmError):
    """Helm stores no such release, or no such revision of it."""


def parse_release(text: str, context: str = "", kubeconfig: str = "") -> Release | None:
    """Return the release that `helm:NAMESPACE/RELEASE` names; None for what is no such thing.

    Raises UserError where one of the two is missing.
    """
    if not text.startswith(PREFIX):
        return None
    namespace, slash, name = text[len(PREFIX) :].partition("/")
    if not slash or not _NAME.match(namespace) or not _NAME.match(name):
        raise UserError(
            f"--previous={text} names no release",
            "write --previous=helm:NAMESPACE/RELEASE; Helm tells a post-renderer neither of them",
        )
    return Release(namespace, name, context, kubeconfig)


def read_release(release: Release) -> Previous | None:
    """Return what Helm stores of a release, oldest first; None where it knows no such release.

    Raises UserError where Helm cannot be asked.
    """
    history = _history(release)
    if history is None:
        return None
    numbers = [number for number, _ in history]
    applied = {number for number, status in history if status in _APPLIED}
    deployed = {number for number, status in history if status == "deployed"}
    with_hooks = sorted({*deployed, *numbers[-1:]})
    commands = [
        *(_get(release, "manifest", number) for number in numbers),
        *(_get(release, "hooks", number) for number in with_hooks),
    ]
    texts = list(_helm(release, commands))
    return Previous(
        tuple(
            _manifest(f"{release} revision {number}", data, is_applied=number in applied)
            for number, data in zip(numbers, texts[: len(numbers)], strict=True)
        ),
        tuple(_manifest(f"{release} hooks", data) for data in texts[len(numbers) :]),
        len(numbers),
    )


def _manifest(name: str, data: bytes, *, is_applied: bool = True) -> Manifest:
    return Manifest(name, (Source(name, data),), is_applied)


def namespaces_of(release: Release) -> list[str]:
    """Return the namespaces that have a release of this name.

    Raises HelmError where Helm may not look into all of them.
    """
    pattern = f"^{re.escape(release.name)}$"
    listing = ["list", "--all-namespaces", "--filter", pattern, "--output", "json"]
    return sorted(
        str(entry.get("namespace")) for entry in _entries(release, [*listing, *_IN_ANY_STATUS])
    )


def _history(release: Release) -> list[tuple[int, str]] | None:
    """Return number and status of each stored revision in order; None where there is none."""
    command = ["history", release.name, "--output", "json", "--max", "1000000"]
    try:
        found = _entries(release, [*command, *_namespace_option(release)])
        return sorted((int(entry["revision"]), str(entry["status"])) for entry in found) or None
    except NotFoundError:
        return None
    except (KeyError, TypeError, ValueError):
        raise _misunderstood(release, command) from None


def _entries(release: Release, command: Sequence[str]) -> list[dict[str, Any]]:
    """Return the list that a command of helm prints as JSON."""
    [text] = _helm(release, [command])
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise _misunderstood(release, command)
    return found


def _misunderstood(release: Release, command: Sequence[str]) -> HelmError:
    return HelmError(
        f"helm {command[0]}, asked for --previous={release}, printed something else than a JSON "
        "list of what it stores",
        "see what that command prints with --output json; nothing else may write to its stdout",
    )


def _get(release: Release, what: str, number: int) -> list[str]:
    return ["get", what, release.name, "--revision", str(number), *_namespace_option(release)]


def _namespace_option(release: Release) -> list[str]:
    return ["--namespace", release.namespace]


def _helm(release: Release, commands: Sequence[Sequence[str]]) -> Iterator[bytes]:
    """Run commands of helm, some at once, and yield the output of each in their order.

    Raises UserError where one cannot be run or fails. None is left running behind an error.
    """
    program = os.environ.get("HELM_BIN") or shutil.which("helm")
    if not program:
        raise UserError(
            f"--previous={release} asks helm, which is not on PATH",
            "install it, or say where it is in the variable HELM_BIN",
        )
    where = [
        *(["--kube-context", release.context] if release.context else []),
        *(["--kubeconfig", release.kubeconfig] if release.kubeconfig else []),
    ]
    running: deque[subprocess.Popen[bytes]] = deque()
    started = 0
    try:
        for command in commands:
            while started < len(commands) and len(running) < _AT_ONCE:
                running.append(_start([program, *commands[started], *where]))
                started += 1
            output, errors = running[0].communicate()
            done = running.popleft()
            if done.returncode:
                raise _failure(release, command, done.returncode, errors)
            yield output
    finally:
        for child in running:
            child.kill()
            child.wait()


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
    except (OSError, ValueError) as error:  # ValueError: a NUL in an option
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(
            f"cannot run {command[0]}: {reason}",
            "check the variable HELM_BIN, or PATH",
        ) from None


def _failure(release: Release, command: Sequence[str], code: int, errors: bytes) -> HelmError:
    """Return the error for a helm that failed, with its own message.

    With HELM_DEBUG Helm 3 writes a stack trace behind it (3.21, cmd/helm/helm.go).
    """
    lines = errors.decode("utf-8", "replace").strip().splitlines() or [f"exit code {code}"]
    message = next((line for line in lines if line.startswith("Error: ")), lines[-1])
    what = f"helm {command[0]} failed for --previous={release}: {message}"
    if message == "Error: release: not found":
        return NotFoundError(what, "another helm may have removed that revision: try again")
    return HelmError(
        what,
        "check the connection; --kube-context and --kubeconfig of helm's own command line do "
        "not reach a post-renderer: give them to postrender as well",
    )
