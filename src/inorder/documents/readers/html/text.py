"""The text of an element as one string: for cells, captions, code and formulas."""

from selectolax.lexbor import LexborNode

from inorder.documents.model import Link
from inorder.documents.readers.whitespace import collapse_whitespace

from .rules import BLOCKS, HEADINGS, LISTS, SKIPPED_TAGS, is_excluded

_NO_TARGET = ("#", "javascript:", "data:", "vbscript:")
_APART = BLOCKS | LISTS | HEADINGS.keys() | {"br", "hr", "pre", "img"}


def inner_text(top: LexborNode, check_attributes: bool) -> str:
    """The text of an element. Blocks and line breaks are separated by spaces."""
    first = top.child
    if first is not None and first.tag == "-text" and first.next is None:
        return collapse_whitespace(first.text_content or "")
    return collapse_whitespace("".join(_collect_pieces(top, check_attributes, " ")))


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
    text = "".join(_collect_pieces(top, check_attributes, "\n", is_code=True)).replace("\r\n", "\n")
    return text.rstrip().lstrip("\n")


def _collect_pieces(top: LexborNode, check_attributes: bool, apart: str, is_code: bool = False) -> list[str]:
    """The pieces of text in order. No recursion: elements may be nested to any depth."""
    pieces: list[str] = []
    open_elements: list[LexborNode] = []
    node = top.child
    while True:
        if node is None:
            if not open_elements:
                return pieces
            node = open_elements.pop()
            if not is_code and node.tag in _APART:
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
            open_elements.append(node)
            node = node.child
            continue
        node = node.next


def _is_skipped(node: LexborNode, tag: str | None, check_attributes: bool) -> bool:
    return tag in SKIPPED_TAGS or (check_attributes and is_excluded(node.attributes, True))
