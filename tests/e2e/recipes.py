"""The recipes of docs/how-to/migrate.md, run as written there.

A recipe is a folder `migrations/NAME` with the folders `before` and `after`, each a chart or
manifests. The commands are the blocks of the page that begin with `# TITLE`. A test replaces names
on the page: `prod` becomes the namespace of the test. `helm` is Helm 3 or Helm 4.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

from tests.e2e.cluster import ControlPlane
from tests.e2e.plugins import write_script
from tests.e2e.programs import HERE, ROOT, program
from tests.e2e.releases import Done, Release, run

PAGE = ROOT / "docs" / "how-to" / "migrate.md"
RECIPES = HERE / "migrations"
# Shell functions for `validates = False`.
WITHOUT_SCHEMAS = """
helm() {
  case $1 in install | upgrade) set -- "$@" --disable-openapi-validation ;; esac
  command helm "$@"
}
kubectl() {
  case $1 in apply) set -- "$@" --validate=false ;; esac
  command kubectl "$@"
}
"""


class Recipe(Release):
    """One recipe in a namespace; the applied files are in the folder `chart`, as on the page.

    `names` maps words of the page to their replacements in commands.
    """

    def __init__(
        self, title: str, tool: str, plane: ControlPlane, namespace: str, folder: Path
    ) -> None:
        super().__init__(tool, plane, namespace, folder)
        self.title = title
        self.names = {"prod": namespace}
        self.write_config()
        self._write_programs()
        shutil.copytree(RECIPES / title / "before", folder / "chart-before")
        self._use("before")

    def use_after(self) -> None:
        """Replace the folder `chart` by the result of the recipe."""
        self._use("after")

    def go_back(self) -> None:
        """Restore the first content of the folder `chart`."""
        self._use("before")

    def _use(self, state: str) -> None:
        shutil.rmtree(self.folder / "chart", ignore_errors=True)
        shutil.copytree(RECIPES / self.title / state, self.folder / "chart")

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace a text, which must occur once, in a file of the folder `chart`."""
        path = self.folder / "chart" / file
        text = path.read_text()
        assert text.count(old) == 1, text
        path.write_text(text.replace(old, new))

    def write_config(self) -> None:
        """Write `config` for the next commands."""
        self._write_config()

    def run(self, title: str, check: bool = True) -> Done:
        """Run the commands of the page under a title."""
        return self.run_text(commands(title), check)

    def run_text(self, text: str, check: bool = True) -> Done:
        """Run commands that are written as on the page."""
        for word, replacement in self.names.items():
            text = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", replacement, text)
        text = text if self.validates else WITHOUT_SCHEMAS + text
        command = ["bash", "-euo", "pipefail", "-c", text]
        return run(command, env=self._env(), folder=self.folder, check=check)

    def _write_programs(self) -> None:
        """Write the programs that the page calls, in addition to helm and postrender."""
        programs = {"kubectl": [program("kubernetes"), "kubectl"], "kapp": _kapp()}
        for name, command in programs.items():
            write_script(self._script.parent / name, f'exec {shlex.join(command)} "$@"')


def _kapp() -> list[str]:
    """Return the command for the real kapp if there is one, otherwise for the stand-in."""
    kapp = os.environ.get("POSTRENDER_E2E_KAPP")
    stand_in = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.e2e.kapp"]
    return [kapp] if kapp else stand_in


def commands(title: str) -> str:
    """Return the block of the page with a title."""
    blocks: list[str] = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    matching = [block for block in blocks if block.startswith(f"# {title}\n")]
    assert len(matching) == 1, f"{len(matching)} blocks of {PAGE.name} begin with `# {title}`"
    return matching[0]
