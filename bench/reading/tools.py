"""The tools that are compared, and what each read of a document, in one form."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

from .scores import Content, Grid, GridCell, Heading

if TYPE_CHECKING:
    from inorder.documents import model

_FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
_MARKUP = re.compile(r"\*\*|__|\[([^\]]*)\]\([^)]*\)|!\[[^\]]*\]\([^)]*\)|<!--.*?-->|</?[a-z][^>]*>", re.DOTALL)
_RULE_ROW = re.compile(r"^\|?[\s:|-]+\|?$")


def read_inorder(path: Path) -> Content:
    """What inorder read."""
    return read_content(path.read_bytes())


def read_content(data: bytes) -> Content:
    """What inorder reads in the bytes of a PDF."""
    from inorder.documents import model
    from inorder.documents.readers.pdf.reader import read

    parts: list[str] = []
    headings: list[Heading] = []
    tables: list[Grid] = []
    code: list[str] = []
    for block in read(data, "document").blocks:
        match block:
            case model.Furniture():
                continue
            case model.Table():
                cells = sorted(block.cells, key=lambda cell: (cell.row, cell.column))
                tables.append(_complete_grid(block))
                parts += [block.caption, *(cell.text for cell in cells)]
            case model.Picture():
                parts.append(block.caption)
            case model.Title():
                headings.append((0, block.text))
                parts.append(block.text)
            case model.Heading():
                headings.append((block.level, block.text))
                parts.append(block.text)
            case model.ListItem():
                parts += [block.marker if block.ordered else "", block.text]
            case model.Code():
                code.append(block.text)
                parts.append(block.text)
            case _:
                parts.append(block.text)
    return Content(" ".join(part for part in parts if part), headings, tables, code, [])


def _complete_grid(table: "model.Table") -> Grid:
    """The cells of a table with the empty ones, which its grid has too."""
    covered = {
        (row, column)
        for cell in table.cells
        for row in range(cell.row, cell.row + cell.rows)
        for column in range(cell.column, cell.column + cell.columns)
    }
    empty = [
        GridCell("", row, column)
        for row in range(table.rows)
        for column in range(table.columns)
        if (row, column) not in covered
    ]
    filled = [GridCell(cell.text, cell.row, cell.column, cell.rows, cell.columns) for cell in table.cells]
    return sorted(filled + empty, key=lambda cell: (cell.row, cell.column))


def read_kreuzberg(path: Path) -> Content:
    """What kreuzberg read, as Markdown."""
    import kreuzberg

    config = kreuzberg.ExtractionConfig(output_format="markdown")
    return parse_markdown(kreuzberg.extract_file_sync(str(path), config=config).content)


def read_markitdown(path: Path) -> Content:
    """What markitdown read."""
    from markitdown import MarkItDown

    return parse_markdown(MarkItDown().convert(str(path)).text_content)


def read_liteparse(path: Path) -> Content:
    """What liteparse read, as Markdown and without OCR."""
    from liteparse import LiteParse

    return parse_markdown(LiteParse(output_format="markdown", ocr_enabled=False, quiet=True).parse(str(path)).text)


def read_pdf_inspector(path: Path) -> Content:
    """What pdf-inspector read, as Markdown."""
    import pdf_inspector

    return parse_markdown(pdf_inspector.process_pdf(str(path)).markdown or "")


def read_pdfplumber(path: Path) -> Content:
    """The text that pdfplumber read."""
    import pdfplumber

    with pdfplumber.open(path) as file:
        return parse_markdown("\n".join(page.extract_text() for page in file.pages))


TOOLS: dict[str, Callable[[Path], Content]] = {
    "inorder": read_inorder,
    "kreuzberg": read_kreuzberg,
    "liteparse": read_liteparse,
    "pdf-inspector": read_pdf_inspector,
    "markitdown": read_markitdown,
    "pdfplumber": read_pdfplumber,
}


def parse_markdown(text: str) -> Content:
    """The content of Markdown with tables of pipes or HTML."""
    code = [match.group(1).rstrip("\n") for match in _FENCE.finditer(text)]
    text = _FENCE.sub(lambda match: f"\n{match.group(1)}\n", text)
    tables = [_parse_html_table(match.group()) for match in re.finditer(r"<table.*?</table>", text, re.DOTALL)]
    headings: list[Heading] = []
    parts: list[str] = []
    rows: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        stripped = line.strip()
        if stripped.startswith("|") and stripped.count("|") > 1:
            if not _RULE_ROW.match(stripped):
                rows.append([_plain(cell) for cell in re.split(r"(?<!\\)\|", stripped.strip("|"))])
                parts += rows[-1]
            continue
        if rows:
            tables.append([GridCell(cell, row, at) for row, cells in enumerate(rows) for at, cell in enumerate(cells)])
            rows = []
        match = _HEADING.match(stripped)
        if match:
            headings.append((len(match.group(1)), _plain(match.group(2))))
            stripped = match.group(2)
        parts.append(_plain(stripped))
    return Content(" ".join(part for part in parts if part), headings, tables, code, [])


def _plain(text: str) -> str:
    text = _MARKUP.sub(lambda match: match.group(1) or "", text)
    return re.sub(r"\\([\\`*_{}\[\]()#+\-.!|<>])", r"\1", text).strip().strip("*_")


class _TableParser(HTMLParser):
    """Collects the cells of an HTML table."""

    def __init__(self) -> None:
        super().__init__()
        self.grid: Grid = []
        self._taken: set[tuple[int, int]] = set()
        self._row = -1
        self._cell: list[str] | None = None
        self._spans = (1, 1)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self._row += 1
        elif tag in ("td", "th"):
            given = dict(attrs)
            self._cell = []
            self._spans = int(given.get("rowspan") or 1), int(given.get("colspan") or 1)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("td", "th") or self._cell is None:
            return
        column = 0
        while (self._row, column) in self._taken:
            column += 1
        rows, columns = self._spans
        self._taken |= {(self._row + down, column + right) for down in range(rows) for right in range(columns)}
        self.grid.append(GridCell(" ".join("".join(self._cell).split()), self._row, column, rows, columns))
        self._cell = None

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)


def _parse_html_table(markup: str) -> Grid:
    parser = _TableParser()
    parser.feed(markup)
    return parser.grid
