"""What a code means, how to fix its cause, and an example before and after.

The texts of findings are in findings.md, and those of risks in the docstrings of their rules.
docs/generate.py writes both to docs/reference.
"""

from __future__ import annotations

import re
from functools import cache
from inspect import cleandoc

from postrender.diff.risks import OTHERS, REJECTIONS
from postrender.diff.risks.running_pods import find_unstable_render
from postrender.errors import CODES, NOTE, NOTES, WARNING, UserError
from postrender.terminal import wrap
from postrender.text import packaged_text, shown, similar_words


def meaning_of(code: str) -> str:
    """The sections about a finding and a risk with a code. UserError for an unknown code."""
    sections = [finding_section(code)] if code in CODES else []
    sections += [risk_section(code)] if code in risk_texts() else []
    if not sections:
        similar = similar_words(code, [*CODES, *risk_texts()])
        raise UserError(
            f"{shown(code)} is neither a file nor the code of a finding or risk",
            f"Write {similar[0]}" if similar else "Check the path, or the code in the message",
        )
    return "\n".join(sections)


def fitted(text: str, width: int | None) -> str:
    """A meaning on a terminal, None for a file or pipe: its prose wraps, and its examples stay."""
    if width is None:
        return text
    parts = text.split("```")
    for number in range(0, len(parts), 2):
        prose = re.sub(r"(?<=\S)\n *(?=[^\s-])", " ", parts[number])
        parts[number] = "\n".join(
            part
            for line in prose.split("\n")
            for part in wrap(line, width, "", "  " if line.startswith("- ") else "")
        )
    return "```".join(parts)


def introduction() -> str:
    """The paragraph above the sections about findings."""
    return _texts()[0]


def finding_section(code: str) -> str:
    """The section about a finding, in Markdown."""
    severity = (NOTE if code in NOTES else WARNING).capitalize()
    return f"## {code}\n\n{severity}: {CODES[code]}.\n\n{_texts()[1][code]}"


@cache
def _texts() -> tuple[str, dict[str, str]]:
    first, *sections = packaged_text("explain/findings.md").split("\n## ")
    pairs = (section.partition("\n\n") for section in sections)
    return f"{first.rstrip()}\n", {code: f"{text.rstrip()}\n" for code, _, text in pairs}


def risk_section(code: str) -> str:
    """The section about a risk, in Markdown."""
    return f"## {code}\n\n{risk_texts()[code]}\n"


def risk_texts() -> dict[str, str]:
    """The text about each risk, without the sources, which are for maintainers."""
    rules = {**REJECTIONS, **OTHERS, "unstable-render": find_unstable_render}
    return {
        code: cleandoc(str(rule.__doc__)).partition("\n\nSource: ")[0]
        for code, rule in sorted(rules.items())
    }
