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
    "subtitles",
    "latex",
    "doc",
    "xls",
    "ppt",
    "msg",
    "xlsb",
    "pages",
    "numbers",
    "key",
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
    "subtitles": "vtt srt",
    "latex": "tex latex",
    "doc": "doc dot",
    "xls": "xls xlt",
    "ppt": "ppt pot pps",
    "msg": "msg",
    "xlsb": "xlsb",
    "pages": "pages",
    "numbers": "numbers",
    "key": "key",
}
EXTENSIONS: dict[str, Kind] = {each: kind for kind, names in _EXTENSIONS_OF.items() for each in names.split()}
_BINARY_KINDS = frozenset(("pdf", "docx", "pptx", "xlsx", "epub", "opendocument"))
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_KINDS = frozenset(("doc", "xls", "ppt", "msg"))
_OLE_MARKS: tuple[tuple[str, Kind], ...] = (
    ("WordDocument", "doc"),
    ("Workbook", "xls"),
    ("PowerPoint Document", "ppt"),
    ("__properties_version1.0", "msg"),
)
"""Names in the directory of a compound file, which is not always at its begin."""
_ZIP_KINDS = frozenset(("xlsb", "pages", "numbers", "key"))
"""Kinds of archives that are known by their extension."""
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
_BINARY = re.compile(
    rb"PK\x03\x04|PK\x05\x06|\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1|GIF8[79]a(?=.{1,16}\0)|\x1f\x8b|BZh[1-9]1AY&SY"
    rb"|\xfd7zXZ\0|7z\xbc\xaf|\x7fELF|\xca\xfe\xba\xbe|SQLite format 3\0|Rar!\x1a\x07|PAR1(?=[^\0]{0,200}\0)",
    re.DOTALL,
)
"""How files begin that are not text. What could begin a text, too, is followed by what is in none."""
_IMAGE = re.compile(rb"\x89PNG\r\n|\xff\xd8\xff|II\*\0|MM\0\*|RIFF.{4}WEBP|BM.{4}\0{4}", re.S)
_HTML = re.compile(rb"(?>\s++|<!--.*?-->|<\?xml[^>]*+>)*+<(?:!doctype\s+html|html|head|body)[\s>]", re.I | re.S)
_BLANK = b"\xef\xbb\xbf \t\r\n\0"
_PDF_BYTES = 1024
"""Where readers look for the mark of a PDF."""
_PDF_MARKS = re.compile(rb"%PDF-\d\.\d\s*%[\x80-\xff]{2}")
"""The first line of a PDF, and the second, which says that binary data follow."""
_PDF_OBJECT = re.compile(_PDF_MARKS.pattern + rb"|\d \d+ obj\b")
_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def sniff(name: str, head: bytes) -> Kind:
    """The kind of a file with this name and these first bytes."""
    if not head:
        return "empty"
    head = head[:HEAD_BYTES]
    expected = EXTENSIONS.get(get_extension(name))
    if expected == "pdf" or _is_pdf(name, expected, head):
        return "pdf"
    if expected in _BINARY_KINDS:
        return expected
    if _IMAGE.match(head):
        return "image"
    if head.startswith(_OLE):
        return _sniff_compound(expected, head)
    if _BINARY.match(head):
        is_archive = head.startswith(b"PK\x03\x04")
        return expected if is_archive and expected in _ZIP_KINDS else _sniff_archive(head) if is_archive else "binary"
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if expected in _OLE_KINDS or expected in _ZIP_KINDS:
        return _sniff_content(name, head)
    return expected or _sniff_content(name, head)


def _sniff_compound(expected: Kind | None, head: bytes) -> Kind:
    """The kind of a compound file, by the names in its directory, else by its extension."""
    found = next((kind for mark, kind in _OLE_MARKS if mark.encode("utf-16-le") in head), None)
    return found or (expected if expected in _OLE_KINDS else "binary")


def _is_pdf(name: str, expected: Kind | None, head: bytes) -> bool:
    """Whether the content is that of a PDF. Text may mention the mark of one, and a program may have it in a string. So
    what has another extension begins with it, and has more that only a PDF has."""
    begins = head.lstrip(_BLANK).startswith(b"%PDF-")
    if not get_extension(name):
        return begins or (b"%PDF-" in head[:_PDF_BYTES] and not _is_text(head))
    if begins:
        return _PDF_OBJECT.search(head) is not None
    return expected is None and _PDF_MARKS.search(head[:_PDF_BYTES]) is not None


def _is_text(head: bytes) -> bool:
    """Whether these bytes are UTF-8 without NUL. The last character may be cut."""
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 3 and b"\0" not in head
    return b"\0" not in head


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
