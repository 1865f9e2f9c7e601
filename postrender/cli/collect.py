"""`postrender collect`: the work of the attacher Jobs for releases with an inventory."""

from __future__ import annotations

from datetime import timedelta

from postrender.attach.collect import Pass
from postrender.attach.command import open_clients
from postrender.attach.overview import COLLECTOR_FIX
from postrender.cli.options import CLUSTER, SWITCH, Option, command
from postrender.cli.report import DONE, FOUND, is_quiet, report_error, write_changes
from postrender.errors import UsageError
from postrender.text import shown

# A first run sends a request for each revision.
_RUN_SECONDS = 3600.0
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


@command(
    "collect",
    "Delete revisions of releases without a Job.",
    details=(
        "For each release with attacher.mode external, collect adds owners to the revisions in "
        "use, and marks and deletes unused revisions, as the attacher Job does. Without --yes, "
        "collect only shows what it would do. collect also reports unused ConfigMaps with a hash "
        "in their name from other tools, such as kustomize, Flux and Timoni."
    ),
    example="postrender collect --namespace=prod",
    options=(
        *CLUSTER,
        Option("all-namespaces", "Collect in all namespaces.", SWITCH, short="A"),
        Option("yes", "Make the changes. Without this option, change nothing.", SWITCH),
        Option(
            "older-than",
            "Also delete leftovers of this age. A leftover is an unused revision that an uninstall "
            "has left, or an unused ConfigMap of another tool with the label "
            "postrender/collect=true. Examples are 30d and 12h.",
            metavar="TIME",
            default="",
        ),
    ),
)
def collect(
    namespace: str | None,
    kube_context: str | None,
    kubeconfig: str | None,
    all_namespaces: bool,
    yes: bool,
    older_than: str,
) -> int:
    if all_namespaces and namespace:
        raise UsageError("--namespace and --all-namespaces are both set", "Remove one of them")
    age = _parse_age(older_than) if older_than else None
    clients = open_clients(
        kube_context,
        kubeconfig,
        is_quiet=is_quiet(),
        seconds=_RUN_SECONDS,
        permission_fix=COLLECTOR_FIX,
    )
    with clients as client_of:
        run = Pass(client_of, "" if all_namespaces else namespace or None, age, is_dry=not yes)
        try:
            run.run()
            if not (yes or run.lines):
                run.lines.append("collect would change nothing.")
        finally:
            write_changes("collect", run.lines, needs_yes=not yes)
    for problem in run.problems:
        report_error(problem)
    return FOUND if run.problems else DONE


def _parse_age(text: str) -> timedelta:
    number, unit = text[:-1], text[-1:]
    if not (number.isascii() and number.isdigit() and unit in _UNITS and len(number) < 9):
        raise UsageError(
            f"--older-than is {shown(text)}, expected a time such as 30d, 12h or 45m",
            "Fix this option",
        )
    return timedelta(**{_UNITS[unit]: int(number)})
