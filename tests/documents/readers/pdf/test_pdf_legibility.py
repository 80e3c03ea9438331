"""Pages whose text cannot be decoded, is garbled, or is a picture are named, counted, and read by OCR."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from inorder.documents.model import Paragraph
from inorder.documents.readers.pdf.pdfium import PdfPage
from inorder.documents.readers.pdf.reader import read
from inorder.documents.readers.pdf.render import OcrPage
from inorder.pipeline.remedies import describe_ocr
from inorder.serve.api.files import describe_file
from tests.documents.pdf_files import boxed_font, draw_pdf, encode_text, one_page
from tests.support.command_line import clean_environment
from tests.support.in_process import run_in_process

pytestmark = pytest.mark.req("SIL-1")

WORDS = "The keeper lights the lamp at dusk and winds the clock every hour of the night. " * 12
ALPHABET = "".join(sorted({*WORDS} - {" "}))
CID = b"<</Type/Font/Subtype/Type0/BaseFont/A+F/Encoding/Identity-H/DescendantFonts[8 0 R]>>"
CID_PARTS = {
    8: b"<</Type/Font/Subtype/CIDFontType2/BaseFont/A+F/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)"
    b"/Supplement 0>>/FontDescriptor 9 0 R/DW 500>>",
    9: b"<</Type/FontDescriptor/FontName/A+F/Flags 4/FontBBox[0 0 1000 1000]/ItalicAngle 0/Ascent 800/Descent -200"
    b"/CapHeight 700/StemV 80>>",
}
UNDECODED = "page 1 has text that cannot be decoded: its fonts do not say which characters they show"
GARBLED = "page 1 has garbled text: its fonts name other characters than they show"
PICTURE = "page 1 is an image with little text (a scanned page?)"


def set_lines(encode: Callable[[str], bytes], font: bytes, more: dict[int, bytes]) -> bytes:
    """The words on a page, 80 characters in a line."""
    lines = [encode(WORDS[start : start + 80]) for start in range(0, len(WORDS), 80)]
    return one_page(b"BT /F 10 Tf 12 TL 50 750 Td " + b" Tj T* ".join([*lines, b"ET"]), font=font, more=more)


def set_boxed(letters: str) -> bytes:
    """The words in a font whose table gives its glyphs these letters."""
    return set_lines(lambda line: encode_text(ALPHABET + " ", line), *boxed_font(letters + " "))


def set_without_table() -> bytes:
    """The words in a font that has no table."""
    font, more = boxed_font(ALPHABET + " ")
    return set_lines(lambda line: encode_text(ALPHABET + " ", line), font.replace(b"/ToUnicode 6 0 R", b""), more)


def encode_glyphs(line: str) -> bytes:
    return b"<" + b"".join(b"%04x" % (ord(letter) - 29) for letter in line) + b">"


def draw_scan(stamp: str) -> bytes:
    def draw(canvas: Canvas) -> None:
        canvas.drawImage(ImageReader(Image.new("RGB", (60, 80), "gray")), 0, 0, *canvas._pagesize)
        canvas.drawString(20, 20, stamp)

    return draw_pdf(draw)


UNREADABLE = {
    "replaced": (set_boxed("\ufffd" * len(ALPHABET)), UNDECODED),
    "private": (set_boxed("".join(map(chr, range(0xE000, 0xE000 + len(ALPHABET))))), UNDECODED),
    "controls": (set_boxed("".join(map(chr, range(1, 1 + len(ALPHABET))))), UNDECODED),
    "signs": (set_boxed("".join(map(chr, range(33, 33 + len(ALPHABET))))), GARBLED),
    "consonants": (set_boxed("bcdfghjklmnpqrstvwxzbcdfghjkl"[: len(ALPHABET)]), GARBLED),
    "no table": (set_without_table(), GARBLED),
    "glyph numbers": (set_lines(encode_glyphs, CID, CID_PARTS), GARBLED),
    "stamped scan": (draw_scan("Downloaded from the archive"), PICTURE),
}


class OneWord:
    """Recognizes the same word on every page."""

    def read_page(self, page: PdfPage) -> OcrPage:
        return OcrPage([Paragraph(page=page.number, text="recognized")], 0.9)


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_page_without_readable_text_is_named_and_read_by_ocr(name: str) -> None:
    content, warning = UNREADABLE[name]
    found = read(content, name)
    assert (found.warnings, [page.has_text for page in found.pages]) == ([warning], [False])
    recognized = read(content, name, recognizer=OneWord())
    assert [block.text for block in recognized.blocks if isinstance(block, Paragraph)] == ["recognized"]
    assert [page.is_ocr for page in recognized.pages] == [True]
    [said] = recognized.warnings
    assert said == f"{warning.removesuffix(' (a scanned page?)')} and was read by OCR (confidence 0.90)"


def test_a_page_that_has_lost_some_characters_says_how_many() -> None:
    [lost] = [place for place, letter in enumerate(ALPHABET) if letter == "g"]
    found = read(set_boxed(f"{ALPHABET[:lost]}\ufffd{ALPHABET[lost + 1 :]}"), "name")
    count, total = WORDS.count("g"), len(WORDS.replace(" ", ""))
    assert found.warnings == [f"page 1 has {count} characters of {total} that cannot be decoded"]
    assert found.pages[0].has_text


@pytest.mark.parametrize(
    "text",
    [
        WORDS,
        "$ (1,234.56) 12% + 3.50 | 7 8 9 " * 30,
        "if (a[i] == b) { c->d = *e & 0xff; } " * 30,
        "GATTACA CCTGAGATTC " * 30,
        "Prilis zlutoucky kun upel dabelske ody. Strc prst skrz krk. " * 30,
    ],
)
def test_numbers_code_and_odd_languages_are_not_garbled(text: str) -> None:
    shown = text[:2000].encode().replace(b"\\", b"").replace(b"(", b"\\(").replace(b")", b"\\)")
    found = read(one_page(b"BT /F 4 Tf 5 750 Td (" + shown + b") Tj ET"), "name")
    assert (found.warnings, found.pages[0].has_text) == ([], True)


def test_what_could_not_be_read_well_is_said_everywhere(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, content in {
        "garbled.pdf": UNREADABLE["signs"][0],
        "scan.pdf": UNREADABLE["stamped scan"][0],
        "good.md": b"# Lamps\n\nLit at dusk.\n",
        "long.eml": b"From: a@b.c\nX-Long: " + b"x" * 30_000 + b"\n\nA letter.\n",
    }.items():
        (docs / name).write_bytes(content)

    def call(*arguments: str) -> str:
        code, out, err = run_in_process(arguments, tmp_path, clean_environment())
        assert code == 0, err
        return out + err

    pages = f"2 pages without readable text in 2 files ({describe_ocr()})"
    kinds = [
        "1 file: a page has garbled text: its fonts name other characters than they show",
        "1 file: a page is an image with little text (a scanned page?)",
        "1 file: a header of more than N characters was left out",
    ]
    for _ in range(2):
        said = call("run", "docs", "--policy", "io", "--workers", "1")
        assert [each for each in (pages, *kinds) if each not in said] == []
    inspected = call("inspect")
    assert [each for each in (pages, *kinds) if each not in inspected] == []
    reported = json.dumps(json.loads(call("report", "--json")))
    assert [each for each in ("garbled text", "is an image", "was left out") if each not in reported] == []
    shown = describe_file(str(tmp_path / ".inorder"), "docs/garbled.pdf")
    assert shown is not None
    assert shown.lost == ["1 of 1 pages without readable text", GARBLED]
    assert shown.help == describe_ocr()
