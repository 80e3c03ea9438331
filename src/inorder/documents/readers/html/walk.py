"""Walks the tree of a page and builds its blocks, without recursion."""

from collections.abc import Callable, Set
from functools import partial

from selectolax.lexbor import LexborNode

from inorder.documents.model import Code, Formula, Heading, ListItem, Paragraph, Picture, SpanKind, Table
from inorder.documents.readers.block_builder import BlockBuilder
from inorder.documents.readers.numerals import format_number
from inorder.documents.readers.table_grid import TableBudget
from inorder.documents.readers.whitespace import collapse_whitespace

from .rules import (
    BLOCKS,
    FURNITURE,
    HEADINGS,
    LISTS,
    MARKED,
    PREFORMATTED,
    SKIPPED_TAGS,
    is_content,
    is_excluded,
    language_of,
)
from .tables import is_layout, read_table
from .text import inner_code, inner_text, target_of

Leave = Callable[[], None] | None
Descent = tuple[bool, Leave]
"""Whether to read the children of an element, and what to do at its end."""
_SKIP: Descent = (False, None)
_INLINE: Descent = (True, None)


class _Figure:
    """A figure whose end has not been reached."""

    __slots__ = ("begin", "caption", "caption_at")

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.caption = ""
        self.caption_at = begin


class HtmlWalker:
    """The blocks built so far, and the open elements."""

    def __init__(
        self,
        budget: TableBudget,
        check_attributes: bool,
        keep_all: bool,
        left_out: Set[int] = frozenset(),
        in_content: bool = False,
    ) -> None:
        self.builder = BlockBuilder()
        self.excluded_count = 0
        self._budget = budget
        self._check_attributes = check_attributes
        self._keep_all = keep_all
        self._left_out = left_out
        """The ids of elements that are left out."""
        self._content_depth = int(in_content)
        """How many open elements are main content of the page."""
        self._breaks = 0
        """Line breaks since the last text."""
        self._figures: list[_Figure] = []

    def walk(self, root: LexborNode) -> None:
        """Read everything below `root`."""
        parts = self.builder.parts
        open_elements: list[tuple[LexborNode, Leave]] = []
        node = root.child
        while True:
            if node is None:
                if not open_elements:
                    self.builder.flush()
                    return
                node, leave = open_elements.pop()
                if leave is not None:
                    leave()
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

    def _enter(self, node: LexborNode, tag: str) -> Descent:
        """Begin an element. Returns whether to read its children, and what to do at its end."""
        if tag in SKIPPED_TAGS:
            return _SKIP
        if self._is_excluded(node, tag):
            self.excluded_count += 1
            return _SKIP
        handler = _HANDLERS.get(tag)
        return handler(self, node, tag) if handler is not None else _INLINE

    def _is_excluded(self, node: LexborNode, tag: str) -> bool:
        """Whether an element is hidden or not content of the page."""
        if self._left_out and node.mem_id in self._left_out:
            return True
        attributes = node.attributes if self._check_attributes else None
        if attributes and is_excluded(attributes, self._content_depth > 0 or self._keep_all):
            return not self._keep_all or "hidden" in attributes
        if self._keep_all:
            return False
        if tag in FURNITURE and not self._content_depth:
            if tag == "header":
                self._keep_title(node)
            return True
        return tag == "nav" or (tag == "dialog" and "open" not in node.attributes)

    def _keep_title(self, header: LexborNode) -> None:
        heading = header.css_first("h1")
        if heading is not None and (text := inner_text(heading, self._check_attributes)):
            self.builder.add([Heading(text=text, level=1)])

    # Handlers of elements. `_begin_*` have an `_end_*`; `_read_*` process the element at once.

    def _begin_block(self, node: LexborNode, tag: str) -> Descent:
        self.builder.flush()
        self._breaks = 0
        if is_content(tag, node.attributes.get("role") if self._check_attributes else None):
            self._content_depth += 1
            return True, self._end_content
        return True, self.builder.flush

    def _end_content(self) -> None:
        self.builder.flush()
        self._content_depth -= 1

    def _begin_heading(self, node: LexborNode, tag: str) -> Descent:
        self.builder.open_heading(HEADINGS[tag])
        return True, self.builder.close_heading

    def _begin_list(self, node: LexborNode, tag: str) -> Descent:
        if tag == "ol":
            attributes = node.attributes
            self.builder.open_list(True, _parse_number(attributes.get("start"), 1), attributes.get("type") or "1")
        else:
            self.builder.open_list(False)
        return True, self.builder.close_list

    def _begin_item(self, node: LexborNode, tag: str) -> Descent:
        lists = self.builder.lists
        marker = "-"
        if lists and lists[-1].is_ordered:
            within = lists[-1]
            number = _parse_number(node.attributes.get("value"), within.next_number)
            within.next_number = number + 1
            marker = format_number(number, within.style) + "."
        self.builder.open_item(marker)
        return True, self.builder.close_item

    def _begin_term(self, node: LexborNode, tag: str) -> Descent:
        """The term of a definition: a paragraph before its definitions, or an item of the list that contains it."""
        if len(self.builder.lists) == 1:
            self.builder.close_item()
            return True, self.builder.flush
        self.builder.open_item("")
        return True, self.builder.close_item

    def _read_code(self, node: LexborNode, tag: str) -> Descent:
        text = inner_code(node, self._check_attributes)
        if text:
            child, parent = node.css_first("code"), node.parent
            classes = [each.attributes.get("class") for each in (child, node, parent) if each is not None]
            self.builder.add([Code(text=text, language=language_of(*classes))])
        return _SKIP

    def _read_table(self, node: LexborNode, tag: str) -> Descent:
        if is_layout(node):
            self.builder.flush()
            return True, self.builder.flush
        self.builder.add(read_table(node, self._budget, self._check_attributes))
        return _SKIP

    def _read_image(self, node: LexborNode, tag: str) -> Descent:
        alt = node.attributes.get("alt")
        if self.builder.lists or self.builder.heading:
            self.builder.parts += (" ", alt or "", " ")
        elif alt or alt is None or self._figures:
            self.builder.pictures.append(Picture(caption=collapse_whitespace(alt or "")))
        return _SKIP

    def _read_break(self, node: LexborNode, tag: str) -> Descent:
        """One line break is a space; two end the paragraph."""
        self._breaks += 1
        if self._breaks > 1 and not self.builder.lists and not self.builder.heading:
            self.builder.flush()
        else:
            self.builder.parts.append(" ")
        return _SKIP

    def _read_rule(self, node: LexborNode, tag: str) -> Descent:
        self.builder.flush()
        return _SKIP

    def _begin_control(self, node: LexborNode, tag: str) -> Descent:
        self.builder.parts.append(" ")
        return True, partial(self.builder.parts.append, " ")

    def _begin_link(self, node: LexborNode, tag: str) -> Descent:
        target = target_of(node)
        if not target:
            return _INLINE
        return True, partial(self._end_link, target, len(self.builder.blocks), len(self.builder.parts))

    def _end_link(self, target: str, blocks: int, pieces: int) -> None:
        """Add a link whose text began after so many blocks and pieces of text."""
        written = self.builder.blocks[blocks:]
        if not written:
            text = collapse_whitespace("".join(self.builder.parts[pieces:]))
            if text:
                self.builder.links.append((text, target))
        elif isinstance(first := written[0], Paragraph | Heading | ListItem):
            first.links.append((first.text, target))

    def _begin_marked(self, node: LexborNode, tag: str) -> Descent:
        return True, partial(self._end_marked, MARKED[tag], len(self.builder.blocks), len(self.builder.parts))

    def _end_marked(self, kind: SpanKind, blocks: int, pieces: int) -> None:
        """Mark the text since so many blocks and pieces of text. What has blocks in it is not marked."""
        if len(self.builder.blocks) == blocks:
            self.builder.mark_from(kind, pieces)

    def _begin_figure(self, node: LexborNode, tag: str) -> Descent:
        self.builder.flush()
        self._figures.append(_Figure(len(self.builder.blocks)))
        return True, self._end_figure

    def _read_caption(self, node: LexborNode, tag: str) -> Descent:
        if not self._figures or self._figures[-1].caption:
            return self._begin_block(node, tag)
        self.builder.flush()
        figure = self._figures[-1]
        figure.caption, figure.caption_at = inner_text(node, self._check_attributes), len(self.builder.blocks)
        return _SKIP

    def _end_figure(self) -> None:
        """Give the caption to the picture or table of the figure; if there is none, it becomes a paragraph."""
        self.builder.flush()
        figure = self._figures.pop()
        if not figure.caption:
            return
        for block in self.builder.blocks[figure.begin :]:
            if type(block) is Picture or (type(block) is Table and not block.caption):
                block.caption = figure.caption
                return
        self.builder.blocks.insert(figure.caption_at, Paragraph(text=figure.caption))

    def _read_formula(self, node: LexborNode, tag: str) -> Descent:
        attributes = node.attributes
        source = node.css_first("annotation")
        stated = inner_text(source, False) if source is not None else attributes.get("alttext")
        text = stated or inner_text(node, False)
        if attributes.get("display") == "block" and not self.builder.lists and text:
            self.builder.add([Formula(text=text)])
        elif stated:
            self.builder.add_marked("formula", text)
        else:
            self.builder.parts.append(text)
        return _SKIP


def _parse_number(value: str | None, otherwise: int) -> int:
    digits = (value or "").strip()
    is_number = digits.removeprefix("-").isdigit() and digits.isascii() and len(digits) < 10
    return int(digits) if is_number else otherwise


_HANDLERS: dict[str, Callable[[HtmlWalker, LexborNode, str], Descent]] = {
    **dict.fromkeys(BLOCKS, HtmlWalker._begin_block),
    **dict.fromkeys(HEADINGS, HtmlWalker._begin_heading),
    **dict.fromkeys(LISTS, HtmlWalker._begin_list),
    **dict.fromkeys(PREFORMATTED, HtmlWalker._read_code),
    **dict.fromkeys(MARKED, HtmlWalker._begin_marked),
    "a": HtmlWalker._begin_link,
    "br": HtmlWalker._read_break,
    "button": HtmlWalker._begin_control,
    "dd": HtmlWalker._begin_item,
    "dt": HtmlWalker._begin_term,
    "figcaption": HtmlWalker._read_caption,
    "figure": HtmlWalker._begin_figure,
    "hr": HtmlWalker._read_rule,
    "img": HtmlWalker._read_image,
    "li": HtmlWalker._begin_item,
    "math": HtmlWalker._read_formula,
    "table": HtmlWalker._read_table,
}
