"""All the text below an element as one string: for cells, captions, code and formulas."""

from selectolax.lexbor import LexborNode

from inorder.documents.readers.whitespace import squeeze

from .rules import BLOCKS, HEADINGS, LISTS, UNREAD, is_left_out

_APART = BLOCKS | LISTS | HEADINGS.keys() | {"br", "hr", "pre", "img"}


def text_below(top: LexborNode, heeds_attributes: bool) -> str:
    """The words below an element, blocks and line breaks apart by a space."""
    first = top.child
    if first is not None and first.tag == "-text" and first.next is None:
        return squeeze(first.text_content or "")
    return squeeze("".join(_pieces(top, heeds_attributes, " ")))


def code_below(top: LexborNode, heeds_attributes: bool) -> str:
    """The text below an element as it stands, without blank lines at its ends."""
    text = "".join(_pieces(top, heeds_attributes, "\n", is_code=True)).replace("\r\n", "\n")
    return text.rstrip().lstrip("\n")


def _pieces(top: LexborNode, heeds_attributes: bool, apart: str, is_code: bool = False) -> list[str]:
    """The pieces of text, in order; elements may be nested as deep as they like."""
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
        elif not (_is_skipped(node, tag, heeds_attributes) or (is_code and tag == "button")):
            if not is_code and tag in _APART:
                pieces.append(apart)
            open_elements.append(node)
            node = node.child
            continue
        node = node.next


def _is_skipped(node: LexborNode, tag: str | None, heeds_attributes: bool) -> bool:
    return tag in UNREAD or (heeds_attributes and is_left_out(node.attributes, True))
