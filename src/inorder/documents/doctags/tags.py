"""DocTags: one line of tags a block, exactly as the defining library exports the JSON beside them.

They are for reading; the JSON is the record. Text stands in them as it is, because DocTags have no escapes: a `<` in it
may be read back as the beginning of a tag, and one in a cell of a table can make the library fail to read its own
export. A list within a list of the same kind ends both for those who read them back. Spaces around a text are dropped,
those of code are kept. A picture that has neither place nor caption leaves no trace.
"""

import re
from collections.abc import Iterator

from inorder.documents.model import (
    AnyBlock,
    Code,
    Document,
    Formula,
    Furniture,
    Heading,
    ListItem,
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
"""Deeper headings are not read back by anybody."""
_RESERVED = re.compile(r"#_#_DOCLING_DOC_PAGE_BREAK_(\d+)_(\d+)_#_#")
_RESERVED_BEGINS = "#_#_DOCLING_DOC_PAGE_BREAK_"
"""The defining library's own mark of a page break, which it also finds in text."""


def write_doctags(document: Document) -> str:
    """The document as DocTags, exactly as the defining library exports its JSON."""
    body = "\n".join(_lines(document))
    if _RESERVED_BEGINS in body:
        body = _RESERVED.sub("<page_break>", body)
    return replace_surrogates(f"<doctag>{body}\n</doctag>")


def _lines(document: Document) -> Iterator[str]:
    sizes = sizes_of(document)
    page_reached: int | None = None
    for unit in group_lists(document.blocks):
        if unit.page is not None and unit.page in sizes:
            if page_reached is not None and unit.page > page_reached:
                yield "<page_break>"
            page_reached = max(page_reached or unit.page, unit.page)
        if line := _list(unit, sizes) if isinstance(unit, ListNode) else _block(unit, sizes):
            yield line


def _block(block: AnyBlock, sizes: dict[int, Dimensions]) -> str:
    at = location_tags(place_of(block, sizes), sizes)
    match block:
        case Paragraph(text=text):
            return f"<text>{at}{text.strip()}</text>"
        case Heading(text=text):
            tag = f"section_header_level_{heading_level(block)}"
            return f"<{tag}>{at}{text.strip()}</{tag}>"
        case Title(text=text):
            return f"<title>{at}{text.strip()}</title>"
        case Code(text=text, language=language):
            return f"<code>{at}<_{language_name(language)}_>{text}</code>"
        case Formula(text=text):
            return f"<formula>{at}{text.strip()}</formula>"
        case Furniture(text=text, kind=kind):
            return f"<page_{kind}>{at}{text.strip()}</page_{kind}>"
        case Table():
            return _wrap(f"{at}{grid_tags(block)}", block.caption, "otsl")
        case Picture():
            return _wrap(at, block.caption, "picture")
        case ListItem():
            raise TypeError("list items are written in lists")


def heading_level(heading: Heading) -> int:
    """As far down as levels are read back."""
    return min(max(heading.level, 1), LEVEL_MAX)


def _wrap(content: str, caption: str, tag: str) -> str:
    if caption:
        content += f"<caption>{caption}</caption>"
    return f"<{tag}>{content}</{tag}>" if content else ""


def _list(node: ListNode, sizes: dict[int, Dimensions]) -> str:
    items = [line for entry in node.entries for line in _list_entry(entry, sizes)]
    if not items:
        return ""
    tag = "ordered_list" if node.ordered else "unordered_list"
    inner = "\n".join(f"<list_item>{item}</list_item>" for item in items)
    return f"<{tag}>{inner}\n</{tag}>"


def _list_entry(entry: ListEntry, sizes: dict[int, Dimensions]) -> Iterator[str]:
    text = location_tags(place_of(entry.item, sizes), sizes) + entry.item.text.strip()
    if text:
        yield text
    for node in entry.lists:
        if inner := _list(node, sizes):
            yield inner
