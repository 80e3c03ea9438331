"""Vertical Chinese and Japanese is read down and from right to left, not row by row."""

import pytest

from inorder.documents.readers.pdf import reader as pdf
from tests.documents.document_text import block_texts
from tests.documents.pdf_files import boxed_font, encode_text, one_page

pytestmark = pytest.mark.req("DOC-1")

LINES = ["灯台守は毎晩日没の前に", "灯をともす。油は毎朝", "はかり、芯は切る。"]
NEXT = ["霧の夜は鐘を鳴らす。", "船は港へ帰る。"]


def draw_down(lines: list[str], left: float, top: float) -> list[tuple[float, float, str]]:
    """The characters of lines that begin at the right, and where they are."""
    return [
        (left - 14 * number, top + 11 * place, letter)
        for number, line in enumerate(lines)
        for place, letter in enumerate(line)
    ]


def page_of(*letters: tuple[float, float, str]) -> bytes:
    """A page with letters in a font of its own: without it, what is read would depend on the fonts of the machine."""
    alphabet = "".join(sorted({letter for _, _, letter in letters}))
    font, more = boxed_font(alphabet)
    drawn = (
        b"1 0 0 1 %d %d Tm %s Tj\n" % (left, 800 - top, encode_text(alphabet, letter)) for left, top, letter in letters
    )
    return one_page(b"BT /F 10 Tf\n" + b"".join(drawn) + b"ET", font=font, more=more)


def test_lines_are_read_from_right_to_left() -> None:
    data = page_of(*draw_down(LINES, 500, 100), *draw_down(NEXT, 300, 100))
    assert block_texts(pdf.read(data, "tale")) == [("paragraph", "".join(LINES)), ("paragraph", "".join(NEXT))]


def test_characters_in_rows_are_read_in_rows() -> None:
    rows = [
        (100 + 30 * place, 100 + 40 * row, letter)
        for row, line in enumerate(LINES)
        for place, letter in enumerate(line)
    ]
    found = "".join(text for _, text in block_texts(pdf.read(page_of(*rows), "tale")))
    assert found.replace(" ", "").startswith(LINES[0][:4])
