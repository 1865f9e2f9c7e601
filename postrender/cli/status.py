"""`postrender status`: which pod runs which revision, and what is wrong."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone

from postrender.attach.command import open_clients
from postrender.attach.request import NamedObject
from postrender.cli.options import CLUSTER, SWITCH, Argument, Option, command, output_option
from postrender.cli.report import DONE, FOUND, is_quiet, stdout_terminal, write_for_reader
from postrender.errors import UsageError
from postrender.sources.inputs import read_input
from postrender.status import REPORTERS
from postrender.status.build import read_status
from postrender.status.kinds import parse_target
from postrender.status.snapshot import read_cluster, read_file
from postrender.text import shown


@command(
    "status",
    "Show which pod runs which revision.",
    details=(
        "For a workload such as rollout/web, the command compares the pod templates, such as "
        "stable and canary. Without a workload, the command lists the revisions of the namespace. "
        "A FILE (or - for stdin) with the output of kubectl get -o yaml replaces the cluster. The "
        "command only reads. The exit code is 1 if a revision in use is missing, edited, without "
        "an owner, or about to lose its last owner."
    ),
    example="postrender status rollout/shop-web --namespace=prod",
    arguments=(Argument("targets", "[KIND/NAME|FILE]...", is_many=True),),
    options=(
        output_option(tuple(REPORTERS)),
        Option(
            "filename",
            "Read this file instead of the cluster.",
            metavar="FILE",
            short="f",
            own_parameter="file",
        ),
        Option(
            "diff",
            "Show the keys that differ. The command compares the old and the new pod template of "
            "each workload.",
            SWITCH,
            own_parameter="with_difference",
        ),
        Option(
            "group",
            "Show only one release. NAME is the name in render --group, or the value of the label "
            "postrender/attach-group.",
            metavar="NAME",
            default="",
        ),
        *CLUSTER,
    ),
)
def status(
    targets: tuple[str, ...],
    form: str,
    file: str | None,
    with_difference: bool,
    group: str,
    namespace: str | None,
    kube_context: str | None,
    kubeconfig: str | None,
) -> int:
    workloads, files = _targets(targets, file)
    if workloads and group:
        raise UsageError("--group is set with a workload", "Remove --group or the workload")
    if with_difference and not workloads:
        raise UsageError("--diff is set without a workload", "Pass a workload such as deploy/web")
    if files:
        stream = read_input(files[0], "status")
        snapshot = read_file(stream, namespace, datetime.now(timezone.utc))
    else:
        clients = open_clients(kube_context, kubeconfig, is_quiet=is_quiet(), is_patient=False)
        with clients as client_of:
            snapshot = read_cluster(client_of(namespace or None), workloads)
    found = read_status(snapshot, workloads, group, with_difference=with_difference)
    if workloads and not with_difference:
        found = found._replace(diff_command=_with_diff(sys.argv))
    reporter = REPORTERS[form]
    write_for_reader(reporter.render(found, stdout_terminal()), reporter.escapes)
    return FOUND if found.problems else DONE


def _with_diff(words: Sequence[str]) -> str:
    """The command line of this process with --diff."""
    program = os.path.basename(words[0])
    name = program.replace("-", " ") if program == "kubectl-postrender" else "postrender"
    return shlex.join([*name.split(), *words[1:], "--diff"])


def _targets(words: Iterable[str], file: str | None) -> tuple[tuple[NamedObject, ...], list[str]]:
    """The workloads and the files among the arguments."""
    workloads: dict[NamedObject, None] = {}
    files = [] if file is None else [file]
    for word in words:
        if word == "-" or os.path.isfile(word):
            files.append(word)
        elif word.endswith((".yaml", ".yml", ".json")):
            raise UsageError(f"the file {shown(word)} does not exist", "Check the path")
        else:
            workloads[parse_target(word)] = None
    if len(files) > 1:
        raise UsageError(f"the files are {' and '.join(files)}, expected one", "Pass one file")
    return tuple(workloads), files
