"""Golden cases of `postrender render`: an input, the options and the exact output.

Most cases are one file, `tests/fixtures/NAME.yaml`, in sections that begin with a marker line:

    #### options: --secrets
    #### input
    #### output
    #### stderr

The options default to --no-attacher. Options may begin with the name of a command, such as `fn`;
the default is `render`. Only cases whose name begins with `never-deleted-` print the
finding `never-deleted`. An empty output or stderr has no section.

A case is a folder if it needs more files, or bytes that a text editor would not keep. A folder has
these files, of which only the input is required:

- `input.yaml` or `input.json`
- `expected.yaml`
- `stderr.txt`
- `options.txt`
- `postrender.yaml`, passed with --config
- `previous.yaml`, passed with --previous
- `hash-key.txt`, passed with --secrets-hash-key-file
- `not-stable.txt`, the reason why a second pass changes the output

A run exits with 1 if stderr has a line that begins with `error: `, and else with 0.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.manifests import Obj

FIXTURES = Path(__file__).resolve().parent / "fixtures"
DEFAULT_OPTIONS = b"--no-attacher"

_MARKER = re.compile(rb"^#### (options|input|output|stderr)(?:: *([^\n]*))?\n", re.M)
_SECTIONS = {"input": "input.yaml", "output": "expected.yaml", "stderr": "stderr.txt"}
_PASSED = {
    "--config": "postrender.yaml",
    "--previous": "previous.yaml",
    "--secrets-hash-key-file": "hash-key.txt",
}


@dataclass(frozen=True)
class Case:
    """One golden case: a file or a folder of tests/fixtures."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the case, which describes it."""
        return self.path.stem if self.path.is_file() else self.path.name

    @cached_property
    def files(self) -> dict[str, bytes]:
        """The contents by file name, as a folder would hold them."""
        if self.path.is_dir():
            return {file.name: file.read_bytes() for file in self.path.iterdir()}
        return _read_sections(self.path.read_bytes())

    @property
    def input(self) -> bytes:
        """The bytes on stdin."""
        return self.files["input.yaml" if "input.yaml" in self.files else "input.json"]

    @property
    def expected(self) -> bytes:
        """The expected bytes on stdout."""
        return self.files.get("expected.yaml", b"")

    @property
    def stderr(self) -> str:
        """The expected text on stderr."""
        return self.files.get("stderr.txt", b"").decode()

    @property
    def is_error(self) -> bool:
        """True if the run must fail."""
        return any(line.startswith("error: ") for line in self.stderr.splitlines())

    @property
    def needs_files(self) -> bool:
        """True if the program reads files of the case, so that it must run in the case's folder."""
        return not self.files.keys().isdisjoint(_PASSED.values())

    @property
    def command(self) -> str:
        """The command of the run."""
        return self._words[0] if self._has_command else "render"

    @property
    def options(self) -> list[str]:
        """The arguments of the run, after the command."""
        passed = [f"{option}={name}" for option, name in _PASSED.items() if name in self.files]
        return [*passed, *(self._words[1:] if self._has_command else self._words)]

    @property
    def _words(self) -> list[str]:
        return shlex.split(self.files.get("options.txt", DEFAULT_OPTIONS).decode())

    @property
    def _has_command(self) -> bool:
        return bool(self._words) and not self._words[0].startswith("-")

    @property
    def config(self) -> Obj:
        """The values of the configuration file of the case."""
        text = self.files.get("postrender.yaml")
        values: Any = YAML(typ="safe").load(text) if text else {}
        return dict(values)

    def update(self, stdout: bytes, stderr: str) -> bool:
        """Write the output of a run as the expected output, and return whether that changed."""
        results = {"expected.yaml": stdout, "stderr.txt": stderr.encode()}
        if all(self.files.get(name, b"") == content for name, content in results.items()):
            return False
        updated = {name: content for name, content in {**self.files, **results}.items() if content}
        if self.path.is_file():
            self.path.write_bytes(_write_sections(updated))
            return True
        for name in results:
            (self.path / name).unlink(missing_ok=True)
            if name in updated:
                (self.path / name).write_bytes(updated[name])
        return True


def cases() -> list[Case]:
    """Return all golden cases, sorted by name."""
    paths = [path for path in FIXTURES.iterdir() if path.is_dir() or path.suffix == ".yaml"]
    return sorted(map(Case, paths), key=lambda case: case.name)


def _read_sections(text: bytes) -> dict[str, bytes]:
    """Return the sections of a case file, by the file name that a folder would use."""
    markers = [*_MARKER.finditer(text)]
    ends = [marker.start() for marker in markers[1:]] + [len(text)]
    files: dict[str, bytes] = {}
    for marker, end in zip(markers, ends, strict=True):
        section = marker[1].decode()
        if section == "options":
            files["options.txt"] = (marker[2] or b"").strip() + b"\n"
        else:
            files[_SECTIONS[section]] = text[marker.end() : end]
    return files


def _write_sections(files: dict[str, bytes]) -> bytes:
    """Return the text of a case file."""
    options = files.get("options.txt")
    parts = [] if options is None else [(b"#### options: " + options).rstrip() + b"\n"]
    for section, name in _SECTIONS.items():
        if name in files:
            parts.append(b"#### " + section.encode() + b"\n" + files[name])
    text = b"".join(parts)
    if _read_sections(text) != files:
        raise ValueError("the output does not fit into one file: make the case a folder")
    return text
