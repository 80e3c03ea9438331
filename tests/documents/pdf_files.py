"""PDFs for the tests: drawn with a library, set as a story, or written down byte by byte."""

import io
import zlib
from collections.abc import Callable, Sequence

from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Flowable, Frame, PageTemplate, Paragraph

WIDTH, HEIGHT = A4
MARGIN = 60.0
GUTTER = 20.0
STYLES = getSampleStyleSheet()

Draw = Callable[[Canvas], None]


def draw_pdf(*pages: Draw, encrypt: object = None) -> bytes:
    """A PDF with these pages, each drawn by a function."""
    packed = io.BytesIO()
    canvas = Canvas(packed, pagesize=A4, invariant=1, encrypt=encrypt)
    for draw in pages:
        draw(canvas)
        canvas.showPage()
    canvas.save()
    return packed.getvalue()


def draw_lines(*texts: str, x: float = MARGIN, top: float = 100.0, size: float = 10.0, font: str = "Helvetica") -> Draw:
    """Lines of text below one another; `top` counts from the upper edge."""

    def draw(canvas: Canvas) -> None:
        canvas.setFont(font, size)
        for index, text in enumerate(texts):
            canvas.drawString(x, HEIGHT - top - index * 1.2 * size, text)

    return draw


def draw_together(*draws: Draw) -> Draw:
    """Several things on one page."""

    def draw(canvas: Canvas) -> None:
        for each in draws:
            each(canvas)

    return draw


def typeset_pdf(flowables: Sequence[Flowable], columns: int = 1, on_page: Draw | None = None) -> bytes:
    """A PDF set from paragraphs and tables, in one column or more."""
    packed = io.BytesIO()
    width = (WIDTH - 2 * MARGIN - (columns - 1) * GUTTER) / columns
    frames = [
        Frame(MARGIN + index * (width + GUTTER), MARGIN, width, HEIGHT - 2 * MARGIN, 0, 0, 0, 0)
        for index in range(columns)
    ]
    template = PageTemplate("page", frames, onPage=lambda canvas, _: on_page(canvas) if on_page else None)
    BaseDocTemplate(packed, pagesize=A4, pageTemplates=[template], invariant=1).build(list(flowables))
    return packed.getvalue()


def body(text: str, **looks: object) -> Paragraph:
    """Running text."""
    return Paragraph(text, ParagraphStyle("body", STYLES["BodyText"], **looks))


def heading(text: str, level: int = 1) -> Paragraph:
    return Paragraph(text, STYLES[f"Heading{level}"])


def raw_pdf(objects: dict[int, bytes], trailer: bytes = b"/Root 1 0 R") -> bytes:
    """A PDF of these objects, with a table that says where they stand."""
    data = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
    places = {}
    for number, content in objects.items():
        places[number] = len(data)
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = len(data)
    data += b"xref\n0 1\n0000000000 65535 f \n"
    for number, place in places.items():
        data += b"%d 1\n%010d 00000 n \n" % (number, place)
    size = max(objects, default=0) + 1
    return data + b"trailer\n<</Size %d %s>>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, table)


def stream(content: bytes, entries: bytes = b"") -> bytes:
    return b"<</Length %d %s>>\nstream\n%s\nendstream" % (len(content), entries, content)


def one_page(content: bytes, page: bytes = b"", font: bytes = b"", more: dict[int, bytes] | None = None) -> bytes:
    """A PDF with one page of this content, which may use the font /F."""
    font = font or b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    objects = {
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>%s>>" % page,
        4: stream(content),
        5: font,
        **(more or {}),
    }
    return raw_pdf(objects)


def pdf_with_attachments(files: dict[str, bytes], text: bytes = b"See the files.") -> bytes:
    """A PDF of one page with files attached to it."""
    names, more = b"", {}
    for number, (name, content) in enumerate(files.items()):
        spec, data = 10 + 2 * number, 11 + 2 * number
        names += b"(%s) %d 0 R " % (name.encode(), spec)
        more[spec] = b"<</Type/Filespec/F(%s)/UF(%s)/EF<</F %d 0 R>>>>" % (name.encode(), name.encode(), data)
        more[data] = stream(zlib.compress(content, 9), b"/Type/EmbeddedFile/Filter/FlateDecode")
    objects = {
        1: b"<</Type/Catalog/Pages 2 0 R/Names<</EmbeddedFiles<</Names[%s]>>>>>>" % names,
        2: b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        4: stream(b"BT /F 12 Tf 60 700 Td (%s) Tj ET" % text),
        5: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        **more,
    }
    return raw_pdf(objects)


def boxed_font(alphabet: str) -> tuple[bytes, dict[int, bytes]]:
    """A font that draws boxes, whose codes from 33 on stand for the letters of this alphabet; and what it needs."""
    codes = range(33, 33 + len(alphabet))
    mapping = "".join(
        f"<{code:02x}> <{letter.encode('utf-16-be').hex()}>\n" for code, letter in zip(codes, alphabet, strict=True)
    )
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def\n"
        f"1 begincodespacerange <00> <ff> endcodespacerange\n{len(alphabet)} beginbfchar\n{mapping}endbfchar\n"
        "endcmap end end"
    )
    names = " ".join(f"/g{code}" for code in codes)
    shapes = " ".join(f"/g{code} 7 0 R" for code in codes)
    widths = " ".join(["600"] * len(alphabet))
    font = (
        f"<</Type/Font/Subtype/Type3/FontBBox[0 0 600 700]/FontMatrix[.001 0 0 .001 0 0]/FirstChar 33"
        f"/LastChar {codes[-1]}/Widths[{widths}]/CharProcs<<{shapes}>>/Encoding<</Type/Encoding"
        f"/Differences[33 {names}]>>/ToUnicode 6 0 R/Resources<<>>>>"
    )
    return font.encode(), {6: stream(cmap.encode()), 7: stream(b"600 0 0 0 600 700 d1 80 0 440 600 re f")}


def encode_text(alphabet: str, text: str) -> bytes:
    """Text in such a font as a string of a PDF, drawn from left to right as it stands."""
    return b"(%s)" % bytes(33 + alphabet.index(letter) for letter in text).replace(b"\\", b"\\\\").replace(
        b"(", b"\\("
    ).replace(b")", b"\\)")
