"""`postrender explain`: each decision of `postrender render`, with the reason."""

from __future__ import annotations

import os

from postrender.cli.options import FILENAME, INPUT, SETTINGS, command, output_option
from postrender.cli.render import plan_of, report_findings
from postrender.cli.report import DONE, stdout_terminal, write, write_for_reader
from postrender.cli.settings import check_not_a_function, render_settings, report_configuration
from postrender.errors import UsageError
from postrender.explain import REPORTERS, build
from postrender.inventory.build import refuse_templates
from postrender.inventory.fields import find_invalid_fields
from postrender.inventory.notes import find_idle_rules, find_other_owners
from postrender.sources.charts import find_unused_configuration
from postrender.sources.inputs import read_input


@command(
    "explain",
    "Show what render would do, and why.",
    details="INPUT is a file of rendered manifests, or - for stdin, which is the default. With the "
    "code of a finding or risk, such as by-name, explain prints what the code means.",
    example="helm template shop ./chart | postrender explain\npostrender explain by-name",
    arguments=(INPUT._replace(metavar="[INPUT|CODE]"),),
    options=(FILENAME, output_option(tuple(REPORTERS)), *SETTINGS),
)
def explain(input_: str, form: str, config: str | None, **given: object) -> int:
    if _is_code(input_):
        if form != "text":
            raise UsageError(f"a code has no output format {form}", "Remove --output")
        from postrender.explain.meanings import fitted, meaning_of  # imports every rule

        meaning = meaning_of(input_.lower().replace("_", "-"))
        write([fitted(meaning, stdout_terminal().width)], for_reader=True)
        return DONE
    settings = render_settings(config, given)
    stream = read_input(input_, "explain")
    check_not_a_function(stream)
    plan = plan_of(stream, settings)
    refuse_templates(plan.inventory)
    notes = [
        *(
            one if one.code else one._replace(code="invalid-field")
            for one in find_invalid_fields(plan.inventory)
        ),
        *find_other_owners(plan.inventory, settings),
        *find_idle_rules(plan.inventory, settings),
    ]
    unused = find_unused_configuration([stream], settings, config)
    plan = plan._replace(findings=(*plan.findings, *notes, *unused))
    reporter = REPORTERS[form]
    explanation = build.explain(plan)._replace(configuration=settings.configuration)
    write_for_reader(reporter.render(explanation, stdout_terminal()), reporter.escapes)
    if form == "mermaid":  # a graph does not show the file
        report_configuration(settings)
    report_findings(plan, settings)
    return DONE


def _is_code(text: str) -> bool:
    """Whether a text can be the code of a finding, and is not the path of a file."""
    words = text.replace("_", "-").split("-")
    return all(map(str.isalnum, words)) and not text.isdigit() and not os.path.exists(text)
