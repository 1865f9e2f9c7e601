"""The data of `postrender try`: the manifests of a chart, the plan and the previews.

helm renders the manifests. Users can also preview a change. With NEW_CHART, the change replaces the
chart, and adds the values in --new-values. Without NEW_CHART, the change adds the values in
--new-values, --set and --set-string.
"""

from __future__ import annotations

from postrender.cli.render import plan_before_delivery
from postrender.config.settings import HASH, HistorySettings, Settings
from postrender.diff.build import compare
from postrender.diff.model import Preview, Undecided
from postrender.diff.undecided import as_undecided
from postrender.errors import HOOK_ON_HELM_3, Finding, Location, UserError
from postrender.records import NamedTuple
from postrender.sources.charts import ChartOptions, passes_hooks, render_chart
from postrender.yaml.stream import Source, Stream, has_content, read_streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.plan.build import Plan


class Sides(NamedTuple):
    """The manifests before and after a change.

    old: the manifests before the change, or the only manifests if `new` is None.
    new: the manifests after the change, None if try does not preview a change.
    note: a sentence that explains why try cannot preview a requested change, otherwise "".
    if_unchanged: the line that try prints instead of a preview without changes. If "", try prints
        the preview.
    """

    old: Stream
    new: Stream | None = None
    note: str = ""
    if_unchanged: str = ""


class Trial(NamedTuple):
    """A chart, with the data that `postrender try` shows.

    title: the chart in the report.
    sides: the rendered manifests. With Helm 3, the manifests lack hooks if a finding is about a
        hook.
    settings: the settings of the previews.
    plan: the plan for `sides.old`.
    findings: the findings about `sides.new`, or about `sides.old` if `sides.new` is None.
    left_out: the problems that the previews must not show. With Helm 4, these are the problems of
        Helm 3 with hooks.
    undecided: the parts that the previews must show as undecided. With Helm 3, these are effects on
        hooks.
    """

    title: str
    sides: Sides
    settings: Settings
    plan: Plan
    findings: tuple[Finding, ...]
    left_out: frozenset[str] = frozenset()
    undecided: tuple[Undecided, ...] = ()


def make_trial(chart: str, new_chart: str, options: ChartOptions, settings: Settings) -> Trial:
    """Return the trial after rendering a chart with helm and making the plan.

    chart: the path, the URL or the name of the chart, for helm.
    new_chart: the chart after the change, "" if the change does not replace the chart.
    settings: the user's settings. _trial_settings adapts the settings to previews.
    Raises UserError if helm fails, does not print manifests, or prints invalid manifests.
    """
    settings = _trial_settings(settings)
    sides = _sides(chart, new_chart, options)
    plans = [plan_before_delivery(side, settings) for side in (sides.old, sides.new) if side]
    findings = plans[-1].findings
    hook_findings = {item for plan in plans for item in plan.findings if _is_about_hooks(item)}
    left_out: frozenset[str] = frozenset()
    undecided: tuple[Undecided, ...] = ()
    if hook_findings and passes_hooks():
        left_out = frozenset(finding.problem for finding in hook_findings)
        findings = tuple(finding for finding in findings if not _is_about_hooks(finding))
    elif hook_findings:
        # Helm 3 does not pass hooks to a post-renderer, so render the chart again without hooks.
        sides = _sides(chart, new_chart, options._replace(with_hooks=False))
        plans = [plan_before_delivery(sides.old, settings)]
        undecided = tuple(as_undecided(finding) for finding in findings if _is_about_hooks(finding))
    return Trial(
        title=chart,
        sides=sides,
        settings=settings,
        plan=plans[0],
        findings=findings,
        left_out=left_out,
        undecided=undecided,
    )


def _is_about_hooks(finding: Finding) -> bool:
    return finding.code == HOOK_ON_HELM_3


def preview_change(trial: Trial, context: int = 3) -> Preview | None:
    """Return the preview of the change, None if `trial.sides.new` is None.

    context: the number of unchanged lines around each changed line of a text.
    """
    if trial.sides.new is None:
        return None
    return _with_hooks(trial, compare(trial.sides.old, trial.sides.new, trial.settings, context))


def preview_first_release(trial: Trial) -> Preview:
    """Return the preview of the first release with postrender, for `trial.sides.old`."""
    manifests = trial.sides.old
    preview = compare(manifests, manifests, trial.settings, is_first_release=True)
    title = manifests.source
    return _with_hooks(trial, preview)._replace(
        old=f"{title} without postrender", new=f"{title} with postrender"
    )


def _with_hooks(trial: Trial, preview: Preview) -> Preview:
    """Return a preview with `trial.undecided`, and without the parts in `trial.left_out`."""
    parts = (part for part in preview.undecided if part.problem not in trial.left_out)
    return preview._replace(undecided=(*parts, *trial.undecided))


def _trial_settings(settings: Settings) -> Settings:
    """Return settings for a preview: not strict, without an attacher and without --previous.

    The naming `sequence` needs --previous. The settings therefore have the naming `hash`.
    """
    attacher = settings.attacher._replace(is_enabled=False)
    return settings._replace(
        is_strict=False, attacher=attacher, history=HistorySettings(), naming=HASH
    )


def _sides(chart: str, new_chart: str, options: ChartOptions) -> Sides:
    """Return the manifests of the chart before and after the change.

    The result has a `note` if helm renders the chart only with the values of the change. The
    manifests with these values are then `old`.
    Raises UserError if helm fails or does not print manifests.
    """
    if new_chart:
        old = _stream(chart, chart, options._replace(new_values=()))
        return Sides(old=old, new=_stream(new_chart, new_chart, options))
    changes = options.changes
    if not changes:
        return Sides(old=_stream(chart, chart, options))
    new = _stream(chart, f"{chart} with {changes}", options)
    try:
        old = _stream(chart, f"{chart} without {changes}", options.before_change)
    except UserError:
        note = (
            f"Without {changes}, helm fails or does not print manifests, so try cannot preview a "
            f"change. Pass the required values with -f, and only the change with {changes}."
        )
        return Sides(old=new, note=note)
    if_unchanged = (
        f"The manifests do not change with {changes}. "
        f"To see the names of all values, run: helm show values {chart}"
    )
    return Sides(old=old, new=new, if_unchanged=if_unchanged)


def _stream(chart: str, title: str, options: ChartOptions) -> Stream:
    """Return the manifests of a chart.

    title: the name of the chart in messages.
    Raises UserError if helm fails or does not print manifests.
    """
    stream = read_streams([Source(title, render_chart(chart, options))], title)
    if not any(has_content(document.text) for document in stream.documents):
        raise UserError(
            "helm template does not print manifests",
            "Use -f or --set to pass the values that enable a part of the chart",
            Location(title),
        )
    return stream
