"""The text of an element as one string: for cells, captions, code and formulas."""

from selectolax.lexbor import LexborNode

from inorder.documents.model import Link, Span
from inorder.documents.readers.spans import Mark, collapse_marked
from inorder.documents.readers.whitespace import collapse_whitespace

from .rules import BLOCKS, HEADINGS, LISTS, MARKED, SKIPPED_TAGS, is_excluded

_NO_TARGET = ("#", "javascript:", "data:", "vbscript:")
_APART = BLOCKS | LISTS | HEADINGS.keys() | {"br", "hr", "pre", "img"}


def inner_text(top: LexborNode, check_attributes: bool) -> str:
    """The text of an element. Blocks and line breaks are separated by spaces."""
    return inner_marked(top, check_attributes)[0]


def inner_marked(top: LexborNode, check_attributes: bool) -> tuple[str, list[Span]]:
    """The text of an element as `inner_text` has it, and its spans."""
    first = top.child
    if first is not None and first.tag == "-text" and first.next is None:
        return collapse_whitespace(first.text_content or ""), []
    marks: list[Mark] = []
    pieces = _collect_pieces(top, check_attributes, " ", marks)
    if marks:
        return collapse_marked(pieces, marks)
    return collapse_whitespace("".join(pieces)), []


def target_of(link: LexborNode) -> str:
    """The target of a link; empty if it is none, or within the page."""
    target = (link.attributes.get("href") or "").strip()
    return "" if target.lower().startswith(_NO_TARGET) else target


def list_links(top: LexborNode, check_attributes: bool) -> list[Link]:
    """The links in an element that have a text."""
    found = [(inner_text(link, check_attributes), target_of(link)) for link in top.css("a[href]")]
    return [(text, target) for text, target in found if text and target]


def inner_code(top: LexborNode, check_attributes: bool) -> str:
    """The text of an element with its white space, without blank lines at its ends."""
    text = "".join(_collect_pieces(top, check_attributes, "\n", None)).replace("\r\n", "\n")
    return text.rstrip().lstrip("\n")


def _collect_pieces(top: LexborNode, check_attributes: bool, apart: str, marks: list[Mark] | None) -> list[str]:
    """The pieces of text in order, and what is marked among them. `marks` is None for code. No recursion: elements may
    be nested to any depth."""
    pieces: list[str] = []
    open_elements: list[tuple[LexborNode, int]] = []
    is_code = marks is None
    node = top.child
    while True:
        if node is None:
            if not open_elements:
                return pieces
            node, begin = open_elements.pop()
            tag = node.tag
            if marks is not None and tag in MARKED:
                marks.append((MARKED[tag], begin, len(pieces)))
            elif not is_code and tag in _APART:
                pieces.append(apart)
            node = node.next
            continue
        tag = node.tag
        if tag == "-text":
            pieces.append(node.text_content or "")
        elif tag == "br":
            pieces.append(apart)
        elif tag == "img":
            if not is_code:
                pieces += (" ", node.attributes.get("alt") or "", " ")
        elif not (_is_skipped(node, tag, check_attributes) or (is_code and tag == "button")):
            if not is_code and tag in _APART:
                pieces.append(apart)
            open_elements.append((node, len(pieces)))
            node = node.child
            continue
        node = node.next


def _is_skipped(node: LexborNode, tag: str | None, check_attributes: bool) -> bool:
    return tag in SKIPPED_TAGS or (check_attributes and is_excluded(node.attributes, True))
