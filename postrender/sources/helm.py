"""The earlier outputs in --previous, and a side of diff: the release revisions that Helm stores.

Helm does not pass the namespace and the name of the release to a post-renderer. Therefore, the user
sets both in `--previous=helm:NAMESPACE/RELEASE`. Helm 3.21 can read releases of Helm 4, and Helm
4.2 can read releases of Helm 3.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence

from postrender.config.settings import Settings
from postrender.errors import Finding, Location, UserError
from postrender.inventory.build import Inventory
from postrender.plan.history import (
    History,
    Manifest,
    Previous,
    read_history,
    read_previous_owners,
)
from postrender.plan.namespaces import explicit_namespaces, new_resolver
from postrender.records import NamedTuple
from postrender.sources.inputs import read_inputs
from postrender.sources.paths import HELM, ChartError, finish, helm_program, start
from postrender.yaml.stream import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen
    from typing import Any

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?\Z")
# The statuses of the release revisions that Helm has applied without an error.
_APPLIED = frozenset({"deployed", "superseded"})
_IN_ANY_STATUS = (
    *("--deployed", "--failed", "--pending", "--superseded", "--uninstalled", "--uninstalling"),
    *("--max", "0"),
)
_MAX_PROCESSES = 4


class Release(NamedTuple):
    """A Helm release; context, kubeconfig: "" for the default of helm.

    argument: with which the user chose the release, for messages.
    """

    namespace: str
    name: str
    argument: str
    context: str = ""
    kubeconfig: str = ""

    def __str__(self) -> str:
        return f"{HELM}{self.namespace}/{self.name}"


class HelmError(UserError):
    """A helm command failed or printed unexpected output."""


class NotFoundError(HelmError):
    """Helm does not store the release or the release revision."""


def with_release_namespace(settings: Settings) -> Settings:
    """Settings with the namespace and the name of the Helm release in --previous, if any.

    Another namespace in the settings is an error.
    """
    release = _release(settings)
    if release is None:
        return settings
    if settings.namespace not in ("", release.namespace):
        raise UserError(
            f"the setting namespace is {settings.namespace}, expected {release.namespace} as in "
            f"--previous={release}",
            "Set the same namespace in --namespace and --previous, or only in --previous",
        )
    attacher = settings.attacher._replace(release=release.name)
    return settings._replace(namespace=release.namespace, attacher=attacher)


def read_previous(inventory: Inventory, settings: Settings) -> tuple[History, list[Finding]]:
    """The history of the earlier outputs, and the findings about it.

    A Helm release in another namespace than the input is an error.
    """
    release = _release(settings)
    resolver = new_resolver(inventory, with_release_namespace(settings))
    findings: list[Finding] = []
    if release:
        previous, findings = _read_release(release, inventory, settings)
        fix = (
            "Fix the template. Then run one upgrade without --previous, because Helm still stores "
            "the old manifests"
        )
    else:
        previous = read_manifests(settings.history.previous)
        fix = "Fix the file in --previous, or pass another file"
    try:
        history = read_history(previous, settings, resolver.effective_namespace)
    except UserError as error:
        raise UserError(error.problem, fix, error.location) from None
    if release and not settings.namespace:
        _check_namespace(release, history, inventory)
    keep = settings.history.keep
    if release and keep is not None and keep < history.stored:
        findings.append(_low_keep(keep, history.stored, inventory))
    return history._replace(owners=read_previous_owners(previous)), findings


def _release(settings: Settings) -> Release | None:
    """The Helm release in --previous, None if --previous is not a Helm release."""
    name = settings.history.previous
    return _parsed(name, f"--previous={name}", settings) if name.startswith(HELM) else None


def _parsed(name: str, argument: str, settings: Settings) -> Release:
    """A release; name: `helm:NAMESPACE/RELEASE`."""
    namespace, slash, release = name[len(HELM) :].partition("/")
    if not slash or not _NAME.match(namespace) or not _NAME.match(release):
        raise UserError(
            f"{argument} is not a Helm release, expected helm:NAMESPACE/RELEASE",
            "Write the namespace and the name of the release, as in helm:prod/shop",
        )
    history = settings.history
    return Release(namespace, release, argument, history.context, history.kubeconfig)


def read_release(name: str, settings: Settings) -> tuple[Source, ...]:
    """The manifests and the hooks of a release; () for an unknown release, with allowEmpty.

    The release revision is the deployed one or, if no revision is deployed, the newest one. An
    upgrade by Helm starts from the same revision.
    name: `helm:NAMESPACE/RELEASE`.
    """
    release = _parsed(name, name, settings)
    history = _history(release)
    if not history and not settings.allow_empty:
        raise UserError(
            f"Helm does not find the release {release.name} in the namespace {release.namespace}",
            "Run helm list --all-namespaces to find the release. For a first install, pass "
            "--allow-empty",
            Location(name),
        )
    if not history:
        return ()
    deployed = [number for number, status in history if status == "deployed"]
    number = deployed[-1] if deployed else history[-1][0]
    # Helm stores hooks apart, and the output of helm template contains both.
    parts = ("manifest", "hooks")
    texts = _run_helm(release, [_get_command(release, part, number) for part in parts])
    sources = (Source(f"{name} {part}", text) for part, text in zip(parts, texts, strict=True))
    return tuple(sources)


def read_manifests(name: str) -> Previous:
    """The manifests of --previous, which is not a Helm release."""
    if name == "-":
        raise UserError(
            "--previous=- would read stdin, which has the new manifests", "Pass a file instead"
        )
    try:
        sources = read_inputs(name, allow_empty=True)
    except ChartError as error:
        raise UserError(
            f"--previous={name} is a chart folder, expected the previous output of postrender",
            "Pass the file with the last output that you applied, or helm:NAMESPACE/RELEASE",
        ) from error
    if not sources:
        raise UserError(
            f"--previous={name} does not contain manifests",
            "Check the path. For the first release, pass an empty file",
        )
    for source in sources:
        _check_output(source.name)
    return Previous((Manifest(name, sources),))


def _check_output(name: str) -> None:
    """Refuse to write to the file in --previous, because the shell has emptied it."""
    try:
        is_same = sys.stdout is not None and os.path.samestat(
            os.stat(name), os.fstat(sys.stdout.fileno())
        )
    except (OSError, ValueError):
        return
    if is_same and os.path.isfile(name):
        raise UserError(
            "stdout is the file in --previous, so the shell can have emptied the file",
            "Restore the file, and write the output to another file",
            Location(name),
        )


def _read_release(
    release: Release, inventory: Inventory, settings: Settings
) -> tuple[Previous, list[Finding]]:
    """The stored manifests of a release, and the findings.

    If the namespace in --previous is wrong, Helm does not find the release, as before a first
    install. Unless --namespace or an object of the input confirms the namespace, the name is then
    searched in all namespaces. A release in another namespace is an error, and a failed search is a
    finding.
    """
    previous = _stored_outputs(release)
    confirmed = {settings.namespace, *explicit_namespaces(inventory.items)}
    if previous.manifests or release.namespace in confirmed:
        return previous, []
    try:
        namespaces = _namespaces_of(release)
    except HelmError as error:
        return previous, [_unchecked_namespace(release, error, inventory)]
    if namespaces:
        raise UserError(
            f"the release {release.name} is in the namespace {' and '.join(namespaces)}, "
            f"not in {release.namespace}",
            f"Pass --previous=helm:{namespaces[0]}/{release.name}. For a first install in "
            f"{release.namespace}, add --namespace {release.namespace}",
        )
    return previous, []


def _check_namespace(release: Release, history: History, inventory: Inventory) -> None:
    """Raise UserError if the input has namespaces, but neither the release's nor the history's.

    The error can be wrong, for instance if only an object for monitoring has a namespace. The user
    then confirms the namespace of the release with --namespace.
    """
    explicit = set(explicit_namespaces(inventory.items))
    expected = {release.namespace, *history.namespaces}
    if explicit and not explicit & expected:
        raise UserError(
            f"--previous={release} has the namespace {release.namespace}, "
            f"but the objects with a namespace are in {' and '.join(sorted(explicit))}",
            "Pass the namespace of the release in --previous. "
            f"If {release.namespace} is right, add --namespace {release.namespace}",
            Location(inventory.stream.source),
        )


def _unchecked_namespace(release: Release, error: HelmError, inventory: Inventory) -> Finding:
    return Finding(
        code="history-unchecked",
        problem=f"Helm does not find the release {release.name} in {release.namespace}, so the "
        "output does not retain revisions. postrender cannot search other namespaces "
        f"({error.problem})",
        fix="Check the namespace in --previous. For a first install, ignore this note",
        location=Location(inventory.stream.source),
    )


def _low_keep(keep: int, stored: int, inventory: Inventory) -> Finding:
    return Finding(
        code="history-keep",
        problem=f"history.keep is {keep}, but Helm stores {stored} release revisions, so Helm can "
        "delete revisions of a ConfigMap that pods still use",
        fix="Raise history.keep, or lower the option --history-max of helm",
        location=Location(inventory.stream.source),
    )


def _stored_outputs(release: Release) -> Previous:
    """The manifests of all stored release revisions, oldest first.

    The result also has the hooks of the deployed and of the newest release revision. It is empty
    for an unknown release.
    """
    history = _history(release)
    numbers = [number for number, _ in history]
    applied = {number for number, status in history if status in _APPLIED}
    deployed = {number for number, status in history if status == "deployed"}
    with_hooks = sorted({*deployed, *numbers[-1:]})
    commands = [
        *(_get_command(release, "manifest", number) for number in numbers),
        *(_get_command(release, "hooks", number) for number in with_hooks),
    ]
    texts = _run_helm(release, commands)
    return Previous(
        tuple(
            _manifest(f"{release} release revision {number}", data, is_applied=number in applied)
            for number, data in zip(numbers, texts[: len(numbers)], strict=True)
        ),
        tuple(_manifest(f"{release} hooks", data) for data in texts[len(numbers) :]),
        len(numbers),
    )


def _manifest(name: str, data: bytes, *, is_applied: bool = True) -> Manifest:
    return Manifest(name, (Source(name, data),), is_applied)


def _namespaces_of(release: Release) -> list[str]:
    """The namespaces that have a release of this name, in any status."""
    name = f"^{re.escape(release.name)}$"
    command = ["list", "--all-namespaces", "--filter", name, "--output", "json", *_IN_ANY_STATUS]
    return sorted(str(entry.get("namespace")) for entry in _entries(release, command))


def _history(release: Release) -> list[tuple[int, str]]:
    """The number and status of each stored release revision, sorted by number."""
    command = ["history", release.name, "--output", "json", "--max", "1000000"]
    command += ["--namespace", release.namespace]
    try:
        entries = _entries(release, command)
        return sorted((int(entry["revision"]), str(entry["status"])) for entry in entries)
    except NotFoundError:
        return []
    except (KeyError, TypeError, ValueError):
        raise _unexpected_output(release, command) from None


def _entries(release: Release, command: Sequence[str]) -> list[dict[str, Any]]:
    """The list of mappings that a helm command prints as JSON."""
    [text] = _run_helm(release, [command])
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        entries = None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise _unexpected_output(release, command)
    return entries


def _unexpected_output(release: Release, command: Sequence[str]) -> HelmError:
    return HelmError(
        f"the output of helm {command[0]} for {release.argument} is invalid, expected a JSON "
        "list of Helm",
        f"Run helm {command[0]} --output json, and check that the output contains only JSON",
    )


def _get_command(release: Release, part: str, number: int) -> list[str]:
    """The helm command for a part of a release revision; part: `manifest` or `hooks`."""
    revision = ["--revision", str(number), "--namespace", release.namespace]
    return ["get", part, release.name, *revision]


def _run_helm(release: Release, commands: Sequence[Sequence[str]]) -> list[bytes]:
    """Run helm commands in parallel, and return their outputs in the same order.

    An error or an interrupt kills the remaining helm processes.
    """
    # These modules are slow to import, and --previous=FILE does not need them.
    from concurrent.futures import ThreadPoolExecutor
    from threading import Event

    program = helm_program(release.argument)
    options = [
        *(["--kube-context", release.context] if release.context else []),
        *(["--kubeconfig", release.kubeconfig] if release.kubeconfig else []),
    ]
    processes: list[Popen[bytes]] = []
    is_stopped = Event()

    def run(command: Sequence[str]) -> bytes:
        process = start([program, *command, *options])
        processes.append(process)
        if is_stopped.is_set():  # _run_helm has already killed the other processes
            process.kill()
        output, errors = finish(process)
        if process.returncode:
            raise _failure(release, command, process.returncode, errors)
        return output

    with ThreadPoolExecutor(_MAX_PROCESSES) as executor:
        try:
            return list(executor.map(run, commands))
        finally:
            is_stopped.set()
            executor.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.kill()  # without effect on a process that has ended


def _failure(release: Release, command: Sequence[str], code: int, errors: bytes) -> HelmError:
    # If HELM_DEBUG is set, Helm 3 writes a stack trace after the message (3.21, cmd/helm/helm.go).
    lines = errors.decode("utf-8", "replace").strip().splitlines() or [f"exit code {code}"]
    message = next((line for line in lines if line.startswith("Error: ")), lines[-1])
    reason = message.removeprefix("Error: ")
    problem = f"helm {command[0]} failed for {release.argument}: {reason}"
    if message == "Error: release: not found":
        fix = "Try again, because another helm command may have deleted the release revision"
        return NotFoundError(problem, fix)
    return HelmError(
        problem,
        "If you pass --kube-context or --kubeconfig to helm, pass the same option to postrender. "
        "Otherwise check the connection to the cluster",
    )
