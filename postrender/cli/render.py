"""`postrender render`: manifests with revisions and updated references."""

from __future__ import annotations

from postrender.cli.options import FILENAME, INPUT, SETTINGS, Command
from postrender.cli.pipes import write
from postrender.cli.plans import plan_of, report_findings
from postrender.cli.report import DONE, report_finding
from postrender.cli.settings import check_function_call, check_not_a_function, render_settings
from postrender.errors import UserError
from postrender.output.build import render
from postrender.sources.inputs import read_input

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from postrender.config.settings import Settings
    from postrender.errors import Finding
    from postrender.plan.build import Plan

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
            from postrender.krm.results import with_error

            write(with_error(stream, findings, error, is_strict=settings.is_strict))
        raise
    if is_function and findings:
        from postrender.krm.results import with_findings

        output = with_findings(output, stream, findings)
    write(output)
    return DONE


def _report_size(plan: Plan, output: Sequence[str], settings: Settings) -> None:
    """Print the finding about an output near the size limit of Helm releases.

    Without a Helm release in --previous, the function does nothing.
    """
    if settings.history.previous.startswith("helm:"):
        from postrender.output.release_size import find_size

        finding = find_size(plan, output)
        if finding:
            report_finding(finding)
