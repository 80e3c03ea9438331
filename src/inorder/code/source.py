"""The text of a file as UTF-8, and where its lines begin.

A file in UTF-8 keeps its bytes, so that offsets are those of the file. A file in another encoding is converted. A byte
order mark is not part of the text, but counts in offsets.
"""

import codecs
from bisect import bisect_right
from itertools import accumulate

from inorder.errors import ReadError
from inorder.files.encoding import decode


class Source:
    """The text of a file, its lines, and a note on how it was decoded."""

    __slots__ = ("ascii_text", "data", "line_count", "note", "starts", "text_start")

    def __init__(self, file: bytes) -> None:
        is_plain = file.isascii() and b"\0" not in file
        self.data, self.note = (file, "") if is_plain else _read(file)
        self.text_start = len(codecs.BOM_UTF8) if self.data.startswith(codecs.BOM_UTF8) else 0
        self.starts = list(accumulate(map(len, self.data.splitlines(True)), initial=0))
        """The start of every line, and the end of the last one."""
        self.line_count = len(self.starts) - 1
        self.ascii_text = self.data.decode("ascii") if is_plain or self.data.isascii() else None
        """The decoded text if it is ASCII: then byte offsets are character offsets, and no slice needs decoding."""

    def line_of(self, byte: int) -> int:
        """The line that contains this byte; the last line for an offset past the end."""
        return bisect_right(self.starts, byte, 0, self.line_count)

    def text(self, start: int, end: int) -> str:
        """The text between two byte offsets."""
        if self.ascii_text is not None:
            return self.ascii_text[start:end]
        return self.data[max(start, self.text_start) : end].decode("utf-8", "replace")

    def bytes_of(self, first: int, last: int) -> int:
        """The size of these lines, first and last included."""
        return self.starts[last] - self.starts[first - 1]


def _read(file: bytes) -> tuple[bytes, str]:
    """The file as UTF-8, and a note."""
    try:
        text, encoding, note = decode(file)
    except ReadError as error:
        text, encoding, note = file.decode("utf-8", "replace"), "", f"{error}: what is no UTF-8 is replaced"
        if text.encode() == file:
            return file, str(error)
    if encoding == "utf-8" and not note:
        return file, note
    return text.encode("utf-8", "replace"), note
