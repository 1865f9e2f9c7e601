"""The site of the documents in a browser, opened from the folder that `make site` writes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.browser.chromium import wait_until_still

BUILT = Path(__file__).resolve().parents[2] / ".cache" / "site" / "built"
IS_REQUIRED = os.environ.get("POSTRENDER_SITE_REQUIRED") == "1"
PHONE, DESK = (390, 844), (1280, 900)
# A start page, a page with diagrams, long tables, code in lists, wide tables, and links in tables.
PAGES = (
    "how-to/operate.html",
    "reference/command-line.html",
    "index.html",
    "how-it-works.html",
    "faq.html",
    "troubleshooting.html",
    "how-to/argocd.html",
    "how-to/install.html",
    "reference/configuration.html",
    "reference/compatibility.html",
    "reference/diff.html",
    "reference/kinds.html",
)

# The tables that scroll sideways.
WIDE = """[...document.querySelectorAll(".md-typeset__scrollwrap")]
    .filter(table => table.scrollWidth > table.clientWidth + 1).length"""

# The script of the site replaces each text of a diagram with the drawn diagram.
NO_DIAGRAM_IS_LEFT = "!document.querySelector('pre.mermaid')"

pytestmark = pytest.mark.skipif(
    not IS_REQUIRED and not (BUILT / "index.html").exists(), reason="run `make site`"
)


@pytest.fixture(
    params=[(*PHONE, "light"), (*DESK, "light"), (*DESK, "dark")],
    ids=["phone", "desk", "desk-dark"],
)
def page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """Return an empty page; the test fails if the site uses the network or reports an error."""
    width, height, scheme = request.param
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        reduced_motion="reduce",
    )
    complaints: list[str] = []
    opened = context.new_page()
    opened.on("console", lambda message: complaints.append(f"console: {message.text}"))
    opened.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    opened.on(
        "request",
        lambda request: (
            None if request.url.startswith(("file:", "data:")) else complaints.append(request.url)
        ),
    )
    yield opened
    context.close()
    assert complaints == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_the_screen_and_is_accessible(name: str, page: Page) -> None:
    page.goto((BUILT / name).as_uri())
    page.wait_for_function(NO_DIAGRAM_IS_LEFT, timeout=60_000)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.evaluate("window.innerWidth")
    if width == PHONE[0]:
        assert page.evaluate(WIDE) == 0
    wait_until_still(page)
    # Other results would take as long again.
    options = {"preload": False, "resultTypes": ["violations"]}
    found = Axe().run(page, options=options).response["violations"]
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in found] == []


@pytest.mark.parametrize(
    ("words", "name"),
    # The second one is only in a table of data (docs/data).
    [("CreateContainerConfigError", "troubleshooting"), ("AutoscalingRunnerSet", "kinds")],
)
def test_the_search_works_without_a_server(words: str, name: str, page: Page) -> None:
    page.goto((BUILT / "index.html").as_uri())
    if page.viewport_size == {"width": PHONE[0], "height": PHONE[1]}:
        page.locator(".md-header__button[for=__search]").click()
    page.locator("input.md-search__input").press_sequentially(words)
    found = page.locator(f".md-search-result__link[href*='{name}.html']").first
    found.wait_for(timeout=60_000)


def test_the_diagrams_are_drawn(page: Page) -> None:
    page.goto((BUILT / "how-it-works.html").as_uri())
    diagram = page.locator("div.mermaid")
    diagram.wait_for(timeout=60_000)
    box = diagram.bounding_box()
    assert box
    assert box["height"] > 200
