"""The page of `inorder report` in a real browser, opened from disk."""

import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.report import build_report, render_html
from tests.browser.conftest import SIZES, THEMES, QuietPage
from tests.report.test_page import run_hostile
from tests.support.command_line import CommandLine
from tests.support.misbehaviour import wait_until

pytestmark = pytest.mark.req("VIS-1")
OpenPage = Callable[..., QuietPage]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages of a finished, a failed, a killed, a live and a pair of runs."""
    return {name: make(CommandLine(tmp_path_factory.mktemp(name))) for name, make in _PAGES.items()}


def write_page(cli: CommandLine, *arguments: str) -> Path:
    result = cli.run("report", *arguments)
    assert result.code == 0, result.err
    return cli.folder / result.out.strip()


def make_finished(cli: CommandLine) -> Path:
    cli.sources(*["one two"] * 30, *["fail input"] * 12, "skip nothing in it", "warn odd page")
    cli.stage("count")
    return write_page(cli)


def make_failed(cli: CommandLine) -> Path:
    cli.sources("one")
    cli.stage("breaking")
    return write_page(cli)


def make_held(cli: CommandLine) -> Any:
    cli.sources("one", "one two", "hold", "one two three")
    cli.held("2.txt")
    program = cli.start("stage", "jobs:chatty", "sources", "--workers", "1")
    cli.is_held("2.txt", committed=2)
    path = cli.data / "locks" / "count.live.json"
    assert wait_until(lambda: path.exists() and b'"item_id":"2.txt"' in path.read_bytes())
    return program


def make_killed(cli: CommandLine) -> Path:
    program = make_held(cli)
    program.send_signal(signal.SIGKILL)
    cli.end_of(program)
    return write_page(cli)


def make_live(cli: CommandLine) -> Path:
    program = make_held(cli)
    path = write_page(cli)
    cli.let_go("2.txt")
    assert cli.end_of(program).code == 0
    return path


def make_pair(cli: CommandLine) -> Path:
    cli.sources("one", "fail input", "three")
    cli.stage("count")
    cli.source("1.txt", "mended")
    cli.source("2.txt", "fail io")
    cli.stage("count", "--force")
    first, second = (row["run_id"] for row in cli.lines() if row["status"] == "config")
    return write_page(cli, "--run", first, "--run", second)


def make_files(cli: CommandLine) -> Path:
    """The page of the demo."""
    assert cli.run("run", str(SAMPLE), "-q").code == 3
    return write_page(cli)


_PAGES: dict[str, Callable[[CommandLine], Path]] = {
    "finished": make_finished,
    "failed": make_failed,
    "killed": make_killed,
    "live": make_live,
    "pair": make_pair,
    "files": make_files,
}
_SENTENCES = {
    "finished": "Finished with 12 failed items: count in ",
    "failed": "The run of breaking failed with ",
    "killed": "The run of count was killed at about ",
    "live": "The run of count goes on: 2 of 4 items are done",
    "pair": "1 new failure, 1 fixed",
    "files": "39 files: 35 new, 3 failed, 1 not read.",
}
SAMPLE = Path(__file__).parents[2] / "examples" / "sample"
HEIGHT_PX_MAX = 4000
"""Of the demo at 1280 px width, before anything is unfolded."""


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", _PAGES)
def test_every_state_is_readable_in_both_themes_and_widths(
    pages: dict[str, Path], open_page: OpenPage, name: str, size: str, theme: str
) -> None:
    opened = open_page(size, theme, bypass_csp=True)
    opened.page.goto(pages[name].as_uri())
    assert _SENTENCES[name] in opened.page.inner_text("h1")
    opened.take_screenshot(f"report-{name}-{size}-{theme}")
    opened.check_accessibility()


def test_the_policy_of_the_page_lets_its_own_style_and_script_work(pages: dict[str, Path], open_page: OpenPage) -> None:
    page = open_page().page
    page.goto(pages["finished"].as_uri())
    assert page.locator("#theme").is_visible()
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.click("#theme")
    page.click("#theme")
    assert page.inner_text("#theme") == "Theme: dark"
    assert page.evaluate(background) != light


def test_tables_are_filtered_and_paged_by_keyboard(pages: dict[str, Path], open_page: OpenPage) -> None:
    page = open_page().page
    page.goto(pages["finished"].as_uri())
    page.focus("summary >> text=All failed items")
    page.keyboard.press("Enter")
    rows = page.locator("table", has_text="Failed").locator("tbody tr:visible")
    assert rows.count() == 10
    page.focus("button[aria-label='Next page: Failed']")
    page.keyboard.press("Enter")
    assert rows.count() == 2
    page.focus("input[aria-label='Filter: Failed']")
    page.keyboard.type("35.txt")
    assert rows.count() == 1
    page.focus("summary >> text=Traceback >> visible=true")
    page.keyboard.press("Enter")
    assert "StageError" in page.locator("pre >> visible=true").inner_text()


def test_charts_are_read_by_arrow_keys(pages: dict[str, Path], open_page: OpenPage) -> None:
    page = open_page().page
    page.goto(pages["finished"].as_uri())
    page.click("#engine > details > summary")
    plot = page.locator("svg.plot[data-plot$=':fronts']")
    plot.focus()
    page.keyboard.press("ArrowRight")
    readout = plot.locator("xpath=..").locator(".readout")
    assert re.fullmatch(r"At .+: 44 computed, 44 committed, \d+ workers busy\.", readout.inner_text())
    page.keyboard.press("Tab")
    assert readout.inner_text() == ""


def test_the_first_tab_leads_to_the_content(pages: dict[str, Path], open_page: OpenPage) -> None:
    page = open_page().page
    page.goto(pages["finished"].as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    assert page.url.endswith("#main")


def test_the_page_says_everything_without_scripts(pages: dict[str, Path], browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pages["finished"].as_uri())
    assert page.locator(".groups li").first.inner_text().startswith("told to fail with input 12 items (input)")
    page.click("summary >> text=All failed items")
    assert page.locator("table", has_text="Failed").locator("tbody tr:visible").count() == 12
    assert not page.locator("svg.plot").first.is_visible()
    page.click("#engine > details > summary")
    assert page.locator("svg.plot").first.is_visible()
    context.close()


def test_paper_is_white_in_the_dark_theme_and_has_every_row(pages: dict[str, Path], open_page: OpenPage) -> None:
    page = open_page("wide", "dark").page
    page.goto(pages["finished"].as_uri())
    page.click("summary >> text=All failed items")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("table", has_text="Failed").locator("tbody tr:visible").count() == 12


def test_the_demo_fits_a_few_screens_and_two_sheets_of_paper(pages: dict[str, Path], open_page: OpenPage) -> None:
    page = open_page().page
    page.goto(pages["files"].as_uri())
    assert page.evaluate("document.documentElement.scrollHeight") < HEIGHT_PX_MAX
    assert page.locator("svg.plot >> visible=true").count() == 0
    sheets = page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", sheets)) == 2


def test_a_link_to_the_engine_room_leads_there_and_unfolds_by_keyboard(
    pages: dict[str, Path], open_page: OpenPage
) -> None:
    page = open_page().page
    page.goto(pages["files"].as_uri())
    page.click("nav a >> text=Engine room")
    page.focus("#engine > details > summary")
    page.keyboard.press("Enter")
    assert page.locator("svg.plot >> visible=true").count() > 0


def test_hostile_names_run_nothing(tmp_path: Path, open_page: OpenPage) -> None:
    run_hostile(tmp_path / "data")
    path = tmp_path / "report.html"
    path.write_text(render_html(build_report(tmp_path / "data")), encoding="utf-8")
    page = open_page().page
    page.goto(path.as_uri())
    assert page.evaluate("document.scripts.length") == 2
    assert page.get_by_text("alert(2)").first.is_visible()


def test_many_workers_and_items_open_within_the_limits(tmp_path: Path, open_page: OpenPage) -> None:
    items = [inorder.WorkItem(item_id=f"item {number}") for number in range(3000)]
    options = inorder.StageOptions(
        data=tmp_path / "data", workers=32, progress="none", windows=inorder.Windows(entries=64)
    )
    inorder.run_stage(inorder.StagePlan("many", items, len(items)), lambda item: None, options)
    path = tmp_path / "report.html"
    path.write_text(render_html(build_report(tmp_path / "data")), encoding="utf-8")
    page = open_page().page
    page.goto(path.as_uri())
    assert "3,000 done" in page.inner_text("h1")
    page.click("#engine > details > summary")
    assert page.locator("caption", has_text="200 of 3,000 shown").first.is_visible()
