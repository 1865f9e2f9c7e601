"""The line that shows what a long command does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from postrender.cli.report import is_quiet

# Moves to the start of the line, and empties the line.
_LINE_START = "\r\x1b[2K"


@contextmanager
def progress(text: str, after: float = 1.0) -> Iterator[None]:
    """Show on a terminal what a command does, if this takes more than `after` seconds.

    Nothing else may write to stderr meanwhile.
    """
    if is_quiet() or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    from threading import Event, Thread  # only a terminal pays for them

    start, end = monotonic(), Event()

    def show() -> None:
        while not end.wait(after):
            seconds = f" ({monotonic() - start:.0f} s)" if monotonic() - start > 2 else ""
            _print_raw(f"{_LINE_START}{text}{seconds} ...")
        if monotonic() - start > after:
            _print_raw(_LINE_START)

    thread = Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def _print_raw(text: str) -> None:
    try:
        print(text, end="", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        sys.stderr = None
