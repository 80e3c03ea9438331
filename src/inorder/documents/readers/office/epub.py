"""Reads electronic books (EPUB): the chapters in reading order, each of them a page of HTML."""

import posixpath
from collections.abc import Sequence
from urllib.parse import unquote

from inorder.documents.model import AnyBlock, Document
from inorder.documents.readers.block_builder import mark_title
from inorder.documents.readers.document import make_document
from inorder.documents.readers.html.reader import read_page
from inorder.errors import ReadError
from inorder.files.encoding import decode

from .package import SHORT_NAMES, Attributes, Handler, Package, strip_namespaces

MIMETYPE = "application/epub+zip"
CHAPTERS_MAX = 10_000
BYTES_MAX = 256 * 2**20
"""Unpacked, of all chapters."""
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"


def read(data: bytes, name: str, passwords: Sequence[str] = ()) -> Document:
    """Read an EPUB file. The passwords are tried if it is encrypted."""
    package = Package(data, "EPUB", "a protected file", passwords)
    container, book, encrypted = _Container(), _Book(), _EncryptedParts()
    package.parse(_CONTAINER, container)
    if not package.parse(container.path, book):
        raise ReadError("not an EPUB file: the archive has no package document")
    package.parse(_ENCRYPTION, encrypted)
    folder, warnings = posixpath.dirname(container.path), list[str]()
    blocks: list[AnyBlock] = []
    left = BYTES_MAX
    chapters = [book.paths[each] for each in book.spine if each in book.paths and each != book.navigation]
    for path in chapters[:CHAPTERS_MAX]:
        part = posixpath.normpath(posixpath.join(folder, unquote(path)))
        if part in encrypted.parts:
            raise ReadError("the book is encrypted (digital rights management)")
        page = decode(package.read(part))
        left -= len(page.text)
        if left < 0:
            warnings.append(f"the book was read only in part: its chapters have more than {BYTES_MAX:,} characters")
            break
        blocks += read_page(page.text.encode("utf-8", "replace"), warnings).blocks
    if len(chapters) > CHAPTERS_MAX:
        warnings.append(f"only the first {CHAPTERS_MAX:,} of {len(chapters):,} chapters were read")
    blocks = mark_title(blocks, "".join(book.title))
    return make_document("epub", name, MIMETYPE, blocks, list(dict.fromkeys(warnings)))


class _Container(Handler):
    """The path of the package document."""

    def __init__(self) -> None:
        self.path = ""

    def start(self, name: str, attributes: Attributes) -> None:
        if SHORT_NAMES[name] == "ocf:rootfile" and not self.path:
            self.path = attributes.get("full-path", "")


class _Book(Handler):
    """The package document: title, files and reading order."""

    def __init__(self) -> None:
        self.title: list[str] = []
        self.paths: dict[str, str] = {}
        self.spine: list[str] = []
        self.navigation = ""
        self._is_title = self._has_title = False

    def start(self, name: str, attributes: Attributes) -> None:
        match SHORT_NAMES[name]:
            case "opf:item":
                identity = attributes.get("id", "")
                self.paths[identity] = attributes.get("href", "")
                if "nav" in attributes.get("properties", "").split():
                    self.navigation = identity
            case "opf:itemref":
                self.spine.append(attributes.get("idref", ""))
            case "dc:title":
                self._is_title = not self._has_title
                self._has_title = True

    def end(self, name: str) -> None:
        self._is_title = False

    def text(self, text: str) -> None:
        if self._is_title:
            self.title.append(text)


class _EncryptedParts(Handler):
    """Parts of the book that are encrypted; fonts often are, without harm."""

    def __init__(self) -> None:
        self.parts: set[str] = set()

    def start(self, name: str, attributes: Attributes) -> None:
        if name.endswith("CipherReference"):
            self.parts.add(unquote(strip_namespaces(attributes).get("URI", "")))
