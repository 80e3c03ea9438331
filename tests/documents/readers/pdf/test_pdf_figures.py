"""Charts in PDFs are figures: their labels are kept together, and are no part of the text around them."""

import pytest
from reportlab.pdfgen.canvas import Canvas

from inorder.documents.model import Paragraph, Picture, Table
from inorder.documents.readers.pdf import reader as pdf
from tests.documents.document_text import block_texts
from tests.documents.pdf_files import HEIGHT, Draw, draw_lines, draw_pdf, draw_together

pytestmark = pytest.mark.req("DOC-1")

TALE = "The lamp is lit an hour before sunset, and the keeper of the watch writes it down."
LABELS = ["0.0", "0.5", "1.0", "1952", "1953", "1954"]


def chart(canvas: Canvas) -> None:
    """Labels in a grid, and one that is turned, set as one thing."""
    canvas.beginForm("chart", 0, 0, 300, 120)
    canvas.rect(0, 0, 300, 120)
    canvas.setFont("Helvetica", 7)
    for number, label in enumerate(LABELS):
        canvas.drawString(30 + 80 * (number % 3), 90 - 30 * (number // 3), label)
    canvas.drawString(30, 30, "- oil")
    canvas.rotate(90)
    canvas.drawString(40, -10, "litres")
    canvas.endForm()
    canvas.translate(60, HEIGHT - 420)
    canvas.doForm("chart")
    canvas.translate(-60, 420 - HEIGHT)


def page_with(caption: str) -> bytes:
    above, below = draw_lines(*[TALE] * 10, top=80), draw_lines(*[TALE] * 10, top=480)
    figure: Draw = draw_together(chart, draw_lines(caption, top=440))
    return draw_pdf(draw_together(above, figure, below))


def test_a_chart_is_a_figure_with_its_labels() -> None:
    found = pdf.read(page_with("Figure 1: Oil of the great lamp."), "tale").blocks
    assert [type(block) for block in found] == [Paragraph, Picture, Paragraph, Paragraph]
    _, picture, labels, _ = found
    assert isinstance(picture, Picture)
    assert picture.caption == "Figure 1: Oil of the great lamp."
    assert picture.box == pytest.approx((60, 300, 360, 420), abs=2)
    assert isinstance(labels, Paragraph)
    assert labels.source == "figure"
    assert sorted(labels.text.split()) == sorted([*LABELS, "-", "oil", "litres"])


def test_a_drawing_without_a_caption_is_read_as_text() -> None:
    found = pdf.read(page_with("All of this is known."), "tale")
    assert not any(isinstance(block, Picture) for block in found.blocks)
    text = " ".join(text for _, text in block_texts(found))
    assert all(label in text or any(isinstance(block, Table) for block in found.blocks) for label in LABELS)
