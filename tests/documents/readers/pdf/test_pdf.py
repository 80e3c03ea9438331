"""What a PDF says: headings, paragraphs, lists, code, scripts of all directions, and pages that have no text."""

import pytest
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Spacer

from inorder.documents.model import Code, Heading, ListItem, Paragraph, Title
from inorder.documents.readers.pdf import reader as pdf
from inorder.documents.readers.pdf.pdfium import HANDLES
from inorder.errors import ReadError
from tests.documents.docling_reference import assert_docling_agrees
from tests.documents.document_text import block_texts
from tests.documents.pdf_files import (
    HEIGHT,
    body,
    boxed_font,
    draw_lines,
    draw_pdf,
    draw_together,
    encode_text,
    heading,
    one_page,
    typeset_pdf,
)

pytestmark = pytest.mark.req("DOC-1")

HEBREW = "אבגדהוזחטיכלמנסעפצקרשתםןץ "
TALE = "The lamp is lit an hour before sunset, and the keeper of the watch writes down who passed and when. " * 3


def read(data: bytes) -> list[tuple[str, str]]:
    return block_texts(pdf.read(data, "tale"))


def test_lines_become_a_paragraph() -> None:
    assert read(draw_pdf(draw_lines("The lamp is lit", "an hour before sunset."))) == [
        ("paragraph", "The lamp is lit an hour before sunset.")
    ]


def test_paragraphs_are_told_apart_by_space_by_indent_and_by_a_short_last_line() -> None:
    by_space = typeset_pdf([body(TALE), body(TALE)])
    by_indent = typeset_pdf([body(TALE, spaceBefore=0, spaceAfter=0, firstLineIndent=15)] * 3)
    by_short_line = typeset_pdf([body(TALE, spaceBefore=0, spaceAfter=0)] * 3)
    for data, count in ((by_space, 2), (by_indent, 3), (by_short_line, 3)):
        assert read(data) == [("paragraph", TALE.strip())] * count


def test_an_indent_begins_a_paragraph_even_where_the_line_before_is_full() -> None:
    full = "The lamp is lit an hour before the sun goes down and burns on until"
    first = draw_together(draw_lines(full, x=75), draw_lines(full, full, top=112))
    second = draw_together(draw_lines(full, x=75, top=136), draw_lines(full, top=148))
    assert [kind for kind, _ in read(draw_pdf(draw_together(first, second)))] == ["paragraph", "paragraph"]


def test_headings_are_larger_and_their_levels_follow_their_sizes() -> None:
    parts = [heading("The Handbook"), body(TALE), heading("Lamps", 2), body(TALE), heading("Oil", 3), body(TALE)]
    document = pdf.read(typeset_pdf([*parts, heading("Fog", 2), body(TALE)]), "tale")
    kinds = [(type(block), getattr(block, "level", 0), block.text) for block in document.blocks if len(block.text) < 20]
    assert kinds == [(Title, 0, "The Handbook"), (Heading, 1, "Lamps"), (Heading, 2, "Oil"), (Heading, 1, "Fog")]


def test_a_heading_may_be_just_bold() -> None:
    data = typeset_pdf([body(TALE), body("<b>Of the fog horn</b>"), body(TALE), body("<b>Beware:</b> hot glass.")])
    assert [kind for kind, _ in read(data)] == ["paragraph", "heading", "paragraph", "paragraph"]


def test_a_heading_over_two_lines_is_one() -> None:
    data = draw_pdf(
        draw_together(draw_lines("Of lamps and", "their keepers", size=20), draw_lines(*[TALE[:80]] * 6, top=180))
    )
    assert read(data)[0] == ("title", "Of lamps and their keepers")


def test_items_of_lists_keep_their_marks_and_depths() -> None:
    outer = draw_lines("• the lamp", "• the rail")
    inner = draw_lines("1. brass", "2. glass", x=80, top=124)
    items = [
        block for block in pdf.read(draw_pdf(draw_together(outer, inner)), "tale").blocks if isinstance(block, ListItem)
    ]
    assert [(item.text, item.depth, item.ordered) for item in items] == [
        ("the lamp", 0, False),
        ("the rail", 0, False),
        ("brass", 1, True),
        ("glass", 1, True),
    ]
    assert [item.marker for item in items[2:]] == ["1.", "2."]


def test_an_item_over_several_lines_is_one() -> None:
    texts = ["1. Fill the tank with oil until the glass", "    is full to the mark.", "2. Light the lamp."]
    document = pdf.read(draw_pdf(draw_lines(*texts)), "tale")
    assert block_texts(document) == [
        ("listitem", "Fill the tank with oil until the glass is full to the mark."),
        ("listitem", "Light the lamp."),
    ]


def test_a_number_in_running_text_begins_no_item() -> None:
    data = draw_pdf(
        draw_lines("There were three lamps in all and in the year of the storm there were only", "2. The rest broke.")
    )
    assert [kind for kind, _ in read(data)] == ["paragraph"]


def test_a_line_with_code_in_its_middle_is_text() -> None:
    parts = (("Helvetica", "Call "), ("Courier", "inorder run docs --data x"), ("Helvetica", " and wait."))

    def draw(canvas: Canvas) -> None:
        text = canvas.beginText(60, HEIGHT - 100)
        for font, words in parts:
            text.setFont(font, 10)
            text.textOut(words)
        canvas.drawText(text)

    assert block_texts(pdf.read(draw_pdf(draw), "tale")) == [("paragraph", "".join(words for _, words in parts))]


def test_code_keeps_its_indents_and_empty_lines() -> None:
    code = draw_lines("def light(lamp):", "    if lamp.is_cold:", "", "        lamp.warm()", top=300, font="Courier")
    blocks = pdf.read(draw_pdf(draw_together(draw_lines(*[TALE[:80]] * 9), code)), "tale").blocks
    assert [block.text for block in blocks if isinstance(block, Code)] == [
        "def light(lamp):\n    if lamp.is_cold:\n\n        lamp.warm()"
    ]


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [
        ("It is an extra-", "ordinary lamp.", "It is an extraordinary lamp."),
        ("It is a self-", "made lamp.", "It is a self-made lamp."),
        ("The tower of St-", "Ives is old.", "The tower of St-Ives is old."),
        ("In the years 1890-", "1895 it was dark.", "In the years 1890-1895 it was dark."),
        ("The lamp -", "a new one - shone.", "The lamp - a new one - shone."),
        ("A signal\u00ad", "ling lamp.", "A signalling lamp."),
    ],
)
def test_a_word_broken_at_the_end_of_a_line_is_whole_again(first: str, second: str, whole: str) -> None:
    assert read(draw_pdf(draw_lines(first, second))) == [("paragraph", whole)]


def test_a_hyphen_stays_where_the_page_has_the_word_with_one() -> None:
    data = draw_pdf(draw_lines("A fog-horn is loud. Nobody sleeps near a fog-", "horn in winter."))
    assert read(data) == [("paragraph", "A fog-horn is loud. Nobody sleeps near a fog-horn in winter.")]


def test_a_paragraph_goes_on_over_the_end_of_a_page() -> None:
    data = draw_pdf(
        draw_lines("The keeper climbed the long and wind-"),
        draw_lines("ing stair, and lit the lamp."),
        draw_lines("The end."),
    )
    document = pdf.read(data, "tale")
    assert [(block.text, block.page) for block in document.blocks if isinstance(block, Paragraph)] == [
        ("The keeper climbed the long and winding stair, and lit the lamp.", 1),
        ("The end.", 3),
    ]


def test_ligatures_and_odd_spaces_are_plain_letters() -> None:
    alphabet = "ofice\ufb03\u00a0\ufb01n\ufb17"
    font, more = boxed_font(alphabet)
    content = b"BT /F 12 Tf 60 700 Td %s Tj ET" % encode_text(alphabet, "o\ufb03ce\u00a0\ufb01n\u00a0\ufb17")
    assert read(one_page(content, b"", font, more)) == [("paragraph", "office fin \u0574\u056d")]


@pytest.mark.parametrize(
    ("drawn", "text"),
    [
        ("oil\tand\u2003lens", "oil and lens"),
        ("well\u2011lit well\u2010lit", "well-lit well-lit"),
        ("pre\x1cll o\x0ece", "prefill office"),
    ],
)
def test_spaces_hyphens_and_ligatures_of_all_forms_are_the_usual_ones(drawn: str, text: str) -> None:
    alphabet = "".join(sorted(set(drawn)))
    font, more = boxed_font(alphabet)
    content = b"BT /F 12 Tf 60 700 Td %s Tj ET" % encode_text(alphabet, drawn)
    assert read(one_page(content, b"", font, more)) == [("paragraph", text)]


def test_the_bullet_of_tex_fonts_begins_a_list_item() -> None:
    alphabet = "\x88 lightoi"
    font, more = boxed_font(alphabet)
    lines = [encode_text(alphabet, text) for text in ("\x88 light", "\x88 oil")]
    content = b"BT /F 12 Tf 60 700 Td %s Tj 0 -14 Td %s Tj ET" % tuple(lines)
    document = pdf.read(one_page(content, b"", font, more), "tale")
    items = [(block.marker, block.text) for block in document.blocks if isinstance(block, ListItem)]
    assert items == [("\u2022", "light"), ("\u2022", "oil")]


@pytest.mark.parametrize(
    ("font", "texts", "whole"),
    [
        ("STSong-Light", ("灯塔管理员每天晚上", "在日落之前点灯。"), "灯塔管理员每天晚上在日落之前点灯。"),
        ("HeiseiMin-W3", ("灯台守は毎晩", "日没の前に灯をともす。"), "灯台守は毎晩日没の前に灯をともす。"),
        ("HYSMyeongJo-Medium", ("등대지기는 매일", "저녁 불을 켠다."), "등대지기는 매일 저녁 불을 켠다."),
    ],
)
def test_scripts_without_spaces_get_none_at_the_end_of_a_line(font: str, texts: tuple[str, ...], whole: str) -> None:
    pdfmetrics.registerFont(UnicodeCIDFont(font))
    assert read(draw_pdf(draw_lines(*texts, font=font))) == [("paragraph", whole)]


def test_a_short_last_line_ends_a_paragraph_in_scripts_without_spaces() -> None:
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    first = ["灯塔管理员每天晚上在日落之前点灯并写下经过的船", "只的名字。"]
    second = ["每天早上他熄灭灯火擦干净玻璃然后把日记送到港口", "去给办公室看"]
    found = read(draw_pdf(draw_lines(*first, *second, font="STSong-Light")))
    assert found == [("paragraph", "".join(first)), ("paragraph", "".join(second))]


def right_to_left(*columns: tuple[float, list[str]]) -> bytes:
    """Hebrew lines that end at the given edges, drawn as they look: the last letter first."""
    content = b"BT /F 10 Tf\n"
    for edge, texts in columns:
        for index, text in enumerate(texts):
            start = edge - 6 * len(text)
            content += b"1 0 0 1 %d %d Tm %s Tj\n" % (start, 700 - 14 * index, encode_text(HEBREW, text[::-1]))
    font, more = boxed_font(HEBREW)
    return one_page(content + b"ET", b"", font, more)


def test_text_that_runs_to_the_left_is_in_the_order_it_is_read() -> None:
    texts = ["שומרי המגדלור מדליקים את האור בכל ערב", "ורושמים את מזג האוויר ביומן"]
    document = pdf.read(right_to_left((540, texts)), "tale")
    assert block_texts(document) == [("paragraph", " ".join(texts))]


def test_pieces_of_a_line_that_runs_to_the_left_are_read_from_the_right() -> None:
    document = pdf.read(right_to_left((540, ["שומרי המגדלור"]), (280, ["מדליקים את האור"])), "tale")
    assert block_texts(document) == [("paragraph", "שומרי המגדלור מדליקים את האור")]


def test_columns_that_run_to_the_left_are_read_from_the_right() -> None:
    right, left = ["שומרי המגדלור מדליקים"] * 5, ["ורושמים את מזג האוויר"] * 5
    for order in (((540, right), (280, left)), ((280, left), (540, right))):
        assert " ".join(text for _, text in read(right_to_left(*order))) == " ".join(right + left)


def test_a_turned_page_is_read_as_it_is_looked_at() -> None:
    upright = b"BT /F 12 Tf 1 0 0 1 60 700 Tm (The lamp is) Tj 1 0 0 1 60 680 Tm (lit at night.) Tj ET"
    turned = b"BT /F 12 Tf 0 1 -1 0 100 60 Tm (The lamp is) Tj 0 1 -1 0 120 60 Tm (lit at night.) Tj ET"
    assert read(one_page(upright)) == [("paragraph", "The lamp is lit at night.")]
    document = pdf.read(one_page(turned, b"/Rotate 90"), "tale")
    assert block_texts(document) == [("paragraph", "The lamp is lit at night.")]
    assert (document.pages[0].width, document.pages[0].height) == (800, 600)
    left, top, right, bottom = document.blocks[0].box or (0, 0, 0, 0)
    assert 55 < left < 65 < right < 150
    assert 85 < top < bottom < 130


def test_text_that_runs_up_the_margin_is_kept_by_itself() -> None:
    def margin(canvas: Canvas) -> None:
        canvas.rotate(90)
        canvas.drawString(200, -30, "Printed by the cooperative")
        canvas.rotate(-90)

    blocks = read(draw_pdf(draw_together(margin, draw_lines("The lamp is lit", "an hour before sunset."))))
    assert blocks == [
        ("paragraph", "The lamp is lit an hour before sunset."),
        ("paragraph", "Printed by the cooperative"),
    ]


def test_a_displayed_formula_is_one_block_with_all_of_its_pieces() -> None:
    before, after = draw_lines("The light of the lamp is"), draw_lines("where the lamp stands still.", top=170)
    formula = draw_together(
        draw_lines("1", x=300, top=124, size=8),
        draw_lines("E = mc2 +", x=240, top=130),
        draw_lines("2", x=300, top=136, size=8),
    )
    blocks = pdf.read(draw_pdf(draw_together(before, formula, after)), "tale").blocks
    assert [type(block).__name__ for block in blocks] == ["Paragraph", "Formula", "Paragraph"]
    assert sorted(blocks[1].text.split()) == ["+", "1", "2", "=", "E", "mc2"]


@pytest.mark.parametrize("text", ["Price = 30 crowns", "12 13 14", "See p. 3", "a > b is what the keeper wrote down"])
def test_text_with_signs_and_words_is_no_formula(text: str) -> None:
    assert read(draw_pdf(draw_lines(text))) == [("paragraph", text)]


def test_a_page_without_text_is_reported_and_the_others_are_read() -> None:
    document = pdf.read(
        draw_pdf(draw_lines("Before."), lambda canvas: canvas.rect(50, 50, 200, 200, fill=1), draw_lines("After.")), "t"
    )
    assert [page.has_text for page in document.pages] == [True, False, True]
    assert document.warnings == ["page 2 has no text layer (a scanned page?)"]
    assert block_texts(document) == [("paragraph", "Before."), ("paragraph", "After.")]


def test_an_empty_page_is_reported_as_such() -> None:
    document = pdf.read(draw_pdf(draw_lines("Before."), lambda canvas: None), "tale")
    assert document.warnings == ["page 2 is empty"]
    assert not document.pages[1].has_text


def test_a_document_with_a_password_is_refused_and_one_with_an_empty_one_is_read() -> None:
    secret = draw_lines("The key is under the mat.")
    with pytest.raises(ReadError, match=r"^the PDF is encrypted with a password$"):
        pdf.read(draw_pdf(secret, encrypt=StandardEncryption("password", "owner")), "tale")
    assert read(draw_pdf(secret, encrypt=StandardEncryption("", "owner"))) == [
        ("paragraph", "The key is under the mat.")
    ]


def test_no_handle_is_left_open_whatever_happens() -> None:
    before = HANDLES.open
    pdf.read(typeset_pdf([body(TALE) for _ in range(40)]), "tale")
    for data in (b"%PDF-1.4 nothing", draw_pdf(draw_lines("x"), encrypt="password"), draw_pdf(draw_lines("x"))[:300]):
        with pytest.raises(ReadError):
            pdf.read(data, "tale")
    with pytest.raises(ReadError, match="no pages 5 to 1 in a PDF of 1"):
        pdf.read(draw_pdf(draw_lines("x")), "tale", first_page=5)
    assert HANDLES.open == before


def test_the_library_that_defines_the_output_agrees() -> None:
    parts = [heading("The Handbook"), body(TALE), Spacer(1, 10), heading("Lamps", 2), body("• one"), body(TALE)]
    document = pdf.read(typeset_pdf(parts), "tale")
    assert document.reader.startswith("pdf/")
    assert_docling_agrees(document)
