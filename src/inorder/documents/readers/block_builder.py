"""Builds blocks from text and structure: shared by the readers of HTML and Markdown.

A reader appends text piece by piece and says where blocks begin and end. `BlockBuilder` keeps the open lists, and turns
the text since the last block into a paragraph, a list item or a heading. The first text of a list item becomes the
item; text that follows immediately is appended to it, because a list with paragraphs in it is still one list.
"""

import msgspec

from inorder.documents.model import AnyBlock, Heading, ListItem, Paragraph, Picture, Span, SpanKind, Title

from .spans import Mark, collapse_marked, move_spans
from .whitespace import collapse_whitespace

ITEM_LENGTH_MAX = 10_000
"""Characters. When a list item is longer, further text of it becomes paragraphs."""


class OpenList(msgspec.Struct, gc=False):
    """A list whose end has not been reached."""

    depth: int
    is_ordered: bool
    next_number: int = 1
    style: str = "1"
    marker: str = "-"
    is_pending: bool = False
    """Whether the open item has no text yet."""
    item: ListItem | None = None


class BlockBuilder:
    """The text since the last block, and all blocks before it."""

    def __init__(self) -> None:
        self.blocks: list[AnyBlock] = []
        self.parts: list[str] = []
        """Text since the last block. Readers append to it directly."""
        self.links: list[tuple[str, str]] = []
        self.marks: list[Mark] = []
        """Marked pieces of the current text."""
        self.pictures: list[Picture] = []
        """Pictures within the current text. They are added after its block."""
        self.lists: list[OpenList] = []
        self.heading = 0
        """The level of the open heading; 0: no heading is open."""

    def flush(self) -> None:
        """End the current block, if there is one."""
        if parts := self.parts:
            spans: list[Span] = []
            if self.marks:
                text, spans = collapse_marked(parts, self.marks)
                self.marks.clear()
            else:
                text = collapse_whitespace(parts[0] if len(parts) == 1 else "".join(parts))
            parts.clear()
            if not text:
                pass
            elif self.heading:
                self.blocks.append(Heading(text, self.heading, links=self.links, spans=spans))
            elif self.lists:
                within = self.lists[-1]
                if within.is_pending:
                    within.is_pending = False
                    within.item = item = ListItem(
                        text, within.depth, within.is_ordered, within.marker, links=self.links, spans=spans
                    )
                    self.blocks.append(item)
                else:
                    self._continue_item(text, within.item, spans)
            elif spans or self.links:
                self.blocks.append(Paragraph(text, links=self.links, spans=spans))
            else:
                self.blocks.append(Paragraph(text))
            self.links = []
        if self.pictures:
            self.blocks += self.pictures
            self.pictures.clear()

    def _continue_item(self, text: str, item: ListItem | None, spans: list[Span]) -> None:
        if item is not None and self.blocks[-1] is item and len(item.text) < ITEM_LENGTH_MAX:
            item.spans += move_spans(spans, len(item.text) + 1)
            item.text += " " + text
            item.links += self.links
        else:
            self.blocks.append(Paragraph(text, links=self.links, spans=spans))

    def add_marked(self, kind: SpanKind, text: str) -> None:
        """Add a piece of text that is marked as a whole."""
        self.marks.append((kind, len(self.parts), len(self.parts) + 1))
        self.parts.append(text)

    def mark_from(self, kind: SpanKind, begin: int) -> None:
        """Mark the pieces of the current text from this one on."""
        self.marks.append((kind, begin, len(self.parts)))

    def add(self, blocks: list[AnyBlock]) -> None:
        """Add finished blocks."""
        self.flush()
        self.blocks += blocks

    def open_list(self, is_ordered: bool, start: int = 1, style: str = "1") -> None:
        self.flush()
        self.lists.append(OpenList(len(self.lists), is_ordered, start, style))

    def close_list(self) -> None:
        self.flush()
        if self.lists:
            self.lists.pop()

    def open_item(self, marker: str) -> None:
        """Begin an item of the innermost list. Without an open list, its text becomes a paragraph."""
        self.flush()
        if self.lists:
            within = self.lists[-1]
            within.marker, within.is_pending, within.item = marker, True, None

    def close_item(self) -> None:
        self.flush()
        if self.lists:
            self.lists[-1].is_pending = False
            self.lists[-1].item = None

    def open_heading(self, level: int) -> None:
        self.flush()
        self.heading = level

    def close_heading(self) -> None:
        self.flush()
        self.heading = 0


def mark_title(blocks: list[AnyBlock], stated: str) -> list[AnyBlock]:
    """The blocks with the title of the document as a `Title`.

    A single heading of the first level is the title, and all other headings move up one level. Otherwise the title is
    the one in the metadata (`stated`), unless a heading has the same text.
    """
    headings = [block for block in blocks if type(block) is Heading]
    first_level = [heading for heading in headings if heading.level == 1]
    if len(first_level) == 1:
        for heading in headings:
            heading.level = max(heading.level - 1, 1)
        at = next(number for number, block in enumerate(blocks) if block is first_level[0])
        blocks[at] = Title(first_level[0].text, links=first_level[0].links, spans=first_level[0].spans)
        return blocks
    title = collapse_whitespace(stated)
    if title and all(heading.text != title for heading in headings):
        return [Title(title), *blocks]
    return blocks
