"""Reads Markdown: CommonMark with tables and strikethrough, embedded HTML, and the title in the front matter.

A text that is too large, too deeply nested, or that crashes the parser is read as plain text, with a warning.
"""

import re

from inorder.documents.model import AnyBlock, Document
from inorder.documents.readers.block_builder import mark_title
from inorder.documents.readers.registry import reader_version
from inorder.documents.readers.text import split_paragraphs
from inorder.files.encoding import decode

from .parser import UnparsableError
from .walk import MarkdownWalker

BYTES_MAX = 16 * 2**20
LINES_MAX = 200_000
"""A line takes a microsecond, but tens of microseconds if it is an HTML block by itself."""
MARKUP_CHARACTERS_MAX = 4_000_000
"""Characters that may be markup need up to 64 bytes of memory each."""

_MARKUP_CHARACTERS = "!&)*+-.<>[\\]_`|~"
_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[^\S\n]*\n(.*?\n)?\1[^\S\n]*(?:\n|\Z)", re.S)
_STATED_TITLE = re.compile(r"^title[^\S\n]*[:=](.+)$", re.M | re.I)


def read(data: bytes, name: str) -> Document:
    """Read a Markdown file."""
    decoded = decode(data)
    text = decoded.text
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    document = Document(
        name=name,
        mimetype="text/markdown",
        blocks=[],
        reader=reader_version("markdown"),
        warnings=[decoded.warning] if decoded.warning else [],
    )
    try:
        if _is_too_large(data, text):
            raise UnparsableError(f"the file is too large for Markdown ({len(data):,} bytes)")
        _fill(document, text)
    except UnparsableError as error:
        document.warnings.append(f"{error}; read as plain text")
        document.blocks = split_paragraphs(text)
    return document


def read_fragment(text: str, warnings: list[str]) -> list[AnyBlock]:
    """The blocks of a Markdown text within a document of another kind."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    walker = MarkdownWalker(text)
    try:
        if _is_too_large(b"", text):
            raise UnparsableError(f"a text is too large for Markdown ({len(text):,} characters)")
        walker.walk()
    except UnparsableError as error:
        warnings.append(f"{error}; read as plain text")
        return split_paragraphs(text)
    warnings += walker.warnings
    return walker.builder.blocks


def _is_too_large(data: bytes, text: str) -> bool:
    return (
        max(len(data), len(text)) > BYTES_MAX
        or (len(text) > LINES_MAX and text.count("\n") > LINES_MAX)
        or (len(text) > MARKUP_CHARACTERS_MAX and sum(map(text.count, _MARKUP_CHARACTERS)) > MARKUP_CHARACTERS_MAX)
    )


def _fill(document: Document, text: str) -> None:
    title, body = _split_front_matter(text)
    walker = MarkdownWalker(body)
    walker.walk()
    document.warnings += walker.warnings
    if not walker.builder.blocks:
        document.warnings.append("the document has no text")
    document.blocks = mark_title(walker.builder.blocks, title)


def _split_front_matter(text: str) -> tuple[str, str]:
    """The title in the front matter, and the text after the front matter."""
    match = _FRONT_MATTER.match(text) if text.startswith(("---", "+++")) else None
    if match is None:
        return "", text
    title = _STATED_TITLE.search(match.group(2) or "")
    return title.group(1).strip().strip("\"'") if title else "", text[match.end() :]
