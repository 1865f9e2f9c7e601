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
    """Return the browser that all tests of a worker share; each test has its own profile."""
    if not browser_path():
        if is_required():
            pytest.fail(NOT_FOUND)
        pytest.skip(NOT_FOUND)
    with chromium() as started:
        yield started


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Return a function that opens the page of a preview.

    The arguments of the function:
    width and height: the size of the window, in pixels.
    may_complain: whether the test accepts requests, and reports of the browser. If false, the test
    fails if the page requests anything except itself and `data:` URLs. The test then also fails for
    each message on the console, error or dialog.
    options: options of the profile (BrowserContext).
    """
    complaints: list[str] = []
    contexts: list[BrowserContext] = []

    def open_preview(
        preview: Preview,
        width: int = 1440,
        height: int = 900,
        may_complain: bool = False,
        **options: Any,
    ) -> Page:
        path = tmp_path / f"page{len(contexts)}.html"
        path.write_text(HtmlReporter().render(preview, Terminal()), "utf-8")
        options["viewport"] = {"width": width, "height": height}
        context = browser.new_context(reduced_motion="reduce", **options)
        contexts.append(context)
        context.set_default_timeout(30_000)
        page = context.new_page()
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
    for context in contexts:
        context.close()
    assert complaints == []
