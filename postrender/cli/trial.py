"""The renders of a chart for `postrender try`, and what postrender makes of them."""

from __future__ import annotations

import time

from postrender.cli.render import plan_before_delivery
from postrender.config.settings import HASH, HistorySettings, Settings
from postrender.diff.build import compare
from postrender.diff.model import Preview, Risk, Undecided
from postrender.diff.risks.running_pods import find_unstable_render
from postrender.diff.undecided import as_undecided
from postrender.errors import HOOK_ON_HELM_3, Finding, Location, UserError
from postrender.plan.build import Plan
from postrender.records import NamedTuple
from postrender.sources.charts import ChartOptions, passes_hooks, render_chart
from postrender.yaml.stream import Source, Stream, read_streams


class Trial(NamedTuple):
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


def make_trial(chart: str, new_chart: str, options: ChartOptions, settings: Settings) -> Trial:
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
    trial = Trial(
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


def preview_change(trial: Trial, context: int = 3) -> Preview | None:
    """The preview of the change, None without one.

    context: the number of unchanged lines around each changed line of a text.
    """
    if trial.new is None:
        return None
    preview = _with_hooks(trial, compare(trial.old, trial.new, trial.settings, context))
    unused = (item for item in trial.settings.findings if item.code == "config-unused")
    return preview._replace(undecided=(*map(as_undecided, unused), *preview.undecided))


def preview_first_release(trial: Trial) -> Preview:
    """The preview of the manifests without postrender, and with it."""
    preview = compare(trial.old, trial.old, trial.settings, is_first_release=True)
    title = trial.old.source
    return _with_hooks(trial, preview)._replace(
        old=f"{title} without postrender", new=f"{title} with postrender"
    )


def render_again(trial: Trial, chart: str) -> tuple[Risk, ...]:
    """The risks of values that differ in each render. This renders the chart once more."""
    first = trial.new or trial.old
    _wait_for_the_second_after(trial.rendered)
    again = read_streams([Source(first.source, render_chart(chart, trial.options))], first.source)
    return tuple(find_unstable_render(compare(first, again, trial.settings)))


def _wait_for_the_second_after(rendered: float) -> None:
    """Charts write times in whole seconds."""
    time.sleep(max(0, int(rendered) + 1 - time.time()))


def _with_hooks(trial: Trial, preview: Preview) -> Preview:
    parts = (part for part in preview.undecided if part.problem not in trial.left_out)
    of_hooks = () if trial.keeps_originals else trial.undecided
    return preview._replace(undecided=(*parts, *of_hooks))


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
