"""`postrender check`: print findings about manifests, and fail if a finding puts pods at risk."""

from __future__ import annotations

from postrender.cli.options import FILENAME, REPEATED, Argument, Command, settings_options
from postrender.cli.plans import plan_before_delivery, report_findings
from postrender.cli.registry import DONE, FAULT
from postrender.cli.reporting import log_error, report_error
from postrender.cli.values import render_settings, report_configuration
from postrender.errors import UserError
from postrender.sources.inputs import read_input

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.config.settings import Settings

COMMAND = Command(
    "check",
    "Fail on findings that put pods at risk.",
    details=(
        "check does not write manifests. Each FILE is input or output of postrender. Without a "
        "FILE, check reads stdin. check does not know how you apply the "
        "manifests. Unlike render --strict, check therefore does not report revisions that Helm "
        "can delete too early."
    ),
    example="postrender check rendered/*.yaml",
    arguments=(Argument("files", "[FILE]...", default="-", is_many=True),),
    options=(
        FILENAME._replace(help="Read this file too. Repeatable.", form=REPEATED),
        *settings_options(
            "config",
            "untrusted",
            "namespace",
            "secrets",
            "secrets-hash-key-file",
            "keep-original",
            "kube-context",
            "kubeconfig",
            "allow-empty",
            "log-file",
        ),
    ),
)


def run(files: tuple[str, ...], config: str | None, **given: object) -> int:
    """Return the exit code of the command."""
    settings = render_settings(config, given)
    # check never appends the attacher.
    attacher = settings.attacher._replace(is_enabled=False)
    settings = settings._replace(is_strict=True, attacher=attacher)
    return max([_check(name, settings) for name in files or ("-",)])


def _check(name: str, settings: Settings) -> int:
    """Print the findings or the error of one input, and return the exit code for this input."""
    # A file can contain only comments. An empty stdin usually means that a command has failed.
    settings = settings._replace(allow_empty=settings.allow_empty or name != "-")
    try:
        plan = plan_before_delivery(read_input(name, "check"), settings)
        if plan.findings:
            report_configuration(settings)  # the rules of the configuration affect the findings
        report_findings(plan, settings, cause="the check", fix="Fix the findings")
    except UserError as error:
        report_error(error)
        log_error(error, settings.log_file)
        return FAULT
    return DONE
