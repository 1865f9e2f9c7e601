"""Functions that make the plan for a stream, and report the findings of the plan.

`postrender render`: manifests with revisions and updated references.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.cli.options import FILENAME, INPUT, SETTINGS, Command
from postrender.cli.report import DONE, report_detail, report_finding, write
from postrender.cli.settings import check_function_call, check_not_a_function, render_settings
from postrender.config.settings import Settings
from postrender.errors import UNPROTECTED, Finding, Location, UserError
from postrender.inventory.build import Inventory, take_inventory
from postrender.kubernetes.annotations import is_unknown
from postrender.output import render
from postrender.plan.build import Plan, make_plan
from postrender.sources.inputs import read_input
from postrender.yaml.stream import Stream, has_content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from postrender.config.settings import Settings
    from postrender.errors import Finding
    from postrender.plan.build import Plan


def check_content(stream: Stream, settings: Settings) -> None:
    """Raise UserError for empty input, unless the setting `allowEmpty` is true.

    Input that contains only comments is also empty. Empty input usually means that the command that
    produced the input has failed.
    """
    if not settings.allow_empty and not any(
        has_content(document.text) for document in stream.documents
    ):
        raise UserError(
            "the input is empty",
            "Check the command that produced the input, or pass --allow-empty",
            Location(stream.source),
        )


def plan_of(stream: Stream, settings: Settings) -> Plan:
    """Return the plan for a stream.

    The findings of the plan include the findings about configuration files, the input and
    --previous. With --verbose, the function prints the number of renamed objects.
    Raises UserError for empty or invalid input, and as with_release_namespace and read_previous do.
    """
    check_content(stream, settings)
    inventory = take_inventory(stream, settings)
    findings = [*settings.findings, *_input_findings(stream, inventory)]
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
    """Return the plan for a stream, without the finding UNPROTECTED.

    UNPROTECTED reports that the attacher is off and --previous is not set. The callers of this
    function turn the attacher off, even if the user's settings turn the attacher on.
    Raises UserError as plan_of does.
    """
    plan = plan_of(stream, settings)
    findings = tuple(finding for finding in plan.findings if finding.code != UNPROTECTED)
    return plan._replace(findings=findings)


def _input_findings(stream: Stream, inventory: Inventory) -> Iterator[Finding]:
    """Return the findings about input without objects, duplicate keys and unknown annotations."""
    if not inventory.items:
        from postrender.inventory.mistakes import find_no_objects

        finding = find_no_objects(stream)
        if finding:
            yield finding
    yield from inventory.findings
    if any(is_unknown(key) for item in inventory.items for key in item.annotations):
        from postrender.inventory.notes import find_unknown_annotations

        yield from find_unknown_annotations(inventory)


def report_findings(
    plan: Plan,
    settings: Settings,
    *,
    cause: str = ", because strict is true",
    fix: str = "Apply the fix of each error above, or pass --no-strict",
) -> None:
    """Print the findings of a plan, and append the findings to the log file.

    cause: the end of the problem in the error, such as the reason, "" for none.
    fix: the fix in the error.
    Raises UserError if `settings.is_strict` is True and a finding is strict.
    """
    for finding in plan.findings:
        is_failure = finding.strict and settings.is_strict
        report_finding(finding, is_failure=is_failure)
    failing = [finding for finding in plan.findings if finding.strict and settings.is_strict]
    if failing:
        lines = dict.fromkeys(finding.location.line for finding in failing)
        listed = ", ".join(str(line) for line in lines if line)  # the line is 0 if unknown
        where = f" ({'lines' if ',' in listed else 'line'} {listed})" if listed else ""
        if failing[1:]:
            problem = f"{len(failing)} findings{where} are errors{cause}"
        else:
            problem = f"1 finding{where} is an error{cause}"
        raise UserError(problem, fix, Location(failing[0].location.source))


COMMAND = Command(
    "render",
    "Write manifests with their revisions.",
    details="INPUT is a file of rendered manifests, or - for stdin, which is the default.",
    example="helm template shop ./chart | postrender render --namespace=prod | kubectl apply -f -",
    arguments=(INPUT,),
    options=(FILENAME, *SETTINGS),
)


def run(input: str, config: str | None, **given: object) -> int:  # noqa: A002
    """Return DONE after writing the manifests with revisions.

    Raises UserError as run_render does.
    """
    return run_render(input, config, given)


def run_render(
    input_: str, config: str | None, given: Mapping[str, object], *, is_function: bool = False
) -> int:
    """Return DONE after writing the manifests of an input with revisions to stdout.

    input_: a path, `-` for stdin, or `git:REF:PATH`.
    config: the file in --config, None for the nearest postrender.yaml.
    given: the values of all other options, by parameter.
    is_function: whether the command is `fn`, which reads and writes a ResourceList of kustomize or
        kpt. `fn` also writes an error to the ResourceList.
    Raises UserError for invalid settings or input. With --strict, also raises UserError for strict
    findings.
    """
    settings = render_settings(config, given)
    findings: tuple[Finding, ...] = ()
    is_list = False
    try:
        stream = read_input(input_)
        if is_function:
            from postrender.krm.function import function_values

            check_function_call(stream)
            is_list = True
            settings = render_settings(config, given, function_values(stream))
        else:
            check_not_a_function(stream)
        plan = plan_of(stream, settings)
        findings = plan.findings
        report_findings(plan, settings)
        output = render(plan)
        _report_size(plan, output, settings)
    except UserError as error:
        if is_list:
            from postrender.krm.function import with_error

            write(with_error(stream, findings, error, is_strict=settings.is_strict))
        raise
    if is_function and findings:
        from postrender.krm.function import with_findings

        output = with_findings(output, stream, findings)
    write(output)
    return DONE


def _report_size(plan: Plan, output: Sequence[str], settings: Settings) -> None:
    """Print the finding about an output near the size limit of Helm releases.

    Without a Helm release in --previous, the function does nothing.
    """
    if settings.history.previous.startswith("helm:"):
        from postrender.output import find_size

        finding = find_size(plan, output)
        if finding:
            report_finding(finding)
