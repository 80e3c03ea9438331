"""Images are read by `--ocr`: every page of them, upright, within limits. The engine that recognizes letters is
replaced here by one that reports what it was given."""

import contextlib
import io
import os
import struct
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from inorder.documents.chunk.chunks import build_chunks
from inorder.documents.chunk.pieces import read_pieces
from inorder.documents.chunk.tokens import count_words
from inorder.documents.convert import settings
from inorder.documents.doctags.docling_json import write_json
from inorder.documents.doctags.tags import write_doctags
from inorder.documents.model import Paragraph
from inorder.documents.readers.ocr import image
from inorder.documents.readers.ocr import reader as ocr
from inorder.documents.readers.pdf.render import SIDE_PIXELS_MAX
from inorder.errors import ReadError
from inorder.pipeline.outcome import FileCounts
from tests.documents.docling_reference import assert_docling_agrees
from tests.documents.stage_runs import StageRuns

pytestmark = pytest.mark.req("DOC-1")


class Engine:
    """Recognizes one line, 20 pixels from the left and 10 from the top, on every page that is not white."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __call__(self, pixels: Any) -> SimpleNamespace:
        self.seen.append(pixels)
        if pixels.min() == 255:
            return SimpleNamespace(boxes=None)
        box = [[20, 10], [220, 10], [220, 30], [20, 30]]
        return SimpleNamespace(boxes=[box], txts=[f"Page {len(self.seen)} of the log"], scores=[0.97])


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    engine = Engine()
    monkeypatch.setattr(ocr, "open_engine", lambda: engine)
    monkeypatch.setattr(image, "image_version", lambda: "image/test")
    monkeypatch.setattr(settings, "image_version", lambda: "image/test")
    monkeypatch.setattr(settings, "ocr_version", lambda: "ocr/test")
    monkeypatch.setattr(settings, "require_ocr", lambda: None)
    return engine


def encode(*pages: Image.Image, format: str = "PNG", **options: Any) -> bytes:
    written = io.BytesIO()
    more = {"save_all": True, "append_images": pages[1:]} if len(pages) > 1 else {}
    pages[0].save(written, format, **more, **options)
    return written.getvalue()


GOLDEN = Path(__file__).parent / "golden" / "image.golden"
GREY = Image.new("L", (400, 200), 128)


@pytest.mark.parametrize("format", ["PNG", "JPEG", "TIFF", "WEBP", "BMP"])
def test_the_text_of_an_image_is_a_page_that_says_how_it_was_read(format: str, engine: Engine) -> None:
    document = image.read(encode(GREY.convert("RGB"), format=format, dpi=(144, 144)), "scan", ocr.Recognizer())
    [block] = document.blocks
    assert isinstance(block, Paragraph)
    assert (block.text, block.page) == ("Page 1 of the log", 1)
    [page] = document.pages
    assert (page.number, page.has_text, page.is_ocr) == (1, False, True)
    assert page.width == 2 * page.height
    assert document.mimetype == f"image/{format.lower()}"
    assert document.warnings == ["page 1 was read by OCR (confidence 0.97)"]
    [pixels] = engine.seen
    assert pixels.shape == (200, 400, 3)


def test_places_are_in_points_by_the_resolution_of_the_image(engine: Engine) -> None:
    document = image.read(encode(GREY, dpi=(144, 144)), "scan", ocr.Recognizer())
    [block] = document.blocks
    assert block.box == pytest.approx((10, 5, 110, 15), abs=1)
    assert document.pages[0].width == pytest.approx(200, abs=1)


@pytest.mark.parametrize("dpi", [(0, 0), (1, 1), (99_999, 99_999)])
def test_a_resolution_that_cannot_be_is_not_believed(dpi: tuple[int, int], engine: Engine) -> None:
    assert image.read(encode(GREY, dpi=dpi), "scan", ocr.Recognizer()).pages[0].width == pytest.approx(144, abs=1)


def test_every_page_of_a_tiff_is_read_and_reported(engine: Engine) -> None:
    reported: list[tuple[int, int]] = []
    white = Image.new("L", (50, 50), 255)
    document = image.read(
        encode(GREY, white, GREY, format="TIFF"), "fax", ocr.Recognizer(), lambda *page: reported.append(page)
    )
    assert reported == [(1, 3), (2, 3), (3, 3)]
    assert [(page.number, page.is_ocr) for page in document.pages] == [(1, True), (2, False), (3, True)]
    assert document.warnings[1] == "no text was recognized on page 2"


def test_a_photograph_is_turned_upright(engine: Engine) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    image.read(encode(GREY, format="JPEG", exif=exif), "photo", ocr.Recognizer())
    assert engine.seen[0].shape == (400, 200, 3)


def test_what_is_transparent_is_white_and_colours_are_in_the_order_of_the_engine(engine: Engine) -> None:
    picture = Image.new("RGBA", (40, 40), (0, 0, 0, 0))
    picture.putpixel((0, 0), (255, 0, 0, 255))
    image.read(encode(picture), "logo", ocr.Recognizer())
    assert engine.seen[0][0, 0].tolist() == [0, 0, 255]
    assert engine.seen[0][1:].min() == 255


@pytest.mark.slow
def test_a_large_image_is_made_smaller(engine: Engine) -> None:
    document = image.read(
        encode(Image.new("L", (6000, 3000), 128), format="JPEG", dpi=(300, 300)), "scan", ocr.Recognizer()
    )
    assert max(engine.seen[0].shape) == SIDE_PIXELS_MAX
    assert document.pages[0].width == pytest.approx(1440, rel=0.01)


def test_an_image_reads_as_it_always_did_and_docling_core_agrees(engine: Engine) -> None:
    """To write the golden file again: INORDER_GOLDEN=1."""
    white = Image.new("L", (300, 200), 255)
    document = image.read(encode(GREY, white, GREY, format="TIFF", dpi=(144, 144)), "fax", ocr.Recognizer())
    chunks = build_chunks("fax", read_pieces(write_json(document)), count_words, 8, 32)
    lines = [f"{chunk.tokens:>3} {chunk.pages}: {chunk.text}" for chunk in chunks]
    found = "\n".join([write_doctags(document), *document.warnings, "", *lines, ""])
    if os.environ.get("INORDER_GOLDEN"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8")
    assert_docling_agrees(document)


# ---- hostile


def claim_size(width: int, height: int) -> bytes:
    """A PNG of a few bytes that claims to be this large."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.mark.req("ROB-1")
@pytest.mark.parametrize("size", [(50_000, 50_000), (2**31 - 1, 2**31 - 1), (13_000, 13_000)])
def test_an_image_that_is_too_large_is_refused_before_it_is_decoded(size: tuple[int, int], engine: Engine) -> None:
    with pytest.raises(ReadError, match=r"more than 150,000,000 pixels$"):
        image.read(claim_size(*size), "bomb", ocr.Recognizer())
    assert engine.seen == []


@pytest.mark.req("ROB-1")
@pytest.mark.parametrize("format", ["PNG", "JPEG", "TIFF", "WEBP", "BMP"])
def test_a_damaged_image_is_refused_or_read_whatever_is_damaged(format: str, engine: Engine) -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (60, 60, 3), np.uint8))
    data = encode(noise, format=format)
    for at in range(8, len(data), max(1, len(data) // 60)):
        for damaged in (data[:at], data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]):
            with contextlib.suppress(ReadError):
                image.read(damaged, "damaged", ocr.Recognizer())


def test_more_pages_than_the_limit_are_left_out_with_a_warning(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "PAGES_MAX", 2)
    document = image.read(encode(GREY, GREY, GREY, format="TIFF"), "fax", ocr.Recognizer())
    assert len(document.pages) == 2
    assert document.warnings[0] == "only the first 2 of 3 pages were read"


# ---- the stage


@pytest.mark.slow
def test_without_ocr_an_image_is_not_read_and_with_it_becomes_a_document(tmp_path: Path, engine: Engine) -> None:
    runs = StageRuns(tmp_path)
    (runs.docs / "scan.png").write_bytes(encode(GREY))
    assert runs.doctags().counts == FileCounts(not_read=1)
    assert runs.reasons() == {"docs/scan.png": "an image: --ocr reads its text"}
    runs.doctags(ocr=True)
    [row] = runs.rows("doctags").values()
    assert (row["status"], row["pages_ocr"], row["blocks"]) == ("success", 1, 1)
    assert runs.documents() == ["docs/scan.png"]
    assert runs.doctags().counts == FileCounts(not_read=1)
    assert runs.documents() == []
