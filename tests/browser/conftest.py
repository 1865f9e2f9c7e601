"""The fixtures of the tests in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from postrender.diff.formats.html.page import HtmlReporter
from postrender.diff.model import Preview
from postrender.diff.values import Terminal
from tests.browser.chromium import NOT_FOUND, browser_path, chromium, is_required

Open = Callable[..., Page]
# The default is five seconds, which four browsers on a busy machine can exceed.
expect.set_options(timeout=30_000)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Return the browser that all tests of a worker share."""
    if not browser_path():
        if is_required():
            pytest.fail(NOT_FOUND)
        pytest.skip(NOT_FOUND)
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def profile(browser: Browser) -> BrowserContext:
    """Return the profile of all tests that need no other; a new one costs as much as a test."""
    return browser.new_context(reduced_motion="reduce")


@pytest.fixture
def open_page(browser: Browser, profile: BrowserContext, tmp_path: Path) -> Iterator[Open]:
    """Return a function that opens the page of a preview, which has stored nothing yet.

    The arguments of the function:
    width and height: the size of the window, in pixels.
    may_complain: whether the test accepts requests, and reports of the browser. If false, the test
    fails if the page requests anything except itself and `data:` URLs. The test then also fails for
    each message on the console, error or dialog.
    options: options of the page's own profile (BrowserContext).
    """
    complaints: list[str] = []
    pages: list[Page] = []

    def open_preview(
        preview: Preview,
        width: int = 1440,
        height: int = 900,
        may_complain: bool = False,
        **options: Any,
    ) -> Page:
        path = tmp_path / f"page{len(pages)}.html"
        path.write_text(HtmlReporter().render(preview, Terminal()), "utf-8")
        is_own = bool(pages or options)
        context = browser.new_context(reduced_motion="reduce", **options) if is_own else profile
        page = context.new_page()
        pages.append(page)
        page.set_default_timeout(30_000)
        page.set_viewport_size({"width": width, "height": height})
        if may_complain:
            page.goto(path.as_uri())
            return page
        page.on("console", lambda message: complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((path.as_uri(), "data:"))
                else complaints.append(f"request: {request.url}")
            ),
        )
        page.goto(path.as_uri())
        return page

    yield open_preview
    for page in pages:
        if page.context is profile:
            page.evaluate("localStorage.clear()")
            page.close()
        else:
            page.context.close()
    assert complaints == []
