"""Reads the outline of a PDF: its bookmarks, with the pages that they point to."""

import ctypes
from typing import Any

import pypdfium2.raw as pdfium

from .pdfium import PdfFile

ENTRIES_MAX = 5_000
DEPTH_MAX = 8
TITLE_BYTES_MAX = 1_000
"""A longer title is not the text of a heading."""


def read_bookmarks(file: PdfFile) -> list[tuple[int, int, str]]:
    """Page (from 1; 0 if unknown), depth (from 1) and title of each bookmark, in order."""
    found: list[tuple[int, int, str]] = []
    seen: set[int] = set()
    waiting = [(pdfium.FPDFBookmark_GetFirstChild(file.handle, None), 1)]
    while waiting and len(seen) < ENTRIES_MAX:
        bookmark, depth = waiting.pop()
        address = ctypes.cast(bookmark, ctypes.c_void_p).value
        if not address or address in seen:
            continue
        seen.add(address)
        found.append((_read_page_number(file, bookmark), depth, _read_title(bookmark)))
        waiting.append((pdfium.FPDFBookmark_GetNextSibling(file.handle, bookmark), depth))
        if depth < DEPTH_MAX:
            waiting.append((pdfium.FPDFBookmark_GetFirstChild(file.handle, bookmark), depth + 1))
    return [entry for entry in found if entry[2]]


def _read_title(bookmark: Any) -> str:
    size = int(pdfium.FPDFBookmark_GetTitle(bookmark, None, 0))
    if not 2 < size <= TITLE_BYTES_MAX:
        return ""
    buffer = ctypes.create_string_buffer(size)
    pdfium.FPDFBookmark_GetTitle(bookmark, buffer, size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace").strip()


def _read_page_number(file: PdfFile, bookmark: Any) -> int:
    target = pdfium.FPDFBookmark_GetDest(file.handle, bookmark)
    if not target:
        action = pdfium.FPDFBookmark_GetAction(bookmark)
        target = pdfium.FPDFAction_GetDest(file.handle, action) if action else None
    return int(pdfium.FPDFDest_GetDestPageIndex(file.handle, target)) + 1 if target else 0
