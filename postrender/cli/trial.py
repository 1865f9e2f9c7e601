"""The manifests that helm renders for `postrender try`, with their plan and their previews.

The user can request the preview of a change. With NEW_CHART, the change replaces the chart. Without
NEW_CHART, the change adds the values in --new-values, --set and --set-string.
"""

from __future__ import annotations

from postrender.cli.plans import plan_before_delivery
from postrender.config.settings import HASH, HistorySettings, Settings
from postrender.diff.build import compare
from postrender.diff.compare.undecided import as_undecided
from postrender.diff.model import Preview, Undecided
from postrender.errors import HOOK_ON_HELM_3, Finding, Location, UserError
from postrender.sources.charts import ChartOptions, passes_hooks, render_chart
from postrender.startup.records import NamedTuple
from postrender.yaml.stream import Source, Stream, has_content, read_streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.plan.build import Plan


class Sides(NamedTuple):
    """The manifests of the chart, before and after the change.

    old: the manifests before the change; if `new` is None, the only manifests;
    new: the manifests after the change, None if try does not preview a change;
    note: the reason why try does not preview the change that the user requested, else "";
    if_unchanged: the line that try prints in place of a preview that has no changes. If "", try
    prints the preview.
    """

    old: Stream
    new: Stream | None = None
    note: str = ""
    if_unchanged: str = ""


class Trial(NamedTuple):
    """A chart and the data that `postrender try` shows.

    title: the name of the chart in the report;
    sides: the manifests as helm passes them to a post-renderer;
    settings: the settings of the previews; plan: the plan for `sides.old`;
    findings: the findings about `sides.new`, or about `sides.old` if `sides.new` is None;
    left_out: with Helm 4, the problems of the findings about Helm 3, which previews must not show;
    undecided: with Helm 3, the effects on hooks that a preview cannot decide, but must show.
    """

    title: str
    sides: Sides
    settings: Settings
    plan: Plan
    findings: tuple[Finding, ...]
    left_out: frozenset[str] = frozenset()
    undecided: tuple[Undecided, ...] = ()


def make_trial(chart: str, new_chart: str, options: ChartOptions, settings: Settings) -> Trial:
    """Render a chart with helm, make the plan, and return the trial.

    new_chart: the chart after the change, "" if the change does not replace the chart;
    settings: the settings of a release, which the function adapts to previews.
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
    """Return a preview without the problems in `trial.left_out`, and with `trial.undecided`."""
    parts = (part for part in preview.undecided if part.problem not in trial.left_out)
    return preview._replace(undecided=(*parts, *trial.undecided))


def _trial_settings(settings: Settings) -> Settings:
    """Return settings for a preview: not strict, without an attacher and without --previous.

    The naming `sequence` needs --previous, so previews use the naming `hash`.
    """
    attacher = settings.attacher._replace(is_enabled=False)
    return settings._replace(
        is_strict=False, attacher=attacher, history=HistorySettings(), naming=HASH
    )


def _sides(chart: str, new_chart: str, options: ChartOptions) -> Sides:
    """Return the manifests of the chart before and after the change, as helm renders them.

    Raises UserError if helm fails or does not print manifests. If helm fails only without the
    values of the change, `old` contains the manifests with these values, and `new` is None.
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
        note = f"Without {changes}, helm fails or does not print manifests."
        return Sides(old=new, note=note)
    if_unchanged = (
        f"The manifests do not change with {changes}. "
        f"To see the keys, run: helm show values {chart}"
    )
    return Sides(old=old, new=new, if_unchanged=if_unchanged)


def _stream(chart: str, title: str, options: ChartOptions) -> Stream:
    """Return the manifests of a chart; title: the name of the chart in messages.

    Raises UserError if helm fails or does not print manifests.
    """
    stream = read_streams([Source(title, render_chart(chart, options))], title)
    if not any(has_content(document.text) for document in stream.documents):
        raise UserError(
            "helm template does not print manifests",
            "Pass the values that enable a part of the chart, with -f or --set",
            Location(title),
        )
    return stream
