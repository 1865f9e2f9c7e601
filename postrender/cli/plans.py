"""From a stream to its plan, with the findings reported."""

from __future__ import annotations

from postrender.cli.reporting import report_finding
from postrender.config.settings import Settings
from postrender.errors import Location, UserError
from postrender.inventory.build import take_inventory
from postrender.plan.build import Plan, make_plan
from postrender.yaml.stream import Stream, has_content


def check_content(stream: Stream, settings: Settings) -> None:
    """Raise UserError for an empty input: it is the broken pipe upstream."""
    if not settings.allow_empty and not any(
        has_content(document.text) for document in stream.documents
    ):
        raise UserError(
            "nothing but comments in the input",
            "check the program that feeds it, or say --allow-empty",
            Location(stream.source),
        )


def plan_of(stream: Stream, settings: Settings) -> Plan:
    """Return the plan for a stream, with the history that the settings ask for."""
    check_content(stream, settings)
    inventory = take_inventory(stream, settings)
    if not settings.history.previous:
        return make_plan(inventory, settings)
    from postrender.sources.previous import read_previous, with_release_namespace

    in_release = with_release_namespace(settings)
    history, findings = read_previous(inventory, settings)
    plan = make_plan(inventory, in_release, history)
    return plan._replace(findings=(*findings, *plan.findings))


def report_findings(
    plan: Plan, settings: Settings, fix: str = "mend them, or run without --strict"
) -> None:
    """Print the findings; raise UserError for those that fail the run."""
    for finding in plan.findings:
        is_failure = finding.strict and settings.is_strict
        report_finding(finding, settings.log_file, is_failure=is_failure)
    failing = [finding for finding in plan.findings if finding.strict and settings.is_strict]
    if failing:
        lines = ", ".join(dict.fromkeys(str(finding.location.line) for finding in failing))
        what = f"{len(failing)} of the findings fail with --strict (line {lines})"
        raise UserError(what, fix, Location(failing[0].location.source))
