"""Sets PDFs and keeps what they say: text in reading order, headings, tables, code, furniture."""

import io
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    PageTemplate,
    Paragraph,
    Preformatted,
    Spacer,
    Table,
    TableStyle,
)

from .scores import Content, Grid, GridCell, Heading

WIDTH, HEIGHT = A4
MARGIN = 64.0
WORDS = """
lamp keeper lighthouse rota signal harbour tide crew storm lens beam watch paint ladder tower island ferry supply
chart weather evening morning method result sample measure estimate observation model error variance section reports
between through against before after without during every second light water stone iron glass the a of and to in is
that for it was on are with as they be at one have this from or had by
""".split()  # noqa: SIM905
BODY = ParagraphStyle("body", fontName="Times-Roman", fontSize=10, leading=12, spaceAfter=6)
Draw = Callable[[Canvas], None]
Style = list[tuple[Any, ...]]


class Made(NamedTuple):
    """A document and what it says."""

    kind: str
    data: bytes
    content: Content


class Story:
    """Sets a document, and keeps what it says in reading order."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.flowables: list[Flowable] = []
        self.parts: list[str] = []
        self.headings: list[Heading] = []
        self.tables: list[Grid] = []
        self.code: list[str] = []
        self.furniture: list[str] = []

    def words(self, count: int) -> str:
        return " ".join(self.chance.choice(WORDS) for _ in range(count))

    def sentence(self, least: int = 6, most: int = 18) -> str:
        return f"{self.words(self.chance.randint(least, most)).capitalize()}."

    def prose(self, sentences: int = 5) -> str:
        return " ".join(self.sentence() for _ in range(sentences))

    def paragraph(self, sentences: int = 5, text: str = "", **looks: Any) -> None:
        text = text or self.prose(sentences)
        self.parts.append(text)
        self.flowables.append(Paragraph(text, ParagraphStyle("p", BODY, **looks)))

    def heading(self, level: int, text: str, markup: str = "", outline: bool = False, **looks: Any) -> None:
        self.parts.append(text)
        self.headings.append((level, text))
        looks = {"spaceBefore": 10, "spaceAfter": 4, "keepWithNext": 1, **looks}
        looks.setdefault("leading", 1.2 * looks.get("fontSize", 10))
        style = ParagraphStyle("h", BODY, **looks)
        self.flowables.append(
            _Bookmarked(markup or text, style, level, text) if outline else Paragraph(markup or text, style)
        )

    def title(self, text: str) -> None:
        self.heading(0, text, fontName="Times-Bold", fontSize=18, alignment=1, spaceAfter=14)

    def table(
        self, rows: Sequence[Sequence[str]], style: Style, spans: Sequence[tuple[int, ...]] = (), **how: Any
    ) -> None:
        """A table. Spans are left, top, right and bottom, inclusive."""
        grid = make_grid(rows, spans)
        self.tables.append(grid)
        self.parts += [cell.text for cell in grid if cell.text]
        commands = [("FONTNAME", (0, 0), (-1, -1), "Times-Roman"), ("FONTSIZE", (0, 0), (-1, -1), 9), *style]
        commands += [("SPAN", (left, top), (right, bottom)) for left, top, right, bottom in spans]
        self.flowables += [
            Spacer(1, 8),
            Table([list(row) for row in rows], style=TableStyle(commands), **how),
            Spacer(1, 8),
        ]

    def listing(self, lines: Sequence[str]) -> None:
        self.code.append("\n".join(lines))
        self.parts.append("\n".join(lines))
        style = ParagraphStyle("code", fontName="Courier", fontSize=9, leading=11, spaceBefore=6, spaceAfter=6)
        self.flowables.append(Preformatted("\n".join(lines), style))

    def make(self, kind: str, on_page: Draw | None = None, columns: Sequence[float] = (1.0,)) -> Made:
        """The document. `columns` are the widths of the columns, as shares of the width of the text."""
        packed = io.BytesIO()
        gutter = 18.0
        room = WIDTH - 2 * MARGIN - (len(columns) - 1) * gutter
        frames, left = [], MARGIN
        for share in columns:
            frames.append(Frame(left, MARGIN, share * room, HEIGHT - 2 * MARGIN, 0, 0, 0, 0))
            left += share * room + gutter
        template = PageTemplate("page", frames, onPage=lambda canvas, _: on_page(canvas) if on_page else None)
        BaseDocTemplate(packed, pagesize=A4, pageTemplates=[template], invariant=1).build(self.flowables)
        content = Content(" ".join(self.parts), self.headings, self.tables, self.code, self.furniture)
        return Made(kind, packed.getvalue(), content)


class _Bookmarked(Paragraph):
    """A paragraph with an entry in the outline of the PDF."""

    def __init__(self, markup: str, style: ParagraphStyle, level: int, title: str) -> None:
        super().__init__(markup, style)
        self._level, self._title = level, title

    def draw(self) -> None:
        key = f"{self._title}-{id(self)}"
        self.canv.bookmarkHorizontal(key, 0, self.height)
        self.canv.addOutlineEntry(self._title, key, max(0, self._level - 1))
        super().draw()


def make_grid(rows: Sequence[Sequence[str]], spans: Sequence[tuple[int, ...]]) -> Grid:
    """The cells of a table. Spans are left, top, right and bottom, inclusive."""
    covered = {
        (row, column)
        for left, top, right, bottom in spans
        for row in range(top, bottom + 1)
        for column in range(left, right + 1)
    }
    starts = {(top, left): (bottom - top + 1, right - left + 1) for left, top, right, bottom in spans}
    return [
        GridCell(" ".join(text.split()), row, column, *starts.get((row, column), (1, 1)))
        for row, texts in enumerate(rows)
        for column, text in enumerate(texts)
        if (row, column) in starts or (row, column) not in covered
    ]
