"""`postrender fn`: a function of kustomize or kpt (KRM function)."""

from __future__ import annotations

import sys

from postrender.cli.options import SETTINGS, command
from postrender.cli.render import output_of, plan_of, report_findings
from postrender.cli.report import DONE, write
from postrender.cli.settings import render_settings
from postrender.errors import Finding, Location, UserError
from postrender.krm.function import function_values, with_error, with_findings
from postrender.krm.input import parsed_list
from postrender.sources.inputs import read_input
from postrender.yaml.document import parse_in
from postrender.yaml.paths import value_at
from postrender.yaml.stream import Stream

_FIX = "Pass manifests to `postrender render`. Run `postrender fn` only in kustomize or kpt"


@command(
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
def fn(config: str | None, **given: object) -> int:
    settings = render_settings(config, given)
    if sys.stdin is not None and sys.stdin.isatty():
        raise UserError("stdin is a terminal, expected a ResourceList", _FIX)
    stream = read_input("-")
    _check_list(stream)
    findings: tuple[Finding, ...] = ()
    try:
        settings = render_settings(config, given, function_values(stream))
        plan = plan_of(stream, settings)
        findings = plan.findings
        report_findings(plan, settings)
        parts = output_of(plan, settings)
    except UserError as error:  # kustomize and kpt show the results, and main prints the error
        write(with_error(stream, findings, error, is_strict=settings.is_strict))
        raise
    write(with_findings(parts, stream, findings) if findings else parts)
    return DONE


def _check_list(stream: Stream) -> None:
    """Raise UserError if the input is not a ResourceList with a list of items, or without items."""
    parsed = parsed_list(stream)
    if parsed is None:
        for index, text in enumerate(stream.texts):
            if "ResourceList" in text:
                parse_in(stream, index)  # a list that is not valid has its own error
        raise UserError(
            "the input is not a ResourceList",
            _FIX,
            Location(stream.source),
        )
    items = value_at(parsed.data, ("items",))
    if items is not None and not isinstance(items, list):
        actual = "a mapping" if isinstance(items, dict) else "a single value"
        raise UserError(
            f"the value is {actual}, expected a list of objects",
            "Write the objects as a list",
            parsed.location_of(("items",)),
        )
