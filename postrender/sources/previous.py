"""The history that a run is told of with --previous: read, and checked against the stream."""

from __future__ import annotations

import os
import sys

from postrender.config.settings import Settings
from postrender.errors import Finding, Location, UserError
from postrender.inventory.build import Inventory
from postrender.plan.history import History, Manifest, Previous, read_history
from postrender.plan.namespaces import explicit_namespaces, new_resolver
from postrender.sources.helm import HelmError, Release, namespaces_of, parse_release, read_release
from postrender.sources.inputs import read_inputs


def with_release_namespace(settings: Settings) -> Settings:
    """Return settings with the namespace of the release whose history is read.

    Raises UserError where --namespace names another one.
    """
    release = _release(settings)
    if release is None:
        return settings
    if settings.namespace not in ("", release.namespace):
        raise UserError(
            f"the namespace is to be {settings.namespace}, and --previous={release} has another",
            "name the namespace that the release is in with both, or with --previous only",
        )
    return settings._replace(namespace=release.namespace)


def read_previous(inventory: Inventory, settings: Settings) -> tuple[History, list[Finding]]:
    """Return what was applied before, and findings about it.

    Raises UserError where it cannot be read, and where it is that of another namespace.
    """
    release = _release(settings)
    effective_namespace = new_resolver(
        inventory, with_release_namespace(settings)
    ).effective_namespace
    if release is None:
        return read_history(
            _read_file(settings.history.previous), settings, effective_namespace
        ), []
    previous, findings = _read_release(release, inventory, settings)
    try:
        history = read_history(previous, settings, effective_namespace)
    except UserError as error:
        # No mended template changes what is stored.
        fix = "Helm stores it so: mend the template, and upgrade once without --previous"
        raise UserError(error.problem, fix, error.location) from None
    if not settings.namespace:
        _check_namespace(release, history, inventory)
    keep = settings.history.keep
    if keep is not None and keep < history.stored:
        findings.append(_keeps_few(keep, history.stored, inventory))
    return history, findings


def _release(settings: Settings) -> Release | None:
    own = settings.history
    return parse_release(own.previous, own.context, own.kubeconfig)


def _read_file(name: str) -> Previous:
    if name == "-":
        raise UserError(
            "--previous=- would read stdin, which has the new manifests", "name a file instead"
        )
    sources = read_inputs(name, allow_empty=True)
    if not sources:
        raise UserError(
            f"--previous={name} has no manifests",
            "check the path; to begin, name an empty file",
        )
    for source in sources:
        _check_output(source.name)
    return Previous((Manifest(name, sources),))


def _check_output(name: str) -> None:
    """Refuse to write over what is to be read: the shell has emptied it before we start."""
    try:
        is_same = sys.stdout is not None and os.path.samestat(
            os.stat(name), os.fstat(sys.stdout.fileno())
        )
    except (OSError, ValueError):
        return
    if is_same and os.path.isfile(name):
        raise UserError(
            "the output goes into the file that --previous names, which the shell has emptied",
            "restore it, write to another file, and move that one over it afterwards",
            Location(name),
        )


def _read_release(
    release: Release, inventory: Inventory, settings: Settings
) -> tuple[Previous, list[Finding]]:
    """Return what Helm stores; nothing at all for a release that is not there yet.

    A namespace that stands in --previous only may be a mistake, which would lose the history in
    silence: unless it is said a second time, no other namespace may have such a release.
    """
    previous = read_release(release)
    if previous is not None:
        return previous, []
    said = {settings.namespace, *explicit_namespaces(inventory.items)}
    if release.namespace in said:
        return Previous(), []
    try:
        others = namespaces_of(release)
    except HelmError as error:
        return Previous(), [_unchecked(release, error, inventory)]
    if others:
        raise UserError(
            f"the namespace {release.namespace} has no release {release.name}, "
            f"but {', '.join(others)} has",
            f"say --previous=helm:{others[0]}/{release.name}, or, to install a first one there, "
            f"--namespace {release.namespace} as well",
        )
    return Previous(), []


def _check_namespace(release: Release, history: History, inventory: Inventory) -> None:
    """Refuse the history of one namespace for a stream that writes others only.

    It may be right: an object for monitoring beside many that write none. Then it is said twice.
    """
    written = set(explicit_namespaces(inventory.items))
    known = {release.namespace, *history.namespaces}
    if written and not written & known:
        raise UserError(
            f"--previous={release} is not the release of these manifests, whose namespace is "
            f"{', '.join(sorted(written))}",
            "name the namespace that the release is in; if that is right, say "
            f"--namespace {release.namespace} as well",
            Location(inventory.stream.source),
        )


def _unchecked(release: Release, error: HelmError, inventory: Inventory) -> Finding:
    return Finding(
        "history-unchecked",
        f"Helm knows no release {release.name} in {release.namespace}, and whether another "
        f"namespace has it could not be told ({error.problem})",
        "check the namespace in --previous; it is right if this is the first install",
        Location(inventory.stream.source),
    )


def _keeps_few(keep: int, stored: int, inventory: Inventory) -> Finding:
    return Finding(
        "history-keep",
        f"history.keep is {keep}, and Helm stores {stored} revisions of the release: what is older "
        "is deleted, whether pods still name it or not",
        "raise it, or store fewer with helm's --history-max",
        Location(inventory.stream.source),
    )
