"""PDF: text with its layout, through PDFium and rules of our own.

    bytes ──▶ pages (pdf_page) ──▶ facts of the whole (pdf_facts) ──▶ blocks of each page (pdf_blocks) ──▶ document

A page is opened, everything is taken from it, and it is closed before the next. Sizes of headings, repeated headers
and the like need the whole document: they are learned from a sample of its pages. A huge document can be read in parts
by page range. `facts` is computed once and handed to every part, and `merge` puts the parts together.

A page without text is reported, never passed over. Only a document of which nothing can be read is an error.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from inorder.documents.model import AnyBlock, Document, Furniture, Page, Paragraph
from inorder.documents.readers.registry import reader_version
from inorder.errors import ReadError

from .blocks import build_blocks
from .document_stats import DocumentStats, compute_stats, sample_pages
from .lines import is_continued, join_text
from .page import read_page
from .pdfium import PdfFile, open_pdf
from .segments import PageText

if TYPE_CHECKING:
    from inorder.documents.readers.ocr.reader import OcrPage

if TYPE_CHECKING:
    pass

__all__ = ["DocumentStats", "collect_stats", "merge", "page_count", "read"]

MIMETYPE = "application/pdf"


def read(
    data: bytes,
    name: str,
    *,
    first_page: int = 1,
    last_page: int | None = None,
    stats: DocumentStats | None = None,
    ocr: bool = False,
) -> Document:
    """The document in these bytes, or the given pages of it. `ReadError` says why there is none.

    With `ocr`, text is recognised in the pictures of pages that have no other.
    """
    with open_pdf(data) as file:
        last = file.page_count if last_page is None else min(last_page, file.page_count)
        if not 1 <= first_page <= last:
            raise ReadError(f"no pages {first_page} to {last} in a PDF of {file.page_count}")
        sampled: dict[int, PageText] = {}
        if stats is None:
            sampled = {number: _read_page(file, number) for number in sample_pages(file.page_count)}
            stats = compute_stats(list(sampled.values()))
        document = Document(name=name, mimetype=MIMETYPE, blocks=[], reader=_reader_version(ocr))
        for number in range(first_page, last + 1):
            page = sampled.pop(number, None) or _read_page(file, number)
            recognised = _recognise(file, page) if ocr else None
            has_text, is_ocr = bool(page.segments), recognised is not None
            document.pages.append(Page(number, page.width, page.height, has_text, is_ocr))
            document.warnings += _warnings(page, recognised)
            _append_blocks(document.blocks, recognised.blocks if recognised else build_blocks(page, stats))
        is_whole = len(document.pages) == file.page_count
    return _check_readable(document) if is_whole else document


def collect_stats(data: bytes) -> DocumentStats:
    """What must be known of the whole document to read any part of it."""
    with open_pdf(data) as file:
        return compute_stats([_read_page(file, number) for number in sample_pages(file.page_count)])


def page_count(data: bytes) -> int:
    """How many pages a document has, without reading any."""
    with open_pdf(data) as file:
        return file.page_count


def merge(parts: list[Document]) -> Document:
    """Parts of one document, in the order of their pages, as if it had been read at once with the same facts."""
    if not parts:
        raise ValueError("nothing to merge")
    whole = Document(name=parts[0].name, mimetype=MIMETYPE, blocks=[], reader=parts[0].reader)
    for part in parts:
        whole.pages += part.pages
        whole.warnings += part.warnings
        _append_blocks(whole.blocks, part.blocks)
    return _check_readable(whole)


def _check_readable(document: Document) -> Document:
    """The document, if there is anything in it: a part may consist of broken pages, a whole may not."""
    if not any(page.width for page in document.pages):
        raise ReadError(f"no page of the PDF can be read: {document.warnings[0]}")
    return document


def _read_page(file: PdfFile, number: int) -> PageText:
    with file.page(number) as page:
        if page is None:
            return PageText(number=number, width=0.0, height=0.0, problem="cannot be loaded")
        return read_page(page)


def _recognise(file: PdfFile, page: PageText) -> "OcrPage | None":
    """What the picture of a page says; None where it has text of its own, or none at all."""
    from inorder.documents.readers.ocr.reader import recognise_page

    if page.problem or page.is_empty or page.segments:
        return None
    with file.page(page.number) as pdf_page:
        return recognise_page(pdf_page) if pdf_page else None


def _reader_version(ocr: bool) -> str:
    if not ocr:
        return reader_version("pdf")
    from inorder.documents.readers.registry import ocr_version

    return f"{reader_version('pdf')} {ocr_version()}"


def _warnings(page: PageText, recognised: "OcrPage | None") -> Iterator[str]:
    if page.problem:
        yield f"page {page.number} {page.problem}"
    elif page.is_empty:
        yield f"page {page.number} is empty"
    elif recognised:
        yield f"page {page.number} has no text layer and was read by OCR (confidence {recognised.confidence:.2f})"
    elif not page.segments:
        yield f"page {page.number} has no text layer (a scanned page?)"


def _append_blocks(blocks: list[AnyBlock], more: Sequence[AnyBlock]) -> None:
    """Add the blocks of the next page. A paragraph that goes on over the end of a page becomes one."""
    place = next((place for place in reversed(range(len(blocks))) if not isinstance(blocks[place], Furniture)), -1)
    first = next((block for block in more if not isinstance(block, Furniture)), None)
    if place >= 0 and isinstance(first, Paragraph):
        last = blocks[place]
        if isinstance(last, Paragraph) and is_continued(last.text, first.text):
            blocks[place] = msgspec.structs.replace(last, text=join_text(last.text, first.text))
            more = [block for block in more if block is not first]
    blocks.extend(more)
