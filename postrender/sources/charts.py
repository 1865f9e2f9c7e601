"""Charts on disk: check their paths, render them with helm, and find their configuration."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import takewhile

from postrender.config.find import FILE_NAME, find_config, shown_path
from postrender.config.settings import Settings
from postrender.errors import Finding, Location, UserError
from postrender.records import NamedTuple, grouped
from postrender.sources.paths import CHART_FILE, finish, helm_program, start
from postrender.text import printable
from postrender.yaml.stream import SOURCE_COMMENT, Stream, template_of

_COMMAND = "postrender try"
# The name of the release if Chart.yaml does not contain a valid name for a release.
_RELEASE = "release"
_VALID_RELEASE = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,51}[a-z0-9])?\Z")
# The line with the name in Chart.yaml.
_NAME_LINE = re.compile(r"(?m)^name:[ \t]*[\"']?([a-z0-9-]+)[\"']?[ \t]*(?:#.*)?$")
_MAJOR_VERSION = re.compile(rb"v?([0-9]{1,9})\.")
# The first major version of Helm that passes hooks to a post-renderer.
_FIRST_WITH_HOOKS = 4
# The search for the chart of a template reads at most this many folders.
_MOST_FOLDERS = 1_000
# The most characters of a Chart.yaml, and the most bytes in an archive, that are read.
_MOST_OF_CHART_FILE, _MOST_UNPACKED = 1 << 20, 100 << 20
_BLOCK = 512  # the unit of a tar file
# Every URL contains this text. helm downloads charts and values files from URLs.
_URL = "://"


class ChartOptions(NamedTuple):
    """The options of `postrender try` for helm template.

    namespace: "" for the default of helm.
    values, new_values: the files in --values and --new-values.
    sets, set_strings: the values in --set and --set-string.
    with_hooks: whether helm also prints hooks.
    """

    release: str
    namespace: str = ""
    values: tuple[str, ...] = ()
    new_values: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    set_strings: tuple[str, ...] = ()
    with_hooks: bool = True

    @property
    def changes(self) -> str:
        """The options of the change, such as `--new-values and --set` (also for --set-string)."""
        options = {"--new-values": self.new_values, "--set": self.sets or self.set_strings}
        return " and ".join(name for name, values in options.items() if values)

    @property
    def before_change(self) -> ChartOptions:
        return self._replace(new_values=(), sets=(), set_strings=())

    @property
    def redacted_arguments(self) -> list[str]:
        """The arguments with `…` in place of values that can be passwords."""
        redacted = self._replace(
            sets=tuple(map(_redact, self.sets)), set_strings=tuple(map(_redact, self.set_strings))
        )
        return redacted.arguments

    @property
    def arguments(self) -> list[str]:
        """The arguments of helm template, without the release and the chart."""
        return [
            *([f"--namespace={self.namespace}"] if self.namespace else []),
            *(f"--values={file}" for file in (*self.values, *self.new_values)),
            *(f"--set={value}" for value in self.sets),
            *(f"--set-string={value}" for value in self.set_strings),
            *([] if self.with_hooks else ["--no-hooks"]),
        ]


def _redact(assignment: str) -> str:
    return f"{assignment.partition('=')[0]}=…"


def release_name(chart: str) -> str:
    """The name in Chart.yaml, or `release` without a valid name in a readable Chart.yaml."""
    name = chart_name(chart)
    return name if _VALID_RELEASE.match(name) else _RELEASE


def chart_name(chart: str) -> str:
    """The name in Chart.yaml, "" without a name in a readable Chart.yaml.

    A link in a repository can lead to a device without an end, such as /dev/zero.
    """
    path = os.path.join(chart, CHART_FILE)
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            match = _NAME_LINE.search(file.read(_MOST_OF_CHART_FILE))
    except (OSError, ValueError):
        match = None
    return match[1] if match else ""


def find_unused_configuration(
    streams: Iterable[Stream], settings: Settings, config: str | None
) -> tuple[Finding, ...]:
    """The findings about charts that helm has rendered, and that have another configuration file.

    The output of helm does not contain the folder of a chart, so render cannot use the file.
    config: the file in --config, which is the decision of the user.
    """
    if config:
        return ()
    findings = []
    for chart in _charts_of({one for stream in streams for one in _templates(stream)}):
        try:
            source, _ = find_config(os.path.realpath(chart), is_untrusted=True)
        except UserError as error:
            location = error.location or Location(chart)
            findings.append(Finding("config-unused", error.problem, error.fix, location))
            continue
        if source and source.file != settings.file:
            used = settings.configuration or "no file"
            file, folder = printable(shown_path(source)), printable(chart)
            problem = f"Argo CD uses the file for the chart {folder}, but this command uses {used}"
            fix = f"If the release uses the file, pass --config={file}"
            findings.append(Finding("config-unused", problem, fix, Location(file)))
    return tuple(findings)


def _templates(stream: Stream) -> Iterable[str]:
    """The last template of each chart in the comments of helm, which is enough."""
    by_chart: dict[str, str] = {}
    known: tuple[str, ...] = ()
    for text in reversed(stream.texts):
        start = text.find(SOURCE_COMMENT)
        is_known = text.startswith(known, start) and text[start - 1 : start] in ("", "\n")
        if start >= 0 and not is_known:
            found = template_of(text)
            by_chart.setdefault(found.partition("/")[0], found)
            known = tuple(f"{SOURCE_COMMENT}{chart}/" for chart in by_chart)
    return by_chart.values()


def _charts_of(templates: Iterable[str]) -> Iterator[str]:
    """The folders of the charts, in the working directory or below, of these templates.

    templates: the paths in the comments of helm, such as `shop/templates/web.yaml`.
    """
    by_chart = grouped(
        (template for template in templates if "/" in template),
        lambda template: template.partition("/")[0],
    )
    if not by_chart:
        return
    waiting = deque(["."])
    for _ in range(_MOST_FOLDERS):
        folder = waiting.popleft() if waiting else None
        if folder is None:
            return
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        if any(entry.name == CHART_FILE for entry in entries):
            paths = (
                template.partition("/")[2] for template in by_chart.get(chart_name(folder), ())
            )
            if any(os.path.isfile(os.path.join(folder, path)) for path in paths):
                yield os.path.normpath(folder)
        waiting += [
            entry.path
            for entry in entries
            if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
        ]


def check_chart(chart: str) -> None:
    """Raise UserError for a path that is not a chart.

    helm downloads a URL, and every REPOSITORY/CHART that is not a path on disk.
    """
    location = Location(chart)
    if not chart:
        raise UserError("the path of the chart is empty", "Pass the folder of a chart")
    if _URL in chart:
        return
    if os.path.isdir(chart):
        if os.path.isfile(os.path.join(chart, CHART_FILE)):
            return
        if not os.access(chart, os.R_OK | os.X_OK):
            raise UserError(
                "postrender does not have permission to read the folder",
                "Permit your user to read the folder",
                location,
            )
        charts = _charts_in(chart)
        fix = f"Pass {' or '.join(charts)}" if charts else "Pass the folder of a chart"
        raise UserError("the folder does not contain Chart.yaml", fix, location)
    if os.path.isfile(chart):
        if chart.endswith((".tgz", ".tar.gz")):
            return
        fix = "Pass the chart's folder"
        if os.path.basename(chart) == CHART_FILE:
            fix = f"Pass the folder {os.path.dirname(chart) or '.'}"
        elif chart.endswith((".yaml", ".yml")):
            fix = "Pass the chart's folder, and pass a values file with -f"
        raise UserError("the path is a file, expected a chart folder or a .tgz file", fix, location)
    if chart.startswith((".", "/")) or "/" not in chart:
        raise UserError(
            "the path does not exist, expected a chart",
            "Pass the folder that contains Chart.yaml, or REPOSITORY/CHART",
            location,
        )


def has_archived_configuration(chart: str) -> bool:
    """Whether a chart is an archive with a postrender.yaml next to Chart.yaml."""
    if not os.path.isfile(chart):
        return False
    import zlib

    try:
        return any(name.split(b"/")[1:] == [FILE_NAME.encode()] for name in _names_in(chart))
    except (zlib.error, OSError, EOFError, ValueError):
        return False  # helm reports the problem


def _names_in(chart: str) -> Iterator[bytes]:
    """The names in a .tgz file.

    tarfile would read a whole header of any length, and would never end after a negative size.
    """
    import gzip

    with gzip.open(chart) as archive:
        for header in iter(lambda: archive.read(_BLOCK), b""):
            start, size = archive.tell(), header[124:136].strip(b" \0")
            end = start + int(size or b"0", 8)
            if not start <= end <= _MOST_UNPACKED:
                return  # helm refuses an archive of more than 100 MiB
            name, prefix = (part.partition(b"\0")[0] for part in (header[:100], header[345:500]))
            yield b"/".join(filter(None, (prefix, name)))
            archive.seek(end + -end % _BLOCK)


def check_values(files: tuple[str, ...]) -> None:
    """Raise UserError if a values file is `-` (stdin), or is not a file or a URL."""
    for file in files:
        if file == "-":
            raise UserError(
                "the values file is -, but postrender does not pass stdin to helm",
                "Write the values to a file, and pass the file",
            )
        if _URL in file or os.path.isfile(file):
            continue
        problem, fix = "does not exist", "Check the path"
        if os.path.isdir(file):
            problem = "is a folder"
        elif os.path.exists(file):
            problem = "is a pipe, and postrender does not pass pipes to helm"
            fix = "Write the values to a file"
        raise UserError(f"the values file {problem}", fix, Location(file))


def render_chart(chart: str, options: ChartOptions) -> bytes:
    """The output of helm template."""
    program = helm_program(_COMMAND)
    process = start([program, "template", *options.arguments, "--", options.release, chart])
    try:
        output, errors = finish(process)
    finally:
        process.kill()  # without effect on a process that has ended
    if process.returncode:
        raise _failure(chart, process.returncode, errors.decode("utf-8", "replace"))
    return output


def passes_hooks() -> bool:
    """Whether helm passes hooks to a post-renderer, as Helm 4 does and Helm 3 does not."""
    process = start([helm_program(_COMMAND), "version", "--template={{.Version}}"])
    output, _ = finish(process)
    version = _MAJOR_VERSION.match(output)
    return version is not None and int(version[1]) >= _FIRST_WITH_HOOKS


def _charts_in(folder: str) -> list[str]:
    """The paths of up to three charts that are directly in a folder."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    paths = (os.path.join(folder, name) for name in names)
    return [path for path in paths if os.path.isfile(os.path.join(path, CHART_FILE))][:3]


def _failure(chart: str, code: int, errors: str) -> UserError:
    message = _message(errors) or f"exit code {code}"
    return UserError(f"helm template failed: {message}", _fix(chart, message), Location(chart))


def _message(errors: str) -> str:
    """The first error message in the stderr of helm, or else the last line.

    The message ends before an empty line, or before a line that contains `[debug]`.
    """
    lines = errors.strip().splitlines()
    begin = next((n for n, line in enumerate(lines) if line.startswith("Error: ")), None)
    if begin is None:
        return lines[-1] if lines else ""
    message = takewhile(lambda line: line.strip() and "[debug]" not in line, lines[begin:])
    return " ".join(map(str.strip, message)).removeprefix("Error: ").rstrip(".")


def _fix(chart: str, message: str) -> str:
    if "helm dependency build" in message:
        return f"Run: helm dependency build {chart}"
    if message.startswith("repo ") and message.endswith(" not found"):
        return "Pass the path of the chart's folder, or add the repository with helm repo add"
    if "release name" in message:
        return "Pass another name with --release"
    if "--set" in message:
        return "Write the option --set as KEY=VALUE"
    if "failed to parse" in message:
        return "Fix the values file"
    return "Fix the chart, or use -f or --set to pass the values that the chart requires"
