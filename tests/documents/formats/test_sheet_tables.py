"""Sheets as people lay them out: titles above tables, headers of several rows, tables side by side."""

import pytest

from inorder.documents.model import AnyBlock, Heading, Paragraph, Table
from inorder.documents.readers.office import xlsx
from inorder.documents.readers.office.sheet_tables import CellLinks, Spans, make_sheet_blocks
from inorder.documents.readers.table_grid import TableBudget
from tests.documents.docx_files import OFFICE, archive, relation
from tests.documents.formats.office_files import X, relations

pytestmark = pytest.mark.req("DOC-1")

Laid = list[list[str | int | None]]


def lay(rows: Laid, spans: Spans | None = None, links: CellLinks | None = None) -> list[AnyBlock]:
    """The blocks of a sheet with these cells from its first row and column on."""
    cells = {
        number: {column: (str(value), isinstance(value, int)) for column, value in enumerate(row) if value is not None}
        for number, row in enumerate(rows)
    }
    kept = {number: row for number, row in cells.items() if row}
    return make_sheet_blocks(kept, spans or {}, TableBudget(), links or {})


def describe(block: AnyBlock) -> list[str] | str:
    """A table by its rows, in which headers have a mark."""
    if isinstance(block, Paragraph):
        return block.text
    assert isinstance(block, Table)
    rows: dict[int, list[str]] = {}
    for cell in block.cells:
        rows.setdefault(cell.row, []).append(f"{'*' if cell.is_header else ''}{cell.text}")
    return [" ".join(row) for _, row in sorted(rows.items())]


def test_a_title_above_a_table_is_text_and_the_header_is_found_below_it() -> None:
    rows: Laid = [["Oil used"], ["in litres", None], ["Tower", "Year"], ["Brest", 7], ["Dover", 9]]
    assert [describe(each) for each in lay(rows, {(0, 0): (1, 2)})] == [
        "Oil used",
        "in litres",
        ["*Tower *Year", "Brest 7", "Dover 9"],
    ]


def test_a_single_text_above_numbers_stays_in_the_table() -> None:
    assert [describe(each) for each in lay([["Tower"], ["Brest", 7], ["Dover", 9]])] == [
        ["Tower", "Brest 7", "Dover 9"]
    ]


def test_a_header_that_is_merged_downwards_and_across_has_two_rows() -> None:
    rows: Laid = [["Tower", "Oil", None], [None, 2023, 2024], ["Brest", 7, 8], ["Dover", 9, 9]]
    spans = {(0, 0): (2, 1), (0, 1): (1, 2)}
    [table] = lay(rows, spans)
    assert describe(table) == ["*Tower *Oil", "*2023 *2024", "Brest 7 8", "Dover 9 9"]


def test_below_a_cell_merged_across_columns_texts_and_years_are_headers_and_other_numbers_are_not() -> None:
    spans = {(0, 1): (1, 2)}
    named: Laid = [["Tower", "Oil", None], ["", 2023, 2024], ["Brest", 7, 8]]
    assert describe(lay(named, spans)[0]) == ["*Tower *Oil", "* *2023 *2024", "Brest 7 8"]
    plain: Laid = [["Tower", "Oil", None], ["Brest", 7, 8], ["Dover", 9, 9]]
    assert describe(lay(plain, spans)[0]) == ["*Tower *Oil", "Brest 7 8", "Dover 9 9"]


def test_tables_side_by_side_with_one_header_are_two() -> None:
    rows: Laid = [
        ["Tower", "Oil", None, "Tower", "Oil"],
        ["Brest", 7, None, "Dover", 9],
        ["Calais", 8, None, "Hull", 4],
    ]
    assert [describe(each) for each in lay(rows)] == [
        ["*Tower *Oil", "Brest 7", "Calais 8"],
        ["*Tower *Oil", "Dover 9", "Hull 4"],
    ]


def test_tables_side_by_side_of_other_heights_are_two() -> None:
    rows: Laid = [["Tower", "Oil", None, "Keeper", "Shift"], ["Brest", 7, None, "Ada", "day"]]
    rows += [["Dover", 9], ["Hull", 4]]
    assert [describe(each) for each in lay(rows)] == [
        ["*Tower *Oil", "Brest 7", "Dover 9", "Hull 4"],
        ["*Keeper *Shift", "Ada day"],
    ]


@pytest.mark.parametrize(
    "rows",
    [
        [["Tower", "Town", None, "Keeper", "Shift"], ["North", "Brest", None, "Ada", "day"]],
        [["Tower", "Town", None, "Keeper", "Shift"], ["North", "Brest", None, "Ada", "day"], ["South", "Dover"]],
        [["Tower", None, 2023, 2024], ["Brest", None, 7, 8]],
        [["Tower", "Town", None, "Oil"], ["North", "Brest", None, 7], ["South", "Dover"], ["East", "Hull"]],
    ],
)
def test_an_empty_column_within_a_table_does_not_divide_it(rows: Laid) -> None:
    assert [type(each) for each in lay(rows)] == [Table]


def test_links_stay_with_their_cells() -> None:
    rows: Laid = [["Links"], ["Tower", "Map"], ["Brest", "here"]]
    links: CellLinks = {(0, 0): [("Links", "https://a.example")], (2, 1): [("here", "https://b.example")]}
    title, table = lay(rows, links=links)
    assert title.links == [("Links", "https://a.example")]
    assert isinstance(table, Table)
    assert table.cells[-1].links == (("here", "https://b.example"),)


def test_hidden_sheets_are_named() -> None:
    sheets = "".join(
        f'<sheet name="Sheet {number}" sheetId="{number}" r:id="s{number}"{state}/>'
        for number, state in enumerate(["", *[' state="hidden"'] * 6, ' state="veryHidden"'])
    )
    row = '<row r="1"><c r="A1" t="inlineStr"><is><t>Seen</t></is></c></row>'
    parts = {
        "_rels/.rels": relations(relation("r1", "officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook xmlns="{X}" xmlns:r="{OFFICE}"><sheets>{sheets}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(relation("s0", "worksheet", "worksheets/sheet0.xml")),
        "xl/worksheets/sheet0.xml": f'<worksheet xmlns="{X}"><sheetData>{row}</sheetData></worksheet>',
    }
    document = xlsx.read(archive({name: part.encode() for name, part in parts.items()}), "book")
    assert document.blocks == [Heading(text="Sheet 0", level=1), Paragraph(text="Seen")]
    assert document.warnings == [
        "hidden sheets were left out: 7 ('Sheet 1', 'Sheet 2', 'Sheet 3', 'Sheet 4', 'Sheet 5', ...)"
    ]
