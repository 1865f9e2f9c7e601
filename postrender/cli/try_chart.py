"""`postrender try`: a report about the effects of postrender on a chart, for new users.

helm renders the chart. Users can also preview a change: NEW_CHART replaces the chart, and
--new-values adds values. Without NEW_CHART, --set and --set-string belong to the change too.
"""

from __future__ import annotations

import os
import shlex
import sys
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

from postrender.cli.options import (
    PLANNING,
    SETTINGS,
    SWITCH,
    Argument,
    Option,
    command,
    settings_options,
)
from postrender.cli.progress import progress
from postrender.cli.report import (
    DONE,
    report_finding,
    report_warning,
    stdout_terminal,
    write_for_reader,
)
from postrender.cli.settings import config_source, settings_of, with_hash_key
from postrender.cli.trial import (
    Trial,
    make_trial,
    preview_change,
    preview_first_release,
    render_again,
)
from postrender.config.find import FILE_NAME, shown_path
from postrender.config.load import load_config
from postrender.config.settings import Settings
from postrender.diff.formats import REPORTERS
from postrender.diff.model import Preview, only_sections
from postrender.diff.values import Terminal
from postrender.diff.words import describe_configuration
from postrender.errors import Finding, Location, UserError
from postrender.explain import first_look
from postrender.explain.build import explain
from postrender.plan.attacher_objects import has_image
from postrender.plan.readers import find_reloads
from postrender.sources.charts import (
    ChartOptions,
    check_chart,
    check_values,
    has_archived_configuration,
    release_name,
)
from postrender.text import printable, visible

# try prints at most this many findings. If there are more findings, a last line shows the total.
_MOST_FINDINGS = 5


@command(
    "try",
    "Show what postrender does to a chart.",
    details=(
        "The command renders the chart with helm template, shows the first release with "
        "postrender, writes an HTML page, and never changes a cluster. To preview a change of the "
        "chart, pass NEW_CHART. To preview a change of values, pass --new-values, --set or "
        "--set-string without NEW_CHART. The variable HELM_BIN sets the path of helm."
    ),
    example="postrender try ./chart -f values-prod.yaml --set web.logLevel=debug",
    arguments=(Argument("chart", "CHART"), Argument("new_chart", "[NEW_CHART]", default="")),
    options=(
        Option(
            "values",
            "Pass this values file to helm. The file applies before and after the change. "
            "Repeatable.",
            is_repeated=True,
            metavar="FILE",
            short="f",
        ),
        Option(
            "new-values",
            "Pass this values file only after the change. Repeatable.",
            is_repeated=True,
            metavar="FILE",
        ),
        Option(
            "set",
            "Set this value after the change. With NEW_CHART, the value also applies before the "
            "change. Repeatable.",
            is_repeated=True,
            metavar="KEY=VALUE",
            own_parameter="sets",
        ),
        Option(
            "set-string",
            "Set this string after the change. With NEW_CHART, the string also applies before the "
            "change. Repeatable.",
            is_repeated=True,
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
        *settings_options(*PLANNING),
    ),
)
def try_chart(
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
    for path in (chart, new_chart or chart):
        check_chart(path)
    check_values((*values, *new_values))
    current = new_chart or chart
    settings = with_hash_key(settings_of(config_source(config, given, current), given), given)
    own_findings = () if config else _configuration_findings(chart, new_chart, given)
    settings = settings._replace(findings=(*settings.findings, *own_findings))
    options = ChartOptions(
        release=release or release_name(current),
        namespace=settings.namespace,
        values=values,
        new_values=new_values,
        sets=sets,
        set_strings=set_strings,
    )
    with progress("helm renders the chart"):
        try:
            trial = make_trial(chart, new_chart, options, settings)
        except UserError as error:
            error.location = error.location and _in_template(error.location)
            raise
    with progress("postrender compares the manifests"):
        first_release, change = preview_first_release(trial), preview_change(trial)
    with progress("helm renders the chart once more, to find values that differ each time"):
        unstable = render_again(trial, current)
    shown = change or first_release
    file = _write_page(shown._replace(risks=(*shown.risks, *unstable)), page)
    explanation = explain(trial.plan)
    width = stdout_terminal().width
    names = first_look.name_lines(
        explanation,
        trial.title,
        options.release,
        is_short=trial.new is not None,
        with_secrets=settings.with_secrets,
    )
    facts = [
        *first_look.first_release_lines(
            explanation,
            first_release,
            settings,
            [_hook_warning(finding, trial) for finding in trial.hooks],
            find_reloads(context, context.names) if (context := trial.plan.context) else {},
        ),
        *first_look.risk_lines(unstable),
    ]
    start = [
        *(first_look.fitted(names, width) if width else names),
        *first_look.fitted(facts, width),
    ]
    arguments = _render_arguments(current, config, given, settings, options)
    if trial.plan.groups and settings.attacher.is_enabled and not has_image(settings.attacher):
        arguments.append(f"--attacher-image={first_look.IMAGE}")
    if trial.keeps_originals:
        arguments.append("--keep-original")
    end = [
        *_next_steps(chart, new_chart, options, trial, arguments),
        "",
        describe_configuration(settings.configuration, visible),
        f"Page: {file}",
        "",
    ]
    middle = _change_report(trial, len(start) + len(end))
    write_for_reader("\n".join([*start, "", *middle, *end]), REPORTERS["text"].escapes)
    _report_findings(trial.findings)
    if opens_page:
        _open_page(file)
    return DONE


def _configuration_findings(
    chart: str, new_chart: str, given: Mapping[str, object]
) -> Iterator[Finding]:
    """The findings about configuration files that try does not use, although a chart has them."""
    current = new_chart or chart
    for path in filter(has_archived_configuration, (chart, new_chart)):
        yield Finding(
            "config-unused",
            f"the archive contains {FILE_NAME}, but postrender does not read archives",
            "Extract the archive, and pass the folder of the chart",
            Location(path),
        )
    if not (new_chart and os.path.isdir(chart)):
        return
    old, new = (config_source(None, given, path)[0] for path in (chart, current))
    values = [load_config(source) if source else {} for source in (old, new)]
    if {**values[0], "extends": ""} != {**values[1], "extends": ""}:
        yield Finding(
            "config-unused",
            f"{chart} has another configuration than {current}, and try uses the configuration of "
            f"{current} for both. The preview therefore does not show the effects of the changed "
            "configuration",
            "Compare the two configuration files",
            Location(printable(shown_path(old) if old else chart)),
        )


def _hook_warning(finding: Finding, trial: Trial) -> str:
    if not trial.keeps_originals:
        return f"{finding.problem}. {finding.fix}"
    return f"{finding.reason}, so the command below keeps every original. Or: {finding.fix}"


def _change_report(trial: Trial, other_lines: int) -> list[str]:
    """The lines about the change.

    other_lines: the number of lines in the rest of the report.
    """
    # The report must fit on a screen, so the diffs contain only changed lines.
    preview = preview_change(trial, context=0)
    if preview is None or (trial.remark and not preview.has_changes):
        return [trial.remark, ""] if trial.remark else []
    # The lines about the first release already contain `trial.undecided`.
    parts = tuple(part for part in preview.undecided if part not in trial.undecided)
    # The report already has the configuration and its findings.
    preview = preview._replace(undecided=parts, configuration=None)
    shown = only_sections(preview, ("workloads", "configmaps"))
    terminal = stdout_terminal()
    # preview_lines() indents the lines.
    terminal = terminal._replace(width=terminal.width and terminal.width - 2)
    text = REPORTERS["text"].render(shown, terminal)
    limit = other_lines + 3 if terminal.width else None  # a log has no page
    return ["The change", *first_look.preview_lines(text, limit), ""]


def _render_arguments(
    chart: str,
    config: str | None,
    given: Mapping[str, object],
    settings: Settings,
    options: ChartOptions,
) -> list[str]:
    """The arguments with which render, in the working directory, does what the previews show."""
    arguments = [] if settings.attacher.group else [f"--group={options.release}"]
    if not config and settings.file:
        nearest, _ = config_source(None, given)
        if nearest is None or nearest.file != settings.file:
            config = settings.file if os.path.isabs(chart) else os.path.relpath(settings.file)
    if config:
        arguments.append(f"--config={config}")
    for option in SETTINGS:
        value = given.get(option.parameter)
        if isinstance(value, bool):
            arguments.append(f"--{option.name}" if value else f"--no-{option.name}")
        elif value is not None:
            arguments.append(f"--{option.name}={value}")
    return arguments


def _next_steps(
    chart: str,
    new_chart: str,
    options: ChartOptions,
    trial: Trial,
    render_arguments: Sequence[str],
) -> list[str]:
    before = options.before_change._replace(with_hooks=True, namespace="")
    preview = ["postrender", "try", chart, *before.arguments]
    if options.release != release_name(chart):
        preview.insert(3, f"--release={options.release}")
    preview += [
        argument
        for argument in render_arguments
        if not argument.startswith(("--group=", "--attacher-image="))
    ]
    # Usually, the first release does not contain the change. With NEW_CHART, or if the chart needs
    # the values of the change, the printed helm command needs all options.
    if trial.new is not None and not new_chart:
        options = options.before_change
    chart = new_chart or chart
    words = ["helm", "upgrade", "--install", options.release, chart, *options.redacted_arguments]
    words += ["--post-renderer", "postrender"]
    words += [f"--post-renderer-args={argument}" for argument in render_arguments]
    return first_look.next_steps(
        "" if trial.new is not None else shlex.join(preview), shlex.join(words)
    )


def _write_page(preview: Preview, file: str | None) -> str:
    """Write a preview as an HTML page, and return the path of the page.

    file: the path, None for a new temporary file.
    """
    reporter = REPORTERS["html"]
    text = reporter.render(preview, Terminal())
    try:
        if file:
            _check_is_page(file)
            with open(file, "w", encoding="utf-8") as output:
                output.write(text)
            return os.path.abspath(file)
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
    """Raise UserError rather than overwrite another file of the user, such as a values file."""
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


def _in_template(location: Location) -> Location:
    """A location without the line of the output of helm, which the user does not see."""
    return location._replace(line=0, document=0) if location.template else location


def _report_findings(findings: Sequence[Finding]) -> None:
    for finding in findings[:_MOST_FINDINGS]:
        report_finding(finding._replace(location=_in_template(finding.location)))
    rest = len(findings) - _MOST_FINDINGS
    if rest > 0:
        report_warning(
            f"try shows only {_MOST_FINDINGS} of {len(findings)} findings",
            "To see all findings, run helm template with the same chart, values and namespace, and "
            "pass the output to postrender explain",
        )


def _open_page(file: str) -> None:
    if sys.stdout is None or not sys.stdout.isatty():
        report_warning(
            "postrender does not open the page, because stdout is not a terminal",
            f"Open {file} in a browser",
        )
        return
    if not webbrowser.open(Path(file).as_uri()):
        report_warning("postrender cannot start a browser", f"Open {file} in a browser")
