"""The code blocks of the documents, and the tests that run their commands.

A comment above a block shows how its commands are tested. The comment applies to all blocks up to
the next comment or heading:

    <!-- run by: tests/e2e/test_page_commands.py#test_name -->
    <!-- not run: the reason -->

`console` blocks do not need a comment, because tests/test_docs.py runs them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

# The languages of blocks that a reader can paste into a shell.
SHELL = ("sh", "bash", "shell")
_COMMENT = re.compile(r"<!-- (run by|not run): (.+) -->$")
_FENCE = re.compile(r"\s*```(\w*)\s*$")


class Block(NamedTuple):
    """A code block of a page."""

    page: Path
    line: int
    language: str
    text: str
    run_by: str
    reason: str

    @property
    def place(self) -> str:
        """The location for a message."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> Iterator[Block]:
    """Yield the fenced code blocks of a page, without the indentation of a list."""
    run_by = reason = ""
    lines = page.read_text("utf-8").splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        start = number
        number += 1
        if match := _COMMENT.match(line.strip()):
            run_by, reason = (match[2], "") if match[1] == "run by" else ("", match[2])
        elif re.match(r"#+ ", line):
            run_by = reason = ""
        elif match := _FENCE.match(line):
            end = next(i for i in range(number, len(lines)) if lines[i].strip() == "```")
            yield Block(
                page, start + 1, match[1] or "text", _text(lines[number:end]), run_by, reason
            )
            number = end + 1


def _text(lines: list[str]) -> str:
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:] for line in lines).strip("\n") + "\n"


def commands_in(page: Path, title: str) -> list[Block]:
    """Return the shell blocks between a heading and the next heading."""
    lines = page.read_text("utf-8").splitlines()
    levels = [i for i, line in enumerate(lines, 1) if re.match(r"#+ ", line)]
    [first] = [i for i in levels if re.sub(r"^#+ ", "", lines[i - 1]) == title]
    last = next((i for i in levels if i > first), len(lines) + 1)
    return [
        block for block in blocks_of(page) if block.language in SHELL and first < block.line < last
    ]
