"""`inorder serve` in a real browser."""

import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import GUARD_MS, THEMES, QuietPage
from tests.serve.site import make_site
from tests.support.command_line import COMMAND, GUARD_S, CommandLine, clean_environment

pytestmark = pytest.mark.req("VIS-2")
expect: Any = pytest.importorskip("playwright.sync_api", reason="run by `make test-browser`").expect
OpenPage = Callable[..., QuietPage]


class ServedSite:
    """A server that runs as a user starts it."""

    def __init__(self, *arguments: str, folder: Path) -> None:
        self.process = subprocess.Popen(
            [COMMAND, "serve", "--port", "0", *arguments],
            cwd=folder,
            env=clean_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        self.address = self.url.partition("/?")[0].rstrip("/")

    def visit(self, page: QuietPage, path: str) -> Any:
        """Open a page with the token, as a first visit does."""
        token = self.url.partition("?token=")[2]
        joined = "&" if "?" in path else "?"
        place, _, fragment = path.partition("#")
        page.page.goto(f"{self.address}{place}{joined}token={token}" + (f"#{fragment}" if fragment else ""))
        page.page.wait_for_selector("html[data-ready]")
        return page.page

    def close(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=GUARD_S)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedSite]:
    folder = tmp_path_factory.mktemp("served")
    runs = make_site(folder)
    runs.write(**{"torn.pdf": b"%PDF-1.4 torn", "empty.txt": ""})
    runs.read_docs()
    served = ServedSite("--data", "data", folder=folder)
    yield served
    served.close()


def test_search_as_you_type_and_open_a_hit_at_its_place(site: ServedSite, open_page: OpenPage) -> None:
    page = site.visit(open_page(), "/search")
    assert "token" not in page.url
    page.get_by_role("searchbox").press_sequentially("high water")
    hit = page.get_by_role("link", name="tides.pdf")
    hit.wait_for()
    assert page.locator("mark").first.inner_text().lower() == "high"
    assert "q=high+water" in page.url
    page.get_by_text("Why it is number 1").click()
    hit.click()
    page.wait_for_selector(".box.chosen")
    assert page.locator(".chunk.chosen").count() == 1
    image = page.locator(".sheet img")
    expect(image).to_have_attribute("alt", "Page 1 of the original")
    expect(image).to_have_js_property("complete", True, timeout=GUARD_MS)
    assert image.evaluate("image => image.naturalWidth") > 0


def test_everything_can_be_done_with_the_keyboard(site: ServedSite, open_page: OpenPage) -> None:
    page = site.visit(open_page(), "/search")
    page.keyboard.type("def:measure")
    page.wait_for_selector(".hit a.title")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".hit a.title").first).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_selector(".row.chosen")
    assert page.url.endswith("#L9")
    page.wait_for_selector(".graph li a")
    caller = page.locator(".graph li a").first
    assert "lamp.py:6 in Lamp.light" in caller.inner_text()
    caller.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#L6.chosen")
    page.keyboard.press("/")


def test_filters_are_in_the_address_and_survive_a_reload(site: ServedSite, open_page: OpenPage) -> None:
    page = site.visit(open_page(), "/search?q=lamp")
    page.wait_for_selector(".hit")
    page.locator("select[name=only]").select_option("code")
    expect(page.locator("#results")).not_to_contain_text("note.md", timeout=GUARD_MS)
    page.reload()
    page.wait_for_selector(".hit")
    expect(page.locator("select[name=only]")).to_have_value("code")
    expect(page.locator("#results")).not_to_contain_text("note.md")


def test_files_are_filtered_and_say_what_would_help(site: ServedSite, open_page: OpenPage) -> None:
    page = site.visit(open_page(), "/files")
    rows = page.locator(".documents li")
    expect(rows).to_have_count(7)
    page.get_by_label("State").select_option("failed")
    expect(rows).to_have_count(1)
    assert "status=failed" in page.url
    expect(rows.first).to_contain_text("failed: the PDF is damaged")
    page.reload()
    expect(rows).to_have_count(1)
    rows.first.get_by_role("link").click()
    expect(page.locator(".notice")).to_contain_text("What would help: mend or replace the file")
    expect(page.locator(".steps li").first).to_contain_text("doctags failed")
    page.go_back()
    page.get_by_label("State").select_option("")
    page.get_by_label("Type").select_option(".py")
    expect(rows.first).to_contain_text("lamp.py")
    rows.first.get_by_role("link").click()
    page.wait_for_selector(".listing")
    expect(page.locator(".steps")).to_contain_text("index made")


def test_source_code_that_is_opened_as_a_document_is_shown_as_code(site: ServedSite, open_page: OpenPage) -> None:
    page = site.visit(open_page(), "/document?id=docs/lamp.py")
    page.wait_for_selector(".listing")
    assert "/code?" in page.url


@pytest.mark.parametrize("item", ["docs/deep/storm.md", "docs/tempest.html"])
def test_a_hostile_document_executes_nothing(site: ServedSite, open_page: OpenPage, item: str) -> None:
    page = site.visit(open_page(), f"/document?id={item}")
    page.wait_for_selector(".rendered")
    assert page.locator(".rendered script, .rendered svg, .rendered iframe, .rendered img, .rendered form").count() == 0
    assert page.evaluate("getComputedStyle(document.body).display") == "block"
    page.get_by_role("button", name="Show the source").click()
    assert "<script>" in page.locator(".plain").inner_text()


def test_a_run_is_followed_to_its_end(tmp_path: Path, open_page: OpenPage) -> None:
    cli = CommandLine(tmp_path)
    cli.sources("one", "two")
    cli.held("2.txt")
    program = cli.start("stage", "jobs:count", "sources", "--policy", "io")
    cli.is_held("2.txt", committed=2)
    served = ServedSite("--data", str(cli.data), folder=tmp_path)
    try:
        quiet = open_page()
        page = served.visit(quiet, "/runs")
        page.wait_for_selector(".verdict.level-running")
        page.wait_for_selector(".live .strip")
        quiet.take_screenshot("runs-live")
        cli.let_go("2.txt")
        assert cli.end_of(program).code == 0
        page.wait_for_selector(".verdict.level-good")
        page.wait_for_selector(".live", state="hidden")
        cli.source("2.txt", "three")
        assert cli.stage("count", "--policy", "io", "--force", "--quiet").code == 0
        expect(page).to_have_title(re.compile("count"), timeout=GUARD_MS)
        expect(page.locator("#history")).to_contain_text("run")
        page.close()
    finally:
        served.close()
        cli.close()


PAGES = {
    "search": "/search?q=lamp",
    "search-empty": "/search",
    "files": "/files",
    "document-pdf": "/document?id=docs/tides.pdf&chunk=0",
    "document-markdown": "/document?id=docs/note.md",
    "document-failed": "/document?id=docs/torn.pdf",
    "document-not-read": "/document?id=docs/empty.txt",
    "code": "/code?id=docs/lamp.py#L9",
    "runs": "/runs",
}


@pytest.mark.parametrize("size", ["wide", "narrow"])
@pytest.mark.parametrize("name", PAGES)
def test_pages_are_accessible_in_both_themes(site: ServedSite, open_page: OpenPage, name: str, size: str) -> None:
    for theme in THEMES:
        quiet = open_page(size, theme, bypass_csp=True)
        page = site.visit(quiet, PAGES[name])
        if name != "runs":
            page.wait_for_load_state("networkidle")
        quiet.take_screenshot(f"{name}-{size}-{theme}")
        quiet.check_accessibility()


def test_the_theme_can_be_chosen_and_is_kept(site: ServedSite, open_page: OpenPage) -> None:
    page = site.visit(open_page(), "/search")
    for theme in ("light", "dark", "system"):
        page.get_by_role("button", name="Theme:").click()
        page.get_by_role("button", name=f"Theme: {theme}").wait_for()
    page.get_by_role("button", name="Theme:").click()
    page.reload()
    page.get_by_role("button", name="Theme: light").wait_for()
