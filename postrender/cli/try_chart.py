"""`postrender try`: the effects of postrender on a chart, for a new user."""

from __future__ import annotations

import os
import sys

from postrender.cli.options import REPEATED, SWITCH, Argument, Command, Option, settings_options
from postrender.cli.pipes import write_for_reader
from postrender.cli.plans import plan_before_delivery
from postrender.cli.registry import DONE
from postrender.cli.reporting import is_coloured, report_finding, report_warning
from postrender.cli.values import report_configuration, settings_of, with_hash_key
from postrender.errors import HOOK_ON_HELM_3, Location, UserError
from postrender.startup.records import NamedTuple
from postrender.yaml.stream import Source, has_content, read_streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from postrender.config.settings import Settings
    from postrender.diff.model import Preview
    from postrender.errors import Finding
    from postrender.plan.build import Plan
    from postrender.sources.charts import ChartOptions
    from postrender.yaml.stream import Stream

COMMAND = Command(
    "try",
    "Show what postrender does to a chart.",
    details=(
        "The command renders the chart with helm template, and shows the effects of the first "
        "release with postrender. The command also previews a change. With NEW_CHART, the change "
        "is from CHART to NEW_CHART. Otherwise the change is --new-values, --set and --set-string. "
        "The command writes a page: the preview of the change, or of the first release. The "
        "command does not apply anything. The variable HELM_BIN sets the path of helm."
    ),
    example="postrender try ./chart -f values-prod.yaml --set web.logLevel=debug",
    arguments=(Argument("chart", "CHART"), Argument("new_chart", "[NEW_CHART]", default="")),
    options=(
        Option(
            "values",
            "Pass this values file to helm. Repeatable.",
            REPEATED,
            metavar="FILE",
            short="f",
            default_text="none",
        ),
        Option(
            "new-values",
            "Pass this values file after the change. Repeatable.",
            REPEATED,
            metavar="FILE",
            default_text="none",
        ),
        Option(
            "set",
            "Pass this value to helm. Repeatable.",
            REPEATED,
            metavar="KEY=VALUE",
            default_text="none",
            own_parameter="sets",
        ),
        Option(
            "set-string",
            "Pass this value to helm as a string. Repeatable.",
            REPEATED,
            metavar="KEY=VALUE",
            default_text="none",
            own_parameter="set_strings",
        ),
        Option(
            "release",
            "Set the name of the release.",
            metavar="NAME",
            default_text="the name in Chart.yaml",
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
            default=False,
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

# try prints at most this many findings, and then the number of the other findings.
_MOST_FINDINGS = 5


class _Sides(NamedTuple):
    """The manifests of the chart, before and after the change.

    old: the manifests before the change;
    new: the manifests after the change, None if try does not preview a change;
    note: the reason why try cannot preview a requested change, "" otherwise;
    if_unchanged: the line in place of a preview without changes, "" for the preview itself.
    """

    old: Stream
    new: Stream | None = None
    note: str = ""
    if_unchanged: str = ""


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
    """Run the command and return its exit code."""
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
    sides = _sides(chart, new_chart, options)
    trial = _trial_settings(settings)
    plans = [plan_before_delivery(side, trial) for side in (sides.old, sides.new) if side]
    left_out = _problems_of_another_helm(plans)
    first_release = _first_release(sides.old, trial, left_out)
    change = _preview(sides.old, sides.new, trial, left_out) if sides.new else None
    file = _write_page(change or first_release, page)
    has_change = change is not None
    start = _first_release_report(chart, plans[0], first_release, settings, has_change=has_change)
    end = [*_next_steps(current, options, has_change=has_change), "", f"Page: {file}", ""]
    middle = _change_report(sides, trial, left_out, len(start) + len(end))
    write_for_reader("\n".join([*start, "", *middle, *end]), "text")
    if settings.file:
        report_configuration(settings)
    _report_findings([item for item in plans[-1].findings if item.problem not in left_out])
    if opens_page:
        _open_page(file)
    return DONE


def _trial_settings(settings: Settings) -> Settings:
    """Return settings for a preview: not strict, without an attacher and without a history.

    try does not read earlier manifests, so the names have a hash and not a number.
    """
    from postrender.config.settings import HASH, HistorySettings

    attacher = settings.attacher._replace(is_enabled=False)
    return settings._replace(
        is_strict=False, attacher=attacher, history=HistorySettings(), naming=HASH
    )


def _sides(chart: str, new_chart: str, options: ChartOptions) -> _Sides:
    """Return the sides, rendered with helm.

    Raises UserError if helm fails or does not print manifests. If only the chart without the change
    fails, `old` is the changed chart, and `note` contains the reason.
    """
    if new_chart:
        old = _stream(chart, chart, options._replace(new_values=()))
        return _Sides(old=old, new=_stream(new_chart, new_chart, options))
    changes = options.changes
    if not changes:
        return _Sides(old=_stream(chart, chart, options))
    new = _stream(chart, f"{chart} with {changes}", options)
    try:
        old = _stream(chart, f"{chart} without {changes}", options.before_change)
    except UserError:
        note = f"Without {changes}, the chart has no manifests or cannot be rendered."
        return _Sides(old=new, note=note)
    if_unchanged = (
        f"{changes} does not change the manifests. To see the keys, run: helm show values {chart}"
    )
    return _Sides(old=old, new=new, if_unchanged=if_unchanged)


def _stream(chart: str, title: str, options: ChartOptions) -> Stream:
    """Return the rendered chart; title: the name of the chart in messages.

    Raises UserError if helm fails or does not print manifests.
    """
    from postrender.sources.charts import render_chart

    stream = read_streams([Source(title, render_chart(chart, options))], title)
    if not any(has_content(document.text) for document in stream.documents):
        raise UserError(
            "helm template prints no manifests",
            "Pass the values that enable a part of the chart, with -f or --set",
            Location(title),
        )
    return stream


def _problems_of_another_helm(plans: Sequence[Plan]) -> set[str]:
    """Return the problems in plans that concern only Helm 3, an empty set if helm may be Helm 3."""
    from postrender.sources.charts import passes_hooks

    problems = {
        finding.problem
        for plan in plans
        for finding in plan.findings
        if finding.code == HOOK_ON_HELM_3
    }
    return problems if problems and passes_hooks() else set()


def _preview(
    old: Stream, new: Stream, settings: Settings, left_out: Container[str], context: int = 3
) -> Preview:
    """Return the preview of a change.

    left_out: the problems to leave out; context: the number of lines around each change of text.
    """
    from postrender.diff.build import compare

    return _without_problems(compare(old, new, settings, context), left_out)


def _first_release(stream: Stream, settings: Settings, left_out: Container[str]) -> Preview:
    """Return the preview of the first release of a stream with postrender."""
    from postrender.diff.build import compare

    preview = compare(stream, stream, settings, is_first_release=True)
    title = stream.source
    return _without_problems(preview, left_out)._replace(
        old=f"{title} without postrender", new=f"{title} with postrender"
    )


def _without_problems(preview: Preview, left_out: Container[str]) -> Preview:
    undecided = tuple(part for part in preview.undecided if part.problem not in left_out)
    return preview._replace(undecided=undecided)


def _first_release_report(
    chart: str, plan: Plan, preview: Preview, settings: Settings, *, has_change: bool
) -> list[str]:
    """Return the lines about the names and the first release.

    settings: the settings of a real release; has_change: whether the report also has a change.
    """
    from postrender.explain.build import explain
    from postrender.explain.first_look import first_release_lines, name_lines

    explanation = explain(plan)
    lines = name_lines(explanation, chart, is_short=has_change, with_secrets=settings.with_secrets)
    return [*lines, *first_release_lines(explanation, preview, settings)]


def _change_report(
    sides: _Sides, settings: Settings, left_out: Container[str], other_lines: int
) -> list[str]:
    """Return the lines about the change, [] if no change was requested.

    other_lines: the number of other lines of the report.
    """
    from postrender.diff.formats.text import render
    from postrender.diff.sections import only_sections
    from postrender.diff.wording.terminal import terminal_of
    from postrender.explain.first_look import preview_lines

    if sides.new is None:
        return [f"{sides.note} postrender therefore cannot preview a change.", ""] * bool(
            sides.note
        )
    # The report fits a screen, so the report shows changed lines without the lines around them.
    preview = _preview(sides.old, sides.new, settings, left_out, context=0)
    if sides.if_unchanged and not preview.has_changes:
        return [sides.if_unchanged, ""]
    terminal = terminal_of(sys.stdout, is_coloured=is_coloured(sys.stdout))
    shown = only_sections(preview, ("workloads", "configmaps"))
    return ["The change", *preview_lines(render(shown, terminal), other_lines + 3), ""]


def _next_steps(chart: str, options: ChartOptions, *, has_change: bool) -> list[str]:
    import shlex

    from postrender.explain.first_look import next_steps

    command = ["helm", "upgrade", "--install", options.release, chart, *options.shown_arguments]
    return next_steps(chart, shlex.join(command), has_change=has_change)


def _write_page(preview: Preview, file: str | None) -> str:
    """Write the preview as a page, and return the path. Raises UserError."""
    from postrender.diff.formats.html import FILE_SUFFIX, render
    from postrender.diff.wording.terminal import Terminal

    text = render(preview, Terminal())
    try:
        if file:
            with open(file, "w", encoding="utf-8") as output:
                output.write(text)
            return os.path.abspath(file)
        from tempfile import NamedTemporaryFile

        with NamedTemporaryFile(
            "w", prefix="postrender-", suffix=f".{FILE_SUFFIX}", delete=False, encoding="utf-8"
        ) as output:
            output.write(text)
            return output.name
    except OSError as error:
        raise UserError(
            f"the page cannot be written: {error.strerror}",
            "Choose another file with --page",
            Location(file or "the folder for temporary files"),
        ) from None


def _report_findings(findings: Sequence[Finding]) -> None:
    """Print the first findings, and the number of other findings."""
    for finding in findings[:_MOST_FINDINGS]:
        report_finding(finding, "", is_failure=False)
    rest = len(findings) - _MOST_FINDINGS
    if rest > 0:
        report_warning(
            f"try leaves out {rest} more {'finding' if rest == 1 else 'findings'}",
            "Run helm template NAME CHART | postrender explain",
        )


def _open_page(file: str) -> None:
    """Open the page in a browser, if a person sees the output."""
    if sys.stdout is None or not sys.stdout.isatty():
        report_warning(
            "postrender does not open the page, because stdout is not a terminal",
            f"Open {file} yourself",
        )
        return
    import webbrowser
    from pathlib import Path

    if not webbrowser.open(Path(file).as_uri()):
        report_warning("the browser does not open the page", f"Open {file} yourself")
