"""Pages as images: large enough for small letters, and bounded whatever the size of the page; and what an OCR engine
must do with a page. The caller opens the engine, and passes it to the reader."""

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pypdfium2.raw as pdfium

from inorder.documents.model import AnyBlock, Paragraph

from .pdfium import HANDLES, PdfPage

SCALE = 200 / 72
"""Pixels per point: 200 dpi, which letters of six points need."""
SIDE_PIXELS_MAX = 2000
"""Limit of the longer side. OCR would scale a larger image down."""

Pixels = npt.NDArray[np.uint8]
"""Rows from the top; each pixel is blue, green and red."""


class OcrPage(NamedTuple):
    """The recognized content of a page."""

    blocks: list[AnyBlock]
    confidence: float
    """Average over all characters, from 0 to 1."""
    left_out: int = 0
    """Lines that were too unsure to be kept."""

    def describe(self) -> str:
        """How sure it is, and what is marked or missing."""
        unsure = sum(isinstance(block, Paragraph) and block.source == "unsure" for block in self.blocks)
        parts = [f"confidence {self.confidence:.2f}"]
        parts += [f"{unsure} unsure blocks are marked"] if unsure else []
        parts += [f"{self.left_out} lines were left out"] if self.left_out else []
        return ", ".join(parts)


class PageRecognizer(Protocol):
    """Recognizes the text of a page."""

    def read_page(self, page: PdfPage) -> OcrPage | None:
        """Recognize the text of a page. Returns None if there is no text with enough confidence."""
        ...


def render_page(page: PdfPage, side_pixels_max: int = SIDE_PIXELS_MAX) -> tuple[Pixels, float]:
    """The displayed page on a white background, and its scale in pixels per point."""
    scale = min(SCALE, side_pixels_max / max(page.width, page.height))
    width, height = max(1, round(page.width * scale)), max(1, round(page.height * scale))
    pixels = np.full((height, width, 3), 255, np.uint8)
    bitmap = pdfium.FPDFBitmap_CreateEx(width, height, pdfium.FPDFBitmap_BGR, pixels.ctypes.data, pixels.strides[0])
    if not bitmap:
        return pixels, scale
    HANDLES.open += 1
    try:
        pdfium.FPDF_RenderPageBitmap(bitmap, page.handle, 0, 0, width, height, 0, pdfium.FPDF_ANNOT)
    finally:
        pdfium.FPDFBitmap_Destroy(bitmap)
        HANDLES.open -= 1
    return pixels, scale
