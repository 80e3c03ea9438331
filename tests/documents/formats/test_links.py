"""Links of every format: target and text are data of the block, the cell and the chunk, and no part of the text."""

import pytest

from inorder.documents.chunk.chunks import Chunk, ChunkLink
from inorder.documents.chunk.settings import ChunkSettings
from inorder.documents.chunk.step import chunk
from inorder.documents.chunk.tokens import count_words
from inorder.documents.convert.resources import Resources
from inorder.documents.convert.settings import ConvertSettings
from inorder.documents.convert.step import convert
from inorder.documents.doctags.markdown import write_markdown
from inorder.documents.model import Document, Link, Table
from tests.documents.docx_files import make_docx, relation
from tests.documents.formats.office_files import line, make_epub, make_odf, make_pptx, make_xlsx, shape
from tests.documents.pdf_files import raw_pdf, stream

pytestmark = pytest.mark.req("DOC-1")

ONE, TWO = "https://one.example/a?b=1", "https://two.example/"
DOCX_LINK = '<w:hyperlink r:id="r{}"><w:r><w:t>{}</w:t></w:r></w:hyperlink>'
DOCX_LINKS = relation("r1", "hyperlink", ONE.replace("&", "&amp;")) + relation("r2", "hyperlink", TWO)
DOCX_FIELD = (
    '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> HYPERLINK "{}" \\o "x" </w:instrText></w:r>'
    '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>{}</w:t></w:r>'
    '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
)
PPTX_LINK = '<a:rPr><a:hlinkClick r:id="r1"/></a:rPr>'
ODF_LINK = '<text:a xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="{}">{}</text:a>'


def make_linked_pdf(*places: bytes, content: bytes = b"BT /F 12 Tf 60 700 Td (See the first one here.) Tj ET") -> bytes:
    numbers = range(10, 10 + len(places))
    link = b"<</Type/Annot/Subtype/Link/Rect[%s]/A<</S/URI/URI(%s)>>>>"
    page = b"/Annots[%s]" % b" ".join(b"%d 0 R" % number for number in numbers)
    objects = {
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>%s>>" % page,
        4: stream(content),
        5: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    }
    return raw_pdf(
        objects | {number: link % (place, ONE.encode()) for number, place in zip(numbers, places, strict=True)}
    )


def read(name: str, data: bytes) -> Document:
    kind = {"md": "markdown", "odt": "opendocument", "ods": "opendocument"}.get(name.rpartition(".")[2], name[-4:])
    found = convert(data, name, kind.lstrip("."), ConvertSettings(), Resources()).document.document
    assert found is not None
    return found


def list_links(document: Document) -> list[tuple[str, Link]]:
    found = []
    for block in document.blocks:
        kind = type(block).__name__
        found += [(kind, link) for link in block.links]
        if isinstance(block, Table):
            found += [("Cell", link) for cell in block.cells for link in cell.links]
    return found


LINKED = {
    "a.html": (
        f"<h1>T</h1><h2><a href='{ONE}'>one</a></h2><ul><li>a <a href='{TWO}'>two</a></ul>"
        f"<table><tr><th>k<th>v<tr><td>x<td><a href='{ONE}'>in a cell</a></table><p><a href='#x'>here</a></p>",
        [("Heading", ("one", ONE)), ("ListItem", ("two", TWO)), ("Cell", ("in a cell", ONE))],
    ),
    "a.md": (
        f"# T\n\n## [one]({ONE})\n\n- a [two]({TWO})\n\n| k | v |\n|---|---|\n| x [y](#z) | b [in *a* cell]({ONE}) |\n",
        [("Heading", ("one", ONE)), ("ListItem", ("two", TWO)), ("Cell", ("in a cell", ONE))],
    ),
    "a.docx": (
        make_docx(
            f'<w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr>{DOCX_LINK.format(1, "one")}</w:p>'
            f"<w:p>{DOCX_FIELD.format(TWO, 'two')}<w:r><w:t> and more</w:t></w:r></w:p>"
            f'<w:p><w:fldSimple w:instr="HYPERLINK &quot;{TWO}&quot;"><w:r><w:t>three</w:t></w:r></w:fldSimple></w:p>'
            f"<w:tbl><w:tr><w:tc><w:p>{DOCX_LINK.format(1, 'in a cell')}</w:p></w:tc><w:tc><w:p/></w:tc></w:tr>"
            "</w:tbl>",
            relations=DOCX_LINKS,
        ),
        [
            ("Heading", ("one", ONE)),
            ("Paragraph", ("two", TWO)),
            ("Paragraph", ("three", TWO)),
            ("Cell", ("in a cell", ONE)),
        ],
    ),
    "a.pptx": (
        make_pptx(shape(line("See ") + line("one", PPTX_LINK)), links=relation("r1", "hyperlink", ONE)),
        [("Paragraph", ("one", ONE))],
    ),
    "a.xlsx": (
        make_xlsx(
            (
                "S",
                '<sheetData><row r="1"><c r="A1" t="str"><v>k</v></c><c r="B1" t="str"><v>one</v></c></row>'
                f'<row r="2"><c r="A2" t="str"><f>HYPERLINK("{TWO}","two")</f><v>two</v></c>'
                '<c r="B2"><v>2</v></c></row></sheetData>'
                '<hyperlinks><hyperlink ref="B1:C9" r:id="r1"/><hyperlink ref="A1" location="S!A2"/></hyperlinks>',
            ),
            links=relation("r1", "hyperlink", ONE),
        ),
        [("Cell", ("one", ONE)), ("Cell", ("two", TWO)), ("Cell", ("2", ONE))],
    ),
    "a.odt": (
        make_odf(
            "text",
            f'<text:h text:outline-level="1">{ODF_LINK.format(ONE, "one")}</text:h>'
            f"<text:list><text:list-item><text:p>{ODF_LINK.format(TWO, 'two')}</text:p></text:list-item></text:list>"
            f"<table:table><table:table-row><table:table-cell><text:p>{ODF_LINK.format(ONE, 'in a cell')}</text:p>"
            "</table:table-cell><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row></table:table>",
        ),
        [("Heading", ("one", ONE)), ("ListItem", ("two", TWO)), ("Cell", ("in a cell", ONE))],
    ),
    "a.epub": (make_epub(f"<p>a <a href='{ONE}'>one</a></p>"), [("Paragraph", ("one", ONE))]),
    "a.pdf": (make_linked_pdf(b"102 696 150 712"), [("Paragraph", ("first one", ONE))]),
}


@pytest.mark.parametrize("name", LINKED)
def test_links_are_kept_with_their_targets_wherever_they_stand(name: str) -> None:
    content, expected = LINKED[name]
    document = read(name, content.encode() if isinstance(content, str) else content)
    assert list_links(document) == expected
    written = write_markdown(document).replace("*", "")
    for _, (text, target) in expected:
        assert f"[{text}]({target})" in written


def chunks_of(document: Document, tokens_max: int = 512) -> list[Chunk]:
    from inorder.documents.convert.stored import StoredDocument

    settings = ChunkSettings(tokens_max=tokens_max, tokens_min=0)
    return chunk("d", StoredDocument(document=document), settings, count_words)


@pytest.mark.parametrize("name", LINKED)
def test_links_are_data_of_the_chunk_and_their_targets_no_part_of_its_text(name: str) -> None:
    content, expected = LINKED[name]
    document = read(name, content.encode() if isinstance(content, str) else content)
    chunks = chunks_of(document)
    assert [(link.text, link.target) for each in chunks for link in each.links] == [link for _, link in expected]
    for each in chunks:
        assert "example" not in each.text
        assert all(each.text[link.start - each.start :].startswith(link.text) for link in each.links)


def test_a_link_is_in_the_chunk_in_which_its_text_begins() -> None:
    text = " ".join(f"[w{number}](/{number}) and so on." for number in range(40))
    found = chunks_of(read("a.md", text.encode()), tokens_max=20)
    assert len(found) > 5
    assert [link.target for each in found for link in each.links] == [f"/{number}" for number in range(40)]
    for each in found:
        assert all(each.start <= link.start < each.end for link in each.links)


def test_the_same_text_twice_has_two_places() -> None:
    [found] = chunks_of(read("a.md", b"[here](/1) and [here](/2)"))
    assert found.links == [ChunkLink("here", "/1", 0), ChunkLink("here", "/2", 9)]


def test_a_link_over_two_lines_of_a_pdf_is_one() -> None:
    content = b"BT /F 12 Tf 14 TL 60 700 Td (It is said in the long) Tj T* (report of the keeper.) Tj ET"
    data = make_linked_pdf(b"138 696 166 711", b"60 682 93 697", content=content)
    assert list_links(read("a.pdf", data)) == [("Paragraph", ("long report", ONE))]


HOSTILE = {
    "a script": make_linked_pdf(b"95 696 144 712").replace(ONE.encode(), b"javascript:alert(1)//////"),
    "no rectangle": make_linked_pdf(b""),
    "a rectangle around all": make_linked_pdf(b"-1e30 -1e30 1e30 1e30"),
    "ten thousand": make_linked_pdf(*[b"95 696 144 712"] * 10_000),
}


@pytest.mark.req("ROB-1")
@pytest.mark.parametrize("name", HOSTILE)
def test_links_made_to_hurt_leave_the_text(name: str) -> None:
    document = read("a.pdf", HOSTILE[name])
    assert [getattr(block, "text", "") for block in document.blocks] == ["See the first one here."]
    assert all(target == ONE for _, (_, target) in list_links(document))
