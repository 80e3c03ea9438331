"""Letters with accents that are drawn as two glyphs, as TeX does."""

import pytest
from reportlab.pdfgen.canvas import Canvas

from inorder.documents.model import Paragraph
from inorder.documents.readers.pdf import reader as pdf
from tests.documents.pdf_files import HEIGHT, MARGIN, Draw, draw_pdf

pytestmark = pytest.mark.req("DOC-1")

FONT, SIZE = "Helvetica", 10.0


def draw_word(before: str, accent: str, letter: str, after: str, *, order: str, top: float = 100.0) -> Draw:
    """A word with an accent over one of its letters, drawn before it, after it, or at the end of the line."""

    def draw(canvas: Canvas) -> None:
        canvas.setFont(FONT, SIZE)
        y = HEIGHT - top
        width, start = canvas.stringWidth(letter, FONT, SIZE), MARGIN + canvas.stringWidth(before, FONT, SIZE)
        middle = start + width / 2 - canvas.stringWidth(accent, FONT, SIZE) / 2
        pieces = [(start, letter), (start + width, after)]
        accented = (middle, accent)
        pieces.insert({"before": 0, "after": 1, "at the end": 2}[order], accented)
        for x, text in [(MARGIN, before), *pieces]:
            canvas.drawString(x, y, text)

    return draw


def read_text(draw: Draw) -> str:
    blocks = pdf.read(draw_pdf(draw), "x").blocks
    return " ".join(block.text for block in blocks if isinstance(block, Paragraph))


@pytest.mark.parametrize("order", ["before", "after", "at the end"])
@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (("La Computaci", "\u00b4", "o", "n de la Universidad"), "La Computaci\u00f3n de la Universidad"),
        (("Die Gr", "\u00a8", "o", "nland und der Wind"), "Die Gr\u00f6nland und der Wind"),
        (("Une fa", "\u00b8", "c", "on de parler ainsi"), "Une fa\u00e7on de parler ainsi"),
    ],
)
def test_an_accent_over_a_letter_belongs_to_it_wherever_it_is_drawn(
    parts: tuple[str, str, str, str], whole: str, order: str
) -> None:
    assert read_text(draw_word(*parts, order=order)) == whole


def test_an_accent_that_is_over_no_letter_stays_as_it_is() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont(FONT, SIZE)
        canvas.drawString(MARGIN, HEIGHT - 100, "Write `name` or \u00b4 or \u00a8 as it is.")

    assert read_text(draw) == "Write `name` or \u00b4 or \u00a8 as it is."


def test_a_letter_that_has_no_form_with_the_accent_loses_nothing() -> None:
    assert read_text(draw_word("the value of ", "\u00b8", "F", " is given", order="after")).replace(" ", "") in (
        "thevalueof\u00b8Fisgiven",
        "thevalueofF\u00b8isgiven",
    )


@pytest.mark.slow
def test_a_page_full_of_accents_is_read_like_any_other() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont(FONT, SIZE)
        for row in range(60):
            canvas.drawString(MARGIN, HEIGHT - 40 - 12 * row, "\u00b4" * 80)

    found = pdf.read(draw_pdf(draw), "x").blocks
    assert sum(block.text.count("\u00b4") for block in found if isinstance(block, Paragraph)) == 60 * 80
