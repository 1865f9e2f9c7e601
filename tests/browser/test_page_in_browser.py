"""The HTML page in a browser: clicked, typed at, narrowed, without a script, printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import FloatRect, Page, expect

from postrender.diff.model import CHANGED, Graph, GraphNode, Preview
from postrender.kubernetes.kinds import Identity
from tests.browser.conftest import Open
from tests.browser.large import labelled, large
from tests.diff.previews import sample
from tests.diff.test_page import HOSTILE, planted

SCREENSHOTS = Path(__file__).resolve().parents[2] / ".cache" / "screenshots"
PHONE = {"width": 360, "height": 740}

ENTRIES = 28  # of the sample
ACTIVE_LINE = (
    "() => document.activeElement.closest('.entry')?.querySelector('h3, .revision, p')?.textContent"
)


def names(page: Page) -> list[str]:
    """Return the names in the entries that are shown, but those of revisions."""
    return page.locator(".entry:not([hidden]) h3").all_text_contents()


def results(page: Page) -> str:
    return page.locator("#results").inner_text()


def build_basis(page: Page, name: str, value: str) -> None:
    page.locator(f"input[name='{name}'][value='{value}']").check()


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


def test_a_search_says_how_many_it_found(open_page: Open) -> None:
    page = open_page(sample())
    page.get_by_label("Search").fill("web-logo")
    status = page.get_by_role("status").filter(has_text="entries")
    expect(status).to_have_text(f"2 of {ENTRIES} entries")
    expect(page.locator("#contents .count")).to_have_text("1 of 6")
    expect(page.locator("#workloads")).to_be_hidden()


def test_a_search_that_finds_nothing_says_so_and_is_cleared(open_page: Open) -> None:
    page = open_page(sample())
    page.get_by_label("Search").fill("no such thing")
    expect(page.get_by_text("Nothing matches.")).to_be_visible()
    assert results(page) == f"0 of {ENTRIES} entries"
    page.get_by_role("button", name="Clear").click()
    assert results(page) == f"{ENTRIES} entries"
    expect(page.get_by_text("Nothing matches.")).to_be_hidden()
    expect(page.get_by_label("Search")).to_be_focused()


def test_entries_are_filtered_by_change(open_page: Open) -> None:
    page = open_page(sample())
    build_basis(page, "change", "removed")
    assert names(page) == ["Deployment/legacy", "ConfigMap/flags", "Ingress/web"]
    build_basis(page, "change", "added")
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
    build_basis(page, "effect", "stays")
    assert names(page) == ["DaemonSet/agent in kube-system", "ConfigMap/web-html in shop"]
    build_basis(page, "effect", "refused")
    assert "Job/migrate" in names(page)


def test_revisions_are_filtered_by_what_becomes_of_them(open_page: Open) -> None:
    page = open_page(sample())
    build_basis(page, "change", "superseded")
    shown = page.locator("#revisions .entry:not([hidden])")
    assert shown.count() == 2
    assert results(page) == f"2 of {ENTRIES} entries"


# ---- objects that change alike


def members(page: Page, section: str) -> list[str]:
    """Return the names that are shown in the lists of a section."""
    return page.locator(f"{section} .member:not([hidden]) > .name").all_text_contents()


def test_a_search_finds_an_object_among_those_that_change_alike(open_page: Open) -> None:
    page = open_page(labelled(40))
    service = page.locator("#objects .entry", has=page.locator("#o12"))
    expect(service.locator("h3")).to_have_text("Service/service-000 and 38 more")
    page.get_by_label("Search").fill("service/service-012")
    assert names(page) == ["Service/service-012 "]
    assert members(page, "#objects") == ["Service/service-012"]
    expect(page.locator("#o12")).to_be_visible()
    expect(service.locator(".members > summary")).to_have_text("The same in all 39 (1 shown)")
    expect(page.locator("#objects .count").first).to_have_text("1 of 40")
    assert results(page) == "1 of 161 entries"
    page.get_by_label("Search").fill("service/service-01")
    assert names(page) == ["Service/service-010 and 9 more"]
    page.keyboard.press("Escape")
    expect(service.locator("h3")).to_have_text("Service/service-000 and 38 more")
    expect(service.locator(".members > summary")).to_have_text("The same in all 39 ")
    expect(page.locator("#o12")).to_be_hidden()


def test_a_search_for_what_changes_finds_all_that_change_alike(open_page: Open) -> None:
    page = open_page(labelled(40))
    page.get_by_label("Search").fill("helm.sh/chart service/")
    assert names(page) == ["Service/service-000 and 38 more"]
    assert results(page) == "39 of 161 entries"
    expect(page.locator("#o12")).to_be_hidden()


def test_a_search_takes_no_two_objects_for_one(open_page: Open) -> None:
    page = open_page(labelled(40))
    page.get_by_label("Search").fill("service-011 service-012")
    expect(page.get_by_text("Nothing matches.")).to_be_visible()
    page.get_by_label("Search").fill("rollout/service-011 configmap")
    assert names(page) == ["ConfigMap/service-011-config "]


def test_those_that_change_alike_are_filtered_one_by_one(open_page: Open) -> None:
    page = open_page(labelled(40))
    build_basis(page, "effect", "rolls")
    assert names(page) == [
        "Rollout/service-039",
        "Rollout/service-001 and 18 more",
        "ConfigMap/service-039-config",
        "ConfigMap/service-001-config and 18 more",
    ]
    assert members(page, "#contents")[1] == "ConfigMap/service-003-config"
    assert results(page) == "40 of 161 entries"


def test_a_link_leads_to_one_of_those_that_change_alike(open_page: Open) -> None:
    page = open_page(labelled(40))
    page.get_by_role("button", name="Fold all", exact=True).click()
    build_basis(page, "effect", "stays")
    page.goto(page.url + "#c13")
    expect(page.locator("#c13")).to_be_focused()
    expect(page.locator("#c13")).to_be_in_viewport()
    page.locator("#c13").get_by_role("link", name="Rollout/service-013").click()
    expect(page.locator("#w13")).to_be_focused()
    expect(page.locator("#w13")).to_be_in_viewport()
    page.keyboard.press("j")
    assert page.evaluate(ACTIVE_LINE) == "Rollout/service-000 and 19 more"


def test_the_graph_has_those_that_change_alike_one_by_one(open_page: Open) -> None:
    page = open_page(labelled(40))
    drawn(page)
    page.get_by_label("Search").fill("service-012-config")
    expect(page.locator("#drawing .node")).to_have_count(2)


def test_a_list_is_folded_by_the_keyboard(open_page: Open) -> None:
    page = open_page(labelled(40))
    page.locator("#objects .members > summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#o12")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#o12")).to_be_hidden()


def test_a_link_leads_there_without_a_script(open_page: Open) -> None:
    page = open_page(labelled(40), java_script_enabled=False)
    page.goto(page.url + "#o30")
    expect(page.locator("#o30")).to_be_in_viewport()


# ---- the keyboard


def test_a_slash_goes_to_the_search_and_escape_clears_it(open_page: Open) -> None:
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
    build_basis(page, "change", "added")
    page.keyboard.press("j")
    page.keyboard.press("Escape")
    assert results(page) == f"{ENTRIES} entries"
    assert page.locator(".chips input:checked").count() == 0


def test_letters_and_arrows_go_from_entry_to_entry(open_page: Open) -> None:
    page = open_page(sample())
    build_basis(page, "change", "removed")
    page.locator("main").focus()
    lines = []
    for key in ("j", "j", "k", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
        lines.append(page.evaluate(ACTIVE_LINE))
    one, two, three = "Deployment/legacy", "ConfigMap/flags", "Ingress/web"
    assert lines == [one, two, one, two, three, three, two]


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


def test_letters_can_be_switched_off_for_those_who_dictate(open_page: Open) -> None:
    page = open_page(sample())
    page.get_by_text("Keys", exact=True).click()
    page.get_by_label("Use / j k as shortcuts").uncheck()
    page.keyboard.press("j")
    page.keyboard.press("/")
    expect(page.get_by_label("Use / j k as shortcuts")).to_be_focused()
    page.reload()
    page.keyboard.press("/")
    expect(page.get_by_label("Search")).not_to_be_focused()


def test_the_first_tab_skips_to_the_changes(open_page: Open) -> None:
    page = open_page(sample())
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the changes")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_tab_reaches_the_end_and_always_shows_where_it_is(open_page: Open) -> None:
    page = open_page(sample())
    page.evaluate(
        """() => {
          window.visited = [];
          document.addEventListener("focusin", ({ target }) => {
            const marked = [target, target.nextElementSibling].some((each) => each &&
              getComputedStyle(each).outlineStyle !== "none" || target.matches(".node"));
            visited.push([target.outerHTML.slice(0, 60), marked || target.matches(".skip")]);
          });
        }"""
    )
    for _ in range(150):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body && visited.length > 9"):
            break
    else:
        pytest.fail("the keyboard does not get out of the page")
    visited = page.evaluate("visited")
    assert [where for where, is_marked in visited if not is_marked] == []
    assert any("o0" in where or "summary" in where for where, _ in visited)


# ---- diffs


def test_diffs_are_laid_out_side_by_side_or_inline(open_page: Open) -> None:
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
    page.reload()
    expect(page.get_by_label("Inline")).to_be_checked()
    expect(diff.locator("pre")).to_be_visible()


def rows_text() -> str:
    return "+  retries: 3\t# über `all` of them"


def test_what_is_only_added_is_never_beside_nothing(open_page: Open) -> None:
    page = open_page(sample())
    diff = page.get_by_role("group", name="feature.json of ConfigMap/web-config")
    diff.scroll_into_view_if_needed()
    expect(diff.locator("pre")).to_be_visible()
    assert diff.locator("table").count() == 0


def test_the_words_that_differ_stand_out_on_both_sides(open_page: Open) -> None:
    page = open_page(sample())
    diff = page.get_by_role("group", name="application.yaml of ConfigMap/web-config")
    diff.scroll_into_view_if_needed()
    expect(diff.locator("td b")).to_have_text(["30s", "5s"])


def test_everything_is_folded_and_unfolded_at_once(open_page: Open) -> None:
    page = open_page(sample())
    page.get_by_role("button", name="Fold all", exact=True).click()
    assert page.locator(".entry[open]").count() == 0
    page.get_by_role("button", name="Unfold all").click()
    assert page.locator(".entry:not([open]) > summary").count() == 0


def test_a_cause_leads_to_what_changes_there(open_page: Open) -> None:
    page = open_page(sample())
    page.get_by_role("button", name="Fold all", exact=True).click()
    page.locator(".entry summary", has_text="Rollout/web").first.click()
    page.locator(".causes").get_by_role("link", name="ConfigMap/flags").click()
    flags = page.locator("#contents .entry", has_text="ConfigMap/flags")
    expect(flags.locator("> summary")).to_be_focused()
    assert flags.get_attribute("open") is not None


def test_a_link_to_what_is_filtered_out_shows_it(open_page: Open) -> None:
    page = open_page(sample())
    build_basis(page, "effect", "next run")
    page.get_by_role("link", name="ConfigMap/jobs-config").first.click()
    build_basis(page, "effect", "next run")
    page.goto(page.url.split("#")[0] + "#c1")
    expect(page.locator("#c1")).to_be_in_viewport()
    assert results(page) == f"{ENTRIES} entries"


# ---- the graph


def nodes(page: Page) -> list[str]:
    labels = "all => all.map((each) => each.getAttribute('aria-label'))"
    return list(page.locator("#drawing .node").evaluate_all(labels))


def drawn(page: Page) -> None:
    page.locator("#graph").scroll_into_view_if_needed()
    page.locator("#drawing .node").first.wait_for()


def test_the_graph_is_drawn_with_what_changes(open_page: Open) -> None:
    page = open_page(sample())
    drawn(page)
    assert len(nodes(page)) == 10
    assert "Rollout/web, rolls" in nodes(page)
    assert page.locator("#drawing svg > path.added").count() == 2
    assert page.locator("#drawing svg > path.removed").count() == 1
    workload = page.get_by_role("button", name="Deployment/worker, rolls").bounding_box()
    config = page.get_by_role("button", name="ConfigMap/jobs-config, added").bounding_box()
    assert workload
    assert config
    assert workload["x"] + workload["width"] < config["x"]


def test_a_node_that_is_clicked_leaves_only_what_it_is_connected_with(open_page: Open) -> None:
    page = open_page(sample())
    drawn(page)
    page.get_by_role("button", name="ConfigMap/flags, removed").click()
    assert nodes(page) == [
        "Rollout/web, rolls",
        "Deployment/web-template, no pods",
        "ConfigMap/flags, removed",
    ]
    expect(page.locator("#drawing").get_by_role("status")).to_have_text("3 of 10 objects")
    page.get_by_role("button", name="Back to all").click()
    assert len(nodes(page)) == 10


def test_arrows_go_along_the_graph(open_page: Open) -> None:
    page = open_page(sample())
    drawn(page)
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
    drawn(page)
    page.get_by_label("Search").fill("jobs-config")
    expect(page.locator("#drawing .node")).to_have_count(2)
    expect(page.locator("#names > ul > li:not([hidden])")).to_have_count(2)
    page.get_by_label("Search").fill("no such thing")
    expect(page.locator("#graph")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator("#drawing .node")).to_have_count(10)


def test_what_an_object_is_called_stays_in_its_box(open_page: Open) -> None:
    long = Identity("policy", "PodDisruptionBudget", "w" * 30, "m" * 60)
    preview = sample()._replace(graph=Graph((GraphNode(long, "other", CHANGED),)))
    page = open_page(preview)
    drawn(page)
    sizes = """[...document.querySelectorAll("#drawing .node text")].map(each => [
        each.getBBox().x + each.getBBox().width,
        each.parentNode.querySelector(".box").getBBox().width
    ])"""
    assert all(end < width for end, width in page.evaluate(sizes))


def test_the_graph_grows_and_shrinks(open_page: Open) -> None:
    page = open_page(sample())
    drawn(page)
    width = "Number(document.querySelector('#drawing svg').getAttribute('width'))"
    before = page.evaluate(width)
    page.get_by_role("button", name="Larger").click()
    assert page.evaluate(width) > before
    page.get_by_role("button", name="Smaller").click()
    page.get_by_role("button", name="Smaller").click()
    assert page.evaluate(width) < before


# ---- light and dark


def paper(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_colours_are_those_of_the_system_until_they_are_chosen(open_page: Open) -> None:
    light, dark = (open_page(sample(), color_scheme=each) for each in ("light", "dark"))
    assert paper(light) != paper(dark)
    light.get_by_label("Dark").check()
    assert paper(light) == paper(dark)
    light.reload()
    assert paper(light) == paper(dark)
    dark.emulate_media(color_scheme="light")
    assert paper(dark) != paper(light)


def test_nothing_flashes_before_the_colours_are_right(open_page: Open) -> None:
    page = open_page(sample())
    page.get_by_label("Dark").check()
    page.add_init_script(
        """new MutationObserver(() => {
          if (document.body) window.first ??= document.documentElement.dataset.theme;
        }).observe(document, { childList: true, subtree: true });"""
    )
    page.reload()
    assert page.evaluate("window.first") == "dark"


# ---- where little is there


@pytest.mark.parametrize("layout", ["inline", "split"])
def test_a_phone_needs_no_sideways_scrolling(open_page: Open, layout: str) -> None:
    page = open_page(planted(sample(), "-a-name-that-is-very-long" * 4), **PHONE, has_touch=True)
    page.get_by_text("View", exact=True).click()
    page.get_by_text("Filter", exact=True).click()
    expect(page.get_by_label("Inline")).to_be_checked()
    build_basis(page, "layout", layout)
    page.get_by_role("button", name="Unfold all").click()
    page.locator("#names > summary").click()
    for location in ("#contents", "#graph", "#revisions", "#objects"):
        page.locator(location).scroll_into_view_if_needed()
        assert not is_too_wide(page)


def test_long_lines_scroll_inside_of_a_diff(open_page: Open) -> None:
    page = open_page(sample(), **PHONE)
    diff = page.get_by_role("group", name="index.html of ConfigMap/web-html")
    diff.scroll_into_view_if_needed()
    assert diff.evaluate("each => each.scrollWidth > each.clientWidth")
    diff.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.diff')].some((each) => each.scrollLeft > 0)"
    )


def test_all_is_read_without_a_script(open_page: Open) -> None:
    page = open_page(sample(), java_script_enabled=False)
    text = page.locator("body").text_content() or ""
    for part in ("timeout: 5s", "Rollout/web", "workloadRef", "web-config-7f89tk7g74", "81"):
        assert part in text
    for location in ("#search", "#filters", "#view", "#drawing"):
        expect(page.locator(location)).to_be_hidden()
    expect(page.locator("#names li").first).to_be_visible()
    assert not is_too_wide(page)


def test_a_printed_page_has_what_is_folded_and_no_controls(open_page: Open) -> None:
    page = open_page(sample())
    page.get_by_role("button", name="Fold all", exact=True).click()
    page.emulate_media(media="print")
    expect(page.locator(".tools")).to_be_hidden()
    heights = page.locator(".diff pre").evaluate_all("all => all.map((one) => one.offsetHeight)")
    assert all(heights)
    expect(page.locator("#names li").first).to_be_visible()


def test_a_printed_page_names_all_that_change_alike(open_page: Open) -> None:
    page = open_page(labelled(40))
    page.get_by_role("button", name="Fold all", exact=True).click()
    page.emulate_media(media="print")
    assert page.locator(".member").filter(visible=True).count() == 39 * 4


# ---- what is hostile, and what is large


@pytest.mark.parametrize("at", range(len(HOSTILE)))
def test_what_manifests_hold_does_nothing_in_a_browser(open_page: Open, at: int) -> None:
    page = open_page(planted(sample(), HOSTILE[at]))
    assert results(page) == f"{ENTRIES} entries"
    drawn(page)
    page.get_by_role("button", name="Unfold all").click()
    page.get_by_label("Search").fill("web")
    assert page.locator("script").count() == 1
    assert page.locator("img, iframe, object, form").count() == 0


def test_the_policy_stops_what_is_not_ours(open_page: Open) -> None:
    page = open_page(sample(), may_complain=True)
    stopped = page.evaluate(
        """async () => {
          const stopped = [];
          document.addEventListener("securitypolicyviolation",
            (event) => stopped.push(event.effectiveDirective));
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          const image = document.createElement("img");
          image.src = "https://example.com/image.png";
          document.body.append(script, image);
          await fetch("https://example.com/").catch(() => null);
          await new Promise((done) => setTimeout(done, 50));
          return [stopped.sort(), window.ran];
        }"""
    )
    assert stopped == [["connect-src", "img-src", "script-src-elem"], None]


def test_a_large_page_is_folded_and_draws_only_a_part(open_page: Open) -> None:
    page = open_page(large(500))
    assert page.locator(".entry[open]").count() == 0
    page.get_by_label("Search").fill("service-123")
    assert results(page) == "4 of 2,000 entries"
    page.get_by_label("Search").fill("")
    drawn(page)
    assert len(nodes(page)) == 120
    page.get_by_role("button", name="Draw all").click()
    assert len(nodes(page)) == 1000


def test_500_that_change_alike_are_searched_as_fast_as_others(open_page: Open) -> None:
    page = open_page(labelled(500))
    assert page.locator(".entry").count() < 20
    page.get_by_label("Search").fill("service-123")
    assert results(page) == "4 of 2,001 entries"
    for letter in "wco":
        expect(page.locator(f"#{letter}123")).to_be_visible()


def test_a_large_page_lays_out_only_what_is_seen(open_page: Open) -> None:
    page = open_page(large(500))
    page.get_by_role("button", name="Unfold all").click()
    page.locator("#c0").scroll_into_view_if_needed()
    page.locator("#c0 .diff table").wait_for()
    assert page.locator(".diff table").count() < 30
    page.goto(page.url + "#c400")
    page.locator("#c400 .diff table").wait_for()
    expect(page.locator("#c400")).to_be_in_viewport()
    assert page.locator(".diff table").count() < 60


# ---- people who do not see, or not well; and how it looks


def unfolded(page: Page) -> None:
    page.get_by_role("button", name="Unfold all").click()


def inline(page: Page) -> None:
    build_basis(page, "layout", "inline")


def side_by_side(page: Page) -> None:
    build_basis(page, "layout", "split")


def filtered(page: Page) -> None:
    build_basis(page, "effect", "rolls")
    page.get_by_label("Search").fill("web-config")


def empty(page: Page) -> None:
    page.get_by_label("Search").fill("no such thing")


def focused(page: Page) -> None:
    page.get_by_role("button", name="ConfigMap/flags, removed").click()


def as_text(page: Page) -> None:
    page.locator("#names > summary").click()


def all_open(page: Page) -> None:
    for name in ("View", "Filter", "Keys"):
        page.get_by_text(name, exact=True).click()
    unfolded(page)


def found(page: Page) -> None:
    page.get_by_label("Search").fill("service-01")


def reached(page: Page) -> None:
    page.goto(page.url + "#c13")


def as_it_is(page: Page) -> None:
    """Leave the page as it opens."""


SIGNS = ("nonBmp", "shortTextContent")
STATES = {
    "as-it-is": (sample(), as_it_is, 1440),
    "inline": (sample(), inline, 1440),
    "side-by-side": (sample(), side_by_side, 1440),
    "filtered": (sample(), filtered, 1440),
    "empty": (sample(), empty, 1440),
    "focused": (sample(), focused, 1440),
    "graph-as-text": (sample(), as_text, 1440),
    "tablet": (sample(), as_it_is, 800),
    "phone": (sample(), as_it_is, 360),
    "phone-all-open": (sample(), all_open, 360),
    "nothing": (Preview("main.yaml", "head.yaml"), as_it_is, 1440),
    "large": (large(15), as_it_is, 1440),
    "alike": (labelled(20), as_it_is, 1440),
    "alike-unfolded": (labelled(20), unfolded, 1440),
    "alike-found": (labelled(20), found, 1440),
    "alike-reached": (labelled(20), reached, 1440),
    "alike-phone": (labelled(20), all_open, 360),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("state", STATES)
def test_everyone_can_use_it(open_page: Open, state: str, scheme: str) -> None:
    preview, action, width = STATES[state]
    # All of it is in view, since what is not is not laid out and would not be checked.
    page = open_page(preview, width, 7000, color_scheme=scheme)
    if preview.graph.nodes:
        drawn(page)
    action(page)
    page.wait_for_timeout(300)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    height = page.evaluate("Math.ceil(document.body.getBoundingClientRect().height)")
    clip = FloatRect(x=0, y=0, width=width, height=height)
    page.screenshot(path=SCREENSHOTS / f"{state}-{scheme}.png", clip=clip)
    checked = Axe().run(
        page,
        options={
            "resultTypes": ["violations", "incomplete"],
            "rules": {"target-size": {"enabled": True}},
        },
    )
    assert checked.violations_count == 0, checked.generate_report()
    # It measures no contrast of a sign that stands alone, nor in a drawing: see the next test.
    unsure = [
        (each["id"], node["html"], node["any"])
        for each in checked.response["incomplete"]
        for node in each["nodes"]
        if not node["html"].startswith("<text")
        if not any(check["data"]["messageKey"] in SIGNS for check in node["any"])
    ]
    assert unsure == []
    assert not is_too_wide(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_graph_is_read_well(open_page: Open, scheme: str) -> None:
    page = open_page(sample(), color_scheme=scheme)
    drawn(page)
    colour = """(all) => all.map((one) => {
      const behind = one.closest(".node")?.querySelector(".box");
      const paper = getComputedStyle(document.body).backgroundColor;
      return [getComputedStyle(one).fill, behind ? getComputedStyle(behind).fill : paper];
    })"""
    for ink, paper_ in page.locator("#drawing svg text").evaluate_all(colour):
        assert contrast(ink, paper_) >= 4.5, (ink, paper_)


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, as WCAG 2.2 defines it."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    """Return the relative luminance of `rgb(r, g, b)`, as WCAG 2.2 defines it."""
    parts = [int(each) / 255 for each in re.findall(r"\d+", colour)]
    linear = [
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
