"""`postrender try`: a report about the effects of postrender on a chart, for new users.

helm renders the chart. Users can also preview a change: NEW_CHART replaces the chart, and
--new-values adds values. Without NEW_CHART, --set and --set-string belong to the change too.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

from postrender.cli.options import (
    REPEATED,
    SETTINGS,
    SWITCH,
    Argument,
    Option,
    command,
    settings_options,
)
from postrender.cli.progress import progress
from postrender.cli.render import plan_before_delivery
from postrender.cli.report import (
    DONE,
    report_finding,
    report_warning,
    stdout_terminal,
    write_for_reader,
)
from postrender.cli.settings import config_source, settings_of, with_hash_key
from postrender.config.find import FILE_NAME, shown_path
from postrender.config.load import load_config
from postrender.config.settings import HASH, HistorySettings, Settings
from postrender.diff.build import compare
from postrender.diff.formats import REPORTERS
from postrender.diff.model import Preview, Risk, Undecided, only_sections
from postrender.diff.risks.unstable_render import find_unstable
from postrender.diff.undecided import as_undecided
from postrender.diff.values import Terminal
from postrender.diff.words import describe_configuration
from postrender.errors import HOOK_ON_HELM_3, Finding, Location, UserError
from postrender.explain import first_look
from postrender.explain.build import explain
from postrender.plan.attacher_job import has_image
from postrender.plan.build import Plan
from postrender.plan.reloads import find_reloads
from postrender.records import NamedTuple
from postrender.sources.charts import (
    ChartOptions,
    check_chart,
    check_values,
    has_archived_configuration,
    passes_hooks,
    release_name,
    render_chart,
)
from postrender.text import printable, visible
from postrender.yaml.stream import Source, Stream, read_streams

# try prints at most this many findings. If there are more findings, a last line shows the total.
_MOST_FINDINGS = 5


class _Trial(NamedTuple):
    """A chart, and what try shows of it.

    With Helm 3, which does not pass hooks to a post-renderer, the manifests lack the hooks if a
    finding is about one.
    old: the manifests before the change, or all manifests if `new` is None.
    new: the manifests after the change, None without a preview of a change.
    remark: what try prints instead of a preview that does not exist or has no changes, "" for none.
    settings: for the previews: not strict, and without --previous.
    plan: the plan for `old`.
    findings: about `new`, or else `old`.
    left_out: the problems that the previews do not show: with Helm 4, those of hooks with Helm 3.
    hooks: with Helm 3, the findings about hooks, which the previews show as undecided, unless:
    keeps_originals: whether the release must keep every original, because of such a hook.
    options: with which helm has rendered `new`, or else `old`.
    rendered: the time after the renders, in seconds.
    """

    title: str
    old: Stream
    new: Stream | None
    remark: str
    settings: Settings
    plan: Plan
    findings: tuple[Finding, ...]
    left_out: frozenset[str] = frozenset()
    hooks: tuple[Finding, ...] = ()
    keeps_originals: bool = False
    options: ChartOptions = ChartOptions("")
    rendered: float = 0

    @property
    def undecided(self) -> tuple[Undecided, ...]:
        return tuple(map(as_undecided, self.hooks))


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
    settings = with_hash_key(settings_of(config, given, chart=current), given)
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
            trial = _make_trial(chart, new_chart, options, settings)
        except UserError as error:
            error.location = error.location and _in_template(error.location)
            raise
    with progress("postrender compares the manifests"):
        first_release, change = _preview_first_release(trial), _preview_change(trial)
    with progress("helm renders the chart once more, to find values that differ each time"):
        unstable = _find_unstable(trial, current)
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
    is_untrusted = bool(given.get("untrusted"))
    old, new = (
        config_source(None, is_untrusted=is_untrusted, chart=path)[0] for path in (chart, current)
    )
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


def _make_trial(chart: str, new_chart: str, options: ChartOptions, settings: Settings) -> _Trial:
    """Render the chart, and make the plan.

    settings: the user's settings.
    """
    settings = settings._replace(
        is_strict=False,
        history=HistorySettings(),
        naming=HASH,  # the naming `sequence` needs --previous
    )
    # The user can build the attacher's image later.
    planned = settings._replace(attacher=settings.attacher._replace(is_enabled=False))
    old, new, remark = _sides(chart, new_chart, options)
    plans = [plan_before_delivery(side, planned) for side in (old, new) if side]
    trial = _Trial(
        chart,
        old,
        new,
        remark,
        settings,
        plans[0],
        plans[-1].findings,
        options=options,
        rendered=time.time(),
    )
    hook_findings = {item for plan in plans for item in plan.findings if _is_about_hooks(item)}
    if not hook_findings:
        return trial
    if passes_hooks():
        return trial._replace(
            findings=tuple(item for item in trial.findings if not _is_about_hooks(item)),
            left_out=frozenset(finding.problem for finding in hook_findings),
        )
    options = options._replace(with_hooks=False)
    old, new, remark = _sides(chart, new_chart, options)
    if settings.keep_original is None:
        planned = planned._replace(keep_original=True)
        trial = trial._replace(settings=settings._replace(keep_original=True), keeps_originals=True)
    return trial._replace(
        options=options,
        rendered=time.time(),
        old=old,
        new=new,
        remark=remark,
        plan=plan_before_delivery(old, planned),
        hooks=tuple(filter(_is_about_hooks, trial.findings)),
    )


def _hook_warning(finding: Finding, trial: _Trial) -> str:
    if not trial.keeps_originals:
        return f"{finding.problem}. {finding.fix}"
    return f"{finding.reason}, so the command below keeps every original. Or: {finding.fix}"


def _is_about_hooks(finding: Finding) -> bool:
    return finding.code == HOOK_ON_HELM_3


def _sides(chart: str, new_chart: str, options: ChartOptions) -> tuple[Stream, Stream | None, str]:
    """The manifests before and after the change, and the remark of the trial."""
    if new_chart:
        old = _manifests(chart, chart, options._replace(new_values=()))
        return old, _manifests(new_chart, new_chart, options), ""
    changes = options.changes
    if not changes:
        return _manifests(chart, chart, options), None, ""
    new = _manifests(chart, f"{chart} with {changes}", options)
    try:
        old = _manifests(chart, f"{chart} without {changes}", options.before_change)
    except UserError:
        remark = (
            f"Without {changes}, helm fails or does not print manifests, so try cannot preview a "
            f"change. Pass the required values with -f, and only the change with {changes}."
        )
        return new, None, remark
    remark = (
        f"The manifests do not change with {changes}. "
        f"To see the names of all values, run: helm show values {chart}"
    )
    return old, new, remark


def _manifests(chart: str, title: str, options: ChartOptions) -> Stream:
    """Render a chart with helm. title: the name of the result in messages."""
    stream = read_streams([Source(title, render_chart(chart, options))], title)
    if stream.is_empty:
        raise UserError(
            "helm template does not print manifests",
            "Use -f or --set to pass the values that enable a part of the chart",
            Location(title),
        )
    return stream


def _preview_change(trial: _Trial, context: int = 3) -> Preview | None:
    """context: the number of unchanged lines around each changed line of a text."""
    if trial.new is None:
        return None
    preview = _with_hooks(trial, compare(trial.old, trial.new, trial.settings, context))
    unused = (item for item in trial.settings.findings if item.code == "config-unused")
    return preview._replace(undecided=(*map(as_undecided, unused), *preview.undecided))


def _preview_first_release(trial: _Trial) -> Preview:
    preview = compare(trial.old, trial.old, trial.settings, is_first_release=True)
    title = trial.old.source
    return _with_hooks(trial, preview)._replace(
        old=f"{title} without postrender", new=f"{title} with postrender"
    )


def _find_unstable(trial: _Trial, chart: str) -> tuple[Risk, ...]:
    """The risks of values that differ in each render. This renders the chart once more."""
    first = trial.new or trial.old
    # Charts write times in whole seconds.
    time.sleep(max(0, int(trial.rendered) + 1 - time.time()))
    again = read_streams([Source(first.source, render_chart(chart, trial.options))], first.source)
    return tuple(find_unstable(compare(first, again, trial.settings)))


def _with_hooks(trial: _Trial, preview: Preview) -> Preview:
    parts = (part for part in preview.undecided if part.problem not in trial.left_out)
    of_hooks = () if trial.keeps_originals else trial.undecided
    return preview._replace(undecided=(*parts, *of_hooks))


def _change_report(trial: _Trial, other_lines: int) -> list[str]:
    """The lines about the change.

    other_lines: the number of lines in the rest of the report.
    """
    # The report must fit on a screen, so the diffs contain only changed lines.
    preview = _preview_change(trial, context=0)
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
        nearest, _ = config_source(None, is_untrusted=bool(given.get("untrusted")))
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
    trial: _Trial,
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
