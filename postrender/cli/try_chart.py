"""`postrender try`: a report about the effects of postrender on a chart, for new users."""

from __future__ import annotations

import os
import sys

from postrender.cli.options import REPEATED, SWITCH, Argument, Command, Option, settings_options
from postrender.cli.report import (
    DONE,
    report_finding,
    report_warning,
    stdout_terminal,
    write_for_reader,
)
from postrender.cli.settings import report_configuration, settings_of, with_hash_key
from postrender.diff.formats import REPORTERS
from postrender.errors import Location, UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from postrender.cli.trial import Trial
    from postrender.config.settings import Settings
    from postrender.diff.model import Preview
    from postrender.errors import Finding
    from postrender.sources.charts import ChartOptions

COMMAND = Command(
    "try",
    "Show what postrender does to a chart.",
    details=(
        "The command renders the chart with helm template, and shows the first release with "
        "postrender. To preview a change of the chart, pass NEW_CHART. To preview a change of "
        "values, pass --new-values, --set or --set-string without NEW_CHART. The command writes an "
        "HTML page with the preview, and never changes a cluster. The variable HELM_BIN sets the "
        "path of helm."
    ),
    example="postrender try ./chart -f values-prod.yaml --set web.logLevel=debug",
    arguments=(Argument("chart", "CHART"), Argument("new_chart", "[NEW_CHART]", default="")),
    options=(
        Option(
            "values",
            "Pass this values file to helm. The file applies before and after the change. "
            "Repeatable.",
            REPEATED,
            metavar="FILE",
            short="f",
        ),
        Option(
            "new-values",
            "Pass this values file only after the change. Repeatable.",
            REPEATED,
            metavar="FILE",
        ),
        Option(
            "set",
            "Set this value after the change. With NEW_CHART, the value also applies before the "
            "change. Repeatable.",
            REPEATED,
            metavar="KEY=VALUE",
            own_parameter="sets",
        ),
        Option(
            "set-string",
            "Set this string after the change. With NEW_CHART, the string also applies before the "
            "change. Repeatable.",
            REPEATED,
            metavar="KEY=VALUE",
            own_parameter="set_strings",
        ),
        Option(
            "release",
            "Set the name of the release.",
            metavar="NAME",
            default_text="the name in Chart.yaml, or else `release`",
        ),
        Option(
            "page",
            "Write the page to this file.",
            metavar="FILE",
            default_text="a new file in the folder for temporary files",
        ),
        Option(
            "open",
            "Open the page in the browser.",
            SWITCH,
            own_parameter="opens_page",
        ),
        *settings_options(
            "config",
            "untrusted",
            "namespace",
            "secrets",
            "secrets-hash-key-file",
            "keep-original",
        ),
    ),
)

# try prints at most this many findings. If there are more findings, a last line shows the total.
_MOST_FINDINGS = 5


def run(
    chart: str,
    new_chart: str,
    values: tuple[str, ...],
    new_values: tuple[str, ...],
    sets: tuple[str, ...],
    set_strings: tuple[str, ...],
    release: str | None,
    page: str | None,
    opens_page: bool,
    config: str | None,
    **given: object,
) -> int:
    """Return DONE after printing the report and writing the page.

    new_chart: the chart after the change, "" if absent.
    release: the name of the release, None for the result of release_name.
    page: the file for the page, None for a temporary file.
    given: the values of all other options, by parameter.
    Raises UserError for invalid arguments or settings, if helm fails, or if the page cannot be
    written.
    """
    from postrender.cli.trial import make_trial, preview_change, preview_first_release
    from postrender.sources.charts import ChartOptions, check_chart, check_values, release_name

    settings = with_hash_key(settings_of(config, given), given)
    for path in filter(None, (chart, new_chart)):
        check_chart(path)
    check_values((*values, *new_values))
    current = new_chart or chart
    options = ChartOptions(
        release=release or release_name(current),
        namespace=settings.namespace,
        values=values,
        new_values=new_values,
        sets=sets,
        set_strings=set_strings,
    )
    trial = make_trial(chart, new_chart, options, settings)
    first_release, change = preview_first_release(trial), preview_change(trial)
    file = _write_page(change or first_release, page)
    start = _first_release_report(trial, first_release, settings, options)
    # Usually, the first release does not contain the change. With NEW_CHART, or if the chart needs
    # the values of the change, the printed helm command needs all options.
    is_needed = bool(new_chart or trial.sides.note)
    release_options = options if is_needed else options.before_change
    end = [*_next_steps(current, release_options, trial), "", f"Page: {file}", ""]
    middle = _change_report(trial, len(start) + len(end))
    write_for_reader("\n".join([*start, "", *middle, *end]), REPORTERS["text"].escapes)
    if settings.file:
        report_configuration(settings)
    _report_findings(trial.findings)
    if opens_page:
        _open_page(file)
    return DONE


def _first_release_report(
    trial: Trial, preview: Preview, settings: Settings, options: ChartOptions
) -> list[str]:
    """Return the lines about the new names, and about the first release.

    preview: the preview of the first release.
    settings: the user's settings, not the adapted settings in `trial.settings`.
    """
    from postrender.explain.build import explain
    from postrender.explain.first_look import first_release_lines, name_lines

    explanation = explain(trial.plan)
    lines = name_lines(
        explanation,
        trial.title,
        options.release,
        is_short=trial.sides.new is not None,
        with_secrets=settings.with_secrets,
    )
    return [*lines, *first_release_lines(explanation, preview, settings, trial.undecided)]


def _change_report(trial: Trial, other_lines: int) -> list[str]:
    """Return the lines about the change, [] if the user did not request a change.

    other_lines: the number of lines in the rest of the report.
    """
    from postrender.cli.trial import preview_change
    from postrender.diff.model import only_sections
    from postrender.explain.first_look import preview_lines

    # The report must fit on a screen, so the diffs contain only changed lines.
    preview = preview_change(trial, context=0)
    if preview is None:
        return [trial.sides.note, ""] if trial.sides.note else []
    if trial.sides.if_unchanged and not preview.has_changes:
        return [trial.sides.if_unchanged, ""]
    # The lines about the first release already contain `trial.undecided`.
    parts = tuple(part for part in preview.undecided if part not in trial.undecided)
    shown = only_sections(preview._replace(undecided=parts), ("workloads", "configmaps"))
    text = REPORTERS["text"].render(shown, stdout_terminal())
    return ["The change", *preview_lines(text, other_lines + 3), ""]


def _next_steps(chart: str, options: ChartOptions, trial: Trial) -> list[str]:
    import shlex

    from postrender.explain.first_look import next_steps

    arguments = options.redacted_arguments
    command = ["helm", "upgrade", "--install", options.release, chart, *arguments]
    command += ["--post-renderer", "postrender"]
    command += ["--post-renderer-args=--keep-original"] if trial.undecided else []
    return next_steps(chart, shlex.join(command), has_change=trial.sides.new is not None)


def _write_page(preview: Preview, file: str | None) -> str:
    """Return the path of an HTML page after writing a preview to the page.

    file: the path, None for a new temporary file.
    Raises UserError if the page cannot be written, or if the file exists and is not a page.
    """
    from postrender.diff.values import Terminal

    reporter = REPORTERS["html"]
    text = reporter.render(preview, Terminal())
    try:
        if file:
            _check_is_page(file)
            with open(file, "w", encoding="utf-8") as output:
                output.write(text)
            return os.path.abspath(file)
        from tempfile import NamedTemporaryFile

        with NamedTemporaryFile(
            "w",
            prefix="postrender-",
            suffix=f".{reporter.file_suffix}",
            delete=False,
            encoding="utf-8",
        ) as output:
            output.write(text)
            return output.name
    except OSError as error:
        raise UserError(
            f"postrender cannot write the page ({error.strerror})",
            "Choose another file with --page",
            Location(file or "the folder for temporary files"),
        ) from None


def _check_is_page(file: str) -> None:
    """Raise UserError if a file has content, and the content is not an HTML page.

    Without this check, try could overwrite a file of the user, such as a values file.
    """
    if not os.path.isfile(file) or not os.path.getsize(file):
        return
    from postrender.diff.formats.html.page import DOCTYPE

    with open(file, "rb") as existing:
        start = existing.read(len(DOCTYPE))
    if start.lower() != DOCTYPE.encode():
        raise UserError(
            "the file exists and is not an HTML page",
            "Choose another file with --page",
            Location(file),
        )


def _report_findings(findings: Sequence[Finding]) -> None:
    for finding in findings[:_MOST_FINDINGS]:
        report_finding(finding)
    rest = len(findings) - _MOST_FINDINGS
    if rest > 0:
        report_warning(
            f"try shows only {_MOST_FINDINGS} of {len(findings)} findings",
            "To see all findings, run helm template with the same chart, values and namespace, and "
            "pass the output to postrender explain",
        )


def _open_page(file: str) -> None:
    """Open the page in a browser.

    Warn if stdout is not a terminal, or if postrender cannot start a browser.
    """
    if sys.stdout is None or not sys.stdout.isatty():
        report_warning(
            "postrender does not open the page, because stdout is not a terminal",
            f"Open {file} in a browser",
        )
        return
    import webbrowser
    from pathlib import Path

    if not webbrowser.open(Path(file).as_uri()):
        report_warning("postrender cannot start a browser", f"Open {file} in a browser")
