"""Writes a document as DocTags: one line per block, exactly as docling-core exports the JSON beside them.

DocTags are for reading; the JSON is the record. DocTags have no escapes, so text is written as it is: a `<` in it may
be read back as the start of a tag, and in a table cell it can make docling-core fail on its own export. A list nested
in a list of the same kind ends both when it is read back. White space around text is dropped, except in code. A picture
with neither position nor caption is not written.
"""

import re
from collections.abc import Callable
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
from .outline import ListNode, OutlineItem, group_lists
from .provenance import Dimensions, location_tags, place_of
from .provenance import page_sizes as sizes_of
from .wellformed import replace_surrogates

Sizes = dict[int, Dimensions]
LEVEL_MAX = 6
"""docling-core reads no deeper headings."""
_RESERVED = re.compile(r"#_#_DOCLING_DOC_PAGE_BREAK_(\d+)_(\d+)_#_#")
_RESERVED_BEGINS = "#_#_DOCLING_DOC_PAGE_BREAK_"
"""docling-core's internal mark of a page break. It replaces the mark even in text, and so do we."""


def write_doctags(document: Document, outline: list[OutlineItem] | None = None) -> str:
    """The DocTags of a document. `outline` is that of its blocks, if it is known."""
    units = group_lists(document.blocks) if outline is None else outline
    body = "\n".join(_write_lines(units, sizes_of(document)))
    if _RESERVED_BEGINS in body:
        body = _RESERVED.sub("<page_break>", body)
    return replace_surrogates(f"<doctag>{body}\n</doctag>")


def _write_lines(units: list[OutlineItem], sizes: Sizes) -> list[str]:
    if not sizes:
        return [line for unit in units if (line := _WRITERS[type(unit)](unit, "", sizes))]
    lines: list[str] = []
    page_reached: int | None = None
    for unit in units:
        if unit.page is not None and unit.page in sizes:
            if page_reached is not None and unit.page > page_reached:
                lines.append("<page_break>")
            page_reached = max(page_reached or unit.page, unit.page)
        at = "" if isinstance(unit, ListNode) else location_tags(place_of(unit, sizes), sizes)
        if line := _WRITERS[type(unit)](unit, at, sizes):
            lines.append(line)
    return lines


def _write_paragraph(block: Paragraph, at: str, _: Sizes) -> str:
    return f"<text>{at}{block.text.strip()}</text>"


def _write_heading(block: Heading, at: str, _: Sizes) -> str:
    level = heading_level(block)
    return f"<section_header_level_{level}>{at}{block.text.strip()}</section_header_level_{level}>"


def _write_title(block: Title, at: str, _: Sizes) -> str:
    return f"<title>{at}{block.text.strip()}</title>"


def _write_code(block: Code, at: str, _: Sizes) -> str:
    return f"<code>{at}<_{language_name(block.language)}_>{block.text}</code>"


def _write_formula(block: Formula, at: str, _: Sizes) -> str:
    return f"<formula>{at}{block.text.strip()}</formula>"


def _write_furniture(block: Furniture, at: str, _: Sizes) -> str:
    return f"<page_{block.kind}>{at}{block.text.strip()}</page_{block.kind}>"


def _write_table(block: Table, at: str, _: Sizes) -> str:
    return _wrap(f"{at}{grid_tags(block)}", block.caption, "otsl")


def _write_picture(block: Picture, at: str, _: Sizes) -> str:
    return _wrap(at, block.caption, "picture")


def _write_list(node: ListNode, _: str, sizes: Sizes) -> str:
    items: list[str] = []
    for entry in node.entries:
        if isinstance(entry, ListNode):
            text = _write_list(entry, "", sizes)
        else:
            text = entry.text.strip()
            if sizes:
                text = location_tags(place_of(entry, sizes), sizes) + text
        if text:
            items.append(text)
    if not items:
        return ""
    tag = "ordered_list" if node.ordered else "unordered_list"
    inner = "</list_item>\n<list_item>".join(items)
    return f"<{tag}><list_item>{inner}</list_item>\n</{tag}>"


_WRITERS: dict[type, Callable[[Any, str, Sizes], str]] = {
    Paragraph: _write_paragraph,
    ListNode: _write_list,
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
    level = heading.level
    return level if 1 <= level <= LEVEL_MAX else min(max(level, 1), LEVEL_MAX)


def _wrap(content: str, caption: str, tag: str) -> str:
    if caption:
        content += f"<caption>{caption}</caption>"
    return f"<{tag}>{content}</{tag}>" if content else ""
