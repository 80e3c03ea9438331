"""Calls PDFium: documents, pages and text pages that are always closed, and fast calls.

A page has thousands of characters, and a call into the library costs as much as the work it does. So calls per word go
through prototypes that keep the interpreter lock, and `map` makes many of them at once. Converting arguments costs more
than the call: addresses that are used again and again are converted once, and results are written to a buffer whose
places are known in advance. Rare calls go through the ordinary bindings of pypdfium2.

PDFium is not thread-safe. One lock is held while a document is open: documents are read in parallel by processes.
"""

import ctypes
import struct
import sys
import threading
from array import array
from codecs import utf_16_le_decode
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import Any

import pypdfium2.raw as pdfium

from inorder.documents.readers.unicode import clean, normalize_characters
from inorder.documents.readers.whitespace import collapse_whitespace
from inorder.errors import ReadError

PAGES_MAX = 100_000
"""A file that claims more is damaged or hostile, and every page would be tried."""
NAME_BYTES_MAX = 128
BOUNDED_CHARACTERS_MAX = 2_000
HEADER_BYTES = 1024
"""The header of a PDF is within this many bytes."""

HEAP_KEPT_BYTES = 16 << 20
"""How much free memory the heap keeps. By default the memory of each page goes back to the system and is requested
again for the next page, which costs a tenth of the time to read it."""
HEAP_BLOCK_BYTES_MAX = 4 << 20
"""Larger blocks of memory are not part of the heap."""
CALLS_MAX = 1024
"""How many results a buffer has places for."""

_LOCK = threading.Lock()
_POINTER = ctypes.c_void_p
_INT = ctypes.c_int
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_BOX = struct.Struct("4f")
BOX_BYTES = 16
MATRIX_BYTES = 24

convert_address = _POINTER.from_param
"""An address as an argument that needs no further conversion."""


def bind_function(name: str, result: Any, *arguments: Any) -> Any:
    """The PDFium function of this name.

    Either all arguments are declared, and addresses are plain numbers; or none is, which takes ctypes half the time:
    then arguments are addresses from `convert_address` and numbers of 32 bits.
    """
    address = ctypes.cast(getattr(pdfium, name), _POINTER).value or 0
    return ctypes.PYFUNCTYPE(result, *arguments)(address)


class ResultBuffer:
    """Calls functions that write single-precision numbers to an address, and collects what they write.

    Not safe for threads: it is used while the lock of PDFium is held.
    """

    def __init__(self, result_bytes: int) -> None:
        self._numbers = array("f", bytes(CALLS_MAX * result_bytes))
        self._view = memoryview(self._numbers)
        self._zeros = memoryview(array("f", bytes(CALLS_MAX * result_bytes)))
        self._size = result_bytes // self._numbers.itemsize
        start = self._numbers.buffer_info()[0]
        self._places = [convert_address(start + result_bytes * index) for index in range(CALLS_MAX)]

    def call(self, function: Any, owner: Any, indices: Sequence[int]) -> "array[float]":
        """Call a function with the owner, each index and a place for its result. Returns the results in a row."""
        count = len(indices)
        if count > CALLS_MAX:
            parts = [indices[start : start + CALLS_MAX] for start in range(0, count, CALLS_MAX)]
            return array("f", b"".join([self.call(function, owner, part).tobytes() for part in parts]))
        end = self._size * count
        self._view[:end] = self._zeros[:end]
        deque(map(function, repeat(owner), indices, self._places), 0)
        return self._numbers[:end]


_page_width = bind_function("FPDF_GetPageWidthF", ctypes.c_float)
_page_height = bind_function("FPDF_GetPageHeightF", ctypes.c_float)
_page_rotation = bind_function("FPDFPage_GetRotation", _INT)
_page_bounds = bind_function("FPDF_GetPageBoundingBox", _INT)
_count_objects = bind_function("FPDFPage_CountObjects", _INT)
_count_characters = bind_function("FPDFText_CountChars", _INT)
_loose_box = bind_function("FPDFText_GetLooseCharBox", None)
_text_object = bind_function("FPDFText_GetTextObject", _POINTER)
_font_size = bind_function("FPDFText_GetFontSize", ctypes.c_double)
_matrix = bind_function("FPDFText_GetMatrix", None)
_char_index = bind_function("FPDFText_GetCharIndexFromTextIndex", _INT)
_get_text = bind_function("FPDFText_GetText", _INT)
_font_of = bind_function("FPDFTextObj_GetFont", _POINTER, _POINTER)
_mark_of = bind_function("FPDFPageObj_GetMarkedContentID", _INT, _POINTER)
_font_name = bind_function("FPDFFont_GetBaseFontName", ctypes.c_size_t, _POINTER, _POINTER, ctypes.c_size_t)
_font_flags = bind_function("FPDFFont_GetFlags", _INT, _POINTER)
_font_weight = bind_function("FPDFFont_GetWeight", _INT, _POINTER)
_bounds = array("f", bytes(BOX_BYTES))
"""Left, top, right and bottom."""
_bounds_address = convert_address(_bounds.buffer_info()[0])
_name = array("B", bytes(NAME_BYTES_MAX))
_name_address = _name.buffer_info()[0]
_boxes = ResultBuffer(BOX_BYTES)
_matrices = ResultBuffer(MATRIX_BYTES)


def keep_heap() -> None:
    """Keep freed memory for the next page. Does nothing if the C library is not glibc."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if set_option is not None:
        set_option(_M_TRIM_THRESHOLD, HEAP_KEPT_BYTES)
        set_option(_M_MMAP_THRESHOLD, HEAP_BLOCK_BYTES_MAX)


keep_heap()


class Handles:
    """Counts open handles of PDFium, so that tests can find leaks."""

    def __init__(self) -> None:
        self.open = 0


HANDLES = Handles()


@contextmanager
def open_pdf(data: bytes, passwords: Sequence[str] = ()) -> Iterator["PdfFile"]:
    """Open a PDF. The passwords are tried if it is encrypted. Raises `ReadError` with the reason if it cannot be
    opened."""
    with _LOCK:
        handle = _load_document(data, passwords)
        if not handle:
            raise ReadError(_explain_open_error(data, pdfium.FPDF_GetLastError(), passwords))
        HANDLES.open += 1
        try:
            yield PdfFile(handle)
        finally:
            pdfium.FPDF_CloseDocument(handle)
            HANDLES.open -= 1


def _load_document(data: bytes, passwords: Sequence[str]) -> Any:
    """Load a PDF; if it is encrypted, with each password in turn."""
    handle = pdfium.FPDF_LoadMemDocument64(ctypes.c_char_p(data), len(data), None)
    if not handle and pdfium.FPDF_GetLastError() == pdfium.FPDF_ERR_PASSWORD:
        for password in passwords:
            handle = pdfium.FPDF_LoadMemDocument64(ctypes.c_char_p(data), len(data), password.encode())
            if handle:
                break
    return handle


def _explain_open_error(data: bytes, code: int, passwords: Sequence[str]) -> str:
    if not data:
        return "the file is empty"
    if code == pdfium.FPDF_ERR_PASSWORD:
        known = "; none in the password file opens it" if passwords else ""
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
        self.is_tagged = bool(pdfium.FPDFCatalog_IsTagged(handle))
        """Whether it has a structure tree."""

    @contextmanager
    def page(self, number: int) -> Iterator["PdfPage | None"]:
        """Open a page (from 1) and close it afterwards. None if it cannot be loaded."""
        page = pdfium.FPDF_LoadPage(self.handle, number - 1)
        if not page:
            yield None
            return
        HANDLES.open += 1
        pdf_page = PdfPage(page, number, is_tagged=self.is_tagged)
        try:
            yield pdf_page
        finally:
            pdf_page.close_text()
            pdfium.FPDF_ClosePage(page)
            HANDLES.open -= 1


CharacterBox = tuple[float, float, float, float]
"""Where a character begins, its upper edge, where it ends and its lower edge, seen in a direction of text."""


class PdfPage:
    """An open page: its size, and raw data about its text."""

    def __init__(self, handle: Any, number: int, *, is_tagged: bool = False) -> None:
        self.handle = handle
        self.number = number
        self.is_tagged = is_tagged
        self.address = convert_address(ctypes.addressof(handle.contents))
        """Of the page, as an argument."""
        self.width: float = _page_width(self.address)
        self.height: float = _page_height(self.address)
        """Size of the displayed page, after its rotation."""
        self.rotation = _page_rotation(self.address) % 4
        """The rotation for display, in quarter turns clockwise."""
        self.bounds = self._find_bounds()
        """Left, bottom, right and top of the visible area, in the coordinates of the PDF page."""
        self.text_objects: set[int | None] = set()
        """The page objects of those characters whose fonts were read."""
        self._text: Any = None
        self._address: Any = None
        """Of the text, as an argument."""
        self._indices_differ = False

    def _find_bounds(self) -> tuple[float, float, float, float]:
        if not _page_bounds(self.address, _bounds_address):
            return 0.0, 0.0, self.width, self.height
        left, top, right, bottom = _bounds
        return left, min(bottom, top), right, max(bottom, top)

    def object_count(self) -> int:
        """The number of objects on the page."""
        count: int = _count_objects(self.address)
        return count

    def text(self) -> str:
        """Load the text of the page, in the order of its content."""
        self._text = pdfium.FPDFText_LoadPage(self.handle)
        if not self._text:
            return ""
        HANDLES.open += 1
        self._address = convert_address(ctypes.addressof(self._text.contents))
        count = _count_characters(self._address)
        if count <= 0:
            return ""
        buffer = array("H", bytes(2 * count + 2))
        written = _get_text(self._address, 0, count, convert_address(buffer.buffer_info()[0])) - 1
        if written <= 0:
            return ""
        self._indices_differ = written != count
        text, _ = utf_16_le_decode(buffer[:written], "replace", True)
        if len(text) != written:  # surrogate pairs: kept as two characters, so that indices stay valid
            text = "".join(map(chr, buffer[:written]))
        return normalize_characters(text)

    def text_within(self, left: float, top: float, right: float, bottom: float) -> str:
        """The text in a part of the page, in its own coordinates. The text must be loaded."""
        if not self._text:
            return ""
        count = pdfium.FPDFText_GetBoundedText(self._text, left, top, right, bottom, None, 0)
        if not 0 < count <= BOUNDED_CHARACTERS_MAX:
            return ""
        buffer = (ctypes.c_ushort * (count + 1))()
        pdfium.FPDFText_GetBoundedText(self._text, left, top, right, bottom, buffer, count + 1)
        return collapse_whitespace(clean(bytes(buffer).decode("utf-16-le", "replace").rstrip("\0")))

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

    def boxes(self, characters: Sequence[int], quarter: int = 0) -> list[CharacterBox]:
        """The boxes of these characters, seen in a direction: 0 right, 1 up, 2 left, 3 down. Upwards is positive."""
        found: list[CharacterBox] = list(_BOX.iter_unpack(self.box_numbers(characters)))
        return [turn_box(box, quarter) for box in found] if quarter else found

    def lows(self, characters: Sequence[int], quarter: int) -> list[float]:
        """Where these characters begin in a direction."""
        if quarter:
            return [low for low, _, _, _ in self.boxes(characters, quarter)]
        return self.box_numbers(characters)[0::4].tolist()

    def box_numbers(self, characters: Sequence[int]) -> "array[float]":
        """Left, top, right and bottom of the box of each of these characters, one after the other."""
        return _boxes.call(_loose_box, self._address, characters)

    def fonts(self, characters: Sequence[int]) -> list[int | None]:
        """The font of each of these characters. Valid while the page is open."""
        objects = list(map(_text_object, repeat(self._address), characters))
        self.text_objects.update(objects)
        return list(map(_font_of, objects))

    def marks(self, characters: Sequence[int]) -> list[int]:
        """The number of the marked content that each of these characters is in; -1 if it is in none."""
        objects = map(_text_object, repeat(self._address), characters)
        return [_mark_of(found) if found else -1 for found in objects]

    def font_sizes(self, characters: Sequence[int]) -> list[float]:
        """The font sizes in the content of the page, before the matrix scales them."""
        return list(map(_font_size, repeat(self._address), characters))

    def matrix_numbers(self, characters: Sequence[int]) -> "array[float]":
        """The matrix from text space to page space of each of these characters: six numbers, one after the other."""
        return _matrices.call(_matrix, self._address, characters)


def turn_box(box: CharacterBox, quarter: int) -> CharacterBox:
    """A box as it is seen in a direction, from its left, top, right and bottom."""
    left, top, right, bottom = box
    if quarter == 0:
        return box
    if quarter == 1:
        return bottom, -left, top, -right
    if quarter == 2:
        return -right, -bottom, -left, -top
    return -top, right, -bottom, left


def font_properties(font: int) -> tuple[str, int, int]:
    """Name, flags and weight of a font; -1 for what is not given."""
    length = _font_name(font, _name_address, NAME_BYTES_MAX)
    name = _name[: length - 1].tobytes().decode("utf-8", "replace") if 0 < length <= NAME_BYTES_MAX else ""
    return name, int(_font_flags(font)), int(_font_weight(font))
