"""The pieces of a document of the model: its blocks in reading order, as far as chunking needs them.

The result is the same as that of `read_pieces` for the JSON of the document, references included, without writing and
parsing that JSON. Page headers and footers are left out. A table becomes one line per row, with `|` between the cells;
a cell that spans several columns or rows is put in the first of them. A caption precedes its table or picture.
"""

from collections.abc import Iterator
from itertools import takewhile

from inorder.documents.doctags.cells import count_header_rows, is_column_header
from inorder.documents.doctags.code_languages import UNKNOWN, language_name
from inorder.documents.doctags.outline import ListNode, OutlineItem, group_lists
from inorder.documents.doctags.provenance import Dimensions, page_sizes
from inorder.documents.doctags.tags import heading_level
from inorder.documents.model import Block, Code, Document, Furniture, Heading, ListItem, Picture, Table, Title

from .units import Piece

TITLE_CHARACTERS_MAX = 1000
"""Limit for a title in a section path, which every chunk repeats: a whole page may be labelled a heading by mistake."""
SEPARATOR = " | "
_KINDS: dict[type, str] = {Title: "heading", Heading: "heading", Code: "code", ListItem: "list"}


def list_pieces(document: Document) -> list[Piece]:
    """Return all pieces, in reading order."""
    return list(_BlockWalk(page_sizes(document)).visit_all(group_lists(document.blocks)))


class Sections:
    """The headings that enclose the next piece."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []
        """Level and text of each."""
        self.path: tuple[str, ...] = ()
        """Their texts, outermost first."""

    def copy(self) -> "Sections":
        """Return a copy, which can be changed by itself."""
        found = Sections()
        found._open, found.path = list(self._open), self.path
        return found

    def open(self, level: int, text: str) -> None:
        """Begin a section with this heading. It ends those of its level and below."""
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self._open.append((level, text[:TITLE_CHARACTERS_MAX]))
        self.path = tuple([title for _, title in self._open])


class _BlockWalk:
    """Visits blocks in reading order, and counts texts and tables as the JSON of the document does."""

    def __init__(self, sizes: dict[int, Dimensions]) -> None:
        self._sizes = sizes
        self._sections = Sections()
        self._texts = self._tables = 0

    def visit_all(self, units: list[OutlineItem]) -> Iterator[Piece]:
        """Yield the pieces of all units."""
        for unit in units:
            kind = type(unit)
            if kind is Furniture:
                self._texts += 1
            elif isinstance(unit, ListNode):
                yield from self._visit_list(unit)
            elif isinstance(unit, Table):
                yield from self._visit_table(unit)
            elif isinstance(unit, Picture):
                yield from self._visit_caption(unit.caption, self._find_pages(unit))
            else:
                yield from self._visit_text(unit, unit.text)

    def _visit_text(self, block: Block, text: str) -> Iterator[Piece]:
        ref, kind = self._count_text(), _KINDS.get(type(block), "text")
        text = text.strip("\n") if kind == "code" else text.strip()
        if not text or text.isspace():
            return
        if kind == "heading":
            self._sections.open(heading_level(block) if isinstance(block, Heading) else 0, text)
        language = language_name(block.language) if isinstance(block, Code) else UNKNOWN
        known = language if language != UNKNOWN else ""
        yield Piece(text, kind, ref, self._find_pages(block), self._sections.path, tuple(block.links), 0, known)

    def _visit_list(self, node: ListNode) -> Iterator[Piece]:
        for entry in node.entries:
            if isinstance(entry, ListNode):
                yield from self._visit_list(entry)
            else:
                yield from self._visit_text(entry, entry.text)

    def _visit_table(self, table: Table) -> Iterator[Piece]:
        pages, ref = self._find_pages(table), f"#/tables/{self._tables}"
        self._tables += 1
        yield from self._visit_caption(table.caption, pages)
        header_rows = count_header_rows(table)
        text, header = join_table(
            (cell.row, cell.column, " ".join(cell.text.split()), is_column_header(cell, header_rows))
            for cell in table.cells
        )
        if text:
            links = tuple([link for cell in table.cells for link in cell.links])
            yield Piece(text, "table", ref, pages, self._sections.path, links, header)

    def _visit_caption(self, caption: str, pages: tuple[int, ...]) -> Iterator[Piece]:
        if not caption:
            return
        ref, text = self._count_text(), caption.strip()
        if text:
            yield Piece(text, "text", ref, pages, self._sections.path)

    def _count_text(self) -> str:
        """The reference of the next text."""
        self._texts += 1
        return f"#/texts/{self._texts - 1}"

    def _find_pages(self, block: Block) -> tuple[int, ...]:
        page = block.page
        return (page,) if page is not None and page in self._sizes else ()


def join_table(cells: Iterator[tuple[int, int, str, bool]]) -> tuple[str, int]:
    """Return the text of a table, one line per row, and how many characters of it are the header: the rows at the top
    that consist of column headers. The arguments are the row, the column and the text of each cell, and whether it is
    a column header."""
    rows: dict[int, list[tuple[int, str]]] = {}
    plain = set()
    for row, column, text, is_header in cells:
        if text:
            rows.setdefault(row, []).append((column, text))
            if not is_header:
                plain.add(row)
    lines = {row: SEPARATOR.join(text for _, text in sorted(rows[row])) for row in sorted(rows)}
    top = takewhile(lambda row: row not in plain, lines)
    return "\n".join(lines.values()), sum(len(lines[row]) + 1 for row in top)
