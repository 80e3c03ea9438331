"""Read the pieces of a document from its DoclingDocument JSON, whichever program wrote it.

The items are visited from the body down, in reading order, each of them once, however often it is referenced. Page
headers and footers are left out. A table becomes one line per row, with `|` between the cells; a cell that spans
several columns or rows is put in the first of them. A caption precedes its item, unless it was visited before, and a
footnote follows it. The parts of a line that differ in style are one piece.
"""

from collections.abc import Iterable, Iterator

from inorder.documents.doctags.code_languages import UNKNOWN
from inorder.documents.doctags.record import Grid, GridCell, Item, Ref, decode_record, find_links

from .model_pieces import Sections, join_table
from .units import Piece

LEVEL_MAX = 100
"""The deepest heading level of the format."""
_KINDS = {"code": "code", "list_item": "list", "title": "heading", "section_header": "heading"}
_COLLECTIONS = (
    *("groups", "texts", "pictures", "tables"),
    *("key_value_items", "form_items", "field_regions", "field_items"),
)


def read_pieces(record: bytes) -> list[Piece]:
    """All pieces, in reading order. Raises ValueError if `record` is not a DoclingDocument."""
    found = decode_record(record)
    try:
        return list(_DocumentWalk(found.list_items(*_COLLECTIONS)).visit_below(found.body.children))
    except RecursionError as error:  # captions, footnotes and cells may be nested, too
        raise ValueError(f"not a DoclingDocument: {error}") from error


class _DocumentWalk:
    """Visits the items of a document from the body down."""

    def __init__(self, items: dict[str, Item]) -> None:
        self._unvisited = items
        self._sections = Sections()

    def visit_below(self, refs: Iterable[Ref]) -> Iterator[Piece]:
        """The pieces of these items and of all below them: depth first, without recursion, because lists may be nested
        arbitrarily deep."""
        stack = [iter(refs)]
        while stack:
            ref = next(stack[-1], None)
            if ref is None:
                stack.pop()
                continue
            item = self._unvisited.pop(ref.target, None)
            if item is None or item.content_layer != "body":
                continue
            yield from self._visit_item(item, ref.target)
            if item.children:
                stack.append(iter(item.children))

    def _visit_item(self, item: Item, ref: str) -> Iterator[Piece]:
        pages = tuple([provenance.page_no for provenance in item.prov]) if item.prov else ()
        for caption in self.visit_below(item.captions) if item.captions else ():
            yield caption._replace(pages=caption.pages or pages)
        kind, header = _KINDS.get(item.label, "text"), 0
        text = item.text.strip("\n") if kind == "code" else item.text.strip()
        if item.data is not None:
            kind, (text, header) = "table", self._join_table(item.data)
        elif item.label == "inline":
            parts = list(self.visit_below(item.children))
            text, pages = _join_inline(parts), tuple({page: None for part in parts for page in part.pages})
        if text and not text.isspace():
            if kind == "heading":
                self._sections.open(0 if item.label == "title" else min(max(1, item.level), LEVEL_MAX), text)
            language = item.code_language if kind == "code" and item.code_language != UNKNOWN else ""
            yield Piece(text, kind, ref, pages, self._sections.path, tuple(find_links(item)), header, language)
        if item.footnotes:
            yield from self.visit_below(item.footnotes)

    def _join_table(self, data: Grid) -> tuple[str, int]:
        return join_table(
            (cell.start_row_offset_idx, cell.start_col_offset_idx, self._find_text(cell), cell.column_header)
            for cell in data.table_cells
        )

    def _find_text(self, cell: GridCell) -> str:
        text = "" if cell.ref is None else self._join_cell(cell.ref)
        return text or " ".join(cell.text.split())

    def _join_cell(self, ref: Ref) -> str:
        """The text of all items in a cell. A heading there opens no section."""
        outer, self._sections = self._sections, self._sections.copy()
        text = _join_inline(self.visit_below([ref]))
        self._sections = outer
        return text


def _join_inline(parts: Iterable[Piece]) -> str:
    return " ".join(" ".join(part.text.split()) for part in parts)
