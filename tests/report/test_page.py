"""The page as a file: whole, without requests, and safe whatever the names of items are."""

import html.parser
import json
import re
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.report import build_report, render_html
from tests.support.command_line import CommandLine

pytestmark = pytest.mark.req("VIS-1")

HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "<!--",
    "\u202egnp.exe",
    "bell\x07 and \x1b[31mred",
    "tab\tand\nline",
    "&lt;b&gt;",
    "javascript:alert(3)",
)


class _Page(html.parser.HTMLParser):
    """The elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


def work(item: inorder.WorkItem) -> dict[str, Any]:
    if item.meta["fails"]:
        raise inorder.StageError(f"cannot read {item.item_id}", category="input")
    return {}


def run_hostile(data: Path) -> None:
    items = [
        inorder.WorkItem(item_id=f"{number}{name}", meta={"fails": number % 2})
        for number, name in enumerate(HOSTILE * 2)
    ]
    options = inorder.StageOptions(data=data, progress="none", workers=2)
    inorder.run_stage(inorder.StagePlan("hostile", items, len(items)), work, options)


def read_data(text: str) -> dict[str, Any]:
    [found] = re.findall(r'<script type="application/json" id="report">(.*?)</script>', text, re.DOTALL)
    data: dict[str, Any] = json.loads(found)
    return data


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    run_hostile(tmp_path / "data")
    text = render_html(build_report(tmp_path / "data"))
    page = _Page(text)
    scripts = [attributes for tag, attributes in page.elements if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "report"}, {}]
    assert not [tag for tag, _ in page.elements if tag in ("img", "iframe", "object", "embed", "link", "base")]
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert not [value for _, attributes in page.elements if "style" in attributes for value in attributes]
    assert "\u202e" not in text.partition('id="report"')[0]
    assert "\x1b" not in text
    assert "\\u202egnp.exe" in text
    rows = read_data(text)["runs"][0]["failures"]["rows"]
    assert [row["item_id"] for row in rows] == [f"{n}{name}" for n, name in enumerate(HOSTILE * 2) if n % 2]


def test_the_page_asks_for_nothing_else(tmp_path: Path) -> None:
    run_hostile(tmp_path / "data")
    text = render_html(build_report(tmp_path / "data"))
    page = _Page(text)
    addresses = [
        attributes[name] or ""
        for _, attributes in page.elements
        for name in ("src", "href", "action", "data", "srcset")
        if name in attributes
    ]
    assert addresses
    assert all(address.startswith("#") for address in addresses)
    assert "url(" not in text.partition("</style>")[0]
    [policy] = [a["content"] for tag, a in page.elements if tag == "meta" and "http-equiv" in a]
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


@pytest.mark.process
def test_the_command_writes_the_page_and_prints_its_path(cli: CommandLine) -> None:
    cli.sources("one", "fail input")
    cli.stage_in_process("count")
    result = cli.run("report")
    assert (result.code, result.out) == (0, "report.html\n")
    text = (cli.folder / "report.html").read_text(encoding="utf-8")
    assert "Finished with 1 failed item: count" in text
    assert read_data(text)["runs"][0]["stage"] == "count"
    elsewhere = cli.run("report", "-o", "nowhere/page.html")
    assert elsewhere.code == 2
    assert elsewhere.err == (
        "inorder: nowhere/page.html cannot be written: No such file or directory; choose another with -o\n"
    )
