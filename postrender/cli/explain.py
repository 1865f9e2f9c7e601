"""`postrender explain`: what render would do, and why."""

from __future__ import annotations

from postrender.cli.options import CHOICE, INPUT, SETTINGS, Command, Option
from postrender.cli.pipes import write
from postrender.cli.plans import plan_of, report_findings
from postrender.cli.registry import DONE, load
from postrender.cli.values import function_settings, is_function_call, render_settings
from postrender.errors import UserError
from postrender.inputs import read_input
from postrender.reports import log_error
from postrender.stream import read_stream

# Where each format is, imported when it is asked for: a new format is a new entry.
FORMATS = {
    "text": "postrender.explain:to_text",
    "json": "postrender.explain:to_json",
    "mermaid": "postrender.preview.graph:to_mermaid",
    "dot": "postrender.preview.graph:to_dot",
}

COMMAND = Command(
    "explain",
    "Tell what render would do with each ConfigMap of INPUT, and why.",
    arguments=(INPUT,),
    options=(
        Option("format", "", CHOICE, default="text", choices=tuple(FORMATS), own_parameter="form"),
        *SETTINGS,
    ),
)


def run(input: str, form: str, config: str | None, **given: object) -> int:  # noqa: A002
    """Run the command and return its exit code."""
    from postrender.explain import explain

    settings = render_settings(config, given)
    try:
        stream = read_stream(*read_input(input))
        if is_function_call(stream):
            settings = function_settings(stream, config, given)
        plan = plan_of(stream, settings)
        write([load(FORMATS[form])(explain(plan))], is_for_reader=True)
        report_findings(plan, settings)
    except UserError as error:
        log_error(error, settings.log_file)
        raise
    return DONE
