"""`postrender adopt`: protect live originals before the first release with revisions."""

from __future__ import annotations

from functools import partial

from postrender.attach.adopt import open_clients, run_adopt
from postrender.attach.connect import is_in_cluster
from postrender.attach.undo import run_undo
from postrender.cli.options import CLUSTER, FILENAME, INPUT, SWITCH, Option, command
from postrender.cli.report import DONE, is_quiet, write
from postrender.config.settings import Settings
from postrender.errors import UsageError
from postrender.inventory.build import take_inventory
from postrender.sources.inputs import read_input


@command(
    "adopt",
    "Protect ConfigMaps before the first release.",
    details=(
        "INPUT is the output of postrender, or - for stdin, which is the default. Run adopt before "
        "the first apply of revisions. Otherwise a tool such as Helm deletes the ConfigMaps and "
        "Secrets that old pods still use. When nothing uses an adopted object any more, the "
        "attacher deletes the object. After a release without postrender, --undo gives adopted "
        "objects back to your tool, and deletes unused revisions."
    ),
    example="helm template shop ./chart | postrender | postrender adopt --namespace=prod",
    arguments=(INPUT,),
    options=(
        FILENAME,
        *CLUSTER,
        Option("dry-run", "Show the changes. Do not change the cluster.", SWITCH),
        Option(
            "undo",
            "Give adopted objects back. Also delete the unused revisions of the attach group. "
            "Fails if the release still uses a revision. Does not read INPUT.",
            SWITCH,
        ),
        Option(
            "group",
            "Set the attach group for --undo. NAME is the name in render --group, or the value of "
            "the label postrender/attach-group.",
            metavar="NAME",
            default="",
        ),
    ),
)
def adopt(
    input_: str,
    namespace: str | None,
    kube_context: str | None,
    kubeconfig: str | None,
    dry_run: bool,
    undo: bool,
    group: str,
) -> int:
    in_cluster = is_in_cluster()
    if undo != bool(group):
        given, missing = ("--undo", "--group") if undo else ("--group", "--undo")
        raise UsageError(f"{given} is set without {missing}", f"Pass {missing} too")
    clients = partial(
        open_clients, kube_context, kubeconfig, in_cluster=in_cluster, is_quiet=is_quiet()
    )
    if undo:
        lines = run_undo(group, namespace, clients, is_dry=dry_run)
    else:
        stream = read_input(input_, "render | postrender adopt")
        inventory = take_inventory(stream, Settings(with_secrets=True))
        lines = run_adopt(inventory, namespace, clients, is_dry=dry_run)
    write([f"{line}\n" for line in lines])
    return DONE
