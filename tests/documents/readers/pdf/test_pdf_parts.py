"""A PDF read in parts is the same as one read at once, whatever the parts; and read again, it is the same again."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Table as Grid
from reportlab.platypus import TableStyle

from inorder.documents.model import Document
from inorder.documents.readers.pdf import document_stats
from inorder.documents.readers.pdf import reader as pdf
from inorder.documents.readers.pdf.lines import is_continued, join_text
from inorder.errors import ReadError
from tests.documents.pdf_files import HEIGHT, MARGIN, body, draw_lines, draw_pdf, heading, raw_pdf, typeset_pdf

pytestmark = pytest.mark.req("DOC-1")

CELLS = [["Lamp", "Oil", "Hours"], ["great", "12", "9"], ["small", "3", "11"], ["boat", "1", "2"]]


def edges(canvas: Canvas) -> None:
    canvas.setFont("Helvetica", 8)
    canvas.drawString(MARGIN, HEIGHT - 30, "The Handbook")
    canvas.drawString(MARGIN, 30, f"Page {canvas.getPageNumber()}")


def handbook() -> bytes:
    """About forty pages, so that not all of them are in the sample, with paragraphs that run over their ends."""
    parts = []
    for chapter in range(90):
        text = f"In chapter {chapter} the keepers tell of the long nights and of what they saw from the gallery, "
        parts += [heading(f"Chapter {chapter}"), body(text * 9), body(f"{text * 7} and that was all.")]
        parts += [Grid(CELLS, style=TableStyle([("GRID", (0, 0), (-1, -1), 0.5, "black")])), body(text * 12)]
    return typeset_pdf(parts, columns=2, on_page=edges)


def read_in_parts(data: bytes, ends: list[int]) -> Document:
    stats = pdf.collect_stats(data)
    starts = [1, *(end + 1 for end in ends[:-1])]
    parts = [
        pdf.read(data, "tale", first_page=start, last_page=end, stats=stats)
        for start, end in zip(starts, ends, strict=True)
    ]
    return pdf.merge(parts)


@pytest.fixture(scope="module")
def book() -> bytes:
    return handbook()


@pytest.mark.slow
def test_parts_are_put_together_as_if_read_at_once(book: bytes) -> None:
    count = pdf.count_pages(book)
    assert count > document_stats.SAMPLE_PAGES_MAX
    whole = pdf.read(book, "tale")
    for ends in ([1, count], [count - 1, count], [count // 3, count // 2, count], list(range(1, count + 1)), [count]):
        assert read_in_parts(book, ends) == whole


def test_parts_are_put_together_where_a_paragraph_runs_over_several_pages() -> None:
    texts = ["so it went on and", "on, and on, and", "further-", "more without any end in", "sight until the light."]
    data = draw_pdf(*(draw_lines(text) for text in texts))
    whole = pdf.read(data, "tale")
    assert len(whole.blocks) < len(texts)
    for first in range(1, 5):
        for second in range(first, 5):
            assert read_in_parts(data, sorted({first, second, 5})) == whole


WORDS = st.sampled_from(
    ["so it-", "it-", "self-", "self", "made,", "a self-", "well done-", "on and", "end.", "a-b-", "Up"]
)


@pytest.mark.slow
@given(st.lists(WORDS, min_size=3, max_size=5), st.data())
def test_what_is_joined_does_not_depend_on_what_is_joined_first(texts: list[str], data: st.DataObject) -> None:
    def join_pieces(pieces: list[list[str]]) -> list[str]:
        whole: list[str] = []
        for piece in pieces:
            if whole and is_continued(whole[-1], piece[0]):
                whole[-1] = join_text(whole[-1], piece[0])
                piece = piece[1:]
            whole += piece
        return whole

    split = data.draw(st.integers(1, len(texts) - 1))
    parts = [join_pieces([[text] for text in part]) for part in (texts[:split], texts[split:])]
    assert join_pieces(parts) == join_pieces([[text] for text in texts])


@pytest.mark.slow
def test_facts_and_parts_survive_a_trip_through_bytes(book: bytes) -> None:
    stats = pdf.collect_stats(book)
    assert msgspec.json.decode(msgspec.json.encode(stats), type=pdf.DocumentStats) == stats
    part = pdf.read(book, "tale", first_page=3, last_page=9, stats=stats)
    assert msgspec.json.decode(msgspec.json.encode(part), type=Document) == part


def test_a_part_of_broken_pages_is_no_error_but_a_whole_of_them_is() -> None:
    data = raw_pdf(
        {
            1: b"<</Type/Catalog/Pages 2 0 R>>",
            2: b"<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2>>",
            3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]>>",
            4: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9000000 800]>>",
        }
    )
    part = pdf.read(data, "tale", first_page=2)
    assert part.warnings == ["page 2 has an invalid size"]
    assert pdf.merge([pdf.read(data, "tale", last_page=1), part]) == pdf.read(data, "tale")
    with pytest.raises(ReadError, match="no page of the PDF can be read: page 2 has an invalid size"):
        pdf.merge([part, part])


@pytest.mark.slow
def test_a_document_is_read_the_same_twice(book: bytes) -> None:
    assert msgspec.json.encode(pdf.read(book, "tale")) == msgspec.json.encode(pdf.read(book, "tale"))
