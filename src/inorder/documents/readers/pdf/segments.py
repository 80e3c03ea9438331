"""A page of a PDF as we found it, before anything is made of it."""

import msgspec

from inorder.documents.model import Box, Table

ASKEW = -1
"""The direction of text that runs neither along nor across the page."""

MONO_WIDTH = 0.6
"""Width of a letter whose font gives all letters the same, as a share of its size."""

Span = tuple[int, int]
"""First and last character of a piece of the page's text."""


class Segment(msgspec.Struct, gc=False):
    """A piece of a line that is certainly read together. Its box is upright in the direction of its text."""

    text: str
    x0: float
    top: float
    x1: float
    bottom: float
    size: float
    is_bold: bool = False
    is_mono: bool = False
    direction: int = 0
    """Quarters by which it is turned against the page, counter-clockwise; or ASKEW."""
    order: int = 0
    """Its place in the order in which the page was drawn."""
    span: Span = (0, 0)
    table: Table | None = None
    """Not text at all, but a table that takes its place in the reading order."""


Row = list[Segment]
"""Segments that stand at the same height."""


Rule = tuple[float, float, float]
"""A straight line, across or down a page: its height, or its distance from the left edge; its start; its end."""


class Graphics(msgspec.Struct):
    """What is drawn besides text."""

    across: list[Rule] = []
    down: list[Rule] = []
    pictures: list[Box] = []


class PageText(msgspec.Struct, kw_only=True):
    """What is on a page."""

    number: int
    width: float
    height: float
    text: str = ""
    """As PDFium gives it."""
    segments: list[Segment] = []
    """In the order in which they were drawn."""
    rows: list[Row] = []
    """Those that are upright, from the top."""
    graphics: Graphics | None = None
    is_empty: bool = False
    """Nothing at all is drawn on it."""
    problem: str = ""
    """Why it could not be read."""
