"""Where things stand on a page tells what they are: columns, tables, headers and footers, captions."""

import pytest
from reportlab.lib import colors
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Table as Grid
from reportlab.platypus import TableStyle

from inorder.documents.model import Furniture, Heading, Picture, Table
from inorder.documents.readers.pdf import reader as pdf
from tests.documents.document_text import block_texts, words
from tests.documents.pdf_files import HEIGHT, Draw, body, draw_lines, draw_pdf, draw_together, heading, typeset_pdf

pytestmark = pytest.mark.req("DOC-1")

PRICES = [["Thing", "Count", "Price"], ["Oil", "12", "30.00"], ["Wick", "4", "1.50"], ["Glass", "1", "9.99"]]
RULES = ("GRID", (0, 0), (-1, -1), 0.5, colors.black)
BOLD_FIRST_ROW = ("FONTNAME", (0, 0), (-1, 0), "Helvetica-Bold")


def column(number: int, count: int = 12) -> list[str]:
    return [f"Column {number} line {line} goes from edge to edge." for line in range(count)]


def read_words(data: bytes) -> list[str]:
    return words(pdf.read(data, "tale"))


def expected_words(*columns: list[str]) -> list[str]:
    return [word.strip(".") for texts in columns for text in texts for word in text.split()]


def test_two_columns_are_read_one_after_the_other() -> None:
    page = draw_together(draw_lines(*column(1)), draw_lines(*column(2), x=320))
    assert read_words(draw_pdf(page)) == expected_words(column(1), column(2))


def test_columns_drawn_line_by_line_across_the_page_are_read_one_after_the_other() -> None:
    pairs = zip(column(1), column(2), strict=True)
    rows = [
        draw_together(draw_lines(left, top=100 + 12 * row), draw_lines(right, x=320, top=100 + 12 * row))
        for row, (left, right) in enumerate(pairs)
    ]
    assert read_words(draw_pdf(draw_together(*rows))) == expected_words(column(1), column(2))


def test_three_columns_are_read_one_after_the_other() -> None:
    texts = [[f"Column {number} line {line} here." for line in range(9)] for number in (1, 2, 3)]
    page = draw_together(*(draw_lines(*text, x=60 + 170 * index) for index, text in enumerate(texts)))
    assert read_words(draw_pdf(page)) == expected_words(*texts)


def test_what_spans_the_columns_is_read_between_them() -> None:
    wide = ["This line stands above both columns and is as wide as the page from margin to margin it runs."]
    middle = ["This line stands between two pairs of columns and is as wide as they are from margin to margin it runs."]
    page = draw_together(
        draw_lines(*wide, top=80),
        draw_lines(*column(1, 5)),
        draw_lines(*column(2, 5), x=320),
        draw_lines(*middle, top=180),
        draw_lines(*column(3, 5), top=210),
        draw_lines(*column(4, 5), x=320, top=210),
    )
    assert read_words(draw_pdf(page)) == expected_words(
        wide, column(1, 5), column(2, 5), middle, column(3, 5), column(4, 5)
    )


def test_a_paragraph_goes_on_in_the_next_column() -> None:
    text = "the watch is kept by two members of the house who do not sleep " * 60
    document = pdf.read(typeset_pdf([heading("Of the watch"), body(f"So {text.strip()}.")], columns=2), "tale")
    assert [kind for kind, _ in block_texts(document)] == ["title", "paragraph"]


def table_of(data: bytes) -> Table:
    (table,) = [block for block in pdf.read(data, "tale").blocks if isinstance(block, Table)]
    return table


def table_rows(table: Table) -> list[list[str]]:
    return [[cell.text for cell in table.cells if cell.row == row] for row in range(table.rows)]


def test_a_table_with_rules_keeps_its_rows_and_columns() -> None:
    table = table_of(
        typeset_pdf([body("Prices."), Grid(PRICES, style=TableStyle([RULES, BOLD_FIRST_ROW])), body("The end.")])
    )
    assert table_rows(table) == PRICES
    assert [cell.is_header for cell in table.cells] == [True] * 3 + [False] * 9


def test_a_table_with_rules_keeps_cells_that_span_and_cells_with_several_lines() -> None:
    rows = [["Stores of the tower", ""], ["Oil", "for the great lamp\nand the small one"], ["Wick", "spare"]]
    table = table_of(typeset_pdf([Grid(rows, style=TableStyle([RULES, ("SPAN", (0, 0), (1, 0))]))]))
    assert [(cell.text, cell.row, cell.column, cell.columns) for cell in table.cells] == [
        ("Stores of the tower", 0, 0, 2),
        ("Oil", 1, 0, 1),
        ("for the great lamp and the small one", 1, 1, 1),
        ("Wick", 2, 0, 1),
        ("spare", 2, 1, 1),
    ]


def test_cells_that_nearly_touch_are_told_apart_by_the_rule_between_them() -> None:
    rows = [["signal lamp oil", "fog horn oil"], ["7", "9"], ["4", "2"]]
    tight = [RULES, ("LEFTPADDING", (0, 0), (-1, -1), 1), ("RIGHTPADDING", (0, 0), (-1, -1), 1)]
    assert table_rows(table_of(typeset_pdf([Grid(rows, colWidths=[72, 70], style=TableStyle(tight))]))) == rows


def test_a_table_without_rules_is_known_by_its_columns() -> None:
    data = typeset_pdf([body("Prices."), Grid(PRICES, style=TableStyle([BOLD_FIRST_ROW])), body("The end.")])
    assert table_rows(table_of(data)) == PRICES
    assert [kind for kind, _ in block_texts(pdf.read(data, "tale"))] == ["paragraph", "table", "paragraph"]


def test_a_table_in_a_column_stays_in_its_column() -> None:
    text = body("The stores are counted on the first day of the month by two keepers. " * 12)
    more = [body("What is missing is written down and bought in the town on the next market day. " * 9) for _ in "1234"]
    document = pdf.read(typeset_pdf([text, Grid(PRICES, style=TableStyle([RULES])), *more], columns=2), "tale")
    assert [kind for kind, _ in block_texts(document)] == ["paragraph", "table", *["paragraph"] * 4]


def test_a_table_of_contents_is_no_table_and_a_box_around_text_is_none() -> None:
    entries = [
        draw_together(
            draw_lines(f"{name} {'.' * 20}", top=100 + 12 * row), draw_lines(str(7 * row), x=400, top=100 + 12 * row)
        )
        for row, name in enumerate(["Lamps", "Oil", "Fog", "Storms", "Boats"])
    ]
    assert "table" not in dict(block_texts(pdf.read(draw_pdf(draw_together(*entries)), "tale")))
    boxed = draw_pdf(
        draw_together(draw_lines("A note in a box."), lambda canvas: canvas.rect(50, HEIGHT - 120, 300, 40))
    )
    assert block_texts(pdf.read(boxed, "tale")) == [("paragraph", "A note in a box.")]


def test_a_caption_belongs_to_the_table_or_the_picture_beside_it() -> None:
    document = pdf.read(
        typeset_pdf([body("Table 1: Prices in crowns"), Grid(PRICES, style=TableStyle([RULES]))]), "tale"
    )
    assert [block.caption for block in document.blocks if isinstance(block, Table)] == ["Table 1: Prices in crowns"]
    assert len(document.blocks) == 1

    def picture(canvas: Canvas) -> None:
        canvas.drawInlineImage(_grey(), 60, HEIGHT - 300, 100, 100)

    page = draw_together(
        draw_lines("The great lamp.", top=80), picture, draw_lines("Figure 1: The lamp from above", top=320)
    )
    document = pdf.read(draw_pdf(page), "tale")
    assert [block.caption for block in document.blocks if isinstance(block, Picture)] == [
        "Figure 1: The lamp from above"
    ]


def _grey() -> object:
    from PIL import Image

    return Image.new("L", (4, 4), 128)


def page_of_book(number: int, header: str, footer: str) -> Draw:
    texts = [f"Page {number} says in line {line} what no other says." for line in range(20)]
    return draw_together(draw_lines(header, top=30, size=8), draw_lines(*texts), draw_lines(footer, top=810, size=8))


def furniture(data: bytes) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in pdf.read(data, "tale").blocks if isinstance(block, Furniture)]


def test_what_stands_at_the_edge_of_every_page_is_furniture() -> None:
    data = draw_pdf(*(page_of_book(number, "The Handbook", f"Page {number} of 5") for number in range(1, 6)))
    assert furniture(data) == [
        found for number in range(1, 6) for found in [("header", "The Handbook"), ("footer", f"Page {number} of 5")]
    ]
    assert len(block_texts(pdf.read(data, "tale"))) == 15


@pytest.mark.slow
def test_headers_that_differ_on_left_and_right_pages_are_furniture() -> None:
    heads = ["The Handbook", "The Cooperative"]
    data = draw_pdf(*(page_of_book(number, heads[number % 2], f"- {number} -") for number in range(1, 41)))
    assert len(furniture(data)) == 80


def test_headers_that_change_with_the_chapter_are_known_by_their_place() -> None:
    heads = ["Of lamps", "Of oil", "Of wicks", "Of fog", "Of storms", "Of boats", "Of bells", "Of rest"]
    data = draw_pdf(*(page_of_book(number, head, "") for number, head in enumerate(heads, 1)))
    assert [text for _, text in furniture(data)] == heads


def test_what_is_said_once_at_the_edge_of_a_page_is_no_furniture() -> None:
    first = draw_together(draw_lines("The only page that says so", top=30, size=8), draw_lines("Text of the page."))
    assert furniture(draw_pdf(first, draw_lines("Text of another page."))) == []


def test_numbers_at_the_edge_that_count_no_pages_are_no_furniture() -> None:
    pages = [page_of_book(number, "", str(price)) for number, price in enumerate((907, 12, 388), 1)]
    assert furniture(draw_pdf(*pages)) == []


def test_numbered_chapters_that_begin_on_new_pages_are_headings() -> None:
    pages = [
        draw_together(draw_lines(f"Chapter {number}", top=50, size=18), draw_lines(*column(number), top=100))
        for number in range(1, 7)
    ]
    document = pdf.read(draw_pdf(*pages), "tale")
    assert furniture(draw_pdf(*pages)) == []
    assert [block.text for block in document.blocks if isinstance(block, Heading)][-1] == "Chapter 6"


@pytest.mark.parametrize(
    ("header", "footer"),
    [
        ("Journal of Lights, Vol. 12 (1998)", "117"),
        ("", "Page 1 of 1"),
        ("", "\u00a9 1998 The Cooperative"),
        ("A. Keeper et al.", "- 3 -"),
        ("Keepers and their lamps", "iv"),
        ("THE LAMP AND THE LENS", "A-12"),
        ("1014 A. Keeper and B. Boatman", "3-14"),
        ("Lights 2004, 17, 212-220", "https://lights.example.org/handbook"),
        ("Author manuscript", "Downloaded from lights.example.org by a guest on 3 March 2011"),
        ("", "p. 12"),
        ("", "12 / 30"),
        (
            "",
            "\u00a9 1998 The Cooperative of Keepers of Lights, Harbours and Signals. J Lights A 48: 12-45, 1998",
        ),
    ],
)
def test_a_single_page_has_furniture_that_reads_like_it(header: str, footer: str) -> None:
    expected = [(kind, text) for kind, text in (("header", header), ("footer", footer)) if text]
    assert furniture(draw_pdf(page_of_book(1, header, footer))) == expected


@pytest.mark.parametrize(
    ("header", "footer"),
    [
        ("Dear keepers of the light,", "Yours, the cooperative"),
        ("", "1 The lamp was lit by A. Keeper et al. in 1952."),
        ("3 Of lamps and their oil.", ""),
        (
            "The keeper lights the lamp at dusk, and every boat that passes knows the rock",
            "* Corresponding author, keeper@lights.example.org",
        ),
        ("1. Lamps are lit at dusk", "2. Lamps are put out at dawn"),
        ("Is the lamp lit?", ""),
    ],
)
def test_the_first_and_last_lines_of_a_single_page_are_text_if_they_read_like_it(header: str, footer: str) -> None:
    assert furniture(draw_pdf(page_of_book(1, header, footer))) == []


def test_a_number_that_is_larger_than_the_text_is_the_number_of_a_single_page() -> None:
    texts = [f"The lamp says in line {line} what no other says." for line in range(20)]
    page = draw_together(draw_lines(*texts), draw_lines("41", top=810, size=12))
    assert furniture(draw_pdf(page)) == [("footer", "41")]


def draw_parts(left: str, right: str, top: float, size: float) -> Draw:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", size)
        canvas.drawString(60, HEIGHT - top, left)
        canvas.drawRightString(540, HEIGHT - top, right)

    return draw


@pytest.mark.parametrize("size", [8, 12])
@pytest.mark.parametrize("lines", [5, 20])
def test_words_at_both_ends_of_a_row_in_the_margin_are_furniture_of_a_single_page(size: float, lines: int) -> None:
    texts = [f"The lamp says in line {line} what no other says." for line in range(lines)]
    header = draw_parts("Board of Lights", "Confidential", 32, size)
    footer = draw_parts("Printed on 3 May", "Page 1 of 1", 820, size)
    assert furniture(draw_pdf(draw_together(header, draw_lines(*texts), footer))) == [
        ("header", "Board of Lights Confidential"),
        ("footer", "Printed on 3 May Page 1 of 1"),
    ]


@pytest.mark.parametrize(("top", "size"), [(32, 16), (62, 12)])
def test_words_at_both_ends_of_a_row_are_text_if_they_are_large_or_below_the_margin(top: float, size: float) -> None:
    texts = [f"The lamp says in line {line} what no other says." for line in range(20)]
    page = draw_together(draw_parts("Board of Lights", "Confidential", top, size), draw_lines(*texts, top=100))
    assert furniture(draw_pdf(page)) == []


def test_small_words_above_a_page_of_few_lines_are_text() -> None:
    texts = ["Lamps are lit at dusk", "Oil is kept below the stairs", "Glass is cleaned at dawn"]
    page = draw_together(draw_lines("Keepers and their lamps", top=30, size=8), draw_lines(*texts, size=24))
    assert furniture(draw_pdf(page)) == []


def test_words_above_the_text_in_its_size_are_text() -> None:
    texts = [f"The lamp says in line {line} what no other says." for line in range(20)]
    page = draw_together(draw_lines("Keepers and their lamps", top=50), draw_lines(*texts))
    assert furniture(draw_pdf(page)) == []


def test_the_last_word_of_a_page_is_no_part_of_its_watermark() -> None:
    lines = [f"The lamp says in line {line} what no other says." for line in range(12)]

    def watermark(canvas: Canvas) -> None:
        canvas.saveState()
        canvas.translate(120, 400)
        canvas.rotate(45)
        canvas.setFont("Helvetica", 60)
        canvas.drawString(0, 0, "SECRET")
        canvas.restoreState()

    document = pdf.read(draw_pdf(draw_together(draw_lines(*lines, "Ends."), watermark)), "tale")
    assert furniture(draw_pdf(draw_together(draw_lines(*lines, "Ends."), watermark))) == [("header", "SECRET")]
    assert " ".join(text for kind, text in block_texts(document) if kind == "paragraph").endswith("says. Ends.")


def test_a_line_that_a_raised_number_pushes_down_goes_on_with_its_paragraph() -> None:
    """Browsers make room for the number above the line."""
    lines = [
        "The keeper of the lamp went up the stairs every evening and wrote down",
        "what the wind did, and he never left the gallery before the third long hour",
        "of the watch of the night. He counted ships, and he counted the hours",
    ]

    def draw(canvas: Canvas) -> None:
        height = HEIGHT - 100.0
        canvas.setFont("Helvetica", 10)
        for index, line in enumerate([*lines, *lines]):
            height -= 16.5 if index == 2 else 12
            canvas.drawString(60, height, line)

    assert block_texts(pdf.read(draw_pdf(draw), "tale")) == [("paragraph", " ".join([*lines, *lines]))]
