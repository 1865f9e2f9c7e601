"""Mermaid's own parser reads the graph of a preview.

npm install --prefix .cache/mermaid mermaid jsdom
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from postrender.diff.formats.mermaid import draw
from postrender.diff.model import UNCHANGED, Graph
from tests.diff.any_previews import ANY, HOSTILE, graphs
from tests.diff.previews import sample
from tests.diff.test_drawing import mermaid, named
from tests.e2e.programs import ROOT
from tests.effort import examples

MERMAID = ROOT / ".cache" / "mermaid"


def expected(graph: Graph) -> dict[str, Any]:
    frames, arrows = draw(graph)
    return {
        "nodes": [
            [box_id, "\n".join(lines), *([style] if style != UNCHANGED else [])]
            for _, _, boxes in frames
            for box_id, _, lines, style in boxes
        ],
        "edges": [list(arrow[:3]) for arrow in arrows],
        "groups": [
            [frame_id, title.strip(), len(boxes)] for frame_id, title, boxes in frames if title
        ],
    }


def as_shown(text: str) -> str:
    """Return the text that a browser shows for a label, as parsed by Mermaid."""
    text = re.sub(r"<br ?/?>", "\n", text).replace("\ufb02\xb0\xb08288\xb6\xdf", "")
    return re.sub("\ufb02\xb0\xb0(\\d+)\xb6\xdf", lambda match: chr(int(match[1])), text).strip()


@pytest.mark.skipif(
    not (shutil.which("node") and MERMAID.is_dir()), reason="Mermaid is not installed"
)
def test_the_parser_of_mermaid_reads_the_same_graph() -> None:
    collected: list[Graph] = [named(HOSTILE), sample().graph, *(named([text]) for text in HOSTILE)]

    @settings(ANY, max_examples=examples(400), database=None)
    @given(graphs())
    def collect(graph: Graph) -> None:
        if graph.nodes:
            collected.append(graph)

    collect()
    script = Path(__file__).with_name("mermaid_parse.mjs")
    done = subprocess.run(
        ["node", str(script), str(MERMAID)],
        input="\0".join(map(mermaid, collected)),
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(collected)
    for graph, line in zip(collected, lines, strict=True):
        read = json.loads(line)
        assert "error" not in read, read
        shown = {
            part: [[row[0], *(as_shown(str(value)) for value in row[1:])] for row in rows]
            for part, rows in read.items()
        }
        assert shown == {
            part: [[row[0], *(str(value).strip() for value in row[1:])] for row in rows]
            for part, rows in expected(graph).items()
        }
