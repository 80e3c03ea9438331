"""The pieces of a document, from its DoclingDocument JSON.

Whoever has written it: the JSON is walked from its body, in reading order, and each item is taken for what its label
says. Headers and footers of pages are left out. A table becomes a line a row, its cells between bars; a cell that spans
several columns or rows stands in the first of them.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from .units import Piece

_SEPARATOR = " | "


class _Ref(msgspec.Struct, gc=False):
    target: str = msgspec.field(name="$ref")


class _Provenance(msgspec.Struct, gc=False):
    page_no: int


class _Cell(msgspec.Struct, gc=False):
    text: str = ""
    start_row_offset_idx: int = 0
    start_col_offset_idx: int = 0


class _TableData(msgspec.Struct):
    table_cells: list[_Cell] = []


class _Item(msgspec.Struct):
    """Anything in a document, as far as chunks care."""

    self_ref: str = ""
    children: list[_Ref] = []
    content_layer: str = "body"
    label: str = "text"
    prov: list[_Provenance] = []
    text: str = ""
    level: int = 1
    marker: str = ""
    captions: list[_Ref] = []
    data: _TableData | None = None


class _Record(msgspec.Struct):
    body: _Item
    groups: list[_Item] = []
    texts: list[_Item] = []
    pictures: list[_Item] = []
    tables: list[_Item] = []
    key_value_items: list[_Item] = []
    form_items: list[_Item] = []


_DECODER = msgspec.json.Decoder(_Record)
_KINDS = {"code": "code", "list_item": "list", "title": "heading", "section_header": "heading"}


def pieces_of(record: bytes) -> list[Piece]:
    """All pieces, in reading order. Raises ValueError for what is no such document."""
    try:
        document = _DECODER.decode(record)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"it is no DoclingDocument: {error}") from error
    return list(_Walk(document).pieces())


class _Walk:
    """From the body down."""

    def __init__(self, document: _Record) -> None:
        self._document = document
        self._sections: list[tuple[int, str]] = []
        """The headings that are open: level and text."""

    def pieces(self) -> Iterator[Piece]:
        """Depth first, without recursion: lists may be nested as deep as somebody liked."""
        seen: set[str] = set()
        stack = [iter(self._document.body.children)]
        while stack:
            ref = next(stack[-1], None)
            if ref is None:
                stack.pop()
                continue
            if ref.target in seen:
                continue
            seen.add(ref.target)
            item = self._item(ref.target)
            if item is None or item.content_layer != "body":
                continue
            seen.update(caption.target for caption in item.captions)
            yield from self._of(item, ref.target)
            stack.append(iter(item.children))

    def _item(self, ref: str) -> _Item | None:
        """What a pointer points to; None: nothing."""
        _, _, path = ref.partition("#/")
        kind, _, number = path.partition("/")
        found: Any = getattr(self._document, kind, None) if kind in _Record.__struct_fields__ else None
        if isinstance(found, list) and number.isdecimal() and int(number) < len(found):
            item: _Item = found[int(number)]
            return item
        return None

    def _of(self, item: _Item, ref: str) -> Iterator[Piece]:
        kind = _KINDS.get(item.label, "text")
        text = item.text.strip("\n") if kind == "code" else item.text.strip()
        if kind == "heading" and text:
            self._open(0 if item.label == "title" else max(1, item.level), text)
        page = item.prov[0].page_no if item.prov else None
        path = tuple(title for _, title in self._sections)
        for caption in item.captions:
            said = self._item(caption.target)
            if said is not None and said.text.strip():
                yield Piece(said.text.strip(), "text", caption.target, page, path)
        if item.data is not None:
            kind, text = "table", _rows(item.data)
        if text:
            yield Piece(text, kind, ref, page, path)

    def _open(self, level: int, text: str) -> None:
        while self._sections and self._sections[-1][0] >= level:
            self._sections.pop()
        self._sections.append((level, text))


def _rows(data: _TableData) -> str:
    rows: dict[int, list[tuple[int, str]]] = {}
    for cell in data.table_cells:
        if text := " ".join(cell.text.split()):
            rows.setdefault(cell.start_row_offset_idx, []).append((cell.start_col_offset_idx, text))
    return "\n".join(_SEPARATOR.join(text for _, text in sorted(rows[row])) for row in sorted(rows))
