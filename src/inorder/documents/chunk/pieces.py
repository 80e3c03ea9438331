"""Read the pieces of a document from its DoclingDocument JSON, whichever program wrote it.

The items are visited from the body down, in reading order, each of them once, however often it is referenced. Page
headers and footers are left out. A table becomes one line per row, with `|` between the cells; a cell that spans
several columns or rows is put in the first of them. A caption precedes its item, unless it was visited before, and a
footnote follows it. The parts of a line that differ in style are one piece. A lone surrogate, which UTF-8 cannot
encode, becomes the replacement character.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated

import msgspec

from .model_pieces import Sections, join_table
from .units import Piece

LEVEL_MAX = 100
"""The deepest heading level of the format."""
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)", re.DOTALL)
_PageNumber = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]


class _RecordRef(msgspec.Struct, gc=False):
    target: str = msgspec.field(name="$ref")


class _Provenance(msgspec.Struct, gc=False):
    page_no: _PageNumber


class _RecordCell(msgspec.Struct, gc=False):
    text: str = ""
    start_row_offset_idx: int = 0
    start_col_offset_idx: int = 0
    ref: _RecordRef | None = None
    """The item in the cell, if it contains more than text."""


class _TableData(msgspec.Struct):
    table_cells: list[_RecordCell] = []


class _RecordItem(msgspec.Struct):
    """An item of a document, as far as chunking needs it."""

    children: list[_RecordRef] = []
    content_layer: str = "body"
    label: str = "text"
    prov: list[_Provenance] = []
    text: str = ""
    level: int = 1
    captions: list[_RecordRef] = []
    footnotes: list[_RecordRef] = []
    data: _TableData | None = None


class _Record(msgspec.Struct):
    body: _RecordItem
    groups: list[_RecordItem] = []
    texts: list[_RecordItem] = []
    pictures: list[_RecordItem] = []
    tables: list[_RecordItem] = []
    key_value_items: list[_RecordItem] = []
    form_items: list[_RecordItem] = []
    field_regions: list[_RecordItem] = []
    field_items: list[_RecordItem] = []


_DECODER = msgspec.json.Decoder(_Record)
_KINDS = {"code": "code", "list_item": "list", "title": "heading", "section_header": "heading"}


def read_pieces(record: bytes) -> list[Piece]:
    """All pieces, in reading order. Raises ValueError if `record` is not a DoclingDocument."""
    try:
        return list(_DocumentWalk(_decode(record)).pieces())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not a DoclingDocument: {error}") from error


def _decode(record: bytes) -> _Record:
    try:
        return _DECODER.decode(record)
    except msgspec.DecodeError:
        repaired = _ESCAPE.sub(_replace_lone_surrogate, record)
        if repaired == record:
            raise
        return _DECODER.decode(repaired)


def _replace_lone_surrogate(escape: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if escape.group(1) else escape.group()


class _DocumentWalk:
    """Visits the items of a document from the body down."""

    def __init__(self, document: _Record) -> None:
        self._body = document.body
        self._unvisited = {
            f"#/{kind}/{number}": item
            for kind in _Record.__struct_fields__[1:]
            for number, item in enumerate(getattr(document, kind))
        }
        self._sections = Sections()

    def pieces(self) -> Iterator[Piece]:
        """All pieces of the document."""
        return self._visit_below(self._body.children)

    def _visit_below(self, refs: Iterable[_RecordRef]) -> Iterator[Piece]:
        """Depth first, without recursion: lists may be nested arbitrarily deep."""
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

    def _visit_item(self, item: _RecordItem, ref: str) -> Iterator[Piece]:
        pages = tuple([provenance.page_no for provenance in item.prov]) if item.prov else ()
        for caption in self._visit_below(item.captions) if item.captions else ():
            yield caption._replace(pages=caption.pages or pages)
        kind = _KINDS.get(item.label, "text")
        text = item.text.strip("\n") if kind == "code" else item.text.strip()
        if item.data is not None:
            kind, text = "table", self._join_table(item.data)
        elif item.label == "inline":
            parts = list(self._visit_below(item.children))
            text, pages = _join_inline(parts), tuple({page: None for part in parts for page in part.pages})
        if text and not text.isspace():
            if kind == "heading":
                self._sections.open(0 if item.label == "title" else min(max(1, item.level), LEVEL_MAX), text)
            yield Piece(text, kind, ref, pages, self._sections.path)
        if item.footnotes:
            yield from self._visit_below(item.footnotes)

    def _join_table(self, data: _TableData) -> str:
        return join_table(
            (cell.start_row_offset_idx, cell.start_col_offset_idx, self._find_text(cell)) for cell in data.table_cells
        )

    def _find_text(self, cell: _RecordCell) -> str:
        text = "" if cell.ref is None else self._join_cell(cell.ref)
        return text or " ".join(cell.text.split())

    def _join_cell(self, ref: _RecordRef) -> str:
        """The text of all items in a cell. A heading there opens no section."""
        outer, self._sections = self._sections, self._sections.copy()
        text = _join_inline(self._visit_below([ref]))
        self._sections = outer
        return text


def _join_inline(parts: Iterable[Piece]) -> str:
    return " ".join(" ".join(part.text.split()) for part in parts)
