"""Writes a document as DocTags: one line per block, exactly as docling-core exports the JSON beside them.

DocTags are for reading; the JSON is the record. DocTags have no escapes, so text is written as it is: a `<` in it may
be read back as the start of a tag, and in a table cell it can make docling-core fail on its own export. A list nested
in a list of the same kind ends both when it is read back. White space around text is dropped, except in code. A picture
with neither position nor caption is not written.
"""

import re

from inorder.documents.model import Code, Document, Formula, Furniture, Heading, Paragraph, Picture, Table, Title

from .cells import grid_tags
from .code_languages import language_name
from .outline import ListNode, OutlineItem, group_lists
from .provenance import Dimensions, location_tags, place_of
from .provenance import page_sizes as sizes_of

Sizes = dict[int, Dimensions]
LEVEL_MAX = 6
"""docling-core reads no deeper headings."""
_RESERVED = re.compile(r"#_#_DOCLING_DOC_PAGE_BREAK_(\d+)_(\d+)_#_#")
_RESERVED_BEGINS = "#_#_DOCLING_DOC_PAGE_BREAK_"
"""docling-core's internal mark of a page break. It replaces the mark even in text, and so do we."""


def write_doctags(document: Document) -> str:
    """The DocTags of a document."""
    body = "\n".join(_write_lines(group_lists(document.blocks), sizes_of(document)))
    if _RESERVED_BEGINS in body:
        body = _RESERVED.sub("<page_break>", body)
    return f"<doctag>{body}\n</doctag>"


def _write_lines(units: list[OutlineItem], sizes: Sizes) -> list[str]:
    lines: list[str] = []
    page_reached: int | None = None
    for unit in units:
        if unit.page is not None and unit.page in sizes:
            if page_reached is not None and unit.page > page_reached:
                lines.append("<page_break>")
            page_reached = max(page_reached or unit.page, unit.page)
        at = "" if isinstance(unit, ListNode) else location_tags(place_of(unit, sizes), sizes)
        if line := _write_unit(unit, at, sizes):
            lines.append(line)
    return lines


def _write_unit(unit: OutlineItem, at: str, sizes: Sizes) -> str:
    """The line of a block or list; empty: it has none. `at` is its position as tags."""
    match unit:
        case ListNode():
            return _write_list(unit, sizes)
        case Table():
            return _wrap(f"{at}{grid_tags(unit)}", unit.caption, "otsl")
        case Picture():
            return _wrap(at, unit.caption, "picture")
        case Code():
            return f"<code>{at}<_{language_name(unit.language)}_>{unit.text}</code>"
        case Heading():
            tag = f"section_header_level_{heading_level(unit)}"
        case Furniture():
            tag = f"page_{unit.kind}"
        case Title() | Formula():
            tag = "title" if isinstance(unit, Title) else "formula"
        case Paragraph(source="footnote"):
            tag = "footnote"
        case _:
            tag = "text"
    return f"<{tag}>{at}{unit.text.strip()}</{tag}>"


def _write_list(node: ListNode, sizes: Sizes) -> str:
    items: list[str] = []
    for entry in node.entries:
        if isinstance(entry, ListNode):
            text = _write_list(entry, sizes)
        else:
            text = location_tags(place_of(entry, sizes), sizes) + entry.text.strip()
        if text:
            items.append(text)
    if not items:
        return ""
    tag = "ordered_list" if node.ordered else "unordered_list"
    inner = "</list_item>\n<list_item>".join(items)
    return f"<{tag}><list_item>{inner}</list_item>\n</{tag}>"


def heading_level(heading: Heading) -> int:
    """The level of a heading, within the range that DocTags have."""
    return min(max(heading.level, 1), LEVEL_MAX)


def _wrap(content: str, caption: str, tag: str) -> str:
    if caption:
        content += f"<caption>{caption}</caption>"
    return f"<{tag}>{content}</{tag}>" if content else ""
