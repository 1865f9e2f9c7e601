"""Paths: the manifests in a folder on disk or in git, errors about paths, and programs on PATH."""

from __future__ import annotations

import os
from collections.abc import Iterable

from postrender.config.find import FILE_NAME
from postrender.errors import Location, UserError
from postrender.yaml.stream import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from subprocess import Popen
    from typing import IO

# The prefix of an input in git: `git:REF:PATH`.
GIT = "git:"
# The start of a Helm release in an argument, `helm:NAMESPACE/RELEASE`.
HELM = "helm:"
# The endings of the file names of manifests.
ENDINGS = (".yaml", ".yml", ".json")
CHART_FILE = "Chart.yaml"
_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")

# The most bytes of the output of a program that postrender reads, and those of its messages.
MAX_OUTPUT = 256 << 20
_MAX_ERRORS = 1 << 20
_PART = 1 << 20

_LFS_POINTER = b"version https://git-lfs.github.com/spec/"


def manifests_of(paths: Iterable[str], folder: str) -> list[str]:
    """The sorted paths of the manifests in a folder, without dotfiles.

    Chart templates are not manifests. A chart, or a chart with templates below, is a ChartError.

    paths: of all files below the folder, relative, with `/` between the parts.
    folder: for messages.
    """
    manifests = sorted(path for path in paths if path.endswith(ENDINGS) and not is_dotfile(path))
    for path in manifests:
        chart, slash, file = path.rpartition("/")
        templates = f"{chart}{slash}templates/"
        if file == CHART_FILE and (
            not chart or any(manifest.startswith(templates) for manifest in manifests)
        ):
            raise chart_error(path_below(folder, chart) if chart else folder)
    return manifests


class ChartError(UserError):
    """A chart folder where postrender expects rendered manifests.

    chart: the folder, which can be below that of the input.
    """

    def __init__(self, chart: str, fix: str) -> None:
        super().__init__(f"{chart} is a chart folder, expected rendered manifests", fix)
        self.chart = chart


def chart_error(chart: str, command: str = "") -> ChartError:
    """The error for a chart folder.

    command: the postrender command in the fix, such as `render`, "" to suggest a file instead.
    """
    path, place = chart, ""
    if chart.startswith(GIT):
        ref, _, path = chart[len(GIT) :].partition(":")
        place = f" in a checkout of {ref}"
    helm = f"helm template NAME {path or '.'}"
    fix = f"Render the chart{place} to a file and pass the file: {helm} > FILE"
    if command:
        fix = f"Render the chart first{place}: {helm} | postrender {command}"
    # Argo CD uses this file, but a command that reads rendered manifests does not know the chart.
    if not place and os.path.isfile(os.path.join(path, FILE_NAME)):
        fix += f". Also pass --config={os.path.join(path, FILE_NAME)}"
    return ChartError(chart, fix)


def folder_error(folder: str, command: str = "") -> UserError:
    """The error for a folder where postrender expects one file.

    command: the postrender command in the fix for a kustomization, such as `render`.
    """
    if command and any(os.path.isfile(os.path.join(folder, name)) for name in _KUSTOMIZATIONS):
        return UserError(
            "the folder is a kustomization, expected rendered manifests",
            f"Build the folder first: kustomize build {folder} | postrender {command}",
            Location(folder),
        )
    return UserError(
        "the path is a folder, expected a file",
        "Pass a file in the folder, or pipe all files into stdin",
        Location(folder),
    )


def path_below(folder: str, path: str) -> str:
    """The path of a file in a folder, which is a path or `git:REF:PATH`."""
    return f"{folder}{path}" if folder.endswith((":", "/")) else f"{folder}/{path}"


def checked_source(name: str, data: bytes) -> Source:
    """A file as a Source. A Git LFS pointer is an error."""
    if data.startswith(_LFS_POINTER):
        raise UserError(
            "the file is a Git LFS pointer, expected the content of the file",
            "Run git lfs pull, and pass the file on disk"
            if name.startswith(GIT)
            else "Run git lfs pull",
            Location(name),
        )
    return Source(name, data)


def is_dotfile(path: str) -> bool:
    """Whether the file or a folder in a relative path begins with a dot."""
    return path.startswith(".") or "/." in path


# The endings of programs on Windows. The list does not contain the endings of batch files, because
# a shell would interpret the arguments of a batch file.
_WINDOWS_ENDINGS = (".exe", ".com")
_IS_WINDOWS = os.name == "nt"


def find_program(name: str) -> str | None:
    """The absolute path of a program on PATH.

    The working directory can be a stranger's repository. Therefore, relative folders of PATH do not
    count, nor, on Windows and unlike in shutil.which, the working directory.
    """
    endings = _WINDOWS_ENDINGS if _IS_WINDOWS else ()
    has_ending = not endings or name.lower().endswith(endings)
    files = [name] if has_ending else [name + ending for ending in endings]
    for folder in os.get_exec_path():
        if not os.path.isabs(folder):
            continue
        for file in files:
            path = os.path.join(folder, file)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return None


def helm_program(needed_by: str) -> str:
    """The path of helm, or of the program in HELM_BIN, which may be a path.

    needed_by: the option or command that needs helm, for the message.
    """
    # When Helm starts postrender, Helm sets HELM_BIN to the word with which the user started helm.
    program = os.environ.get("HELM_BIN") or "helm"
    path = program if os.path.dirname(program) else find_program(program)
    if path:
        return path
    if program != "helm":
        raise _unstartable(program, "the program is not on PATH")
    raise UserError(
        f"{needed_by} needs helm, which is not on PATH",
        "Install helm, or set the variable HELM_BIN to the path of helm",
    )


def start(command: Sequence[str]) -> Popen[bytes]:
    """Start a program with an empty stdin, and with pipes for stdout and stderr."""
    from subprocess import DEVNULL, PIPE, Popen

    try:
        return Popen(command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    except (OSError, ValueError) as error:  # ValueError: a NUL in an option
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise _unstartable(command[0], reason or "unknown error") from None


def finish(process: Popen[bytes], data: bytes = b"") -> tuple[bytes, bytes]:
    """Pass the data to a program, wait for its end, and return its stdout and stderr.

    A small git repository can list one folder millions of times, and a small release of Helm can
    unpack to gigabytes. A program that prints more than MAX_OUTPUT is ended, with a UserError.
    """
    from threading import Thread

    errors: list[bytes] = []

    def read_errors(pipe: IO[bytes]) -> None:
        errors.append(pipe.read(_MAX_ERRORS))
        while pipe.read(_PART):
            pass

    def write(pipe: IO[bytes]) -> None:
        try:
            with pipe:
                pipe.write(data)
        except OSError:
            pass  # a program need not read all of its input

    threads = [
        Thread(target=work, args=(pipe,), daemon=True)
        for work, pipe in ((read_errors, process.stderr), (write, process.stdin))
        if pipe
    ]
    for thread in threads:
        thread.start()
    parts: list[bytes] = []
    size = 0
    try:
        while process.stdout and (part := process.stdout.read(_PART)):
            parts.append(part)
            size += len(part)
            if size > MAX_OUTPUT:
                raise UserError(
                    f"a program has printed more than {MAX_OUTPUT >> 20} MiB, which is the limit "
                    "for what postrender reads of git and helm",
                    "Pass a part of the manifests, such as one folder",
                )
    except BaseException:
        # A child of the program can hold its stderr open, and a join would wait for the child.
        process.kill()
        process.wait()
        raise
    for thread in threads:
        thread.join()
    process.wait()
    return b"".join(parts), b"".join(errors)


def _unstartable(program: str, reason: str) -> UserError:
    return UserError(
        f"postrender cannot start {program} ({reason})",
        "Set the variable HELM_BIN to the path of helm",
    )
