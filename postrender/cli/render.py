"""`postrender render`: manifests with revisions and updated references.

Other commands also make a plan, and report its findings, with the functions of this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from postrender import output
from postrender.cli.options import FILENAME, INPUT, SETTINGS, command
from postrender.cli.report import DONE, report_detail, report_finding, write
from postrender.cli.settings import check_not_a_function, render_settings
from postrender.config.settings import Settings
from postrender.errors import NEVER_DELETED, Finding, Location, StrictError, UserError
from postrender.inventory.build import Inventory, take_inventory
from postrender.inventory.notes import find_idle_annotations, find_no_objects
from postrender.plan.attacher_objects import check_image
from postrender.plan.build import Plan, make_plan
from postrender.sources.inputs import read_input
from postrender.yaml.stream import Stream


@command(
    "render",
    "Write manifests with their revisions.",
    details="INPUT is a file of rendered manifests, or - for stdin, which is the default.",
    example="helm template shop ./chart | postrender render -n prod | kubectl apply -f -",
    arguments=(INPUT,),
    options=(FILENAME, *SETTINGS),
)
def render(input_: str, config: str | None, **given: object) -> int:
    settings = render_settings(config, given)
    stream = read_input(input_)
    check_not_a_function(stream)
    plan = plan_of(stream, settings)
    report_findings(plan, settings)
    write(output_of(plan, settings))
    return DONE


def output_of(plan: Plan, settings: Settings) -> list[str]:
    """Return the output of a plan in parts. Report an output near the limit of a Helm release.

    An output with an attacher needs an image. Previews need none.
    """
    if settings.attacher.is_enabled and plan.groups:
        check_image(settings.attacher, Location(plan.inventory.stream.source))
    parts = output.render(plan)
    finding = None
    if settings.history.previous.startswith("helm:"):
        finding = output.find_size(plan, parts)
    if finding:
        report_finding(finding)
    return parts


def check_content(stream: Stream, settings: Settings) -> None:
    """Raise UserError for input without objects, unless the setting `allowEmpty` is true.

    It usually means that the command before postrender has failed.
    """
    if not settings.allow_empty and stream.is_empty:
        raise UserError(
            "the input is empty",
            "Check the command that produced the input, or pass --allow-empty",
            Location(stream.source),
        )


def plan_of(stream: Stream, settings: Settings) -> Plan:
    """The plan for a stream, with the findings about the configuration and the input too."""
    check_content(stream, settings)
    inventory = take_inventory(stream, settings)
    findings = [*settings.findings, *_input_findings(stream, inventory, settings)]
    if settings.history.previous:
        from postrender.sources.helm import read_previous, with_release_namespace

        release_settings = with_release_namespace(settings)
        history, more_findings = read_previous(inventory, settings)
        findings += more_findings
        plan = make_plan(inventory, release_settings, history)
    else:
        plan = make_plan(inventory, settings)
    renamed = len(plan.context.names) if plan.context else 0
    report_detail(f"the number of objects to rename is {renamed}")
    return plan._replace(findings=(*findings, *plan.findings)) if findings else plan


def plan_before_delivery(stream: Stream, settings: Settings) -> Plan:
    """The plan for a command that delivers nothing, and so turns the attacher off itself.

    The plan lacks the finding NEVER_DELETED, which says that the attacher is off.
    """
    plan = plan_of(stream, settings)
    findings = tuple(finding for finding in plan.findings if finding.code != NEVER_DELETED)
    return plan._replace(findings=findings)


def _input_findings(stream: Stream, inventory: Inventory, settings: Settings) -> Iterator[Finding]:
    if not inventory.items:
        finding = find_no_objects(stream)
        if finding:
            yield finding
    yield from inventory.findings
    yield from find_idle_annotations(inventory, settings)


def report_findings(plan: Plan, settings: Settings) -> None:
    """Print the findings of a plan. With --strict, raise StrictError if a finding is strict."""
    for finding in plan.findings:
        is_failure = finding.strict and settings.is_strict
        report_finding(finding, is_failure=is_failure)
    failing = [finding for finding in plan.findings if finding.strict and settings.is_strict]
    error = strict_error(
        failing,
        cause=", because strict is true",
        fix="Apply the fix of each error above, or pass --no-strict",
    )
    if error:
        raise error


def strict_error(failing: Sequence[Finding], *, cause: str, fix: str) -> StrictError | None:
    """The error that says how many findings are errors, None without one.

    cause: the end of the problem.
    """
    if not failing:
        return None
    files = list(dict.fromkeys(finding.location.source for finding in failing))
    lines = dict.fromkeys(finding.location.line for finding in failing if not files[1:])
    listed = ", ".join(str(line) for line in lines if line)  # the line is 0 if unknown
    where = f" ({'lines' if ',' in listed else 'line'} {listed})" if listed else ""
    where = f" in {len(files)} files" if files[1:] else where
    if failing[1:]:
        problem = f"{len(failing)} findings{where} are errors{cause}"
    else:
        problem = f"1 finding{where} is an error{cause}"
    return StrictError(problem, fix, None if files[1:] else Location(files[0]))
