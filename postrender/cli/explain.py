"""`postrender explain`: each decision of `postrender render`, with the reason."""

from __future__ import annotations

from postrender.cli.options import FILENAME, INPUT, SETTINGS, command, output_option
from postrender.cli.render import plan_of, report_findings
from postrender.cli.report import DONE, stdout_terminal, write_for_reader
from postrender.cli.settings import check_not_a_function, render_settings, report_configuration
from postrender.explain import REPORTERS, build
from postrender.inventory.build import refuse_templates
from postrender.inventory.notes import find_idle_rules, find_other_owners, find_rejected
from postrender.sources.charts import find_unused_configuration
from postrender.sources.inputs import read_input


@command(
    "explain",
    "Show what render would do, and why.",
    details="INPUT is a file of rendered manifests, or - for stdin, which is the default.",
    example="helm template shop ./chart | postrender explain",
    arguments=(INPUT,),
    options=(FILENAME, output_option(tuple(REPORTERS)), *SETTINGS),
)
def explain(input_: str, form: str, config: str | None, **given: object) -> int:
    settings = render_settings(config, given)
    stream = read_input(input_, "explain")
    check_not_a_function(stream)
    plan = plan_of(stream, settings)
    refuse_templates(plan.inventory)
    notes = [
        *find_rejected(plan.inventory),
        *find_other_owners(plan.inventory, settings),
        *find_idle_rules(plan.inventory, settings),
    ]
    unused = find_unused_configuration(stream, settings, config)
    plan = plan._replace(findings=(*plan.findings, *notes, *unused))
    reporter = REPORTERS[form]
    explanation = build.explain(plan)._replace(configuration=settings.configuration)
    write_for_reader(reporter.render(explanation, stdout_terminal()), reporter.escapes)
    if form == "mermaid":  # a graph does not show the file
        report_configuration(settings)
    report_findings(plan, settings)
    return DONE
