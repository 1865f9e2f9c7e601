"""kustomize generates the names of revisions for the same content."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from postrender.kubernetes.hashing import hashed_content, revision_name
from postrender.kubernetes.kinds import CONFIG_MAP
from tests.e2e.programs import program


def test_kustomize_generates_the_same_names(tmp_path: Path) -> None:
    contents = [
        {"plain": "text"},
        {"lines": "a: 1\nb:\n  - <c>\n", "empty": ""},
        {"unicode": "grüße ✓ \u2028 \U0001f600", "quote": "'\"\\&"},
        {"tab": "\tx", "space": "  x  \n\n", "return": "a\r\nb"},
    ]
    generators = []
    for number, content in enumerate(contents):
        for key, value in content.items():
            (tmp_path / f"{number}-{key}").write_text(value, encoding="utf-8", newline="")
        files = [f"{key}={number}-{key}" for key in content]
        generators.append({"name": f"cm-{number}", "files": files})
    kustomization = {"configMapGenerator": generators}
    (tmp_path / "kustomization.yaml").write_text(json.dumps(kustomization))
    result = subprocess.run(
        [program("kubernetes"), "kubectl", "kustomize", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    for number, content in enumerate(contents):
        hashed = hashed_content(CONFIG_MAP, {"data": dict(content)}, True)
        assert f"name: {revision_name(f'cm-{number}', hashed)}\n" in result.stdout
