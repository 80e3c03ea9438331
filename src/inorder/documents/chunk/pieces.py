"""The pieces of a document, from its DoclingDocument JSON.

Whoever has written it: the JSON is walked from its body, in reading order, and each item is taken for what its label
says, once, however often it is pointed to. Headers and footers of pages are left out. A table becomes a line a row, its
cells between bars; a cell that spans several columns or rows stands in the first of them. A caption stands before what
it belongs to, unless it was read before, and a footnote behind it. The parts of a line that differ in style are one
piece. Half a surrogate pair, which no file can hold, becomes the replacement character.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated

import msgspec

from .units import Piece

TITLE_CHARACTERS_MAX = 1000
"""Of a title in a section path, which is written with every chunk: a whole page may be called a heading by mistake."""
LEVEL_MAX = 100
"""Of sections within sections, as the format has it."""
_SEPARATOR = " | "
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)", re.DOTALL)
_PageNumber = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]


class _Ref(msgspec.Struct, gc=False):
    target: str = msgspec.field(name="$ref")


class _Provenance(msgspec.Struct, gc=False):
    page_no: _PageNumber


class _Cell(msgspec.Struct, gc=False):
    text: str = ""
    start_row_offset_idx: int = 0
    start_col_offset_idx: int = 0
    ref: _Ref | None = None
    """What it holds, if that is more than text."""


class _TableData(msgspec.Struct):
    table_cells: list[_Cell] = []


class _Item(msgspec.Struct):
    """Anything in a document, as far as chunks care."""

    children: list[_Ref] = []
    content_layer: str = "body"
    label: str = "text"
    prov: list[_Provenance] = []
    text: str = ""
    level: int = 1
    captions: list[_Ref] = []
    footnotes: list[_Ref] = []
    data: _TableData | None = None


class _Record(msgspec.Struct):
    body: _Item
    groups: list[_Item] = []
    texts: list[_Item] = []
    pictures: list[_Item] = []
    tables: list[_Item] = []
    key_value_items: list[_Item] = []
    form_items: list[_Item] = []
    field_regions: list[_Item] = []
    field_items: list[_Item] = []


_DECODER = msgspec.json.Decoder(_Record)
_KINDS = {"code": "code", "list_item": "list", "title": "heading", "section_header": "heading"}


def pieces_of(record: bytes) -> list[Piece]:
    """All pieces, in reading order. Raises ValueError for what is no such document."""
    try:
        return list(_Walk(_decoded(record)).pieces())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"it is no DoclingDocument: {error}") from error


def _decoded(record: bytes) -> _Record:
    try:
        return _DECODER.decode(record)
    except msgspec.DecodeError:
        whole = _ESCAPE.sub(_without_half_a_pair, record)
        if whole == record:
            raise
        return _DECODER.decode(whole)


def _without_half_a_pair(escape: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if escape.group(1) else escape.group()


class _Walk:
    """From the body down."""

    def __init__(self, document: _Record) -> None:
        self._body = document.body
        self._items = {
            f"#/{kind}/{number}": item
            for kind in _Record.__struct_fields__[1:]
            for number, item in enumerate(getattr(document, kind))
        }
        """Those that were not read yet."""
        self._sections: list[tuple[int, str]] = []
        """The headings that are open: level and text."""
        self._path: tuple[str, ...] = ()

    def pieces(self) -> Iterator[Piece]:
        """All there are."""
        return self._below(self._body.children)

    def _below(self, refs: Iterable[_Ref]) -> Iterator[Piece]:
        """Depth first, without recursion: lists may be nested as deep as somebody liked."""
        stack = [iter(refs)]
        while stack:
            ref = next(stack[-1], None)
            if ref is None:
                stack.pop()
                continue
            item = self._items.pop(ref.target, None)
            if item is None or item.content_layer != "body":
                continue
            yield from self._of(item, ref.target)
            stack.append(iter(item.children))

    def _of(self, item: _Item, ref: str) -> Iterator[Piece]:
        pages = tuple([place.page_no for place in item.prov])
        for caption in self._below(item.captions):
            yield caption._replace(pages=caption.pages or pages)
        kind = _KINDS.get(item.label, "text")
        text = item.text.strip("\n") if kind == "code" else item.text.strip()
        if item.data is not None:
            kind, text = "table", self._rows(item.data)
        elif item.label == "inline":
            parts = list(self._below(item.children))
            text, pages = _in_line(parts), tuple({page: None for part in parts for page in part.pages})
        if text and not text.isspace():
            if kind == "heading":
                self._open(0 if item.label == "title" else min(max(1, item.level), LEVEL_MAX), text)
            yield Piece(text, kind, ref, pages, self._path)
        yield from self._below(item.footnotes)

    def _open(self, level: int, text: str) -> None:
        while self._sections and self._sections[-1][0] >= level:
            self._sections.pop()
        self._sections.append((level, text[:TITLE_CHARACTERS_MAX]))
        self._path = tuple([title for _, title in self._sections])

    def _rows(self, data: _TableData) -> str:
        rows: dict[int, list[tuple[int, str]]] = {}
        for cell in data.table_cells:
            text = " ".join(cell.text.split())
            if cell.ref is not None:
                text = self._held(cell.ref) or text
            if text:
                rows.setdefault(cell.start_row_offset_idx, []).append((cell.start_col_offset_idx, text))
        return "\n".join(_SEPARATOR.join(text for _, text in sorted(rows[row])) for row in sorted(rows))

    def _held(self, ref: _Ref) -> str:
        """Everything in a cell. A heading there opens no section."""
        sections, path = list(self._sections), self._path
        text = _in_line(self._below([ref]))
        self._sections, self._path = sections, path
        return text


def _in_line(parts: Iterable[Piece]) -> str:
    return " ".join(" ".join(part.text.split()) for part in parts)
