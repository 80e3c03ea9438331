"""What every reader makes of a document: blocks in reading order, and nothing that a writer or chunker must guess.

Plain values, quick to make: a reader makes thousands of them for a book. Text is Unicode as it should be read, without
line breaks inside a paragraph, hyphenation undone. Nothing here knows about files, pages as pictures, or DocTags.
"""

from typing import Literal

import msgspec

Box = tuple[float, float, float, float]
"""Left, top, right, bottom, in points from the top left corner of the page."""


class Block(msgspec.Struct, kw_only=True, gc=False):
    """One piece of a document."""

    page: int | None = None
    """From 1; None where there are no pages."""
    box: Box | None = None


class Title(Block, tag="title"):
    """The title of the whole document."""

    text: str


class Heading(Block, tag="heading"):
    """The title of a section."""

    text: str
    level: int
    """From 1; the title of the document is not one."""


class Paragraph(Block, tag="paragraph"):
    """Running text."""

    text: str
    links: list[tuple[str, str]] = []
    """Text and target, for those that are worth keeping."""


class ListItem(Block, tag="list_item"):
    """One item of a list. Consecutive ones belong together."""

    text: str
    depth: int = 0
    """0: of the outermost list."""
    ordered: bool = False
    marker: str = "-"


class Code(Block, tag="code"):
    """Text that is not to be touched: every space and line break counts."""

    text: str
    language: str = ""


class Cell(msgspec.Struct, gc=False):
    """One cell of a table."""

    text: str
    row: int
    column: int
    rows: int = 1
    columns: int = 1
    """How many rows and columns it spans."""
    is_header: bool = False


class Table(Block, tag="table"):
    """Cells on a grid; every place of the grid is covered by at most one."""

    rows: int
    columns: int
    cells: list[Cell]
    caption: str = ""


class Picture(Block, tag="picture"):
    """A figure; only what is said about it."""

    caption: str = ""


class Formula(Block, tag="formula"):
    """A formula, as it was written down."""

    text: str


class Furniture(Block, tag="furniture"):
    """What stands on many pages and belongs to none: headers, footers, page numbers. It is kept, and not chunked."""

    text: str
    kind: Literal["header", "footer"]


AnyBlock = Title | Heading | Paragraph | ListItem | Code | Table | Picture | Formula | Furniture


class Page(msgspec.Struct, gc=False):
    """A page, where there are any."""

    number: int
    width: float
    height: float
    has_text: bool = True
    """Whether it has a text layer; one without is a picture of a page, and needs OCR."""
    is_ocr: bool = False
    """Whether its text was recognised in its picture."""


class Document(msgspec.Struct, kw_only=True):
    """A document as read."""

    name: str
    """Without its ending."""
    mimetype: str
    blocks: list[AnyBlock]
    pages: list[Page] = []
    reader: str
    """Who read it, with version: part of the fingerprint, because the same file reads differently elsewhere."""
    warnings: list[str] = []
    """What a person should know: a page without text, a table that could not be made out, a guessed encoding."""
