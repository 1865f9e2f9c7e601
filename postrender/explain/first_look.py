"""The report of `postrender try`, for a user who has not used postrender before.

The report is for one screen, so the report truncates long lists. `postrender explain` lists all
objects. The HTML page that `try` writes has the whole preview of the change or, without a change,
of the first release.
"""

from __future__ import annotations

from itertools import pairwise

from postrender.config.settings import IGNORE, RENAME
from postrender.diff.model import ROLLS
from postrender.diff.values import and_more, counted, name_of
from postrender.errors import sentences
from postrender.explain.build import Explanation, ObjectEntry
from postrender.kubernetes.kinds import SECRET
from postrender.records import grouped
from postrender.terminal import wrap
from postrender.text import conjoined, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from postrender.config.settings import Settings
    from postrender.diff.model import Preview, Risk
    from postrender.kubernetes.kinds import Identity

# The place for the attacher's image in the printed command.
IMAGE = "IMAGE"
_MAX_OBJECTS, _MAX_OBJECTS_WITH_PREVIEW = 10, 4
_MIN_PREVIEW_LINES = 15
_SCREEN_LINES = 46
_MAX_NAMES = 4
_MAX_ROWS = 2
# The width of a report in a file or pipe.
_WIDTH = 92
# The column of the text after a label such as `rolls`.
_TEXT_COLUMN = 11
_PROTECT = (
    ". If the application already runs, first protect these objects: docs/how-to/first-release.md"
)
_RELOAD = (
    " without a restart today. With postrender, each change restarts the pods. To keep the reload, "
    "set postrender/strategy: ignore: docs/faq.md"
)
_LATER = "each change adds a revision, and restarted old pods read the old revision"
_SECRETS = "Secrets unchanged, because --secrets is not set"


def name_lines(
    explanation: Explanation, chart: str, release: str, *, is_short: bool, with_secrets: bool
) -> list[str]:
    """The lines about the objects and their new names.

    chart, release: the names in the report.
    is_short: whether to list fewer objects, because a preview follows.
    with_secrets: whether the explanation also covers Secrets.
    """
    entries = sorted(explanation.objects, key=lambda entry: entry.strategy != RENAME)
    kinds = "ConfigMap or Secret" if with_secrets else "ConfigMap"
    plural = "ConfigMaps and Secrets" if with_secrets else "ConfigMaps"
    if not entries:
        return [
            f"{visible(chart)} does not contain a {kinds}, so postrender would not change "
            "anything.",
            *([] if with_secrets else ["Pass --secrets to include Secrets."]),
        ]
    most = _MAX_OBJECTS_WITH_PREVIEW if is_short else _MAX_OBJECTS
    shown = entries if len(entries) <= most + 1 else entries[:most]
    width = max(len(_title(entry.identity)) for entry in shown)
    number = len(_renamed(explanation))
    title = f"postrender would rename {number} of {len(entries)} {plural} in"
    if not number:
        title = f"postrender would not rename any {kinds} in"
    lines = [f"{title} {visible(chart)} (--release={visible(release)})", ""]
    lines += [f"  {_title(entry.identity):{width}}  {_decision(entry)}" for entry in shown]
    if entries[len(shown) :]:
        rest = len(entries) - len(shown)
        lines.append(f"  and {counted(rest, 'more object')} (see the output of postrender explain)")
    return lines


def first_release_lines(
    explanation: Explanation,
    preview: Preview,
    settings: Settings,
    hook_warnings: Sequence[str],
    reloads: Mapping[Identity, Sequence[Identity]],
) -> list[str]:
    """The lines about the first release with postrender, [] if postrender does not rename anything.

    preview: of the first release.
    settings: of a release, which can include an attacher.
    reloads: the renamed objects that each workload reloads itself, by workload.
    hook_warnings: one for each object that a hook reads. Only the first is shown.
    """
    renamed = _renamed(explanation)
    if not renamed:
        return []
    rolling = [change.identity for change in preview.workloads if change.effect == ROLLS]
    has_rollout = any(identity.kind == "Rollout" for identity in rolling)
    canary = ". A canary stops at its first pause" if has_rollout else ""
    kept = [f"{entry.identity}: {entry.keep_reason}" for entry in renamed if entry.keep_reason]
    deleted = [entry.identity for entry in renamed if not entry.keep_reason]
    has_secrets = any(node.identity.group_kind == SECRET for node in preview.graph.nodes)
    return [
        "",
        "The first release with postrender",
        *_row("rolls", f"{_names(rolling)}{canary}" if rolling else ""),
        *_rows(
            "reloads",
            [f"{user} reloads {_names(objects)}{_RELOAD}" for user, objects in reloads.items()],
        ),
        *_row("adds", f"{counted(len(renamed), 'revision')}{_attacher(settings)}"),
        *_rows("keeps", kept),
        *_row("deletes", f"{_names(deleted)}{_PROTECT}" if deleted else ""),
        *(line for text in hook_warnings[:1] for line in _row("warning", text)),
        *_row("leaves", "" if settings.with_secrets or not has_secrets else _SECRETS),
        *_row("later", _LATER),
    ]


def risk_lines(risks: Sequence[Risk]) -> list[str]:
    """The lines about the risks of unstable renders."""
    lines = ["", "Risks"] if risks else []
    for words, group in grouped(risks, lambda risk: (risk.fact, risk.consequence)).items():
        names = _names([risk.identity for risk in group])
        lines += _row("unstable", f"{names}: {sentences(*words).removesuffix('.')}")
    return lines


def _renamed(explanation: Explanation) -> list[ObjectEntry]:
    return [entry for entry in explanation.objects if entry.strategy == RENAME]


def _attacher(settings: Settings) -> str:
    """The objects of the attacher in words, "" if the settings disable the attacher."""
    attacher = settings.attacher
    if not attacher.is_enabled:
        return ""
    if attacher.is_external:
        return ", and the inventory, a ConfigMap"
    account = ["a ServiceAccount"] if attacher.creates_service_account else []
    role = ["a Role", "a RoleBinding"] if attacher.creates_rbac else []
    return f", and the attacher: {conjoined(['a Job', *account, *role])}"


def _names(identities: Sequence[Identity]) -> str:
    names = ", ".join(str(identity) for identity in identities[:_MAX_NAMES])
    rest = len(identities) - _MAX_NAMES
    return f"{names} {and_more(rest)}" if rest > 0 else names


def _row(label: str, text: str) -> list[str]:
    """A label and a text as one line, which fitted() wraps; [] if the text is empty."""
    return [f"{f'  {label}'.ljust(_TEXT_COLUMN)}{visible(text)}"] if text else []


def _rows(label: str, texts: Sequence[str]) -> list[str]:
    """The lines of the first texts, and the number of the others."""
    rest = len(texts) - _MAX_ROWS
    shown = [*texts[:_MAX_ROWS], *([and_more(rest)] if rest > 0 else [])]
    return [line for text in shown for line in _row(label, text)]


def fitted(lines: Sequence[str], width: int | None) -> list[str]:
    """Lines of at most this width, None for a file or pipe."""
    hang = " " * _TEXT_COLUMN
    return [part for line in lines for part in wrap(line, width or _WIDTH, "", hang)]


def _title(identity: Identity) -> str:
    return visible(name_of(identity).removeprefix("ConfigMap/"))


def _decision(entry: ObjectEntry) -> str:
    if entry.strategy == RENAME:
        kept = ", and the original stays" if entry.keep_reason else ""
        return f"-> {visible(entry.revision or 'a revision')}{kept}"
    strategy = "keeps its name" if entry.strategy == IGNORE else entry.strategy
    return f"{strategy}: {visible(entry.reason)}"


def preview_lines(text: str, other_lines: int | None) -> list[str]:
    """The first lines of a preview, indented, and the number of lines that are left out.

    There are no empty lines after titles.
    text: the preview as text.
    other_lines: the number of lines of the report without the preview, None for no limit.
    """
    lines = text.rstrip().splitlines()
    lines = [line for above, line in pairwise(["", *lines]) if line or not above.isupper()]
    most = len(lines)
    if other_lines is not None:
        most = max(_SCREEN_LINES - other_lines - 1, _MIN_PREVIEW_LINES)
    if len(lines) > most + 1:
        rest = len(lines) - most
        shown = "\n".join(lines[:most]).rstrip().splitlines()
        lines = [*shown, f"… {counted(rest, 'more line')} on the page"]
    return [f"  {line}".rstrip() for line in lines]


def next_steps(preview: str, upgrade: str) -> list[str]:
    """Lines with the next steps: preview a change, build the image, and release.

    preview: the command without a change, "" if the report previews a change.
    upgrade: the helm upgrade command of the chart.
    """
    image = f", and replace {IMAGE}" if f"--attacher-image={IMAGE}" in upgrade else ""
    change = f"{visible(preview)} --new-values FILE (or --set KEY=VALUE, or a second chart)"
    return [
        "Nothing is applied yet. Next (docs/ is in the checkout of postrender):",
        *([f"  preview  {change}"] if preview else []),
        f"  image    build the attacher's image{image}: docs/how-to/install.md",
        f"  release  {visible(upgrade)}",
        "           For Helm 4: docs/how-to/helm.md. For other tools: docs/index.md",
    ]
