"""Numbers of lines in the margin are no part of the text; numbers of lists and of tables are."""

import re

import pytest
from reportlab.pdfgen.canvas import Canvas

from inorder.documents.readers.pdf import reader as pdf
from tests.documents.document_text import words
from tests.documents.pdf_files import HEIGHT, MARGIN, WIDTH, Draw, draw_pdf, draw_together
from tests.documents.sequences import share_in_order

pytestmark = pytest.mark.req("DOC-1")

LINES = [
    "The keeper of the light writes down who passed the rock and when",
    "and signs the book every morning before the boat of the harbour",
    "comes in. Nobody else may sign it, and nobody takes it ashore.",
]


def draw_text(count: int, size: float = 10.0) -> tuple[Draw, list[str]]:
    lines = [LINES[index % 3] for index in range(count)]

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", size)
        for index, line in enumerate(lines):
            canvas.drawString(MARGIN, HEIGHT - 100 - 12 * index, line)

    return draw, re.findall(r"\w+", " ".join(lines))


def draw_numbers(count: int, step: int, gap: float, *, is_left: bool = True, size: float = 7.0) -> Draw:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", size)
        for number in range(step, count + 1, step):
            height = HEIGHT - 100 - 12 * (number - 1)
            if is_left:
                canvas.drawRightString(MARGIN - gap, height, str(number))
            else:
                canvas.drawString(WIDTH - MARGIN + gap, height, str(number))

    return draw


def draw_line_by_line(count: int, step: int, gap: float, *, is_left: bool, is_first: bool) -> tuple[Draw, list[str]]:
    """Each number together with its line, before or after it."""
    lines = [LINES[index % 3] for index in range(count)]

    def draw(canvas: Canvas) -> None:
        for index, line in enumerate(lines):
            height, number = HEIGHT - 100 - 12 * index, str(index + 1)
            for is_number in (is_first, not is_first):
                canvas.setFont("Helvetica", 7 if is_number else 10)
                if not is_number:
                    canvas.drawString(MARGIN, height, line)
                elif (index + 1) % step == 0 and is_left:
                    canvas.drawRightString(MARGIN - gap, height, number)
                elif (index + 1) % step == 0:
                    canvas.drawString(WIDTH - MARGIN - 170 + gap, height, number)

    return draw, re.findall(r"\w+", " ".join(lines))


def read_words(data: bytes) -> list[str]:
    return words(pdf.read(data, "draft"))


@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize("step", [1, 5])
def test_numbers_that_are_drawn_before_the_text_are_left_out(step: int, is_left: bool) -> None:
    draw, given = draw_text(40)
    data = draw_pdf(draw_together(draw_numbers(40, step, 14, is_left=is_left), draw))
    assert read_words(data) == given


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize(("step", "count", "gap"), [(1, 30, 12), (1, 30, 6), (5, 40, 12), (5, 18, 12), (10, 45, 8)])
def test_numbers_that_are_drawn_with_their_line_are_left_out(
    step: int, count: int, gap: float, is_left: bool, is_first: bool
) -> None:
    draw, given = draw_line_by_line(count, step, gap, is_left=is_left, is_first=is_first)
    found = read_words(draw_pdf(draw))
    assert sorted(found) == sorted(given)
    assert share_in_order(given, found) >= 0.99


def test_numbers_on_both_sides_are_left_out() -> None:
    lines = [LINES[index % 3] for index in range(30)]

    def draw(canvas: Canvas) -> None:
        for index, line in enumerate(lines):
            height = HEIGHT - 100 - 12 * index
            canvas.setFont("Helvetica", 7)
            canvas.drawRightString(MARGIN - 12, height, str(index + 1))
            canvas.setFont("Helvetica", 10)
            canvas.drawString(MARGIN, height, line)
            canvas.setFont("Helvetica", 7)
            canvas.drawString(WIDTH - MARGIN - 150, height, str(index + 1))

    assert read_words(draw_pdf(draw)) == re.findall(r"\w+", " ".join(lines))


def test_numbers_as_large_as_the_text_are_left_out_where_lines_begin_in_the_middle_of_a_sentence() -> None:
    draw, given = draw_text(25)
    assert read_words(draw_pdf(draw_together(draw_numbers(25, 1, 20, size=10), draw))) == given


def test_numbers_beside_the_text_that_do_not_count_stay() -> None:
    draw, given = draw_text(20)

    def margin(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for index, text in enumerate(("7", "3", "9", "1", "4")):
            canvas.drawString(30, HEIGHT - 100 - 12 * index, text)

    assert sorted(read_words(draw_pdf(draw_together(draw, margin)))) == sorted([*given, "7", "3", "9", "1", "4"])


@pytest.mark.parametrize("gap", [4.0, 12.0, 30.0])
@pytest.mark.parametrize("wrapped", [False, True])
def test_numbers_of_a_list_and_of_the_rows_of_a_table_stay(gap: float, wrapped: bool) -> None:
    """Each number stands before an item, which begins with a capital; or an item has a second line without number."""

    def draw(canvas: Canvas) -> None:
        height = HEIGHT - 100
        canvas.setFont("Helvetica", 10)
        for number in range(1, 13):
            canvas.drawRightString(MARGIN, height, str(number))
            canvas.drawString(MARGIN + gap, height, "Lamp oil is kept below the stairs")
            if wrapped:
                height -= 12
                canvas.drawString(MARGIN + gap, height, "and never beside the stove of the room")
            height -= 12

    found = read_words(draw_pdf(draw))
    assert [word for word in found if word.strip(".)").isdecimal()] == [str(number) for number in range(1, 13)]


def test_notes_with_small_numbers_stay() -> None:
    def draw(canvas: Canvas) -> None:
        height = HEIGHT - 100
        for number in range(1, 10):
            canvas.setFont("Helvetica", 6)
            canvas.drawRightString(MARGIN, height + 3, str(number))
            canvas.setFont("Helvetica", 9)
            canvas.drawString(MARGIN + 6, height, "A. Keeper, Lamps and their oil, a handbook of")
            canvas.drawString(MARGIN + 6, height - 11, "the cooperative, second edition, page nine.")
            height -= 24

    found = read_words(draw_pdf(draw))
    assert sum(word.isdecimal() for word in found) == 9


@pytest.mark.parametrize("gap", [6.0, 14.0])
def test_numbers_with_a_common_left_edge_are_left_out(gap: float) -> None:
    """Those of one digit end farther from the text than those of two."""
    lines = [LINES[index % 3] for index in range(48)]

    def draw(canvas: Canvas) -> None:
        for index, line in enumerate(lines):
            height = HEIGHT - 100 - 12 * index
            canvas.setFont("Helvetica", 8)
            canvas.drawString(MARGIN, height, str(index + 1))
            canvas.setFont("Helvetica", 10)
            canvas.drawString(MARGIN + 9 + gap, height, line)

    assert read_words(draw_pdf(draw)) == re.findall(r"\w+", " ".join(lines))


@pytest.mark.parametrize(
    "columns", [("1", "Station", "1801", "remark"), ("Station", "1801", "remark"), ("1", "Oil", "remark")]
)
def test_columns_of_a_table_that_count_stay(columns: tuple[str, ...]) -> None:
    """Beside them are cells, of which the last begins like a line in the middle of a sentence."""
    rows: list[list[str]] = []
    for index in range(30):
        row = [str(int(text) + index) if text.isdecimal() else text for text in columns]
        rows.append([*row[:-1], f"remark {'abcdefghij'[index % 10]} of the keeper"])

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for index, row in enumerate(rows):
            for column, text in enumerate(row):
                canvas.drawString(MARGIN + 80 * column, HEIGHT - 100 - 14 * index, text)

    assert read_words(draw_pdf(draw)) == [word for row in rows for cell in row for word in cell.split()]
