"""PDFium as we call it: documents, pages and text pages that are always closed, and calls that cost little.

A page has thousands of characters, and a call into the library costs as much as the work it does. So the calls made
per word go through prototypes that take plain addresses and keep the interpreter lock, and many of them are made at
once by `map`, writing into one buffer. What is rare goes through the ordinary bindings.

PDFium is not safe for threads. One lock is held as long as a document is open: documents are read in parallel by
processes.
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

from inorder.errors import ReadError

PAGES_MAX = 100_000
"""More is not a document but a lie about one, and every page of it would be tried."""
NAME_BYTES_MAX = 128
HEADER_BYTES = 1024
"""How far into a file its header may stand."""

_LOCK = threading.Lock()
_POINTER = ctypes.c_void_p
_INT = ctypes.c_int
_NUMBER = ctypes.c_void_p


def bind_function(name: str, result: Any, *arguments: Any) -> Any:
    """The function of that name, taking addresses as plain numbers.

    Small whole numbers may be declared as addresses, too: they travel in the same registers, and ctypes takes four
    times as long to make an `int` of a number as an address.
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
    """How many handles of the library are open. Whoever reads many pages must end where it began."""

    def __init__(self) -> None:
        self.open = 0


HANDLES = Handles()


@contextmanager
def open_pdf(data: bytes) -> Iterator["PdfFile"]:
    """The document in these bytes, or `ReadError` with a line that says why not."""
    with _LOCK:
        handle = pdfium.FPDF_LoadMemDocument64(ctypes.c_char_p(data), len(data), None)
        if not handle:
            raise ReadError(_explain_open_error(data, pdfium.FPDF_GetLastError()))
        HANDLES.open += 1
        try:
            yield PdfFile(handle)
        finally:
            pdfium.FPDF_CloseDocument(handle)
            HANDLES.open -= 1


def _explain_open_error(data: bytes, code: int) -> str:
    if not data:
        return "the file is empty"
    if code == pdfium.FPDF_ERR_PASSWORD:
        return "the PDF is encrypted, and its password is not known"
    if code == pdfium.FPDF_ERR_SECURITY:
        return "the PDF is encrypted in a way that cannot be read"
    if b"%PDF-" not in data[:HEADER_BYTES]:
        return "not a PDF: it has no PDF header"
    return "the PDF is damaged or cut short and cannot be opened"


class PdfFile:
    """An open document."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self.page_count: int = pdfium.FPDF_GetPageCount(handle)
        if self.page_count <= 0:
            raise ReadError("the PDF has no pages")
        if self.page_count > PAGES_MAX:
            raise ReadError(f"the PDF claims {self.page_count} pages, which is more than {PAGES_MAX}")

    @contextmanager
    def page(self, number: int) -> Iterator["PdfPage | None"]:
        """A page, from 1, closed afterwards; None where it cannot be loaded."""
        page = pdfium.FPDF_LoadPage(self._handle, number - 1)
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
    """Boxes of characters in the coordinates of the page, where y goes up."""

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

    def insert(self, character_indices: Sequence[int], more: "Boxes") -> "Boxes":
        """These boxes, with more of them at the given places, which are sorted."""
        numbers = array("f")
        done = 0
        for index, place in enumerate(character_indices):
            numbers += self._numbers[4 * done : 4 * place] + more._numbers[4 * index : 4 * index + 4]
            done = place
        return Boxes(numbers + self._numbers[4 * done :])


class PdfPage:
    """An open page: its size and the raw facts about its text."""

    def __init__(self, handle: Any, number: int) -> None:
        self.handle = handle
        self.number = number
        self.width: float = pdfium.FPDF_GetPageWidthF(handle)
        self.height: float = pdfium.FPDF_GetPageHeightF(handle)
        """As it is looked at: turned by the rotation of the page."""
        self._text: Any = None
        self._address: int | None = None
        self._indices_differ = False

    @cached_property
    def rotation(self) -> int:
        """By how many quarters the page is turned clockwise before it is looked at."""
        return int(pdfium.FPDFPage_GetRotation(self.handle)) % 4

    @cached_property
    def bounds(self) -> tuple[float, float, float, float]:
        """Left, bottom, right and top of what is visible, in the page's own coordinates."""
        box = pdfium.FS_RECTF()
        if not pdfium.FPDF_GetPageBoundingBox(self.handle, box):
            return 0.0, 0.0, self.width, self.height
        return box.left, min(box.bottom, box.top), box.right, max(box.bottom, box.top)

    def object_count(self) -> int:
        """How many things are drawn on the page."""
        return int(pdfium.FPDFPage_CountObjects(self.handle))

    def text(self) -> str:
        """All text in the order of the page's content, one item for each character that can be asked about."""
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
        if len(text) != written:  # characters beyond 16 bits: halves stay apart until a piece of text is cut out
            text = "".join(map(chr, buffer[:written]))
        return text

    def close_text(self) -> None:
        """Give the text page back."""
        if self._text:
            pdfium.FPDFText_ClosePage(self._text)
            HANDLES.open -= 1
            self._text = None

    def character_indices(self, text_indices: Sequence[int]) -> Sequence[int]:
        """The numbers under which PDFium knows the characters at these places of the text."""
        if not self._indices_differ:
            return text_indices
        return [max(0, _char_index(self._address, index)) for index in text_indices]

    def boxes(self, characters: Sequence[int]) -> "Boxes":
        """Where each of these characters stands."""
        size = 16 * len(characters)
        buffer = array("f", bytes(size))
        start = buffer.buffer_info()[0]
        deque(map(_loose_box, repeat(self._address), characters, range(start, start + size, 16)), 0)
        return Boxes(buffer)

    def fonts(self, characters: Sequence[int]) -> list[int | None]:
        """The font of each of these characters; good while the page is open."""
        return list(map(_font_of, map(_text_object, repeat(self._address), characters)))

    def font_sizes(self, characters: Sequence[int]) -> list[float]:
        """As written in the page; matrices scale them."""
        return list(map(_font_size, repeat(self._address), characters))

    def matrices(self, characters: Sequence[int]) -> Iterator[tuple[float, ...]]:
        """From the space of the text to that of the page, for each of these characters."""
        size = 24 * len(characters)
        buffer = array("f", bytes(size))
        start = buffer.buffer_info()[0]
        deque(map(_matrix, repeat(self._address), characters, range(start, start + size, 24)), 0)
        return struct.iter_unpack("6f", buffer)


def font_properties(font: int) -> tuple[str, int, int]:
    """Name, flags and weight of a font; -1 where it does not say."""
    buffer = array("B", bytes(NAME_BYTES_MAX))
    length = _font_name(font, buffer.buffer_info()[0], NAME_BYTES_MAX)
    name = buffer[: length - 1].tobytes().decode("utf-8", "replace") if 0 < length <= NAME_BYTES_MAX else ""
    return name, int(_font_flags(font)), int(_font_weight(font))
