"""Functions that read the earlier outputs in --previous, and check the namespace."""

from __future__ import annotations

import os
import sys

from postrender.config.settings import Settings
from postrender.errors import Finding, Location, UserError
from postrender.inventory.build import Inventory
from postrender.plan.findings import read_previous_owners
from postrender.plan.history import History, Manifest, Previous, read_history
from postrender.plan.namespaces import explicit_namespaces, new_resolver
from postrender.sources.helm import HelmError, Release, namespaces_of, parse_release, read_release
from postrender.sources.inputs import read_inputs
from postrender.sources.paths import ChartError


def with_release_namespace(settings: Settings) -> Settings:
    """Return settings with the namespace and the name of the Helm release in --previous.

    Without a Helm release in --previous, the function returns unchanged settings.
    Raises UserError if the settings have a different namespace, and as parse_release does.
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
    """Return the history of the earlier outputs, and the findings about the history.

    Raises UserError if postrender cannot read the earlier outputs. Also raises UserError if the
    Helm release in --previous is in another namespace than the input.
    """
    release = _release(settings)
    resolver = new_resolver(inventory, with_release_namespace(settings))
    if release is None:
        previous = _read_manifests(settings.history.previous)
        try:
            history = read_history(previous, settings, resolver.effective_namespace)
        except UserError as error:
            fix = "Fix the file in --previous, or pass another file"
            raise UserError(error.problem, fix, error.location) from None
        return history._replace(owners=read_previous_owners(previous)), []
    previous, findings = _read_release(release, inventory, settings)
    try:
        history = read_history(previous, settings, resolver.effective_namespace)
    except UserError as error:
        fix = (
            "Fix the template. Then run one upgrade without --previous, because Helm still stores "
            "the old manifests"
        )
        raise UserError(error.problem, fix, error.location) from None
    if not settings.namespace:
        _check_namespace(release, history, inventory)
    history = history._replace(owners=read_previous_owners(previous))
    keep = settings.history.keep
    if keep is not None and keep < history.stored:
        findings.append(_low_keep(keep, history.stored, inventory))
    return history, findings


def _release(settings: Settings) -> Release | None:
    """Return the Helm release in --previous, None if --previous is not a Helm release."""
    history = settings.history
    return parse_release(history.previous, history.context, history.kubeconfig)


def _read_manifests(name: str) -> Previous:
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
    """Raise UserError if stdout is the file in --previous, because the shell has emptied the file.

    name: the path of the file.
    """
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
    """Return the stored manifests of a release, and the findings.

    If the namespace in --previous is wrong, Helm does not find the release, as before a first
    install. The function then searches all namespaces for the name. A failed search leads to a
    finding. The function does not search if --namespace or an object of the input confirms the
    namespace.
    Raises UserError if only other namespaces have a release with this name. Also raises UserError
    as read_release does.
    """
    previous = read_release(release)
    confirmed = {settings.namespace, *explicit_namespaces(inventory.items)}
    if previous.manifests or release.namespace in confirmed:
        return previous, []
    try:
        namespaces = namespaces_of(release)
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
    """Raise UserError if the input has namespaces, but not the namespace of the release.

    A namespace of an object in the history is also sufficient.
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
