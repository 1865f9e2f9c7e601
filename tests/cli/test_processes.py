"""Whole runs: bad input, and the manners of a program in a pipe."""

from __future__ import annotations

import errno
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from postrender.cli.report import workflow_command
from postrender.cli.version import git_commit
from postrender.errors import Location
from tests.forked import run_fork

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "postrender")
# A fork of this process instead of a new process.
FORK = ("fork",)
IMAGE = "registry.example/attacher:1"
TIMEOUT = 180

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  key: välue\n"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    spec:
      containers:
      - name: main
        envFrom:
        - configMapRef:
            name: app
"""
GOOD = f"---\n{CONFIG_MAP}---\n{DEPLOYMENT}"
NAMELESS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n"


@dataclass(frozen=True)
class Run:
    """How a process ended."""

    code: int
    out: bytes
    err: str

    @property
    def errors(self) -> list[str]:
        """The lines on stderr that are errors."""
        return [line for line in self.err.splitlines() if line.startswith("error: ")]


def environment(**variables: str) -> dict[str, str]:
    """Return what a child needs to run at all, nothing of this test run's own settings."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    given = {
        "PYTHONPATH": str(ROOT),
        "POSTRENDER_ATTACHER_IMAGE": IMAGE,
        "POSTRENDER_GROUP": "app",
    }
    return {**kept, "HOME": str(Path.cwd()), **given, **variables}


def run(
    data: str | bytes = "",
    *arguments: str,
    command: tuple[str, ...] = FORK,
    variables: Mapping[str, str] | None = None,
) -> Run:
    """Run the program on data; it must end in time. A command of its own is a new process."""
    if command is FORK:
        given = data.encode() if isinstance(data, str) else data
        code, out, err = run_fork(arguments, given, environment(**(variables or {})))
        return Run(code, out, err.decode(errors="replace"))
    done = subprocess.run(
        [*command, *arguments],
        input=data.encode() if isinstance(data, str) else data,
        capture_output=True,
        env=environment(**(variables or {})),
        timeout=TIMEOUT,
        check=False,
    )
    return Run(done.returncode, done.stdout, done.stderr.decode(errors="replace"))


def run_in_shell(redirection: str, data: str | bytes = GOOD, *arguments: str) -> Run:
    """Run the program with a redirection of the shell's."""
    return run(data, *arguments, command=("sh", "-c", f'exec "$@" {redirection}', "sh", *COMMAND))


def run_python(code: str, data: str = GOOD, **variables: str) -> Run:
    """Run the program after some Python code of the test's."""
    code = f"{code}\nfrom postrender.cli.main import main\nmain()"
    return run(data, command=(sys.executable, "-c", code), variables=variables)


def assert_refused(done: Run, *parts: str) -> None:
    """Check that a run ended with one error line that holds all parts, and nothing else."""
    assert done.code == 2, done.err
    assert done.out == b""
    assert len(done.err.splitlines()) == len(done.errors) == 1, done.err
    assert "Traceback" not in done.err
    for part in parts:
        assert part in done.err


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder beyond which no configuration is looked for."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- bad input -----------------------------------------------------------------------------------

OTHER = CONFIG_MAP.replace("app", "other")

BAD: dict[str, tuple[str | bytes, tuple[str, ...]]] = {
    "broken YAML in the third document": (
        f"---\n{CONFIG_MAP}---\n{DEPLOYMENT}---\nkind: ConfigMap\nmetadata: [\ndata: {{}}\n",
        ("<stdin>:2", "(document 3)", "not valid YAML"),
    ),
    "a template's name": (
        f"---\n# Source: shop/templates/cm.yaml\n{CONFIG_MAP}  broken\n",
        ("(document 1, shop/templates/cm.yaml)", "not valid YAML"),
    ),
    "a tab as indent": (
        f"---\n{CONFIG_MAP}---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: other\n",
        ("<stdin>:12 (document 2)", "not valid YAML"),
    ),
    "an unclosed quote": (
        f'{CONFIG_MAP}  other: "open\n',
        ("<stdin>:7 (document 1)", "not valid YAML", "quote that opens here"),
    ),
    "an unclosed bracket": (
        f"{CONFIG_MAP}  other: [open\n---\n{DEPLOYMENT}",
        ("(document 1)", "not valid YAML"),
    ),
    "data that is not a string": (
        f"---\n{OTHER}---\n{CONFIG_MAP}  port: 8080\n---\n{DEPLOYMENT}",
        ("<stdin>:15 (document 2", "data.port", "expected a string", "quotes"),
    ),
    "data that is a list": (
        GOOD.replace("\n  key: välue", " [a]"),
        ("<stdin>:6 (document 1", "data: the value is a list, expected a mapping"),
    ),
    "a name that is not a string": (
        GOOD.replace("name: app\ndata", "name: 12\ndata").replace("name: app", "name: '12'"),
        ("<stdin>:5 (document 1", "metadata.name", "expected a string"),
    ),
    "a label that is not a string": (
        GOOD.replace("app\n", "app\n  labels: {enabled: true}\n", 1),
        ("<stdin>:6 (document 1", "metadata.labels.enabled", "expected a string"),
    ),
    "a reference that is not a string": (
        GOOD.replace("            name: app", "            name: [app]"),
        ("<stdin>:20 (document 2", "envFrom[0].configMapRef.name", "a list"),
    ),
    "two objects with one identity": (
        f"---\n{CONFIG_MAP}---\n{CONFIG_MAP.replace('välue', 'another')}",
        (
            "<stdin>:9 (document 2",
            "the input contains ConfigMap/app twice",
            "<stdin>:2 (document 1",
        ),
    ),
    "an anchor conflict": (
        f"---\n{CONFIG_MAP}---\n"
        + DEPLOYMENT.replace("name: web", "name: &x app").replace("  name: app", "  name: *x"),
        (
            "<stdin>:12 (document 2, Deployment/app)",
            "envFrom[0].configMapRef.name",
            "metadata.name",
            "alias",
        ),
    ),
    "invalid UTF-8": (
        GOOD.encode().replace(b"web", b"w\xe4b"),
        ("<stdin>:12 (document 2)", "0xe4", "UTF-8"),
    ),
    "UTF-16": (GOOD.encode("utf-16"), ("<stdin>:1",)),
    "a NUL": (f"---\n{CONFIG_MAP}  other: a\0b\n", ("<stdin>:8 (document 1)", "NUL")),
    "a stream cut in a word": (
        f"{GOOD}---\napiVersion: v1\nkind: Config",
        ("<stdin>:21 (document 3)", "ends in the middle"),
    ),
    "a stream cut after a key": (f"{GOOD}---\napiVersion: v1\nkind:", ("(document 3)",)),
    "one brace": ("{", ("(document 1)", "not valid YAML")),
    "one bracket": ("[", ("(document 1)", "not valid YAML")),
    "JSON cut in the middle": (
        '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "app',
        ("(document 1)",),
    ),
    "an unknown strategy": (
        CONFIG_MAP.replace("app\n", "app\n  annotations: {postrender/strategy: renam}\n"),
        ("<stdin>:1 (document 1, ConfigMap/app)", 'is "renam", expected one of "rename"'),
    ),
    "a directive in the middle of a document": (
        f"{CONFIG_MAP}%YAML 1.1\n---\n{DEPLOYMENT}",
        ("(document 1)", "not valid YAML"),
    ),
    "a mapping as a key": (
        f"{CONFIG_MAP}  ? {{a: b}}\n  : c\n",
        ("<stdin>:7 (document 1, ", "key"),
    ),
    "an unknown alias": (f"{CONFIG_MAP}  other: *nobody\n", ("<stdin>:7 (document 1)", "alias")),
    "empty": ("", ("<stdin>", "--allow-empty")),
    "white space": (" \n\n\t\n", ("<stdin>", "--allow-empty")),
    "comments": ("# Source: nothing\n---\n# nothing\n...\n", ("<stdin>", "--allow-empty")),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    data, parts = BAD[name]
    assert_refused(run(data), *parts)


DEEP = {
    "10,000 brackets": "[" * 10_000 + "]" * 10_000,
    "100,000 brackets": "[" * 100_000 + "]" * 100_000,
    "100,000 open brackets": "[" * 100_000,
    "1,900 brackets": "[" * 1_900 + "]" * 1_900,
    "100,000 braces": "{a: " * 100_000 + "}" * 100_000,
    "100,000 dashes": "\n  " + "- " * 100_000 + "a",
    "100,000 dashes with two spaces": "\n  " + "-  " * 100_000 + "a",
    "50,000 keys and dashes": "\n  " + "? - " * 50_000 + "a",
    "100,000 explicit keys": "\n  " + "? " * 100_000 + "a",
    "2,000 indents": "\n" + "".join(" " * depth + "a:\n" for depth in range(1, 2_000)),
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_nesting_is_refused(name: str) -> None:
    done = run(f"---\n{NAMELESS}deep: {DEEP[name]}\n", command=COMMAND)
    assert_refused(done, "(document 1)", "nested levels")


@pytest.mark.parametrize("depth", [490, 990, 1_500])
@pytest.mark.parametrize("pair", ["[]", "{}"])
def test_nesting_near_the_limit_is_not_a_bug(depth: int, pair: str) -> None:
    deep = ("[" if pair == "[]" else "{a: ") * depth + pair[1] * depth
    stream = f"---\n{CONFIG_MAP}---\n{DEPLOYMENT}x: &x a\ny: *x\ndeep: {deep}\n"
    done = run(stream, command=COMMAND)
    if done.code != 0:
        assert_refused(done, "(document 2)", "nested levels")


def test_nesting_within_the_limit_is_taken() -> None:
    deep = "deep: " + "{a: " * 190 + "}" * 190
    done = run(f"---\n{CONFIG_MAP}---\n{DEPLOYMENT}x: &x a\ny: *x\n{deep}\n", command=COMMAND)
    assert (done.code, done.err) == (0, "")
    assert deep.encode() in done.out


def test_a_document_of_50_mb_is_refused() -> None:
    data = f"---\n{CONFIG_MAP}  big: " + "x" * 50_000_000 + f"\n---\n{DEPLOYMENT}"
    assert_refused(run(data), "<stdin>:1 (document 1)", "33,554,432")


def test_a_document_of_50_mb_without_references_is_passed_on() -> None:
    big = "---\napiVersion: v1\nkind: CustomResourceDefinition\nx: " + "x" * 50_000_000 + "\n"
    done = run(big)
    assert (done.code, done.err) == (0, "")
    assert done.out == big.encode()


def _bomb(levels: int) -> str:
    letters = "abcdefghijklm"[: levels + 1]
    first = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    return first + "".join(
        f"{after}: &{after} [{', '.join([f'*{before}'] * 10)}]\n"
        for before, after in pairwise(letters)
    )


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"{CONFIG_MAP}---\n{NAMELESS}{_bomb(12)}", ("(document 2)", "aliases", "values")),
        (f"{CONFIG_MAP}---\n{DEPLOYMENT}{_bomb(8)}", ("(document 2)", "aliases", "values")),
        (
            f"{NAMELESS}loop: &loop [*loop]\n",
            ("<stdin>:4", "contains an alias of the anchor itself"),
        ),
        (
            f"{NAMELESS}loop: &a\n  b: &b [*a]\n",
            ("<stdin>:", "contains an alias of the anchor itself"),
        ),
        (
            NAMELESS.replace("{", "&loop {<<: *loop, "),
            ("<stdin>:3", "contains an alias of the anchor itself"),
        ),
    ],
    ids=["bomb in a ConfigMap", "bomb in a workload", "loop", "loop through two", "merge loop"],
)
def test_aliases_that_never_end(text: str, parts: tuple[str, ...]) -> None:
    assert_refused(run(text), *parts)


def test_a_reference_rule_that_matches_a_mapping(folder: Path) -> None:
    rules = 'references:\n- kind: Deployment\n  path: "spec.template.spec.containers[]"\n'
    (folder / "postrender.yaml").write_text(rules)
    done = run(GOOD)
    assert_refused(done, "<stdin>:17 (document 2", "references[0]", "a mapping")


def test_an_error_in_a_file_has_the_name_of_the_file(folder: Path) -> None:
    (folder / "in.yaml").write_text(
        f"{CONFIG_MAP}  port: 8080\n---\n{DEPLOYMENT}", encoding="utf-8"
    )
    assert_refused(run("", "render", "in.yaml"), "error: in.yaml:7 (document 1")
    assert_refused(run("", "explain", "in.yaml"), "error: in.yaml:7 (document 1")


@pytest.mark.parametrize(
    ("name", "start"),
    [("text", b"ConfigMap/"), ("json", b"{"), ("mermaid", b"flowchart ")],
)
def test_an_explanation_in_each_format(name: str, start: bytes) -> None:
    done = run(GOOD, "explain", "--format", name)
    assert done.code == 0
    assert done.out.startswith(start)
    # A graph has no room for the configuration.
    note = "note: postrender does not use a configuration file.\n"
    assert done.err == (note if name == "mermaid" else "")


LATE = """
import os, select
reader, writer = os.pipe()
os.set_blocking(reader, False)
os.dup2(reader, 0)
parts = [b"kind: ConfigMap\\n", b"data: {}\\n"]

def wait(*_):
    os.write(writer, parts.pop(0)) if parts else os.close(writer)

for _ in range(FIRST):
    wait()
select.select = wait
from postrender.sources.inputs import _read_file
print(_read_file("-").data.decode())
"""


@pytest.mark.parametrize("first", range(3))
def test_a_non_blocking_stdin_is_read_to_its_end(first: int) -> None:
    """Python would read only the parts that have arrived, such as the first of two."""
    script = LATE.replace("FIRST", str(first))
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout.decode() == "kind: ConfigMap\ndata: {}\n\n"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("none.yaml", "postrender cannot read"),
        (".", "the path is a folder, expected a file"),
        ("none\udcff.yaml", "postrender cannot read"),
    ],
)
def test_an_input_file_that_cannot_be_read(name: str, problem: str) -> None:
    assert_refused(run("", "render", name, "--log-file", "log"), problem)
    assert problem in Path("log").read_text(encoding="utf-8", errors="replace")


def test_a_previous_file_with_an_impossible_name(folder: Path) -> None:
    (folder / "postrender.yaml").write_text('history: {previous: "a\\0b"}\n')
    done = run(GOOD, "--config=postrender.yaml")
    assert_refused(done, "postrender cannot read the file", "null byte")
    assert_refused(run(GOOD), "must not read files outside the repository")


def test_an_error_leaves_stdout_empty_even_after_findings() -> None:
    hook = DEPLOYMENT.replace("name: main", "name: main\n        args: [--config=app]")
    done = run(f"---\n{CONFIG_MAP}---\n{hook}", "--strict")
    assert (done.code, done.out) == (1, b"")
    finding, summary = done.errors
    assert finding.endswith("[by-name]")
    assert "1 finding (line 18) is an error, because strict is true" in summary


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n...\n", "\n"])
def test_empty_input_that_is_allowed(text: str) -> None:
    for done in (
        run(text, "--allow-empty"),
        run(text, variables={"POSTRENDER_ALLOW_EMPTY": "1"}),
    ):
        assert (done.code, done.out, done.err) == (0, text.encode(), "")


# --- pipes ---------------------------------------------------------------------------------------


def test_stdout_closed() -> None:
    assert_refused(run_in_shell(">&-"), "<stdout>", "postrender cannot write the output")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", [(), ("explain",), ("config", "schema"), ("config", "show")])
def test_stdout_full(arguments: tuple[str, ...]) -> None:
    assert_refused(
        run_in_shell(">/dev/full", GOOD, *arguments),
        "<stdout>",
        "postrender cannot write the output",
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", ["--help", "--version", "render --help", "config -h"])
def test_help_on_a_full_stdout_is_an_error(arguments: str) -> None:
    done = run_in_shell(">/dev/full", "", *arguments.split())
    assert_refused(done, "<stdout>", "postrender cannot write the output")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_completion_on_a_full_stdout_is_an_error() -> None:
    variables = {"_POSTRENDER_COMPLETE": "bash_source"}
    command = ("sh", "-c", 'exec "$@" >/dev/full', "sh", *COMMAND)
    assert_refused(
        run("", command=command, variables=variables),
        "<stdout>",
        "postrender cannot write the output",
    )


def test_an_invalid_variable_is_reported_although_stdin_can_be_read_only_once() -> None:
    done = run(GOOD, "adopt", variables={"IS_IN_CLUSTER": "perhaps"})
    assert (done.code, done.out) == (2, b"")
    assert 'IS_IN_CLUSTER is "perhaps"' in done.err


def run_unread(data: bytes, *arguments: str) -> Run:
    """Run the program with a closed pipe on stdout."""
    with subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as child:
        assert child.stdout is not None
        child.stdout.close()
        child.stdout = None
        _, err = child.communicate(data, TIMEOUT)
    return Run(child.returncode, b"", err.decode())


def test_a_reader_that_closes_the_pipe() -> None:
    done = run_unread(GOOD.encode() + b"# comment\n" * 100_000)
    assert_refused(done, "<stdout>", "Broken pipe")


def test_a_help_whose_reader_has_seen_enough() -> None:
    for arguments in (("--help",), ("render", "-h"), ("--version",)):
        assert run_unread(b"", *arguments) == Run(0, b"", "")


@pytest.mark.parametrize("arguments", [("diff", "-"), ("explain",)], ids=" ".join)
def test_a_pager_that_is_left_early(arguments: tuple[str, ...], tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(GOOD.replace("name: app", "name: other"), "utf-8")
    files = [str(other)] if "diff" in arguments else []
    done = run_unread(GOOD.encode(), *arguments, *files)
    assert (done.code, "Broken pipe" in done.err) == (0, False), done.err


# stdin, stdout and stderr remain.
LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3)); "


@pytest.mark.parametrize(
    ("imports", "problem"),
    [
        ("from postrender.__main__ import main", "Python cannot load postrender ("),
        (
            "from postrender.cli.main import main",
            "a limit of this process or machine is reached (",
        ),
    ],
)
def test_a_limit_on_open_files_is_an_error(imports: str, problem: str) -> None:
    done = run_python(f"import sys; {imports}; sys.argv[1:] = ['render']; {LIMIT}main()")
    assert_refused(done, problem, "Too many open files", "Raise the limit (ulimit -a)")


def test_the_version_needs_no_other_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(subprocess, "run", refuse)
    assert git_commit(str(ROOT)) == ""


def test_stdin_closed() -> None:
    assert_refused(run_in_shell("<&-"), "<stdin>", "closed")


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_a_full_stderr(redirection: str) -> None:
    if "full" in redirection and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    expected = run(GOOD)
    done = run_in_shell(redirection, GOOD)
    assert done.code == expected.code == 0
    assert b"name: app-" in done.out
    assert run_in_shell(redirection, "kind: [").code == 2
    assert run_in_shell(redirection, GOOD, "--no-such-flag").code == 2


@pytest.mark.parametrize(
    ("words", "expected"), [((), b"\n  explain "), (("render",), b"\n  --previous ")]
)
def test_a_terminal_on_stdin_prints_help(words: tuple[str, ...], expected: bytes) -> None:
    """Without a word, the help lists the commands."""
    main, side = pty.openpty()
    try:
        done = subprocess.run(
            [*COMMAND, *words],
            stdin=side,
            capture_output=True,
            env=environment(),
            timeout=TIMEOUT,
            check=False,
        )
    finally:
        os.close(main)
        os.close(side)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"Usage: postrender")
    assert expected in done.stdout


@pytest.mark.parametrize(("no_color", "is_coloured"), [("", True), ("1", False)])
def test_colours_on_a_terminal(no_color: str, is_coloured: bool) -> None:
    main, side = pty.openpty()
    try:
        done = subprocess.run(
            COMMAND,
            input=b"kind: [",
            stdout=subprocess.PIPE,
            stderr=side,
            env=environment(NO_COLOR=no_color),
            timeout=TIMEOUT,
            check=False,
        )
        text = os.read(main, 65536)
    finally:
        os.close(main)
        os.close(side)
    assert done.returncode == 2
    assert text.count(b"error: ") == 1
    assert (b"\x1b[" in text) == is_coloured


def test_a_pipe_does_not_get_colours() -> None:
    assert "\x1b" not in run("kind: [").err


# --- signals -------------------------------------------------------------------------------------


def wait_until_asleep(pid: int) -> None:
    """Wait until a process waits for something, or for a moment where /proc does not tell."""
    file = Path(f"/proc/{pid}/stat")
    if not file.exists():
        time.sleep(0.3)
    while file.exists() and file.read_text().rpartition(")")[2].split()[0] != "S":
        time.sleep(0.01)


@contextmanager
def waiting_for_input() -> Iterator[subprocess.Popen[bytes]]:
    """Start the program and return when it reads from stdin."""
    with subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        # A test that runs in the background may ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as child:
        assert child.stdin is not None
        # More than a pipe holds: this returns when the other side has begun to read.
        child.stdin.write(b"# comment\n" * 200_000)
        child.stdin.flush()
        # Python sees a signal only when a blocked read is interrupted: let it block again.
        wait_until_asleep(child.pid)
        try:
            yield child
        finally:
            child.kill()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)]
)
def test_a_signal_while_waiting_on_stdin(number: signal.Signals, code: int) -> None:
    with waiting_for_input() as child:
        child.send_signal(number)
        # The pipe stays open: it must be the signal that ends it.
        assert child.wait(TIMEOUT) == code
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.read() == b""
        assert b"Traceback" not in child.stderr.read()


# --- a bug ---------------------------------------------------------------------------------------

BUG = """
import postrender.cli.render
def make_plan(*_):
    raise ZeroDivisionError("provoked")
postrender.cli.render.make_plan = make_plan
"""


def test_a_bug_writes_a_report(folder: Path) -> None:
    done = run_python(BUG, TMPDIR=str(folder))
    assert (done.code, done.out) == (3, b"")
    assert len(done.err.splitlines()) == len(done.errors) == 1
    assert "Traceback" not in done.err
    (report,) = folder.glob("postrender-*.txt")
    assert str(report) in done.err
    text = report.read_text()
    assert "ZeroDivisionError: provoked" in text
    assert "välue" not in text


WITH_CLICK = "import postrender.cli.main as m; m._run_without_click = lambda _: None"


@pytest.mark.parametrize("prepare", ["", WITH_CLICK])
def test_an_unexpected_os_error_is_not_an_error_of_stdout(folder: Path, prepare: str) -> None:
    bug = BUG.replace("ZeroDivisionError(", "PermissionError(13, ")
    done = run_python(prepare + bug, TMPDIR=str(folder))
    assert (done.code, done.out) == (3, b"")
    assert "postrender has a bug, so this run failed" in done.err
    assert "stdout" not in done.err


def test_a_bug_where_no_report_can_be_written() -> None:
    nowhere = 'import tempfile; tempfile.tempdir = "/nonexistent"'
    done = run_python(nowhere + BUG)
    assert (done.code, done.out) == (3, b"")
    assert len(done.err.splitlines()) == len(done.errors) == 1
    assert "Traceback" not in done.err


def test_a_bug_with_stderr_closed(folder: Path) -> None:
    done = run_python("import sys; sys.stderr = None" + BUG, TMPDIR=str(folder))
    assert (done.code, done.out, done.err) == (3, b"", "")


# --- the configuration ---------------------------------------------------------------------------

CONFIGS: dict[str, tuple[str, tuple[str, ...]]] = {
    "an unknown key": (
        "strict: true\nsecret: true\n",
        ("postrender.yaml:2", "secret: the key is unknown", '"secrets"'),
    ),
    "an unknown key inside": (
        "attacher:\n  enabled: true\n  imag: x\n",
        ("postrender.yaml:3", "attacher.imag", '"image"'),
    ),
    "an unknown key with a value below": (
        "attatcher:\n  image: x\n",
        ("postrender.yaml:1 attatcher", '"attacher"'),
    ),
    "an unknown key in a list": (
        "rules:\n- match: {kinds: ConfigMap}\n  strategy: ignore\n",
        ("postrender.yaml:2", "rules[0].match.kinds", '"kind"'),
    ),
    "no YAML": ("rules: [\n", ("postrender.yaml:1", "not valid YAML", "[ or { is not closed")),
    "a list": ("- strict: true\n", ("postrender.yaml:1", "expected a mapping")),
    "a string": ("strict\n", ("postrender.yaml:1", "expected a mapping")),
    "a wrong type": ("# comment\nstrict: 'yes'\n", ("postrender.yaml:2 strict", "true or false")),
    "a number": ("namespace: 12\n", ("postrender.yaml:1 namespace", "string")),
    "a wrong strategy": (
        "rules:\n- strategy: renam\n",
        ("postrender.yaml:2 rules[0].strategy", 'is "renam"'),
    ),
    "no strategy": ("rules:\n- match: {}\n", ("postrender.yaml:2", "strategy")),
    "a path that is none": (
        "references:\n- kind: App\n  path: spec..name\n",
        ("postrender.yaml", "references[0].path", "spec..name"),
    ),
    "a key twice": ("strict: true\nstrict: false\n", ("postrender.yaml:2", '"strict"')),
    "two documents": ("strict: true\n---\nstrict: false\n", ("postrender.yaml:",)),
    "a self-containing anchor": ("rules: &a [*a]\n", ("postrender.yaml:1", "alias")),
    "a control character": ("namespace: \x01\n", ("postrender.yaml:1", "not valid YAML")),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_bad_configuration(name: str, folder: Path) -> None:
    text, parts = CONFIGS[name]
    (folder / "postrender.yaml").write_text(text)
    assert_refused(run(GOOD), *parts)


def test_a_configuration_that_is_not_utf_8(folder: Path) -> None:
    (folder / "postrender.yaml").write_bytes(b"namespace: \xff\n")
    assert_refused(run(GOOD), "postrender.yaml", "UTF-8")


def test_a_configuration_that_does_not_exist() -> None:
    assert_refused(run(GOOD, "--config", "none.yaml"), "none.yaml", "postrender cannot read")


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "{}\n"])
def test_an_empty_configuration(text: str, folder: Path) -> None:
    (folder / "postrender.yaml").write_text(text)
    assert run(GOOD) == run(GOOD, "--config", os.devnull)


@contextmanager
def open_folder() -> Iterator[Path]:
    """Make a folder into which other users may go; the tests' own are closed to them."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


AS_NOBODY = """
import os
import importlib
import postrender.cli.main, postrender.cli.render
os.setgid(65534)
os.setuid(65534)
"""


@needs_root
def test_a_configuration_that_may_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_folder() as folder:
        (folder / "postrender.yaml").write_text("strict: true\n")
        (folder / "postrender.yaml").chmod(0)
        monkeypatch.chdir(folder)
        assert_refused(run_python(AS_NOBODY), "postrender.yaml", "Permission denied")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_configuration_that_may_not_be_read_by_us(folder: Path) -> None:
    (folder / "postrender.yaml").write_text("strict: true\n")
    (folder / "postrender.yaml").chmod(0)
    assert_refused(run(GOOD), "postrender.yaml", "Permission denied")


@needs_root
def test_a_folder_above_that_may_not_be_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_folder() as folder:
        (folder / "closed" / "work").mkdir(parents=True)
        (folder / "closed").chmod(0o700)
        monkeypatch.chdir(folder / "closed" / "work")
        done = run_python(AS_NOBODY)
        assert done.code == 0, done.err


def test_the_configuration_is_found_upward_to_the_first_git(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "postrender.yaml").write_text("namespace: outer\n")
    (folder / "repository" / "deep" / "deeper").mkdir(parents=True)
    monkeypatch.chdir(folder / "repository" / "deep" / "deeper")
    assert b"namespace: outer" in run("", "config", "show").out
    (folder / "repository" / ".git").write_text("gitdir: elsewhere\n")
    assert b"namespace: outer" not in run("", "config", "show").out
    (folder / "repository" / "postrender.yaml").write_text("namespace: inner\n")
    assert b"namespace: inner" in run("", "config", "show").out


def _shown(*arguments: str, **variables: str) -> str:
    done = run("", "config", "show", *arguments, variables=variables)
    assert done.code == 0, done.err
    found = re.search(r"^namespace: (.*?)  # ", done.out.decode(), re.M)
    assert found is not None
    return found[1].strip("'\"")


def test_command_line_over_environment_over_file_over_default(folder: Path) -> None:
    assert _shown() == ""
    (folder / "postrender.yaml").write_text("namespace: file\n")
    assert _shown() == "file"
    assert _shown(POSTRENDER_NAMESPACE="environment") == "environment"
    assert _shown("--namespace", "option", POSTRENDER_NAMESPACE="environment") == "option"
    (folder / "other.yaml").write_text("namespace: other\n")
    assert _shown(POSTRENDER_CONFIG="other.yaml") == "other"
    assert _shown("--config", "postrender.yaml", POSTRENDER_CONFIG="other.yaml") == "file"
    assert _shown("--config", "postrender.yaml", "--config", "other.yaml") == "other"


@pytest.mark.parametrize(
    ("option", "variable"),
    [
        ("secrets", "SECRETS"),
        ("strict", "STRICT"),
        ("keepOriginal", "KEEP_ORIGINAL"),
        ("allowEmpty", "ALLOW_EMPTY"),
    ],
)
def test_switches_in_the_environment(option: str, variable: str, folder: Path) -> None:
    flag = "--no-" + variable.lower().replace("_", "-")
    variables = {f"POSTRENDER_{variable}": "true"}
    on, off = f"\n{option}: true  # ".encode(), f"\n{option}: false  # ".encode()
    assert on not in run("", "config", "show").out
    assert on in run("", "config", "show", variables=variables).out
    assert off in run("", "config", "show", flag, variables=variables).out
    (folder / "postrender.yaml").write_text(f"{option}: true\n")
    assert off in run("", "config", "show", variables={f"POSTRENDER_{variable}": "0"}).out


# --- usage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--no-such-flag",), "--no-such-flag"),
        (("rendr",), "rendr"),
        (("out/app.yaml", "--strict"), "run: postrender render out/app.yaml"),
        (("config", "shwo"), "shwo"),
        (("schema", "render"), "render"),
        (("render", "a.yaml", "b.yaml"), "b.yaml"),
        (("--namespace",), "--namespace"),
        (("explain", "--format", "xml"), "xml"),
        (("--strict=maybe",), "--strict"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], part: str) -> None:
    done = run(GOOD, *arguments)
    assert (done.code, done.out) == (2, b"")
    assert part in done.err
    assert "Traceback" not in done.err


def test_an_invalid_switch_in_the_environment() -> None:
    done = run(GOOD, variables={"POSTRENDER_STRICT": "maybe"})
    assert (done.code, done.out) == (2, b"")
    assert "maybe" in done.err


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("render", "--group"),
        ("render", "--attacher-image"),
        ("explain", "--group"),
        ("config show", "--namespace"),
        ("config rbac", "--namespace"),
        ("adopt", "--namespace"),
        ("attach", "--group"),
        ("try", "--set"),
    ],
)
def test_an_option_that_is_not_utf_8(command: str, option: str) -> None:
    chart = ("chart",) if command == "try" else ()
    done = run(GOOD, *command.split(), *chart, option, "a\udcff")
    assert_refused(done, f"the value of {option}", "is not UTF-8. Write the value in UTF-8.")


@pytest.mark.parametrize(
    "variable", ["POSTRENDER_GROUP", "POSTRENDER_NAMESPACE", "ARGOCD_APP_NAME"]
)
def test_a_variable_that_is_not_utf_8(variable: str) -> None:
    assert_refused(run(GOOD, variables={variable: "a\udcff"}), variable, "is not UTF-8")


def test_a_path_that_is_not_utf_8(folder: Path) -> None:
    path = folder / "a\udcff.yaml"
    path.write_text(GOOD)
    assert run("", "render", str(path), "--log-file", f"{path}.log").code == 0
    done = run("", "diff", "--format", "json", str(path), str(path))
    assert done.code == 0
    assert json.loads(done.out)["old"].endswith("a\ufffd.yaml")
    done = run("", "config", "init", f"{path}.init")
    assert (done.code, done.out.decode()) == (0, f"postrender created {folder}/a\ufffd.yaml.init\n")


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("config", "schema"), "config"),
        (("schema", "diff"), "preview"),
        (("schema", "explain"), "explain"),
    ],
)
def test_a_schema(arguments: tuple[str, ...], name: str) -> None:
    done = run("", *arguments)
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["$id"] == f"urn:postrender:{name}:1"


@pytest.mark.parametrize("arguments", [("--help",), ("render", "--help"), ("config", "--help")])
def test_help(arguments: tuple[str, ...]) -> None:
    done = run("", *arguments)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(b"Usage: postrender")


def test_version() -> None:
    done = run("", "--version")
    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(
        rb"postrender \d+\.\d+\.\d+( \(commit [0-9a-f]{12}(-dirty)?\))?\n", done.out
    )


# --- check ---------------------------------------------------------------------------------------

READ_BY_NAME = GOOD.replace("name: main", "name: main\n        args: [--config=app]")


def test_check_reads_every_file_and_fails_for_any(folder: Path) -> None:
    contents = {"a.yaml": READ_BY_NAME, "b.yaml": "kind: [", "c.yaml": GOOD, "d.yaml": READ_BY_NAME}
    for name, text in contents.items():
        (folder / name).write_text(text, encoding="utf-8")
    done = run("", "check", *contents)
    assert (done.code, done.out) == (2, b"")  # b.yaml is not YAML
    assert re.findall(r"^error: (\S+):\d+ .*\[by-name\]$", done.err, re.M) == ["a.yaml", "d.yaml"]
    files = dict.fromkeys(line.split(":")[1].strip() for line in done.errors)
    assert list(files)[:-1] == ["a.yaml", "b.yaml", "d.yaml"]
    assert done.errors[-1].startswith("error: 2 findings in 2 files are errors.")


def test_check_of_manifests_without_findings_does_not_print(folder: Path) -> None:
    (folder / "good.yaml").write_text(GOOD, encoding="utf-8")
    (folder / "comment.yaml").write_text("# nothing yet\n", encoding="utf-8")
    assert run("", "check", "good.yaml", "comment.yaml") == Run(0, b"", "")


def test_check_of_stdin() -> None:
    done = run(READ_BY_NAME, "check")
    assert "--strict" not in done.err
    assert "1 finding (line 18) is an error" in done.err
    assert (done.code, done.out) == (1, b"")
    assert "[by-name]" in done.err


def test_check_refuses_empty_inputs_and_accepts_an_empty_file_next_to_others(folder: Path) -> None:
    assert_refused(run("", "check"), "<stdin>: the input is empty", "--allow-empty")
    assert run("", "check", "--allow-empty").code == 0
    (folder / "comments.yaml").write_text("# nothing\n")
    assert_refused(run("", "check", "comments.yaml"), "comments.yaml: the input is empty")
    assert run("", "check", "--allow-empty", "comments.yaml").code == 0
    (folder / "app.yaml").write_text(GOOD)
    assert run("", "check", "comments.yaml", "app.yaml").code == 0


def test_check_finds_leftovers_in_manifests_that_are_rendered_already() -> None:
    rendered = run(GOOD).out.decode()
    assert run(rendered, "check") == Run(0, b"", "")
    done = run(rendered.replace("name: main", "name: main\n        args: [--config=app]"), "check")
    assert done.code == 1
    assert '"app", but the output contains ConfigMap/app only under another name' in done.err


def test_check_finds_keys_that_pods_use_but_that_are_not_there() -> None:
    variable = "env: [{name: A, valueFrom: {configMapKeyRef: {name: app, key: %s}}}]"
    used, missing, optional = (
        GOOD.replace("name: main", f"name: main\n        {variable % key}")
        for key in ("key", "nope", "nope, optional: true")
    )
    assert run(used, "check").code == 0
    assert run(optional, "check").code == 0
    done = run(missing, "check")
    assert done.code == 1
    assert "the key nope of ConfigMap/app does not exist" in done.err


def test_check_of_a_name_in_prose_reports_the_name_and_passes() -> None:
    done = run(GOOD.replace("välue", "see app for more"), "check")
    assert done.code == 0
    assert "[leftover]" in done.err


# --- GitHub Actions ------------------------------------------------------------------------------

JOB = {"GITHUB_ACTIONS": "true"}


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Return workflow commands as GitHub's runner reads them (actions/runner, ActionCommand.cs)."""
    found = []
    for line in text.splitlines():
        assert line.startswith("::"), line
        head, data = line[2:].split("::", 1)
        level, _, given = head.partition(" ")
        pairs = (each.split("=", 1) for each in given.split(","))
        properties = {name: unescaped(value, "\r\n:,%") for name, value in pairs}
        found.append((level, properties, unescaped(data, "\r\n%")))
    return found


def unescaped(text: str, characters: str) -> str:
    for character in characters:
        text = text.replace(f"%{ord(character):02X}", character)
    return text


def test_github_shows_a_finding_next_to_its_line(folder: Path) -> None:
    (folder / "app.yaml").write_text(READ_BY_NAME, encoding="utf-8")
    plain = run("", "render", "app.yaml").err
    done = run("", "render", "app.yaml", variables=JOB)
    assert done.code == 0
    [(level, properties, text)] = commands(done.err)
    assert level == "warning"
    assert properties == {"file": "app.yaml", "line": "18", "title": "postrender: by-name"}
    assert f"warning: {text}\n" == plain


def test_github_shows_findings_that_fail_a_run_as_errors(folder: Path) -> None:
    (folder / "app.yaml").write_text(READ_BY_NAME, encoding="utf-8")
    found = commands(run("", "check", "app.yaml", variables=JOB).err)
    titles = [(level, properties["title"]) for level, properties, _ in found]
    assert titles == [
        ("notice", "postrender"),
        ("error", "postrender: by-name"),
        ("error", "postrender"),
    ]


def test_github_finds_a_file_from_a_folder_of_the_repository(folder: Path) -> None:
    name = "50%25, or:: so.yaml"
    (folder / "apps").mkdir()
    text = f"{CONFIG_MAP}  port: 12%\n  more: 12\n---\n{DEPLOYMENT}"
    (folder / "apps" / name).write_text(text, encoding="utf-8")
    variables = {**JOB, "GITHUB_WORKSPACE": str(folder)}
    script = 'cd apps && exec "$@"'
    done = run("", "check", name, command=("sh", "-c", script, "sh", *COMMAND), variables=variables)
    [(level, properties, text)] = commands(done.err)
    assert (level, properties["file"], properties["line"]) == ("error", f"apps/{name}", "8")
    assert text.startswith(f"{name}:8 ")


def test_github_does_not_get_files_outside_the_repository(folder: Path) -> None:
    (folder / "app.yaml").write_text(READ_BY_NAME, encoding="utf-8")
    (folder / "repository").mkdir()
    variables = {**JOB, "GITHUB_WORKSPACE": str(folder / "repository")}
    [(_, properties, _)] = commands(run("", "render", "app.yaml", variables=variables).err)
    assert properties == {"title": "postrender: by-name"}


def test_github_does_not_get_a_file_on_another_drive(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows has no relative path between two drives."""

    def relpath(*_: object) -> str:
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    monkeypatch.setattr(os.path, "relpath", relpath)
    location = Location(str(folder / "app.yaml"), line=3)
    (folder / "app.yaml").touch()
    text = workflow_command("warning", "postrender", "a text", location)
    assert text == "::warning title=postrender::a text"


def test_github_shows_the_template_of_a_stream_if_the_template_is_a_file(folder: Path) -> None:
    stream = f"---\n# Source: shop/templates/cm.yaml\n{CONFIG_MAP}  port: 12\n---\n{DEPLOYMENT}"
    [(_, properties, text)] = commands(run(stream, variables=JOB).err)
    assert properties == {"title": "postrender"}
    assert text.startswith("<stdin>:9 (document 1, shop/templates/cm.yaml, ConfigMap/app)")
    (folder / "shop" / "templates").mkdir(parents=True)
    (folder / "shop" / "templates" / "cm.yaml").write_text("")
    [(_, properties, _)] = commands(run(stream, variables=JOB).err)
    assert properties == {"file": "shop/templates/cm.yaml", "title": "postrender"}


def test_github_does_not_get_commands_in_the_log_file_or_on_stdout(folder: Path) -> None:
    done = run(READ_BY_NAME, "--log-file", "log.txt", variables=JOB)
    assert "::" not in (folder / "log.txt").read_text(encoding="utf-8")
    assert done.out == run(READ_BY_NAME).out


# --- the log file --------------------------------------------------------------------------------


def test_the_log_file_gets_findings_and_errors(folder: Path) -> None:
    log = folder / "log.txt"
    log.write_text("before\n")
    stream = GOOD.replace("name: main", "name: main\n        args: [--config=app]")
    done = run(stream, "--log-file", str(log))
    assert done.code == 0
    assert "[by-name]" in done.err
    note = "note: postrender does not use a configuration file.\n"
    logged = f"before\n{note}{done.err}"
    assert log.read_text() == logged
    failed = run("kind: [", variables={"POSTRENDER_LOG_FILE": str(log)})
    assert failed.code == 2
    assert log.read_text(encoding="utf-8") == logged + note + failed.err


def test_the_log_file_gets_errors_outside_of_the_input(folder: Path) -> None:
    log = folder / "log.txt"
    for options in (["--secrets", "--secrets-hash-key-file=absent"], ["--previous=absent.yaml"]):
        log.unlink(missing_ok=True)
        failed = run(GOOD, *options, f"--log-file={log}")
        assert failed.code == 2
        assert log.read_text(encoding="utf-8").endswith(failed.err)
        assert failed.err.startswith("error: ")


def test_the_log_file_is_not_a_manifest(folder: Path) -> None:
    manifest = folder / "app.yaml"
    manifest.write_text(GOOD, encoding="utf-8")
    done = run("", "render", "app.yaml", "--log-file=app.yaml")
    assert_refused(done, "app.yaml: the log file ends in .yaml like a manifest", "postrender.log")
    assert manifest.read_text(encoding="utf-8") == GOOD


def test_explain_and_the_log_file_show_the_configuration(folder: Path) -> None:
    (folder / "postrender.yaml").write_text("logFile: log.txt\n")
    note = "note: postrender uses the configuration postrender.yaml.\n"
    config = "--config=postrender.yaml"
    assert run(GOOD, "explain", config).out.endswith(b"\nConfiguration: postrender.yaml\n")
    assert run(GOOD, "explain", "-omermaid", config).err == note
    assert run(GOOD, "explain", "-omermaid", config, "--quiet").err == ""
    assert run(GOOD, "explain", "-omermaid", config, "--verbose").err.count(note) == 1
    assert run(GOOD, config).err == ""
    assert (folder / "log.txt").read_text() == 5 * note


@pytest.mark.parametrize(
    ("name", "used", "unused"),
    [
        ("text", "\nConfiguration: {}\n", "\nNo configuration file\n"),
        ("json", '"configuration": "{}"', '"configuration": ""'),
    ],
)
def test_explain_and_diff_show_the_configuration(
    folder: Path, name: str, used: str, unused: str
) -> None:
    (folder / "app.yaml").write_text(GOOD)
    (folder / "below").mkdir()
    for command in (["explain", "app.yaml"], ["diff", "app.yaml", "app.yaml"]):
        assert unused in run("", *command, f"--format={name}").out.decode()
        (folder / "below" / "postrender.yaml").touch()
        done = run("", *command, f"--format={name}", "--config=below")
        assert used.format("below/postrender.yaml") in done.out.decode()
        (folder / "below" / "postrender.yaml").unlink()


def test_the_path_of_the_configuration_is_harmless(folder: Path) -> None:
    for name in ("a\x1b[31m", "b\udcff"):
        (folder / name).mkdir()
        (folder / name / "postrender.yaml").touch()
        for form in ("text", "json"):
            done = run(GOOD, "explain", f"--format={form}", f"--config={name}")
            assert (done.code, done.err) == (0, "")
            assert b"postrender.yaml" in done.out
            assert b"\x1b" not in done.out


@pytest.mark.parametrize("name", ["markdown", "html"])
def test_a_shared_preview_shows_the_configuration(folder: Path, name: str) -> None:
    (folder / "app.yaml").write_text(GOOD)
    preview = ["diff", "app.yaml", "app.yaml", f"--format={name}"]
    assert "No configuration file" in run("", *preview).out.decode()
    (folder / "postrender.yaml").touch()
    text = run("", *preview).out.decode()
    assert "Configuration: " in text
    assert str(folder) not in text


def test_a_folder_in_config_has_the_rights_of_a_search(folder: Path) -> None:
    """Unlike with --config=FILE, the author of the folder can be a stranger."""
    (folder / "chart").mkdir()
    file = folder / "chart" / "postrender.yaml"
    assert run(GOOD, "--config=chart").code == 0
    file.write_text("logFile: log.txt\n")
    assert_refused(run(GOOD, "--config=chart"), f"{file}:1 ", "must not write files")
    file.write_text("strict: true\n")
    show = run("", "config", "show", "--config=chart", "--untrusted").out.decode()
    assert f"# {file} (the file can change only the output)" in show


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_a_configuration_that_is_not_a_file_is_an_error(folder: Path, kind: str) -> None:
    """Docker creates a folder for a volume whose file does not exist."""
    path = folder / "postrender.yaml"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    assert_refused(run(GOOD), f"{path}: the path is a folder or a pipe, expected a file")
    assert run(GOOD, f"--config={os.devnull}").code == 0


@pytest.mark.parametrize(
    ("command", "where"),
    [
        *(("explain", where) for where in ("shop", "chart", "services/web/chart")),
        *((command, "shop") for command in ("check", "diff - app.yaml")),
    ],
)
def test_the_configuration_of_a_rendered_chart_is_a_finding(
    folder: Path, command: str, where: str
) -> None:
    chart = folder / where
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("name: shop\n")
    (chart / "templates" / "a.yaml").touch()
    (chart / "postrender.yaml").write_text("strict: true\n")
    text = f"---\n# Source: shop/templates/a.yaml\n{GOOD}"
    arguments = command.split()
    (folder / "app.yaml").write_text(GOOD)
    err = run(text, *arguments).err
    assert err.count("[config-unused]") == 1, err
    assert f"pass --config={where}/postrender.yaml. [config-unused]" in err
    for config in (f"--config={where}/postrender.yaml", f"--config={where}", "--config=/dev/null"):
        assert "[config-unused]" not in run(text, *arguments, config).err
    (chart / "postrender.yaml").unlink()
    (chart / "postrender.yaml").mkdir()
    err = run(text, *arguments).err
    assert re.search("path is a folder or a pipe, expected a file.*config-unused", err), err
    (chart / "Chart.yaml").write_text("name: another\n")
    assert "[config-unused]" not in run(text, *arguments).err


def test_check_shows_the_configuration_next_to_findings(folder: Path) -> None:
    (folder / "app.yaml").write_text(READ_BY_NAME, encoding="utf-8")
    assert run("", "check", "app.yaml").err.startswith(
        "note: postrender does not use a configuration file.\n"
    )


def test_check_does_not_report_missing_protection(folder: Path) -> None:
    """Another command applies the manifests, with its own options."""
    (folder / "postrender.yaml").write_text("attacher: {enabled: false}\n")
    assert "[never-deleted]" in run(GOOD).err
    assert run(GOOD, "check") == Run(0, b"", "")


def test_check_reads_the_history_of_the_configuration(folder: Path) -> None:
    (folder / "postrender.yaml").write_text("history: {previous: earlier.yaml}\n")
    assert_refused(run(GOOD, "check"), "earlier.yaml", "cannot read the file")
    (folder / "earlier.yaml").write_text(GOOD, "utf-8")
    assert run(GOOD, "check") == Run(0, b"", "")


@pytest.mark.parametrize("command", ["render", "explain"])
def test_a_log_file_that_cannot_be_written(command: str) -> None:
    done = run(GOOD, command, "--log-file", str(Path("none", "log.txt")))
    assert_refused(done, "log.txt", "postrender cannot write the log file", "--log-file")


# --- surroundings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "variables",
    [
        {"LC_ALL": "C", "LANG": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "en_US.ISO-8859-1", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "ascii:strict"},
        {"PYTHONIOENCODING": "utf-16"},
        {"HOME": "/nonexistent", "TMPDIR": "/nonexistent"},
        {"TERM": "dumb", "COLUMNS": "1"},
        {"PYTHONOPTIMIZE": "2", "PYTHONHASHSEED": "7"},
    ],
    ids=lambda variables: ",".join(f"{name}={value}" for name, value in variables.items()),
)
def test_surroundings_do_not_change_the_output(variables: dict[str, str], folder: Path) -> None:
    assert run(GOOD, command=COMMAND, variables=variables) == run(GOOD)
    name = "kärte.yaml"
    (folder / name).write_text(f"{CONFIG_MAP}  bäd: 12\n---\n{DEPLOYMENT}", encoding="utf-8")
    options = ("render", name, "--log-file", "löge")
    done = run("", *options, command=COMMAND, variables=variables)
    assert done.code == 2
    assert done.out == b""
    assert "Traceback" not in done.err


def test_a_user_without_a_home_folder() -> None:
    variables = environment()
    del variables["HOME"]
    done = subprocess.run(
        COMMAND, input=GOOD.encode(), capture_output=True, env=variables, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, run(GOOD).out, b"")


def test_a_deleted_working_directory(folder: Path) -> None:
    (folder / "gone").mkdir()
    script = 'cd gone && rmdir ../gone && exec "$@"'
    done = run(GOOD, command=("sh", "-c", script, "sh", *COMMAND))
    assert done.code == 0, done.err
    assert done.out == run(GOOD).out


def test_the_output_is_the_same_each_time_and_again_on_itself() -> None:
    first = run(GOOD, command=COMMAND, variables={"PYTHONHASHSEED": "1"})
    assert (first.code, first.err) == (0, "")
    second = run(GOOD, command=COMMAND, variables={"PYTHONHASHSEED": "2"})
    assert second.out == first.out
    assert run(first.out).out == first.out
