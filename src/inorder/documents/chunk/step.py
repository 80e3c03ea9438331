"""The step `chunk`: from a document to its chunks."""

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Any

from inorder.documents.quantiles import find_quantile
from inorder.errors import ReadError

from .chunks import Chunk, build_chunks

if TYPE_CHECKING:
    from inorder.documents.convert.stored import StoredDocument

    from .settings import ChunkSettings
    from .tokens import TokenCounter
    from .units import Piece

HISTOGRAM = (32, 64, 128, 256, 384, 512, 1024)
"""Upper bounds of the classes in which chunk sizes are counted. One more class has no upper bound."""
NO_TEXT = "the document has no text"
"""The warning for a document without chunks."""


def chunk(doc_id: str, document: "StoredDocument", settings: "ChunkSettings", count: "TokenCounter") -> list[Chunk]:
    """Split a document, as `convert` returns it, into chunks. `doc_id` is part of their ids. `count` is the counter of
    `load_counter(settings.tokenizer)`. Raises `ReadError` if a document of docling cannot be decoded."""
    return build_chunks(doc_id, find_pieces(document), count, settings.resolved_tokens_min, settings.tokens_max)


def find_pieces(document: "StoredDocument") -> "list[Piece]":
    """Return the pieces of a document, in reading order. Raises `ReadError` as `chunk` does."""
    if document.document is not None:
        from .model_pieces import list_pieces

        return list_pieces(document.document)
    from .pieces import read_pieces

    try:
        return read_pieces(document.record)
    except ValueError as error:
        raise ReadError(str(error)) from None


def summarize(chunks: list[Chunk]) -> dict[str, Any]:
    """Return the columns of a document's row in the manifest."""
    sizes = Counter([chunk.tokens for chunk in chunks])
    histogram = [0] * (len(HISTOGRAM) + 1)
    for size, count in sizes.items():
        histogram[bisect_left(HISTOGRAM, size)] += count
    return {
        "chunks": len(chunks),
        "tokens": sum([chunk.tokens for chunk in chunks]),
        "characters": sum([len(chunk.text) for chunk in chunks]),
        "histogram": histogram,
        "tokens_p50": find_quantile(sizes, 0.5),
        "tokens_p95": find_quantile(sizes, 0.95),
        "empty_chunks": sum([not chunk.text or chunk.text.isspace() for chunk in chunks]),
    }
