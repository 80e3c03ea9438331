"""Hostile and damaged files of the further formats: refused with the reason, or read as far as they can be."""

import contextlib
import io
import json
import zipfile

import pytest

from inorder.documents.model import Paragraph, Table
from inorder.documents.readers.office import cell_budget, package, pptx, xlsx
from inorder.documents.readers.registry import load_reader
from inorder.errors import ReadError
from tests.documents.docx_files import archive
from tests.documents.formats.office_files import make_epub, make_odf, make_xlsx
from tests.documents.formats.samples import SAMPLES, VARIANTS

pytestmark = pytest.mark.req("DOC-1")

ARCHIVES = ("pptx", "xlsx", "epub", "opendocument")
MAIN_PARTS = {
    "pptx": "ppt/presentation.xml",
    "xlsx": "xl/workbook.xml",
    "epub": "META-INF/container.xml",
    "opendocument": "content.xml",
}


def refuse(kind: str, data: bytes) -> str:
    with pytest.raises(ReadError) as refused:
        load_reader(kind)(data, "name")
    return str(refused.value)


def replace_part(data: bytes, name: str, content: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        files = {each: packed.read(each) for each in packed.namelist()}
    return archive(files | {name: content})


@pytest.mark.parametrize("kind", ARCHIVES)
def test_a_part_that_unpacks_to_too_much_is_refused(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "PART_BYTES_MAX", 10_000)
    bomb = replace_part(SAMPLES[kind], MAIN_PARTS[kind], b"<a>" + b" " * 10_001)
    assert "unpacks to 10,004 bytes; the limit is 10,000" in refuse(kind, bomb)


@pytest.mark.parametrize("kind", ARCHIVES)
def test_a_part_that_defines_entities_is_refused(kind: str) -> None:
    entities = b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><a>&b;</a>'
    assert "document type declaration" in refuse(kind, replace_part(SAMPLES[kind], MAIN_PARTS[kind], entities))


@pytest.mark.parametrize("kind", ARCHIVES)
@pytest.mark.parametrize("encoding", ["UPF-8", "shift_jis"])
def test_a_part_in_an_encoding_that_cannot_be_read_is_refused(kind: str, encoding: str) -> None:
    part = f"<?xml version='1.0' encoding='{encoding}'?><a/>".encode()
    assert "cannot be decoded" in refuse(kind, replace_part(SAMPLES[kind], MAIN_PARTS[kind], part))


@pytest.mark.parametrize("kind", ARCHIVES)
def test_an_archive_of_something_else_is_refused(kind: str) -> None:
    assert refuse(kind, archive({"readme.txt": b"text"})).startswith("not a")
    assert "encrypted with a password" in refuse(kind, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600)


def test_an_encrypted_opendocument_file_is_refused() -> None:
    manifest = b"<manifest><encryption-data/></manifest>"
    locked = replace_part(make_odf("text", ""), "META-INF/manifest.xml", manifest)
    assert refuse("opendocument", locked) == "the file is encrypted with a password"


def test_an_encrypted_book_is_refused_and_one_with_encrypted_fonts_is_read() -> None:
    book = make_epub("<p>text</p>")
    listed = b'<encryption><CipherReference URI="%s"/></encryption>'
    assert "encrypted" in refuse(
        "epub", replace_part(book, "META-INF/encryption.xml", listed % b"OEBPS/text/c%200.xhtml")
    )
    fonts = replace_part(book, "META-INF/encryption.xml", listed % b"OEBPS/font.otf")
    assert load_reader("epub")(fonts, "name").blocks


def test_a_book_is_read_up_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inorder.documents.readers.office.epub.BYTES_MAX", 60)
    found = load_reader("epub")(make_epub("<p>one</p>", f"<p>{'two ' * 30}</p>"), "name")
    assert found.warnings == ["the book was read only in part: its chapters have more than 60 characters"]


def test_a_presentation_is_read_up_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pptx, "SLIDES_MAX", 1)
    found = load_reader("pptx")(SAMPLES["pptx"], "name")
    assert len(found.pages) == 1
    assert found.warnings == ["only the first 1 of 2 slides were read"]


def test_a_workbook_is_read_up_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_budget, "CELLS_MAX", 3)
    found = load_reader("xlsx")(SAMPLES["xlsx"], "name")
    limits = "3 cells and 67,108,864 characters"
    assert found.warnings == [f"the sheet 'Stores' was read only in part: a workbook may have {limits}"]


@pytest.mark.req("ROB-1", "SIL-1")
@pytest.mark.parametrize("kind", ["xlsx", "opendocument"])
def test_a_long_text_that_many_cells_share_is_kept_up_to_a_limit(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of 7 kB with a text of 32,000 characters in 100,000 cells took 5 GB."""
    monkeypatch.setattr(cell_budget, "CHARACTERS_MAX", 1_000)
    text = "word " * 50
    if kind == "xlsx":
        shared = '<c t="s"><v>0</v></c>'
        rows = f"<row>{shared * 10}</row>" * 10
        data = make_xlsx(("Long", f"<sheetData>{rows}</sheetData>"), strings=(text,))
    else:
        cell = f'<table:table-cell table:number-columns-repeated="50"><text:p>{text}</text:p></table:table-cell>'
        row = f'<table:table-row table:number-rows-repeated="50">{cell}</table:table-row>'
        data = make_odf("spreadsheet", f"<table:table>{row}</table:table>")
    found = load_reader(kind)(data, "name")
    [table] = [block for block in found.blocks if isinstance(block, Table)]
    assert 700 <= sum(len(cell.text) for cell in table.cells) <= 1_000
    assert len(found.warnings) == 1
    assert "was read only in part: a workbook may have 2,000,000 cells and 1,000 characters" in found.warnings[0]


@pytest.mark.req("ROB-1", "SIL-1")
@pytest.mark.parametrize("kind", ["xlsx", "opendocument"])
def test_empty_cells_are_read_up_to_a_limit(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_budget, "SEEN_MAX", 50)
    if kind == "xlsx":
        cell, empty = '<c t="str"><v>{}</v></c>', "<c/>"
        rows = f"<row>{cell.format('first')}{empty * 100}{cell.format('last')}</row>"
        data = make_xlsx(("Empty", f"<sheetData>{rows}</sheetData>"))
    else:
        empty, cell = "<table:table-cell/>", "<table:table-cell><text:p>{}</text:p></table:table-cell>"
        row = f"<table:table-row>{cell.format('first')}{empty * 100}{cell.format('last')}</table:table-row>"
        data = make_odf("spreadsheet", f"<table:table>{row}</table:table><text:p>after</text:p>")
    found = load_reader(kind)(data, "name")
    assert [block.text for block in found.blocks if isinstance(block, Paragraph)] == ["first"]
    assert "was read only in part" in found.warnings[0]


@pytest.mark.req("ROB-1", "SIL-1")
def test_shared_texts_are_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "CHARACTERS_MAX", 10)
    cells = '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>2</v></c></row>'
    data = make_xlsx(("Long", f"<sheetData>{cells}</sheetData>"), strings=("eight cs", "toolong", "x"))
    found = load_reader("xlsx")(data, "name")
    assert [block.text for block in found.blocks if isinstance(block, Paragraph)] == ["eight cs"]
    assert found.warnings == ["the texts of the cells were read only in part: there are too many"]


@pytest.mark.req("SIL-1")
def test_what_a_sheet_has_outside_of_its_limits_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "MERGES_MAX", 1)
    rows = '<row r="1"><c r="A1"><v>1</v></c></row><row r="2"><c r="XFE2"><v>2</v></c></row>'
    merges = '<mergeCells><mergeCell ref="A1:B1"/><mergeCell ref="A2:B2"/></mergeCells>'
    found = load_reader("xlsx")(make_xlsx(("Far", f"<sheetData>{rows}</sheetData>{merges}")), "name")
    assert found.warnings == [
        "the sheet 'Far' has cells outside of the rows and columns that Excel has",
        "the sheet 'Far' has more than 1 merged cells",
    ]


@pytest.mark.req("SIL-1")
def test_the_last_cell_that_excel_has_is_read() -> None:
    rows = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
    found = load_reader("xlsx")(make_xlsx(("Far", f"<sheetData>{rows}</sheetData>")), "name")
    assert [block.text for block in found.blocks if isinstance(block, Paragraph)] == ["1", "2"]


def test_cells_at_the_far_corner_of_a_sheet_cost_nothing() -> None:
    rows = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
    merges = '<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>'
    for sheet in (f"<sheetData>{rows}</sheetData>", f"<sheetData>{rows}</sheetData>{merges}"):
        found = load_reader("xlsx")(make_xlsx(("Far", sheet)), "name")
        assert not any(isinstance(block, Table) and block.rows * block.columns > 1_000_000 for block in found.blocks)


def test_repeated_cells_of_a_spreadsheet_are_bounded() -> None:
    cell = '<table:table-cell table:number-columns-repeated="999999999"><text:p>x</text:p></table:table-cell>'
    row = f'<table:table-row table:number-rows-repeated="999999999">{cell}</table:table-row>'
    found = load_reader("opendocument")(make_odf("spreadsheet", f"<table:table>{row}</table:table>"), "name")
    assert sum(len(block.cells) for block in found.blocks if isinstance(block, Table)) == 10_000
    assert found.warnings == ["repeated cells and rows were read up to 100 times"]


def test_xml_that_defines_entities_is_refused() -> None:
    laughs = b'<!DOCTYPE article [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><article><p>&b;</p></article>'
    assert refuse("xml", laughs) == "the XML defines entities, which is refused"


def test_xml_that_names_files_reads_none_of_them() -> None:
    outside = b'<!DOCTYPE article SYSTEM "file:///etc/passwd"><article><p>one &eacute; &other;</p></article>'
    assert load_reader("xml")(outside, "name").blocks == [Paragraph(text="one \u00e9 &other;")]


def test_xml_of_another_kind_and_xml_that_is_nested_too_deeply_are_refused() -> None:
    assert refuse("xml", b"<svg><p>text</p></svg>") == "not a document: neither JATS nor DocBook"
    assert "nested more than 1,000 levels" in refuse("xml", b"<article>" + b"<p>" * 2_000)


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"cells": 1}', b"{}", b"not json", b"\xff"])
def test_json_that_is_no_notebook_is_refused(data: bytes) -> None:
    assert refuse("notebook", data).startswith("not a notebook")


def test_a_notebook_with_values_of_other_types_is_read() -> None:
    cells = [1, None, {"cell_type": "code", "source": 3, "outputs": [{"text": {}}, 4]}, {"cell_type": "markdown"}]
    found = load_reader("notebook")(json.dumps({"nbformat": 4, "metadata": [], "cells": cells}).encode(), "name")
    assert found.warnings == ["the document has no text"]


@pytest.mark.slow
def test_lists_nested_deeper_than_the_stack_are_read() -> None:
    nested = "".join(f"{' ' * 2 * depth}- item {depth}\n\n" for depth in range(200))
    assert len(load_reader("rst")(nested.encode(), "name").blocks) >= 30
    assert load_reader("rtf")(b"{\\rtf1" + b"{" * 100_000 + b"deep" + b"}" * 100_000, "name").blocks


def test_messages_within_messages_are_read_to_a_limit() -> None:
    message = b"Subject: last\n\ntext"
    for number in range(40):
        message = b"Subject: n%d\nContent-Type: message/rfc822\n\n%b" % (number, message)
    assert load_reader("mail")(message, "name").blocks


@pytest.mark.parametrize("name", VARIANTS)
def test_a_file_that_is_cut_off_anywhere_is_read_or_refused(name: str) -> None:
    kind, data = VARIANTS[name]
    for end in range(0, len(data), max(1, len(data) // 60)):
        with contextlib.suppress(ReadError):
            load_reader(kind)(data[:end], "name")


@pytest.mark.req("SIL-1")
@pytest.mark.parametrize(
    ("limit", "bound", "kind", "warning"),
    [
        ("office.xlsx.SHEETS_MAX", 0, "xlsx", "only the first 0 of "),
        ("office.epub.CHAPTERS_MAX", 1, "epub", "only the first 1 of 2 chapters were read"),
        ("notebook.OUTPUT_CHARACTERS_MAX", 2, "notebook", "an output was cut after 2 of "),
        ("mail.ATTACHMENTS_MAX", 0, "mail", "only the first 0 attachments were read"),
    ],
)
def test_what_a_limit_cuts_off_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, limit: str, bound: int, kind: str, warning: str
) -> None:
    monkeypatch.setattr(f"inorder.documents.readers.{limit}", bound)
    assert [each for each in load_reader(kind)(SAMPLES[kind], "name").warnings if each.startswith(warning)]


@pytest.mark.req("SIL-1")
def test_messages_that_are_too_deep_in_others_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inorder.documents.readers.mail.DEPTH_MAX", 0)
    inner = b"Subject: in\n\nA letter.\n"
    outer = (
        b'Subject: out\nContent-Type: multipart/mixed; boundary="x"\n\n--x\nContent-Type: message/rfc822\n\n'
        + inner
        + b"\n--x--\n"
    )
    assert load_reader("mail")(outer, "name").warnings == [
        "messages more than 0 levels deep in others were not read",
    ]
