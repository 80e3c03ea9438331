"""Which reader reads which kind of document, loaded when the first of that kind comes."""

import importlib
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

from inorder.documents.model import Document

KINDS: dict[str, tuple[str, str]] = {
    "pdf": ("inorder.documents.readers.pdf.reader", "pypdfium2"),
    "html": ("inorder.documents.readers.html.reader", "selectolax"),
    "markdown": ("inorder.documents.readers.markdown.reader", "pyromark"),
    "docx": ("inorder.documents.readers.docx.reader", "lxml"),
    "text": ("inorder.documents.readers.text", "charset-normalizer"),
}
"""Module of the reader, and the package whose version is part of what it makes."""
READERS_VERSION = 1
"""Of our own heuristics: raise it when the same file reads differently."""


@lru_cache
def reader_of(kind: str) -> Callable[[bytes, str], Document]:
    """The function that reads this kind."""
    read: Callable[[bytes, str], Document] = importlib.import_module(KINDS[kind][0]).read
    return read


@lru_cache
def reader_version(kind: str) -> str:
    """Reader and library, for fingerprints: the same file reads differently elsewhere."""
    package = KINDS[kind][1]
    try:
        library = f" {package}/{version(package)}" if package else ""
    except PackageNotFoundError:
        library = f" {package}/missing"
    return f"{kind}/{READERS_VERSION}{library}"
