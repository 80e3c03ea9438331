"""Renders pages of documents that have an address, in a process for it."""

import hashlib
from contextlib import closing
from functools import lru_cache
from typing import NamedTuple

from inorder.documents.inputs import read_content_of
from inorder.documents.readers.vision.image import render
from inorder.errors import StageError
from inorder.sources.fetching import Fetcher
from inorder.sources.limits import FetchLimits
from inorder.sources.remote_input import RemoteInput
from inorder.stage.inputs import Input


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


@lru_cache(maxsize=1)
def _read(source: Input, sha256: bytes, limits: FetchLimits) -> bytes:
    """The content of a file, of which a process often renders the next page."""
    if isinstance(source, RemoteInput):
        with closing(Fetcher(limits)) as fetcher:
            content = read_content_of(source, fetcher)
    else:
        content = read_content_of(source)
    if hashlib.sha256(content).digest() != sha256:
        raise StageError("the file changed while it was read", category="io")
    return content
