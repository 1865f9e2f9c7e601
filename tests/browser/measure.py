"""Measure the page with 500 ConfigMaps and 500 workloads: `python -m tests.browser.measure`."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from postrender.diff.formats.html.page import HtmlReporter
from postrender.diff.values import Terminal
from tests.browser.chromium import chromium
from tests.browser.large import large

_KEYSTROKE = """async (text) => {
  const search = document.getElementById("search");
  const times = [];
  for (let end = 1; end <= text.length; end += 1) {
    search.value = text.slice(0, end);
    const start = performance.now();
    search.dispatchEvent(new Event("input", { bubbles: true }));
    document.body.offsetHeight;
    times.push(performance.now() - start);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }
  return Math.max(...times);
}"""
_CLICK = """(id) => {
  const start = performance.now();
  document.getElementById(id).click();
  document.body.offsetHeight;
  return performance.now() - start;
}"""
_OPENED = """() => {
  const [opened] = performance.getEntriesByType("navigation");
  const [painted] = performance.getEntriesByName("first-contentful-paint");
  return {
    "first paint": painted.startTime,
    "parsed": opened.domInteractive,
    "ready": opened.domContentLoadedEventEnd,
  };
}"""


def main() -> None:
    """Print sizes and times."""
    start = time.perf_counter()
    page = HtmlReporter().render(large(500), Terminal())
    print(f"rendered in {time.perf_counter() - start:.2f} s, {len(page.encode()) / 1e6:.1f} MB")
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        path = Path(folder, "page.html")
        path.write_text(page, "utf-8")
        tab = browser.new_page()
        tab.goto(path.as_uri())
        tab.wait_for_timeout(1000)
        for name, milliseconds in tab.evaluate(_OPENED).items():
            print(f"{name}: {milliseconds:.0f} ms")
        keystroke = tab.evaluate(_KEYSTROKE, "service-123")
        print(f"slowest keystroke, with layout: {keystroke:.0f} ms")
        tab.keyboard.press("Escape")
        for name in ("unfold", "fold"):
            print(f"{name} all, with layout: {tab.evaluate(_CLICK, name):.0f} ms")


if __name__ == "__main__":
    main()
