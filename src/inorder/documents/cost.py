"""Expected costs of items for `cost_hint`: in pages, blocks or chunks, known or estimated.

A plan must be cheap, so nothing is opened for it but what is read anyway: the first bytes of a file, and the small
fingerprint in which the stage before has recorded its counts. What these do not tell is estimated from the size of the
file.
"""

import os
import re
from typing import Any

from inorder.documents.layout import DOCTAGS_SUFFIX, RECORD_SUFFIX, Result
from inorder.stage.data_layout import FINGERPRINT_SUFFIX
from inorder.stage.fingerprints import decode_fingerprint
from inorder.stage.store.inputs import StoredInput

_PAGE_BYTES = {"pdf": 50_000, "docx": 15_000, "pptx": 50_000, "html": 10_000}
_TEXT_PAGE_BYTES = 3000
"""Bytes per page, by kind of document: rough averages."""
_BLOCK_BYTES = 700
"""Bytes per block of a `.docling.json`."""
_STORED_BLOCK_BYTES = 250
"""Bytes per block of a stored document."""
_CHUNK_BYTES = {".parquet": 1000, ".jsonl": 2500, "": 2000}
"""Bytes per chunk of a chunk file, by its ending, or of stored chunks."""
_PARQUET_BYTES = 4000
"""Bytes of a Parquet file besides its chunks."""
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
    """The number of blocks of a document, as `doctags` has recorded it; else estimated from the size of its record."""
    if document.stored is not None:
        return _get_count(document.stored.extras, "blocks") or max(1.0, document.size / _STORED_BLOCK_BYTES)
    if isinstance(document.source, StoredInput):
        return max(1.0, document.size / _STORED_BLOCK_BYTES)
    tags = f"{os.fspath(document.source).removesuffix(RECORD_SUFFIX)}{DOCTAGS_SUFFIX}"
    return _read_count(tags, "blocks") or max(1.0, document.size / _BLOCK_BYTES)


def count_chunks(chunks: Result) -> float:
    """The number of chunks of a document, as `chunk` has recorded it; else estimated from their size."""
    if chunks.stored is not None:
        return _get_count(chunks.stored.extras, "chunks") or max(1.0, chunks.size / _CHUNK_BYTES[""])
    if isinstance(chunks.source, StoredInput):
        return max(1.0, chunks.size / _CHUNK_BYTES[""])
    path = os.fspath(chunks.source)
    ending = os.path.splitext(path)[1]
    estimate = (chunks.size - (_PARQUET_BYTES if ending == ".parquet" else 0)) / _CHUNK_BYTES.get(ending, 1000)
    return _read_count(path, "chunks") or max(1.0, estimate)


def estimate_code_chunks(size: int) -> float:
    """The number of chunks of a source file of this size."""
    return max(1.0, size / _CODE_CHUNK_BYTES)


def _read_count(output: str, name: str) -> float:
    """A count in the fingerprint beside an output; 0: there is none."""
    try:
        with open(f"{output}{FINGERPRINT_SUFFIX}", "rb", buffering=0) as file:
            fingerprint = decode_fingerprint(file.read())
    except OSError:
        return 0.0
    return 0.0 if fingerprint is None else _get_count(fingerprint.extras, name)


def _get_count(extras: dict[str, Any], name: str) -> float:
    found = extras.get(name)
    return max(1.0, float(found)) if isinstance(found, int) else 0.0
