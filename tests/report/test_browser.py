"""Both pages in a real browser: they draw, sort, filter and zoom, ask for nothing, and run only their own scripts.

The browser is the machine's own (Debian: `apt install chromium`), driven by Playwright; nothing is downloaded. Where
either is missing the tests are skipped and say so.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from argus.agent.journal import Journal
from argus.report.run_page import run_page
from tests.report.test_kernel_page import page_of
from tests.report.test_run_page import HOSTILE, write

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra: test)")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine (Debian: apt install chromium)")

Page = Any
Opened = Callable[..., Page]
STEPS: tuple[tuple[str, str, float | None], ...] = (
    ("naive", "pass", 400.0),
    ("tile", "fail", None),
    ("swizzle", "pass", 90.0),
    ("split", "fail", None),
    ("waves", "pass", 1150.0),
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Opened]:
    """Opens a text as a page; at the end nothing was asked for but the file, and nothing went wrong."""
    wrong: list[str] = []
    asked: list[str] = []
    pages: list[Page] = []

    def opened(text: str, **options: Any) -> Page:
        target = tmp_path / "page.html"
        target.write_text(text, encoding="utf-8")
        page = browser.new_page(viewport={"width": 1200, "height": 900}, **options)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(target.as_uri())
        pages.append(page)
        return page

    yield opened
    for page in pages:
        page.close()
    assert wrong == []
    assert asked == [(tmp_path / "page.html").as_uri()] * len(pages)


def _run(folder: Path, **given: Any) -> str:
    write(folder, steps=given.pop("steps", STEPS), **given)
    with Journal.read(folder) as journal:
        return run_page(journal)


def _column(page: Page, number: int) -> list[str]:
    found: list[str] = page.locator(f"#candidates tbody tr:visible td:nth-child({number})").all_inner_texts()
    return found


def test_candidates_sort_and_filter(open_page: Opened, tmp_path: Path) -> None:
    page = open_page(_run(tmp_path))
    time = page.get_by_role("button", name="time in µs")
    assert _column(page, 1) == ["c0", "c1", "c2", "c3", "c4"]
    time.click()
    assert _column(page, 5) == ["90.0", "400.0", "1150.0", "", ""]
    time.click()
    assert _column(page, 5) == ["1150.0", "400.0", "90.0", "", ""]
    time.click()
    assert _column(page, 1) == ["c0", "c1", "c2", "c3", "c4"]
    page.get_by_role("button", name="technique").click()
    assert [text.split("\n")[0] for text in _column(page, 3)] == ["naive", "split", "swizzle", "tile", "waves"]
    page.get_by_role("button", name="fail 2").click()
    assert _column(page, 1) == ["c3", "c1"]
    assert page.locator(".toolbar output").inner_text() == "2 of 5"
    page.get_by_role("searchbox").fill("spl RACE_free")
    assert _column(page, 1) == ["c3"]
    page.get_by_role("button", name="all", exact=True).click()
    page.get_by_role("searchbox").fill("")
    assert len(_column(page, 1)) == 5


def test_reasons_are_seen_without_a_click(open_page: Opened, tmp_path: Path) -> None:
    page = open_page(_run(tmp_path))
    for place in ("#candidates tr[data-verdict=fail] .reason", "article.failure > p:has(b)"):
        for found in page.locator(place).all():
            assert found.is_visible()
            assert "two waves & one byte" in found.inner_text()
    assert not page.locator("article.failure details pre").first.is_visible()
    page.locator("article.failure summary").first.click()
    assert "    barrier(1)" in page.locator("article.failure details pre").first.inner_text()


@pytest.mark.parametrize("which", ["run", "kernel"])
def test_sources_keep_their_indentation(which: str, open_page: Opened, tmp_path: Path) -> None:
    """The indented word stands further right than its number's column, by four letters' width or more."""
    page = open_page(_run(tmp_path) if which == "run" else page_of()[0])
    word = "barrier(2)" if which == "run" else "load()"
    place = page.evaluate(
        """word => {
            const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            while (walk.nextNode()) {
                const at = walk.currentNode.data.indexOf("    " + word);
                if (at < 0 || !walk.currentNode.parentElement.closest("pre.source, td code")) continue;
                const range = document.createRange();
                range.setStart(walk.currentNode, at); range.setEnd(walk.currentNode, at + 4);
                return range.getBoundingClientRect().width;
            }
            return 0;
        }""",
        word,
    )
    assert place > 20


def test_light_and_dark(open_page: Opened, tmp_path: Path) -> None:
    """Text and paper are far apart in both, and differ between them."""
    text = _run(tmp_path)
    seen = []
    for scheme in ("light", "dark"):
        page = open_page(text, color_scheme=scheme)
        seen.append(
            page.evaluate(
                """() => [getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]
                    .map(each => each.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3)"""
            )
        )
    (ink, paper), (dark_ink, dark_paper) = seen
    assert paper - ink > 150
    assert dark_ink - dark_paper > 150


PAINTED = """kind => {
    const canvas = document.querySelector("canvas"), color = getComputedStyle(document.querySelector("i." + kind));
    const [r, g, b] = color.backgroundColor.match(/\\d+/g).map(Number);
    const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    let found = 0;
    for (let n = 0; n < data.length; n += 4) found += data[n] === r && data[n + 1] === g && data[n + 2] === b;
    return found;
}"""


def _shown(page: Page) -> tuple[int, int]:
    page.wait_for_timeout(60)
    figure = page.locator("#timeline")
    return int(figure.get_attribute("data-from")), int(figure.get_attribute("data-to"))


def test_the_timeline_zooms_and_moves(open_page: Opened) -> None:
    text, timing = page_of()
    page = open_page(text)
    canvas = page.locator("canvas")
    canvas.scroll_into_view_if_needed()
    whole = max(s.end for s in timing.timeline.slices) if timing.timeline else 0
    page.locator("[data-zoom=all]").click()
    assert _shown(page) == (0, whole)
    page.locator("[data-zoom=in]").click()
    first, last = _shown(page)
    assert abs((last - first) - whole / 2) <= 2
    assert abs((first + last) / 2 - whole / 2) <= 2
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 600, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + 60, steps=4)
    page.mouse.up()
    moved, _ = _shown(page)
    assert moved > first
    canvas.focus()
    page.keyboard.press("ArrowLeft")
    assert _shown(page)[0] < moved
    page.keyboard.press("0")
    assert _shown(page) == (0, whole)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    assert _shown(page)[1] - _shown(page)[0] < whole
    page.locator("[data-zoom=out]").click()
    assert _shown(page) == (0, whole)


def test_the_timeline_is_drawn_and_its_legend_hides_a_kind(open_page: Opened) -> None:
    page = open_page(page_of()[0])
    assert _shown(page)
    before = {kind: page.evaluate(PAINTED, kind) for kind in ("matrix", "lds", "vmem", "barrier")}
    assert before["matrix"] > 500
    assert before["lds"] > 500
    assert before["barrier"] == 0
    page.locator(".key[data-kind=matrix]").click()
    assert page.evaluate(PAINTED, "matrix") == 0
    assert page.evaluate(PAINTED, "lds") == before["lds"]
    assert page.locator(".key[data-kind=matrix]").get_attribute("aria-pressed") == "false"
    page.locator(".key[data-kind=matrix]").click()
    assert page.evaluate(PAINTED, "matrix") == before["matrix"]


def test_a_slice_says_what_it_is(open_page: Opened) -> None:
    page = open_page(page_of()[0])
    canvas = page.locator("canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    tip = page.locator(".tip")
    texts = set()
    for y in range(30, int(box["height"]), 15):
        for x in range(200, 1000, 150):
            page.mouse.move(box["x"] + x, box["y"] + y)
            if tip.is_visible():
                texts.add(tip.inner_text().split("\n")[0])
    assert any("mfma" in text for text in texts)
    assert any(text.startswith("stalled") for text in texts)


def test_the_roofline_has_axes(open_page: Opened) -> None:
    """Ticks stand in a row below the plot, from left to right, with their numbers."""
    page = open_page(page_of()[0])
    chart = page.locator("svg[aria-label^=roofline]")
    ticks = {text.text_content(): text.bounding_box() for text in chart.locator("text[text-anchor=middle]").all()}
    row = [ticks[number] for number in ("0.1", "1", "10", "100", "1000", "10k")]
    assert [box["x"] for box in row] == sorted(box["x"] for box in row)
    assert len({round(box["y"]) for box in row}) == 1
    assert ticks["FLOP per byte of memory"]["y"] > row[0]["y"]
    assert chart.locator("circle").count() == 1


def test_instructions_sort(open_page: Opened) -> None:
    page = open_page(page_of()[0])
    page.locator("#instructions").get_by_role("button", name="stalled").click()
    page.locator("#instructions").get_by_role("button", name="stalled").click()
    values = page.locator("#instructions tbody td:nth-child(5)").evaluate_all(
        "cells => cells.map(c => +c.dataset.value)"
    )
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("which", ["run", "kernel"])
def test_nothing_from_a_journal_or_a_kernel_runs(which: str, open_page: Opened, tmp_path: Path) -> None:
    hostile = tuple((name + HOSTILE, verdict, took) for name, verdict, took in STEPS)
    text = _run(tmp_path, steps=hostile, text=HOSTILE) if which == "run" else page_of(HOSTILE, HOSTILE)[0]
    page = open_page(text)
    assert page.locator("img").count() == 0
    assert HOSTILE in page.locator("body").inner_text()


def test_a_script_that_is_not_ours_is_refused(browser: Any, tmp_path: Path) -> None:
    """Were an escape forgotten, the page's policy would still refuse the script and the network."""
    text = _run(tmp_path / "journal").replace(
        "<h2>", '<script>window.ran = 1</script><img src="http://127.0.0.1:9/x"><h2>', 1
    )
    target = tmp_path / "page.html"
    target.write_text(text, encoding="utf-8")
    page = browser.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(target.as_uri())
    assert page.evaluate("window.ran") is None
    assert sum("Content Security Policy" in message for message in refused) == 2
    page.get_by_role("button", name="time in µs").click()
    assert page.locator("#candidates th[aria-sort=ascending]").count() == 1
    page.close()
