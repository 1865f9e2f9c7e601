"""Chromium, or a browser that is one: found on this machine, and started without a window."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NONE = (
    "no browser: tests/browser/install has one installed, or POSTRENDER_CHROMIUM says where it is"
)
# It asks for nothing by itself, and a machine without a graphics card is enough.
_OPTIONS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def found() -> str:
    """Return the path of the browser that the tests drive, "" where there is none."""
    given = os.environ.get("POSTRENDER_CHROMIUM")
    names = (given,) if given else NAMES
    return next((path for name in names if (path := shutil.which(name))), "")


def is_required() -> bool:
    """Tell whether these tests must not be skipped."""
    return os.environ.get("POSTRENDER_BROWSER_REQUIRED") == "1"


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser, and end it afterwards."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found(), args=_OPTIONS)
        try:
            yield browser
        finally:
            browser.close()
