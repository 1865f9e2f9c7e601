"""The build of the packages: a README whose links work on PyPI, and the commit of the sources."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).resolve().parent
PICTURES = (".png", ".svg")


def published(readme: str, homepage: str, version: str) -> str:
    """The README for a page outside of the repository: with absolute links and no diagrams."""

    def absolute(match: re.Match[str]) -> str:
        folder = "raw" if match[1].endswith(PICTURES) else "blob"
        return f"]({homepage}/{folder}/v{version}/{match[1]}"

    readme = re.sub(r"^<!--.*?-->\n", "", readme, flags=re.M | re.S)
    # PyPI shows the source of a diagram, so its description replaces the diagram.
    diagram = r"^```mermaid\n.*?accTitle: ([^\n]*)\n.*?^```\n"
    readme = re.sub(diagram, r"*\1*\n", readme, flags=re.M | re.S)
    return re.sub(r"\]\((?!\w+:|#)([^)\s]+)", absolute, readme)


class Readme(MetadataHookInterface):
    """Makes the links of the README absolute."""

    def update(self, metadata: dict[str, Any]) -> None:
        source = (ROOT / "postrender" / "__init__.py").read_text("utf-8")
        version = source.partition('__version__ = "')[2].partition('"')[0]
        readme = (ROOT / "README.md").read_text("utf-8")
        text = published(readme, metadata["urls"]["Homepage"], version)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class Commit(BuildHookInterface[Any]):
    """Adds the commit to a package that is built in a repository. An sdist contains the file."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sys.path.insert(0, str(ROOT))
        from postrender.cli.version import COMMIT_FILE, git_commit

        name = f"postrender/{COMMIT_FILE}"
        file = ROOT / name
        if not file.exists() and version != "editable":
            self.folder = tempfile.TemporaryDirectory()  # until the end of the build
            file = Path(self.folder.name, COMMIT_FILE)
            commit = git_commit(str(ROOT))
            file.write_text(f"{commit}\n" if commit else "", "ascii")
        if file.exists() and file.stat().st_size:
            build_data["force_include"][str(file)] = name
