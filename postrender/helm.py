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
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from postrender.errors import UserError
from postrender.history import Manifest, Previous

PREFIX = "helm:"

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?\Z")
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
    numbers = [int(entry["revision"]) for entry in history]
    applied = {int(entry["revision"]) for entry in history if entry["status"] in _APPLIED}
    deployed = [int(entry["revision"]) for entry in history if entry["status"] == "deployed"]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        manifests = pool.map(lambda number: _get(release, "manifest", number), numbers)
        hooks = pool.map(
            lambda number: _get(release, "hooks", number), sorted({*deployed, *numbers[-1:]})
        )
        return Previous(
            tuple(
                Manifest(f"{release} revision {number}", data, number in applied)
                for number, data in zip(numbers, manifests, strict=True)
            ),
            tuple(Manifest(f"{release} hooks", data) for data in hooks),
            len(numbers),
        )


def namespaces_of(release: Release) -> list[str]:
    """Return the namespaces that have a release of this name.

    Raises HelmError where Helm may not look into all of them.
    """
    pattern = f"^{re.escape(release.name)}$"
    listing = ["list", "--all-namespaces", "--filter", pattern, "--output", "json"]
    found = json.loads(_helm(release, [*listing, *_IN_ANY_STATUS]) or b"[]")
    return sorted(str(entry["namespace"]) for entry in found)


def _history(release: Release) -> list[dict[str, str]] | None:
    command = ["history", release.name, "--output", "json", "--max", "1000000"]
    try:
        found: list[dict[str, str]] = json.loads(_helm(release, [*command, *_place(release)]))
    except HelmError as error:
        if "release: not found" in error.what:
            return None
        raise
    return sorted(found, key=lambda entry: int(entry["revision"]))


def _get(release: Release, what: str, number: int) -> bytes:
    command = ["get", what, release.name, "--revision", str(number)]
    return _helm(release, [*command, *_place(release)])


def _place(release: Release) -> list[str]:
    return ["--namespace", release.namespace]


def _helm(release: Release, arguments: Sequence[str]) -> bytes:
    """Run helm and return its output; raises UserError where it cannot be run or fails."""
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
    try:
        done = subprocess.run(
            [program, *arguments, *where],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise UserError(
            f"cannot run {program}: {error.strerror}", "check the variable HELM_BIN, or PATH"
        ) from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"]
        raise HelmError(
            f"helm {arguments[0]} failed for --previous={release}: {lines[-1]}",
            "check the connection; --kube-context and --kubeconfig of helm's own command line do "
            "not reach a post-renderer: give them to postrender as well",
        )
    return done.stdout
