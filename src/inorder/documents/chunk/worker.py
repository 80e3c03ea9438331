"""The worker of stage `chunk`: it gives the document of an item to the step, and writes the chunks."""

from typing import Any

from inorder.documents.convert.stored import StoredDocument, unpack_document
from inorder.documents.layout import CHUNK_SUFFIXES, CHUNKS
from inorder.errors import ReadError
from inorder.stage.context import StageContext
from inorder.stage.contracts import StageError, WorkItem
from inorder.stage.data_layout import FINGERPRINT_SUFFIX
from inorder.stage.store.inputs import Input
from inorder.stage.store.reading import is_stored, read_content

from .chunks import Chunk
from .settings import ChunkSettings
from .step import NO_TEXT, chunk, summarize
from .tokens import TokenCounter, load_counter

FOLLOW_IMPORTS = (
    "inorder.documents.chunk.pack",
    "inorder.documents.chunk.model_pieces",
    "inorder.documents.chunk.storage",
)
"""What the first items need."""
_COUNTER = "counter"
"""The resource of a worker that counts tokens."""


def work(item: WorkItem, context: StageContext) -> dict[str, Any]:
    """Chunk one document. The settings are in the item's `meta`."""
    meta = item.meta
    settings = ChunkSettings(tokens_min=meta["tokens_min"], tokens_max=meta["tokens_max"], tokenizer=meta["tokenizer"])
    document, count = _read_document(item.inputs["record"]), _get_counter(settings, context)
    try:
        chunks = chunk(item.item_id, document, settings, count)
    except ReadError as error:
        raise StageError(str(error), category="input") from None
    written = _write(item, context, chunks)
    if not chunks:
        context.warn(NO_TEXT)
    found = summarize(chunks)
    context.measure(chunks=found["chunks"], tokens=found["tokens"])
    return found | written


def _get_counter(settings: ChunkSettings, context: StageContext) -> TokenCounter:
    found = context.resources.get(_COUNTER)
    if found is None:
        found = context.resources[_COUNTER] = load_counter(settings.tokenizer)
    counter: TokenCounter = found
    return counter


def _read_document(source: Input) -> StoredDocument:
    content = read_content(source)
    try:
        return unpack_document(content) if is_stored(source) else StoredDocument(record=content)
    except ValueError as error:
        raise StageError(str(error), category="input") from None


def _write(item: WorkItem, context: StageContext, chunks: list[Chunk]) -> dict[str, Any]:
    """Write the chunks. Returns their format and the size of their file, for the manifest."""
    from .storage import pack_chunks, write_chunks

    if context.is_stored:
        context.write_output("chunks", pack_chunks(item.item_id, chunks))
        return {"chunks_format": "store", "row_group_count": None, "parquet_bytes": None}
    for path in list_other_formats(item):
        context.remove(path)
    return write_chunks(context.output("chunks"), item.meta["format"], chunks, item.cfg_hash)


def list_other_formats(item: WorkItem) -> list[str]:
    """The chunk files of a document in formats other than the chosen one, and their fingerprints."""
    if item.meta["layout"] == "store":
        return []
    suffixes = [suffix for format_, suffix in CHUNK_SUFFIXES.items() if format_ != item.meta["format"]]
    others = [f"{CHUNKS}/{item.item_id}{suffix}" for suffix in suffixes]
    return [path for other in others for path in (f"{other}{FINGERPRINT_SUFFIX}", other)]
