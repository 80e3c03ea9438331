"""PDF as an archive: its members are the files that are attached to it.

The PDF itself stays a document. Few PDFs have attachments, and their bytes show which: only these are opened, in a
child process with limits, because a hostile one may crash PDFium, or unpack to any size. The child is this module as a
program. It writes what it found as JSON.
"""

import ctypes
import hashlib
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from inorder.documents.readers.sniff import HEAD_BYTES
from inorder.errors import ReadError

from .entry import ArchiveEntry, MemberChanged
from .limits import ArchiveError
from .names import find_nested_format

SECONDS_MAX = 20
MEMORY_BYTES_MAX = 2**30
ATTACHMENTS_MAX = 1_000
BYTES_MAX = 2**28
"""Of a PDF whose attachments are looked for, and of one of them."""
NAME_BYTES_MAX = 2_048
_MARK = b"/EmbeddedFile"
"""What the dictionary of each attached file says. It is never compressed."""
_BLOCK_BYTES = 2**20
_ENCRYPTED = 3
"""Exit code of the child."""

_Found = list[tuple[int, str, int, str, str]]
"""Number, name, size, SHA-256, and the first bytes, in base 64; all of them, if it is an archive."""


class PdfArchive:
    """The attachments of a PDF."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def list_entries(self) -> Iterator[ArchiveEntry]:
        """The attachments in the order of their names. A damaged PDF has none: its reader says what is wrong."""
        if not self._has_mark():
            return
        for number, name, size, digest, begin in self._list_in_child():
            problem = "" if digest else f"the attachment has more than {BYTES_MAX:,} bytes, or cannot be unpacked"
            data = b64decode(begin)
            content = data if find_nested_format(name) is not None and digest else None
            yield ArchiveEntry(
                number, name, size, digest, data[:HEAD_BYTES], problem=problem, sha256=digest, content=content
            )

    def read(self, number: int, fingerprint: str, passwords: tuple[str, ...]) -> bytes:
        """The content of an attachment."""
        from inorder.documents.readers.pdf.pdfium import open_pdf

        self._file.seek(0)
        with open_pdf(self._file.read(BYTES_MAX), passwords) as pdf:
            content = read_attachment(pdf.handle, number)
        if content is None or hashlib.sha256(content).hexdigest() != fingerprint:
            raise MemberChanged
        return content

    def close(self) -> None:
        """Nothing is open."""

    def _has_mark(self) -> bool:
        self._file.seek(0)
        end = b""
        while block := self._file.read(_BLOCK_BYTES):
            if _MARK in end + block:
                return True
            end = block[1 - len(_MARK) :]
        return False

    def _list_in_child(self) -> _Found:
        self._file.seek(0)
        data = self._file.read(BYTES_MAX + 1)
        if len(data) > BYTES_MAX:
            raise ArchiveError(f"attachments are looked for in PDFs of at most {BYTES_MAX:,} bytes")
        try:
            ended = subprocess.run(
                [sys.executable, "-I", "-m", __name__],
                input=data,
                capture_output=True,
                timeout=SECONDS_MAX,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ArchiveError(f"it takes longer than {SECONDS_MAX} s to list the attachments") from None
        if ended.returncode == _ENCRYPTED:
            raise ArchiveError("the attachments of a PDF that is encrypted with a password are not read")
        if ended.returncode:
            raise ArchiveError("the attachments cannot be listed: the file crashed its reader")
        return msgspec.json.decode(ended.stdout, type=_Found)


def list_attachments(data: bytes) -> _Found:
    """What is attached to a PDF; nothing if it is damaged. Raises `ReadError` if it is encrypted with a password."""
    import pypdfium2.raw as pdfium

    from inorder.documents.readers.pdf.pdfium import open_pdf

    found: _Found = []
    try:
        with open_pdf(data) as pdf:
            for number in range(min(pdfium.FPDFDoc_GetAttachmentCount(pdf.handle), ATTACHMENTS_MAX)):
                name = _read_name(pdfium.FPDFDoc_GetAttachment(pdf.handle, number)) or f"attachment-{number + 1}"
                content = read_attachment(pdf.handle, number)
                digest = "" if content is None else hashlib.sha256(content).hexdigest()
                begin = (content or b"")[: None if find_nested_format(name) is not None else HEAD_BYTES]
                found.append((number, name, len(content or b""), digest, b64encode(begin).decode()))
    except ReadError:
        if b"/Encrypt" in data:
            raise
    return found


def read_attachment(document: Any, number: int) -> bytes | None:
    """The content of an attachment of an open PDF; None if it is not there, too large or damaged."""
    import pypdfium2.raw as pdfium

    attachment = pdfium.FPDFDoc_GetAttachment(document, number)
    size = ctypes.c_ulong()
    if not attachment or not pdfium.FPDFAttachment_GetFile(attachment, None, 0, size) or size.value > BYTES_MAX:
        return None
    buffer = (ctypes.c_char * size.value)()
    if not pdfium.FPDFAttachment_GetFile(attachment, buffer, size.value, size):
        return None
    return bytes(buffer)


def _read_name(attachment: Any) -> str:
    import pypdfium2.raw as pdfium

    size = int(pdfium.FPDFAttachment_GetName(attachment, None, 0)) if attachment else 0
    if not 2 < size <= NAME_BYTES_MAX:
        return ""
    buffer = (ctypes.c_ushort * (size // 2))()
    pdfium.FPDFAttachment_GetName(attachment, buffer, size)
    return bytes(buffer)[: size - 2].decode("utf-16-le", "replace").replace("\\", "/").rpartition("/")[2]


def main() -> None:
    """List the attachments of the PDF on the standard input."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_MAX, SECONDS_MAX + 1))
    try:
        found = list_attachments(sys.stdin.buffer.read())
    except ReadError:
        sys.exit(_ENCRYPTED)
    sys.stdout.buffer.write(msgspec.json.encode(found))


if __name__ == "__main__":
    main()
