"""Expected costs of items for `cost_hint`: in pages, blocks or chunks, known or estimated.

A plan must be cheap, so nothing is opened for it but what is read anyway: the first bytes of a file, and the row in
which the stage before has recorded its counts. What these do not tell is estimated from the size.
"""

import re

from inorder.documents.layout import Result

_PAGE_BYTES = {"pdf": 50_000, "docx": 15_000, "pptx": 50_000, "html": 10_000}
_TEXT_PAGE_BYTES = 3000
"""Bytes per page, by kind of document: rough averages."""
_BLOCK_BYTES = 250
"""Bytes per block of a stored document."""
_CHUNK_BYTES = 2000
"""Bytes per stored chunk."""
_CODE_CHUNK_BYTES = 1500
"""Bytes of source code per chunk."""
_LINEARIZED = re.compile(rb"<<[^>]*/Linearized\b[^>]*>>")
_LINEARIZED_PAGES = re.compile(rb"/N\s+(\d{1,9})\b")


def estimate_pages(kind: str, head: bytes, size: int) -> float:
    """The number of pages of a document, at least 1. A PDF that is linearized for the web states it in its first bytes;
    for all others it is estimated from the size."""
    if kind == "pdf" and (dictionary := _LINEARIZED.search(head)):
        stated = _LINEARIZED_PAGES.search(dictionary[0])
        if stated:
            return max(1.0, float(stated[1]))
    return max(1.0, size / _PAGE_BYTES.get(kind, _TEXT_PAGE_BYTES))


def count_blocks(document: Result) -> float:
    """The number of blocks of a document, as `doctags` has recorded it; else estimated from the size of its row."""
    return _get_count(document, "blocks") or max(1.0, document.size / _BLOCK_BYTES)


def count_chunks(chunks: Result) -> float:
    """The number of chunks of a document, as `chunk` has recorded it; else estimated from their size."""
    return _get_count(chunks, "chunks") or max(1.0, chunks.size / _CHUNK_BYTES)


def estimate_code_chunks(size: int) -> float:
    """The number of chunks of a source file of this size."""
    return max(1.0, size / _CODE_CHUNK_BYTES)


def _get_count(result: Result, name: str) -> float:
    """A count in the row of a result; 0: there is none."""
    found = None if result.stored is None else result.stored.extras.get(name)
    return max(1.0, float(found)) if isinstance(found, int) else 0.0
