"""An explanation for a person to read in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from postrender.explain.model import Earlier, Entry, Explanation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from postrender.diff.wording.terminal import Terminal


def render(explanation: Explanation, terminal: Terminal) -> str:
    """Return an explanation for a person to read in a terminal."""
    lines = [line for entry in explanation.entries for line in _entry_lines(entry)]
    lines += [line for earlier in explanation.earlier for line in _earlier_lines(earlier)]
    because = f"{explanation.mode}, because {explanation.mode_reason}"
    lines += [f"attacher {name}: {because}" for name in explanation.sets]
    renamed = sum(1 for entry in explanation.entries if entry.strategy == "rename")
    total = len(explanation.entries)
    lines.append(f"{renamed} of {total} renamed" if total else "nothing to revise")
    return "\n".join(lines) + "\n"


def _entry_lines(entry: Entry) -> Iterator[str]:
    namespace = f" in {entry.namespace}" if entry.namespace else ""
    arrow = f" -> {entry.revision or 'a revision'}" if entry.strategy == "rename" else ""
    yield f"{entry.identity}{namespace}{arrow}"
    yield f"  {entry.strategy}: {entry.reason}"
    if entry.keeps_original:
        yield f"  the original stays: {entry.keeps_original}"
    for user in entry.users:
        verb = "names" if user.follows else "keeps the base name"
        yield f"  {user.identity} {verb} ({user.location})"


def _earlier_lines(earlier: Earlier) -> Iterator[str]:
    namespace = f" in {earlier.namespace}" if earlier.namespace else ""
    number = f"number {earlier.order}" if earlier.order else "the original"
    yield f"{earlier.identity}{namespace}, {number} of {earlier.base_name}"
    yield f"  {earlier.what}: {earlier.reason}"
