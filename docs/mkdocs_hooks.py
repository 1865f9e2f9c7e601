"""The hooks of mkdocs: adapt pages that are written for GitHub. See mkdocs.yml."""

from __future__ import annotations

import csv
import itertools
import os
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
# `make site` downloads these scripts: mermaid draws diagrams, and the worker runs the search in a
# folder without a server. The pages load nothing from other servers.
SCRIPTS = {
    "mermaid.min.js": ROOT / ".cache" / "site" / "mermaid" / "package" / "dist" / "mermaid.min.js",
    "iframe-worker.js": ROOT / ".cache" / "site" / "worker" / "package" / "shim" / "index.js",
}
WORKER = "https://unpkg.com/iframe-worker/shim"
_LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")
_DATA = re.compile(r"<!-- data: (\S+) -->")
_ITEM = re.compile(r"\d+\. ")


def on_config(config: Any) -> None:
    """Set the address of the repository, and the menu of versions if mike builds the site."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    config.repo_url = re.findall(r'^Homepage = "(.+)"$', project, re.M)[0]
    config.repo_name = "Source"
    if os.environ.get("MIKE_DOCS_VERSION"):
        config.extra["version"] = {"provider": "mike"}
    config.extra_javascript.insert(0, "mermaid.min.js")


def on_files(files: Any, config: Any) -> None:
    """Add the scripts."""
    for name, path in SCRIPTS.items():
        files.append(File.generated(config, name, abs_src_path=str(path)))


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Return a page with its tables of data, and with links to files outside of docs/."""
    folder = posixpath.dirname(page.file.src_uri)
    text = _LINK.sub(lambda match: _link(match, folder, config.repo_url), markdown)
    text = _DATA.sub(lambda match: _table(ROOT / "docs" / "data" / match[1]), text)
    return "\n".join(_indented(text.splitlines()))


def on_page_content(html: str, **_: Any) -> str:
    """Return a page whose table cells have bars without a backslash, and unbroken short code."""
    text = re.sub(r"<t[dh]>.*?</t[dh]>", lambda match: _cell(match[0]), html, flags=re.S)
    return re.sub(r"<table>.*?</table>", lambda match: _labelled(match[0]), text, flags=re.S)


def _labelled(table: str) -> str:
    """Return a table whose cells have the heads of their columns, for the style on a phone."""
    heads = [re.sub("<[^>]*>", "", head) for head in re.findall(r"<th>(.*?)</th>", table, re.S)]
    numbers = itertools.cycle(range(len(heads)))
    return re.sub("<td>", lambda _: f'<td data-head="{heads[next(numbers)]}">', table)


def _table(file: Path) -> str:
    """Return a file of data as a table, which the search of the site finds."""
    with file.open(encoding="utf-8", newline="") as lines:
        head, *rows = (
            [re.sub(r"([\\|*_<`])", r"\\\1", cell) for cell in row] for row in csv.reader(lines)
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def _cell(html: str) -> str:
    text = html.replace("\\|", "|")
    return re.sub(r"<code>(?=[^<\s]{1,14}</code>)", '<code class="short">', text)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Return a page that loads the worker of the search from the site, and names the search."""
    text = output.replace(WORKER, "../" * page.url.count("/") + "iframe-worker.js")
    return text.replace('role="dialog"', 'role="dialog" aria-label="Search"')


def _link(match: re.Match[str], folder: str, repository: str) -> str:
    target = match[1]
    path = posixpath.normpath(posixpath.join("docs", folder, target))
    if "://" in target or path.startswith("docs/"):
        return match[0]
    kind = "tree" if (ROOT / path).is_dir() else "blob"
    return f"]({repository}/{kind}/main/{path})"


def _indented(lines: list[str]) -> list[str]:
    """Return lines in which numbered items have the four spaces that mkdocs requires."""
    in_list = False
    result = []
    for line in lines:
        in_list = bool(_ITEM.match(line)) or (in_list and (not line or line.startswith("   ")))
        is_content = in_list and line.startswith("   ")
        result.append(f" {line}" if is_content else line)
    return result
