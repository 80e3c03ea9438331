"""The worker of stage `chunk`: it gives the document of an item to the step, and writes the chunks."""

from typing import Any

from inorder.documents.convert.stored import StoredDocument, unpack_document
from inorder.errors import ReadError
from inorder.stage.context import StageContext
from inorder.stage.contracts import StageError, WorkItem
from inorder.stage.store.inputs import Input
from inorder.stage.store.reading import read_content

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
_FORMAT = {"chunks_format": "store", "row_group_count": None, "parquet_bytes": None}
"""What a manifest row says of where the chunks are."""


def work(item: WorkItem, context: StageContext) -> dict[str, Any]:
    """Chunk one document. The settings are in the item's `meta`."""
    from .storage import pack_chunks

    meta = item.meta
    settings = ChunkSettings(tokens_min=meta["tokens_min"], tokens_max=meta["tokens_max"], tokenizer=meta["tokenizer"])
    document, count = _read_document(item.inputs["record"]), _get_counter(settings, context)
    try:
        chunks = chunk(item.item_id, document, settings, count)
    except ReadError as error:
        raise StageError(str(error), category="input") from None
    context.write_output("chunks", pack_chunks(item.item_id, chunks))
    if not chunks:
        context.warn(NO_TEXT)
    found = summarize(chunks)
    context.measure(chunks=found["chunks"], tokens=found["tokens"])
    return found | _FORMAT


def _get_counter(settings: ChunkSettings, context: StageContext) -> TokenCounter:
    found = context.resources.get(_COUNTER)
    if found is None:
        found = context.resources[_COUNTER] = load_counter(settings.tokenizer)
    counter: TokenCounter = found
    return counter


def _read_document(source: Input) -> StoredDocument:
    try:
        return unpack_document(read_content(source))
    except ValueError as error:
        raise StageError(str(error), category="input") from None
