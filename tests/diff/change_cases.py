"""The change cases in tests/changes, and runs of the program on them.

A case is a folder with these files:

- `old.yaml` and `new.yaml` (or `new.json`): the two sides;
- `options.txt`, optional: arguments on one line;
- `postrender.yaml`, optional;
- `facts.txt`: the facts that a preview must report, written by hand;
- the expected output of each format, and of dyff for some cases.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest

from postrender.cli import main
from postrender.diff.build import compare
from postrender.diff.model import Preview

ATTACHER_IMAGE = "registry.example.com/postrender:1"
CHANGES = Path(__file__).resolve().parents[1] / "changes"

# Comparison by similarity is wrong in these ten cases: see tests/diff/COMPARISON.md.
PAIRS = (
    "two-configmaps-swap-their-values",
    "one-key-grows-from-12-to-60-lines",
    "the-base-name-is-renamed",
    "only-the-image-changes",
    "the-same-name-in-two-namespaces",
    "a-checksum-object-changes",
    "secrets-change",
    "a-rollout-takes-its-template-from-a-deployment",
    "objects-in-a-list",
    "a-configmap-moves-to-another-workload",
)


class Result(NamedTuple):
    """The exit code and the output of a run."""

    code: int
    stdout: str
    stderr: str


class Case(NamedTuple):
    """One folder of tests/changes."""

    folder: Path

    @property
    def name(self) -> str:
        """The name of the folder, which describes the case."""
        return self.folder.name

    @property
    def old(self) -> str:
        """The name of the file with the older side."""
        return next(path.name for path in self.folder.glob("old.*"))

    @property
    def new(self) -> str:
        """The name of the file with the newer side."""
        return next(path.name for path in self.folder.glob("new.*"))

    @property
    def options(self) -> list[str]:
        """The arguments for both `diff` and `render`."""
        file = self.folder / "options.txt"
        return shlex.split(file.read_text("utf-8")) if file.exists() else []

    def expected(self, name: str) -> str:
        """Return the text of a file of the case."""
        return (self.folder / name).read_bytes().decode()


def cases() -> list[Case]:
    return [Case(folder) for folder in sorted(CHANGES.iterdir()) if folder.is_dir()]


def case_named(name: str) -> Case:
    return Case(CHANGES / name)


def diff(case: Case, *options: str, folder: Path | None = None, swapped: bool = False) -> Result:
    """Run `postrender diff` on the two sides of a case, in a folder that has their files."""
    sides = [case.new, case.old] if swapped else [case.old, case.new]
    return run(["diff", *case.options, *options, *sides], folder or case.folder)


def rendered(case: Case, folder: Path, *which: str, attached: bool = False) -> Path:
    """Write the sides of a case into a folder; which: the sides to render, "old" or "new"."""
    for name in (case.old, case.new):
        is_rendered = name.split(".")[0] in which
        text = _render(case, name, attached) if is_rendered else case.expected(name)
        (folder / name).write_bytes(text.encode())
    configuration = case.folder / "postrender.yaml"
    if configuration.exists():
        shutil.copy(configuration, folder)
    (folder / ".git").mkdir(exist_ok=True)  # stops the search for postrender.yaml
    return folder


@functools.cache
def _render(case: Case, name: str, attached: bool) -> str:
    image = ["--attacher-image", ATTACHER_IMAGE]
    attacher = image if attached else ["--no-attacher"]
    done = run(["render", *case.options, *attacher, name], case.folder)
    assert done.code == 0, done.stderr
    return done.stdout


def run(arguments: list[str], folder: Path) -> Result:
    """Run the program in this process, in a folder, with 80 columns."""
    errors = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as output,
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
    ):
        for name in [name for name in os.environ if name.startswith("POSTRENDER_")]:
            patch.delenv(name)
        patch.setenv("COLUMNS", "80")
        patch.chdir(folder)
        code = main.run(arguments)
        output.seek(0)
        text = output.read()
    return Result(code, text, errors.getvalue())


@contextlib.contextmanager
def one_comparison() -> Iterator[None]:
    """Compare the sides only in the first run of `diff`: each run prints this preview."""
    previews: list[Preview] = []

    def compare_once(*arguments: Any, **named: Any) -> Preview:
        if not previews:
            previews.append(compare(*arguments, **named))
        return previews[0]

    with mock.patch("postrender.cli.diff.compare", compare_once):
        yield
