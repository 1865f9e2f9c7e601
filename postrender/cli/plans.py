"""The plan for a stream, and the report of its findings."""

from __future__ import annotations

from collections.abc import Iterator

from postrender.cli.reporting import report_detail, report_finding
from postrender.config.settings import Settings
from postrender.errors import Finding, Location, UserError
from postrender.inventory.build import Inventory, take_inventory
from postrender.kubernetes.annotations import is_unknown
from postrender.plan.build import Plan, make_plan
from postrender.yaml.stream import Stream, has_content


def check_content(stream: Stream, settings: Settings) -> None:
    """Raise UserError for empty input, which mostly comes from a command that failed."""
    if not settings.allow_empty and not any(
        has_content(document.text) for document in stream.documents
    ):
        raise UserError(
            "the input is empty",
            "Check the command before the pipe, or pass --allow-empty",
            Location(stream.source),
        )


def plan_of(stream: Stream, settings: Settings) -> Plan:
    """Return the plan for a stream, with the history that the settings ask for."""
    check_content(stream, settings)
    inventory = take_inventory(stream, settings)
    findings = list(_input_findings(stream, inventory))
    if settings.history.previous:
        from postrender.sources.previous import read_previous, with_release_namespace

        in_release = with_release_namespace(settings)
        history, more_findings = read_previous(inventory, settings)
        findings += more_findings
        plan = make_plan(inventory, in_release, history)
    else:
        plan = make_plan(inventory, settings)
    renamed = len(plan.context.names) if plan.context else 0
    report_detail(f"{renamed} objects are renamed")
    return plan._replace(findings=(*findings, *plan.findings)) if findings else plan


def _input_findings(stream: Stream, inventory: Inventory) -> Iterator[Finding]:
    """Yield the findings about the input as a whole, and about its annotations."""
    if not inventory.items:
        from postrender.inventory.unrendered import find_no_objects

        finding = find_no_objects(stream, inventory.items)
        if finding:
            yield finding
    if any(is_unknown(key) for item in inventory.items for key in item.annotations):
        from postrender.inventory.unknown_annotations import find_unknown_annotations

        yield from find_unknown_annotations(inventory)


def report_findings(
    plan: Plan, settings: Settings, fix: str = "Fix the findings, or run without --strict"
) -> None:
    """Print the findings; raise UserError for those that fail the run."""
    for finding in plan.findings:
        is_failure = finding.strict and settings.is_strict
        report_finding(finding, settings.log_file, is_failure=is_failure)
    failing = [finding for finding in plan.findings if finding.strict and settings.is_strict]
    if failing:
        lines = ", ".join(dict.fromkeys(str(finding.location.line) for finding in failing))
        count = f"{len(failing)} findings fail" if failing[1:] else "1 finding fails"
        problem = f"{count} with --strict (line {lines})"
        raise UserError(problem, fix, Location(failing[0].location.source))
