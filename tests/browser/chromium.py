"""Headless Chromium, or a compatible browser on this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

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


def wait_until_still(page: Page) -> None:
    """Wait until the page has not changed for 200 ms, which is longer than its own delays."""
    before = ""
    for _ in range(100):
        now = page.evaluate("document.documentElement.outerHTML + document.getAnimations().length")
        if now == before:
            return
        before = now
        page.wait_for_timeout(200)
    raise AssertionError("the page changes for 20 seconds")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser and close it afterwards."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=_OPTIONS)
        try:
            yield browser
        finally:
            browser.close()
