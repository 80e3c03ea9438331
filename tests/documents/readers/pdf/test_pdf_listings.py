"""Listings in PDFs are code: each line once, without the numbers beside it, and never a table."""

import pytest
from reportlab.pdfgen.canvas import Canvas

from inorder.documents.model import AnyBlock, Code, Heading, Table, Title
from inorder.documents.readers.pdf import reader as pdf
from tests.documents.pdf_files import HEIGHT, Draw, draw_lines, draw_pdf, draw_together

pytestmark = pytest.mark.req("DOC-1")

TALE = "The lamp is lit an hour before sunset, and the keeper of the watch writes it down."
CODE = [
    "def light(lamp):",
    "    if lamp.is_cold:",
    "        lamp.warm()",
    "",
    "    return lamp",
    "light(great)",
]
PROSE = draw_lines(*[TALE] * 12, top=60)


def blocks_of(*draws: Draw) -> list[AnyBlock]:
    return pdf.read(draw_pdf(draw_together(PROSE, *draws)), "tale").blocks


def listings(blocks: list[AnyBlock]) -> list[str]:
    return [block.text for block in blocks if isinstance(block, Code)]


def frame_in_pieces(top: float, lines: int) -> Draw:
    """The frame and the shade that LaTeX draws: for each line, one piece of each."""

    def draw(canvas: Canvas) -> None:
        for line in range(lines):
            bottom = HEIGHT - top - 12 * (line + 1) + 3
            for left, width in ((60, 2), (62, 3), (65, 465), (530, 3), (533, 2)):
                canvas.setFillGray(0.95)
                canvas.rect(left, bottom, width, 12, stroke=0, fill=1)
        canvas.setFillGray(0)

    return draw


def test_a_framed_and_shaded_listing_is_code_once() -> None:
    code = draw_lines(*CODE, x=80, top=300, font="Courier")
    blocks = blocks_of(frame_in_pieces(290, len(CODE)), code)
    assert listings(blocks) == ["\n".join(CODE)]
    assert not any(isinstance(block, Table) for block in blocks)


def test_the_numbers_of_lines_are_no_code() -> None:
    def number(canvas: Canvas) -> None:
        canvas.setFont("Courier", 8)
        for line in range(len(CODE)):
            canvas.drawRightString(72, HEIGHT - 300 - 12 * line, str(line + 7))

    blocks = blocks_of(number, draw_lines(*CODE, x=80, top=300, font="Courier"))
    assert listings(blocks) == ["\n".join(CODE)]
    assert not any(isinstance(block, Table) for block in blocks)


def test_numbers_that_do_not_count_stay_in_code() -> None:
    data = ["10 lamp", "30 oil", "20 wick", "10 lens"]
    assert listings(blocks_of(draw_lines(*data, top=300, font="Courier"))) == ["\n".join(data)]


def test_a_comment_in_other_letters_stays_in_its_listing() -> None:
    code = ["lamp = light() # \u201cgreat\u201d \u2013 caf\u00e9", "lamp.burn()", "lamp.rest()"]
    assert listings(blocks_of(draw_lines(*code, top=300, font="Courier"))) == ["\n".join(code)]


def test_code_is_code_in_a_document_with_more_code_than_text() -> None:
    code = draw_lines(*CODE * 3, top=300, font="Courier")
    document = pdf.read(draw_pdf(draw_together(draw_lines(TALE, TALE, top=60), code)), "tale")
    assert "".join(listings(document.blocks)).count("light(great)") == 3


def test_aligned_comments_are_no_table_and_aligned_output_is_one() -> None:
    commented = ["oil = 1    # of the lamp", "wick = 2   # cut daily", "lens = 3   # clean", "rest = 4   # later"]
    output = ["LAMP    LIT    OIL", "great   12     3.5", "small   14     1.5", "spare   0      0.0"]
    blocks = blocks_of(draw_lines(*commented, top=300, font="Courier"), draw_lines(*output, top=500, font="Courier"))
    assert listings(blocks) == ["\n".join(commented)]
    (table,) = [block for block in blocks if isinstance(block, Table)]
    assert [cell.text for cell in table.cells if cell.row == 1] == ["great", "12", "3.5"]


def test_items_that_begin_in_bold_are_no_headings() -> None:
    def items(canvas: Canvas) -> None:
        for number, top in ((1, 320), (2, 350)):
            text = canvas.beginText(75, HEIGHT - top)
            text.setFont("Helvetica-Bold", 10)
            text.textOut(f"{number}. Trim the wick: ")
            text.setFont("Helvetica", 10)
            text.textOut("it is cut each day, straight, and after the lamp has cooled for an hour")
            canvas.drawText(text)
            canvas.drawString(90, HEIGHT - top - 12, "so that it burns evenly.")

    titles = [draw_lines(f"{at} Section", top=top, size=14, font="Helvetica-Bold") for at, top in ((1, 280), (2, 420))]
    blocks = blocks_of(*titles, items, draw_lines(*[TALE] * 3, top=440))
    assert [block.text for block in blocks if isinstance(block, Heading | Title)] == ["1 Section", "2 Section"]
