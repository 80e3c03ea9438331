"""The worker of stage `chunk`: from the record of one document to its chunks."""

from collections import Counter
from functools import lru_cache
from typing import Any

from inorder.documents.doctags.storage import unpack_document
from inorder.documents.quantiles import find_quantile
from inorder.stage.context import StageContext
from inorder.stage.contracts import StageError, WorkItem
from inorder.stage.store.reading import read_content

from .chunks import Chunk, build_chunks
from .tokens import load_counter

FOLLOW_IMPORTS = ("inorder.documents.chunk.pack", "inorder.documents.chunk.pieces", "inorder.documents.chunk.storage")
"""What the first items need."""
HISTOGRAM = (32, 64, 128, 256, 384, 512, 1024)
"""Upper bounds of the classes in which chunk sizes are counted. One more class has no upper bound."""
_FORMAT = {"chunks_format": "store", "row_group_count": None, "parquet_bytes": None}
"""What a manifest row says of where the chunks are."""


def work(item: WorkItem, context: StageContext) -> dict[str, Any]:
    """Chunk one document. The settings are in the item's `meta`."""
    from .pieces import read_pieces
    from .storage import pack_chunks

    try:
        pieces = read_pieces(unpack_document(read_content(item.inputs["record"])).write_record())
    except ValueError as error:
        raise StageError(str(error), category="input") from None
    count = _load_counter(item.meta["tokenizer"])
    chunks = build_chunks(item.item_id, pieces, count, item.meta["tokens_min"], item.meta["tokens_max"])
    context.write_output("chunks", pack_chunks(item.item_id, chunks))
    if not chunks:
        context.warn("the document has no text")
    context.measure(chunks=len(chunks), tokens=sum(chunk.tokens for chunk in chunks))
    return _summarize(chunks) | _FORMAT


_load_counter = lru_cache(maxsize=1)(load_counter)


def _summarize(chunks: list[Chunk]) -> dict[str, Any]:
    sizes = Counter(chunk.tokens for chunk in chunks)
    histogram = [0] * (len(HISTOGRAM) + 1)
    for chunk in chunks:
        histogram[sum(chunk.tokens > bound for bound in HISTOGRAM)] += 1
    return {
        "chunks": len(chunks),
        "tokens": sum(chunk.tokens for chunk in chunks),
        "characters": sum(len(chunk.text) for chunk in chunks),
        "histogram": histogram,
        "tokens_p50": find_quantile(sizes, 0.5),
        "tokens_p95": find_quantile(sizes, 0.95),
        "empty_chunks": sum(not chunk.text.strip() for chunk in chunks),
    }
