"""The text of a file as UTF-8, and where its lines begin.

Bytes that are UTF-8 stay as they are, so that offsets into them are offsets into the file. What is written in another
encoding is written anew. A byte order mark is no part of the text, but keeps its place.
"""

import codecs
from bisect import bisect_right
from itertools import accumulate

from inorder.errors import ReadError
from inorder.files.encoding import decode


class Source:
    """A text, its lines, and what should be known about how it was read."""

    __slots__ = ("_ascii", "data", "encoding", "line_count", "note", "starts", "text_start")

    def __init__(self, file: bytes) -> None:
        self.data, self.encoding, self.note = _read(file)
        self.text_start = len(codecs.BOM_UTF8) if self.data.startswith(codecs.BOM_UTF8) else 0
        self.starts = list(accumulate(map(len, self.data.splitlines(True)), initial=0))
        """Of every line, and the end of the last."""
        self.line_count = len(self.starts) - 1
        self._ascii = self.data.decode("ascii") if self.data.isascii() else None
        """Where bytes are characters, stretches of text are at hand."""

    def line_of(self, byte: int) -> int:
        """The line this byte lies on; the last one, for what lies behind it."""
        return min(bisect_right(self.starts, byte), self.line_count)

    def text(self, start: int, end: int) -> str:
        """What lies between two bytes."""
        if self._ascii is not None:
            return self._ascii[start:end]
        return self.data[max(start, self.text_start) : end].decode("utf-8", "replace")

    def bytes_of(self, first: int, last: int) -> int:
        """How large these lines are together, both included."""
        return self.starts[last] - self.starts[first - 1]


def _read(file: bytes) -> tuple[bytes, str, str]:
    """As UTF-8, with the encoding it was in and a note."""
    try:
        text, encoding, note = decode(file)
    except ReadError as error:
        text, encoding, note = file.decode("utf-8", "replace"), "utf-8", f"{error}: what is no UTF-8 is replaced"
        if text.encode() == file:
            return file, encoding, str(error)
    if encoding == "utf-8" and not note:
        return file, encoding, note
    return text.encode("utf-8", "replace"), encoding, note
