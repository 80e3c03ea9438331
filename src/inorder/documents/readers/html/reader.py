"""Reads HTML: the content of the page in order, without navigation, banners, footers and comments.

Inline markup is flattened; blocks, lists, tables, code, links and pictures are kept. If a page has nothing but
navigation and footers, they are kept as its text.
"""

import re

from selectolax.lexbor import LexborHTMLParser

from inorder.documents.model import AnyBlock, Document
from inorder.documents.readers.block_builder import mark_title
from inorder.documents.readers.document import make_document
from inorder.documents.readers.table_grid import TableBudget
from inorder.files.encoding import decode

from .clutter import find_clutter
from .extent import Extent
from .guard import sanitize
from .rules import may_have_exclusions
from .walk import HtmlWalker

_META_CHARSET = re.compile(rb"""<meta[^>]+?charset\s*=\s*["']?\s*([\w.:-]+)""", re.I)
_META_BYTES = 4096


def read(data: bytes, name: str, extent: Extent = "article") -> Document:
    """Read an HTML file."""
    declared = _META_CHARSET.search(data, 0, _META_BYTES)
    decoded = decode(data, declared.group(1).decode("ascii") if declared else "")
    page = decoded.text.encode("utf-8", "replace")
    warnings = [decoded.warning] if decoded.warning else []
    is_article = extent == "article"
    blocks, title = read_page(page, warnings, keep_all=not is_article, is_article=is_article)
    document = make_document("html", name, "text/html", blocks, warnings)
    document.blocks = mark_title(blocks, title)
    return document


def read_page(
    page: bytes, warnings: list[str], keep_all: bool = False, is_article: bool = False
) -> tuple[list[AnyBlock], str]:
    """The blocks of a page or fragment in UTF-8, and the text of its `title` element. With `keep_all`, navigation and
    page furniture are kept; with `is_article`, comments, related links and other clutter are left out too."""
    page = sanitize(page)
    parser = LexborHTMLParser(page)
    root = parser.body or parser.root
    if root is None:
        return [], ""
    budget = TableBudget()
    check_attributes = may_have_exclusions(page)
    clutter = frozenset(find_clutter(root, len(page)) if is_article else ())
    walker = HtmlWalker(budget, check_attributes, keep_all, clutter)
    walker.walk(root)
    if not walker.builder.blocks and walker.excluded_count:
        walker = HtmlWalker(budget, check_attributes, keep_all=True)
        walker.walk(root)
        if walker.builder.blocks:
            warnings.append("the page has only navigation, headers or footers, which were kept as its text")
    warnings += budget.warnings
    head = parser.head
    title = head.css_first("title") if head is not None else None
    return walker.builder.blocks, title.text() if title is not None else ""
