"""`postrender check`: render --strict for manifests in git, without output."""

from __future__ import annotations

from postrender.cli.options import FILENAME, REPEATED, Argument, Command, settings_options
from postrender.cli.plans import plan_of, report_findings
from postrender.cli.registry import DONE, FAULT
from postrender.cli.reporting import log_error, report_error
from postrender.cli.values import render_settings
from postrender.errors import UserError
from postrender.sources.inputs import read_input
from postrender.yaml.stream import read_stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.config.settings import Settings

COMMAND = Command(
    "check",
    "Fail if render --strict would fail.",
    details=(
        "Nothing is written. Each FILE is input or output of postrender. Without a FILE, stdin is "
        "read."
    ),
    example="postrender check rendered/*.yaml",
    arguments=(Argument("files", "[FILE]...", default="-", is_many=True),),
    options=(
        FILENAME._replace(help="Read this file too. Repeatable.", form=REPEATED),
        *settings_options(
            "config",
            "namespace",
            "secrets",
            "keep-original",
            "kube-context",
            "kubeconfig",
            "log-file",
        ),
    ),
)


def run(files: tuple[str, ...], config: str | None, **given: object) -> int:
    """Run the command and return its exit code."""
    settings = render_settings(config, given)
    # A file of comments is not a broken pipe, and nothing is appended here.
    attacher = settings.attacher._replace(is_enabled=False)
    settings = settings._replace(is_strict=True, allow_empty=True, attacher=attacher)
    return max([_check(name, settings) for name in files or ("-",)])


def _check(name: str, settings: Settings) -> int:
    try:
        plan = plan_of(read_stream(*read_input(name, "check")), settings)
        report_findings(plan, settings, "Fix each finding as its line says")
    except UserError as error:
        report_error(error)
        log_error(error, settings.log_file)
        return FAULT
    return DONE
