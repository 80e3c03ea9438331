"""Writes a document as DocTags: one line per block, as docling-core exports the JSON beside them, but for what it would
lose when it reads its own export.

DocTags have no escapes. So a `<` that would be read as the start of a tag is written as U+FF1C, which looks like it: in
text, one before a letter, `/` or `_`; in a table, every one. A list nested in a list of the same kind would end both,
so its items are written as those of the outer list. The JSON is the record, and has all of this as it is. White space
around text is dropped, except in code. A picture with neither position nor caption is not written.
"""

import re
from collections.abc import Collection, Iterator

from inorder.documents.model import Code, Document, Formula, Furniture, Heading, Paragraph, Picture, Table, Title

from .cells import BRACKET, grid_tags
from .code_languages import language_name
from .outline import ListNode, OutlineItem, group_lists
from .provenance import Dimensions, location_tags, place_of
from .provenance import page_sizes as sizes_of

Sizes = dict[int, Dimensions]
LEVEL_MAX = 6
"""docling-core reads no deeper headings."""
_TAG_START = re.compile(r"<(?=[A-Za-z/_])")
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
            return _wrap(f"{at}{grid_tags(unit)}", guard_text(unit.caption), "otsl")
        case Picture():
            return _wrap(at, guard_text(unit.caption), "picture")
        case Code():
            return f"<code>{at}<_{language_name(unit.language)}_>{guard_text(unit.text)}</code>"
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
    return f"<{tag}>{at}{guard_text(unit.text.strip())}</{tag}>"


def _write_list(node: ListNode, sizes: Sizes, around: Collection[bool] = ()) -> str:
    """A list. `around` says of the lists around it whether they are ordered."""
    items = list(_write_items(node, sizes, {node.ordered, *around}))
    if not items:
        return ""
    tag = "ordered_list" if node.ordered else "unordered_list"
    inner = "</list_item>\n<list_item>".join(items)
    return f"<{tag}><list_item>{inner}</list_item>\n</{tag}>"


def _write_items(node: ListNode, sizes: Sizes, open_kinds: set[bool]) -> Iterator[str]:
    """The items of a list. `open_kinds` are those of the list and of all around it: ordered, or not."""
    for entry in node.entries:
        if not isinstance(entry, ListNode):
            if text := location_tags(place_of(entry, sizes), sizes) + guard_text(entry.text.strip()):
                yield text
        elif entry.ordered in open_kinds:
            yield from _write_items(entry, sizes, open_kinds)
        elif text := _write_list(entry, sizes, open_kinds):
            yield text


def guard_text(text: str) -> str:
    """Return a text in which nothing is read as a tag."""
    return _TAG_START.sub(BRACKET, text) if "<" in text else text


def heading_level(heading: Heading) -> int:
    """The level of a heading, within the range that DocTags have."""
    return min(max(heading.level, 1), LEVEL_MAX)


def _wrap(content: str, caption: str, tag: str) -> str:
    if caption:
        content += f"<caption>{caption}</caption>"
    return f"<{tag}>{content}</{tag}>" if content else ""
