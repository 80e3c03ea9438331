"""Writes a document as Markdown: CommonMark with the tables of GitHub.

Text is escaped where Markdown would read it as syntax, and nowhere else. A table with cells that span several places
repeats their text in each of them, because the tables of Markdown have no spans. Page headers and footers are left out.
Values of form fields, notes and stamps have their kind before them.
"""

import re
from collections.abc import Iterator

from inorder.documents.model import (
    Cell,
    Code,
    Document,
    Formula,
    Heading,
    ListItem,
    Paragraph,
    Picture,
    Table,
    Title,
)

from .cells import count_header_rows, expand_grid
from .markdown_text import escape, write_text
from .outline import ListNode, OutlineItem, group_lists

_LEVEL_MAX = 6
_BLOCK_START = re.compile(r"(?=#{1,6}(?:\s|$)|[-+](?:\s|$)|>|=+\s*$|-+\s*$|\|)|\d{1,9}(?=[.)](?:\s|$))")
_FOOTNOTE = re.compile(r"\A(\[\^[^\]]+\]) ")
_FENCE = re.compile(r"^`{3,}", re.MULTILINE)


def write_markdown(document: Document) -> str:
    """The Markdown of a document; it ends with a line break, unless it is empty."""
    parts = [part for unit in group_lists(document.blocks) if (part := _write_unit(unit))]
    return "".join(f"{part}\n\n" for part in parts).removesuffix("\n")


def _escape_start(text: str) -> str:
    """Escape a line that would begin a block of another kind."""
    found = _BLOCK_START.match(text)
    return text if found is None else f"{found.group()}\\{text[found.end() :]}"


def _write_unit(unit: OutlineItem) -> str:
    """A block or list; empty: it is left out."""
    match unit:
        case Paragraph():
            return _write_paragraph(unit)
        case Heading() | Title():  # a heading is one level below the title of the document
            level = max(unit.level, 1) + 1 if isinstance(unit, Heading) else 1
            return f"{'#' * min(level, _LEVEL_MAX)} {_write_heading(unit)}"
        case ListNode():
            return "\n".join(_write_entries(unit, ""))
        case Code():
            return _write_code(unit)
        case Formula():
            text = unit.text.strip()
            return f"$$\n{text}\n$$" if text else ""
        case Table():
            return _write_table(unit)
        case Picture():
            return _write_caption(unit.caption)
    return ""


def _write_heading(block: Heading | Title) -> str:
    """The text of a heading. Emphasis of the whole of it is left out."""
    spans = [span for span in block.spans if span[0] == "code" or span[1] > 0 or span[2] < len(block.text)]
    return re.sub(r"(?<!\S)(#+)$", r"\\\1", write_text(block.text, block.links, spans))


def _write_paragraph(block: Paragraph) -> str:
    text = write_text(block.text, block.links, block.spans)
    match block.source:
        case "":
            return _escape_start(text)
        case "footnote":
            return _FOOTNOTE.sub(r"\1: ", text)
    return f"*({block.source})* {text}"


def _write_code(block: Code) -> str:
    longest = max((len(found) for found in _FENCE.findall(block.text)), default=2)
    fence = "`" * (longest + 1)
    language = block.language.partition(" ")[0].replace("`", "")
    text = block.text.removesuffix("\n")
    return f"{fence}{language}\n{text}\n{fence}"


def _write_caption(caption: str) -> str:
    return f"*{escape(caption)}*" if caption.strip() else ""


def _write_table(table: Table) -> str:
    """A table. Its first row is the header, as GitHub demands; a table without headers has an empty one."""
    grid = [[_write_cell(cell) if cell is not None else "" for cell in row] for row in expand_grid(table)]
    if not table.columns or not any(any(row) for row in grid):
        return _write_caption(table.caption)
    header = grid.pop(0) if count_header_rows(table) else [""] * table.columns
    lines = [header, ["---"] * table.columns, *grid]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    caption = _write_caption(table.caption)
    return f"{caption}\n\n{body}" if caption else body


def _write_cell(cell: Cell) -> str:
    return write_text(cell.text, cell.links, cell.spans).replace("|", "\\|")


def _write_entries(node: ListNode, indent: str) -> Iterator[str]:
    number, marker = 0, ""
    for entry in node.entries:
        if isinstance(entry, ListNode):
            yield from _write_entries(entry, indent + " " * (len(marker) + 1))
            continue
        number += 1
        marker = f"{_find_number(entry.marker, number)}." if node.ordered else "-"
        yield f"{indent}{marker} {_write_item(entry)}".rstrip()


def _write_item(item: ListItem) -> str:
    return _escape_start(write_text(item.text, item.links, item.spans))


def _find_number(marker: str, number: int) -> int:
    digits = marker.strip(" .()")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else number
