"""Reads the links of a page that lead out of the document, and gives each to the block that has its text.

A link is an annotation with a place and no text: its text is what stands there. A link over several lines is often one
annotation per line.
"""

import ctypes
from typing import Any

import pypdfium2.raw as pdfium

from inorder.documents.model import AnyBlock, Box, Heading, ListItem, Paragraph, Table, Title
from inorder.documents.readers.pdf.pdfium import PdfFile, PdfPage
from inorder.documents.readers.pdf.segments import PageLink
from inorder.documents.readers.unicode import clean
from inorder.documents.readers.whitespace import collapse_whitespace

from .texts import ANNOTATIONS_MAX, read_box

TARGET_BYTES_MAX = 4_000
_SHRINK_SHARES = (0.0, 0.1, 0.25)
"""How much of the height of a place may be left out above and below: it often reaches into the next lines."""
_NO_TARGET = ("javascript:", "data:", "vbscript:")


def read_links(file: PdfFile, page: PdfPage) -> list[PageLink]:
    """The links of a page whose text is loaded, from top to bottom."""
    found = []
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page.handle), ANNOTATIONS_MAX)):
        annotation = pdfium.FPDFPage_GetAnnot(page.handle, index)
        if not annotation:
            continue
        try:
            if pdfium.FPDFAnnot_GetSubtype(annotation) == pdfium.FPDF_ANNOT_LINK:
                link = _read_link(file, page, annotation)
                found += [link] if link is not None else []
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)
    return sorted(found, key=lambda link: (link.box[1], link.box[0]))


def add_links(blocks: list[AnyBlock], links: list[PageLink]) -> None:
    """Give each link to the block at its place that has its text."""
    for link in links:
        for block in blocks:
            is_there = block.box is not None and _is_within(link.box, block.box)
            if is_there and any(_add_link(block, text, link.target) for text in link.texts):
                break


def _read_link(file: PdfFile, page: PdfPage, annotation: Any) -> PageLink | None:
    target = _read_target(file, pdfium.FPDFAnnot_GetLink(annotation))
    box = read_box(page, annotation)
    rectangle = pdfium.FS_RECTF()
    if not target or box is None or not pdfium.FPDFAnnot_GetRect(annotation, rectangle):
        return None
    places = [_shrink(rectangle, page.rotation, share) for share in _SHRINK_SHARES]
    texts = [text for text in dict.fromkeys(page.text_within(*place) for place in places) if text]
    return PageLink(texts, target, box) if texts else None


def _shrink(rectangle: Any, rotation: int, share: float) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the middle of a place."""
    x0, x1 = sorted((rectangle.left, rectangle.right))
    y0, y1 = sorted((rectangle.bottom, rectangle.top))
    if rotation % 2:
        x0, x1 = x0 + share * (x1 - x0), x1 - share * (x1 - x0)
    else:
        y0, y1 = y0 + share * (y1 - y0), y1 - share * (y1 - y0)
    return x0, y1, x1, y0


def _read_target(file: PdfFile, link: Any) -> str:
    action = pdfium.FPDFLink_GetAction(link) if link else None
    if not action or pdfium.FPDFAction_GetType(action) != pdfium.PDFACTION_URI:
        return ""
    size = int(pdfium.FPDFAction_GetURIPath(file.handle, action, None, 0))
    if not 1 < size <= TARGET_BYTES_MAX:
        return ""
    buffer = ctypes.create_string_buffer(size)
    pdfium.FPDFAction_GetURIPath(file.handle, action, buffer, size)
    target = collapse_whitespace(clean(buffer.raw[: size - 1].decode("utf-8", "replace")))
    return "" if target.lower().startswith(_NO_TARGET) else target


def _is_within(inner: Box, outer: Box) -> bool:
    """Whether the middle of a place is within another."""
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return outer[0] - 5 <= x <= outer[2] + 5 and outer[1] - 5 <= y <= outer[3] + 5


def _add_link(block: AnyBlock, text: str, target: str) -> bool:
    """Add a link to a block that has its text."""
    if isinstance(block, Table):
        for cell in block.cells:
            if text in cell.text:
                cell.links = (*cell.links, (text, target))
                return True
        return False
    if not isinstance(block, Title | Heading | Paragraph | ListItem) or text not in block.text:
        return False
    text = _cut_partial_words(text, block.text)
    if block.links:
        before, same = block.links[-1]
        longer = f"{before} {text}"
        if target == same and longer in block.text:
            block.links[-1] = longer, target
            return True
    block.links.append((text, target))
    return True


def _cut_partial_words(text: str, whole: str) -> str:
    """The text without words of which only a part is in it: a place often touches the words beside it."""
    begin = whole.find(text)
    end = begin + len(text)
    if begin > 0 and whole[begin - 1].isalnum() and text[0].isalnum() and " " in text:
        text = text.partition(" ")[2]
    if end < len(whole) and whole[end].isalnum() and text[-1].isalnum() and " " in text:
        text = text.rpartition(" ")[0]
    return text
