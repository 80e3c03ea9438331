"""Plain text: paragraphs are what stands between blank lines, form feeds turn pages, and headings are not guessed."""

import re

from inorder.documents.model import AnyBlock, Document, Page, Paragraph
from inorder.errors import ReadError
from inorder.files.encoding import decode

from .registry import reader_version
from .whitespace import collapse_whitespace

BYTES_MAX = 256 * 2**20
"""Text takes up to four times its bytes in memory, and is held about three times."""
PAGE_SIZE = (612.0, 792.0)
"""Pages of a text have no size; a letter is as good as any."""

_BLANK_LINES = re.compile(r"(?:\r\n?|\n)[^\S\r\n]*(?:\r\n?|\n)")


def read(data: bytes, name: str) -> Document:
    """The document in these bytes."""
    if len(data) > BYTES_MAX:
        raise ReadError(f"{len(data):,} bytes of text; the limit is {BYTES_MAX:,}")
    decoded = decode(data)
    document = Document(
        name=name,
        mimetype="text/plain",
        blocks=[],
        reader=reader_version("text"),
        warnings=[decoded.warning] if decoded.warning else [],
    )
    _fill(document, decoded.text)
    if not document.blocks:
        document.warnings.append("there is no text in it")
    return document


def _fill(document: Document, text: str) -> None:
    if "\f" not in text:
        document.blocks = split_paragraphs(text)
        return
    pages = text.rstrip().split("\f")
    document.pages = [Page(number, *PAGE_SIZE) for number in range(1, len(pages) + 1)]
    for number, page in enumerate(pages, 1):
        document.blocks.extend(split_paragraphs(page, number))


def split_paragraphs(text: str, page: int | None = None) -> list[AnyBlock]:
    """The paragraphs of a text."""
    pieces = map(collapse_whitespace, _BLANK_LINES.split(text))
    return [Paragraph(text=piece, page=page) for piece in pieces if piece]
