"""The parts of a preview that a user asks for."""

from __future__ import annotations

from collections.abc import Collection

from postrender.preview import SECTIONS
from postrender.preview.model import Preview


def only_sections(preview: Preview, names: Collection[str]) -> Preview:
    """Return a preview without the sections that are not named; all of it if none is."""
    if not names:
        return preview
    fields = {SECTIONS[name] for name in names}
    return preview._replace(
        contents=preview.contents if "contents" in fields else (),
        workloads=preview.workloads if "workloads" in fields else (),
        revisions=preview.revisions if "revisions" in fields else (),
        objects=preview.objects if "objects" in fields else (),
    )
