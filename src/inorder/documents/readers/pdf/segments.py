"""The content of a PDF page before its layout is analysed: segments of text, and graphics."""

from typing import Literal, NamedTuple

import msgspec

from inorder.documents.model import Box, Paragraph, Table

ASKEW = -1
"""The direction of text that is neither horizontal nor vertical."""

MONO_WIDTH = 0.6
"""Width of a character in a monospaced font, as a share of its size."""

Span = tuple[int, int]
"""Indices of the first and last character of a piece of the text of a page."""


Extent = tuple[float, float]
"""Where something begins and ends across the page."""


class Lead(NamedTuple):
    """What is known of a heading at the beginning of a line, and of the text after it."""

    length: int
    """Characters up to the text after it."""
    is_bold: bool
    is_mono: bool
    face: str
    rest_is_bold: bool
    rest_is_mono: bool
    rest_face: str


class Segment(msgspec.Struct, gc=False):
    """A piece of a line without wide gaps. Its box is upright in the direction of its text."""

    text: str
    x0: float
    top: float
    x1: float
    bottom: float
    size: float
    is_bold: bool = False
    is_mono: bool = False
    direction: int = 0
    """Rotation against the page in quarter turns counter-clockwise; or ASKEW."""
    order: int = 0
    """Position in the draw order of the page."""
    span: Span = (0, 0)
    face: str = ""
    """The name of the font; empty if it has none, or if the text has several."""
    table: Table | None = None
    """If set, the segment is not text, but holds the place of this table in the reading order."""
    lead: Lead | None = None
    """If set, the text begins with what may be a heading."""


SegmentStyle = tuple[float, str, bool, bool]
"""Size, font, whether it is bold, and whether it is monospaced."""

Row = list[Segment]
"""Segments at the same height."""


Rule = tuple[float, float, float]
"""A horizontal or vertical line: its distance from the top or left edge of the page, its start, and its end."""


class Graphics(msgspec.Struct):
    """Rules (horizontal and vertical lines), pictures and drawings of a page."""

    across: list[Rule] = []
    down: list[Rule] = []
    pictures: list[Box] = []
    drawings: list[Box] = []
    """What was set as one thing from another file, such as a chart."""


Edge = Literal["header", "footer"]


class EdgeRow(msgspec.Struct, frozen=True):
    """A row near the edge of a page."""

    edge: Edge
    text: str
    pattern: str
    """Its words in lower case, with every number as #."""
    middle: float
    size: float
    gap: float
    """Distance to the next row inwards."""
    page: int
    is_spread: bool = False
    """Whether it has a wide gap: a title at one side, and a page number at the other."""


TaggedHeading = tuple[int, str]
"""Level (from 1; the title has 0) and text of a heading in the structure tree of a page."""


class PageLink(NamedTuple):
    """A link, and where it is on the displayed page."""

    texts: list[str]
    """What its text may be, likeliest first."""
    target: str
    box: Box


class PageText(msgspec.Struct, kw_only=True):
    """Text and graphics of a page."""

    number: int
    width: float
    height: float
    text: str = ""
    """As PDFium returns it."""
    segments: list[Segment] = []
    """In draw order."""
    rows: list[Row] = []
    """Upright segments in rows, from top to bottom."""
    edge_rows: list[EdgeRow] | None = None
    """Rows near the top and the bottom, once they were looked for."""
    furniture_rows: tuple[int, int] | None = None
    """How many rows at the top and at the bottom are furniture, once they were counted."""
    tagged_headings: list[TaggedHeading] = []
    graphics: Graphics | None = None
    annotations: list[Paragraph] = []
    """Values of form fields, notes and stamps."""
    links: list[PageLink] = []
    is_empty: bool = False
    """Whether there is nothing on the page."""
    problem: str = ""
    """Why it could not be read."""
    unreadable: str = ""
    """Why it has no text, or none of use; empty: it has."""
    lost: list[str] = []
    """What its text lacks."""
