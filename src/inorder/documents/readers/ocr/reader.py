"""Recognizes the text of pages without a text layer, by RapidOCR with the models in its package.

It takes seconds per page, so it is used only for pages without any text. The models always return something, even for a
photograph or a pattern. Lines that are hardly better than chance are left out and counted, unsure blocks are marked,
and a page on which little is sure has no text.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from inorder.documents.readers.pdf.pdfium import PdfPage
from inorder.documents.readers.pdf.render import OcrPage, Pixels, render_page
from inorder.documents.readers.pdf.segments import PageText, Segment

from .blocks import SURE, OcrLine, build_blocks, find_confidence
from .rules import find_rules

SURE_SHARE_MIN = 0.5
"""Share of the characters of a page that must be in sure lines."""
LINE_CONFIDENCE_MIN = 0.5
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
            "Global.text_score": 0.0,
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
        every = [
            OcrLine(_make_line(box, text.strip(), scale), float(score))
            for box, text, score in zip(found.boxes, found.txts, found.scores, strict=True)
            if text.strip()
        ]
        lines = [line for line in every if line.confidence >= LINE_CONFIDENCE_MIN]
        sure = sum(len(line.segment.text) for line in every if line.confidence >= SURE)
        if not lines or sure < SURE_SHARE_MIN * sum(len(line.segment.text) for line in every):
            return None
        height, width = pixels.shape[:2]
        page = PageText(number=number, width=width / scale, height=height / scale, graphics=find_rules(pixels, scale))
        return OcrPage(build_blocks(lines, page), find_confidence(lines), len(every) - len(lines))


def _make_line(box: Any, text: str, scale: float) -> Segment:
    """A line in points. Corners are given clockwise from the top left; of a slanted line the mean heights are used."""
    corners = [(float(x) / scale, float(y) / scale) for x, y in box]
    (_, top_left), (_, top_right), (_, bottom_right), (_, bottom_left) = corners
    top, bottom = (top_left + top_right) / 2, (bottom_left + bottom_right) / 2
    left, right = min(x for x, _ in corners), max(x for x, _ in corners)
    return Segment(text, left, top, right, bottom, bottom - top)
