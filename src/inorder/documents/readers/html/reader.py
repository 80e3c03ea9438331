"""Reads HTML: the content of the page in order, without navigation, banners, footers and comments.

Inline markup is flattened; blocks, lists, tables, code, links and pictures are kept. If a page has nothing but
navigation and footers, they are kept as its text.
"""

import re
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from inorder.documents.model import AnyBlock, Document, Heading, ListItem, Paragraph, Picture
from inorder.documents.readers.block_builder import mark_title
from inorder.documents.readers.document import make_document
from inorder.documents.readers.table_grid import TableBudget
from inorder.files.encoding import decode

from .article import find_rest
from .clutter import find_clutter
from .extent import Extent
from .guard import sanitize
from .measure import Measured
from .metadata import read_metadata
from .rules import may_have_exclusions
from .walk import HtmlWalker

_META_CHARSET = re.compile(rb"""<meta[^>]{1,1000}?charset\s{0,9}=\s{0,9}["']?\s{0,9}([\w.:-]{1,40})""", re.I)
_META_BYTES = 4096
_KEPT_SHARE_MIN = 0.1


class PageContent(NamedTuple):
    """What is read of a page, and what it says about itself."""

    blocks: list[AnyBlock]
    metadata: dict[str, str]


def read(data: bytes, name: str, extent: Extent = "article") -> Document:
    """Read an HTML file."""
    decoded = decode(data, _find_charset(data))
    page = decoded.text.encode("utf-8", "replace")
    warnings = [decoded.warning] if decoded.warning else []
    is_article = extent == "article"
    content = read_page(page, warnings, keep_all=not is_article, is_article=is_article, is_file=True)
    document = make_document("html", name, "text/html", content.blocks, warnings)
    document.blocks = mark_title(content.blocks, content.metadata.get("title", ""))
    document.metadata = content.metadata
    return document


def _find_charset(data: bytes) -> str:
    """The encoding that the page declares; empty if it declares none. Browsers look for it near the beginning. A
    declaration further on counts if the page is not UTF-8."""
    declared = _META_CHARSET.search(data, 0, _META_BYTES)
    if declared is None and not _is_utf8(data):
        declared = _META_CHARSET.search(data, _META_BYTES)
    return declared.group(1).decode("ascii") if declared else ""


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _drop_repeated_captions(blocks: list[AnyBlock]) -> None:
    """Empty each caption of a picture that repeats the text of another block: descriptions often do."""
    texts = {block.text for block in blocks if isinstance(block, Paragraph | Heading | ListItem)}
    for block in blocks:
        if isinstance(block, Picture) and block.caption:
            if block.caption in texts:
                block.caption = ""
            else:
                texts.add(block.caption)


def _find_left_out(root: LexborNode, has_author: bool, warnings: list[str]) -> tuple[set[int], bool]:
    """The ids (`mem_id`) of the elements that are not part of the article, and whether the page has one."""
    measured = Measured(root)
    page = measured.top
    rest = find_rest(page, has_author)
    has_article = rest is not None
    left_out = list(find_clutter(page)) if rest is None else rest
    found = {box.node.mem_id for box in left_out}
    if has_article:
        found |= measured.left_out
    kept = page.characters - sum(box.characters for box in left_out)
    if kept < _KEPT_SHARE_MIN * page.characters:
        share = f"{kept:,} of {page.characters:,} characters"
        warnings.append(f"the article is {share} of the page; html=full reads all of it")
    return found, has_article


def read_page(
    page: bytes, warnings: list[str], keep_all: bool = False, is_article: bool = False, is_file: bool = False
) -> PageContent:
    """The content of a page or fragment in UTF-8. With `keep_all`, navigation and page furniture are kept; with
    `is_article`, comments, related links and other clutter are left out too; with `is_file`, it has metadata."""
    page = sanitize(page)
    parser = LexborHTMLParser(page)
    root = parser.body or parser.root
    if root is None:
        return PageContent([], {})
    budget = TableBudget()
    check_attributes = may_have_exclusions(page)
    metadata = read_metadata(parser) if is_file else {}
    left_out, has_article = _find_left_out(root, "author" in metadata, warnings) if is_article else (set(), False)
    walker = HtmlWalker(budget, check_attributes, keep_all, left_out, in_content=has_article)
    walker.walk(root)
    if not walker.builder.blocks and walker.excluded_count:
        walker = HtmlWalker(budget, check_attributes, keep_all=True)
        walker.walk(root)
        if walker.builder.blocks:
            warnings.append("the page has only navigation, headers or footers, which were kept as its text")
    if is_article:
        _drop_repeated_captions(walker.builder.blocks)
    warnings += budget.warnings
    return PageContent(walker.builder.blocks, metadata)
