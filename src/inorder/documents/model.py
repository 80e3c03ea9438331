"""The document model: what every reader returns, and every writer takes.

A document is a list of blocks in reading order. Blocks are plain structs that are cheap to create: a book has
thousands. Their text is normalised Unicode, without line breaks inside a paragraph and without hyphenation. The model
knows nothing of files, of pages as images, or of DocTags.
"""

from typing import Literal

import msgspec

Box = tuple[float, float, float, float]
"""Left, top, right and bottom in points, from the top left corner of the page."""


Link = tuple[str, str]
"""Text and target."""

SpanKind = Literal["bold", "italic", "code", "formula", "footnote"]
Span = tuple[SpanKind, int, int]
"""What a part of a text is, and where it begins and ends in it. A formula is LaTeX; a footnote is the number or name of
one, in brackets."""


class Block(msgspec.Struct, kw_only=True, gc=False, omit_defaults=True):
    """Base of all blocks: where a block is on its page, and its links."""

    page: int | None = None
    """Counted from 1; None if the format has no pages."""
    box: Box | None = None
    links: list[Link] = []
    """The links in the text, in its order. Those of a table are with its cells."""
    spans: list[Span] = []
    """Emphasis and other marked parts of the text, by where they begin. Those of a table are with its cells."""


class Title(Block, tag="title"):
    """The title of the whole document.

    >>> Title(text="Lamps").text
    'Lamps'
    """

    text: str


class Heading(Block, tag="heading"):
    """The title of a section.

    >>> Heading(text="Oil", level=1).level
    1
    """

    text: str
    level: int
    """Counted from 1. The title of the document is not a heading."""


class Paragraph(Block, tag="paragraph"):
    """Running text.

    >>> Paragraph(text="See the log.", links=[("the log", "https://log.example")]).text
    'See the log.'
    """

    text: str
    source: Literal["", "field", "note", "stamp", "footnote", "unsure", "figure"] = ""
    """What it is if it is not running text: the value of a form field, a comment, a note or free text, a stamp, a
    footnote, which begins with its number or name in brackets if the document has one, text of which recognition was
    not sure, or the labels of a figure."""


class ListItem(Block, tag="list_item"):
    """One item of a list. Consecutive items form a list.

    >>> ListItem(text="Trim the wick.", ordered=True, marker="1.").depth
    0
    """

    text: str
    depth: int = 0
    """0 in the outermost list."""
    ordered: bool = False
    marker: str = "-"


class Code(Block, tag="code"):
    """Source code or other preformatted text: every space and line break counts.

    >>> Code(text="light()", language="python").language
    'python'
    """

    text: str
    language: str = ""


class Cell(msgspec.Struct, gc=False, omit_defaults=True):
    """One cell of a table.

    >>> Cell("oil", row=0, column=1).rows
    1
    """

    text: str
    row: int
    column: int
    rows: int = 1
    columns: int = 1
    """How many rows and columns the cell spans."""
    is_header: bool = False
    links: tuple[Link, ...] = ()
    spans: tuple[Span, ...] = ()


class Table(Block, tag="table"):
    """Cells on a grid. At most one cell covers each position of the grid.

    >>> len(Table(rows=1, columns=2, cells=[Cell("oil", 0, 0), Cell("4 l", 0, 1)]).cells)
    2
    """

    rows: int
    columns: int
    cells: list[Cell]
    caption: str = ""


class Picture(Block, tag="picture"):
    """A figure. Only its caption is kept.

    >>> Picture(caption="The lens").caption
    'The lens'
    """

    caption: str = ""


class Formula(Block, tag="formula"):
    """A formula: LaTeX where the source has LaTeX or Office Math, else the text of the source.

    >>> Formula(text="E = mc^2").text
    'E = mc^2'
    """

    text: str


class Furniture(Block, tag="furniture"):
    """Page furniture: headers, footers, page numbers. It is written to the document, but not to chunks.

    >>> Furniture(text="7", kind="footer").kind
    'footer'
    """

    text: str
    kind: Literal["header", "footer"]


AnyBlock = Title | Heading | Paragraph | ListItem | Code | Table | Picture | Formula | Furniture


class PageReading(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How a page was read that is one for a model.

    >>> PageReading(reason="has no text layer").reader
    ''
    """

    reader: str = ""
    """The model that has read it; empty: its blocks are those of the native reader."""
    reason: str = ""
    """Why a model is to read it; empty: all pages are."""
    problem: str = ""
    """Why the model has not read it; empty, without a reader: it was not asked yet."""
    confidence: float | None = None
    """From 0 to 1; None: the model has stated none."""


class Page(msgspec.Struct, gc=False):
    """One page of a document that has pages.

    >>> Page(1, width=595.0, height=842.0).has_text
    True
    """

    number: int
    width: float
    height: float
    has_text: bool = True
    """Whether the page has a text layer. A scanned page has none, and needs OCR."""
    is_ocr: bool = False
    """Whether the text was recognised by OCR."""
    reading: PageReading | msgspec.UnsetType = msgspec.UNSET
    """Set if the page is one for a model."""


class Document(msgspec.Struct, kw_only=True):
    """A document as a reader returns it.

    >>> Document(name="lamp", mimetype="text/plain", blocks=[Title(text="Lamps")]).pages
    []
    """

    name: str
    """The name of the file without its extension."""
    mimetype: str
    blocks: list[AnyBlock]
    pages: list[Page] = []
    reader: str = ""
    """The reader and its versions; that of a plug-in is added to what it returns. They are part of the fingerprint:
    another version may read the file differently."""
    warnings: list[str] = []
    """What the user should know: a page without text, a table that was too large, a guessed encoding."""
    metadata: dict[str, str] = {}
    """What the file says about itself: `title`, `author`, `date`, `language`, `address`, `description`."""
