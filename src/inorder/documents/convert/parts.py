"""Long PDFs in parts: a survey counts the pages and collects what must be known of the whole document, parts read some
pages each, and the merge of the parts is the same, byte for byte, as the document that `convert` makes at once."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from inorder.documents.model import Document
from inorder.documents.readers.vision.answers import PageSource
from inorder.errors import ReadError

from .resources import Resources
from .settings import ConvertSettings
from .step import Converted, OnPage, describe, stem_of

LARGE_BYTES = 256 * 1024
"""A smaller PDF is not worth a survey."""


class PageRange(NamedTuple):
    """Pages of a PDF that are read as one part, from 1, both included."""

    first: int
    last: int

    @property
    def name(self) -> str:
        """The name in item ids and file names. Leading zeros make names sort in page order."""
        return f"{self.first:06}-{self.last:06}"

    @classmethod
    def parse(cls, name: str) -> "PageRange":
        """The range with this name."""
        first, _, last = name.partition("-")
        return cls(int(first), int(last))


class Survey(msgspec.Struct, frozen=True):
    """The number of pages of a PDF, and what every part must know of the whole."""

    pages: int
    """0: the PDF cannot be read. The conversion of the document says why."""
    stats: msgspec.Raw = msgspec.field(name="facts", default=msgspec.Raw(b"null"))
    """`DocumentStats` as JSON; null: the PDF is too short to be read in parts."""

    def list_ranges(self, settings: ConvertSettings) -> list[PageRange]:
        """Return the parts of the document; none if it is short or cannot be read."""
        size = settings.part_pages
        if not size or self.pages <= size:
            return []
        return [PageRange(first, min(first + size - 1, self.pages)) for first in range(1, self.pages + 1, size)]


# Made here, not with the first part: two threads must not make the decoder of a class at the same time.
_SURVEYS = msgspec.json.Decoder(Survey)
_PARTS = msgspec.json.Decoder(Document)


def survey(content: bytes, settings: ConvertSettings, resources: Resources) -> Survey:
    """Count the pages and, if the PDF is to be read in parts, collect what every part must know. A PDF that cannot be
    read has no pages here."""
    from inorder.documents.readers.pdf import reader as pdf

    try:
        pages = pdf.count_pages(content, resources.passwords)
        if pages <= settings.part_pages:
            return Survey(pages)
        return Survey(pages, msgspec.Raw(msgspec.json.encode(pdf.collect_stats(content, resources.passwords))))
    except ReadError:
        return Survey(0)


def convert_part(
    content: bytes,
    name: str,
    surveyed: Survey,
    pages: PageRange,
    settings: ConvertSettings,
    resources: Resources,
    on_page: OnPage | None = None,
    answers: PageSource | None = None,
) -> Document:
    """Read some pages of a PDF. Raises `ReadError` with the reason if they cannot be read."""
    from inorder.documents.readers.pdf import reader as pdf

    return pdf.read(
        content,
        stem_of(name),
        first_page=pages.first,
        last_page=pages.last,
        stats=pdf.STATS_DECODER.decode(surveyed.stats),
        passwords=resources.passwords,
        recognizer=resources.recognizer if settings.ocr else None,
        on_page=on_page,
        answers=answers,
    )


def merge(content: bytes, name: str, parts: Sequence[Document], settings: ConvertSettings) -> Converted:
    """Merge all parts of a PDF, in the order of their pages. Raises `ReadError` if none of its pages can be read."""
    from inorder.documents.readers.pdf import reader as pdf

    return describe(pdf.merge(list(parts)), content, name, "pdf", settings)


def encode_part(value: Survey | Document) -> bytes:
    """Encode a survey or a part as JSON."""
    return msgspec.json.encode(value)


def decode_survey(content: bytes) -> Survey:
    """Decode a survey. Raises `msgspec.DecodeError` for other content."""
    return _SURVEYS.decode(content)


def decode_part(content: bytes) -> Document:
    """Decode a part. Raises `msgspec.DecodeError` for other content."""
    return _PARTS.decode(content)
