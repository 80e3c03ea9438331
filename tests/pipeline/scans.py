"""Scans for tests: pages without text whose image says which page it is, and a model that reads it."""

import base64
import io
from pathlib import Path

from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from inorder.testing import ModelRequest
from tests.documents.pdf_files import HEIGHT, WIDTH, Draw, draw_pdf

BITS = 16
_LEFT, _STEP, _TOP, _HIGH = 0.1, 0.05, 0.3, 0.1
"""As shares of the width and the height of a page."""


def draw_scan(number: int) -> Draw:
    """A page without text that shows a number as black and white fields."""

    def draw(canvas: Canvas) -> None:
        canvas.rect(10, 10, WIDTH - 20, HEIGHT - 20)
        for bit in range(BITS):
            if number >> bit & 1:
                left = (_LEFT + bit * _STEP) * WIDTH
                canvas.rect(left, HEIGHT * (1 - _TOP - _HIGH), _STEP * WIDTH, _HIGH * HEIGHT, fill=1)

    return draw


def make_image(number: int) -> Image.Image:
    """The same as an image."""
    image = Image.new("L", (600, 800), 255)
    for bit in range(BITS):
        if number >> bit & 1:
            left = round((_LEFT + bit * _STEP) * 600)
            image.paste(0, (left, round(_TOP * 800), left + round(_STEP * 600), round((_TOP + _HIGH) * 800)))
    return image


def read_number(request: ModelRequest) -> int:
    """The number that the page of a request shows."""
    [url] = request.images
    with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as image:
        grey = image.convert("L")
        top = round((_TOP + _HIGH / 2) * grey.height)
        fields = [grey.getpixel((round((_LEFT + (bit + 0.5) * _STEP) * grey.width), top)) for bit in range(BITS)]
    return sum(1 << bit for bit, value in enumerate(fields) if value < 128)


def answer(request: ModelRequest) -> str:
    """What a good model says of a page, or without one."""
    if not request.images:
        return "yes"
    number = read_number(request)
    return f"## Page {number}\n\nThe keeper of page {number} lights lamp number{number} at dusk."


def write_scans(folder: Path, *counts: int, first: int = 1) -> list[int]:
    """Write a PDF for each count of pages. Returns the numbers of all pages."""
    folder.mkdir(parents=True, exist_ok=True)
    number = first
    for index, count in enumerate(counts):
        pages = range(number, number + count)
        (folder / f"scan-{index:03}.pdf").write_bytes(draw_pdf(*map(draw_scan, pages)))
        number += count
    return list(range(first, number))
