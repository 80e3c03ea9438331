"""HTML made to hurt: read in bounded time and memory with its text whole, or refused with the reason."""

import subprocess
import sys
import time

import pytest

from inorder.documents.model import Table
from inorder.documents.readers.html import guard as html_guard
from inorder.documents.readers.html import reader as html
from inorder.errors import ReadError
from tests.documents.document_text import words

pytestmark = pytest.mark.req("DOC-1")

SECONDS_MAX = 30.0
"""Of processor time. Unguarded, each of these takes minutes or gigabytes."""


def read_in_time(page: bytes) -> list[str]:
    began = time.process_time()
    found = words(html.read(page, "page"))
    assert time.process_time() - began < SECONDS_MAX
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "tag",
    ["div", "span", "b", "blockquote", "ul><li", "table><tr><td", "font", "section", "custom-tag", "dl><dd"],
)
def test_tags_nested_a_hundred_thousand_deep_lose_no_word(tag: str) -> None:
    page = f"<p>before</p>{f'<{tag}>' * 100_000}within".encode()
    assert read_in_time(page) == ["before", "within"]


def test_depth_that_is_closed_again_leaves_what_follows_as_it_was() -> None:
    page = b"<div>" * 3000 + b"deep" + b"</div>" * 3000 + b"<table><tr><th>k<th>v<tr><td>a<td>b</table>"
    document = html.read(page, "page")
    assert isinstance(document.blocks[-1], Table)
    assert words(document) == ["deep", "k", "v", "a", "b"]


def test_depth_is_not_counted_in_scripts_and_comments() -> None:
    page = b"<script>" + b'"<div>";' * 2000 + b"</script><!--" + b"<div>" * 2000 + b"--><table><tr><th>k<th>v</table>"
    assert html_guard.sanitize(page) is page


def test_formatting_that_is_never_closed_does_not_multiply() -> None:
    unclosed = b"".join(b"<font id=f%d>" % number for number in range(2000))
    assert read_in_time(b"<p>" + unclosed + b"</p>" + b"<p>x</p>" * 5000) == ["x"] * 5000


@pytest.mark.slow
def test_formatting_that_would_multiply_is_taken_out_and_a_little_of_it_stays() -> None:
    unclosed = b"<p>" + b"".join(b"<font id=f%d>" % number for number in range(400)) + b"</p>"
    assert b"<font" not in html_guard.sanitize(unclosed + b"<p>x</p>" * 20_000)
    assert html_guard.sanitize(unclosed + b"<p>x</p>" * 500).count(b"<font") == 400


@pytest.mark.slow
@pytest.mark.parametrize("attribute", [b"a%d=1 ", b'a%d=">" ', b"a%d/", b"a%d\n", b"a%d=='\" "])
def test_a_tag_with_a_hundred_thousand_attributes_is_read(attribute: bytes) -> None:
    page = b"<p " + b"".join(attribute % number for number in range(100_000)) + b">text"
    assert read_in_time(page)[-1:] == ["text"]


@pytest.mark.slow
@pytest.mark.parametrize("cover", [b'<a b">%s">', b'<a b==">%s">', b'<a =">%s">', b"<a b='>%s'>"])
def test_tags_cannot_hide_behind_quotes(cover: bytes) -> None:
    read_in_time(cover % (b"<div>" * 100_000) + b"end")


@pytest.mark.parametrize(
    "piece", [b"<", b"<!--", b"<a ", b'<a b="', b"&", b"&#", b"</", b"<![CDATA[", b"<?", b"]]>", b"'"]
)
def test_half_a_tag_a_hundred_thousand_times(piece: bytes) -> None:
    read_in_time(piece * 100_000)


@pytest.mark.slow
def test_a_cell_that_spans_a_thousand_columns_in_every_row_is_paid_for_once() -> None:
    page = b"<table>" + b"<tr><td colspan=1000>x<td>y" * 5000 + b"</table>"
    document = html.read(page, "page")
    assert words(document) == ["x", "y"] * 5000
    assert "too large" in document.warnings[0]


@pytest.mark.slow
def test_cells_that_reach_down_through_thousands_of_rows_lose_no_word() -> None:
    page = b"<table>" + b"<tr><td rowspan=65534>x<td>y" * 3000 + b"</table>"
    assert sorted(read_in_time(page)) == ["x"] * 3000 + ["y"] * 3000


@pytest.mark.slow
def test_an_item_with_paragraphs_by_the_hundred_thousand_loses_no_word() -> None:
    assert read_in_time(b"<ul><li>" + b"<p>word</p>" * 200_000) == ["word"] * 200_000


@pytest.mark.slow
def test_links_by_the_hundred_thousand_are_read() -> None:
    assert len(read_in_time(b"<p>" + b"<a href=x>so\xc2\xadft</a> " * 100_000)) == 100_000


@pytest.mark.parametrize("tag", [b"<br>", b"<p a b c=d>"])
def test_too_many_tags_and_attributes_are_refused(monkeypatch: pytest.MonkeyPatch, tag: bytes) -> None:
    monkeypatch.setattr(html_guard, "NODES_MAX", 20_000)
    with pytest.raises(ReadError, match="tags and attributes"):
        html.read(tag * 20_001, "page")
    assert html.read(b"<br>" * 19_000 + b"text", "page").blocks


@pytest.mark.slow
def test_a_line_of_a_hundred_megabytes_is_refused_at_once() -> None:
    with pytest.raises(ReadError, match="the file has 100,000,000 bytes; the limit for HTML"):
        html.read(b"x" * 100_000_000, "page")


@pytest.mark.process
def test_a_long_line_takes_a_few_times_its_size() -> None:
    megabytes = 40
    program = (
        "import resource\n"
        "from inorder.documents.readers.html import reader as html\n"
        "html.read(b'<p>x', 'warm')\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"data = b'<p>' + b'word ' * {megabytes * 200_000}\n"
        "document = html.read(data, 'page')\n"
        "assert len(document.blocks[0].text) == len(data) - 4\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100)
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(finished.stdout) * unit < 12 * megabytes * 1_000_000


def test_nul_bytes_are_refused() -> None:
    with pytest.raises(ReadError, match="NUL"):
        html.read(b"<p>a\0b</p>", "page")


def test_numbers_past_all_reason_are_ignored() -> None:
    huge = "9" * 5000
    page = f"<ol start={huge}><li value=-{huge}>a</ol><table><tr><td rowspan={huge} colspan=-1>b<td>c</table>"
    assert words(html.read(page.encode(), "page")) == ["a", "b", "c"]
