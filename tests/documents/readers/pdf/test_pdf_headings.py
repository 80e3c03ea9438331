"""Headings of PDFs: by outline, by number, by style; their levels, and what only looks like one."""

from collections.abc import Callable

import pytest
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, Spacer

from bench.reading.documents import Made
from bench.reading.kinds import (
    bold_headings,
    numbered_headings,
    outlined_headings,
    paper,
    run_in_headings,
    sized_headings,
    small_caps_headings,
    wrapped_headings,
)
from bench.reading.scores import heading_score
from bench.reading.tagged import tagged_headings, write_tagged_pdf
from bench.reading.tools import read_content
from inorder.documents.model import Heading, Title
from inorder.documents.model import Paragraph as ModelParagraph
from inorder.documents.readers.pdf import reader as pdf
from inorder.documents.readers.pdf.headings.numbering import level_of, parse_number
from inorder.documents.readers.pdf.headings.outline import PageOutline, make_outline
from tests.documents.pdf_files import STYLES, body, draw_lines, draw_pdf, draw_together, raw_pdf, typeset_pdf

pytestmark = pytest.mark.req("DOC-1")

TALE = "The lamp is lit an hour before sunset, and the keeper of the watch writes down who passed and when. " * 3


def read_headings(data: bytes) -> list[tuple[int, str]]:
    return [
        (block.level if isinstance(block, Heading) else 0, block.text)
        for block in pdf.read(data, "tale").blocks
        if isinstance(block, Heading | Title)
    ]


def styled(text: str, font: str = "Times-Roman", size: float = 10, **looks: object) -> Paragraph:
    return Paragraph(text, ParagraphStyle("own", fontName=font, fontSize=size, leading=1.2 * size, **looks))


def section(text: str, font: str = "Times-Roman", size: float = 10) -> list[Paragraph | Spacer]:
    return [Spacer(1, 10), styled(text, font, size), Spacer(1, 5), styled(TALE), styled(TALE)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    "make",
    [
        sized_headings,
        wrapped_headings,
        numbered_headings,
        small_caps_headings,
        bold_headings,
        run_in_headings,
        outlined_headings,
        tagged_headings,
        paper,
    ],
)
def test_headings_of_generated_documents_are_found_with_their_levels(make: Callable[[int], Made], seed: int) -> None:
    made = make(seed)
    assert (heading_score(read_content(made.data), made.content) or 0) >= 0.95


def test_a_heading_that_hangs_below_its_number_is_one() -> None:
    first = draw_lines("2 Of the lamps and the oil that is burned in them on", font="Times-Bold")
    rest = draw_lines("Long Nights", x=69, top=112, font="Times-Bold")
    text = draw_lines(*["The lamp is lit an hour before sunset and it burns until dawn."] * 12, top=135)
    assert read_headings(draw_pdf(draw_together(first, rest, text))) == [
        (1, "2 Of the lamps and the oil that is burned in them on Long Nights")
    ]


def test_numbered_headings_in_the_style_of_the_text_are_found_and_items_of_lists_are_none() -> None:
    parts = [part for number in (1, 2, 3, 4) for part in section(f"{number} Of lamps and oil")]
    items = [styled(f"{number}. Fill the tank and close it.") for number in (1, 2, 3)]
    found = read_headings(typeset_pdf([*parts, *items]))
    assert found == [(1, f"{number} Of lamps and oil") for number in (1, 2, 3, 4)]


def test_a_single_number_in_the_text_is_no_heading() -> None:
    assert read_headings(typeset_pdf(section("1952 was the year of the great storm"))) == []
    assert read_headings(typeset_pdf(section("12 Lamps were lit"))) == []


def test_levels_follow_the_numbers_although_the_styles_are_the_same() -> None:
    numbers = ["1", "1.1", "1.1.1", "1.2", "2", "2.1"]
    parts = [part for number in numbers for part in section(f"{number} Lamps", "Times-Bold")]
    assert read_headings(typeset_pdf(parts)) == [(number.count(".") + 1, f"{number} Lamps") for number in numbers]


def test_authors_above_the_first_heading_are_none() -> None:
    front = [styled("Of Lamps", size=20, alignment=1), Spacer(1, 20), styled("A. Keeper", size=12, alignment=1)]
    parts = [part for number in (1, 2, 3) for part in section(f"{number} Oil", "Times-Bold", 12)]
    found = read_headings(typeset_pdf([*front, *parts]))
    assert found == [(0, "Of Lamps"), *((1, f"{number} Oil") for number in (1, 2, 3))]


def test_plain_numbers_count_together_with_those_of_bold_headings() -> None:
    story = [piece for number in (1, 2, 3) for piece in section(f"{number}. Lamp {number}", "Times-Bold")]
    for number in (3, 2, 1):
        story[5 * number : 5 * number] = section(f"{number}.1. Oil") + section(f"{number}.2. Wick")
    found = read_headings(typeset_pdf(story))
    assert [text for level, text in found if level == 2] == [
        f"{n}.{m}. {t}" for n in (1, 2, 3) for m, t in ((1, "Oil"), (2, "Wick"))
    ]


def test_a_heading_that_the_text_follows_on_its_line_is_one_and_the_text_a_paragraph() -> None:
    story = section("1. Lamps", "Times-Bold")
    for number, name in (("1.1", "Oil"), ("1.2", "Wicks")):
        story += [Spacer(1, 6), styled(f"<b>{number}. {name}.</b> {TALE}")]
    story += [*section("2. Boats", "Times-Bold"), Spacer(1, 6), styled(f"<b>2.1. Oars.</b> {TALE}")]
    data = typeset_pdf(story)
    assert read_headings(data) == [
        (1, "1. Lamps"),
        (2, "1.1. Oil."),
        (2, "1.2. Wicks."),
        (1, "2. Boats"),
        (2, "2.1. Oars."),
    ]
    texts = [block.text for block in pdf.read(data, "tale").blocks if isinstance(block, ModelParagraph)]
    assert texts.count(TALE.strip()) == 3 + 4


def test_a_bold_word_after_a_number_in_the_text_is_no_heading() -> None:
    story = [styled(f"1 <b>lamp</b> and no more. {TALE}"), styled(TALE), styled(f"7 <b>boats</b> came. {TALE}")]
    assert read_headings(typeset_pdf(story)) == []


def test_two_sentences_in_a_larger_size_are_no_heading() -> None:
    small = [draw_lines(f"Lamp {row} burns oil of rape seed.", top=100 + 12 * row, size=7) for row in range(30)]
    note = "Light the great lamp of the tower at dusk. Put it out when the sun is up."
    document = pdf.read(draw_pdf(draw_together(*small, draw_lines(note, top=600, size=10))), "tale")
    assert ModelParagraph(text=note, page=1, box=document.blocks[-1].box) == document.blocks[-1]


def test_a_formula_in_italics_is_no_heading() -> None:
    story = [piece for number in (1, 2, 3) for piece in section(f"E = m + {number}", "Times-Italic")]
    assert read_headings(typeset_pdf(story)) == []


def test_a_caption_in_bold_is_no_heading() -> None:
    found = read_headings(typeset_pdf([body(TALE), body("<b>Figure 3: The great lamp</b>"), body(TALE)]))
    assert found == []


def test_italic_words_in_the_text_are_no_headings() -> None:
    parts = [body(TALE), body(f"<i>{TALE}</i>"), body("<i>Lamps</i> and oil"), body(TALE)]
    assert read_headings(typeset_pdf(parts)) == []


def outlined(*entries: tuple[str, int, str]) -> bytes:
    """Lines of one style, some of them in the outline: text, depth or -1, title of the entry."""

    def draw(canvas: Canvas) -> None:
        for index, (text, depth, title) in enumerate(entries):
            draw_lines(text, top=100 + 24 * index)(canvas)
            if depth >= 0:
                canvas.bookmarkPage(str(index))
                canvas.addOutlineEntry(title, str(index), depth)

    return draw_pdf(draw)


def test_the_outline_names_headings_that_nothing_else_shows() -> None:
    data = outlined(("1 Lamps", 0, "Lamps"), (TALE[:60], -1, ""), ("1.1 Oil", 1, "1.1 Oil"), (TALE[:60], -1, ""))
    assert read_headings(data) == [(1, "1 Lamps"), (2, "1.1 Oil")]


def test_the_only_heading_of_the_first_level_in_a_structure_tree_is_the_title() -> None:
    text = ("P", [TALE[:80]] * 9)
    elements = [("H1", ["The lamps"]), text, ("H2", ["Oil"]), text, ("H2", ["Wick"])]
    assert read_headings(write_tagged_pdf(elements)) == [(0, "The lamps"), (1, "Oil"), (1, "Wick")]


def test_a_structure_tree_in_which_all_text_is_a_heading_is_not_believed() -> None:
    elements = [("H1", [f"{TALE[:60]} {number}"]) for number in range(9)]
    assert read_headings(write_tagged_pdf(elements)) == []


def test_an_outline_with_one_root_has_the_title_as_its_root() -> None:
    assert make_outline([(1, 1, "Of Lamps"), (1, 2, "Oil"), (2, 2, "Fog")]) == (
        (1, 0, "oflamps"),
        (1, 1, "oil"),
        (2, 1, "fog"),
    )


def test_an_entry_of_the_outline_may_be_spread_over_lines() -> None:
    outline = PageOutline([(2, "oflampsandoil")])
    assert outline.match(["3.1 Of lamps", "and oil", "The text."]) == (2, 2)
    assert outline.match(["Of lamps", "and fog"]) == (0, 0)


def test_an_outline_that_is_its_own_child_is_read_once() -> None:
    data = raw_pdf(
        {
            1: b"<</Type/Catalog/Pages 2 0 R/Outlines 6 0 R>>",
            2: b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
            4: b"<</Length 49>>\nstream\nBT /F 12 Tf 60 700 Td (The lamp is lit) Tj ET    \nendstream",
            5: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
            6: b"<</Type/Outlines/First 7 0 R/Last 7 0 R/Count 2>>",
            7: b"<</Title(Lamps)/Parent 6 0 R/Next 7 0 R/First 7 0 R/Last 7 0 R/Dest[3 0 R/Fit]>>",
        }
    )
    assert [type(block).__name__ for block in pdf.read(data, "tale").blocks] == ["Paragraph"]


@pytest.mark.parametrize(
    ("text", "scheme", "path"),
    [
        ("1 Lamps", "1", (1,)),
        ("2.3. Oil", "1", (2, 3)),
        ("IV. FOG", "I", (4,)),
        ("B. Storms", "A", (2,)),
        ("A.2 Boats", "A", (1, 2)),
        ("Chapter 3 Bells", "1", (3,)),
    ],
)
def test_numbers_of_headings_are_read(text: str, scheme: str, path: tuple[int, ...]) -> None:
    number = parse_number(text)
    assert number is not None
    assert (number.scheme, number.path) == (scheme, path)


@pytest.mark.parametrize("text", ["Lamps", "A lamp", "1952 was dark", "3 000 lamps", "I saw it"])
def test_what_is_no_number_of_a_heading_is_not_read_as_one(text: str) -> None:
    assert parse_number(text) is None


def test_letters_below_roman_numbers_are_the_second_level() -> None:
    roman, letter = parse_number("II. Lamps"), parse_number("B. Oil")
    assert roman is not None
    assert letter is not None
    assert (level_of(roman, {"I", "A"}), level_of(letter, {"I", "A"}), level_of(letter, {"1", "A"})) == (1, 2, 1)


def test_the_title_is_there_once() -> None:
    large = ParagraphStyle("title", STYLES["Title"])
    data = typeset_pdf([Paragraph("Of Lamps", large), body(TALE), Paragraph("Of Oil", large), body(TALE)])
    assert read_headings(data) == [(0, "Of Lamps"), (1, "Of Oil")]
