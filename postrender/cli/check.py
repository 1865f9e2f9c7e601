"""`postrender check`: render --strict for manifests in git, without output."""

from __future__ import annotations

from postrender.cli.options import Argument, Command, settings_options
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
    """Fail on what render --strict fails on in any FILE (stdin by default), and write nothing.

    For manifests that are kept in git, rendered by postrender already or not yet. Each FILE is a
    stream of its own.
    """,
    arguments=(Argument("files", "[FILE]...", default="-", is_many=True),),
    options=settings_options("config", "namespace", "secrets", "keep-original", "log-file"),
)


def run(files: tuple[str, ...], config: str | None, **given: object) -> int:
    """Run the command and return its exit code."""
    settings = render_settings(config, given)
    # A file of comments is no broken pipe, and nothing is appended here.
    attacher = settings.attacher._replace(is_enabled=False)
    settings = settings._replace(is_strict=True, allow_empty=True, attacher=attacher)
    return max([_check(name, settings) for name in files or ("-",)])


def _check(name: str, settings: Settings) -> int:
    try:
        plan = plan_of(read_stream(*read_input(name)), settings)
        report_findings(plan, settings, "mend them as each of their lines says")
    except UserError as error:
        report_error(error)
        log_error(error, settings.log_file)
        return FAULT
    return DONE
