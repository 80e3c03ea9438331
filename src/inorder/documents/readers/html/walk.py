"""One way through the tree of a page, element by element and without recursion."""

from collections.abc import Callable

from selectolax.lexbor import LexborNode

from inorder.documents.model import Code, Formula, Heading, Paragraph, Picture, Table
from inorder.documents.readers.block_builder import Flow
from inorder.documents.readers.numerals import numeral
from inorder.documents.readers.table_grid import Budget
from inorder.documents.readers.whitespace import squeeze

from .rules import BLOCKS, FURNITURE, HEADINGS, LISTS, PREFORMATTED, UNREAD, is_content, is_left_out, language_of
from .tables import is_layout, read_table
from .text import code_below, text_below

_NO_TARGET = ("#", "javascript:", "data:", "vbscript:")

Leave = Callable[[LexborNode], None] | None
Entered = tuple[bool, Leave]
"""Whether there is something to read in an element, and what to do at its end."""
_UNREAD: Entered = (False, None)
_INLINE: Entered = (True, None)


class _Figure:
    """A figure that is being read."""

    __slots__ = ("begin", "caption", "caption_at")

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.caption = ""
        self.caption_at = begin


class Walk:
    """A page as it is read: the text so far, and what is open."""

    def __init__(self, budget: Budget, heeds_attributes: bool, keeps_all: bool) -> None:
        self.flow = Flow()
        self.left_out = 0
        self._budget = budget
        self._heeds = heeds_attributes
        self._keeps_all = keeps_all
        self._content_depth = 0
        """How many elements around this one are content of the page."""
        self._breaks = 0
        """Line breaks since the last text."""
        self._links: list[tuple[int, int]] = []
        """Where the text of open links begins: the number of blocks then, and of pieces."""
        self._figures: list[_Figure] = []

    def run(self, root: LexborNode) -> None:
        """Read everything below `root`."""
        parts = self.flow.parts
        open_elements: list[tuple[LexborNode, Leave]] = []
        node = root.child
        while True:
            if node is None:
                if not open_elements:
                    self.flow.flush()
                    return
                node, leave = open_elements.pop()
                if leave is not None:
                    leave(node)
                node = node.next
                continue
            tag = node.tag or ""
            if tag == "-text":
                text = node.text_content or ""
                parts.append(text)
                if self._breaks and not text.isspace():
                    self._breaks = 0
                node = node.next
                continue
            goes_down, leave = self._enter(node, tag)
            if goes_down:
                open_elements.append((node, leave))
                node = node.child
            else:
                node = node.next

    def _enter(self, node: LexborNode, tag: str) -> Entered:
        """Begin an element: whether there is something to read in it, and what to do at its end."""
        if tag in UNREAD:
            return _UNREAD
        if self._is_frame(node, tag):
            self.left_out += 1
            return _UNREAD
        opening = _OPENINGS.get(tag)
        return opening(self, node, tag) if opening is not None else _INLINE

    def _is_frame(self, node: LexborNode, tag: str) -> bool:
        """Whether an element is hidden or a part of the frame around the content."""
        attributes = node.attributes if self._heeds else None
        if attributes and is_left_out(attributes, self._content_depth > 0 or self._keeps_all):
            return not self._keeps_all or "hidden" in attributes
        if self._keeps_all:
            return False
        if tag in FURNITURE and not self._content_depth:
            if tag == "header":
                self._keep_title(node)
            return True
        return tag == "nav" or (tag == "dialog" and "open" not in node.attributes)

    def _keep_title(self, header: LexborNode) -> None:
        heading = header.css_first("h1")
        if heading is not None and (text := text_below(heading, self._heeds)):
            self.flow.add([Heading(text=text, level=1)])

    # What begins and ends with each kind of element.

    def _block(self, node: LexborNode, tag: str) -> Entered:
        self.flow.flush()
        self._breaks = 0
        if is_content(tag, node.attributes.get("role") if self._heeds else None):
            self._content_depth += 1
            return True, self._end_content
        return True, self._end_block

    def _end_block(self, node: LexborNode) -> None:
        self.flow.flush()

    def _end_content(self, node: LexborNode) -> None:
        self.flow.flush()
        self._content_depth -= 1

    def _heading(self, node: LexborNode, tag: str) -> Entered:
        self.flow.open_heading(HEADINGS[tag])
        return True, self._end_heading

    def _end_heading(self, node: LexborNode) -> None:
        self.flow.close_heading()

    def _list(self, node: LexborNode, tag: str) -> Entered:
        if tag == "ol":
            attributes = node.attributes
            self.flow.open_list(True, _number(attributes.get("start"), 1), attributes.get("type") or "1")
        else:
            self.flow.open_list(False)
        return True, self._end_list

    def _end_list(self, node: LexborNode) -> None:
        self.flow.close_list()

    def _item(self, node: LexborNode, tag: str) -> Entered:
        lists = self.flow.lists
        marker = "-"
        if lists and lists[-1].is_ordered:
            within = lists[-1]
            number = _number(node.attributes.get("value"), within.next_number)
            within.next_number = number + 1
            marker = numeral(number, within.style) + "."
        self.flow.open_item(marker)
        return True, self._end_item

    def _end_item(self, node: LexborNode) -> None:
        self.flow.close_item()

    def _term(self, node: LexborNode, tag: str) -> Entered:
        """What is defined: a paragraph before its definitions, or an item of the list that it stands in."""
        if len(self.flow.lists) == 1:
            self.flow.close_item()
            return True, self._end_block
        self.flow.open_item("")
        return True, self._end_item

    def _code(self, node: LexborNode, tag: str) -> Entered:
        text = code_below(node, self._heeds)
        if text:
            child, parent = node.css_first("code"), node.parent
            classes = [each.attributes.get("class") for each in (child, node, parent) if each is not None]
            self.flow.add([Code(text=text, language=language_of(*classes))])
        return _UNREAD

    def _table(self, node: LexborNode, tag: str) -> Entered:
        if is_layout(node):
            self.flow.flush()
            return True, self._end_block
        self.flow.add(read_table(node, self._budget, self._heeds))
        return _UNREAD

    def _image(self, node: LexborNode, tag: str) -> Entered:
        alt = node.attributes.get("alt")
        if self.flow.lists or self.flow.heading:
            self.flow.parts += (" ", alt or "", " ")
        elif alt or alt is None or self._figures:
            self.flow.pictures.append(Picture(caption=squeeze(alt or "")))
        return _UNREAD

    def _break(self, node: LexborNode, tag: str) -> Entered:
        """One line break is a space; two are the end of a paragraph."""
        self._breaks += 1
        if self._breaks > 1 and not self.flow.lists and not self.flow.heading:
            self.flow.flush()
        else:
            self.flow.parts.append(" ")
        return _UNREAD

    def _rule(self, node: LexborNode, tag: str) -> Entered:
        self.flow.flush()
        return _UNREAD

    def _control(self, node: LexborNode, tag: str) -> Entered:
        self.flow.parts.append(" ")
        return True, self._end_control

    def _end_control(self, node: LexborNode) -> None:
        self.flow.parts.append(" ")

    def _link(self, node: LexborNode, tag: str) -> Entered:
        self._links.append((len(self.flow.blocks), len(self.flow.parts)))
        return True, self._end_link

    def _end_link(self, node: LexborNode) -> None:
        blocks, pieces = self._links.pop()
        target = (node.attributes.get("href") or "").strip()
        if not target or target.lower().startswith(_NO_TARGET):
            return
        written = self.flow.blocks[blocks:]
        if not written:
            text = squeeze("".join(self.flow.parts[pieces:]))
            if text:
                self.flow.links.append((text, target))
        elif len(written) == 1 and type(paragraph := written[0]) is Paragraph:
            paragraph.links.append((paragraph.text, target))

    def _figure(self, node: LexborNode, tag: str) -> Entered:
        self.flow.flush()
        self._figures.append(_Figure(len(self.flow.blocks)))
        return True, self._end_figure

    def _caption(self, node: LexborNode, tag: str) -> Entered:
        if not self._figures or self._figures[-1].caption:
            return self._block(node, tag)
        self.flow.flush()
        figure = self._figures[-1]
        figure.caption, figure.caption_at = text_below(node, self._heeds), len(self.flow.blocks)
        return _UNREAD

    def _end_figure(self, node: LexborNode) -> None:
        """The caption goes to the picture or table of the figure, and is a paragraph where there is none."""
        self.flow.flush()
        figure = self._figures.pop()
        if not figure.caption:
            return
        for block in self.flow.blocks[figure.begin :]:
            if type(block) is Picture or (type(block) is Table and not block.caption):
                block.caption = figure.caption
                return
        self.flow.blocks.insert(figure.caption_at, Paragraph(text=figure.caption))

    def _formula(self, node: LexborNode, tag: str) -> Entered:
        attributes = node.attributes
        source = node.css_first("annotation")
        stated = text_below(source, False) if source is not None else attributes.get("alttext")
        text = stated or text_below(node, False)
        if attributes.get("display") == "block" and not self.flow.lists and text:
            self.flow.add([Formula(text=text)])
        else:
            self.flow.parts.append(text)
        return _UNREAD


def _number(value: str | None, otherwise: int) -> int:
    digits = (value or "").strip()
    is_number = digits.removeprefix("-").isdigit() and digits.isascii() and len(digits) < 10
    return int(digits) if is_number else otherwise


_OPENINGS: dict[str, Callable[[Walk, LexborNode, str], Entered]] = {
    **dict.fromkeys(BLOCKS, Walk._block),
    **dict.fromkeys(HEADINGS, Walk._heading),
    **dict.fromkeys(LISTS, Walk._list),
    **dict.fromkeys(PREFORMATTED, Walk._code),
    "a": Walk._link,
    "br": Walk._break,
    "button": Walk._control,
    "dd": Walk._item,
    "dt": Walk._term,
    "figcaption": Walk._caption,
    "figure": Walk._figure,
    "hr": Walk._rule,
    "img": Walk._image,
    "li": Walk._item,
    "math": Walk._formula,
    "table": Walk._table,
}
