"""Headless Chromium, or a compatible browser on this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NOT_FOUND = "no browser: run tests/browser/install, or set POSTRENDER_CHROMIUM to the path of one"
# No requests of its own, and no graphics card.
_OPTIONS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def browser_path() -> str:
    """Return the path of the browser, "" if there is none."""
    configured = os.environ.get("POSTRENDER_CHROMIUM")
    names = (configured,) if configured else NAMES
    return next((path for name in names if (path := shutil.which(name))), "")


def is_required() -> bool:
    """Return whether a missing browser fails the tests."""
    return os.environ.get("POSTRENDER_BROWSER_REQUIRED") == "1"


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser and close it afterwards."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=_OPTIONS)
        try:
            yield browser
        finally:
            browser.close()
