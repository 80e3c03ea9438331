"""Blocks out of running text: what the readers of HTML and Markdown have in common.

A reader hands over text piece by piece and says where blocks begin and end; a `Flow` keeps the open lists and turns
what has gathered into a paragraph, a list item or a heading. The first text of a list item is the item; further text
of it that follows at once joins it, because a list with paragraphs in it is still one list.
"""

from inorder.documents.model import AnyBlock, Heading, ListItem, Paragraph, Picture, Title

from .whitespace import collapse_whitespace

ITEM_LENGTH_MAX = 10_000
"""Characters of an item to which more is joined; after that, its text goes on in paragraphs."""


class OpenList:
    """A list that is being read."""

    __slots__ = ("depth", "is_ordered", "is_pending", "item", "marker", "next_number", "style")

    def __init__(self, depth: int, is_ordered: bool, next_number: int = 1, style: str = "1") -> None:
        self.depth = depth
        self.is_ordered = is_ordered
        self.next_number = next_number
        self.style = style
        self.marker = "-"
        self.is_pending = False
        self.item: ListItem | None = None


class BlockBuilder:
    """Text that gathers, and the blocks made of it so far."""

    def __init__(self) -> None:
        self.blocks: list[AnyBlock] = []
        self.parts: list[str] = []
        """Text since the last block; pieces may be appended directly."""
        self.links: list[tuple[str, str]] = []
        self.pictures: list[Picture] = []
        """Those within the text at hand: they follow it."""
        self.lists: list[OpenList] = []
        self.heading = 0
        """The level of the heading that is open; 0: none is."""

    def flush(self) -> None:
        """End the block at hand, if there is any."""
        if self.parts:
            text = collapse_whitespace("".join(self.parts))
            self.parts.clear()
            if text:
                self._emit(text)
            self.links = []
        if self.pictures:
            self.blocks += self.pictures
            self.pictures.clear()

    def _emit(self, text: str) -> None:
        if self.heading:
            self.blocks.append(Heading(text=text, level=self.heading))
        elif not self.lists:
            self.blocks.append(Paragraph(text=text, links=self.links))
        else:
            self._emit_in_list(text, self.lists[-1])

    def _emit_in_list(self, text: str, within: OpenList) -> None:
        if within.is_pending:
            within.is_pending = False
            within.item = ListItem(text=text, depth=within.depth, ordered=within.is_ordered, marker=within.marker)
            self.blocks.append(within.item)
        elif within.item is not None and self.blocks[-1] is within.item and len(within.item.text) < ITEM_LENGTH_MAX:
            within.item.text += " " + text
        else:
            self.blocks.append(Paragraph(text=text, links=self.links))

    def add(self, blocks: list[AnyBlock]) -> None:
        """Blocks that are whole already."""
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
        """The next text is an item of the innermost list; without a list it is a list of its own."""
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
    """The blocks with the title of the document marked as such.

    A single heading of the first level is the title, and the others move up. Otherwise it is what the document states
    beside its text, unless that is one of its headings.
    """
    headings = [block for block in blocks if type(block) is Heading]
    first_level = [heading for heading in headings if heading.level == 1]
    if len(first_level) == 1:
        for heading in headings:
            heading.level = max(heading.level - 1, 1)
        return [Title(text=block.text) if block is first_level[0] else block for block in blocks]
    title = collapse_whitespace(stated)
    if title and all(heading.text != title for heading in headings):
        return [Title(text=title), *blocks]
    return blocks
