"""Recognizes the text of pages without a text layer, by RapidOCR with the models in its package.

It takes seconds per page, so it is used only for pages without any text. The models always return something, even for a
photograph or a pattern. Lines with low confidence are dropped, and a page with low confidence has no text.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from inorder.documents.readers.pdf.pdfium import PdfPage
from inorder.documents.readers.pdf.render import OcrPage, Pixels, render_page
from inorder.documents.readers.pdf.segments import Segment

from .blocks import build_blocks

CONFIDENCE_MIN = 0.8
"""Minimum for a page. Printed text has 0.95 and more; patterns without text have 0.5 to 0.75."""
_LINE_CONFIDENCE_MIN = 0.6
_DETECTED_SIDE_PIXELS_MAX = 1280
"""Lines are detected in a smaller image, which takes a third of the time, and read in the large one."""
_SIDE_PIXELS_MIN = 16
"""A page that is narrower than a letter is not processed."""


def open_engine() -> Any:
    """Open RapidOCR. It uses one thread, because pages are processed in parallel by processes."""
    import_module("cv2").setNumThreads(1)
    return import_module("rapidocr").RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.text_score": _LINE_CONFIDENCE_MIN,
            "Det.limit_type": "max",
            "Det.limit_side_len": _DETECTED_SIDE_PIXELS_MAX,
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


class Recognizer:
    """Recognizes text with an OCR engine, which is opened with the first page that needs it: RapidOCR, or another one
    that is called with pixels and returns what RapidOCR returns."""

    def __init__(self, open_other: Callable[[], Any] | None = None) -> None:
        self._open_engine = open_other or open_engine
        self._engine: Any = None

    def read_page(self, page: PdfPage) -> OcrPage | None:
        """Render a page and recognize its text. Returns None if there is no text with enough confidence."""
        return self.read_pixels(*render_page(page), page.number)

    def read_pixels(self, pixels: Pixels, scale: float, number: int) -> OcrPage | None:
        """Recognize the text of an image of page `number`; `scale` is in pixels per point. Returns None if there is no
        text with enough confidence."""
        if min(pixels.shape[:2]) < _SIDE_PIXELS_MIN:
            return None
        if self._engine is None:
            self._engine = self._open_engine()
        found = self._engine(pixels)
        if found.boxes is None:
            return None
        lines = [_make_line(box, text.strip(), scale) for box, text in zip(found.boxes, found.txts, strict=True)]
        letters = [len(line.text) for line in lines]
        sure = sum(count * float(score) for count, score in zip(letters, found.scores, strict=True))
        confidence = sure / sum(letters)
        return OcrPage(build_blocks(lines, number), confidence) if confidence >= CONFIDENCE_MIN else None


def _make_line(box: Any, text: str, scale: float) -> Segment:
    """A line in points. Corners are given clockwise from the top left; of a slanted line the mean heights are used."""
    corners = [(float(x) / scale, float(y) / scale) for x, y in box]
    (_, top_left), (_, top_right), (_, bottom_right), (_, bottom_left) = corners
    top, bottom = (top_left + top_right) / 2, (bottom_left + bottom_right) / 2
    left, right = min(x for x, _ in corners), max(x for x, _ in corners)
    return Segment(text, left, top, right, bottom, bottom - top)
