"""Tables of PDFs: with few rules or none, with spans, with cells of several lines, over pages; and what is none."""

from collections.abc import Callable

import pytest
from reportlab.lib import colors
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Spacer, TableStyle
from reportlab.platypus import Table as Grid

from bench.reading.documents import Made
from bench.reading.hebrew import right_to_left_tables
from bench.reading.scores import count_relations
from bench.reading.table_kinds import (
    decimal_tables,
    half_ruled_tables,
    lined_tables,
    long_table,
    rotated_tables,
    ruled_tables,
    spanning_tables,
    tight_tables,
    unruled_tables,
)
from bench.reading.tools import read_content
from inorder.documents.model import Cell, Paragraph, Table
from inorder.documents.readers.pdf import reader as pdf
from inorder.documents.readers.pdf.tables.pages import join_tables
from tests.documents.document_text import words
from tests.documents.pdf_files import HEIGHT, Draw, body, draw_lines, draw_pdf, draw_together, typeset_pdf

pytestmark = pytest.mark.req("DOC-1")

HEAD = ["Lamp", "Oil", "Hours"]
ROWS = [["great", "12", "9"], ["small", "3", "11"], ["boat", "1", "2"]]
BOOK = [
    ("LINEABOVE", (0, 0), (-1, 0), 1, colors.black),
    ("LINEBELOW", (0, 0), (-1, 0), 0.5, colors.black),
    ("LINEBELOW", (0, -1), (-1, -1), 1, colors.black),
]


def tables_of(data: bytes) -> list[Table]:
    return [block for block in pdf.read(data, "tale").blocks if isinstance(block, Table)]


def rows_of(table: Table) -> list[list[str]]:
    return [[cell.text for cell in table.cells if cell.row == row] for row in range(table.rows)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    "make",
    [
        ruled_tables,
        half_ruled_tables,
        lined_tables,
        unruled_tables,
        decimal_tables,
        spanning_tables,
        long_table,
        rotated_tables,
        right_to_left_tables,
    ],
)
def test_cells_of_generated_tables_are_found_and_right(make: Callable[[int], Made], seed: int) -> None:
    made = make(seed)
    found, given, right = count_relations(read_content(made.data), made.content)
    assert right >= 0.9 * given
    assert right >= 0.95 * found


@pytest.mark.parametrize(("seed", "share"), [(0, 1.0), (1, 0.9), (2, 0.85)])
def test_numbers_of_columns_that_are_close_are_cells_of_their_own(seed: int, share: float) -> None:
    made = tight_tables(seed)
    _, given, right = count_relations(read_content(made.data), made.content)
    assert right >= share * given


@pytest.mark.parametrize(
    "numbers", [("10 000", "2 500", "117 204", "9 300"), ("555 1204", "555 9020", "555 4711", "555 2")]
)
def test_numbers_with_spaces_are_one_cell(numbers: tuple[str, ...]) -> None:
    rows = [["great", "1.5", numbers[0]], ["small", "2.5", numbers[1]], ["boat", "9.1", numbers[2]]]
    data = typeset_pdf(
        [Grid([HEAD, *rows, ["oil", "3.7", numbers[3]]], style=TableStyle([("ALIGN", (2, 0), (2, -1), "RIGHT")]))]
    )
    (table,) = tables_of(data)
    assert rows_of(table)[1:4] == rows


def test_a_table_with_rules_above_and_below_has_a_header_of_what_is_above_the_second() -> None:
    (table,) = tables_of(typeset_pdf([body("Stores."), Grid([HEAD, *ROWS[:1]], style=TableStyle(BOOK)), body("End.")]))
    assert rows_of(table) == [HEAD, ROWS[0]]
    assert [cell.is_header for cell in table.cells] == [True] * 3 + [False] * 3


def test_a_header_without_numbers_is_marked_in_a_table_without_rules() -> None:
    (table,) = tables_of(typeset_pdf([body("Stores."), Grid([HEAD, *ROWS]), body("End.")]))
    assert [cell.text for cell in table.cells if cell.is_header] == HEAD


SHADED = [["great", "12", "9"], ["small", "3", "11"], ["boat", "1", "2"], ["hall", "7", "4"], ["store", "5", "6"]]


@pytest.mark.parametrize("remainder", [0, 1])
@pytest.mark.parametrize("count", [4, 5])
@pytest.mark.parametrize("head_is_shaded", [True, False])
def test_a_table_with_every_other_row_shaded_is_one(count: int, remainder: int, head_is_shaded: bool) -> None:
    """Each shaded cell is a box, as browsers draw them."""
    rows = [HEAD, *SHADED[:count]]

    def draw(canvas: Canvas) -> None:
        for index, row in enumerate(rows):
            top = HEIGHT - 100 - 18 * index
            for column, text in enumerate(row):
                if index % 2 == remainder if index else head_is_shaded:
                    canvas.setFillGray(0.85)
                    canvas.rect(60 + 90 * column, top - 18, 90, 18, stroke=0, fill=1)
                canvas.setFillGray(0)
                canvas.setFont("Helvetica-Bold" if index == 0 else "Helvetica", 10)
                canvas.drawString(66 + 90 * column, top - 12, text)

    (table,) = tables_of(draw_pdf(draw))
    assert rows_of(table) == rows
    assert [cell.text for cell in table.cells if cell.is_header] == HEAD


def test_tables_with_the_same_columns_and_a_title_between_them_stay_apart() -> None:
    grid = [("GRID", (0, 0), (-1, -1), 0.5, colors.black)]
    story = [Grid([HEAD, *ROWS], [90] * 3, style=TableStyle(grid)), body("The lamps of the second harbour, by name:")]
    found = tables_of(typeset_pdf([*story, Grid([HEAD, *ROWS], [90] * 3, style=TableStyle(grid))]))
    assert [table.rows for table in found] == [4, 4]


TOTAL = [("LINEABOVE", (0, -1), (-1, -1), 0.5, colors.black), ("LINEBELOW", (0, -1), (-1, -1), 1, colors.black)]


def test_a_table_with_rules_only_around_its_total_is_one() -> None:
    rows = [["", "2023", "2022"], ["Oil", "1,234", "1,100"], ["Glass", "834", "790"], ["Rope", "12", "9"]]
    given = [*rows, ["Total", "2,080", "1,899"]]
    (table,) = tables_of(typeset_pdf([body("Stores."), Grid(given, [90] * 3, style=TableStyle(TOTAL)), body("End.")]))
    assert rows_of(table)[1:] == given[1:]
    assert [cell.text for cell in table.cells if cell.row == 0] == ["2023", "2022"]


def test_a_heading_directly_above_a_table_of_two_rows_is_no_row_of_it() -> None:
    rows = [["Oil", "1,234", "1,100"], ["Total", "2,080", "1,899"]]
    (table,) = tables_of(typeset_pdf([body("Stores."), Grid(rows, [90] * 3, style=TableStyle(TOTAL)), body("End.")]))
    assert rows_of(table) == rows


def test_lines_of_cells_between_rules_are_one_row_also_if_the_cell_beside_them_is_centred() -> None:
    rules = [("LINEBELOW", (0, 0), (-1, -1), 0.5, colors.black), ("VALIGN", (0, 0), (-1, -1), "MIDDLE")]
    long = "Light the great lamp of the tower\nand see that it burns well"
    rows = [
        ["Duty", "When"],
        [long, "at dusk"],
        ["Clean the lens with a cloth\nof linen", "at dawn"],
        ["Log", "hourly"],
    ]
    (table,) = tables_of(typeset_pdf([body("Duties."), Grid(rows, style=TableStyle(rules)), body("End.")]))
    assert rows_of(table) == [[cell.replace("\n", " ") for cell in row] for row in rows]


def test_lines_of_a_header_that_go_on_are_one_row() -> None:
    head = ["Lamp", "Oil\nburnt", "Time\n(h)"]
    style = TableStyle([*BOOK, ("VALIGN", (0, 0), (-1, 0), "BOTTOM")])
    (table,) = tables_of(typeset_pdf([body("Stores."), Grid([head, *ROWS], style=style), body("End.")]))
    assert rows_of(table) == [["Lamp", "Oil burnt", "Time (h)"], *ROWS]


def test_rows_of_a_group_between_rules_stay_rows() -> None:
    rows = [
        ["Coast", "Tower", "Keeper"],
        ["North", "Skerry", "Anna"],
        ["", "Bell Rock", "Bert"],
        ["South", "Fastnet", "Carl"],
    ]
    rows += [["", "Eddystone", "Dora"], ["West", "Tearaght", "Emil"], ["", "Inish", "Fred"]]
    style = [*BOOK, *(("LINEBELOW", (0, row), (-1, row), 0.5, colors.black) for row in (2, 4))]
    (table,) = tables_of(typeset_pdf([body("Towers."), Grid(rows, [90] * 3, style=TableStyle(style)), body("End.")]))
    assert [[cell for cell in row if cell] for row in rows_of(table)] == [
        [cell for cell in row if cell] for row in rows
    ]


SPANS = [("SPAN", (0, 0), (0, 1)), ("SPAN", (1, 0), (2, 0))]


@pytest.mark.parametrize("bold", [True, False])
def test_a_header_of_two_rows_with_cells_over_both_is_marked(bold: bool) -> None:
    style = [("GRID", (0, 0), (-1, -1), 0.5, colors.black), *SPANS]
    style += [("FONTNAME", (0, 0), (-1, 1), "Helvetica-Bold")] if bold else []
    rows = [["Lamp", "Use per night", ""], ["", "Oil", "Hours"], *ROWS]
    (table,) = tables_of(typeset_pdf([body("Stores."), Grid(rows, style=TableStyle(style)), body("End.")]))
    assert [cell.text for cell in table.cells if cell.is_header] == ["Lamp", "Use per night", "Oil", "Hours"]


@pytest.mark.parametrize("grid", [[("GRID", (0, 0), (-1, -1), 0.5, colors.black)], []])
def test_two_bold_rows_are_a_header_and_a_bold_title_of_a_part_is_not(grid: list[tuple[object, ...]]) -> None:
    style = [*grid, ("FONTNAME", (0, 0), (-1, 1), "Helvetica-Bold")]
    (table,) = tables_of(typeset_pdf([Grid([HEAD, ["name", "litres", "per day"], *ROWS], style=TableStyle(style))]))
    assert sum(cell.is_header for cell in table.cells) == 6
    if grid:
        style.append(("SPAN", (0, 1), (-1, 1)))
        (table,) = tables_of(typeset_pdf([Grid([HEAD, ["Great lamps", "", ""], *ROWS], style=TableStyle(style))]))
        assert [cell.text for cell in table.cells if cell.is_header] == HEAD


@pytest.mark.parametrize("count", [58, 59, 60, 61, 62, 80])
@pytest.mark.parametrize("style", [[("GRID", (0, 0), (-1, -1), 0.5, colors.black)], BOOK, []])
def test_a_table_that_goes_on_without_its_header_is_one(style: list[tuple[object, ...]], count: int) -> None:
    rows = [[f"lamp of {chr(97 + number % 26)}", str(number), str(2 * number)] for number in range(count)]
    tight = TableStyle([*style, ("TOPPADDING", (0, 0), (-1, -1), 1), ("BOTTOMPADDING", (0, 0), (-1, -1), 1)])
    grid = Grid([HEAD, *rows], style=tight, rowHeights=12)
    (table,) = tables_of(typeset_pdf([grid, Spacer(1, 20), body("The end of it.")]))
    assert rows_of(table) == [HEAD, *rows]


def test_a_table_without_header_that_has_other_columns_is_another_one() -> None:
    box = (50.0, 0.0, 200.0, 80.0)
    head = Table(rows=2, columns=2, cells=[Cell("Oil", 0, 0, is_header=True), Cell("4", 1, 1)], box=box)
    assert join_tables(head, Table(rows=1, columns=3, cells=[Cell("5", 0, 1)], box=box)) is None
    assert join_tables(head, Table(rows=1, columns=2, cells=[Cell("5", 0, 1)], box=(50.0, 0.0, 90.0, 80.0))) is None
    joined = join_tables(head, Table(rows=1, columns=2, cells=[Cell("5", 0, 1)], box=box))
    assert joined is not None
    assert [(cell.text, cell.row) for cell in joined.cells] == [("Oil", 0), ("4", 1), ("5", 2)]


@pytest.mark.parametrize("text", ["The end of it.", "lamp 4 5 6", "lamp 4", "4 5 lamp", "in 1999 we had 4 5 lamps"])
def test_text_after_a_table_of_numbers_is_no_row_of_it(text: str) -> None:
    cells = [
        Cell(text, row, column, is_header=not row)
        for row, texts in enumerate([HEAD, *ROWS])
        for column, text in enumerate(texts)
    ]
    assert join_tables(Table(rows=4, columns=3, cells=cells), Paragraph(text=text)) is None


def test_a_table_that_goes_on_on_the_next_page_is_one() -> None:
    rows = [[f"lamp {number}", str(number), str(2 * number)] for number in range(120)]
    bold = ("FONTNAME", (0, 0), (-1, 0), "Helvetica-Bold")
    (table,) = tables_of(typeset_pdf([Grid([HEAD, *rows], style=TableStyle([*BOOK, bold]), repeatRows=1)]))
    assert rows_of(table) == [HEAD, *rows]


def test_parts_of_a_table_are_the_same_whichever_are_joined_first() -> None:
    parts = [
        Table(rows=2, columns=1, cells=[Cell("Lamp", 0, 0, is_header=True), Cell(name, 1, 0)])
        for name in ("great", "small", "boat")
    ]
    left, right = join_tables(parts[0], parts[1]), join_tables(parts[1], parts[2])
    assert left is not None
    assert right is not None
    whole = join_tables(left, parts[2])
    assert whole == join_tables(parts[0], right)
    assert whole is not None
    assert rows_of(whole) == [["Lamp"], ["great"], ["small"], ["boat"]]


def test_two_ruled_tables_that_touch_are_two() -> None:
    rules = TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black)])
    pairs = [["great lamp", "12"], ["small lamp", "3"]]
    wide = Grid([HEAD, *ROWS], style=rules, colWidths=[110, 110, 110], hAlign="LEFT")
    found = tables_of(typeset_pdf([wide, Grid(pairs, style=rules, colWidths=[70, 70], hAlign="LEFT")]))
    assert [rows_of(table) for table in found] == [[HEAD, *ROWS], pairs]


def test_tables_with_other_headers_stay_apart() -> None:
    one = Table(rows=1, columns=1, cells=[Cell("Lamp", 0, 0, is_header=True)])
    assert join_tables(one, Table(rows=1, columns=1, cells=[Cell("Oil", 0, 0, is_header=True)])) is None
    assert join_tables(one, Table(rows=1, columns=1, cells=[Cell("Lamp", 0, 0)])) is None
    assert join_tables(one, Table(rows=1, columns=1, cells=one.cells, caption="Table 2")) is None


def test_rows_of_numbers_without_a_rule_between_them_are_rows() -> None:
    cells = [HEAD, ["great\nsmall\nboat", "12\n3\n1", "9\n11\n2"], ["all", "16", "22"]]
    ruled = TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black)])
    (table,) = tables_of(typeset_pdf([Grid(cells, style=ruled)]))
    assert rows_of(table) == [HEAD, *ROWS, ["all", "16", "22"]]


def test_two_columns_of_text_between_two_rules_are_no_table() -> None:
    lines = [f"Line {number} of the column runs from edge to edge of it." for number in range(9)]

    def rules(canvas: Canvas) -> None:
        for top in (90, 220):
            canvas.line(60, HEIGHT - top, 560, HEIGHT - top)

    data = draw_pdf(draw_together(rules, draw_lines(*lines, top=104), draw_lines(*lines, x=320, top=104)))
    assert tables_of(data) == []
    expected = [word.strip(".") for line in lines + lines for word in line.split()]
    assert words(pdf.read(data, "tale")) == expected


def test_text_that_does_not_fit_the_columns_stays_text() -> None:
    wild = [["a", "b c d e", "f"], ["one thing or another", "x", ""], ["", "far too much of it here", "y"]]
    data = typeset_pdf([body("Stores."), Grid(wild, colWidths=[70, 40, 90]), body("End.")])
    assert sorted(words(pdf.read(data, "tale"))) == sorted(
        word.strip(".")
        for word in ["Stores.", *(word for row in wild for cell in row for word in cell.split()), "End."]
    )


def test_lists_between_boxes_of_code_are_no_table() -> None:
    def box(top: float) -> Draw:
        return lambda canvas: canvas.rect(60, HEIGHT - top - 40, 480, 40)

    code = [draw_lines("light --lamp great", x=70, top=top + 20, font="Courier") for top in (80, 300)]
    marks, items = ["1.", "2.", "3.", "4."], ["Fill the tank", "Trim the wick", "Light the lamp", "Write it down"]
    listed = draw_together(draw_lines(*marks, x=70, top=180), draw_lines(*items, x=110, top=180))
    data = draw_pdf(draw_together(box(80), box(300), *code, listed))
    assert tables_of(data) == []
    assert words(pdf.read(data, "tale"))[:3] == ["light", "lamp", "great"]


def test_cells_that_nearly_touch_are_told_apart_by_the_gaps_of_other_rows() -> None:
    rows = [["Lamp", "Lit", "Out", "Oil"], ["great lamp", "12/05/1952", "13/05/1952", "12.5"]]
    rows += [["small lamp", "02/06/1952", "04/06/1952", "3.25"], ["a", "1", "2", "3"], ["b", "4", "5", "6"]]
    tight = TableStyle([("LEFTPADDING", (0, 0), (-1, -1), 2), ("RIGHTPADDING", (0, 0), (-1, -1), 3)])
    (table,) = tables_of(typeset_pdf([body("Stores."), Grid(rows, style=tight), body("End.")]))
    assert rows_of(table) == rows
