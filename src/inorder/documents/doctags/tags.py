"""Writes a document as DocTags: one line per block, exactly as docling-core exports the JSON beside them.

DocTags are for reading; the JSON is the record. DocTags have no escapes, so text is written as it is: a `<` in it may
be read back as the start of a tag, and in a table cell it can make docling-core fail on its own export. A list nested
in a list of the same kind ends both when it is read back. White space around text is dropped, except in code. A picture
with neither position nor caption is not written.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from inorder.documents.model import (
    Code,
    Document,
    Formula,
    Furniture,
    Heading,
    Paragraph,
    Picture,
    Table,
    Title,
)

from .cells import grid_tags
from .code_languages import language_name
from .outline import ListEntry, ListNode, group_lists
from .provenance import Dimensions, location_tags, place_of
from .provenance import page_sizes as sizes_of
from .wellformed import replace_surrogates

LEVEL_MAX = 6
"""docling-core reads no deeper headings."""
_RESERVED = re.compile(r"#_#_DOCLING_DOC_PAGE_BREAK_(\d+)_(\d+)_#_#")
_RESERVED_BEGINS = "#_#_DOCLING_DOC_PAGE_BREAK_"
"""docling-core's internal mark of a page break. It replaces the mark even in text, and so do we."""


def write_doctags(document: Document) -> str:
    """The DocTags of a document."""
    body = "\n".join(_write_lines(document))
    if _RESERVED_BEGINS in body:
        body = _RESERVED.sub("<page_break>", body)
    return replace_surrogates(f"<doctag>{body}\n</doctag>")


def _write_lines(document: Document) -> Iterator[str]:
    sizes = sizes_of(document)
    page_reached: int | None = None
    for unit in group_lists(document.blocks):
        if sizes and unit.page is not None and unit.page in sizes:
            if page_reached is not None and unit.page > page_reached:
                yield "<page_break>"
            page_reached = max(page_reached or unit.page, unit.page)
        if isinstance(unit, ListNode):
            line = _write_list(unit, sizes)
        else:
            at = location_tags(place_of(unit, sizes), sizes) if sizes else ""
            line = _WRITERS[type(unit)](unit, at)
        if line:
            yield line


def _write_paragraph(block: Paragraph, at: str) -> str:
    return f"<text>{at}{block.text.strip()}</text>"


def _write_heading(block: Heading, at: str) -> str:
    tag = f"section_header_level_{heading_level(block)}"
    return f"<{tag}>{at}{block.text.strip()}</{tag}>"


def _write_title(block: Title, at: str) -> str:
    return f"<title>{at}{block.text.strip()}</title>"


def _write_code(block: Code, at: str) -> str:
    return f"<code>{at}<_{language_name(block.language)}_>{block.text}</code>"


def _write_formula(block: Formula, at: str) -> str:
    return f"<formula>{at}{block.text.strip()}</formula>"


def _write_furniture(block: Furniture, at: str) -> str:
    return f"<page_{block.kind}>{at}{block.text.strip()}</page_{block.kind}>"


def _write_table(block: Table, at: str) -> str:
    return _wrap(f"{at}{grid_tags(block)}", block.caption, "otsl")


def _write_picture(block: Picture, at: str) -> str:
    return _wrap(at, block.caption, "picture")


_WRITERS: dict[type, Callable[[Any, str], str]] = {
    Paragraph: _write_paragraph,
    Heading: _write_heading,
    Title: _write_title,
    Code: _write_code,
    Formula: _write_formula,
    Furniture: _write_furniture,
    Table: _write_table,
    Picture: _write_picture,
}


def heading_level(heading: Heading) -> int:
    """The level of a heading, within the range that DocTags have."""
    return min(max(heading.level, 1), LEVEL_MAX)


def _wrap(content: str, caption: str, tag: str) -> str:
    if caption:
        content += f"<caption>{caption}</caption>"
    return f"<{tag}>{content}</{tag}>" if content else ""


def _write_list(node: ListNode, sizes: dict[int, Dimensions]) -> str:
    items = [line for entry in node.entries for line in _write_list_entry(entry, sizes)]
    if not items:
        return ""
    tag = "ordered_list" if node.ordered else "unordered_list"
    inner = "\n".join(f"<list_item>{item}</list_item>" for item in items)
    return f"<{tag}>{inner}\n</{tag}>"


def _write_list_entry(entry: ListEntry, sizes: dict[int, Dimensions]) -> Iterator[str]:
    text = entry.item.text.strip()
    if sizes:
        text = location_tags(place_of(entry.item, sizes), sizes) + text
    if text:
        yield text
    for node in entry.lists:
        if inner := _write_list(node, sizes):
            yield inner
