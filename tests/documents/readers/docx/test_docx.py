"""Word documents: what their styles, lists and tables mean."""

import pytest

from inorder.documents.model import Code, Document, Furniture, Heading, ListItem, Paragraph, Picture, Table, Title
from inorder.documents.readers.docx import reader as docx
from inorder.errors import ReadError
from tests.documents.document_text import block_texts
from tests.documents.docx_files import make_docx, paragraph, part, relation, styled_paragraph

pytestmark = pytest.mark.req("DOC-1")

STYLES = part(
    "styles",
    '<w:style w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>'
    '<w:style w:styleId="Kapitel"><w:name w:val="Kapitel"/><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>'
    '<w:style w:styleId="Own"><w:name w:val="Own"/><w:basedOn w:val="Heading1"/></w:style>'
    '<w:style w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style>'
    '<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>'
    '<w:style w:styleId="Src"><w:name w:val="Source Code"/></w:style>'
    '<w:style w:styleId="Cap"><w:name w:val="caption"/></w:style>'
    '<w:style w:styleId="LB"><w:name w:val="List Bullet"/><w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr>'
    "</w:style>",
)
LEVELS = "".join(
    f'<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'
    for level, form, text in [(0, "decimal", "%1."), (1, "lowerLetter", "%2)"), (2, "upperRoman", "%1.%3")]
)
NUMBERING = part(
    "numbering",
    f'<w:abstractNum w:abstractNumId="0">{LEVELS}</w:abstractNum>'
    '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="o"/></w:lvl>'
    "</w:abstractNum>"
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>'
    '<w:num w:numId="3"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/>'
    "</w:lvlOverride></w:num>",
)
PARTS = {"word/styles.xml": STYLES, "word/numbering.xml": NUMBERING}


def read(body: str, parts: dict[str, str] | None = None, relations: str = "") -> Document:
    return docx.read(make_docx(body, {**PARTS, **(parts or {})}, relations), "letter")


def item(text: str, number_id: int, level: int = 0) -> str:
    return paragraph(text, f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number_id}"/></w:numPr>')


def row(*cells: str, properties: str = "") -> str:
    return f"<w:tr>{properties}{''.join(cells)}</w:tr>"


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(text)}</w:tc>"


class TestParagraphs:
    def test_headings_by_style_in_any_language_and_by_outline_level(self) -> None:
        document = read(
            styled_paragraph("One", "Heading1")
            + styled_paragraph("Two", "berschrift2")
            + styled_paragraph("Three", "Kapitel")
            + styled_paragraph("Like one", "Own")
            + paragraph("Four", '<w:outlineLvl w:val="3"/>')
            + styled_paragraph("Text", "Loop")
            + styled_paragraph("Text", "Missing")
        )
        assert document.blocks == [
            Heading(text="One", level=1),
            Heading(text="Two", level=2),
            Heading(text="Three", level=3),
            Heading(text="Like one", level=1),
            Heading(text="Four", level=4),
            Paragraph(text="Text"),
            Paragraph(text="Text"),
        ]

    def test_without_styles_the_usual_names_are_known(self) -> None:
        document = docx.read(make_docx(styled_paragraph("One", "Heading1") + styled_paragraph("T", "Title")), "letter")
        assert document.blocks == [Heading(text="One", level=1), Title(text="T")]

    def test_runs_join_and_tabs_and_breaks_are_spaces(self) -> None:
        document = read(
            "<w:p><w:r><w:t>Hel</w:t></w:r><w:r><w:t>lo</w:t><w:tab/><w:t>you</w:t><w:br/><w:t>co</w:t>"
            "<w:noBreakHyphen/><w:t>op</w:t><w:softHyphen/></w:r></w:p>"
        )
        assert block_texts(document) == [("paragraph", "Hello you co-op")]

    def test_deleted_moved_and_hidden_text_is_not_there(self) -> None:
        document = read(
            "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r></w:ins>"
            "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>"
            "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>"
            '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t> seen</w:t></w:r>'
            "<w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
        )
        assert block_texts(document) == [("paragraph", "new seen")]

    def test_links_are_kept_with_their_targets(self) -> None:
        document = read(
            '<w:p><w:r><w:t>See </w:t></w:r><w:hyperlink r:id="r9"><w:r><w:t>this</w:t></w:r></w:hyperlink></w:p>',
            relations=relation("r9", "hyperlink", "https://x.y/z"),
        )
        assert document.blocks == [Paragraph(text="See this", links=[("this", "https://x.y/z")])]

    def test_lines_of_code_are_one_piece_with_its_space(self) -> None:
        lines = "".join(
            f'<w:p><w:pPr><w:pStyle w:val="Src"/></w:pPr><w:r><w:t xml:space="preserve">{line}</w:t></w:r></w:p>'
            for line in ("if x:", "", "    y  ", "")
        )
        assert read(lines + paragraph("end")).blocks == [Code(text="if x:\n\n    y"), Paragraph(text="end")]

    def test_a_text_box_is_read_once_and_before_its_paragraph(self) -> None:
        mc = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
        box = f"<w:txbxContent>{paragraph('boxed')}</w:txbxContent>"
        document = read(
            f"<w:p><w:r><w:t>host</w:t><mc:AlternateContent {mc}><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}"
            "</mc:Fallback></mc:AlternateContent><w:t> end</w:t></w:r></w:p>"
        )
        assert block_texts(document) == [("paragraph", "boxed"), ("paragraph", "host end")]


class TestLists:
    def test_numbers_are_counted_as_word_does(self) -> None:
        document = read(
            item("a", 1) + item("b", 1) + item("b1", 1, 1) + item("b2", 1, 1) + item("b2i", 1, 2) + item("c", 1)
            + item("c1", 1, 1) + item("five", 3) + item("dot", 2)
            + styled_paragraph("dot by style", "LB") + item("d", 1)
        )  # fmt: skip
        assert [(i.depth, i.ordered, i.marker) for i in document.blocks if isinstance(i, ListItem)] == [
            (0, True, "1."),
            (0, True, "2."),
            (1, True, "a)"),
            (1, True, "b)"),
            (2, True, "2.I"),
            (0, True, "3."),
            (1, True, "a)"),
            (0, True, "5."),
            (0, False, "-"),
            (0, False, "-"),
            (0, True, "4."),
        ]

    def test_the_number_zero_takes_a_paragraph_out_of_its_list(self) -> None:
        assert block_texts(read(item("text", 0))) == [("paragraph", "text")]


class TestTables:
    def test_merged_cells_and_headers(self) -> None:
        header = "<w:trPr><w:tblHeader/></w:trPr>"
        document = read(
            "<w:tbl>"
            + row(cell("k"), cell("v", '<w:gridSpan w:val="2"/>'), properties=header)
            + row(cell("a", '<w:vMerge w:val="restart"/>'), cell("1"), cell("2"))
            + row(cell("", "<w:vMerge/>"), cell("3"), cell("4"))
            + row(cell("late"), properties='<w:trPr><w:gridBefore w:val="2"/></w:trPr>')
            + "</w:tbl>"
        )
        [table] = document.blocks
        assert isinstance(table, Table)
        assert (table.rows, table.columns) == (4, 3)
        assert [(c.text, c.row, c.column, c.rows, c.columns, c.is_header) for c in table.cells] == [
            ("k", 0, 0, 1, 1, True),
            ("v", 0, 1, 1, 2, True),
            ("a", 1, 0, 2, 1, False),
            ("1", 1, 1, 1, 1, False),
            ("2", 1, 2, 1, 1, False),
            ("3", 2, 1, 1, 1, False),
            ("4", 2, 2, 1, 1, False),
            ("late", 3, 2, 1, 1, False),
        ]

    def test_text_in_a_cell_that_is_merged_into_the_one_above_is_not_lost(self) -> None:
        restart, goes_on = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
        rows = row(cell("a", restart), cell("1")) + row(cell("b", goes_on), cell("2")) + row(cell("c"), cell("3"))
        assert block_texts(read(f"<w:tbl>{rows}</w:tbl>")) == [("table", "a b | 1 / 2 / c | 3")]

    def test_a_cell_that_goes_on_from_nothing_is_a_cell(self) -> None:
        assert block_texts(read(f"<w:tbl>{row(cell('a', '<w:vMerge/>'), cell('b'))}</w:tbl>")) == [("table", "a | b")]

    @pytest.mark.parametrize("look", ['w:firstRow="1"', 'w:val="04A0"'])
    def test_a_first_row_that_is_said_to_be_special_is_a_header(self, look: str) -> None:
        [table] = read(f"<w:tbl><w:tblPr><w:tblLook {look}/></w:tblPr>{row(cell('k'))}{row(cell('v'))}</w:tbl>").blocks
        assert isinstance(table, Table)
        assert [c.is_header for c in table.cells] == [True, False]

    def test_a_caption_above_a_table_is_its_own(self) -> None:
        document = read(
            styled_paragraph("Table 1", "Cap")
            + f"<w:tbl>{row(cell('x'), cell('y'))}</w:tbl>"
            + styled_paragraph("alone", "Cap")
        )
        assert isinstance(document.blocks[0], Table)
        assert document.blocks[0].caption == "Table 1"
        assert block_texts(document)[1:] == [("paragraph", "alone")]

    def test_a_caption_below_a_picture_is_its_own(self) -> None:
        drawing = (
            '<w:p><w:r><w:drawing xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
            'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><wp:docPr descr="a cat"/><a:blip/>'
            "</w:drawing></w:r></w:p>"
        )
        assert read(drawing + paragraph("x")).blocks == [Picture(caption="a cat"), Paragraph(text="x")]
        assert read(drawing + styled_paragraph("Figure 1", "Cap")).blocks == [Picture(caption="Figure 1 a cat")]


class TestWholeFile:
    CORE = (
        '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The &amp; Tale</dc:title></cp:coreProperties>'
    )

    def test_the_title_is_styled_as_such_or_stated_in_the_properties(self) -> None:
        stated = {"docProps/core.xml": self.CORE}
        assert block_texts(read(paragraph("text"), stated)) == [("title", "The & Tale"), ("paragraph", "text")]
        assert block_texts(read(styled_paragraph("Own", "Titel"), stated)) == [("title", "Own")]
        assert block_texts(read(styled_paragraph("The &amp; Tale", "Heading1"), stated)) == [("heading", "The & Tale")]

    def test_notes_come_at_the_end_and_headers_are_furniture(self) -> None:
        notes = part(
            "footnotes",
            f'<w:footnote w:type="separator"><w:p><w:r><w:t>-</w:t></w:r></w:p></w:footnote>'
            f'<w:footnote w:id="1">{paragraph("a note")}</w:footnote>',
        )
        document = read(
            paragraph("text"),
            {"word/footnotes.xml": notes, "word/header1.xml": part("hdr", paragraph("My letter"))},
            relation("r1", "footnotes", "footnotes.xml") + relation("r2", "header", "header1.xml"),
        )
        assert document.blocks == [
            Paragraph(text="text"),
            Paragraph(text="a note", source="footnote"),
            Furniture(text="My letter", kind="header"),
        ]

    def test_the_strict_form_of_the_format_is_read(self) -> None:
        strict = "http://purl.oclc.org/ooxml/wordprocessingml/main"
        xml = f'<x:document xmlns:x="{strict}"><x:body><x:p><x:r><x:t>text</x:t></x:r></x:p></x:body></x:document>'
        assert block_texts(read("", {"word/document.xml": xml})) == [("paragraph", "text")]

    def test_a_file_without_text_says_so(self) -> None:
        assert read("<w:p/>").warnings == ["the document has no text"]

    def test_a_workbook_is_no_letter(self) -> None:
        with pytest.raises(ReadError, match="not a Word document"):
            read("", {"word/document.xml": "<workbook/>"})

    def test_files_made_by_a_library_are_read(self) -> None:
        import io

        library = pytest.importorskip("docx")
        made_by_it = library.Document()
        made_by_it.add_heading("Tale", 0)
        made_by_it.add_heading("One", 1)
        made_by_it.add_paragraph("first", style="List Bullet")
        made_by_it.add_paragraph("second", style="List Number")
        table = made_by_it.add_table(2, 2)
        table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
        saved = io.BytesIO()
        made_by_it.save(saved)
        document = docx.read(saved.getvalue(), "tale")
        assert block_texts(document) == [
            ("title", "Tale"),
            ("heading", "One"),
            ("listitem", "first"),
            ("listitem", "second"),
            ("table", "wide /  | "),
        ]
