"""`postrender adopt`: protect live originals before the first release with revisions."""

from __future__ import annotations

from postrender.attach.adopt import (
    ADOPT_FIELD_MANAGER,
    find_originals,
    in_namespace,
    run_adopt,
)
from postrender.attach.adopt import undo as give_back
from postrender.attach.command import open_clients
from postrender.attach.connect import is_in_cluster
from postrender.cli.options import CLUSTER, FILENAME, INPUT, SWITCH, Option, command
from postrender.cli.report import DONE, is_quiet, write_changes
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
            "Without --yes, only show the changes. Fails if the release still uses a revision. "
            "Does not read INPUT.",
            SWITCH,
        ),
        Option("yes", "Make the changes of --undo.", SWITCH),
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
    yes: bool,
    group: str,
) -> int:
    if undo != bool(group):
        given, missing = ("--undo", "--group") if undo else ("--group", "--undo")
        raise UsageError(f"{given} is set without {missing}", f"Pass {missing} too")
    if yes and not undo:
        raise UsageError("--yes is set without --undo", "Remove --yes, or pass --undo too")
    if yes and dry_run:
        raise UsageError("--dry-run and --yes are both set", "Remove one of them")
    is_in_cluster()  # an invalid variable is an error before the input is read
    originals = []
    if not undo:
        stream = read_input(input_, "render | postrender adopt")
        originals = find_originals(take_inventory(stream, Settings(with_secrets=True)))
    clients = open_clients(
        kube_context, kubeconfig, is_quiet=is_quiet(), manager=ADOPT_FIELD_MANAGER
    )
    with clients as client_of:
        if undo:
            client = client_of(namespace or None)
            lines = in_namespace(client, give_back(client, group, is_dry=not yes))
        else:
            lines = run_adopt(originals, namespace or None, client_of, is_dry=dry_run)
    write_changes("adopt", lines, needs_yes=undo and not yes)
    return DONE
