"""Detects the kind of a file from its name and its first bytes.

The bytes decide if they are unambiguous: a PDF is a PDF whatever its name. A file whose extension is that of a document
is given to the reader even if the bytes do not match, so that the reader reports what is wrong with it.
"""

import re
from typing import Literal

Kind = Literal[
    "pdf",
    "html",
    "docx",
    "pptx",
    "xlsx",
    "csv",
    "notebook",
    "epub",
    "opendocument",
    "mail",
    "mailbox",
    "rtf",
    "rst",
    "asciidoc",
    "xml",
    "markdown",
    "text",
    "image",
    "binary",
    "unknown",
    "empty",
]
"""`binary` is not text; `unknown` is text that is not a document, such as source code."""

HEAD_BYTES = 4096
"""How many bytes of a file `sniff` needs at most."""

_EXTENSIONS_OF: dict[Kind, str] = {
    "pdf": "pdf",
    "docx": "docx docm dotx",
    "pptx": "pptx pptm ppsx potx",
    "xlsx": "xlsx xlsm xltx",
    "csv": "csv tsv tab",
    "notebook": "ipynb",
    "epub": "epub",
    "opendocument": "odt ott ods odp",
    "mail": "eml",
    "mailbox": "mbox",
    "rtf": "rtf",
    "xml": "nxml dbk docbook",
    "html": "html htm xhtml xht",
    "markdown": "md markdown mdown mkd mdx",
    "text": "txt text log org",
    "rst": "rst rest",
    "asciidoc": "adoc asciidoc asc",
}
EXTENSIONS: dict[str, Kind] = {each: kind for kind, names in _EXTENSIONS_OF.items() for each in names.split()}
_BINARY_KINDS = frozenset(("pdf", "docx", "pptx", "xlsx", "epub", "opendocument"))
_ARCHIVE_MARKS: tuple[tuple[bytes, Kind], ...] = (
    (b"mimetypeapplication/epub+zip", "epub"),
    (b"mimetypeapplication/vnd.oasis.opendocument.", "opendocument"),
    (b"word/", "docx"),
    (b"ppt/", "pptx"),
    (b"xl/", "xlsx"),
)
_PUBLISHER_XML = re.compile(
    rb"<!DOCTYPE\s+\w+\s+PUBLIC\s+[\"']-//(?:NLM|OASIS)//DTD\s|docbook\.org/ns/docbook|<article\b[^>]*\b(?:article-type|dtd-version)="
)
_BINARY_SIGNATURES = (
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    b"GIF8",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ",
    b"7z\xbc\xaf",
    b"\x7fELF",
    b"\xca\xfe\xba\xbe",
    b"SQLite format 3",
    b"Rar!",
    b"PAR1",
)
_IMAGE = re.compile(rb"\x89PNG\r\n|\xff\xd8\xff|II\*\0|MM\0\*|RIFF.{4}WEBP|BM.{4}\0{4}", re.S)
_HTML = re.compile(rb"(?>\s++|<!--.*?-->|<\?xml[^>]*+>)*+<(?:!doctype\s+html|html|head|body)[\s>]", re.I | re.S)
_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def sniff(name: str, head: bytes) -> Kind:
    """The kind of a file with this name and these first bytes."""
    if not head:
        return "empty"
    head = head[:HEAD_BYTES]
    expected = EXTENSIONS.get(get_extension(name))
    if b"%PDF-" in head[:1024] and expected != "markdown" and expected != "text":
        return "pdf"
    if expected in _BINARY_KINDS:
        return expected
    if _IMAGE.match(head):
        return "image"
    if head.startswith(_BINARY_SIGNATURES):
        return _sniff_archive(head) if head.startswith(b"PK\x03\x04") else "binary"
    if head.startswith(b"%PDF-"):
        return "pdf"
    if head.startswith(b"{\\rtf"):
        return "rtf"
    return expected or _sniff_content(name, head)


def _sniff_archive(head: bytes) -> Kind:
    """The kind of a ZIP archive, by the names of its first entries."""
    return next((kind for mark, kind in _ARCHIVE_MARKS if mark in head), "binary")


def get_extension(name: str) -> str:
    """The extension of a name in lower case; empty if it has none."""
    last = name.replace("\\", "/").rpartition("/")[2]
    stem, dot, extension = last.rpartition(".")
    return extension.lower() if dot and stem else ""


def _sniff_content(name: str, head: bytes) -> Kind:
    if _HTML.match(head.removeprefix(b"\xef\xbb\xbf")):
        return "html"
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") and _PUBLISHER_XML.search(head):
        return "xml"
    if b"\0" in head and not head.startswith(_BYTE_ORDER_MARKS):
        return "binary"
    return "unknown" if get_extension(name) else "text"
