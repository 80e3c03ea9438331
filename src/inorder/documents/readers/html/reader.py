"""HTML: what a person reads on the page, in order, without its frame.

Inline markup is flattened; blocks, lists, tables, code, links and pictures are kept. What a page consists of is never
thrown away whole: if nothing is left without navigation and footers, they are its text.
"""

import re

from selectolax.lexbor import LexborHTMLParser

from inorder.documents.model import AnyBlock, Document
from inorder.documents.readers.block_builder import mark_title
from inorder.documents.readers.registry import reader_version
from inorder.documents.readers.table_grid import TableBudget
from inorder.files.encoding import decode

from .guard import sanitize
from .rules import may_have_exclusions
from .walk import HtmlWalker

_META_CHARSET = re.compile(rb"""<meta[^>]+?charset\s*=\s*["']?\s*([\w.:-]+)""", re.I)
_META_BYTES = 4096


def read(data: bytes, name: str) -> Document:
    """The document in these bytes."""
    declared = _META_CHARSET.search(data, 0, _META_BYTES)
    decoded = decode(data, declared.group(1).decode("ascii") if declared else "")
    page = decoded.text.encode("utf-8", "replace")
    warnings = [decoded.warning] if decoded.warning else []
    blocks, title = read_page(page, warnings)
    if not blocks:
        warnings.append("there is no text in it")
    return Document(
        name=name,
        mimetype="text/html",
        blocks=mark_title(blocks, title),
        reader=reader_version("html"),
        warnings=warnings,
    )


def read_page(page: bytes, warnings: list[str], keep_all: bool = False) -> tuple[list[AnyBlock], str]:
    """The blocks of a page or of a piece of one, in UTF-8, and the title it states."""
    page = sanitize(page)
    parser = LexborHTMLParser(page)
    root = parser.body or parser.root
    if root is None:
        return [], ""
    budget = TableBudget()
    check_attributes = may_have_exclusions(page)
    walker = HtmlWalker(budget, check_attributes, keep_all)
    walker.walk(root)
    if not walker.builder.blocks and walker.excluded_count:
        walker = HtmlWalker(budget, check_attributes, keep_all=True)
        walker.walk(root)
        if walker.builder.blocks:
            warnings.append("there is nothing in it but navigation and the like, which was kept")
    warnings += budget.warnings
    head = parser.head
    title = head.css_first("title") if head is not None else None
    return walker.builder.blocks, title.text() if title is not None else ""
