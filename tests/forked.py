"""postrender in a fork of the test process, which costs a tenth of a new interpreter.

The program gets its own arguments, environment, folder, stdin, stdout and stderr, and ends the fork
as it ends a process.
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

import jsonschema  # noqa: F401

from postrender.__main__ import main
from postrender.cli.options import COMMANDS, load

# Import what the program would import late, so that no fork has to.
for _name in COMMANDS:
    load(_name)

BROKEN = 99


def run_fork(
    arguments: Sequence[str], data: bytes, variables: Mapping[str, str], folder: Path | str = "."
) -> tuple[int, bytes, bytes]:
    """Return the exit code, stdout and stderr of a run. As in a shell, stdout is a pipe."""
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stderr:
        stdin.write(data)
        stdin.seek(0)
        reader, writer = os.pipe()
        process = os.fork()
        if not process:
            _run(arguments, variables, folder, (stdin.fileno(), writer, stderr.fileno()))
        os.close(writer)
        with open(reader, "rb") as stdout:
            output = stdout.read()
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        stderr.seek(0)
        errors = stderr.read()
    assert code != BROKEN, errors.decode()
    return code, output, errors


def _run(
    arguments: Sequence[str], variables: Mapping[str, str], folder: Path | str, files: Sequence[int]
) -> None:
    """Run the program, and end this process."""
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
        sys.stdin, sys.stdout, sys.stderr = map(open, range(3), "rww")
        sys.argv = ["postrender", *arguments]
        os.environ.clear()
        os.environ.update(variables)
        tempfile.tempdir = None  # a new process looks at $TMPDIR
        os.chdir(folder)
        main()
    except SystemExit as end:  # click ends a completion in this way
        sys.stdout.flush()
        os._exit(int(end.code or 0))
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(BROKEN)
