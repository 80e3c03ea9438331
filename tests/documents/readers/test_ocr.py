"""Pages without a text layer, read by OCR: what is recognised becomes text like any other, and says how it was read."""

import io
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

import inorder
from inorder.documents.convert.settings import ConvertSettings, require_readers, settings_of
from inorder.documents.model import AnyBlock, Document, Heading, ListItem, Paragraph, Table
from inorder.documents.readers import registry
from inorder.documents.readers.ocr import reader as ocr
from inorder.documents.readers.ocr.blocks import OcrLine, build_blocks
from inorder.documents.readers.ocr.rules import find_rules
from inorder.documents.readers.pdf import reader as pdf
from inorder.documents.readers.pdf.pdfium import HANDLES, open_pdf
from inorder.documents.readers.pdf.render import SIDE_PIXELS_MAX, render_page
from inorder.documents.readers.pdf.segments import Graphics, PageText, Segment
from inorder.errors import OperatorError
from inorder.files import optional_deps
from tests.documents.pdf_files import Draw
from tests.documents.stage_runs import StageRuns

pytestmark = pytest.mark.req("DOC-1")

WIDTH, HEIGHT = 360, 160
PIXELS_PER_POINT = 3
LAMP = ("The keeper lights the lamp at dusk, and notes the", "hour in the book before he goes to bed.")
SCHOONER = ("A Danish schooner stood too close to the reef in", "thick snow and was turned away by rockets.")


def scan(canvas: Canvas) -> None:
    """A picture of two paragraphs, the first of them 40 points from the left and 30 from the top."""
    picture = Image.new("RGB", (WIDTH * PIXELS_PER_POINT, HEIGHT * PIXELS_PER_POINT), "white")
    pen = ImageDraw.Draw(picture)
    for top, line in zip((30, 46, 82, 98), LAMP + SCHOONER, strict=True):
        place = 40 * PIXELS_PER_POINT, top * PIXELS_PER_POINT
        pen.text(place, line, fill="black", font=ImageFont.load_default(12 * PIXELS_PER_POINT))
    canvas.drawImage(ImageReader(picture), 0, 0, WIDTH, HEIGHT)


def marks(canvas: Canvas) -> None:
    """Lines of marks that are no letters, like a page of the sample."""
    for line in range(4):
        for place in range(90):
            if (place * 7 + line) % 3 != place * place % 5 % 2:
                canvas.rect(40 + 3 * place, 120 - 25 * line + place * 5 % 3 * 3, 3, 3, fill=1)


def draw_typed_page(canvas: Canvas) -> None:
    """Text, and a coloured stamp with which the file is large enough to be read in parts."""
    canvas.drawString(40, 100, "This page was typed and needs no help.")
    stamp = Image.frombytes("RGB", (320, 320), Random(0).randbytes(3 * 320 * 320))
    canvas.drawImage(ImageReader(stamp), 40, 20, 10, 10)


def pdf_of(*pages: Draw) -> bytes:
    written = io.BytesIO()
    canvas = Canvas(written, pagesize=(WIDTH, HEIGHT), invariant=1)
    for draw in pages:
        draw(canvas)
        canvas.showPage()
    canvas.save()
    return written.getvalue()


@pytest.fixture(scope="module")
def log() -> Document:
    skip_without_ocr()
    return pdf.read(pdf_of(draw_typed_page, scan), "log", recognizer=ocr.Recognizer())


def skip_without_ocr() -> None:
    pytest.importorskip("rapidocr", reason="the extra ocr is not installed")
    pytest.importorskip("onnxruntime", reason="the extra ocr is not installed")


def test_a_scanned_page_becomes_paragraphs_with_their_places(log: Document) -> None:
    _, lamp, schooner = log.blocks
    assert isinstance(lamp, Paragraph)
    assert isinstance(schooner, Paragraph)
    assert (lamp.text, schooner.text) == (" ".join(LAMP), " ".join(SCHOONER))
    assert (lamp.page, schooner.page) == (2, 2)
    assert lamp.box == pytest.approx((40, 30, 310, 60), abs=12)
    assert schooner.box == pytest.approx((40, 82, 300, 112), abs=12)


def test_the_page_and_its_warning_say_that_it_was_read_by_ocr(log: Document) -> None:
    assert [(page.has_text, page.is_ocr) for page in log.pages] == [(True, False), (False, True)]
    [warning] = log.warnings
    words, _, confidence = warning.rstrip(")").rpartition(" ")
    assert words == "page 2 has no text layer and was read by OCR (confidence"
    assert 0.9 <= float(confidence) <= 1
    assert registry.ocr_version() in log.reader


def test_read_in_parts_a_scanned_page_is_the_same(log: Document) -> None:
    data = pdf_of(draw_typed_page, scan)
    stats = pdf.collect_stats(data)
    parts = [
        pdf.read(data, "log", first_page=page, last_page=page, stats=stats, recognizer=ocr.Recognizer())
        for page in (1, 2)
    ]
    assert pdf.merge(parts) == log
    assert HANDLES.open == 0


def test_a_page_of_marks_that_are_no_text_is_still_a_page_without_text() -> None:
    skip_without_ocr()
    document = pdf.read(pdf_of(marks), "marks", recognizer=ocr.Recognizer())
    assert document.warnings == ["page 1 has no text layer (a scanned page?)"]
    assert not document.pages[0].is_ocr
    assert document.blocks == []


@pytest.mark.slow
def test_pages_with_text_and_empty_pages_are_not_recognised() -> None:
    recognizer = ocr.Recognizer(lambda: pytest.fail("a page was recognised"))
    document = pdf.read(pdf_of(draw_typed_page, lambda canvas: None), "typed", recognizer=recognizer)
    assert document.warnings == ["page 2 is empty"]


@pytest.mark.parametrize("size", [(14_000, 14_000), (100_000, 20)])
def test_the_picture_of_a_page_is_bounded_whatever_the_page_claims(size: tuple[int, int]) -> None:
    written = io.BytesIO()
    canvas = Canvas(written, pagesize=size, invariant=1)
    canvas.rect(0, 0, 10, 10)
    canvas.save()
    with open_pdf(written.getvalue()) as file, file.page(1) as page:
        assert page is not None
        pixels, _ = render_page(page)
    assert max(pixels.shape[:2]) == SIDE_PIXELS_MAX


def lines(*texts: str, left: float = 40, top: float = 30, heights: Sequence[float] = (14, 12, 16, 13)) -> list[Segment]:
    """Lines 16 points apart whose heights differ as in a picture; an empty text leaves room."""
    return [
        Segment(text, left, top + 16 * index, left + 5.0 * len(text), top + 16 * index + height, height)
        for index, text in enumerate(texts)
        if text and (height := heights[index % len(heights)])
    ]


def blocks_of(segments: Sequence[Segment], unsure: str = "", rules: Graphics | None = None) -> list[AnyBlock]:
    """The blocks of lines; those that contain a word are unsure."""
    found = [OcrLine(line, 0.6 if unsure and unsure in line.text else 0.98) for line in segments]
    return build_blocks(found, PageText(number=1, width=600, height=800, graphics=rules))


def texts_of(segments: Sequence[Segment]) -> list[str]:
    return [block.text for block in blocks_of(segments) if isinstance(block, Paragraph | ListItem)]


def cells_of(blocks: Sequence[AnyBlock]) -> list[list[str]]:
    (table,) = [block for block in blocks if isinstance(block, Table)]
    return [[cell.text for cell in table.cells if cell.row == row] for row in range(table.rows)]


def test_lines_of_different_heights_are_one_paragraph_and_a_gap_ends_it() -> None:
    assert texts_of(lines(*LAMP, "", *SCHOONER)) == [" ".join(LAMP), " ".join(SCHOONER)]


def test_a_word_broken_at_the_end_of_a_line_is_put_together() -> None:
    assert texts_of(lines("The keeper lights the lamp, and the schoo-", "ner turns away from the reef.")) == [
        "The keeper lights the lamp, and the schooner turns away from the reef."
    ]


def test_lines_that_are_much_higher_are_headings_by_their_size() -> None:
    title, section = Segment("Log of the Light", 40, 4, 300, 34, 30), Segment("Storms", 40, 84, 120, 105, 21)
    found = blocks_of([title, *lines(*LAMP, top=44), section, *lines(*SCHOONER, top=120)])
    assert [(block.level, block.text) for block in found if isinstance(block, Heading)] == [
        (1, "Log of the Light"),
        (2, "Storms"),
    ]


def test_a_line_by_itself_with_the_number_of_a_section_is_a_heading() -> None:
    found = blocks_of(lines("3.1 Lamps and Lenses", "", *LAMP, "", "12 boxes were left."))
    assert [(block.level, block.text) for block in found if isinstance(block, Heading)] == [(2, "3.1 Lamps and Lenses")]


def test_text_that_is_not_sure_is_kept_and_marked() -> None:
    found = blocks_of(lines(*LAMP, "", *SCHOONER), unsure="schooner")
    assert [(block.text, block.source) for block in found if isinstance(block, Paragraph)] == [
        (" ".join(LAMP), ""),
        (" ".join(SCHOONER), "unsure"),
    ]


def test_three_columns_are_read_one_after_the_other() -> None:
    columns = [lines(*LAMP, *SCHOONER, f"End of column {at}", left=40 + 280 * at) for at in range(3)]
    by_height = sorted([line for column in columns for line in column], key=lambda line: line.top)
    found = " ".join(texts_of(by_height))
    assert found == " ".join([line.text for column in columns for line in column])


def test_a_table_is_found_by_its_rules() -> None:
    """The second row has two lines in one of its cells."""
    names, amounts = lines("Diesel oil", "Wicks", "of cotton"), lines("120 litres", "12 boxes", left=340)
    places = (26.0, 45.0, 80.0)
    rules = Graphics([(y, 35.0, 500.0) for y in places], [(x, 26.0, 80.0) for x in (35.0, 330.0, 500.0)])
    by_height = sorted([*names, *amounts], key=lambda line: line.top)
    assert cells_of(blocks_of(by_height, rules=rules)) == [
        ["Diesel oil", "120 litres"],
        ["Wicks of cotton", "12 boxes"],
    ]


def test_rules_are_long_thin_and_dark() -> None:
    pixels = np.full((300, 400, 3), 255, np.uint8)
    pixels[50:52, 20:380] = pixels[50:250, 20:22] = 0  # rules
    pixels[100:160, 200:380] = 60  # a picture
    pixels[200:202, 100:130] = 0  # a dash
    found = find_rules(pixels, 2.0)
    assert [tuple(map(round, rule)) for rule in found.across] == [(25, 10, 190)]
    assert [tuple(map(round, rule)) for rule in found.down] == [(10, 25, 125)]


def test_columns_are_read_one_after_the_other() -> None:
    """Also where many lines are short, and one was found together with its neighbour."""
    left = lines(*LAMP, "Oil", "Stores", *LAMP, "Fog", "Brass", "Lamps")
    right = lines(*SCHOONER, "Storms", "Rockets", *SCHOONER, "Wind", "Snow", left=340)
    both = Segment("Page 1, and what was found as one line", 40, 200, 560, 214, 14)
    by_height = sorted([*left, *right, both], key=lambda line: line.top)
    found = " ".join(texts_of(by_height))
    assert found == " ".join([line.text for line in [*left, *right, both]])


def test_aligned_cells_are_a_table() -> None:
    left = lines("Diesel oil", "Paraffin", "Wicks", "Spare lamps", "Polish")
    right = lines("120 litres", "40 litres", "12 boxes", "3 pieces", "2 tins", left=340)
    by_height = sorted(left + right, key=lambda line: line.top)
    rows = [[name.text, amount.text] for name, amount in zip(left, right, strict=True)]
    assert cells_of(blocks_of(by_height)) == rows


def test_through_the_stage_long_pdfs_are_read_too_and_pages_are_counted(tmp_path: Path) -> None:
    skip_without_ocr()
    runs = StageRuns(tmp_path)
    (runs.docs / "log.pdf").write_bytes(pdf_of(draw_typed_page, scan))
    runs.doctags(ocr=True, split_pages=1)
    [row] = runs.rows("doctags").values()
    assert (row["pages"], row["pages_ocr"], row["pages_without_text"]) == (2, 1, 0)
    assert "read by OCR" in row["warnings"][0]
    assert SCHOONER[0] in inorder.open(runs.data).get("docs/log.pdf").doctags
    outcome = runs.doctags()
    assert (outcome.pages_without_text, outcome.files_without_text) == (1, 1)
    [row] = runs.rows("doctags").values()
    assert (row["pages_ocr"], row["pages_without_text"]) == (0, 1)


def test_only_pdfs_depend_on_ocr_and_on_its_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optional_deps, "find_spec", lambda module: module)
    found = {kind: [settings_of(ConvertSettings(), kind)] for kind in ("pdf", "markdown")}
    for number in ("1", "2"):
        monkeypatch.setattr(registry, "find_version", lambda package, number=number: number)
        registry.ocr_version.cache_clear()
        for kind, settings in found.items():
            settings.append(settings_of(ConvertSettings(ocr=True), kind))
    registry.ocr_version.cache_clear()
    assert len({repr(each) for each in found["pdf"]}) == 3
    assert len({repr(each) for each in found["markdown"]}) == 1


@pytest.mark.parametrize("missing", ["rapidocr", "onnxruntime"])
def test_without_its_packages_a_run_is_refused_and_says_what_to_install(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optional_deps, "find_spec", lambda module: None if module == missing else module)
    with pytest.raises(OperatorError, match=rf"^--ocr needs the package {missing}: pip install 'inorder\[ocr\]'$"):
        require_readers(ConvertSettings(ocr=True))
