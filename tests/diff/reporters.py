"""The formats that show every change, and the check that a format does."""

from __future__ import annotations

from postrender.diff.formats import REPORTERS

COMPLETE = {name: reporter for name, reporter in REPORTERS.items() if reporter.is_complete}


def check_shows(form: str, text: str, expected: str) -> None:
    """Check that the output of a format has a text, unless the format shows only a part."""
    assert form not in COMPLETE or expected in text, (
        f"the format {form} does not show {expected!r}. A format shows every change; if this one "
        "is meant to show only a part, set `is_complete = False` in its Reporter"
    )
