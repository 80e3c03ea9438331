"""Reads headings from the structure tree of a tagged PDF.

An element of the tree has a type (H1, P, Table) and refers to marked content of the page by numbers; each text object
knows its number. The tree is only evidence: many programs write one that names no headings, or all text as headings.
"""

import ctypes
from array import array
from collections import defaultdict
from collections.abc import Sequence
from itertools import repeat

import pypdfium2.raw as pdfium

from inorder.documents.readers.pdf.lines import join_lines
from inorder.documents.readers.pdf.pdfium import HANDLES, PdfPage, bind_function
from inorder.documents.readers.pdf.segments import Segment, TaggedHeading

from .runs import CHARACTERS_MAX

ELEMENTS_MAX = 20_000
TYPE_BYTES_MAX = 64
CHARACTERS_SHARE_MAX = 0.3
"""Share of the text that headings may have. A tree that names more is wrong."""

_LEVELS = {"Title": 0, "H": 1, "H1": 1, "H2": 2, "H3": 3, "H4": 4, "H5": 5, "H6": 6}
_POINTER = ctypes.c_void_p
_get_type = bind_function("FPDF_StructElement_GetType", ctypes.c_ulong, _POINTER, _POINTER, ctypes.c_ulong)
_count_children = bind_function("FPDF_StructElement_CountChildren", ctypes.c_int, _POINTER)
_get_child = bind_function("FPDF_StructElement_GetChildAtIndex", _POINTER, _POINTER, ctypes.c_int)
_count_marks = bind_function("FPDF_StructElement_GetMarkedContentIdCount", ctypes.c_int, _POINTER)
_get_mark = bind_function("FPDF_StructElement_GetMarkedContentIdAtIndex", ctypes.c_int, _POINTER, ctypes.c_int)


def read_tagged_headings(page: PdfPage, segments: Sequence[Segment]) -> list[TaggedHeading]:
    """Level and text of the headings that the structure tree names on a page, in its order."""
    tree = pdfium.FPDF_StructTree_GetForPage(page.handle)
    if not tree:
        return []
    HANDLES.open += 1
    try:
        count = pdfium.FPDF_StructTree_CountChildren(tree)
        roots = [pdfium.FPDF_StructTree_GetChildAtIndex(tree, index) for index in range(min(count, ELEMENTS_MAX))]
        elements = _find_headings([ctypes.cast(root, _POINTER).value for root in roots])
    finally:
        pdfium.FPDF_StructTree_Close(tree)
        HANDLES.open -= 1
    return _find_texts(page, segments, elements) if elements else []


def _find_headings(roots: Sequence[int | None]) -> list[tuple[int, list[int]]]:
    """Level and numbers of marked content of each heading."""
    found: list[tuple[int, list[int]]] = []
    waiting: list[tuple[int | None, list[int] | None]] = [(root, None) for root in reversed(roots)]
    buffer = array("H", bytes(TYPE_BYTES_MAX))
    address = buffer.buffer_info()[0]
    seen = 0
    while waiting and seen < ELEMENTS_MAX:
        element, marks = waiting.pop()
        if not element:
            continue
        seen += 1
        if marks is None:
            size = _get_type(element, address, TYPE_BYTES_MAX)
            kind = buffer[: size // 2 - 1].tobytes().decode("utf-16-le", "replace") if size <= TYPE_BYTES_MAX else ""
            if kind in _LEVELS:
                marks = []
                found.append((_LEVELS[kind], marks))
        if marks is not None:
            marks += map(_get_mark, repeat(element), range(max(0, _count_marks(element))))
        children = range(min(ELEMENTS_MAX, max(0, _count_children(element))))
        waiting += [(_get_child(element, index), marks) for index in reversed(children)]
    return [(level, marks) for level, marks in found if marks]


def _find_texts(
    page: PdfPage, segments: Sequence[Segment], elements: Sequence[tuple[int, list[int]]]
) -> list[TaggedHeading]:
    lines: defaultdict[int, list[str]] = defaultdict(list)
    places = page.character_indices([segment.span[0] for segment in segments])
    for mark, segment in zip(page.marks(places), segments, strict=True):
        lines[mark].append(segment.text)
    found: list[TaggedHeading] = []
    for level, marks in elements:
        texts = [text for mark in dict.fromkeys(marks) for text in lines.get(mark, ()) if mark >= 0]
        text = join_lines(texts) if texts else ""
        if 0 < len(text) <= CHARACTERS_MAX:
            found.append((level, text))
    return found


def find_tag_shift(pages: Sequence[Sequence[TaggedHeading]], character_count: int) -> int:
    """How far the levels of tagged headings are shifted: by 1 if the only one of the first level is the title.

    -1 if the tags are not trusted.
    """
    found = [heading for page in pages for heading in page]
    if not found or sum(len(text) for _, text in found) > CHARACTERS_SHARE_MAX * character_count:
        return -1
    tops = [level for level, _ in found if level <= 1]
    return int(len(tops) == 1 and found[0][0] == 1)
