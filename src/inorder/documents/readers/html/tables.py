"""Tables of HTML. Tables with data become tables; the content of layout tables is read like the rest of the page."""

from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from inorder.documents.model import AnyBlock
from inorder.documents.readers.table_grid import TableBudget, TableGrid

from .text import inner_marked, inner_text, list_links

ROWS_MAX = 65_534
COLUMNS_MAX = 1_000
"""Limits of browsers for the span of a cell."""
PAGE_CHARACTERS_MIN = 400
"""Text of a cell with a main heading that is a page, and no cell of a table."""

_SECTIONS = ("thead", "tbody", "tfoot")
_CELLS = ("td", "th")


def is_layout(table: LexborNode) -> bool:
    """Whether a table is used for layout: a page in cells, or a frame around one thing."""
    role = table.attributes.get("role")
    if role in ("presentation", "none"):
        return True
    widest = 0
    for child in _find_elements(table, ("caption", *_SECTIONS)):
        if child.tag in ("caption", "thead"):
            return False
        for row in _find_elements(child, ("tr",)):
            cells = list(_find_elements(row, _CELLS))
            if any(cell.tag == "th" for cell in cells):
                return False
            widest = max(widest, len(cells))
    return widest <= 1 or len(table.css("table")) > 1 or _has_page(table)


def _has_page(table: LexborNode) -> bool:
    """Whether a cell has a main heading and text below it."""
    heading = table.css_first("td h1, td h2")
    while heading is not None and heading.tag != "td":
        heading = heading.parent
    return heading is not None and len(heading.text() or "") > PAGE_CHARACTERS_MIN


def read_table(table: LexborNode, budget: TableBudget, check_attributes: bool) -> list[AnyBlock]:
    """The table, with its caption and its headers; paragraphs if it is too large."""
    grid = TableGrid()
    has_links = table.css_first("a[href]") is not None
    caption = ""
    for child in _find_elements(table, ("caption", *_SECTIONS)):
        if child.tag == "caption":
            caption = inner_text(child, check_attributes)
            continue
        is_head = child.tag == "thead"
        for row in _find_elements(child, ("tr",)):
            grid.new_row()
            for cell in _find_elements(row, _CELLS):
                attributes = cell.attributes
                text, spans = inner_marked(cell, check_attributes)
                grid.add(
                    text,
                    _parse_span(attributes.get("rowspan"), ROWS_MAX) if attributes else 1,
                    max(_parse_span(attributes.get("colspan"), COLUMNS_MAX), 1) if attributes else 1,
                    is_head or cell.tag == "th",
                )
                grid.set_spans(spans)
                if has_links:
                    grid.set_links(list_links(cell, check_attributes))
    return grid.finish(budget, caption)


def _parse_span(value: str | None, limit: int) -> int:
    """The value of a span attribute; 1 if it is invalid."""
    digits = (value or "").strip()
    if not (digits.isascii() and digits.isdigit()):
        return 1
    return min(int(digits[:9]), limit)


def _find_elements(parent: LexborNode, tags: tuple[str, ...]) -> Iterator[LexborNode]:
    child = parent.child
    while child is not None:
        if child.tag in tags:
            yield child
        child = child.next
