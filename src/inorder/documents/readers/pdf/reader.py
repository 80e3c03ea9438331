"""Reads PDF: text with its layout, with PDFium and layout heuristics of our own.

    bytes ──▶ pages (page) ──▶ statistics of the document (document_stats) ──▶ blocks of each page (blocks) ──▶ document

Each page is opened, read and closed before the next. Sizes of headings and repeated headers need the whole document:
they are computed from a sample of its pages. A long document can be read in parts by page range: `collect_stats` is
called once, its result is passed to `read` for every part, and `merge` joins the parts.

A page without text gives a warning. It is an error only if no page can be read.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import msgspec

from inorder.documents.model import AnyBlock, Document, Furniture, Page, Paragraph, Table
from inorder.documents.readers.registry import reader_version
from inorder.documents.readers.vision.answers import PageAnswer, PageDoubt, PageSource
from inorder.errors import ReadError
from inorder.host.memory import pause_collector

from .annotations.links import add_links, read_links
from .annotations.texts import insert_annotations, open_form, read_annotations
from .blocks import build_blocks
from .bookmarks import read_bookmarks
from .document_stats import STATS_DECODER, DocumentStats, compute_stats, sample_pages
from .doubts import find_doubt
from .lines import is_continued, join_text
from .page import SCANNED, read_page
from .pdfium import PdfFile, open_pdf
from .render import OcrPage, PageRecognizer
from .segments import PageText
from .tables.pages import join_tables

__all__ = ["STATS_DECODER", "DocumentStats", "collect_stats", "count_pages", "merge", "read"]

MIMETYPE = "application/pdf"


def read(
    data: bytes,
    name: str,
    *,
    first_page: int = 1,
    last_page: int | None = None,
    stats: DocumentStats | None = None,
    passwords: Sequence[str] = (),
    recognizer: PageRecognizer | None = None,
    on_page: Callable[[int, int], None] | None = None,
    answers: PageSource | None = None,
) -> Document:
    """Read a PDF, or a range of its pages. Raises `ReadError` with the reason if it cannot be read.

    The passwords are tried if it is encrypted. With a recognizer, the text of pages without a text layer is recognized.
    `on_page` is called before each page is read, with its number and that of the last one. `answers` has what a model
    has read.
    """
    collector = pause_collector() if recognizer is None else nullcontext()
    with open_pdf(data, passwords) as file, open_form(file) as form, collector:
        last = file.page_count if last_page is None else min(last_page, file.page_count)
        if not 1 <= first_page <= last:
            raise ReadError(f"there are no pages {first_page} to {last} in a PDF of {file.page_count} pages")
        sampled: dict[int, PageText] = {}
        if stats is None:
            sampled = {page.number: page for page in _read_sample(file, form)}
            stats = compute_stats(list(sampled.values()), read_bookmarks(file))
        document = Document(name=name, mimetype=MIMETYPE, blocks=[], reader=_reader_version(recognizer is not None))
        for number in range(first_page, last + 1):
            if on_page is not None:
                on_page(number, last)
            page = sampled.pop(number, None) or _read_page(file, number, form)
            blocks = build_blocks(page, stats)
            answer = None if answers is None else answers.read(_describe_page(page, blocks))
            is_answered = answer is not None and answer.blocks is not None
            recognized = None if recognizer is None or is_answered else _recognize(file, page, recognizer)
            has_text = bool(page.annotations if page.is_empty else page.segments and not page.unreadable)
            is_ocr = recognized is not None
            reading = msgspec.UNSET if answer is None else answer.reading
            document.pages.append(Page(number, page.width, page.height, has_text, is_ocr, reading))
            document.warnings += _list_warnings(page, recognized, answer)
            if answer is not None and answer.blocks is not None:
                blocks = answer.blocks
            else:
                blocks = recognized.blocks if recognized else blocks
                add_links(blocks, page.links)
            _append_blocks(document.blocks, insert_annotations(blocks, page.annotations))
        is_whole = len(document.pages) == file.page_count
    return _check_readable(document) if is_whole else document


def collect_stats(data: bytes, passwords: Sequence[str] = ()) -> DocumentStats:
    """Return the statistics of the whole document, which are needed to read a part of it."""
    with open_pdf(data, passwords) as file:
        return compute_stats(list(_read_sample(file, None)), read_bookmarks(file))


def count_pages(data: bytes, passwords: Sequence[str] = ()) -> int:
    """Return the number of pages."""
    with open_pdf(data, passwords) as file:
        return file.page_count


def merge(parts: list[Document]) -> Document:
    """Merge the parts of a document, in the order of their pages. The result is the same as reading it as a whole."""
    if not parts:
        raise ValueError("nothing to merge")
    whole = Document(name=parts[0].name, mimetype=MIMETYPE, blocks=[], reader=parts[0].reader)
    for part in parts:
        whole.pages += part.pages
        whole.warnings += part.warnings
        _append_blocks(whole.blocks, part.blocks)
    return _check_readable(whole)


def _check_readable(document: Document) -> Document:
    """Raise `ReadError` if no page could be read. A part may consist of damaged pages, a document may not."""
    if not any(page.width for page in document.pages):
        raise ReadError(f"no page of the PDF can be read: {document.warnings[0]}")
    return document


def _read_sample(file: PdfFile, form: Any) -> Iterator[PageText]:
    """The pages from which the statistics of a document are computed."""
    return (_read_page(file, number, form) for number in sample_pages(file.page_count))


def _read_page(file: PdfFile, number: int, form: Any) -> PageText:
    with file.page(number) as page:
        if page is None:
            return PageText(number=number, width=0.0, height=0.0, problem="cannot be loaded")
        found = read_page(page)
        if not found.problem:
            found.annotations = read_annotations(page, form, found.lost)
            found.links = read_links(file, page)
        return found


def _recognize(file: PdfFile, page: PageText, recognizer: PageRecognizer) -> OcrPage | None:
    """The recognized text of a page; None if the page has text, or if nothing was recognized."""
    if page.problem or page.is_empty or not page.unreadable:
        return None
    with file.page(page.number) as pdf_page:
        return recognizer.read_page(pdf_page) if pdf_page else None


def _reader_version(ocr: bool) -> str:
    if not ocr:
        return reader_version("pdf")
    from inorder.documents.readers.registry import ocr_version

    return f"{reader_version('pdf')} {ocr_version()}"


def _describe_page(page: PageText, blocks: Sequence[AnyBlock]) -> PageDoubt:
    """What the rules say of a page that a model may read in place of them."""
    doubt = page.unreadable or (page.lost[0] if page.lost else "") or find_doubt(page, blocks)
    return PageDoubt(page.number, doubt, is_renderable=not (page.problem or page.is_empty))


def _list_warnings(page: PageText, recognized: OcrPage | None, answer: PageAnswer | None) -> Iterator[str]:
    yield from () if answer is None else answer.warnings
    if answer is not None and answer.blocks is not None:
        return
    if page.problem:
        yield f"page {page.number} {page.problem}"
    elif page.is_empty:
        yield from () if page.annotations else (f"page {page.number} is empty",)
    elif recognized:
        why = page.unreadable.removesuffix(SCANNED)
        yield f"page {page.number} {why} and was read by OCR ({recognized.describe()})"
    elif page.unreadable:
        yield f"page {page.number} {page.unreadable}"
    yield from (f"page {page.number} {lost}" for lost in page.lost)


def _append_blocks(blocks: list[AnyBlock], more: Sequence[AnyBlock]) -> None:
    """Add the blocks of the next page. A paragraph or a table that continues on the next page is joined."""
    place = next((place for place in reversed(range(len(blocks))) if not isinstance(blocks[place], Furniture)), -1)
    first = next((block for block in more if not isinstance(block, Furniture)), None)
    if place >= 0 and first is not None:
        joined = _join_blocks(blocks[place], first)
        if joined is not None:
            blocks[place] = joined
            more = [block for block in more if block is not first]
    blocks.extend(more)


def _join_blocks(last: AnyBlock, first: AnyBlock) -> AnyBlock | None:
    """The last block of a page with the first of the next page; None if they are two."""
    if isinstance(last, Paragraph) and isinstance(first, Paragraph):
        is_continuation = not (last.source or first.source) and is_continued(last.text, first.text)
        if not is_continuation:
            return None
        return msgspec.structs.replace(last, text=join_text(last.text, first.text), links=last.links + first.links)
    return join_tables(last, first) if isinstance(last, Table) else None
