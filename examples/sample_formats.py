"""The formats of the sample documents: how blocks of text become PDFs, web pages and Word files.

Nothing is compressed and nothing carries a time, so that everything comes out the same bytes on each machine.
"""

import io
import zipfile
from html import escape
from itertools import groupby
from typing import Any, NamedTuple

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    ListFlowable,
    PageTemplate,
    Paragraph,
    Preformatted,
    TableStyle,
)
from reportlab.platypus import Table as Grid

WIDTH, HEIGHT = A4
MARGIN, GUTTER = 56.0, 18.0
RULES = TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black), ("FONTNAME", (0, 0), (-1, 0), "Helvetica-Bold")])

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
CONTENT = "application/vnd.openxmlformats-officedocument.wordprocessingml"
TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/word/document.xml" ContentType="{CONTENT}.document.main+xml"/>'
    f'<Override PartName="/word/styles.xml" ContentType="{CONTENT}.styles+xml"/>'
    f'<Override PartName="/word/numbering.xml" ContentType="{CONTENT}.numbering+xml"/></Types>'
)
STYLES = (
    "<w:style w:type='paragraph' w:styleId='Title'><w:name w:val='Title'/></w:style>"
    "<w:style w:type='paragraph' w:styleId='Heading1'><w:name w:val='heading 1'/></w:style>"
)
BULLETS = (
    "<w:abstractNum w:abstractNumId='0'><w:lvl w:ilvl='0'><w:numFmt w:val='bullet'/><w:lvlText w:val='•'/></w:lvl>"
    "</w:abstractNum><w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num>"
)

Row = list[str]


class Block(NamedTuple):
    """A piece of a source."""

    kind: str
    """title, heading, text, item, table or code"""
    text: str = ""
    rows: tuple[Row, ...] = ()

    @property
    def words(self) -> list[str]:
        """In reading order."""
        return " ".join([self.text, *(cell for row in self.rows for cell in row)]).split()


def flowables(blocks: list[Block], font: str = "Helvetica") -> list[Flowable]:
    """Blocks as they are set on the pages of a PDF."""
    is_latin = font == "Helvetica"
    base = ParagraphStyle(
        "text", fontName=font, fontSize=10, leading=12.5, spaceAfter=6, wordWrap=None if is_latin else "CJK"
    )
    bold = f"{font}-Bold" if is_latin else font
    heading = ParagraphStyle("heading", base, fontName=bold, fontSize=13, leading=16, spaceBefore=8)
    title = ParagraphStyle("title", heading, fontSize=20, leading=24, spaceAfter=12)
    styles = {"title": title, "heading": heading, "text": base}
    found: list[Flowable] = []
    for block in blocks:
        if block.kind == "table":
            found.append(Grid([list(row) for row in block.rows], style=RULES, spaceBefore=4, spaceAfter=10))
        elif block.kind == "code":
            found.append(Preformatted(block.text, ParagraphStyle("code", base, fontName="Courier")))
        elif block.kind == "item":
            found.append(ListFlowable([Paragraph(block.text, base)], bulletType="bullet", start="•", bulletFontSize=10))
        else:
            found.append(Paragraph(block.text, styles[block.kind]))
    return found


class Scan(Flowable):
    """A page that is nothing but a picture of writing: dark strokes on white, one bit for each dot."""

    ACROSS, DOWN = 104, 140

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        return width, height

    def draw(self) -> None:
        rows = [self._row(row) for row in range(self.DOWN)]
        picture = f"BI /W {self.ACROSS} /H {self.DOWN} /BPC 1 /CS /G /F /AHx ID {''.join(rows)}> EI"
        self.canv.addLiteral(f"q 450 0 0 600 0 50 cm {picture} Q")

    def _row(self, row: int) -> str:
        is_written = row % 7 in (2, 3, 4) and 8 < row < 128
        dots = [is_written and 10 < x < 92 - row * 13 % 29 and (x * 7 + row * 3) % 11 > 4 for x in range(self.ACROSS)]
        bits = "".join("0" if dot else "1" for dot in dots)
        return f"{int(bits, 2):0{self.ACROSS // 4}x}"


def pdf(parts: list[Flowable], columns: int = 1, edges: str = "", lock: StandardEncryption | None = None) -> bytes:
    """A PDF, in columns, with a header and page numbers if it is given one."""

    def on_page(canvas: Canvas, _: Any) -> None:
        if edges:
            canvas.setFont("Helvetica", 8)
            canvas.drawString(MARGIN, HEIGHT - 32, edges)
            canvas.drawRightString(WIDTH - MARGIN, 28, f"Page {canvas.getPageNumber()}")

    packed = io.BytesIO()
    width = (WIDTH - 2 * MARGIN - (columns - 1) * GUTTER) / columns
    places = [MARGIN + column * (width + GUTTER) for column in range(columns)]
    frames = [Frame(place, MARGIN, width, HEIGHT - 2 * MARGIN, 0, 0, 0, 0) for place in places]
    template = PageTemplate("page", frames, onPage=on_page)
    document = BaseDocTemplate(
        packed, pagesize=A4, pageTemplates=[template], invariant=1, pageCompression=0, encrypt=lock
    )
    document.build(parts)
    return packed.getvalue()


def html(blocks: list[Block], attributes: str = 'lang="en"') -> bytes:
    """A web page, with the frame that pages have and a reader must leave out."""
    parts: list[str] = []
    for is_list, group in groupby(blocks, lambda block: block.kind == "item"):
        elements = "\n".join(map(_element, group))
        parts.append(f"<ul>\n{elements}\n</ul>" if is_list else elements)
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html {attributes}>\n<head><meta charset="utf-8"><title>{escape(blocks[0].text)}</title>\n'
        "<style>body { max-width: 40em }</style><script>var visits = 1;</script></head>\n<body>\n"
        '<nav><a href="index.html">Home</a> <a href="tariffs.html">Tariffs</a></nav>\n'
        f"<main>\n{body}\n</main>\n</body>\n</html>\n"
    ).encode()


def _element(block: Block) -> str:
    if block.kind == "table":
        head, *rows = [[f"<td>{escape(cell)}</td>" for cell in row] for row in block.rows]
        body = "".join(f"<tr>{''.join(row)}</tr>\n" for row in rows)
        return (
            f"<table>\n<thead><tr>{''.join(head).replace('td>', 'th>')}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>"
        )
    if block.kind == "code":
        return f"<pre><code>{escape(block.text)}</code></pre>"
    tag = {"title": "h1", "heading": "h2", "text": "p", "item": "li"}[block.kind]
    return f"<{tag}>{escape(block.text)}</{tag}>"


def docx(blocks: list[Block], *, to_the_left: bool = False) -> bytes:
    """A Word file."""
    direction = "<w:bidi/>" if to_the_left else ""
    looks = {
        "title": "<w:pStyle w:val='Title'/>",
        "heading": "<w:pStyle w:val='Heading1'/>",
        "item": "<w:numPr><w:ilvl w:val='0'/><w:numId w:val='1'/></w:numPr>",
    }

    def paragraph(text: str, look: str = "") -> str:
        return f"<w:p><w:pPr>{look}{direction}</w:pPr><w:r><w:t xml:space='preserve'>{escape(text)}</w:t></w:r></w:p>"

    def table(rows: tuple[Row, ...]) -> str:
        return "".join(f"<w:tr>{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in row)}</w:tr>" for row in rows)

    body = "".join(
        f"<w:tbl>{table(block.rows)}</w:tbl>" if block.rows else paragraph(block.text, looks.get(block.kind, ""))
        for block in blocks
    )
    parts = {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": _relations({"officeDocument": "word/document.xml"}),
        "word/_rels/document.xml.rels": _relations({"styles": "styles.xml", "numbering": "numbering.xml"}),
        "word/document.xml": f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>',
        "word/styles.xml": f'<w:styles xmlns:w="{WORD}">{STYLES}</w:styles>',
        "word/numbering.xml": f'<w:numbering xmlns:w="{WORD}">{BULLETS}</w:numbering>',
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), '<?xml version="1.0" encoding="UTF-8"?>' + content)
    return packed.getvalue()


def _relations(targets: dict[str, str]) -> str:
    relations = "".join(
        f'<Relationship Id="{kind}" Type="{OFFICE}/{kind}" Target="{target}"/>' for kind, target in targets.items()
    )
    return f'<Relationships xmlns="{RELATIONS}">{relations}</Relationships>'
