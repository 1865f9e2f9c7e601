"""The options that commands share, and the configuration key of each one that has a key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def _flag(name: str, text: str) -> Callable[[Command], Command]:
    return click.option(f"--{name}/--no-{name}", default=None, envvar=_variable(name), help=text)


def _value(name: str, metavar: str | None, text: str) -> Callable[[Command], Command]:
    return click.option(f"--{name}", metavar=metavar, envvar=_variable(name), help=text)


def _variable(name: str) -> str:
    return "POSTRENDER_" + name.replace("-", "_").upper()


def long_option(name: str, *names: str, **options: Any) -> Callable[[Command], Command]:
    """Return an option that has one dash too, as those of the original attacher have (Go)."""
    return click.option(f"-{name}", f"--{name}", *names, **options)


# The options that have a key in the configuration, in the order of the help.
SETTINGS: dict[str, Callable[[Any], Any]] = {
    "config": _value(
        "config", "FILE", "The configuration  [default: the nearest postrender.yaml upward]"
    ),
    "namespace": _value("namespace", None, "The release's namespace."),
    "secrets": _flag("secrets", "Revise Secrets too."),
    "strict": _flag("strict", "Fail on certain leftovers and on edited revisions."),
    "keep_original": _flag(
        "keep-original", "Keep originals beside revisions (Helm 3 hooks need it)."
    ),
    "allow_empty": _flag("allow-empty", "Take an empty input for what it is."),
    "attacher": _flag("attacher", "Append the attacher Job."),
    "attacher_image": _value("attacher-image", None, "The attacher's image."),
    "previous": _value(
        "previous",
        "FILE|git:REV:PATH|helm:NAMESPACE/RELEASE",
        "What was applied before, whose revisions are carried along.",
    ),
    "kube_context": _value("kube-context", "CONTEXT", "Of the helm that --previous asks."),
    "kubeconfig": _value("kubeconfig", "FILE", "Of the helm that --previous asks."),
    "log_file": _value("log-file", "FILE", "Append findings and errors to this file too."),
}


# The configuration key of each option.
CONFIG_KEYS: dict[str, tuple[str, ...]] = {
    "namespace": ("namespace",),
    "secrets": ("secrets",),
    "strict": ("strict",),
    "keep_original": ("keepOriginal",),
    "allow_empty": ("allowEmpty",),
    "attacher": ("attacher", "enabled"),
    "attacher_image": ("attacher", "image"),
    "previous": ("history", "previous"),
    "kube_context": ("history", "kubeContext"),
    "kubeconfig": ("history", "kubeconfig"),
    "log_file": ("logFile",),
}


def settings_options(*names: str) -> Callable[[Command], Command]:
    """Add options that have a key in the configuration: those named, or all, in their order."""

    def add(command: Command) -> Command:
        for name in reversed(names or tuple(SETTINGS)):
            command = SETTINGS[name](command)
        return command

    return add
