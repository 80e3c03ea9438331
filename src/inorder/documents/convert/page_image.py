"""A page as the image that a model gets: a JPEG of the displayed page on white, of bounded size."""

import io
from collections.abc import Sequence

from inorder.documents.readers.pdf.pdfium import open_pdf
from inorder.documents.readers.pdf.render import Pixels, render_page
from inorder.errors import ReadError

MEDIA_TYPE = "image/jpeg"
_QUALITY = 90


def render(content: bytes, kind: str, number: int, pixels_max: int, passwords: Sequence[str] = ()) -> bytes:
    """Return page `number` (from 1) of a PDF or an image, at most `pixels_max` on its longer side. Raises `ReadError`
    with the reason if it cannot be rendered."""
    if kind == "image":
        from inorder.documents.readers.ocr.image import decode_page

        return _encode(decode_page(content, number), pixels_max)
    with open_pdf(content, passwords) as file:
        if not 1 <= number <= file.page_count:
            raise ReadError(f"there is no page {number} in a PDF of {file.page_count} pages")
        with file.page(number) as page:
            if page is None or not (page.width > 0 and page.height > 0):
                raise ReadError(f"page {number} cannot be rendered")
            return _encode(render_page(page, pixels_max)[0], pixels_max)


def _encode(pixels: Pixels, pixels_max: int) -> bytes:
    from PIL import Image

    image = Image.fromarray(pixels[:, :, ::-1])
    image.thumbnail((pixels_max, pixels_max))
    written = io.BytesIO()
    image.save(written, "JPEG", quality=_QUALITY)
    return written.getvalue()
