"""Expected costs of items for `cost_hint`: in pages, blocks or chunks, known or estimated.

A plan must be cheap, so nothing is opened for it but what is read anyway: the first bytes of a file, and the small
fingerprint in which the stage before has recorded its counts. What these do not tell is estimated from the size of the
file.
"""

import os
import re

from inorder.stage.data_layout import FINGERPRINT_SUFFIX
from inorder.stage.fingerprints import decode_fingerprint

_PAGE_BYTES = {"pdf": 50_000, "docx": 15_000, "html": 10_000}
_TEXT_PAGE_BYTES = 3000
"""Bytes per page, by kind of document: rough averages."""
_BLOCK_BYTES = 700
"""Bytes per block of a `.docling.json`."""
_CHUNK_BYTES = {".parquet": 1000, ".jsonl": 2500}
"""Bytes per chunk of a chunk file."""
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


def count_blocks(doctags_path: str, record_size: int) -> float:
    """The number of blocks of a document, as `doctags` has recorded it; else estimated from the size of its record."""
    return _read_count(doctags_path, "blocks") or max(1.0, record_size / _BLOCK_BYTES)


def count_chunks(path: str, size: int) -> float:
    """The number of chunks in a chunk file, as `chunk` has recorded it; else estimated from its size."""
    ending = os.path.splitext(path)[1]
    estimate = (size - (_PARQUET_BYTES if ending == ".parquet" else 0)) / _CHUNK_BYTES[ending]
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
    found = fingerprint.extras.get(name) if fingerprint is not None else None
    return max(1.0, float(found)) if isinstance(found, int) else 0.0
