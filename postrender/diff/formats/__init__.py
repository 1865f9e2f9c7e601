"""The output formats of `postrender diff`, and the contract of a format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from importlib import import_module

from postrender.text import TEXT_ESCAPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from postrender.diff.values import Terminal


class Reporter(ABC):
    """An output format of `postrender diff` or `postrender explain`.

    A format shows every change and escapes every text from a manifest. A format that shows only a
    part, such as a drawing, sets `is_complete = False`. The tests then do not expect each change in
    its output; they still look for Secrets and for commands to a terminal or a CI job.
    """

    file_suffix: ClassVar[str]
    is_complete: ClassVar[bool] = True
    # How the format writes `:` and `#` where a CI runner would otherwise read a command.
    escapes: ClassVar[tuple[str, str]] = TEXT_ESCAPES

    @abstractmethod
    def render(self, report: Any, terminal: Terminal) -> str:
        """The whole output for a Preview or, in `explain`, an Explanation."""


class Reporters(Mapping[str, Reporter]):
    """The formats of a command by name. The module of a format is imported when it is used."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> Reporter:
        module, _, reporter = self._places[name].partition(":")
        found: Reporter = getattr(import_module(f"postrender.{module}"), reporter)()
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


REPORTERS = Reporters(
    {
        "html": "diff.formats.html.page:HtmlReporter",
        "json": "diff.formats.json:JsonReporter",
        "markdown": "diff.formats.markdown:MarkdownReporter",
        "mermaid": "diff.formats.mermaid:MermaidReporter",
        "text": "diff.formats.text:TextReporter",
    }
)
