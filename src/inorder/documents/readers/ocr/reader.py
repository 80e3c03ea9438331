"""Recognizes the text of pages without a text layer, by RapidOCR with the models in its package.

It takes seconds per page, so it is used only for pages without any text. The models always return something, even for a
photograph or a pattern. Lines with low confidence are dropped, and a page with low confidence has no text.
"""

from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

from inorder.documents.model import AnyBlock
from inorder.documents.readers.pdf.pdfium import PdfPage
from inorder.documents.readers.pdf.render import Pixels, render_page
from inorder.documents.readers.pdf.segments import Segment

from .blocks import build_blocks

CONFIDENCE_MIN = 0.8
"""Minimum for a page. Printed text has 0.95 and more; patterns without text have 0.5 to 0.75."""
_LINE_CONFIDENCE_MIN = 0.6
_DETECTED_SIDE_PIXELS_MAX = 1280
"""Lines are detected in a smaller image, which takes a third of the time, and read in the large one."""
_SIDE_PIXELS_MIN = 16
"""A page that is narrower than a letter is not processed."""


class OcrPage(NamedTuple):
    """The recognized content of a page."""

    blocks: list[AnyBlock]
    confidence: float
    """Average over all characters, from 0 to 1."""


def recognize_page(page: PdfPage) -> OcrPage | None:
    """Render a page and recognize its text. None if there is no text with enough confidence."""
    return recognize_pixels(*render_page(page), page.number)


def recognize_pixels(pixels: Pixels, scale: float, number: int) -> OcrPage | None:
    """Recognize the text of an image of page `number`; `scale` is in pixels per point. None if there is no text with
    enough confidence."""
    if min(pixels.shape[:2]) < _SIDE_PIXELS_MIN:
        return None
    found = _load_engine()(pixels)
    if found.boxes is None:
        return None
    lines = [_make_line(box, text.strip(), scale) for box, text in zip(found.boxes, found.txts, strict=True)]
    letters = [len(line.text) for line in lines]
    sure = sum(count * float(score) for count, score in zip(letters, found.scores, strict=True))
    confidence = sure / sum(letters)
    return OcrPage(build_blocks(lines, number), confidence) if confidence >= CONFIDENCE_MIN else None


@lru_cache(maxsize=1)
def _load_engine() -> Any:
    """The OCR engine of this process. It uses one thread, because pages are processed in parallel by processes."""
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


def _make_line(box: Any, text: str, scale: float) -> Segment:
    """A line in points. Corners are given clockwise from the top left; of a slanted line the mean heights are used."""
    corners = [(float(x) / scale, float(y) / scale) for x, y in box]
    (_, top_left), (_, top_right), (_, bottom_right), (_, bottom_left) = corners
    top, bottom = (top_left + top_right) / 2, (bottom_left + bottom_right) / 2
    left, right = min(x for x, _ in corners), max(x for x, _ in corners)
    return Segment(text, left, top, right, bottom, bottom - top)
