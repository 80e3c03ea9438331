"""A real browser: Debian's Chromium, driven by Playwright. `make test-browser` installs both and runs these tests.

Every page of a test must be quiet: a message on the console, an exception, a request that fails or a dialog fails the
test. Screenshots go to `build/screenshots`.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
AXE = Path(__file__).parents[2] / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
IS_WANTED = os.environ.get("BROWSER_TESTS") == "1"
GUARD_MS = 60_000
"""What no passing test ever waits for."""
SIZES = {"wide": {"width": 1280, "height": 900}, "narrow": {"width": 390, "height": 844}}
THEMES = ("light", "dark")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.process)
            item.add_marker(pytest.mark.slow)
            if not IS_WANTED:
                item.add_marker(pytest.mark.skip(reason="run by `make test-browser`"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium")
    assert path, "chromium is not installed; run `make test-browser`"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


class QuietPage:
    """A page, and what went wrong on it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.problems: list[str] = []
        page.set_default_timeout(GUARD_MS)
        page.on("console", lambda message: self.problems.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.problems.append(f"exception: {error}"))
        page.on("dialog", self._refuse)
        page.on("requestfailed", self._note_failure)

    def _refuse(self, dialog: Any) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _note_failure(self, request: Any) -> None:
        """A search that the next letter has superseded is aborted, and so are requests of a page that was left."""
        if request.failure != "net::ERR_ABORTED":
            self.problems.append(f"request failed: {request.url} {request.failure}")

    def take_screenshot(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=False)

    def check_accessibility(self) -> None:
        """axe-core finds nothing, and nothing is wider than the window."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        violations = [
            (violation["id"], [node["html"][:200] for node in violation["nodes"][:3]])
            for violation in found["violations"]
        ]
        assert violations == []
        width = self.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert width[0] <= width[1], "the page scrolls sideways"


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., QuietPage]]:
    """Opens pages of a given size and theme. At the end of the test none of them may have had a problem."""
    opened: list[QuietPage] = []
    contexts: list[Any] = []

    def open_one(size: str = "wide", theme: str = "light", *, bypass_csp: bool = False) -> QuietPage:
        context = browser.new_context(
            viewport=SIZES[size], color_scheme=theme, reduced_motion="reduce", bypass_csp=bypass_csp
        )
        contexts.append(context)
        opened.append(QuietPage(context.new_page()))
        return opened[-1]

    yield open_one
    for context in contexts:
        context.close()
    assert [problem for page in opened for problem in page.problems] == []
