"""Renders pages of documents that have an address, in a process for it."""

import hashlib
from contextlib import closing
from functools import lru_cache
from typing import NamedTuple

import msgspec

from inorder.documents.inputs import read_content_of
from inorder.documents.readers.vision.answers import PageAnswers
from inorder.errors import StageError
from inorder.sources.fetching import Fetcher
from inorder.sources.limits import FetchLimits
from inorder.sources.remote_input import RemoteInput
from inorder.stage.inputs import Input

from .page_image import render
from .plugin_steps import NO_STEPS
from .questions import list_asked
from .resources import Resources
from .settings import ConvertSettings
from .step import convert


class PageImage(NamedTuple):
    """Which page is rendered, and how."""

    source: Input
    sha256: bytes
    """Of the file."""
    kind: str
    number: int
    pixels_max: int
    passwords: tuple[str, ...]
    limits: FetchLimits
    """Of requests for what is remote."""


def render_image(page: PageImage) -> bytes:
    """Return the image of a page. Raises `ReadError` if it cannot be rendered, and StageError if the file is not the
    one that is meant."""
    content = _read(page.source, page.sha256, page.limits)
    return render(content, page.kind, page.number, page.pixels_max, page.passwords)


class AskedDocument(NamedTuple):
    """Which document is looked at for pages that are for a model."""

    source: Input
    kind: str
    settings: ConvertSettings
    passwords: tuple[str, ...]
    limits: FetchLimits


def find_asked_pages(document: AskedDocument) -> tuple[bytes, list[int]]:
    """Return the hash of a document, and the pages that a model would be asked about. Raises as `render_image` does."""
    content = _fetch(document.source, document.limits)
    settings = msgspec.structs.replace(document.settings, ocr=False, steps=NO_STEPS)
    answers = PageAnswers(settings.reader, settings.pages, lambda pages: {})
    made = convert(content, "", document.kind, settings, Resources(document.passwords), answers=answers)
    found = made.document.document
    return hashlib.sha256(content).digest(), [] if found is None else list(list_asked(found))


@lru_cache(maxsize=1)
def _read(source: Input, sha256: bytes, limits: FetchLimits) -> bytes:
    """The content of a file, of which a process often renders the next page."""
    content = _fetch(source, limits)
    if hashlib.sha256(content).digest() != sha256:
        raise StageError("the file changed while it was read", category="io")
    return content


def _fetch(source: Input, limits: FetchLimits) -> bytes:
    if isinstance(source, RemoteInput):
        with closing(Fetcher(limits)) as fetcher:
            return read_content_of(source, fetcher)
    return read_content_of(source)
