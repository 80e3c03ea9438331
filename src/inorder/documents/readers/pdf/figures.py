"""Takes the text of figures out of the text around them: the labels of charts are no paragraphs, lists or tables.

A figure is a drawing that was set as one thing, with a caption below or above it. Its labels become one paragraph that
says what it is, after the figure.
"""

from collections.abc import Iterable, Sequence

import msgspec

from inorder.documents.model import AnyBlock, Box, Paragraph, Picture

from .columns import bounding_box
from .headings.captions import FIGURE_CAPTION
from .segments import PageText, Segment

CAPTION_POINTS = 40.0
"""Maximum distance of a figure from its caption."""
SIDE_POINTS_MIN = 30.0
PAGE_SHARE_MAX = 0.8
"""A drawing of the whole page holds its text."""
LINE_CHARACTERS_MIN = 60
LINES_MAX = 2
"""Long lines in a figure. With more it is text in a frame."""


class Figure(msgspec.Struct):
    """A drawing with a caption, and the pieces of text in it."""

    box: Box
    labels: list[Segment]

    def describe(self, page: int) -> Paragraph:
        """Its labels, as they were drawn."""
        ordered = sorted(self.labels, key=lambda segment: segment.order)
        box = self.box if any(label.direction for label in ordered) else bounding_box(ordered)
        return Paragraph(text=" ".join(label.text for label in ordered), page=page, box=box, source="figure")


def find_figures(page: PageText) -> list[Figure]:
    """The figures of a page that have text in them."""
    if page.graphics is None or not page.graphics.drawings:
        return []
    captions = [segment for segment in page.segments if FIGURE_CAPTION.match(segment.text)]
    found: list[Figure] = []
    taken: set[int] = set()
    for box in page.graphics.drawings:
        left, top, right, bottom = box
        width, height = right - left, bottom - top
        if min(width, height) < SIDE_POINTS_MIN or width * height > PAGE_SHARE_MAX * page.width * page.height:
            continue
        if not any(_is_caption_of(caption, box) for caption in captions):
            continue
        labels = [each for each in page.segments if each.order not in taken and _is_inside(each, box, page)]
        long = sum(len(label.text) >= LINE_CHARACTERS_MIN for label in labels)
        if labels and long <= LINES_MAX and not any(label in captions for label in labels):
            taken |= {label.order for label in labels}
            found.append(Figure(box, labels))
    return found


def _is_caption_of(caption: Segment, box: Box) -> bool:
    left, top, right, bottom = box
    apart = max(caption.top - bottom, top - caption.bottom)
    return caption.x0 < right and left < caption.x1 and -5 < apart < CAPTION_POINTS


def _is_inside(segment: Segment, box: Box, page: PageText) -> bool:
    left, top, right, bottom = _turn_back(segment, page)
    return box[0] <= (left + right) / 2 <= box[2] and box[1] <= (top + bottom) / 2 <= box[3]


def _turn_back(segment: Segment, page: PageText) -> Box:
    """The box of a segment on the page."""
    left, top, right, bottom = segment.x0, segment.top, segment.x1, segment.bottom
    if segment.direction == 1:
        return top, page.height - right, bottom, page.height - left
    if segment.direction == 2:
        return page.width - right, page.height - bottom, page.width - left, page.height - top
    if segment.direction == 3:
        return page.width - bottom, left, page.width - top, right
    return left, top, right, bottom


def insert_figures(blocks: list[AnyBlock], figures: Sequence[Figure], page: int) -> list[AnyBlock]:
    """The blocks with the labels of each figure after it."""
    found: list[AnyBlock] = []
    waiting = list(figures)
    for block in blocks:
        found.append(block)
        if isinstance(block, Picture):
            own = [figure for figure in waiting if figure.box == block.box]
            waiting = [figure for figure in waiting if figure.box != block.box]
            found += _describe(own, page)
    return found + _describe(waiting, page)


def _describe(figures: Iterable[Figure], page: int) -> list[AnyBlock]:
    return [figure.describe(page) for figure in figures]
