"""Calls PDFium: documents, pages and text pages that are always closed, and fast calls.

A page has thousands of characters, and a call into the library costs as much as the work it does. So calls per word go
through prototypes that take plain addresses and keep the interpreter lock, and `map` makes many of them at once, which
write into one buffer. Rare calls go through the ordinary bindings of pypdfium2.

PDFium is not thread-safe. One lock is held while a document is open: documents are read in parallel by processes.
"""

import ctypes
import struct
import threading
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import repeat
from typing import Any

import pypdfium2.raw as pdfium

from inorder.documents.readers.passwords import get_passwords
from inorder.errors import ReadError

PAGES_MAX = 100_000
"""A file that claims more is damaged or hostile, and every page would be tried."""
NAME_BYTES_MAX = 128
HEADER_BYTES = 1024
"""The header of a PDF is within this many bytes."""

_LOCK = threading.Lock()
_POINTER = ctypes.c_void_p
_INT = ctypes.c_int
_NUMBER = ctypes.c_void_p


def bind_function(name: str, result: Any, *arguments: Any) -> Any:
    """The PDFium function of this name, with addresses as plain numbers.

    Small integers may be declared as addresses too: they are passed in the same registers, and ctypes needs four times
    as long to convert a number to an `int` as to an address.
    """
    address = ctypes.cast(getattr(pdfium, name), _POINTER).value or 0
    return ctypes.PYFUNCTYPE(result, *arguments)(address)


_loose_box = bind_function("FPDFText_GetLooseCharBox", _INT, _POINTER, _NUMBER, _POINTER)
_text_object = bind_function("FPDFText_GetTextObject", _POINTER, _POINTER, _NUMBER)
_font_size = bind_function("FPDFText_GetFontSize", ctypes.c_double, _POINTER, _NUMBER)
_matrix = bind_function("FPDFText_GetMatrix", _INT, _POINTER, _NUMBER, _POINTER)
_char_index = bind_function("FPDFText_GetCharIndexFromTextIndex", _INT, _POINTER, _INT)
_get_text = bind_function("FPDFText_GetText", _INT, _POINTER, _INT, _INT, _POINTER)
_font_of = bind_function("FPDFTextObj_GetFont", _POINTER, _POINTER)
_font_name = bind_function("FPDFFont_GetBaseFontName", ctypes.c_size_t, _POINTER, _POINTER, ctypes.c_size_t)
_font_flags = bind_function("FPDFFont_GetFlags", _INT, _POINTER)
_font_weight = bind_function("FPDFFont_GetWeight", _INT, _POINTER)


class Handles:
    """Counts open handles of PDFium, so that tests can find leaks."""

    def __init__(self) -> None:
        self.open = 0


HANDLES = Handles()


@contextmanager
def open_pdf(data: bytes) -> Iterator["PdfFile"]:
    """Open a PDF. Raises `ReadError` with the reason if that is not possible."""
    with _LOCK:
        handle = _load_document(data)
        if not handle:
            raise ReadError(_explain_open_error(data, pdfium.FPDF_GetLastError()))
        HANDLES.open += 1
        try:
            yield PdfFile(handle)
        finally:
            pdfium.FPDF_CloseDocument(handle)
            HANDLES.open -= 1


def _load_document(data: bytes) -> Any:
    """Load a PDF; if it is encrypted, with each known password in turn."""
    handle = pdfium.FPDF_LoadMemDocument64(ctypes.c_char_p(data), len(data), None)
    if not handle and pdfium.FPDF_GetLastError() == pdfium.FPDF_ERR_PASSWORD:
        for password in get_passwords():
            handle = pdfium.FPDF_LoadMemDocument64(ctypes.c_char_p(data), len(data), password.encode())
            if handle:
                break
    return handle


def _explain_open_error(data: bytes, code: int) -> str:
    if not data:
        return "the file is empty"
    if code == pdfium.FPDF_ERR_PASSWORD:
        known = "; none in the password file opens it" if get_passwords() else ""
        return f"the PDF is encrypted with a password{known}"
    if code == pdfium.FPDF_ERR_SECURITY:
        return "the PDF is encrypted with an unsupported method"
    if b"%PDF-" not in data[:HEADER_BYTES]:
        return "not a PDF: the file has no PDF header"
    return "the PDF is damaged or truncated"


class PdfFile:
    """An open PDF."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle
        self.page_count: int = pdfium.FPDF_GetPageCount(handle)
        if self.page_count <= 0:
            raise ReadError("the PDF has no pages")
        if self.page_count > PAGES_MAX:
            raise ReadError(f"the PDF claims to have {self.page_count:,} pages; the limit is {PAGES_MAX:,}")

    @contextmanager
    def page(self, number: int) -> Iterator["PdfPage | None"]:
        """Open a page (from 1) and close it afterwards. None if it cannot be loaded."""
        page = pdfium.FPDF_LoadPage(self.handle, number - 1)
        if not page:
            yield None
            return
        HANDLES.open += 1
        pdf_page = PdfPage(page, number)
        try:
            yield pdf_page
        finally:
            pdf_page.close_text()
            pdfium.FPDF_ClosePage(page)
            HANDLES.open -= 1


class Boxes:
    """Boxes of characters in the coordinates of the PDF page, where y goes up."""

    def __init__(self, numbers: "array[float]") -> None:
        self._numbers = numbers

    def low(self, quarter: int) -> list[float]:
        """Where each box begins in a direction: 0 right, 1 up, 2 left, 3 down."""
        if quarter == 0:
            return self._numbers[0::4].tolist()
        if quarter == 1:
            return self._numbers[3::4].tolist()
        return [-edge for edge in self.high(quarter - 2)]

    def high(self, quarter: int) -> list[float]:
        """Where each box ends in a direction."""
        if quarter == 0:
            return self._numbers[2::4].tolist()
        if quarter == 1:
            return self._numbers[1::4].tolist()
        return [-edge for edge in self.low(quarter - 2)]

    def insert(self, places: Sequence[int], more: "Boxes") -> "Boxes":
        """These boxes with others inserted at the given places, which are sorted."""
        numbers = array("f")
        done = 0
        for index, place in enumerate(places):
            numbers += self._numbers[4 * done : 4 * place] + more._numbers[4 * index : 4 * index + 4]
            done = place
        return Boxes(numbers + self._numbers[4 * done :])


class PdfPage:
    """An open page: its size, and raw data about its text."""

    def __init__(self, handle: Any, number: int) -> None:
        self.handle = handle
        self.number = number
        self.width: float = pdfium.FPDF_GetPageWidthF(handle)
        self.height: float = pdfium.FPDF_GetPageHeightF(handle)
        """Size of the displayed page, after its rotation."""
        self._text: Any = None
        self._address: int | None = None
        self._indices_differ = False

    @cached_property
    def rotation(self) -> int:
        """The rotation for display, in quarter turns clockwise."""
        return int(pdfium.FPDFPage_GetRotation(self.handle)) % 4

    @cached_property
    def bounds(self) -> tuple[float, float, float, float]:
        """Left, bottom, right and top of the visible area, in the coordinates of the PDF page."""
        box = pdfium.FS_RECTF()
        if not pdfium.FPDF_GetPageBoundingBox(self.handle, box):
            return 0.0, 0.0, self.width, self.height
        return box.left, min(box.bottom, box.top), box.right, max(box.bottom, box.top)

    def object_count(self) -> int:
        """The number of objects on the page."""
        return int(pdfium.FPDFPage_CountObjects(self.handle))

    def text(self) -> str:
        """Load the text of the page, in the order of its content."""
        self._text = pdfium.FPDFText_LoadPage(self.handle)
        if not self._text:
            return ""
        HANDLES.open += 1
        self._address = ctypes.cast(self._text, _POINTER).value
        count = int(pdfium.FPDFText_CountChars(self._text))
        if count <= 0:
            return ""
        buffer = array("H", bytes(2 * count + 2))
        written = _get_text(self._address, 0, count, buffer.buffer_info()[0]) - 1
        if written <= 0:
            return ""
        self._indices_differ = written != count
        text = buffer[:written].tobytes().decode("utf-16-le", "replace")
        if len(text) != written:  # surrogate pairs: kept as two characters, so that indices stay valid
            text = "".join(map(chr, buffer[:written]))
        return text

    def close_text(self) -> None:
        """Close the text page. Idempotent."""
        if self._text:
            pdfium.FPDFText_ClosePage(self._text)
            HANDLES.open -= 1
            self._text = None

    def character_indices(self, text_indices: Sequence[int]) -> Sequence[int]:
        """PDFium's indices of the characters at these indices of the text."""
        if not self._indices_differ:
            return text_indices
        return [max(0, _char_index(self._address, index)) for index in text_indices]

    def boxes(self, characters: Sequence[int]) -> "Boxes":
        """The boxes of these characters."""
        size = 16 * len(characters)
        buffer = array("f", bytes(size))
        start = buffer.buffer_info()[0]
        deque(map(_loose_box, repeat(self._address), characters, range(start, start + size, 16)), 0)
        return Boxes(buffer)

    def fonts(self, characters: Sequence[int]) -> list[int | None]:
        """The font of each of these characters. Valid while the page is open."""
        return list(map(_font_of, map(_text_object, repeat(self._address), characters)))

    def font_sizes(self, characters: Sequence[int]) -> list[float]:
        """The font sizes in the content of the page, before the matrix scales them."""
        return list(map(_font_size, repeat(self._address), characters))

    def matrices(self, characters: Sequence[int]) -> Iterator[tuple[float, ...]]:
        """The matrix from text space to page space, for each of these characters."""
        size = 24 * len(characters)
        buffer = array("f", bytes(size))
        start = buffer.buffer_info()[0]
        deque(map(_matrix, repeat(self._address), characters, range(start, start + size, 24)), 0)
        return struct.iter_unpack("6f", buffer)


def font_properties(font: int) -> tuple[str, int, int]:
    """Name, flags and weight of a font; -1 for what is not given."""
    buffer = array("B", bytes(NAME_BYTES_MAX))
    length = _font_name(font, buffer.buffer_info()[0], NAME_BYTES_MAX)
    name = buffer[: length - 1].tobytes().decode("utf-8", "replace") if 0 < length <= NAME_BYTES_MAX else ""
    return name, int(_font_flags(font)), int(_font_weight(font))
