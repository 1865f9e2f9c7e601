"""The sections of a preview that `--only` selects."""

from __future__ import annotations

from collections.abc import Collection

from postrender.diff.model import Preview


def only_sections(preview: Preview, names: Collection[str]) -> Preview:
    """Return a preview with only the sections in `names`, or all sections if `names` is empty.

    The result always has the undecided parts and the graph.
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
