"""`postrender adopt`: keep the live originals before the first release with revisions."""

from __future__ import annotations

from postrender.cli.options import INPUT, SWITCH, Command, Option
from postrender.cli.pipes import write
from postrender.cli.registry import DONE

COMMAND = Command(
    "adopt",
    """Keep the live originals that the first release with revisions would delete.

    INPUT (stdin by default) is what postrender renders. Old pods then keep their configuration
    through the first canary, and the attacher collects the originals afterwards.
    """,
    arguments=(INPUT,),
    options=(
        Option(
            "namespace",
            "Of objects that have none  [default: the context's]",
            metavar="NAMESPACE",
            variable="POSTRENDER_NAMESPACE",
        ),
        Option(
            "context",
            "The context of the kubeconfig  [default: the current one]",
            metavar="CONTEXT",
        ),
        Option("dry-run", "Tell what would be done, and write nothing.", SWITCH, default=False),
    ),
)


def run(input: str, namespace: str | None, context: str | None, dry_run: bool) -> int:  # noqa: A002
    """Run the command and return its exit code."""
    from postrender.attach.command import run_adopt
    from postrender.config.settings import Settings
    from postrender.inventory.build import take_inventory
    from postrender.sources.inputs import read_input
    from postrender.yaml.stream import read_stream

    settings = Settings(with_secrets=True)
    inventory = take_inventory(read_stream(*read_input(input)), settings)
    lines = run_adopt(inventory, namespace, context, is_dry=dry_run)
    write([f"{line}\n" for line in lines])
    return DONE
