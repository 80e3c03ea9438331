"""Reads plain text: blank lines separate paragraphs, form feeds separate pages. Headings are not guessed."""

import re

from inorder.documents.model import AnyBlock, Document, Page, Paragraph
from inorder.files.encoding import decode

from .document import make_document, require_size
from .whitespace import collapse_whitespace

MIMETYPE = "text/plain"
BYTES_MAX = 256 * 2**20
"""A string needs up to four bytes per character, and about three copies exist at once."""
PAGE_SIZE = (612.0, 792.0)
"""Pages of plain text have no size; US Letter is used."""

_BLANK_LINES = re.compile(r"(?:\r\n?|\n)[^\S\r\n]*(?:\r\n?|\n)")


def read(data: bytes, name: str) -> Document:
    """Read a plain text file."""
    require_size(data, BYTES_MAX, "text")
    decoded = decode(data)
    warnings = [decoded.warning] if decoded.warning else []
    if "\f" not in decoded.text:
        return make_document("text", name, MIMETYPE, split_paragraphs(decoded.text), warnings)
    texts = decoded.text.rstrip().split("\f")
    pages = [Page(number, *PAGE_SIZE) for number in range(1, len(texts) + 1)]
    blocks = [block for number, text in enumerate(texts, 1) for block in split_paragraphs(text, number)]
    return make_document("text", name, MIMETYPE, blocks, warnings, pages)


def split_paragraphs(text: str, page: int | None = None) -> list[AnyBlock]:
    """Split a text at blank lines."""
    pieces = map(collapse_whitespace, _BLANK_LINES.split(text))
    return [Paragraph(text=piece, page=page) for piece in pieces if piece]
