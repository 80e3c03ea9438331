"""What reading a PDF uses and gives back: a buffer for the results of calls into PDFium, and the garbage collector."""

import gc

import pytest

from inorder.documents.readers.pdf.pdfium import CALLS_MAX, open_pdf
from inorder.documents.readers.pdf.reader import read
from inorder.errors import ReadError
from tests.documents.pdf_files import draw_lines, draw_pdf

LINES = [f"Line {number} of a page with more characters than the buffer has places" for number in range(30)]


@pytest.mark.req("DOC-1")
def test_more_characters_than_the_buffer_has_places_are_measured_in_several_steps() -> None:
    with open_pdf(draw_pdf(draw_lines(*LINES))) as file, file.page(1) as page:
        assert page is not None
        count = len(page.text())
        assert count > CALLS_MAX
        boxes = [page.box_numbers([index]).tolist() for index in range(count)]
        assert page.box_numbers(range(count)).tolist() == [number for box in boxes for number in box]
        matrices = [page.matrix_numbers([index]).tolist() for index in range(count)]
        assert page.matrix_numbers(range(count)).tolist() == [number for matrix in matrices for number in matrix]


@pytest.mark.req("DOC-1")
def test_a_character_that_does_not_exist_has_no_box_of_a_character_measured_before() -> None:
    with open_pdf(draw_pdf(draw_lines("A line"))) as file, file.page(1) as page:
        assert page is not None
        text = page.text()
        assert any(page.box_numbers([0]))
        assert page.box_numbers([len(text) + 1000]).tolist() == [0.0] * 4
        assert page.matrix_numbers([-1]).tolist() == [0.0] * 6


@pytest.mark.req("DOC-1")
def test_the_results_of_a_call_stay_after_the_next_call() -> None:
    with open_pdf(draw_pdf(draw_lines("A line", "Another line"))) as file, file.page(1) as page:
        assert page is not None
        page.text()
        first = page.box_numbers([0])
        kept = first.tolist()
        page.box_numbers([3])
        assert first.tolist() == kept


@pytest.mark.req("DOC-1")
@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_garbage_collector_is_as_it_was_after_a_document_and_after_a_damaged_one(is_enabled: bool) -> None:
    was_enabled = gc.isenabled()
    seen: list[bool] = []
    try:
        (gc.enable if is_enabled else gc.disable)()
        read(draw_pdf(draw_lines("A line")), "document", on_page=lambda number, last: seen.append(gc.isenabled()))
        assert gc.isenabled() == is_enabled
        with pytest.raises(ReadError):
            read(b"%PDF-1.7 and nothing else", "document")
        with pytest.raises(ReadError):
            read(draw_pdf(draw_lines("A line")), "document", first_page=5)
        assert gc.isenabled() == is_enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()
    assert seen == [False]
