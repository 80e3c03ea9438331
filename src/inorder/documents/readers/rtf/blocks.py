"""Builds blocks from the text and the paragraph properties of an RTF file."""

import re

from inorder.documents.model import AnyBlock, Heading, ListItem, Paragraph, Title
from inorder.documents.readers.table_grid import TableBudget, TableGrid
from inorder.documents.readers.whitespace import collapse_whitespace

LEVELS = 9
_HEADING = re.compile(r"heading (\d)", re.I)
_SURROGATE = re.compile("[\ud800-\udfff]")
_INDENT = 360
"""Units of length (twips) by which a list is indented at least."""
_WRITTEN_MARKER = re.compile("([\u2022\u25e6\u25aa\u00b7\u2013-]|\\d{1,3}[.)]) (?=.)")
"""The marker of a list item that is part of its text."""
_ORDERED = re.compile(r"[(\[]?(?:\d+|[A-Za-z]{1,6})[.):\]]?")


class RtfBlocks:
    """The blocks so far, and the open paragraph, table and note."""

    def __init__(self, budget: TableBudget) -> None:
        self._blocks: list[AnyBlock] = []
        self._notes: list[AnyBlock] = []
        self._budget = budget
        self._headings: dict[int, int] = {}
        self._titles: set[int] = set()
        self._parts: list[str] = []
        self._saved: list[list[str]] = []
        self._marker = ""
        self._style = 0
        self._outline = LEVELS
        self._depth = 0
        self._indent = 0
        self._is_hanging = False
        self._is_in_table = False
        self._grid: TableGrid | None = None
        self._row: list[str] = []
        self._cell: list[str] = []

    def define_style(self, number: int, name: str) -> None:
        """Remember a style that is a heading or the title."""
        name = name.strip().rstrip(";").strip()
        if match := _HEADING.fullmatch(name):
            self._headings[number] = int(match.group(1))
        elif name.lower() == "title":
            self._titles.add(number)

    def add_text(self, text: str) -> None:
        self._parts.append(text)

    def handle(self, word: str, number: int | None) -> None:
        """Handle a control word that is about paragraphs or tables."""
        match word:
            case "par" | "sect" | "page":
                self.end_paragraph()
            case "pard":
                self._style, self._outline, self._depth, self._is_in_table = 0, LEVELS, 0, False
                self._indent, self._is_hanging = 0, False
            case "s":
                self._style = number or 0
            case "outlinelevel":
                self._outline = number if number is not None and 0 <= number < LEVELS else LEVELS
            case "fi":
                self._is_hanging = (number or 0) < 0
            case "li":
                self._indent = min(max(number or 0, 0), LEVELS * _INDENT)
            case "ilvl":
                self._depth = min(max(number or 0, 0), LEVELS)
            case "intbl":
                self._is_in_table = True
            case "cell" | "nestcell":
                self._end_cell()
            case "row" | "nestrow":
                self._end_row()

    def end_marker(self) -> None:
        if self._saved:
            self._marker = collapse_whitespace("".join(self._parts))
            self._parts = self._saved.pop()

    def begin_apart(self) -> None:
        """Begin the text of a marker or a note."""
        self._saved.append(self._parts)
        self._parts = []

    def end_note(self) -> None:
        if self._saved:
            text = self._take_text()
            self._parts = self._saved.pop()
            if text:
                self._notes.append(Paragraph(text=text))

    def end_paragraph(self) -> None:
        """End the open paragraph."""
        if self._saved:  # within a note
            self._parts.append(" ")
            return
        text = self._take_text()
        marker, self._marker = self._marker, ""
        if self._is_in_table:
            self._cell += [text] if text else []
            return
        self._end_table()
        if text:
            self._blocks.append(self._make_block(text, marker))

    def finish(self) -> list[AnyBlock]:
        """All blocks; notes come last."""
        self._parts = [part for parts in (*self._saved, self._parts) for part in parts]  # it may end within a note
        self._saved.clear()
        self._is_in_table = self._is_in_table and self._grid is not None
        self.end_paragraph()
        if self._cell or self._row:
            self._end_row()
        self._end_table()
        return [*self._blocks, *self._notes]

    def _make_block(self, text: str, marker: str) -> AnyBlock:
        if self._style in self._titles:
            return Title(text=text)
        if self._style in self._headings:
            return Heading(text=text, level=self._headings[self._style])
        if self._outline < LEVELS:
            return Heading(text=text, level=self._outline + 1)
        if self._is_hanging and not marker and (match := _WRITTEN_MARKER.match(text)):
            marker, text = match.group(1), text[match.end() :]
            self._depth = max(self._indent // _INDENT - 1, 0)
        if marker:
            is_ordered = _ORDERED.fullmatch(marker) is not None
            return ListItem(text=text, depth=self._depth, ordered=is_ordered, marker=marker if is_ordered else "-")
        return Paragraph(text=text)

    def _take_text(self) -> str:
        text = "".join(self._parts)
        self._parts.clear()
        if _SURROGATE.search(text):
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return collapse_whitespace(text.replace("\0", ""))

    def _end_cell(self) -> None:
        text = self._take_text()
        self._row.append(" ".join([*self._cell, *([text] if text else [])]))
        self._cell = []
        self._marker = ""

    def _end_row(self) -> None:
        if self._cell:
            self._end_cell()
        if self._grid is None:
            self._grid = TableGrid()
        self._grid.add_row(self._row, is_header=False)
        self._row = []

    def _end_table(self) -> None:
        if self._grid is not None:
            self._blocks += self._grid.finish(self._budget)
            self._grid = None
