"""What a person sees: lines that fit the terminal, and colours that are readable on any theme."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Relative paths, because the lines must not depend on where the repository is.
V1, V2 = (f"examples/rendered/{name}.yaml" for name in ("v1", "v2"))
COLOUR = re.compile(r"\x1b\[([0-9;]*)m")


def shown(width: int, *arguments: str) -> str:
    """What a command of postrender prints on a terminal with this width."""
    return shown_by(width, [sys.executable, "-m", "postrender", *arguments])


def shown_by(width: int, command: list[str]) -> str:
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    variables = {name: text for name, text in os.environ.items() if name not in ("COLUMNS", "CI")}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=side, stderr=side, env=variables, cwd=ROOT
    ) as process:
        os.close(side)
        parts = []
        try:
            while part := os.read(main, 65536):
                parts.append(part)
        except OSError:  # the end of a terminal on Linux
            pass
        process.wait(timeout=300)
    os.close(main)
    return b"".join(parts).decode().replace("\r\n", "\n")


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize(
    "arguments",
    [("explain", V1), ("check", "x" * 50), ("diff", V1, V2), ("render", V1), ("--help",)],
)
def test_lines_fit_the_terminal(width: int, arguments: tuple[str, ...]) -> None:
    lines = COLOUR.sub("", shown(width, *arguments)).splitlines()
    is_diff = arguments[0] == "diff"  # the lines of a diff are not wrapped
    assert [line for line in lines if len(line) > width and not is_diff] == []
    if arguments[0] in ("explain", "--help"):
        assert max(map(len, lines)) > width * 0.7
    # A word ends in the middle only after the punctuation of a path or name.
    broken = [line for line in lines if len(line) == width and line[-1].isalnum()]
    assert all(re.search(r"[ ./,:(-]\w+$", line) for line in broken)


def luminance(number: int) -> float:
    """The relative luminance of one of the 256 colours (WCAG 2.1)."""
    assert number >= 16, "the first 16 colours depend on the theme"
    if number >= 232:
        channels = [8 + 10 * (number - 232)] * 3
    else:
        levels = (0, 95, 135, 175, 215, 255)
        channels = [levels[(number - 16) // power % 6] for power in (36, 6, 1)]
    linear = [
        value / 255 / 12.92 if value <= 10 else ((value / 255 + 0.055) / 1.055) ** 2.4
        for value in channels
    ]
    weights = (0.2126, 0.7152, 0.0722)
    return sum(weight * value for weight, value in zip(weights, linear, strict=True))


def test_colours_have_a_contrast_of_at_least_4_5_on_white_and_on_black() -> None:
    text = "".join(path.read_text("utf-8") for path in (ROOT / "postrender").rglob("*.py"))
    codes = set(re.findall(r"\\x1b\[([0-9;]+)m", text))
    colours = {int(code.removeprefix("38;5;")) for code in codes - {"0", "1"}}
    assert len(colours) == 5
    for colour in colours:
        assert 1.05 / (luminance(colour) + 0.05) >= 4.5, colour
        assert (luminance(colour) + 0.05) / 0.05 >= 4.5, colour


def test_explain_has_colours_on_a_terminal() -> None:
    text = shown(80, "explain", V1)
    assert set(COLOUR.findall(text)) >= {"1", "0", "38;5;29", "38;5;243"}


@pytest.mark.parametrize("is_quiet", [False, True])
def test_a_long_step_shows_its_progress_and_leaves_nothing(is_quiet: bool) -> None:
    code = (
        "import time; from postrender.cli import report;"
        "from postrender.cli.progress import progress;"
        f"report.set_presentation(is_quiet={is_quiet}, is_verbose=False, color='auto');"
        f"step = progress('works', 0.02); step.__enter__(); time.sleep({0.1 if is_quiet else 1});"
        "step.__exit__(None, None, None); print('done', flush=True)"
    )
    text = shown_by(80, [sys.executable, "-c", code])
    assert ("works ..." in text) is not is_quiet
    assert text.endswith("done\n" if is_quiet else "\r\x1b[2Kdone\n")


def test_a_pipe_gets_no_progress() -> None:
    code = (
        "import time; from postrender.cli.progress import progress; p = progress('works', 0.02);"
        "p.__enter__(); time.sleep(0.1); p.__exit__(None, None, None)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_try_shows_what_takes_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helm = tmp_path / "helm"
    helm.write_text(f"#!/bin/sh\nsleep 0.6\ncat {shlex.quote(str(ROOT / V1))}\n")
    helm.chmod(0o755)
    (tmp_path / "Chart.yaml").write_text("name: shop\n")
    monkeypatch.setenv("HELM_BIN", str(helm))
    page = tmp_path / "page.html"
    code = (
        "import functools, sys; from postrender.cli import main, try_chart;"
        "try_chart.progress = functools.partial(try_chart.progress, after=0.1);"
        "sys.exit(main.run(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "try", str(tmp_path), f"--page={page}"]
    text = shown_by(120, command)
    assert "\x1b[2Khelm renders the chart ..." in text
    assert (
        "\x1b[2Khelm renders the chart once more, to find values that differ each time ..." in text
    )
