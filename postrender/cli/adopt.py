"""`postrender adopt`: keep originals that the first release with revisions would delete."""

from __future__ import annotations

from postrender.cli.options import CLUSTER, FILENAME, INPUT, SWITCH, Command, Option
from postrender.cli.pipes import write
from postrender.cli.registry import DONE
from postrender.cli.reporting import is_quiet

COMMAND = Command(
    "adopt",
    "Protect live ConfigMaps for a first release.",
    details=(
        "INPUT is the output of postrender, or - for stdin, which is the default. The first "
        "release with revisions would delete the live originals. adopt annotates the originals, so "
        "that the originals stay in the cluster for old pods. The attacher deletes an original "
        "when no object uses the original any more."
    ),
    example="helm template shop ./chart | postrender | postrender adopt --namespace=prod",
    arguments=(INPUT,),
    options=(
        FILENAME,
        *CLUSTER,
        Option("dry-run", "Show the changes without writing.", SWITCH),
    ),
)


def run(
    input: str,  # noqa: A002
    namespace: str | None,
    kube_context: str | None,
    kubeconfig: str | None,
    dry_run: bool,
) -> int:
    """Return the exit code of the command."""
    from postrender.attach.command import is_in_cluster, run_adopt
    from postrender.config.settings import Settings
    from postrender.inventory.build import take_inventory
    from postrender.sources.inputs import read_input

    # is_in_cluster can raise UsageError. click then runs the command again, and a second read of
    # stdin would return nothing. Therefore, call is_in_cluster before read_input.
    in_cluster = is_in_cluster()
    settings = Settings(with_secrets=True)
    stream = read_input(input, "render | postrender adopt")
    inventory = take_inventory(stream, settings)
    lines = run_adopt(
        inventory,
        namespace,
        kube_context,
        kubeconfig,
        in_cluster=in_cluster,
        is_dry=dry_run,
        is_quiet=is_quiet(),
    )
    write([f"{line}\n" for line in lines])
    return DONE
