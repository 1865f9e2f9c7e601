"""The sections of a preview that `--only` selects."""

from __future__ import annotations

from collections.abc import Collection

from postrender.diff.model import Preview


def only_sections(preview: Preview, names: Collection[str]) -> Preview:
    """Return a preview with only these SECTIONS, or the whole preview if `names` is empty.

    The undecided parts and the graph are always kept.
    """
    if not names:
        return preview
    return preview._replace(
        contents=preview.contents if "configmaps" in names else (),
        workloads=preview.workloads if "workloads" in names else (),
        revisions=preview.revisions if "revisions" in names else (),
        objects=preview.objects if "objects" in names else (),
        only=tuple(dict.fromkeys(names)),
    )
