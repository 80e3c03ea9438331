"""Reads a document from DoclingDocument JSON, whichever program wrote it: the inverse of `docling_json`.

Items are visited from the body down, each of them once. What the model has no block for is a paragraph: footnotes,
captions without a table or picture, check boxes. Positions on pages are left out, and so are pages.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from inorder.documents.model import (
    AnyBlock,
    Cell,
    Code,
    Document,
    Formula,
    Furniture,
    Heading,
    ListItem,
    Paragraph,
    Picture,
    Table,
    Title,
)

from .code_languages import UNKNOWN

T = TypeVar("T")
READER = "docling"
_LINK = re.compile(r"\[([^\[\]]+)\]\(([^()]*)\)")
_LISTS = ("list", "ordered_list")


class _ItemRef(msgspec.Struct, gc=False):
    target: str = msgspec.field(name="$ref")


class _GridCell(msgspec.Struct, gc=False):
    text: str = ""
    start_row_offset_idx: int = 0
    start_col_offset_idx: int = 0
    row_span: int = 1
    col_span: int = 1
    column_header: bool = False
    row_header: bool = False


class _Grid(msgspec.Struct):
    table_cells: list[_GridCell] = []
    num_rows: int = 0
    num_cols: int = 0


class _Item(msgspec.Struct):
    """An item of any kind."""

    children: list[_ItemRef] = []
    label: str = "text"
    text: str = ""
    orig: str = ""
    level: int = 1
    enumerated: bool = False
    marker: str = "-"
    code_language: str = ""
    captions: list[_ItemRef] = []
    data: _Grid | None = None


class _Origin(msgspec.Struct):
    mimetype: str = ""


class _DoclingRecord(msgspec.Struct):
    body: _Item
    name: str = ""
    origin: _Origin | None = None
    groups: list[_Item] = []
    texts: list[_Item] = []
    pictures: list[_Item] = []
    tables: list[_Item] = []
    pages: dict[str, msgspec.Raw] = {}


_DECODER = msgspec.json.Decoder(_DoclingRecord)


class RecordSummary(msgspec.Struct):
    """What the record says of the document as a whole."""

    name: str = ""
    origin: _Origin | None = None
    pages: dict[str, msgspec.Raw] = {}

    @property
    def mimetype(self) -> str:
        """The kind of the source file; empty: unknown."""
        return "" if self.origin is None else self.origin.mimetype


_SUMMARY = msgspec.json.Decoder(RecordSummary)


def read_summary(record: bytes) -> RecordSummary:
    """The name, the kind and the pages of a document. Raises ValueError if `record` is not a DoclingDocument."""
    return _decode(_SUMMARY, record)


def read_record(record: bytes) -> Document:
    """The document. Raises ValueError if `record` is not a DoclingDocument."""
    found = _decode(_DECODER, record)
    blocks = list(_Walk(found).visit(found.body.children, depth=-1))
    mimetype = "" if found.origin is None else found.origin.mimetype
    return Document(name=found.name, mimetype=mimetype, blocks=blocks, reader=READER)


def _decode(decoder: "msgspec.json.Decoder[T]", record: bytes) -> T:
    try:
        return decoder.decode(record)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"not a DoclingDocument: {error}") from error


class _Walk:
    """Visits the items of a record, each once."""

    def __init__(self, record: _DoclingRecord) -> None:
        self._unvisited = {
            f"#/{kind}/{number}": item
            for kind in ("groups", "texts", "pictures", "tables")
            for number, item in enumerate(getattr(record, kind))
        }

    def visit(self, refs: Iterable[_ItemRef], depth: int) -> Iterator[AnyBlock]:
        """The blocks below some items. `depth` is that of the enclosing list; -1: there is none."""
        stack = [(iter(refs), depth)]
        while stack:
            children, depth = stack[-1]
            ref = next(children, None)
            if ref is None:
                stack.pop()
                continue
            item = self._unvisited.pop(ref.target, None)
            if item is None:
                continue
            if item.label == "inline":
                yield Paragraph(text=" ".join(self._list_texts(item.children)))
            elif ref.target.startswith("#/groups/"):
                stack.append((iter(item.children), depth + 1 if item.label in _LISTS else depth))
                continue
            else:
                yield self._make_block(item, max(depth, 0))
            if item.children:
                stack.append((iter(item.children), depth))

    def _make_block(self, item: _Item, depth: int) -> AnyBlock:
        match item.label:
            case "title":
                return Title(text=item.text)
            case "section_header":
                return Heading(text=item.text, level=max(1, item.level))
            case "list_item":
                return ListItem(text=item.text, depth=depth, ordered=item.enumerated, marker=item.marker)
            case "code":
                language = "" if item.code_language == UNKNOWN else item.code_language.lower()
                return Code(text=item.text, language=language)
            case "formula":
                return Formula(text=item.text or item.orig)
            case "page_header":
                return Furniture(text=item.text, kind="header")
            case "page_footer":
                return Furniture(text=item.text, kind="footer")
            case "picture" | "chart":
                return Picture(caption=self._read_caption(item))
        if item.data is not None:
            return self._make_table(item, item.data)
        return Paragraph(text=item.text, links=_find_links(item))

    def _make_table(self, item: _Item, data: _Grid) -> Table:
        cells = [
            Cell(
                cell.text,
                cell.start_row_offset_idx,
                cell.start_col_offset_idx,
                cell.row_span,
                cell.col_span,
                cell.column_header or cell.row_header,
            )
            for cell in data.table_cells
        ]
        return Table(rows=data.num_rows, columns=data.num_cols, cells=cells, caption=self._read_caption(item))

    def _read_caption(self, item: _Item) -> str:
        return " ".join(self._list_texts(item.captions))

    def _list_texts(self, refs: Iterable[_ItemRef]) -> Iterator[str]:
        for ref in refs:
            item = self._unvisited.pop(ref.target, None)
            if item is not None and item.text:
                yield item.text


def _find_links(item: _Item) -> list[tuple[str, str]]:
    """The links of a paragraph, if `orig` is its text with links in Markdown."""
    if item.orig == item.text or _LINK.sub(r"\1", item.orig) != item.text:
        return []
    return _LINK.findall(item.orig)
