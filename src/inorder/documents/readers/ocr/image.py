"""Reads images of pages: photographs, scans, and the pages of a TIFF file."""

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np

from inorder.documents.model import AnyBlock, Document, Page
from inorder.documents.readers.pdf.render import SIDE_PIXELS_MAX, Pixels
from inorder.documents.readers.registry import image_version
from inorder.documents.readers.vision.answers import PageDoubt, PageSource
from inorder.errors import ReadError

from .reader import Recognizer

PIXELS_MAX = 150_000_000
"""Pixels of an image: a sheet of A3 at 900 dpi."""
_TOO_LARGE = f"the image has more than {PIXELS_MAX:,} pixels"
PAGES_MAX = 1_000
_FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP")
_POINTS_PER_INCH = 72
_RESOLUTION_DEFAULT = 200
_RESOLUTIONS = (50, 2400)
"""Dots per inch that are believed. Photographs often state 72, which is taken as it is."""


def read(
    data: bytes,
    name: str,
    recognizer: Recognizer | None,
    on_page: Callable[[int, int], None] | None = None,
    answers: PageSource | None = None,
) -> Document:
    """Read an image: what a model has answered about it, or else what is recognized. Raises `ReadError` with the reason
    if it cannot be decoded. `on_page` is called before each page is read, with its number and that of the last one."""
    blocks: list[AnyBlock] = []
    pages: list[Page] = []
    notes: list[str] = []
    image, count = _open(data)
    last = min(count, PAGES_MAX)
    if last < count:
        notes.append(f"only the first {PAGES_MAX:,} of {count:,} pages were read")
    for number, (pixels, scale) in enumerate(_decode_pages(image, last), 1):
        if on_page is not None:
            on_page(number, last)
        height, width = pixels.shape[:2]
        answer = None if answers is None else answers.read(PageDoubt(number, "is an image"))
        is_answered = answer is not None and answer.blocks is not None
        found = None if recognizer is None or is_answered else recognizer.read_pixels(pixels, scale, number)
        reading = msgspec.UNSET if answer is None else answer.reading
        pages.append(Page(number, width / scale, height / scale, False, found is not None, reading))
        notes += () if answer is None else answer.warnings
        if answer is not None and answer.blocks is not None:
            blocks += answer.blocks
        elif found is None and recognizer is not None:
            notes.append(f"no text was recognized on page {number}")
        elif found is not None:
            notes.append(f"page {number} was read by OCR ({found.describe()})")
            blocks += found.blocks
    mimetype = f"image/{str(image.format).lower()}"
    return Document(name=name, mimetype=mimetype, blocks=blocks, pages=pages, reader=image_version(), warnings=notes)


def decode_page(data: bytes, number: int) -> Pixels:
    """Return the pixels of page `number` (from 1) of an image. Raises `ReadError` with the reason."""
    image, count = _open(data)
    if not 1 <= number <= count:
        raise ReadError(f"there is no page {number} in an image of {count} pages")
    with _decode(f"page {number} of the image"):
        image.seek(number - 1)
        return _decode_page(image)[0]


@contextmanager
def _decode(what: str) -> Iterator[None]:
    """Raise whatever Pillow raises as `ReadError`: for damaged files these are many kinds."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (MemoryError, ReadError):
        raise
    except Image.DecompressionBombError:
        raise ReadError(_TOO_LARGE) from None
    except Exception as error:
        raise ReadError(f"{what} cannot be decoded: {_describe(error)}") from None


def _open(data: bytes) -> tuple[Any, int]:
    """The image, and the number of its pages."""
    from PIL import Image

    with _decode("the image"):
        image = Image.open(io.BytesIO(data), formats=_FORMATS)
        return image, int(getattr(image, "n_frames", 1))


def _decode_pages(image: Any, last: int) -> Iterator[tuple[Pixels, float]]:
    """The pixels of each page, upright, at most `SIDE_PIXELS_MAX` to a side, and their scale in pixels per point."""
    for number in range(last):
        with _decode(f"page {number + 1} of the image"):
            image.seek(number)
            page = _decode_page(image)
        yield page


def _decode_page(image: Any) -> tuple[Pixels, float]:
    from PIL import Image, ImageOps

    side = max(image.size)
    if image.width * image.height > PIXELS_MAX:
        raise ReadError(_TOO_LARGE)
    scale = _find_resolution(image) / _POINTS_PER_INCH
    image.draft("RGB", (SIDE_PIXELS_MAX, SIDE_PIXELS_MAX))  # a large JPEG is decoded at half of its size or less
    page = ImageOps.exif_transpose(image).convert("RGBA")
    page.thumbnail((SIDE_PIXELS_MAX, SIDE_PIXELS_MAX))
    white = Image.new("RGBA", page.size, "white")
    white.alpha_composite(page)
    pixels = np.ascontiguousarray(np.asarray(white.convert("RGB"))[:, :, ::-1])
    return pixels, scale * max(page.size) / side


def _find_resolution(image: Any) -> float:
    """Dots per inch, as the image states them."""
    stated = image.info.get("dpi") or (_RESOLUTION_DEFAULT,)
    try:
        resolution = float(stated[0])
    except (TypeError, ValueError, ZeroDivisionError):
        return _RESOLUTION_DEFAULT
    least, most = _RESOLUTIONS
    return resolution if least <= resolution <= most else _RESOLUTION_DEFAULT


def _describe(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) and "BytesIO" not in str(error) else type(error).__name__
