"""The step `doctags`: from the bytes of a file to a document."""

import hashlib
import os
from collections.abc import Callable
from typing import Any

import msgspec

from inorder.documents.model import Document, PageReading, Picture, Table
from inorder.documents.readers.docling import PDF_NOT_CONVERTED
from inorder.documents.readers.plugins import is_plugin_kind
from inorder.documents.readers.registry import PASSWORD_KINDS, READERS, docling_version, load_reader
from inorder.documents.readers.vision.answers import PageSource
from inorder.errors import ReadError

from .page_names import name_pages
from .plugin_steps import apply_steps
from .resources import Resources
from .settings import ConvertSettings
from .stored import StoredDocument, pack_document

OnPage = Callable[[int, int], None]
"""Called before a page is read, with its number and that of the last one."""


class Converted(msgspec.Struct, frozen=True):
    """A document, encoded and in memory, and what is said of it."""

    document: StoredDocument
    content: bytes
    """The document as it is stored."""
    warnings: list[str]
    extras: dict[str, Any]
    """Columns of its row in the manifest: its engine, and the numbers of pages, blocks, tables, figures and bytes. If
    pages are for a model, the number of those that it has read, and the names of those that it has still to read."""

    @property
    def lacks_answers(self) -> bool:
        """Whether a model has still to read some of its pages."""
        return bool(self.extras.get("pages_asked"))


def convert(
    content: bytes,
    name: str,
    kind: str,
    settings: ConvertSettings,
    resources: Resources,
    on_page: OnPage | None = None,
    answers: PageSource | None = None,
) -> Converted:
    """Convert a file. `name` is its id or its path; `kind` is that of `find_kind`, and has a reader. `answers` has what
    a model has read of its pages. Raises `ReadError` with the reason if the file cannot be read."""
    if settings.uses_docling(kind):
        return _convert_with_docling(content, name, kind, resources)
    document = _read(content, stem_of(name), kind, settings, resources, on_page, answers)
    return describe(document, content, name, kind, settings)


def _read(
    content: bytes,
    name: str,
    kind: str,
    settings: ConvertSettings,
    resources: Resources,
    on_page: OnPage | None,
    answers: PageSource | None,
) -> Document:
    if kind == "pdf":
        from inorder.documents.readers.pdf import reader as pdf

        recognizer = resources.recognizer if settings.ocr else None
        return pdf.read(
            content, name, passwords=resources.passwords, recognizer=recognizer, on_page=on_page, answers=answers
        )
    if kind == "image":
        from inorder.documents.readers.ocr import image

        return image.read(content, name, resources.recognizer if settings.ocr else None, on_page, answers)
    if kind == "html":
        from inorder.documents.readers.html import reader as html

        return html.read(content, name, settings.html)
    if kind not in READERS and not is_plugin_kind(kind, settings.own_reader):
        raise ReadError(f"no reader for files of the kind {kind}")
    read = load_reader(kind)
    return read(content, name, resources.passwords) if kind in PASSWORD_KINDS else read(content, name)


def describe(document: Document, content: bytes, name: str, kind: str, settings: ConvertSettings) -> Converted:
    """Return the result for a document that was read from this file."""
    document = apply_steps(document, name, settings.steps)
    binary_hash = int.from_bytes(hashlib.sha256(content).digest()[:8], "big")
    stored, packed = pack_document(StoredDocument(os.path.basename(name), binary_hash, document))
    kinds = [type(block) for block in document.blocks]
    read, lacking = _sort_pages(document)
    warnings = [PDF_NOT_CONVERTED] if settings.reader == "docling" and kind == "pdf" else []
    return Converted(
        stored,
        packed,
        warnings + document.warnings,
        {
            "engine": document.reader,
            "pages": len(document.pages),
            "pages_without_text": sum(
                not (page.has_text or page.is_ocr or isinstance(page.reading, PageReading)) for page in document.pages
            ),
            "pages_ocr": sum(page.is_ocr for page in document.pages),
            **({"pages_model": len(read), "pages_asked": name_pages(lacking)} if read or lacking else {}),
            "blocks": len(kinds),
            "tables": kinds.count(Table),
            "figures": kinds.count(Picture),
            "bytes_in": len(content),
            "bytes_out": len(packed),
        },
    )


def _sort_pages(document: Document) -> tuple[set[int], list[int]]:
    """The pages that a model has read, and those that it has still to read."""
    read: set[int] = set()
    lacking: list[int] = []
    for page in document.pages:
        if isinstance(page.reading, PageReading):
            (read.add if page.reading.reader else lacking.append)(page.number)
    return read, lacking


def _convert_with_docling(content: bytes, name: str, kind: str, resources: Resources) -> Converted:
    found = resources.docling.convert(kind, content, stem_of(name), os.path.basename(name))
    stored, packed = pack_document(StoredDocument(record=found.record, doctags=found.doctags))
    return Converted(
        stored,
        packed,
        found.warnings,
        {
            "engine": docling_version().partition(" ")[0],
            "pages": found.pages,
            "pages_without_text": 0,
            "pages_ocr": 0,
            "blocks": found.blocks,
            "tables": found.tables,
            "figures": found.figures,
            "bytes_in": len(content),
            "bytes_out": len(found.record) + len(found.doctags),
        },
    )


def stem_of(name: str) -> str:
    """Return the name of a document: the last part of its id or path, without the extension."""
    last = os.path.basename(name.rstrip("/"))
    stem, _, extension = last.rpartition(".")
    return stem if stem and extension else last
