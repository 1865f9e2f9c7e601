"""JSON for programs."""

from __future__ import annotations

import json
import tracemalloc

from postrender.text import visible_json


def test_a_large_document_needs_a_few_times_the_memory_of_its_text() -> None:
    """The status of a namespace with 1,000 releases has 12,000 revisions."""
    document = {"revisions": [{"name": f"web-{n}", "users": [], "pods": 0} for n in range(20_000)]}
    tracemalloc.start(1)
    text = visible_json(document)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert json.loads(text) == document
    assert peak < 6 * len(text)
