"""The HTML page in a browser: mouse, keyboard, small screens, no script, print."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import FloatRect, Page, expect

from postrender.diff.model import CHANGED, Edge, Graph, GraphNode, Preview
from postrender.kubernetes.kinds import Identity
from tests.browser.chromium import wait_until_still
from tests.browser.conftest import Open
from tests.browser.large import labelled, large
from tests.diff.previews import sample
from tests.diff.test_page import HOSTILE, planted

# A folder for pictures, which take a second each.
SCREENSHOTS = os.environ.get("SCREENSHOTS")
PHONE = {"width": 360, "height": 740}

ENTRIES = 21  # in the sample
ACTIVE_LINE = (
    "() => document.activeElement.closest('.entry')?.querySelector('h3, .revision, p')?.textContent"
)


def names(page: Page) -> list[str]:
    """Return the names in the visible entries, except revisions."""
    return page.locator(".entry:not([hidden]) h3").all_text_contents()


def results(page: Page) -> str:
    return page.locator("#results").inner_text()


def check_option(page: Page, name: str, value: str) -> None:
    page.locator(f"input[name='{name}'][value='{value}']").check()


def reload_after(page: Page, choose: Callable[[], None], name: str) -> None:
    """Choose the value of a preference, and load the page again with what the browser stored.

    Chromium sometimes loses what a page of a file stored, if the page reads it in its head. This
    happens without postrender's code too, in about one of thirty attempts.
    """
    for _ in range(10):
        choose()
        page.reload()
        if page.evaluate(f"localStorage.getItem('postrender.{name}')"):
            return
    pytest.fail(f"The browser does not store the preference {name}.")


def is_too_wide(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))


# ---- search and filters


def test_a_search_finds_names_keys_and_paths(open_page: Open) -> None:
    page = open_page(sample())
    search = page.get_by_label("Search")
    assert results(page) == f"{ENTRIES} entries"
    search.fill("jobs-config")
    assert names(page) == ["Deployment/worker", "CronJob/cleanup", "ConfigMap/jobs-config"][1:]
    search.fill("FEATURE.json")
    assert names(page) == ["Rollout/web", "ConfigMap/web-config"]
    search.fill("http port")
    assert names(page) == ["Service/web"]
    search.fill("configmap shop")
    assert names(page) == ["DaemonSet/agent in kube-system", "ConfigMap/web-html in shop"]


def test_a_search_shows_the_number_of_matches(open_page: Open) -> None:
    page = open_page(sample())
    page.get_by_label("Search").fill("web-logo")
    status = page.get_by_role("status").filter(has_text="entries")
    expect(status).to_have_text(f"1 of {ENTRIES} entries")
    expect(page.locator("#contents .count")).to_have_text("1 of 6")
    expect(page.locator("#workloads")).to_be_hidden()


def test_a_search_without_matches_can_be_cleared(open_page: Open) -> None:
    page = open_page(sample())
    page.get_by_label("Search").fill("no such thing")
    expect(page.get_by_text("No matches.")).to_be_visible()
    assert results(page) == f"0 of {ENTRIES} entries"
    page.get_by_role("button", name="Clear").click()
    assert results(page) == f"{ENTRIES} entries"
    expect(page.get_by_text("No matches.")).to_be_hidden()
    expect(page.get_by_label("Search")).to_be_focused()


def test_entries_are_filtered_by_change(open_page: Open) -> None:
    page = open_page(sample())
    check_option(page, "change", "removed")
    assert names(page) == ["Deployment/legacy", "ConfigMap/flags", "Ingress/web"]
    check_option(page, "change", "added")
    assert names(page) == [
        "CronJob/report",
        "Deployment/legacy",
        "ConfigMap/jobs-config",
        "ConfigMap/flags",
        "Role/reader",
        "Ingress/web",
    ]
    expect(page.locator("#active")).to_have_text("(2)")
    page.get_by_label("Search").fill("legacy")
    assert names(page) == ["Deployment/legacy"]


def test_entries_are_filtered_by_effect(open_page: Open) -> None:
    page = open_page(sample())
    check_option(page, "effect", "stays")
    assert names(page) == ["DaemonSet/agent in kube-system", "ConfigMap/web-html in shop"]
    check_option(page, "effect", "refused")
    assert "Job/migrate" in names(page)


def test_revisions_are_filtered_by_status(open_page: Open) -> None:
    page = open_page(sample())
    check_option(page, "change", "dropped")
    shown = page.locator("#revisions .entry:not([hidden])")
    assert shown.count() == 1
    assert results(page) == f"1 of {ENTRIES} entries"


# ---- groups of objects that change alike


def members(page: Page, section: str) -> list[str]:
    """Return the visible names in the lists of a section."""
    return page.locator(f"{section} .member:not([hidden]) > .name").all_text_contents()


def test_a_search_finds_an_object_in_a_group(open_page: Open) -> None:
    page = open_page(labelled(40))
    service = page.locator("#objects .entry", has=page.locator("#o12"))
    expect(service.locator("h3")).to_have_text("Service/service-000 and 38 more")
    page.get_by_label("Search").fill("service/service-012")
    assert names(page) == ["Service/service-012 "]
    assert members(page, "#objects") == ["Service/service-012"]
    expect(page.locator("#o12")).to_be_visible()
    expect(service.locator(".members > summary")).to_have_text(
        "The same change in all 39 (1 shown)"
    )
    expect(page.locator("#objects .count").first).to_have_text("1 of 40")
    assert results(page) == "1 of 120 entries"
    page.get_by_label("Search").fill("service/service-01")
    assert names(page) == ["Service/service-010 and 9 more"]
    page.keyboard.press("Escape")
    expect(service.locator("h3")).to_have_text("Service/service-000 and 38 more")
    expect(service.locator(".members > summary")).to_have_text("The same change in all 39 ")
    expect(page.locator("#o12")).to_be_hidden()


def test_a_search_for_a_field_finds_the_whole_group(open_page: Open) -> None:
    page = open_page(labelled(40))
    page.get_by_label("Search").fill("helm.sh/chart service/")
    assert names(page) == ["Service/service-000 and 38 more"]
    assert results(page) == "39 of 120 entries"
    expect(page.locator("#o12")).to_be_hidden()


def test_shared_labels_are_found_by_object_and_by_effect(open_page: Open) -> None:
    page = open_page(labelled(40, is_shared=True))
    page.get_by_label("Search").fill("rollout/service-012")
    assert members(page, "#labels") == ["Rollout/service-012"]
    page.keyboard.press("Escape")
    check_option(page, "effect", "rolls")
    shown = page.locator("#labels .member:not([hidden])").all_text_contents()
    assert shown == [f"Rollout/service-{number:03}" for number in range(1, 39, 2)]
    # A heading is in a summary, which must not contain a link.
    expect(page.locator("#labels h3")).to_have_text("Rollout/service-001 and 18 more")
    expect(page.locator("summary a")).to_have_count(0)
    page.locator("#labels .members").get_by_role("link", name="Rollout/service-013").click()
    expect(page.locator("#w13")).to_be_focused()


def test_all_words_of_a_search_match_one_object(open_page: Open) -> None:
    page = open_page(labelled(40))
    page.get_by_label("Search").fill("service-011 service-012")
    expect(page.get_by_text("No matches.")).to_be_visible()
    page.get_by_label("Search").fill("rollout/service-011 configmap")
    assert names(page) == ["ConfigMap/service-011-config "]


def test_objects_of_a_group_are_filtered_separately(open_page: Open) -> None:
    page = open_page(labelled(40))
    check_option(page, "effect", "rolls")
    assert names(page) == [
        "Rollout/service-039",
        "Rollout/service-001 and 18 more",
        "ConfigMap/service-039-config",
        "ConfigMap/service-001-config and 18 more",
    ]
    assert members(page, "#contents")[1] == "ConfigMap/service-003-config"
    assert results(page) == "40 of 120 entries"


def test_a_link_opens_an_object_of_a_group(open_page: Open) -> None:
    page = open_page(labelled(40))
    page.get_by_role("button", name="Fold all", exact=True).click()
    check_option(page, "effect", "stays")
    page.goto(page.url + "#c13")
    expect(page.locator("#c13")).to_be_focused()
    expect(page.locator("#c13")).to_be_in_viewport()
    page.locator("#c13").get_by_role("link", name="Rollout/service-013").click()
    expect(page.locator("#w13")).to_be_focused()
    expect(page.locator("#w13")).to_be_in_viewport()
    page.keyboard.press("j")
    assert page.evaluate(ACTIVE_LINE) == "Rollout/service-000 and 19 more"


def test_the_graph_has_every_object_of_a_group(open_page: Open) -> None:
    page = open_page(labelled(40))
    wait_for_graph(page)
    page.get_by_label("Search").fill("service-012-config")
    expect(page.locator("#drawing .node")).to_have_count(2)


def test_the_keyboard_folds_a_list(open_page: Open) -> None:
    page = open_page(labelled(40))
    page.locator("#objects .members > summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#o12")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#o12")).to_be_hidden()


def test_links_work_without_a_script(open_page: Open) -> None:
    page = open_page(labelled(40), java_script_enabled=False)
    page.goto(page.url + "#o30")
    expect(page.locator("#o30")).to_be_in_viewport()


# ---- the keyboard


def test_slash_opens_the_search_and_escape_clears_it(open_page: Open) -> None:
    page = open_page(sample())
    search = page.get_by_label("Search")
    page.keyboard.press("/")
    expect(search).to_be_focused()
    page.keyboard.type("flags")
    expect(search).to_have_value("flags")
    page.keyboard.press("Escape")
    expect(search).to_have_value("")
    assert results(page) == f"{ENTRIES} entries"
    page.keyboard.press("Escape")
    expect(page.locator("main")).to_be_focused()


def test_escape_clears_filters_from_anywhere(open_page: Open) -> None:
    page = open_page(sample())
    check_option(page, "change", "added")
    page.keyboard.press("j")
    page.keyboard.press("Escape")
    assert results(page) == f"{ENTRIES} entries"
    assert page.locator(".chips input:checked").count() == 0


def test_letters_and_arrows_move_between_entries(open_page: Open) -> None:
    page = open_page(sample())
    check_option(page, "change", "removed")
    page.locator("main").focus()
    lines = []
    for key in ("j", "j", "k", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
        lines.append(page.evaluate(ACTIVE_LINE))
    first, second, third = "Deployment/legacy", "ConfigMap/flags", "Ingress/web"
    assert lines == [first, second, first, second, third, third, second]


def test_enter_and_space_fold_an_entry(open_page: Open) -> None:
    page = open_page(sample())
    page.get_by_label("Search").fill("web-config")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(ACTIVE_LINE) == "Rollout/web"
    entry = page.locator(".entry", has=page.locator("summary:focus"))
    assert entry.get_attribute("open") is not None
    page.keyboard.press("Enter")
    assert entry.get_attribute("open") is None
    page.keyboard.press("Space")
    assert entry.get_attribute("open") is not None


def test_letter_shortcuts_can_be_switched_off(open_page: Open) -> None:
    page = open_page(sample())

    def switch_off() -> None:
        page.get_by_text("Keys", exact=True).click()
        page.get_by_label("Use the keys /, j and k").uncheck()

    switch_off()
    page.keyboard.press("j")
    page.keyboard.press("/")
    expect(page.get_by_label("Use the keys /, j and k")).to_be_focused()
    page.get_by_label("Use the keys /, j and k").check()
    page.get_by_text("Keys", exact=True).click()
    reload_after(page, switch_off, "letters")
    page.keyboard.press("/")
    expect(page.get_by_label("Search")).not_to_be_focused()


def test_the_first_tab_skips_to_the_changes(open_page: Open) -> None:
    page = open_page(sample())
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the changes")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_tab_reaches_the_end_with_a_visible_focus(open_page: Open) -> None:
    page = open_page(sample())
    page.evaluate(
        """() => {
          window.visited = [];
          document.addEventListener("focusin", ({ target }) => {
            const marked = [target, target.nextElementSibling].some((element) => element &&
              getComputedStyle(element).outlineStyle !== "none" || target.matches(".node"));
            visited.push([target.outerHTML.slice(0, 60), marked || target.matches(".skip")]);
          });
        }"""
    )
    for _ in range(150):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body && visited.length > 9"):
            break
    else:
        pytest.fail("the focus does not leave the page")
    visited = page.evaluate("visited")
    assert [element for element, is_marked in visited if not is_marked] == []
    assert any("o0" in element or "summary" in element for element, _ in visited)


# ---- diffs


def test_diffs_are_side_by_side_or_inline(open_page: Open) -> None:
    page = open_page(sample())
    diff = page.get_by_role("group", name="application.yaml of ConfigMap/web-config")
    diff.scroll_into_view_if_needed()
    rows = diff.locator("tbody tr")
    expect(rows.nth(3)).to_have_text("5-  timeout: 30s5+  timeout: 5s")
    expect(diff.locator("pre")).to_be_hidden()
    assert rows.nth(4).locator("td").all_inner_texts() == ["", "", "6", rows_text()]
    page.get_by_label("Inline").check()
    expect(diff.locator("pre")).to_be_visible()
    expect(diff.locator("table")).to_be_hidden()
    reload_after(page, page.get_by_label("Inline").check, "layout")
    expect(page.get_by_label("Inline")).to_be_checked()
    expect(diff.locator("pre")).to_be_visible()


def rows_text() -> str:
    return "+  retries: 3\t# über `all` of them"


def test_a_diff_of_added_lines_has_one_column(open_page: Open) -> None:
    page = open_page(sample())
    diff = page.get_by_role("group", name="feature.json of ConfigMap/web-config")
    diff.scroll_into_view_if_needed()
    expect(diff.locator("pre")).to_be_visible()
    assert diff.locator("table").count() == 0


def test_words_that_differ_are_marked_on_both_sides(open_page: Open) -> None:
    page = open_page(sample())
    diff = page.get_by_role("group", name="application.yaml of ConfigMap/web-config")
    diff.scroll_into_view_if_needed()
    expect(diff.locator("td b")).to_have_text(["30s", "5s"])


def test_all_entries_are_folded_and_unfolded(open_page: Open) -> None:
    page = open_page(sample())
    page.get_by_role("button", name="Fold all", exact=True).click()
    assert page.locator(".entry[open]").count() == 0
    page.get_by_role("button", name="Unfold all").click()
    assert page.locator(".entry:not([open]) > summary").count() == 0


def test_a_cause_is_a_link_to_the_entry(open_page: Open) -> None:
    page = open_page(sample())
    page.get_by_role("button", name="Fold all", exact=True).click()
    page.locator(".entry summary", has_text="Rollout/web").first.click()
    page.locator(".causes").get_by_role("link", name="ConfigMap/flags").click()
    flags = page.locator("#contents .entry", has_text="ConfigMap/flags")
    expect(flags.locator("> summary")).to_be_focused()
    assert flags.get_attribute("open") is not None


def test_a_link_shows_a_filtered_entry(open_page: Open) -> None:
    page = open_page(sample())
    check_option(page, "effect", "next run")
    page.get_by_role("link", name="ConfigMap/jobs-config").first.click()
    check_option(page, "effect", "next run")
    page.goto(page.url.split("#")[0] + "#c1")
    expect(page.locator("#c1")).to_be_in_viewport()
    assert results(page) == f"{ENTRIES} entries"


# ---- the graph


def nodes(page: Page) -> list[str]:
    labels = "all => all.map((node) => node.getAttribute('aria-label'))"
    return list(page.locator("#drawing .node").evaluate_all(labels))


def wait_for_graph(page: Page) -> None:
    page.locator("#graph").scroll_into_view_if_needed()
    page.locator("#drawing .node").first.wait_for()


def wait_until(page: Page, condition: str) -> None:
    """Wait until a condition in JavaScript is true, for at most ten seconds.

    Playwright's wait_for_function polls with `eval`, which the page does not allow.
    """
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(condition)


def wait_for_nodes(page: Page, count: int) -> None:
    """Wait until the graph has so many nodes. The page draws again 150 ms after a search."""
    expect(page.locator("#drawing .node")).to_have_count(count)


def test_the_graph_shows_changes(open_page: Open) -> None:
    page = open_page(sample())
    wait_for_graph(page)
    assert len(nodes(page)) == 10
    assert "Rollout/web, rolls" in nodes(page)
    assert page.locator("#drawing svg > path.added").count() == 2
    assert page.locator("#drawing svg > path.removed").count() == 1
    workload = page.get_by_role("button", name="Deployment/worker, rolls").bounding_box()
    config = page.get_by_role("button", name="ConfigMap/jobs-config, added").bounding_box()
    assert workload
    assert config
    assert workload["x"] + workload["width"] < config["x"]


def test_a_click_on_a_node_shows_its_connections(open_page: Open) -> None:
    page = open_page(sample())
    wait_for_graph(page)
    page.get_by_role("button", name="ConfigMap/flags, removed").click()
    assert nodes(page) == [
        "Rollout/web, rolls",
        "Deployment/web-template, no pods",
        "ConfigMap/flags, removed",
    ]
    expect(page.locator("#drawing").get_by_role("status")).to_have_text("3 of 10 objects")
    page.get_by_role("button", name="Back to all").click()
    assert len(nodes(page)) == 10


def test_arrow_keys_move_along_the_graph(open_page: Open) -> None:
    page = open_page(sample())
    wait_for_graph(page)
    page.get_by_role("button", name="Rollout/web, rolls").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="Deployment/web-template, no pods")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("button", name="Deployment/worker, rolls")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert nodes(page) == ["Deployment/worker, rolls", "ConfigMap/jobs-config, added"]
    page.keyboard.press("Escape")
    assert len(nodes(page)) == 10
    expect(page.get_by_role("button", name="ConfigMap/jobs-config, added")).to_be_focused()
    assert page.locator("#drawing .node[tabindex='0']").count() == 1


def test_a_search_narrows_the_graph(open_page: Open) -> None:
    page = open_page(sample())
    wait_for_graph(page)
    page.get_by_label("Search").fill("jobs-config")
    expect(page.locator("#drawing .node")).to_have_count(2)
    expect(page.locator("#references > ul > li:not([hidden])")).to_have_count(2)
    page.get_by_label("Search").fill("no such thing")
    expect(page.locator("#graph")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator("#drawing .node")).to_have_count(10)


def test_a_long_name_fits_into_its_box(open_page: Open) -> None:
    long = Identity("policy", "PodDisruptionBudget", "w" * 30, "m" * 60)
    nodes = GraphNode(long, "other", CHANGED), GraphNode(long._replace(name="n"), "other", CHANGED)
    preview = sample()._replace(graph=Graph(nodes, (Edge(0, 1, "x"),)))
    page = open_page(preview)
    wait_for_graph(page)
    sizes = """[...document.querySelectorAll("#drawing .node text")].map(text => [
        text.getBBox().x + text.getBBox().width,
        text.parentNode.querySelector(".box").getBBox().width
    ])"""
    assert all(end < width for end, width in page.evaluate(sizes))


def test_the_graph_can_be_zoomed(open_page: Open) -> None:
    page = open_page(sample())
    wait_for_graph(page)
    width = "Number(document.querySelector('#drawing svg').getAttribute('width'))"
    before = page.evaluate(width)
    page.get_by_role("button", name="Larger").click()
    assert page.evaluate(width) > before
    page.get_by_role("button", name="Smaller").click()
    page.get_by_role("button", name="Smaller").click()
    assert page.evaluate(width) < before


# ---- light and dark


def background(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_the_default_theme_is_that_of_the_system(open_page: Open) -> None:
    light, dark = (open_page(sample(), color_scheme=name) for name in ("light", "dark"))
    assert background(light) != background(dark)
    light.get_by_label("Dark").check()
    assert background(light) == background(dark)
    reload_after(light, light.get_by_label("Dark").check, "theme")
    assert background(light) == background(dark)
    dark.emulate_media(color_scheme="light")
    assert background(dark) != background(light)


def test_the_theme_is_set_before_the_first_paint(open_page: Open) -> None:
    page = open_page(sample())
    page.add_init_script(
        """new MutationObserver(() => {
          if (document.body) window.first ??= document.documentElement.dataset.theme;
        }).observe(document, { childList: true, subtree: true });"""
    )
    reload_after(page, page.get_by_label("Dark").check, "theme")
    wait_until(page, "window.first === 'dark'")


# ---- small screens, no script, print


@pytest.mark.parametrize("layout", ["inline", "split"])
def test_a_phone_never_scrolls_sideways(open_page: Open, layout: str) -> None:
    page = open_page(planted(sample(), "-a-name-that-is-very-long" * 4), **PHONE, has_touch=True)
    page.get_by_text("View", exact=True).click()
    page.get_by_text("Filter", exact=True).click()
    expect(page.get_by_label("Inline")).to_be_checked()
    check_option(page, "layout", layout)
    page.get_by_role("button", name="Unfold all").click()
    page.locator("#references > summary").click()
    for location in ("#contents", "#graph", "#revisions", "#objects"):
        page.locator(location).scroll_into_view_if_needed()
        assert not is_too_wide(page)


def test_long_lines_scroll_inside_a_diff(open_page: Open) -> None:
    page = open_page(sample(), **PHONE)
    diff = page.get_by_role("group", name="index.html of ConfigMap/web-html")
    diff.scroll_into_view_if_needed()
    assert diff.evaluate("diff => diff.scrollWidth > diff.clientWidth")
    diff.focus()
    page.keyboard.press("ArrowRight")
    wait_until(page, "[...document.querySelectorAll('.diff')].some((diff) => diff.scrollLeft > 0)")


def test_the_page_is_readable_without_a_script(open_page: Open) -> None:
    page = open_page(sample(), java_script_enabled=False)
    text = page.locator("body").text_content() or ""
    for part in ("timeout: 5s", "Rollout/web", "workloadRef", "web-config-7f89tk7g74", "81"):
        assert part in text
    for location in ("#search", "#filters", "#view", "#drawing"):
        expect(page.locator(location)).to_be_hidden()
    expect(page.locator("#references li").first).to_be_visible()
    assert not is_too_wide(page)


def test_a_printed_page_is_unfolded_and_has_no_controls(open_page: Open) -> None:
    page = open_page(sample())
    page.get_by_role("button", name="Fold all", exact=True).click()
    page.emulate_media(media="print")
    expect(page.locator(".tools")).to_be_hidden()
    heights = page.locator(".diff pre").evaluate_all("all => all.map((pre) => pre.offsetHeight)")
    assert all(heights)
    expect(page.locator("#references li").first).to_be_visible()


def test_a_printed_page_shows_every_object_of_a_group(open_page: Open) -> None:
    page = open_page(labelled(40))
    page.get_by_role("button", name="Fold all", exact=True).click()
    page.emulate_media(media="print")
    assert page.locator(".member").filter(visible=True).count() == 39 * 3


# ---- hostile and large content


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_text_from_manifests_has_no_effect_in_a_browser(open_page: Open, number: int) -> None:
    page = open_page(planted(sample(), HOSTILE[number]))
    assert results(page) == f"{ENTRIES} entries"
    wait_for_graph(page)
    page.get_by_role("button", name="Unfold all").click()
    page.get_by_label("Search").fill("web")
    assert page.locator("script").count() == 1
    assert page.locator("img, iframe, object, form").count() == 0


def test_the_policy_blocks_foreign_content(open_page: Open) -> None:
    page = open_page(sample(), may_complain=True)
    blocked = page.evaluate(
        """async () => {
          const blocked = [];
          document.addEventListener("securitypolicyviolation",
            (event) => blocked.push(event.effectiveDirective));
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          const image = document.createElement("img");
          image.src = "https://example.com/image.png";
          document.body.append(script, image);
          await fetch("https://example.com/").catch(() => null);
          await new Promise((done) => setTimeout(done, 50));
          return [blocked.sort(), window.ran];
        }"""
    )
    assert blocked == [["connect-src", "img-src", "script-src-elem"], None]


def test_a_large_page_is_folded_and_draws_a_part_of_the_graph(open_page: Open) -> None:
    page = open_page(large(500))
    assert page.locator(".entry[open]").count() == 0
    page.get_by_label("Search").fill("service-123")
    assert results(page) == "2 of 1,000 entries"
    page.get_by_label("Search").fill("")
    wait_for_graph(page)
    wait_for_nodes(page, 120)
    page.get_by_role("button", name="Draw all").click()
    wait_for_nodes(page, 1000)


def test_a_group_of_500_objects_is_searchable(open_page: Open) -> None:
    page = open_page(labelled(500))
    assert page.locator(".entry").count() < 20
    page.get_by_label("Search").fill("service-123")
    assert results(page) == "3 of 1,500 entries"
    for letter in "wco":
        expect(page.locator(f"#{letter}123")).to_be_visible()


def test_a_large_page_builds_only_visible_diffs(open_page: Open) -> None:
    page = open_page(large(500))
    page.get_by_role("button", name="Unfold all").click()
    page.locator("#c0").scroll_into_view_if_needed()
    page.locator("#c0 .diff table").wait_for()
    assert page.locator(".diff table").count() < 30
    page.goto(page.url + "#c400")
    page.locator("#c400 .diff table").wait_for()
    expect(page.locator("#c400")).to_be_in_viewport()
    assert page.locator(".diff table").count() < 60


# ---- accessibility and screenshots


def unfolded(page: Page) -> None:
    page.get_by_role("button", name="Unfold all").click()


def inline(page: Page) -> None:
    check_option(page, "layout", "inline")


def side_by_side(page: Page) -> None:
    check_option(page, "layout", "split")


def filtered(page: Page) -> None:
    check_option(page, "effect", "rolls")
    page.get_by_label("Search").fill("web-config")


def empty(page: Page) -> None:
    page.get_by_label("Search").fill("no such thing")


def focused(page: Page) -> None:
    page.get_by_role("button", name="ConfigMap/flags, removed").click()


def as_text(page: Page) -> None:
    page.locator("#references > summary").click()


def all_open(page: Page) -> None:
    for name in ("View", "Filter", "Keys"):
        page.get_by_text(name, exact=True).click()
    unfolded(page)


def searched(page: Page) -> None:
    page.get_by_label("Search").fill("service-01")


def linked(page: Page) -> None:
    page.goto(page.url + "#c13")


def unchanged(page: Page) -> None:
    """Leave the page unchanged."""


SIGNS = ("nonBmp", "shortTextContent")
STATES = {
    "unchanged": (sample(), unchanged, 1440),
    "inline": (sample(), inline, 1440),
    "side-by-side": (sample(), side_by_side, 1440),
    "filtered": (sample(), filtered, 1440),
    "empty": (sample(), empty, 1440),
    "focused": (sample(), focused, 1440),
    "graph-as-text": (sample(), as_text, 1440),
    "tablet": (sample(), unchanged, 800),
    "phone": (sample(), unchanged, 360),
    "phone-all-open": (sample(), all_open, 360),
    "nothing": (Preview("main.yaml", "head.yaml"), unchanged, 1440),
    "large": (large(15), unchanged, 1440),
    "group": (labelled(20), unchanged, 1440),
    "labels": (labelled(20, is_shared=True), unfolded, 1440),
    "group-unfolded": (labelled(20), unfolded, 1440),
    "group-searched": (labelled(20), searched, 1440),
    "group-linked": (labelled(20), linked, 1440),
    "group-phone": (labelled(20), all_open, 360),
}


@pytest.mark.parametrize("state", STATES)
def test_the_page_is_accessible(open_page: Open, state: str) -> None:
    preview, action, width = STATES[state]
    # The window is as tall as the page: parts out of view are not laid out and not checked.
    page = open_page(preview, width, 7000)
    if preview.graph.nodes:
        wait_for_graph(page)
    action(page)
    check_accessible(page, state, "light", {"rules": {"target-size": {"enabled": True}}})
    # Only the colours differ.
    page.emulate_media(color_scheme="dark")
    check_accessible(page, state, "dark", {"runOnly": ["color-contrast"]})
    assert not is_too_wide(page)


def check_accessible(page: Page, state: str, scheme: str, options: dict[str, Any]) -> None:
    wait_until_still(page)
    if SCREENSHOTS:
        width, height = page.evaluate("[innerWidth, Math.ceil(document.body.offsetHeight)]")
        clip = FloatRect(x=0, y=0, width=width, height=height)
        page.screenshot(path=f"{SCREENSHOTS}/{state}-{scheme}.png", clip=clip)
    options["resultTypes"] = ["violations", "incomplete"]
    result = Axe().run(page, options=options)
    assert result.violations_count == 0, result.generate_report()
    # axe does not measure the contrast of single signs and of drawings; the next test does.
    incomplete = [
        (rule["id"], node["html"], node["any"])
        for rule in result.response["incomplete"]
        for node in rule["nodes"]
        if not node["html"].startswith("<text")
        if not any(check["data"]["messageKey"] in SIGNS for check in node["any"])
    ]
    assert incomplete == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_graph_has_enough_contrast(open_page: Open, scheme: str) -> None:
    page = open_page(sample(), color_scheme=scheme)
    wait_for_graph(page)
    colours = """(all) => all.map((text) => {
      const box = text.closest(".node")?.querySelector(".box");
      const paper = getComputedStyle(document.body).backgroundColor;
      return [getComputedStyle(text).fill, box ? getComputedStyle(box).fill : paper];
    })"""
    for ink, paper in page.locator("#drawing svg text").evaluate_all(colours):
        assert contrast(ink, paper) >= 4.5, (ink, paper)


def contrast(ink: str, paper: str) -> float:
    """Return the contrast ratio of two colours, as defined in WCAG 2.2."""
    dark, light = sorted((luminance(ink), luminance(paper)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    """Return the relative luminance of `rgb(r, g, b)`, as defined in WCAG 2.2."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
