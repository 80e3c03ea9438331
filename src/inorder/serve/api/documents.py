"""One document, with its blocks, its chunks and what became of it."""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from inorder.dataset.boxes import Box, find_share
from inorder.dataset.document import DatasetDocument
from inorder.documents.chunk.chunks import Chunk
from inorder.errors import OperatorError
from inorder.serve.catalog import Catalog
from inorder.serve.problems import NotFound

from .endpoint import ItemParams
from .files import FileView, describe_file

_BLOCKS_MAX = 400
_TEXT_MAX = 20_000
_KINDS = {
    "title": "title",
    "section_header": "heading",
    "list_item": "list",
    "code": "code",
    "formula": "formula",
    "table": "table",
    "document_index": "table",
    "picture": "picture",
    "chart": "picture",
    "page_header": "furniture",
    "page_footer": "furniture",
    "caption": "caption",
    "footnote": "caption",
}


class DocumentParams(ItemParams, frozen=True, kw_only=True):
    """Which part of a document."""

    page: Annotated[int, msgspec.Meta(ge=0, description="The page; 0: the first, or that of the chunk.")] = 0
    chunk: Annotated[int, msgspec.Meta(ge=-1, description="Number of a chunk that must be in the part.")] = -1
    offset: Annotated[int, msgspec.Meta(ge=0, description="The first block, for documents without pages.")] = 0


class CellView(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of a table."""

    text: str
    row: int
    column: int
    rows: int
    columns: int
    is_header: bool


class BlockView(msgspec.Struct, frozen=True, kw_only=True):
    """A block of a document: what it is, where it is, and in which chunks."""

    ref: str
    kind: str
    text: str
    level: int = 0
    page: int = 0
    box: Box | None = None
    """Left, top, right and bottom as shares of the page."""
    cells: list[CellView] = []
    chunks: list[int] = []
    is_cut: bool = False


class ChunkView(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk: its size and its borders."""

    number: int
    chunk_id: str
    tokens: int
    start: int
    end: int
    section_path: list[str]
    pages: list[int]
    refs: list[str]
    text: str


class ReadingView(msgspec.Struct, frozen=True, kw_only=True):
    """How a page was read that is for a model."""

    reader: str
    """The model; empty: the page is as the rules read it."""
    reason: str
    problem: str
    confidence: float | None
    has_native: bool
    """Whether the rules can read it, too."""


class DocumentView(msgspec.Struct, frozen=True, kw_only=True):
    """One document, or one page of it."""

    id: str
    name: str
    state: FileView
    mimetype: str = ""
    pages: int = 0
    page: int = 0
    page_width: float = 0.0
    page_height: float = 0.0
    reading: ReadingView | None = None
    offset: int = 0
    blocks: list[BlockView] = []
    blocks_total: int = 0
    chunks: list[ChunkView] = []
    chunks_total: int = 0


def answer_document(catalog: Catalog, params: DocumentParams) -> DocumentView:
    """One document. A file that could not be read has only its state."""
    data = catalog.get(params.data)
    state = describe_file(data.path, params.id)
    if state is None:
        raise NotFound(f"no file {params.id!r} in this DATA")
    try:
        document = data.get(params.id)
    except OperatorError:
        return DocumentView(id=params.id, name=params.id.rpartition("/")[2], state=state)
    return _describe(document, state, params)


def _describe(document: DatasetDocument, state: FileView, params: DocumentParams) -> DocumentView:
    record = msgspec.json.decode(document.write_record())
    chunks = document.chunks
    wanted = chunks[params.chunk] if 0 <= params.chunk < len(chunks) else None
    sizes = {int(number): page["size"] for number, page in record.get("pages", {}).items() if number.isdecimal()}
    page = params.page or (wanted.pages[0] if wanted is not None and wanted.pages else min(sizes, default=0))
    if sizes and page not in sizes:
        raise NotFound(f"{document.doc_id} has no page {page}; it has {len(sizes)}")
    found = list(_list_blocks(record, sizes, _index_chunks(chunks)))
    if sizes:
        blocks, offset = [block for block in found if block.page == page], 0
    else:
        offset = params.offset
        if wanted is not None and not offset and wanted.refs:
            first = next((place for place, block in enumerate(found) if block.ref == wanted.refs[0]), 0)
            offset = first // _BLOCKS_MAX * _BLOCKS_MAX
        blocks = found[offset : offset + _BLOCKS_MAX]
    shown = {number for block in blocks for number in block.chunks}
    size = sizes.get(page, {"width": 0.0, "height": 0.0})
    return DocumentView(
        id=document.doc_id,
        name=document.name,
        state=state,
        mimetype=document.mimetype,
        pages=len(sizes),
        page=page if sizes else 0,
        page_width=size["width"],
        page_height=size["height"],
        reading=_view_reading(document, page),
        offset=offset,
        blocks=blocks[:_BLOCKS_MAX],
        blocks_total=len(found),
        chunks=[_view_chunk(chunk) for chunk in chunks if chunk.number in shown],
        chunks_total=len(chunks),
    )


def _view_reading(document: DatasetDocument, page: int) -> ReadingView | None:
    found = document.readings.get(page)
    if found is None:
        return None
    return ReadingView(
        reader=found.reader,
        reason=found.reason,
        problem=found.problem,
        confidence=found.confidence,
        has_native=document.mimetype == "application/pdf",
    )


def list_native_blocks(record: bytes, page: int) -> list[BlockView]:
    """Return the blocks of a page as the rules have read it."""
    found = msgspec.json.decode(record)
    sizes = {int(number): each["size"] for number, each in found.get("pages", {}).items()}
    return [block for block in _list_blocks(found, sizes, {}) if block.page == page][:_BLOCKS_MAX]


def _index_chunks(chunks: list[Chunk]) -> dict[str, list[int]]:
    """By reference to an item: the numbers of the chunks that contain it."""
    found: dict[str, list[int]] = {}
    for chunk in chunks:
        for ref in chunk.refs:
            found.setdefault(ref, []).append(chunk.number)
    return found


def _view_chunk(chunk: Chunk) -> ChunkView:
    fields = {name: getattr(chunk, name) for name in ChunkView.__struct_fields__}
    return ChunkView(**(fields | {"text": chunk.text[:_TEXT_MAX]}))


def _list_blocks(record: Any, sizes: dict[int, Any], chunks: dict[str, list[int]]) -> Iterator[BlockView]:
    """The blocks in reading order, then page headers and footers."""
    items = {
        f"#/{kind}/{number}": item
        for kind in ("groups", "texts", "pictures", "tables")
        for number, item in enumerate(record.get(kind, ()))
    }
    stack = [iter([*record["body"].get("children", ()), *record.get("furniture", {}).get("children", ())])]
    while stack:
        child = next(stack[-1], None)
        if child is None:
            stack.pop()
            continue
        item = items.pop(child["$ref"], None)
        if item is None:
            continue
        if not child["$ref"].startswith("#/groups/"):
            yield _view_block(child["$ref"], item, sizes, chunks)
        stack.append(iter([*item.get("captions", ()), *item.get("children", ())]))


def _view_block(ref: str, item: Any, sizes: dict[int, Any], chunks: dict[str, list[int]]) -> BlockView:
    text = item.get("text") or item.get("orig") or ""
    place = next(iter(item.get("prov") or ()), None)
    page = place["page_no"] if place else 0
    return BlockView(
        ref=ref,
        kind=_KINDS.get(item.get("label", ""), "paragraph"),
        text=text[:_TEXT_MAX],
        level=int(item.get("level") or 0),
        page=page,
        box=find_share(place, sizes.get(page)) if place else None,
        cells=list(_list_cells(item.get("data") or {})),
        chunks=chunks.get(ref, []),
        is_cut=len(text) > _TEXT_MAX,
    )


def _list_cells(grid: Any) -> Iterator[CellView]:
    for cell in grid.get("table_cells", ())[: 20 * _BLOCKS_MAX]:
        yield CellView(
            text=cell.get("text", "")[:_TEXT_MAX],
            row=cell.get("start_row_offset_idx", 0),
            column=cell.get("start_col_offset_idx", 0),
            rows=cell.get("row_span", 1),
            columns=cell.get("col_span", 1),
            is_header=bool(cell.get("column_header") or cell.get("row_header")),
        )
