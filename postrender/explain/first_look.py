"""The report of `postrender try`, for a user who has not used postrender before.

The report fits a screen, so long lists end in a count. The HTML page that `try` writes has the
whole preview, and `postrender explain` lists all objects.
"""

from __future__ import annotations

from postrender.config.settings import IGNORE, RENAME
from postrender.diff.wording.plurals import counted
from postrender.diff.wording.style import name_of
from postrender.explain.model import Explanation, ObjectEntry
from postrender.text.escapes import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from postrender.kubernetes.kinds import Identity

_MOST_OBJECTS, _MOST_OBJECTS_WITH_PREVIEW = 10, 4
_MOST_PREVIEW_LINES = 22
_MOST_NAMES = 4
# The kinds that roll when the pod template changes.
_ROLLING_KINDS = ("DaemonSet", "Deployment", "Rollout", "StatefulSet")


def explanation_lines(
    explanation: Explanation, chart: str, *, is_short: bool, with_secrets: bool
) -> list[str]:
    """Return the lines about the objects, their new names, and the effect of the first release.

    is_short: whether to list fewer objects, because a preview follows;
    with_secrets: whether the explanation also covers Secrets.
    """
    entries = sorted(explanation.objects, key=lambda entry: entry.strategy != RENAME)
    kinds = "ConfigMap or Secret" if with_secrets else "ConfigMap"
    if not entries:
        return [
            f"{visible(chart)} has no {kinds}, so postrender would not change anything.",
            *([] if with_secrets else ["Pass --secrets to include Secrets."]),
        ]
    most = _MOST_OBJECTS_WITH_PREVIEW if is_short else _MOST_OBJECTS
    shown = entries if len(entries) <= most + 1 else entries[:most]
    width = max(len(_title(entry.identity)) for entry in shown)
    after = ", after the change" if is_short else ""
    lines = [f"{visible(chart)}: the name of each {kinds} with postrender{after}", ""]
    lines += [f"  {_title(entry.identity):{width}}  {_decision(entry)}" for entry in shown]
    if entries[len(shown) :]:
        rest = len(entries) - len(shown)
        lines.append(f"  and {counted(rest, 'more object')} (see the output of postrender explain)")
    return [*lines, "", *_effect(entries)]


def _effect(entries: Sequence[ObjectEntry]) -> list[str]:
    """Return the lines about the effect of the first release."""
    renamed = [entry for entry in entries if entry.strategy == RENAME]
    if not renamed:
        return ["postrender would not rename anything in this chart."]
    workloads = dict.fromkeys(
        str(reference.identity)
        for entry in renamed
        for reference in entry.references
        if reference.is_rewritten and reference.identity.kind in _ROLLING_KINDS
    )
    lines = [
        f"postrender adds a hash of the content to {len(renamed)} of {len(entries)} names. After a "
        "change,",
        "new pods read a new object. An old pod that restarts still finds the old object.",
    ]
    if workloads:
        names = visible(", ".join([*workloads][:_MOST_NAMES]))
        more = f" and {len(workloads) - _MOST_NAMES} more" if len(workloads) > _MOST_NAMES else ""
        lines += [
            "The first release with postrender rolls these workloads once, because the names",
            f"change: {names}{more}.",
        ]
    return lines


def _title(identity: Identity) -> str:
    return visible(name_of(identity).removeprefix("ConfigMap/"))


def _decision(entry: ObjectEntry) -> str:
    """Return the new name of an object, or the strategy and its reason."""
    if entry.strategy == RENAME:
        kept = ", and the original is kept" if entry.keep_reason else ""
        return f"-> {visible(entry.revision or 'a revision')}{kept}"
    strategy = "keeps its name" if entry.strategy == IGNORE else entry.strategy
    return f"{strategy}: {visible(entry.reason)}"


def preview_lines(text: str) -> list[str]:
    """Return the first lines of a preview, indented, and a count of the other lines."""
    lines = text.rstrip().splitlines()
    if len(lines) > _MOST_PREVIEW_LINES + 1:
        rest = len(lines) - _MOST_PREVIEW_LINES
        shown = "\n".join(lines[:_MOST_PREVIEW_LINES]).rstrip().splitlines()
        lines = [*shown, f"… {counted(rest, 'more line')} on the page"]
    return [f"  {line}".rstrip() for line in lines]


def next_steps(chart: str, upgrade: str, *, has_preview: bool) -> list[str]:
    """Return the next steps: a change to preview, and the first release.

    upgrade: the helm upgrade command of the chart;
    has_preview: whether the report already has the preview of a change.
    """
    change = f"postrender try {visible(chart)} --set KEY=VALUE, or postrender try OLD NEW"
    return [
        "postrender has not applied anything. Next (docs/ is in the checkout of postrender):",
        *([] if has_preview else [f"  preview  {change}"]),
        "  image    build the attacher's image: docs/how-to/install.md",
        "  protect  if the application runs already, the first release would delete ConfigMaps",
        "           that old pods still use. Protect the ConfigMaps: docs/how-to/first-release.md",
        f"  release  {visible(upgrade)} --post-renderer postrender",
        "           Helm 3, Helm 4: docs/how-to/helm.md. Argo CD, kustomize: docs/index.md",
    ]
