"""`postrender check`: print findings, and fail on findings that put pods at risk."""

from __future__ import annotations

from postrender.cli.options import FILENAME, REPEATED, Argument, command, settings_options
from postrender.cli.render import plan_before_delivery, report_findings
from postrender.cli.report import DONE, FAULT, report_error
from postrender.cli.settings import render_settings, report_configuration
from postrender.config.settings import Settings
from postrender.errors import UserError
from postrender.inventory.notes import find_rejected
from postrender.sources.charts import find_unused_configuration
from postrender.sources.inputs import read_input


@command(
    "check",
    "Fail on findings that put pods at risk.",
    details=(
        "check does not write manifests. Each FILE is input or output of postrender. Without a "
        "FILE, check reads stdin. Unlike `render --strict`, check does not report the finding "
        "`unprotected` or findings about the attacher, because check does not append the attacher."
    ),
    example="postrender check rendered/*.yaml",
    arguments=(Argument("files", "[FILE]...", default="-", is_many=True),),
    options=(
        FILENAME._replace(
            help="Read this file in addition to each FILE. Repeatable.", form=REPEATED
        ),
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
def check(files: tuple[str, ...], config: str | None, **given: object) -> int:
    settings = render_settings(config, given)
    # Findings about the attacher would be wrong, because check does not append the attacher.
    attacher = settings.attacher._replace(is_enabled=False)
    settings = settings._replace(is_strict=True, attacher=attacher)
    return max([_check(name, settings, config) for name in files or ("-",)])


def _check(name: str, settings: Settings, config: str | None) -> int:
    """FAULT for an error or a strict finding, otherwise DONE."""
    # Empty stdin usually means that a command has failed. An empty file is not an error.
    settings = settings._replace(allow_empty=settings.allow_empty or name != "-")
    try:
        stream = read_input(name, "check")
        plan = plan_before_delivery(stream, settings)
        rejected = find_rejected(plan.inventory)
        unused = find_unused_configuration(stream, settings, config)
        plan = plan._replace(findings=(*plan.findings, *rejected, *unused))
        if plan.findings:
            report_configuration(settings)  # the configuration can cause findings
        report_findings(plan, settings, cause="", fix="Apply the fix of each error above")
    except UserError as error:
        report_error(error)
        return FAULT
    return DONE
