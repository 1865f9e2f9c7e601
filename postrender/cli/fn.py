"""`postrender fn`: a function of kustomize or kpt (KRM function)."""

from __future__ import annotations

from postrender.cli.options import SETTINGS, Command
from postrender.cli.render import run_render

COMMAND = Command(
    "fn",
    "Run as a function of kustomize or kpt.",
    details=(
        "The input is a ResourceList on stdin, and the output is a ResourceList with results. Only "
        "this command reads the functionConfig in the input. The keys of a functionConfig must not "
        "write files, read files or start programs."
    ),
    example='kpt fn eval app --exec "postrender fn" -o unwrap -- namespace=prod',
    options=SETTINGS,
)


def run(config: str | None, **given: object) -> int:
    """Return DONE after writing the changed ResourceList.

    Raises UserError as run_render does.
    """
    return run_render("-", config, given, is_function=True)
