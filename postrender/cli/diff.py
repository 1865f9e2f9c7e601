"""`postrender diff`: what a change will do."""

from __future__ import annotations

import sys

from postrender.cli.options import (
    CHOICE,
    CHOICES,
    NUMBER,
    SWITCH,
    Argument,
    Command,
    Option,
    settings_options,
)
from postrender.cli.pipes import write
from postrender.cli.plans import check_content
from postrender.cli.registry import CHANGES, DONE, load
from postrender.cli.values import settings_of
from postrender.errors import UsageError, UserError
from postrender.inputs import STDIN, read_inputs
from postrender.preview import SECTIONS
from postrender.reports import log_error
from postrender.stream import read_streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.settings import Settings
    from postrender.stream import Stream

# Where each format is, imported when it is asked for: a new format is a new entry.
FORMATS = {
    "text": "postrender.preview.text:to_text",
    "markdown": "postrender.preview.markdown:to_markdown",
    "json": "postrender.preview.json:to_json",
    "html": "postrender.preview.html:to_html",
    "mermaid": "postrender.preview.graph:to_mermaid",
    "dot": "postrender.preview.graph:to_dot",
}

COMMAND = Command(
    "diff",
    """Tell what a change from OLD to NEW will do: which workloads roll, and because of what.

    Each is a file, `-` for stdin, a folder of manifests or git:REV:PATH, and is rendered by
    postrender already or not yet.
    """,
    arguments=(Argument("old", "OLD"), Argument("new", "NEW")),
    options=(
        Option(
            "format",
            "What to print.",
            CHOICE,
            default="text",
            choices=tuple(FORMATS),
            shows_default=True,
            own_parameter="form",
        ),
        Option("exit-code", "Exit with 4 where there are changes.", SWITCH, default=False),
        Option(
            "context",
            "Lines around each change of text  [default: 3]",
            NUMBER,
            metavar="N",
            default=3,
            limit=1_000_000,
        ),
        Option(
            "only",
            "Tell of these changes only; may be given several times.",
            CHOICES,
            choices=SECTIONS,
        ),
        *settings_options(
            "config", "namespace", "secrets", "keep-original", "allow-empty", "previous", "log-file"
        ),
    ),
)


def run(
    old: str,
    new: str,
    form: str,
    exit_code: bool,
    context: int,
    only: tuple[str, ...],
    config: str | None,
    **given: object,
) -> int:
    """Run the command and return its exit code."""
    from postrender.preview.compare import compare
    from postrender.preview.sections import only_sections

    if old == new == "-":
        raise UsageError("OLD and NEW cannot both be stdin.")
    settings = settings_of(config, given)
    try:
        sides = [_side(name, settings) for name in (old, new)]
        if not any(side.documents for side in sides):
            raise UserError(
                f"neither {old} nor {new} has a file of manifests",
                "check both paths: one may be empty with --allow-empty, but not both",
            )
        preview = only_sections(compare(sides[0], sides[1], settings, context), only)
        view = []
        if form == "text":
            from postrender.preview.view import view_of

            view = [view_of(sys.stdout)]
        write([load(FORMATS[form])(preview, *view)], is_for_reader=True)
    except UserError as error:
        log_error(error, settings.log_file)
        raise
    return CHANGES if exit_code and preview.has_changes else DONE


def _side(name: str, settings: Settings) -> Stream:
    sources = read_inputs(name, allow_empty=settings.allow_empty)
    stream = read_streams(sources, STDIN if name == "-" else name)
    check_content(stream, settings)
    return stream
