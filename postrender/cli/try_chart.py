"""`postrender try`: the effects of postrender on a chart, for a new user."""

from __future__ import annotations

import os
import sys

from postrender.cli.options import REPEATED, SWITCH, Argument, Command, Option, settings_options
from postrender.cli.pipes import write_for_reader
from postrender.cli.plans import plan_of
from postrender.cli.registry import DONE
from postrender.cli.reporting import is_coloured, report_finding, report_warning
from postrender.cli.values import report_configuration, settings_of, with_hash_key
from postrender.errors import HOOK_ON_HELM_3, UNPROTECTED, Location, UserError
from postrender.startup.records import NamedTuple
from postrender.yaml.stream import Source, has_content, read_streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from postrender.config.settings import Settings
    from postrender.diff.model import Preview
    from postrender.plan.build import Plan
    from postrender.sources.charts import ChartOptions
    from postrender.yaml.stream import Stream

COMMAND = Command(
    "try",
    "Show what postrender does to a chart.",
    details=(
        "The command renders the chart with helm template, shows the new names of its ConfigMaps, "
        "and previews a change. With NEW_CHART, the command compares the two charts. Otherwise "
        "the command compares CHART with and without --set and --set-string. The command writes "
        "the preview as a page. Without a change, the page shows a first install. The command does "
        "not apply anything. The variable HELM_BIN sets the path of helm."
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

# try does not apply the manifests, so findings about the delivery are too early.
_ABOUT_DELIVERY = frozenset({UNPROTECTED})
_MOST_FINDINGS = 5


class _Sides(NamedTuple):
    """The manifests to explain and to compare.

    new: the manifests to explain;
    old: the manifests before the change, None if try does not preview a change;
    note: the reason why the change cannot be previewed, "" if no change was requested;
    if_unchanged: the line in place of a preview without changes, "" for the preview itself.
    """

    new: Stream
    old: Stream | None = None
    note: str = ""
    if_unchanged: str = ""


def run(
    chart: str,
    new_chart: str,
    values: tuple[str, ...],
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

    settings = _settings(config, given)
    for path in filter(None, (chart, new_chart)):
        check_chart(path)
    check_values(values)
    current = new_chart or chart
    options = ChartOptions(
        release=release or release_name(current),
        namespace=settings.namespace,
        values=values,
        sets=sets,
        set_strings=set_strings,
    )
    sides = _sides(chart, new_chart, options)
    plan = _plan(sides.new, settings)
    left_out = _problems_of_another_helm(plan)
    findings = tuple(finding for finding in plan.findings if finding.problem not in left_out)
    plan = plan._replace(findings=findings)
    file = _write_page(_preview(sides, settings, left_out), page)
    # The report fits a screen, so the report shows changed lines without the lines around them.
    short = _preview(sides, settings, left_out, context=0) if sides.old else None
    lines = _report(sides, plan, short, options, current, with_secrets=settings.with_secrets)
    write_for_reader("\n".join([*lines, "", f"Page: {file}", ""]), "text")
    if settings.file:
        report_configuration(settings)
    _report_findings(plan)
    if opens_page:
        _open_page(file)
    return DONE


def _settings(config: str | None, given: dict[str, object]) -> Settings:
    """Return the settings for a preview: not strict, without an attacher and without a history.

    try does not read earlier manifests, so the names have a hash and not a number.
    """
    from postrender.config.settings import HASH, HistorySettings

    settings = with_hash_key(settings_of(config, given), given)
    attacher = settings.attacher._replace(is_enabled=False)
    return settings._replace(
        is_strict=False, attacher=attacher, history=HistorySettings(), naming=HASH
    )


def _sides(chart: str, new_chart: str, options: ChartOptions) -> _Sides:
    """Return the sides, rendered with helm.

    Raises UserError if helm fails or prints no manifests. If only the side without --set fails,
    `note` contains the reason instead.
    """
    if new_chart:
        old = _stream(chart, chart, options)
        return _Sides(new=_stream(new_chart, new_chart, options), old=old)
    if not (options.sets or options.set_strings):
        return _Sides(new=_stream(chart, chart, options))
    new = _stream(chart, f"{chart} with --set", options)
    try:
        old = _stream(chart, f"{chart} without --set", options.without_sets)
    except UserError:
        note = "Without --set, the chart has no manifests or cannot be rendered."
        return _Sides(new=new, note=note)
    if_unchanged = (
        f"--set does not change the manifests. To see the keys, run: helm show values {chart}"
    )
    return _Sides(new=new, old=old, if_unchanged=if_unchanged)


def _stream(chart: str, title: str, options: ChartOptions) -> Stream:
    """Return the rendered chart. Raises UserError without manifests; title: for messages."""
    from postrender.sources.charts import render_chart

    stream = read_streams([Source(title, render_chart(chart, options))], title)
    if not any(has_content(document.text) for document in stream.documents):
        raise UserError(
            "helm template prints no manifests",
            "Pass the values that enable a part of the chart, with -f or --set",
            Location(title),
        )
    return stream


def _plan(stream: Stream, settings: Settings) -> Plan:
    """Return the plan for a stream, without findings about the delivery."""
    plan = plan_of(stream, settings)
    findings = tuple(item for item in plan.findings if item.code not in _ABOUT_DELIVERY)
    return plan._replace(findings=findings)


def _preview(
    sides: _Sides, settings: Settings, left_out: Container[str], context: int = 3
) -> Preview:
    """Return the preview of the change, or of a first install if no change is requested.

    left_out: the problems to leave out;
    context: the number of lines around each change of text.
    """
    from postrender.diff.build import compare

    old = sides.old or read_streams([Source("nothing installed", b"")], "nothing installed")
    preview = compare(old, sides.new, settings, context)
    undecided = tuple(part for part in preview.undecided if part.problem not in left_out)
    return preview._replace(undecided=undecided)


def _problems_of_another_helm(plan: Plan) -> set[str]:
    """Return the problems of Helm 3 in a plan, if helm is a later version."""
    from postrender.sources.charts import passes_hooks

    problems = {finding.problem for finding in plan.findings if finding.code == HOOK_ON_HELM_3}
    return problems if problems and passes_hooks() else set()


def _report(
    sides: _Sides,
    plan: Plan,
    preview: Preview | None,
    options: ChartOptions,
    chart: str,
    *,
    with_secrets: bool,
) -> list[str]:
    """Return the lines on stdout; preview: None if no change is requested."""
    import shlex

    from postrender.diff.formats.text import render
    from postrender.diff.sections import only_sections
    from postrender.diff.wording.terminal import terminal_of
    from postrender.explain.build import explain
    from postrender.explain.first_look import explanation_lines, next_steps, preview_lines

    explanation = explain(plan)
    lines = explanation_lines(
        explanation, chart, is_short=preview is not None, with_secrets=with_secrets
    )
    if preview and sides.if_unchanged and not preview.has_changes:
        lines += ["", sides.if_unchanged]
    elif preview:
        terminal = terminal_of(sys.stdout, is_coloured=is_coloured(sys.stdout))
        shown = only_sections(preview, ("workloads", "configmaps"))
        lines += ["", *preview_lines(render(shown, terminal))]
    elif sides.note:
        lines += ["", f"{sides.note} postrender therefore cannot preview a change."]
    command = ["helm", "upgrade", "--install", options.release, chart, *options.shown_arguments]
    return [*lines, "", *next_steps(chart, shlex.join(command), has_preview=preview is not None)]


def _write_page(preview: Preview, file: str | None) -> str:
    """Write the preview as a page, and return the path."""
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


def _report_findings(plan: Plan) -> None:
    """Print the first findings, and the number of other findings."""
    for finding in plan.findings[:_MOST_FINDINGS]:
        report_finding(finding, "", is_failure=False)
    rest = len(plan.findings) - _MOST_FINDINGS
    if rest > 0:
        report_warning(
            f"try leaves out {rest} more {'finding' if rest == 1 else 'findings'}",
            "Run helm template NAME CHART | postrender explain",
        )


def _open_page(file: str) -> None:
    """Open the page in a browser, if a person sees the output."""
    if sys.stdout is None or not sys.stdout.isatty():
        report_warning(
            "the page is not opened, because stdout is not a terminal", f"Open {file} yourself"
        )
        return
    import webbrowser
    from pathlib import Path

    if not webbrowser.open(Path(file).as_uri()):
        report_warning("the browser does not open the page", f"Open {file} yourself")
