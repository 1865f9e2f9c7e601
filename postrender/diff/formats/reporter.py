"""The contract of an output format, for `postrender diff` and `postrender explain`."""

from __future__ import annotations

from abc import ABC, abstractmethod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from postrender.diff.values import Terminal


class Reporter(ABC):
    """An output format. The dictionary REPORTERS of `diff.formats` or `explain` names it.

    A format shows every change and escapes every text from a manifest. A format that shows only a
    part, such as a drawing, sets `is_complete = False`. The tests then do not expect each change in
    its output; they still look for Secrets and for commands to a terminal or a CI job.
    """

    file_suffix: ClassVar[str]
    is_complete: ClassVar[bool] = True
    # How the format writes `:` and `#` where the runner of GitHub Actions would otherwise read the
    # text as a workflow command. A format in which no line starts with such a text keeps the `:`.
    escapes: ClassVar[tuple[str, str]] = ("\\x3a", "\\x23")

    @abstractmethod
    def render(self, report: Any, terminal: Terminal) -> str:
        """Return the whole output for a Preview or, in `explain`, an Explanation."""
