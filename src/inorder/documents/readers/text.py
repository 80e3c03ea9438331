"""Reads plain text: blank lines separate paragraphs, form feeds separate pages. Headings are not guessed."""

import re

from inorder.documents.model import AnyBlock, Document, Page, Paragraph
from inorder.errors import ReadError
from inorder.files.encoding import decode

from .registry import reader_version
from .whitespace import collapse_whitespace

BYTES_MAX = 256 * 2**20
"""A string needs up to four bytes per character, and about three copies exist at once."""
PAGE_SIZE = (612.0, 792.0)
"""Pages of plain text have no size; US Letter is used."""

_BLANK_LINES = re.compile(r"(?:\r\n?|\n)[^\S\r\n]*(?:\r\n?|\n)")


def read(data: bytes, name: str) -> Document:
    """Read a plain text file."""
    if len(data) > BYTES_MAX:
        raise ReadError(f"the file has {len(data):,} bytes; the limit for text is {BYTES_MAX:,}")
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
        document.warnings.append("the document has no text")
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
    """Split a text at blank lines."""
    pieces = map(collapse_whitespace, _BLANK_LINES.split(text))
    return [Paragraph(text=piece, page=page) for piece in pieces if piece]
