"""Documents: the list of them, and one document with its blocks, its chunks and its way through the stages."""

from collections.abc import Iterator
from contextlib import closing
from typing import Annotated, Any, Literal

import msgspec

from inorder.dataset.document import DatasetDocument
from inorder.documents.chunk.chunks import Chunk
from inorder.errors import OperatorError
from inorder.library.reader import LibraryReader
from inorder.library.rows import DENSE
from inorder.library.states import list_documents, read_states
from inorder.pipeline.names import CHUNK, DOCTAGS, INDEX, STEPS
from inorder.serve.catalog import Catalog
from inorder.serve.problems import NotFound

from .endpoint import DataParams, ItemParams

_BLOCKS_MAX = 400
_TEXT_MAX = 20_000
_NOTE_MAX = 300
_ALWAYS = (DOCTAGS, CHUNK, INDEX, DENSE)
"""Steps that are shown even if they have not reached a document."""
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

Box = tuple[float, float, float, float]


class ListParams(DataParams, frozen=True, kw_only=True):
    """Which documents to list."""

    after: Annotated[str, msgspec.Meta(max_length=4096, description="The last id of the page before.")] = ""
    k: Annotated[int, msgspec.Meta(ge=1, le=500, description="Number of documents.")] = 100
    status: Literal["", "read", "failed", "not read", "copy"] = ""
    text: Annotated[str, msgspec.Meta(max_length=500, description="A part of the id.")] = ""


class ListedItem(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is no source code, and what became of it."""

    id: str
    status: str
    """`read`, `failed`, `not read` or `copy`."""
    note: str
    """The error, why it is not read, or which file it is a copy of."""


class DocumentList(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the list."""

    total: int
    """All documents that meet the conditions."""
    documents: list[ListedItem]


def answer_documents(catalog: Catalog, params: ListParams) -> DocumentList:
    """List the files that are no source code, with those that are failed, not read, or copies."""
    with closing(LibraryReader(catalog.get(params.data).path)) as library:
        listed, total = list_documents(library, params.after, params.k, params.status, params.text)
    found = [ListedItem(id=each.item_id, status=each.status, note=each.note[:_NOTE_MAX]) for each in listed]
    return DocumentList(total=total, documents=found)


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


class StageStep(msgspec.Struct, frozen=True, kw_only=True):
    """What one step has made of the document."""

    stage: str
    status: str
    """`success`, `failure`, `not read`, `copy`, or `none`: it has not reached the document."""
    duration_s: float = 0.0
    attempts: int = 0
    note: str = ""
    warnings: list[str] = []
    facts: dict[str, Any] = {}


class DocumentView(msgspec.Struct, frozen=True, kw_only=True):
    """One document, or one page of it."""

    id: str
    name: str
    steps: list[StageStep]
    mimetype: str = ""
    pages: int = 0
    page: int = 0
    page_width: float = 0.0
    page_height: float = 0.0
    offset: int = 0
    blocks: list[BlockView] = []
    blocks_total: int = 0
    chunks: list[ChunkView] = []
    chunks_total: int = 0


def answer_document(catalog: Catalog, params: DocumentParams) -> DocumentView:
    """One document. A document that could not be read has only its way through the steps."""
    data = catalog.get(params.data)
    steps = list(_list_steps(data.path, params.id))
    try:
        document = data.get(params.id)
    except OperatorError:
        if all(step.status == "none" for step in steps):
            raise NotFound(f"no document {params.id!r} in this DATA") from None
        return DocumentView(id=params.id, name=params.id.rpartition("/")[2], steps=steps)
    return _describe(document, steps, params)


def _describe(document: DatasetDocument, steps: list[StageStep], params: DocumentParams) -> DocumentView:
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
        steps=steps,
        mimetype=document.mimetype,
        pages=len(sizes),
        page=page if sizes else 0,
        page_width=size["width"],
        page_height=size["height"],
        offset=offset,
        blocks=blocks[:_BLOCKS_MAX],
        blocks_total=len(found),
        chunks=[_view_chunk(chunk) for chunk in chunks if chunk.number in shown],
        chunks_total=len(chunks),
    )


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
        box=_find_box(place, sizes.get(page)) if place else None,
        cells=list(_list_cells(item.get("data") or {})),
        chunks=chunks.get(ref, []),
        is_cut=len(text) > _TEXT_MAX,
    )


def _find_box(place: Any, size: Any) -> Box | None:
    box = place.get("bbox")
    if not box or not size or not size["width"] or not size["height"]:
        return None
    top, bottom = box["t"], box["b"]
    if box.get("coord_origin") == "BOTTOMLEFT":
        top, bottom = size["height"] - top, size["height"] - bottom
    shares = (box["l"] / size["width"], top / size["height"], box["r"] / size["width"], bottom / size["height"])
    left, top, right, bottom = (round(min(1.0, max(0.0, share)), 5) for share in shares)
    return left, min(top, bottom), right, max(top, bottom)


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


def _list_steps(data: str, item_id: str) -> Iterator[StageStep]:
    """The steps of the pipeline. Why a file is not read is said of the first one."""
    with closing(LibraryReader(data)) as library:
        states = {each.step: each for each in read_states(library, item_id)}
        file = library.get_file(item_id)
    for step in (step for step in STEPS if step in states or step in _ALWAYS):
        name, _, family = step.partition(":")
        title = f"{name} ({family})" if family else name
        found = states.get(step)
        if found is not None:
            facts = {key: each for key, each in found.extras.items() if isinstance(each, str | int | float) and each}
            if step == INDEX and file is not None:
                facts["kind"] = file.kind.partition(":")[0]
            yield StageStep(
                stage=title,
                status="failure" if found.message else "success",
                duration_s=round(found.duration_ms / 1000, 6),
                attempts=found.attempts,
                note=found.message,
                warnings=found.warnings,
                facts=facts,
            )
        elif step == DOCTAGS and file is not None and (file.reason or file.copy_of):
            status, note = ("not read", file.reason) if file.reason else ("copy", f"the same content as {file.copy_of}")
            yield StageStep(stage=title, status=status, note=note)
        else:
            yield StageStep(stage=title, status="none")
