"""PDF: form fields, free text, notes and stamps are text, beside the printed text that they belong to."""

import time

import pytest

from inorder.documents.doctags.markdown import write_markdown
from inorder.documents.model import Document, Paragraph
from inorder.documents.readers.pdf import pdfium
from inorder.documents.readers.pdf import reader as pdf
from tests.documents.pdf_files import raw_pdf, stream

pytestmark = pytest.mark.req("DOC-1")

TEXT = b"BT /F 12 Tf 60 700 Td (Name of the keeper) Tj 0 -100 Td (Remarks) Tj ET"
UPPER, LOWER = b"/Rect[200 695 400 712]", b"/Rect[200 595 400 612]"


def make_form(*annotations: bytes, content: bytes = TEXT, form: bytes = b"", page: bytes = b"") -> bytes:
    """A PDF of one page, with these annotations; those that are fields are in its form."""
    numbers = range(10, 10 + len(annotations))
    refs = b" ".join(b"%d 0 R" % number for number in numbers)
    objects = {
        1: b"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[%s]%s>>>>" % (refs, form),
        2: b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Annots[%s]%s"
        b"/Resources<</Font<</F 5 0 R>>>>>>" % (refs, page),
        4: stream(content),
        5: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    }
    annotation = b"<</Type/Annot/F 4%s>>"
    return raw_pdf(objects | {number: annotation % each for number, each in zip(numbers, annotations, strict=True)})


def field(entries: bytes, place: bytes = UPPER, kind: bytes = b"Tx") -> bytes:
    return b"/Subtype/Widget/FT/%s/T(f)%s%s" % (kind, place, entries)


def read_texts(data: bytes) -> list[str]:
    return [block.text for block in pdf.read(data, "form").blocks if isinstance(block, Paragraph)]


KEPT = {
    "a text field": (field(b"/V(Ann)"), "field", "Ann"),
    "a field with a description": (field(b"/V(Ann)/TU(Full name:)"), "field", "Full name: Ann"),
    "a value in UTF-16": (field(b"/V<FEFF041C0430044F043A>"), "field", "\u041c\u0430\u044f\u043a"),
    "a choice": (field(b"/V(oil)/Opt[(oil)(wick)]/Ff 131072", kind=b"Ch"), "field", "oil"),
    "choices of a list": (field(b"/V[(oil)(wick)]/I[0 1]/Opt[(oil)(wick)(glass)]", kind=b"Ch"), "field", "oil, wick"),
    "a checked box": (
        field(b"/V/Yes/AS/Yes/TU(On watch)/AP<</N<</Yes 4 0 R/Off 4 0 R>>>>", kind=b"Btn"),
        "field",
        "\u2612 On watch",
    ),
    "a chosen button": (
        field(b"/V/wick/AS/wick/TU(Needs)/Ff 32768/AP<</N<</wick 4 0 R/Off 4 0 R>>>>", kind=b"Btn"),
        "field",
        "\u2612 Needs: wick",
    ),
    "free text": (b"/Subtype/FreeText/Contents(Ann)" + UPPER, "note", "Ann"),
    "a note": (b"/Subtype/Text/Contents(Ask Ann)" + UPPER, "note", "Ask Ann"),
    "a comment on a word": (b"/Subtype/Highlight/Contents(Who?)" + UPPER, "note", "Who?"),
    "a stamp": (b"/Subtype/Stamp/Contents(Approved by Ann)" + UPPER, "stamp", "Approved by Ann"),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_was_filled_in_is_text_beside_the_printed_text(name: str) -> None:
    annotation, source, text = KEPT[name]
    blocks = pdf.read(make_form(annotation), "form").blocks
    assert [block.text for block in blocks if isinstance(block, Paragraph)] == ["Name of the keeper", text, "Remarks"]
    filled = blocks[1]
    assert isinstance(filled, Paragraph)
    assert (filled.source, filled.page) == (source, 1)
    assert filled.box == pytest.approx((200, 88, 400, 105))


LEFT_OUT = {
    "an empty field": field(b""),
    "a hidden field": field(b"/V(secret)").replace(b"/Subtype", b"/F 2/Subtype"),
    "a password": field(b"/V(secret)/Ff 8192"),
    "a box that is not checked": field(b"/V/Off/AS/Off/AP<</N<</Yes 4 0 R/Off 4 0 R>>>>", kind=b"Btn"),
    "a button": field(b"/Ff 65536/MK<</CA(Send)>>", kind=b"Btn"),
    "a popup": b"/Subtype/Popup/Contents(Ask Ann)" + UPPER,
    "a link": b"/Subtype/Link/Contents(Ask Ann)" + UPPER,
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_not_filled_in_is_left_out(name: str) -> None:
    data = make_form(LEFT_OUT[name]).replace(b"/F 4/F 2", b"/F 2") if "hidden" in name else make_form(LEFT_OUT[name])
    assert read_texts(data) == ["Name of the keeper", "Remarks"]


def test_a_page_that_has_only_fields_is_not_a_page_without_text() -> None:
    document = pdf.read(make_form(field(b"/V(Ann)"), content=b""), "form")
    assert [block.text for block in document.blocks if isinstance(block, Paragraph)] == ["Ann"]
    assert document.pages[0].has_text
    assert document.warnings == []


def test_fields_follow_each_other_as_they_stand_on_the_page() -> None:
    data = make_form(
        *(
            b"/Subtype/Widget/FT/Tx/T(%s)/V(%s)%s" % (name, name, place)
            for name, place in [(b"Low", LOWER), (b"High", UPPER), (b"Right", b"/Rect[450 695 500 712]")]
        )
    )
    assert read_texts(data) == ["Name of the keeper", "High", "Right", "Remarks", "Low"]


@pytest.mark.parametrize(
    ("rotation", "box"),
    [(90, (695, 200, 712, 400)), (180, (200, 695, 400, 712)), (270, (88, 200, 105, 400))],
)
def test_the_place_of_a_field_is_that_on_the_displayed_page(rotation: int, box: tuple[float, ...]) -> None:
    document = pdf.read(make_form(field(b"/V(Ann)"), page=b"/Rotate %d" % rotation), "form")
    assert [block.box for block in document.blocks if isinstance(block, Paragraph) and block.source] == [box]


def test_a_field_that_the_form_does_not_name_is_read() -> None:
    data = make_form(field(b"/V(Ann)")).replace(b"/AcroForm<</Fields[10 0 R]>>", b"")
    assert "Ann" in read_texts(data)


def test_markdown_says_what_was_filled_in() -> None:
    blocks = [Paragraph("Ann", source="field"), Paragraph("Who?", source="note")]
    document = Document(name="d", mimetype="", reader="", blocks=blocks)
    assert write_markdown(document) == "*(field)* Ann\n\n*(note)* Who?\n"


HOSTILE = {
    "a field that is its own parent": make_form(field(b"/Parent 10 0 R")),
    "a value that is a page": make_form(field(b"/V 3 0 R")),
    "a form that is its own page": make_form(field(b"/V(Ann)")).replace(b"/Fields[10 0 R]", b"/Fields[3 0 R]"),
    "no rectangle": make_form(b"/Subtype/FreeText/Contents(Ann)"),
    "a rectangle without numbers": make_form(b"/Subtype/FreeText/Contents(Ann)/Rect[/a/b/c/d]"),
    "a rectangle without end": make_form(b"/Subtype/FreeText/Contents(Ann)/Rect[0 0 1e38 1e39]"),
    "a megabyte of text": make_form(b"/Subtype/FreeText/Contents(%s)" % (b"a " * 500_000) + UPPER),
    "a script": make_form(field(b"/V(Ann)/AA<</C<</S/JavaScript/JS(while(1);)>>>>"), form=b"/CO[10 0 R]"),
}


@pytest.mark.req("ROB-1")
@pytest.mark.parametrize("name", HOSTILE)
def test_annotations_made_to_hurt_leave_the_printed_text(name: str) -> None:
    began = time.process_time()
    assert "Name of the keeper" in read_texts(HOSTILE[name])
    assert time.process_time() - began < 10
    assert pdfium.HANDLES.open == 0


@pytest.mark.slow
@pytest.mark.req("ROB-1")
def test_ten_thousand_fields_are_read_in_time() -> None:
    lines = b"".join(b"1 0 0 1 60 %d Tm (Line) Tj " % (790 - at) for at in range(0, 780, 12))
    fields = [
        b"/Subtype/FreeText/Contents(n%d)/Rect[200 %d 400 %d]" % (at, at % 700, at % 700 + 9) for at in range(10_000)
    ]
    began = time.process_time()
    document = pdf.read(make_form(*fields, content=b"BT /F 9 Tf %s ET" % lines), "form")
    assert time.process_time() - began < 20
    assert document.warnings == ["page 1 has 10,000 annotations, of which 2,000 were read"]
