"""Expected costs of items for `cost_hint`: in pages or chunks, known or estimated.

A plan must be cheap, so nothing is opened for it but what is read anyway: the first bytes of a file. What these do not
tell is estimated from the size.
"""

import re

_PAGE_BYTES = {"pdf": 50_000, "docx": 15_000, "pptx": 50_000, "html": 10_000}
_TEXT_PAGE_BYTES = 3000
"""Bytes per page, by kind of document: rough averages."""
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


def estimate_code_chunks(size: int) -> float:
    """The number of chunks of a source file of this size."""
    return max(1.0, size / _CODE_CHUNK_BYTES)
