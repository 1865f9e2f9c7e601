"""`postrender status`: which pod runs which revision, and what is wrong."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone

from postrender.attach.command import open_clients
from postrender.attach.request import CONSUMER_KINDS, REVISED_KINDS, NamedObject, Resource
from postrender.cli.options import (
    CLUSTER,
    SWITCH,
    Argument,
    Option,
    command,
    output_option,
)
from postrender.cli.report import DONE, FOUND, is_quiet, stdout_terminal, write_for_reader
from postrender.errors import UsageError
from postrender.sources.inputs import read_inputs
from postrender.status import REPORTERS
from postrender.status.build import read_status
from postrender.status.files import read_file
from postrender.status.problems import PERMISSION_FIX
from postrender.status.snapshot import read_cluster
from postrender.text import shown
from postrender.yaml.stream import read_streams


@command(
    "status",
    "Show which pod runs which revision.",
    details=(
        "For a workload such as rollout/web, the command compares the pod templates, such as "
        "stable and canary. Without a workload, the command lists the revisions of the namespace. "
        "FILEs (or - for stdin) with the output of kubectl get -o yaml --show-managed-fields "
        "replace the cluster. The command only reads. The exit code is 1 if a revision in use is "
        "missing, edited, without an owner, or about to lose its last owner."
    ),
    example="postrender status rollout/shop-web --namespace=prod",
    arguments=(Argument("targets", "[KIND/NAME|FILE]...", is_many=True),),
    options=(
        output_option(tuple(REPORTERS)),
        Option(
            "filename",
            "Read this file or folder, not the cluster.",
            is_repeated=True,
            metavar="FILE",
            short="f",
            own_parameter="files",
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
    files: tuple[str, ...],
    with_difference: bool,
    group: str,
    namespace: str | None,
    kube_context: str | None,
    kubeconfig: str | None,
) -> int:
    workloads, files = _targets(targets, files)
    if workloads and group:
        raise UsageError("--group is set with a workload", "Remove --group or the workload")
    if with_difference and not workloads:
        raise UsageError("--diff is set without a workload", "Pass a workload such as deploy/web")
    if files:
        sources = [source for name in files for source in read_inputs(name)]
        stream = read_streams(sources, ", ".join(files))
        snapshot = read_file(stream, namespace, datetime.now(timezone.utc))
    else:
        clients = open_clients(
            kube_context,
            kubeconfig,
            is_quiet=is_quiet(),
            is_patient=False,
            permission_fix=PERMISSION_FIX,
        )
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


def _targets(
    words: Iterable[str], files: tuple[str, ...]
) -> tuple[tuple[NamedObject, ...], tuple[str, ...]]:
    """The workloads and the files among the arguments."""
    workloads: dict[NamedObject, None] = {}
    for word in words:
        # A shell passes the output of a program, `<(kubectl get …)`, as the path of a pipe.
        is_file = os.path.exists(word) and not (os.path.isdir(word) and is_target(word))
        if word == "-" or is_file:
            files += (word,)
        elif word.endswith((".yaml", ".yml", ".json")):
            raise UsageError(f"the file {shown(word)} does not exist", "Check the path")
        else:
            workloads[parse_target(word)] = None
    return tuple(workloads), files


# ------------------------------------------------------------ the names of workloads, as in kubectl

# The short names of kubectl and of Argo Rollouts.
_SHORT = {
    "Rollout": ("ro",),
    "Deployment": ("deploy",),
    "StatefulSet": ("sts",),
    "DaemonSet": ("ds",),
    "CronJob": ("cj",),
    "ReplicationController": ("rc",),
    "ReplicaSet": ("rs",),
    "Pod": ("po",),
    "Experiment": ("exp",),
    "AnalysisRun": ("ar",),
    "AnalysisTemplate": ("at",),
}


def _names(resource: Resource) -> list[str]:
    return [resource.kind.lower(), resource.plural, *_SHORT.get(resource.kind, ())]


_REVISED = {name for resource in REVISED_KINDS for name in _names(resource)} | {"cm"}
_BY_NAME = {name: resource for resource in CONSUMER_KINDS for name in _names(resource)}


def is_target(text: str) -> bool:
    """Whether a text has the form of a workload, such as `deploy/web`."""
    kind, _, name = text.partition("/")
    return kind.lower().partition(".")[0] in _BY_NAME and bool(name)


def parse_target(text: str) -> NamedObject:
    """The workload in `KIND/NAME`; UsageError for another text."""
    kind, slash, name = text.partition("/")
    short, _, group = kind.lower().partition(".")
    resource = _BY_NAME.get(short)
    is_known = resource and group in ("", resource.group_kind[0], _versioned(resource))
    if short in _REVISED and slash:
        raise UsageError(
            f"the argument is {shown(text)}, which is not a workload",
            "Run postrender status without an argument for the list of revisions. "
            "docs/how-to/operate.md#who-deleted-it says how to find out who deleted one",
        )
    if resource is None or not is_known or not slash or not name or "/" in name:
        kinds = ", ".join(sorted(resource.kind.lower() for resource in CONSUMER_KINDS))
        raise UsageError(
            f"the argument is {shown(text)}, expected KIND/NAME, a file or -",
            f"Write a workload such as deploy/web. The kinds are {kinds}",
        )
    return NamedObject(resource, name)


def _versioned(resource: Resource) -> str:
    """The version and the group, as in `deployments.v1.apps`."""
    group, _, version = resource.api_version.rpartition("/")
    return f"{version}.{group}" if group else version
